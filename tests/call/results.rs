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

/// Promises data and returns none.
#[mcp_tool(module = "results", output_schema = json!({ "type": "object" }))]
fn unchanged() -> ToolResult {
    ToolResult::no_change_needed()
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
fn s3_50_of_each_tool_every_nth_success_is_checked_beginning_with_the_first() {
    let tools = tools![order, explicit];
    for (interval, checked) in [(1, [0, 1, 2, 3, 4, 5, 6].as_slice()), (3, &[0, 3, 6]), (7, &[0]), (0, &[])] {
        let registry = build(with_tools(tools).check_output(OutputCheck::Sample(interval)));
        // The data of one is written as bytes, that of the other one is a value.
        for (tool, bad, fails) in [
            ("results.order", json!({ "number": 0 }), None),
            ("results.explicit", json!({ "n": "x" }), Some(json!({ "n": "fail" }))),
        ] {
            let failed = |_: &usize| {
                if let Some(fails) = &fails {
                    assert_eq!(failure(&call(&registry, tool, fails.clone())).0, "OutOfStock", "not counted");
                }
                call(&registry, tool, bad.clone()).is_failure()
            };
            let found: Vec<usize> = (0..7).filter(failed).collect();
            assert_eq!(found, checked, "{tool}, one of {interval}");
        }
    }
}

#[test]
fn s3_50_callers_can_check_a_result_as_the_registry_does() {
    let registry =
        build(with_tools(tools![half, order, explicit, blocks, unchanged]).check_output(OutputCheck::Always));
    let order = registry.get("results.order").unwrap();
    assert!(order.check_result(&ToolResult::data(json!({ "number": 1 }))).is_ok());
    let error = order.check_result(&ToolResult::data(json!({ "number": 0 }))).unwrap_err();
    let failed = call(&registry, "results.order", json!({ "number": 0 }));
    let expected = failed.error.as_ref().unwrap();
    assert_eq!((error.error_type(), error.message()), (&expected.error_type, expected.error_message.as_str()));
    assert!(order.check_result(&failed).is_ok(), "a failure promises no data");
    let missing = order.check_result(&ToolResult::success()).unwrap_err();
    assert!(
        missing.message().contains("does not allow: there is no data, but the schema promises some; "),
        "{missing}"
    );
    let unchanged =
        registry.get("results.unchanged").unwrap().check_result(&ToolResult::no_change_needed()).unwrap_err();
    let failed = call(&registry, "results.unchanged", json!({}));
    assert_eq!(failed.error.as_ref().unwrap(), unchanged.detail(), "a call without data");
    let half = registry.get("results.half").unwrap();
    assert!(half.check_result(&ToolResult::data(json!({ "result": 0.5 }))).is_ok());
    let blocks = registry.get("results.blocks").unwrap();
    assert!(blocks.check_result(&ToolResult::data(json!({ "anything": 1 }))).is_ok(), "there is no schema");
    assert!(blocks.check_result(&ToolResult::success()).is_ok(), "there is no schema");
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
