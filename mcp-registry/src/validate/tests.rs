//! Which tools are checked before their arguments are read, and what the types and the check make of arguments together.

#![allow(
    clippy::needless_pass_by_value,
    clippy::many_single_char_names,
    clippy::too_many_arguments,
    dead_code,
    unused_variables,
    clippy::unused_async,
    reason = "tools have the form under test"
)]

mod oracle;
mod suite;

use std::collections::HashMap;
use std::num::{NonZeroI32, NonZeroU8};
use std::path::Path;

use mcp_core::entry::ToolEntry;
use mcp_core::schemars::{self, JsonSchema};
use mcp_core::{ToolCall, tools};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Checks;
use crate::catalog::dynamic::Tool;
use crate::mcp_tool;
use crate::registry::Registry;

#[derive(Deserialize, JsonSchema)]
struct Point {
    x: i32,
    y: u8,
    label: Option<String>,
}

/// Takes plain types.
#[mcp_tool(crate = mcp_core, module = "check")]
fn plain(a: i64, b: Option<f64>, c: &str, d: &Path, e: Vec<String>, f: NonZeroU8, g: NonZeroI32, h: char) {}

/// Takes plain types with constraints that the generated code enforces.
#[mcp_tool(crate = mcp_core, module = "check")]
fn constrained(
    #[arg(min = 1, max = 9)] number: u8,
    #[arg(min_length = 1)] text: String,
    #[arg(max_items = 2)] list: Vec<u8>,
    #[arg(one_of("a", "b"))] choice: String,
) {
}

/// Has no parameters.
#[mcp_tool(crate = mcp_core, module = "check")]
fn nothing() {}

/// Takes integers.
#[mcp_tool(crate = mcp_core, module = "check")]
fn integers(list: Vec<u8>, #[arg(default = 7)] more: u8) -> Vec<u8> {
    [list, vec![more]].concat()
}

/// Takes integers.
#[mcp_tool(crate = mcp_core, module = "check")]
async fn integers_later(list: Option<Vec<u8>>) -> Vec<u8> {
    list.unwrap_or_default()
}

/// Takes integers.
#[mcp_tool(crate = mcp_core, module = "check", inline)]
fn integers_now(list: Vec<u8>) -> Vec<u8> {
    list
}

/// Takes a pattern.
#[mcp_tool(crate = mcp_core, module = "check")]
fn pattern(#[arg(pattern = "^a")] text: String) {}

/// Takes a format.
#[mcp_tool(crate = mcp_core, module = "check")]
fn format(#[arg(format = "email")] text: String) {}

/// Takes a schema.
#[mcp_tool(crate = mcp_core, module = "check")]
fn written(#[arg(schema = json!({ "type": "integer", "maximum": 3 }))] number: i32) {}

/// Has a schema.
#[mcp_tool(crate = mcp_core, module = "check", input_schema = json!({ "type": "object", "properties": { "n": { "maximum": 3 } } }))]
fn explicit(n: i32) {}

/// Takes a struct.
#[mcp_tool(crate = mcp_core, module = "check")]
fn structure(point: Point) {}

/// Takes the fields of a struct.
#[mcp_tool(crate = mcp_core, module = "check")]
fn flat(#[arg(flatten)] point: Point) {}

/// Takes a map.
#[mcp_tool(crate = mcp_core, module = "check")]
fn map(map: HashMap<String, u8>) {}

/// Takes anything.
#[mcp_tool(crate = mcp_core, module = "check")]
fn anything(value: Value) {}

/// Takes lists of lists.
#[mcp_tool(crate = mcp_core, module = "check")]
fn nested(lists: Vec<Vec<u8>>) {}

fn is_checked_first(entry: &'static ToolEntry) -> bool {
    let registry = Registry::builder_of([entry]).build().unwrap();
    Checks::new(registry.get(entry.name).unwrap()).is_checked_first()
}

#[test]
fn types_that_enforce_their_schema_are_not_checked_first() {
    for entry in tools![plain, constrained, nothing, integers, integers_later, integers_now] {
        assert!(!is_checked_first(entry), "{}", entry.name);
    }
}

#[test]
fn everything_else_is_checked_first() {
    for entry in tools![pattern, format, written, explicit, structure, flat, map, anything, nested] {
        assert!(is_checked_first(entry), "{}", entry.name);
    }
    let tool = Tool::new("check.dynamic", json!({ "type": "object" }), |_, arguments| async move { arguments });
    let registry = Registry::builder_of([]).tool(tool).build().unwrap();
    assert!(Checks::new(registry.get("check.dynamic").unwrap()).is_checked_first());
}

fn call(entry: &'static ToolEntry, arguments: &str) -> Result<Value, String> {
    let registry = Registry::builder_of([entry]).build().unwrap();
    let call = ToolCall::new(entry.name, serde_json::from_str::<Value>(arguments).unwrap());
    registry.check(&call).map_err(|error| error.to_string())?;
    let result = registry.call_blocking(&call);
    match result.error {
        Some(error) => Err(error.error_message),
        None => Ok(result.data.unwrap_or_default()["result"].clone()),
    }
}

#[test]
fn integers_in_lists_are_integers_however_they_are_written() {
    for entry in tools![integers_later, integers_now] {
        assert_eq!(call(entry, r#"{"list":[1,2.0,1e1]}"#), Ok(json!([1, 2, 10])), "{}", entry.name);
        assert!(call(entry, r#"{"list":[1,2.5]}"#).unwrap_err().contains("list/1"), "{}", entry.name);
    }
    let [integers] = tools![integers];
    assert_eq!(call(integers, r#"{"list":[1,2.0,1e1],"more":3.0}"#), Ok(json!([1, 2, 10, 3])));
    assert_eq!(call(integers, r#"{"list":[2.0],"more":null}"#), Ok(json!([2, 7])));
    assert!(call(integers, r#"{"list":[256.0]}"#).unwrap_err().contains("at most 255"));
}
