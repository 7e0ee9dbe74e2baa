//! What `#[mcp_tool]` makes of functions, keys, parameters and return types.

#![forbid(unsafe_code)]
#![deny(missing_docs, warnings)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::needless_lifetimes,
    clippy::many_single_char_names,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "the tools have the form that is tested"
)]

mod arguments;
mod descriptions;
mod forms;
mod injected;
mod invalid_tools;
mod keys;
mod lints;
mod params;
mod returns;

use mcp_core::entry::{Call, ToolEntry, entries};
use mcp_core::error::CallError;
use mcp_core::output::Returned;
use mcp_core::serde_json::{Value, from_slice};
use mcp_core::support::block_on;
use mcp_core::{ToolContext, ToolError};

/// The one tool of the name.
fn entry(name: &str) -> &'static ToolEntry {
    let mut found = entries().filter(|entry| entry.name == name);
    let entry = found.next().unwrap_or_else(|| panic!("there is no tool `{name}`"));
    assert!(found.next().is_none(), "there are two tools `{name}`");
    entry
}

fn call_with(cx: &ToolContext, name: &str, arguments: &str) -> Result<(Returned, Value), CallError> {
    let mut out = Vec::new();
    let returned = match entry(name).call {
        Call::Sync(call) => call(cx, mcp_core::entry::Input::new(arguments), &mut out),
        Call::Async(call) => call(cx.clone(), mcp_core::entry::Input::new(arguments)).and_then(|future| {
            let (returned, json) = block_on(future.expect("it runs"))?;
            out = json;
            Ok(returned)
        }),
    };
    returned.map(|returned| (returned, if out.is_empty() { Value::Null } else { from_slice(&out).expect("JSON") }))
}

/// What the tool returns as JSON.
fn call(name: &str, arguments: &str) -> Value {
    match call_with(&ToolContext::for_test(), name, arguments) {
        Ok((Returned::Json, value)) => value,
        other => panic!("`{name}` returned {other:?}"),
    }
}

/// What the tool fails with.
fn failure(name: &str) -> ToolError {
    match call_with(&ToolContext::for_test(), name, "{}") {
        Err(CallError::Tool(error)) => error,
        other => panic!("`{name}` returned {other:?}"),
    }
}

/// The paths and messages of what is wrong with the arguments.
fn faults(name: &str, arguments: &str) -> Vec<(String, String)> {
    match call_with(&ToolContext::for_test(), name, arguments) {
        Err(CallError::Arguments(faults)) => faults.into_iter().map(|fault| (fault.path, fault.message)).collect(),
        other => panic!("`{name}` returned {other:?}"),
    }
}

fn input(name: &str) -> Value {
    entry(name).generate_input_schema()
}
