//! The macro `tools![crate_a::add, crate_b::search]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Ident, Path, Token};

use crate::errors::reworded;

/// The name of the constant that `#[mcp_tool]` adds next to a function.
pub(crate) fn const_of(function: &Ident) -> Ident {
    format_ident!("__mcp_tool_{}", function.unraw(), span = function.span())
}

pub(crate) fn tools(paths: TokenStream) -> syn::Result<TokenStream> {
    let wrong = reworded("name functions that have `#[mcp_tool]`: `tools![module::function, other]`");
    let mut paths = Punctuated::<Path, Token![,]>::parse_terminated.parse2(paths).map_err(wrong)?;
    for segment in paths.iter_mut().filter_map(|path| path.segments.last_mut()) {
        segment.ident = const_of(&segment.ident);
    }
    Ok(quote!([#paths]))
}
