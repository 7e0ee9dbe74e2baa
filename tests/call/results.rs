//! The results of tools are checked against their output schemas.

use mcp_registry::registry::OutputCheck;
use mcp_registry::{Content, Json, Status, Tool, ToolError, ToolResult, mcp_tool, schemars, serde_json, tools};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{build, call, failure, with_tools};

/// Half of something.
#[mcp_tool(module = "results")]
fn half(n: f64) -> f64 {
    n / 0.0
}

#[derive(Serialize, schemars::JsonSchema)]
struct Order {
    #[schemars(range(min = 1))]
    number: u32,
}

/// An order.
#[mcp_tool(module = "results")]
fn order(number: u32) -> Order {
    Order { number }
}

/// Says one thing and does another.
#[mcp_tool(module = "results", output_schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }))]
fn explicit(n: Value) -> ToolResult {
    match n.as_str() {
        Some("fail") => ToolResult::failure(ToolError::new("OutOfStock", "none left")),
        _ => ToolResult::data(json!({ "n": n })),
    }
}

/// Text.
#[mcp_tool(module = "results")]
fn text() -> &'static str {
    "a text"
}

/// Blocks.
#[mcp_tool(module = "results")]
fn blocks() -> Vec<Content> {
    vec![Content::text("one"), Content::image(b"png", "image/png")]
}

/// Without a schema.
#[mcp_tool(module = "results")]
fn free() -> Json<Vec<u8>> {
    Json(vec![1, 2])
}

/// A part of it.
#[mcp_tool(module = "results")]
fn partial() -> ToolResult {
    ToolResult::partial_success(json!({ "done": 3 })).text("three of five").explanation("two were locked")
}

#[test]
fn s3_50_a_result_that_violates_the_output_schema_is_a_failure() {
    let tools = tools![half, order, explicit];
    let always = build(with_tools(tools).check_output(OutputCheck::Always));
    // Tests are debug builds, which check results by default.
    for registry in [&always, &build(with_tools(tools))] {
        let result = call(registry, "results.half", json!({ "n": 1.0 }));
        let (error_type, message) = failure(&result);
        assert_eq!(error_type, "ToolExecutionError");
        assert!(message.contains("output schema") && message.contains("/result"), "no number is no null: {message}");
        assert!(failure(&call(registry, "results.order", json!({ "number": 0 }))).1.contains("/number"));
        assert_eq!(call(registry, "results.order", json!({ "number": 1 })).data, Some(json!({ "number": 1 })));
        assert!(failure(&call(registry, "results.explicit", json!({ "n": "x" }))).1.contains("/n"));
        assert_eq!(call(registry, "results.explicit", json!({ "n": 1 })).data, Some(json!({ "n": 1 })));
        assert_eq!(failure(&call(registry, "results.explicit", json!({ "n": "fail" }))).0, "OutOfStock");
    }
    let never = build(with_tools(tools).check_output(OutputCheck::Never));
    assert_eq!(call(&never, "results.order", json!({ "number": 0 })).data, Some(json!({ "number": 0 })));
}

#[test]
fn the_output_of_tools_created_at_run_time_is_checked_too() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let tool = Tool::new("made.echo", json!({ "type": "object" }), |_, args: Value| async move { args });
    let registry = build(with_tools([]).tool(tool.output_schema(schema)).check_output(OutputCheck::Always));
    assert!(!call(&registry, "made.echo", json!({ "n": 1 })).is_failure());
    assert!(call(&registry, "made.echo", json!({ "n": "1" })).is_failure());
}

#[test]
fn c24_every_kind_of_return_value_becomes_a_result() {
    let registry = build(with_tools(tools![text, blocks, free, partial]));
    assert_eq!(call(&registry, "results.text", json!({})).data, Some(json!({ "result": "a text" })));
    assert_eq!(call(&registry, "results.blocks", json!({})).content.unwrap().len(), 2);
    assert_eq!(call(&registry, "results.free", json!({})).data, Some(json!({ "result": [1, 2] })));
    let partial = call(&registry, "results.partial", json!({}));
    assert_eq!((partial.status, partial.explanation.as_deref()), (Status::PartialSuccess, Some("two were locked")));
    assert_eq!(partial.data, Some(json!({ "done": 3 })));
}
