//! A call, step by step, seen from outside: deadlines, cancellation, panics, the gate, limits, layers, observers.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_async,
    clippy::unnecessary_wraps,
    missing_docs,
    reason = "tools take what they take"
)]

mod bytes;
mod context;
mod deadlines;
mod errors;
mod gate;
mod layers;
mod observers;
mod panics;
mod registration;
mod results;
mod runtimes;
mod seen;
mod slow_arguments;
mod tokio_runtime;

use mcp_core::entry::ToolEntry;
use mcp_registry::{Error, Registry, RegistryBuilder, ToolCall, ToolResult};
use serde_json::Value;
use support::{in_time, run_in_time};

/// A registry of these tools alone.
fn with_tools<const N: usize>(tools: [&'static ToolEntry; N]) -> RegistryBuilder {
    Registry::builder_of(tools)
}

fn build(builder: RegistryBuilder) -> Registry {
    builder.build().unwrap()
}

/// Blocks on a future that must be ready soon.
fn block_on<F: Future>(future: F) -> F::Output {
    mcp_core::support::block_on(in_time(future))
}

fn call(registry: &Registry, name: &str, arguments: Value) -> ToolResult {
    registry.call_blocking(&ToolCall::new(name, arguments))
}

/// The result of a call, which must not take long. It is made on another thread.
fn call_in_time(registry: &Registry, name: &str, arguments: Value) -> ToolResult {
    let (registry, name) = (registry.clone(), name.to_owned());
    run_in_time(move || call(&registry, &name, arguments))
}

fn try_call(registry: &Registry, name: &str, arguments: Value) -> Result<ToolResult, Error> {
    block_on(registry.try_call(&ToolCall::new(name, arguments)))
}

/// The type and message of a failure.
fn failure(result: &ToolResult) -> (&str, &str) {
    let error = result.error.as_ref().unwrap_or_else(|| panic!("no failure: {}", result.to_json()));
    (error.error_type.as_str(), &error.error_message)
}
