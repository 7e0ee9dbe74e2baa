//! The function under the attribute. Its body stays tokens: it is not ours.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, FnArg, Signature, Visibility};

use crate::doc;

/// A function whose parameters may carry doc comments, `#[arg]` and `#[ctx]`.
pub(crate) struct Item {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    body: TokenStream,
    /// Attributes that the attribute adds to the function.
    pub(crate) added: TokenStream,
}

impl Item {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let parser = |input: ParseStream<'_>| {
            let attrs = input.call(Attribute::parse_outer)?;
            let vis = input.parse()?;
            let sig = input.parse()?;
            Ok(Self { attrs, vis, sig, body: input.parse()?, added: TokenStream::new() })
        };
        parser.parse2(tokens)
    }

    /// Whether it only says that there is a function, as in a trait.
    pub(crate) fn has_no_body(&self) -> bool {
        !matches!(self.body.clone().into_iter().last(), Some(TokenTree::Group(_)))
    }
}

/// Whether the attribute is the tool's, and unknown to the compiler.
pub(crate) fn is_ours(attr: &Attribute) -> bool {
    doc::is_doc(attr) || ["arg", "ctx"].iter().any(|name| attr.path().is_ident(name))
}

/// Whether the compiler takes the attribute on a parameter.
pub(crate) fn is_plain(attr: &Attribute) -> bool {
    ["allow", "warn", "deny", "expect", "forbid"].iter().any(|name| attr.path().is_ident(name))
}

/// The function as it was written, less what the compiler does not know on parameters.
impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let mut sig = self.sig.clone();
        for input in &mut sig.inputs {
            let attrs = match input {
                FnArg::Receiver(receiver) => &mut receiver.attrs,
                FnArg::Typed(typed) => &mut typed.attrs,
            };
            attrs.retain(is_plain);
        }
        let Self { attrs, vis, body, added, .. } = self;
        tokens.extend(quote!(#(#attrs)* #added #vis #sig #body));
    }
}
