//! Collects errors, so that the attribute reports all of them at once.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// Reports an error at the tokens that the user has to change.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    /// Reports an error at the tokens if the condition is true.
    pub(crate) fn at_if(&mut self, condition: bool, tokens: impl ToTokens, message: impl Display) {
        self.at_each(condition.then_some(tokens), message);
    }

    /// Reports an error at each of the tokens.
    pub(crate) fn at_each(&mut self, tokens: impl IntoIterator<Item = impl ToTokens>, message: impl Display) {
        self.0.extend(tokens.into_iter().map(|tokens| syn::Error::new_spanned(tokens, &message)));
    }

    /// Returns the value, or reports the error.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Emits a `compile_error!` for each error.
impl ToTokens for Errors {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.iter().map(syn::Error::to_compile_error));
    }
}

/// Returns an error at the tokens that the user has to change.
pub(crate) fn error<T>(tokens: impl ToTokens, message: impl Display) -> syn::Result<T> {
    Err(syn::Error::new_spanned(tokens, message))
}

/// Replaces the message of a parse error.
pub(crate) fn reworded(message: impl Display) -> impl FnOnce(syn::Error) -> syn::Error {
    move |error| syn::Error::new(error.span(), message)
}

/// Lists names, as in `a`, `b` and `c`.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let list = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    list.rsplit_once(", ").map_or(list.clone(), |(names, last)| format!("{names} and {last}"))
}

/// Returns the known name that is most similar to an unknown one, if any is similar.
pub(crate) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|name| (strsim::jaro_winkler(unknown, name), name));
    scored.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}
