//! `#[mcp_tool]`: signature → model → tokens. Used through `mcp-core` or `mcp-registry`, which document it.

mod args;
mod doc;
mod errors;
mod expand;
#[cfg(test)]
mod expansions;
mod item;
mod model;
mod param;
mod tools;

use proc_macro::TokenStream;
use quote::quote;

/// For crates that depend on `mcp-core`.
#[proc_macro_attribute]
pub fn mcp_tool(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(args.into(), &item.into(), &quote!(::mcp_core)).into()
}

/// For crates that depend on `mcp-registry` alone, which exports it as `mcp_tool`.
#[proc_macro_attribute]
pub fn mcp_tool_of_registry(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(args.into(), &item.into(), &quote!(::mcp_registry)).into()
}

/// The entries of the named tools, as references that the linker cannot drop.
#[proc_macro]
pub fn tools(paths: TokenStream) -> TokenStream {
    tools::tools(paths.into()).into()
}
