//! `tools![crate_a::add, crate_b::search]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Ident, Path, Token};

/// The constant that stands beside a tool's function.
pub(crate) fn const_of(function: &Ident) -> Ident {
    format_ident!("__mcp_tool_{}", function.unraw(), span = function.span())
}

pub(crate) fn tools(paths: TokenStream) -> TokenStream {
    let parser = Punctuated::<Path, Token![,]>::parse_terminated;
    match parser.parse2(paths) {
        Ok(paths) => {
            let entries = paths.into_iter().map(|mut path| {
                if let Some(last) = path.segments.last_mut() {
                    last.ident = const_of(&last.ident);
                }
                path
            });
            quote!([#(#entries),*])
        }
        Err(error) => {
            let error = syn::Error::new(
                error.span(),
                "name functions that have `#[mcp_tool]`: `tools![module::function, other]`",
            );
            error.to_compile_error()
        }
    }
}
