//! The function that has the attribute. Its body is not parsed.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, FnArg, Signature, Visibility};

use crate::errors::reworded;

/// A function whose parameters may carry doc comments, `#[arg]` and `#[ctx]`.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    body: TokenStream,
}

impl Function {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let parser = |input: ParseStream<'_>| {
            let attrs = input.call(Attribute::parse_outer)?;
            Ok(Self { attrs, vis: input.parse()?, sig: input.parse()?, body: input.parse()? })
        };
        parser.parse2(tokens).map_err(reworded("`#[mcp_tool]` goes on a function; put it on an `fn`"))
    }

    /// Whether the function is only declared, as in a trait.
    pub(crate) fn has_no_body(&self) -> bool {
        !matches!(self.body.clone().into_iter().last(), Some(TokenTree::Group(_)))
    }
}

/// Whether the attribute has one of the names.
pub(crate) fn is_any(attr: &Attribute, names: &[&str]) -> bool {
    names.iter().any(|name| attr.path().is_ident(name))
}

/// Whether the attribute sets a lint level, which the compiler accepts on a parameter.
pub(crate) fn is_lint(attr: &Attribute) -> bool {
    is_any(attr, &["allow", "warn", "deny", "expect", "forbid"])
}

/// Emits the function, without the attributes that the compiler would reject on parameters.
impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        let mut sig = sig.clone();
        for input in &mut sig.inputs {
            match input {
                FnArg::Receiver(receiver) => receiver.attrs.retain(is_lint),
                FnArg::Typed(typed) => typed.attrs.retain(is_lint),
            }
        }
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}
