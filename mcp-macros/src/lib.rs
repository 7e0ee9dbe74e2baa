//! The attribute `#[mcp_tool]`. Use it through `mcp-core` or `mcp-registry`: `mcp_core::mcp_tool` is
//! [`macro@mcp_tool`], `mcp_registry::mcp_tool` is [`macro@mcp_tool_of_registry`]. They differ in the crate that the
//! generated code refers to.
//!
//! - `keys` and `kinds` read the keys of the attribute; `function`, `param`, `types` and `doc` read the function.
//! - `model` builds the tool from both, or reports every error.
//! - `expand` generates the code.

mod doc;
mod errors;
mod expand;
mod function;
mod keys;
mod kinds;
mod model;
mod param;
mod tools;
mod types;

use proc_macro::TokenStream;
use quote::quote;

#[doc = include_str!("mcp_tool.md")]
#[proc_macro_attribute]
pub fn mcp_tool(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(args.into(), &item.into(), &quote!(::mcp_core)).into()
}

#[doc = include_str!("mcp_tool.md")]
#[proc_macro_attribute]
pub fn mcp_tool_of_registry(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(args.into(), &item.into(), &quote!(::mcp_registry)).into()
}

/// The entries of the named tools, as references that the linker cannot drop.
#[proc_macro]
pub fn tools(paths: TokenStream) -> TokenStream {
    tools::tools(paths.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

#[cfg(test)]
mod tests;
