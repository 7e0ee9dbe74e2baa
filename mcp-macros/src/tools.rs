//! `tools![crate_a::add, crate_b::search]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Ident, Path, Token};

/// The constant beside a tool's function.
pub(crate) fn const_of(function: &Ident) -> Ident {
    format_ident!("__mcp_tool_{}", function.unraw(), span = function.span())
}

pub(crate) fn tools(paths: TokenStream) -> TokenStream {
    let mut paths = match Punctuated::<Path, Token![,]>::parse_terminated.parse2(paths) {
        Ok(paths) => paths,
        Err(error) => {
            let message = "name functions that have `#[mcp_tool]`: `tools![module::function, other]`";
            return syn::Error::new(error.span(), message).to_compile_error();
        }
    };
    for segment in paths.iter_mut().filter_map(|path| path.segments.last_mut()) {
        segment.ident = const_of(&segment.ident);
    }
    quote!([#paths])
}
