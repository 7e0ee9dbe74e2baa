//! What tools promise: the lock, and the diff that finds broken promises.

#![allow(clippy::needless_pass_by_value, clippy::too_many_lines, reason = "tables of schemas")]

mod attributes;
mod equivalent;
mod lists;
mod lock;
mod schemas;
mod soundness;
mod texts;
mod versions;

use std::collections::BTreeSet;

use mcp_registry::contract::{Change, Contract, Diff, Witness};
use mcp_registry::serde_json::{Value, json};
use mcp_registry::{Registry, Tool, ToolCall, ToolResult};

/// A registry of one tool that accepts a schema, and returns what another one says.
fn registry(tool: Tool) -> Registry {
    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    registry.register(tool).unwrap();
    registry
}

fn tool(input: &Value) -> Tool {
    Tool::new("shop.search", input.clone(), |_, arguments: Value| async move { arguments }).description("Finds orders.")
}

fn contract(tool: Tool) -> Contract {
    registry(tool).catalog().contract()
}

/// The changes from one schema of arguments to another, each witness replayed through both registries.
fn input_diff(old: &Value, new: &Value) -> Diff {
    let (old, new) = (registry(tool(old)), registry(tool(new)));
    let diff = old.catalog().contract().diff(&new.catalog().contract());
    replay(&diff, &old, &new);
    diff
}

/// The changes from one schema of results to another. Every witness fits the new schema, and not the old one.
fn output_diff(old: &Value, new: &Value) -> Diff {
    let with_output = |output: &Value| registry(tool(&json!({ "type": "object" })).output_schema(output.clone()));
    let (old, new) = (with_output(old), with_output(new));
    let diff = old.catalog().contract().diff(&new.catalog().contract());
    for change in diff.changes.iter().filter(|change| change.breaking) {
        let Some(Witness::Result(data)) = &change.witness else { continue };
        let result = ToolResult::data(data);
        let fits = |registry: &Registry| registry.get("shop.search").unwrap().check_result(&result).is_ok();
        assert!(fits(&new), "{change:?}: {data} does not fit the new schema");
        assert!(!fits(&old), "{change:?}: {data} fits the old schema");
    }
    diff
}

/// Every witness is accepted by the old registry, and rejected by the new one. No two changes have the same fingerprint.
fn replay(diff: &Diff, old: &Registry, new: &Registry) {
    let fingerprints: BTreeSet<String> = diff.changes.iter().map(Change::fingerprint).collect();
    assert_eq!(fingerprints.len(), diff.changes.len(), "{:#?}", diff.changes);
    for change in diff.changes.iter().filter(|change| change.breaking) {
        let Some(Witness::Arguments(arguments)) = &change.witness else { continue };
        let call = ToolCall::new(change.called.as_str(), arguments.clone());
        let fails = |registry: &Registry| registry.call_blocking(&call).is_failure();
        assert!(!fails(old), "{change:?}: the old tool rejects {arguments}");
        assert!(fails(new), "{change:?}: the new tool accepts {arguments}");
    }
}

fn rules(diff: &Diff) -> Vec<&'static str> {
    diff.changes.iter().map(|change| change.rule).collect()
}

/// The only change that breaks something.
fn broken(diff: &Diff) -> &Change {
    let broken: Vec<&Change> = diff.changes.iter().filter(|change| change.breaking).collect();
    assert_eq!(broken.len(), 1, "{:#?}", diff.changes);
    broken[0]
}
