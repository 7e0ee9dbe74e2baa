//! No lint that a crate may turn on finds anything in an expansion.

#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    let_underscore_drop,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    nonstandard_style,
    redundant_lifetimes,
    rust_2018_idioms,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused,
    unused_extern_crates,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    clippy::all,
    clippy::nursery,
    clippy::pedantic,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::clone_on_ref_ptr,
    clippy::dbg_macro,
    clippy::default_numeric_fallback,
    clippy::exhaustive_structs,
    clippy::expect_used,
    clippy::if_then_some_else_none,
    clippy::indexing_slicing,
    clippy::items_after_statements,
    clippy::let_underscore_must_use,
    clippy::let_underscore_untyped,
    clippy::missing_docs_in_private_items,
    clippy::missing_inline_in_public_items,
    clippy::mod_module_files,
    clippy::panic,
    clippy::panic_in_result_fn,
    clippy::same_name_method,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::str_to_string,
    clippy::todo,
    clippy::undocumented_unsafe_blocks,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_imports
)]
#![allow(
    clippy::missing_const_for_fn,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    reason = "the functions have the form that is tested"
)]

use core::future::ready;
use std::path::Path;

use mcp_core::schemars::{self, JsonSchema};
use mcp_core::serde_json::{Value, json};
use mcp_core::{FromContext, ToolContext, ToolError, mcp_tool, tools};
use serde::Deserialize;

/// The options of a search.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Options {
    /// How many there may be.
    limit: u16,
}

/// Some state.
#[derive(Debug, Clone)]
struct Shelf(String);

/// The caller.
#[derive(Debug)]
struct Caller(String);

impl FromContext for Caller {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        ready(Ok(Self(cx.tool_name().to_owned()))).await
    }
}

/// Does nothing.
#[mcp_tool(module = "lints")]
fn nothing() {}

/// Waits for nothing.
#[mcp_tool(module = "lints")]
async fn nothing_later() {
    ready(()).await;
}

/// Takes arguments of every form.
#[mcp_tool(module = "lints", read_only, version = "1.2.0", timeout = "5s", tags("a"), meta(owner = "b"))]
fn arguments(
    /// The text.
    #[arg(min_length = 1, example = "a")]
    text: &str,
    #[arg(default = "utf-8")] encoding: String,
    #[arg(default = 5, min = 1, max = 9)] number: u8,
    #[arg(one_of("a", "b"), default = "a")] order: Option<&str>,
    path: Option<&Path>,
    list: &[u8],
    options: Option<Options>,
) -> Result<String, ToolError> {
    Ok(format!("{text}{encoding}{number}{order:?}{path:?}{list:?}{options:?}"))
}

/// Takes them, and waits.
#[mcp_tool(module = "lints")]
async fn arguments_later(
    text: &str,
    order: Option<&str>,
    #[arg(schema = json!({ "type": "object" }))] options: Options,
) -> mcp_core::Result<Value> {
    Ok(ready(json!([text, order, options.limit])).await)
}

/// Takes one struct.
#[mcp_tool(module = "lints")]
fn flattened(#[arg(flatten)] options: &Options) -> u16 {
    options.limit
}

/// Takes what the server has.
#[mcp_tool(module = "lints")]
fn injected(#[ctx] cx: &ToolContext, #[ctx] shelf: &Shelf, #[ctx(clone)] copy: Shelf, #[ctx] caller: Caller) -> String {
    format!("{}{}{}{}", cx.tool_name(), shelf.0, copy.0, caller.0)
}

/// Takes what the server has, and waits.
#[mcp_tool(module = "lints")]
async fn injected_later(
    #[ctx] cx: &ToolContext,
    #[ctx] shelf: &Shelf,
    #[ctx(clone)] copy: Shelf,
    #[ctx] caller: Caller,
) -> String {
    ready(format!("{}{}{}{}", cx.tool_name(), shelf.0, copy.0, caller.0)).await
}

#[test]
fn the_tools_that_the_lints_check_exist() {
    let names = tools![nothing, nothing_later, arguments, arguments_later, flattened, injected, injected_later]
        .map(|entry| entry.name);
    assert!(names.iter().all(|name| name.starts_with("lints.")), "{names:?}");
}
