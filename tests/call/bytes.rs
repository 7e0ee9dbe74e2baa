//! Calls from bytes to bytes have the results of calls with values.

use mcp_registry::error::ValidationError;
use mcp_registry::registry::OutputCheck;
use mcp_registry::{
    CallOptions, Content, Error, Json, Registry, ToolCall, ToolError, ToolResult, mcp_tool, schemars, tools,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{build, with_tools};

#[derive(Serialize, schemars::JsonSchema)]
struct Point {
    x: f64,
}

macro_rules! both_ways {
    ($($name:ident, $inline:ident($($arg:ident: $type:ty),*) -> $returns:ty $body:block)*) => {
        $(
            /// As a plain function.
            #[mcp_tool(module = "bytes")]
            fn $name($($arg: $type),*) -> $returns $body

            /// In its place.
            #[mcp_tool(module = "bytes", inline)]
            fn $inline($($arg: $type),*) -> $returns $body
        )*
    };
}

both_ways! {
    add, add_inline(a: i64, b: i64) -> i64 { a + b }
    point, point_inline(x: f64) -> Point { Point { x } }
    list, list_inline(n: u8) -> Json<Vec<u8>> { Json(vec![n]) }
    object, object_inline(n: u8) -> Json<Value> { Json(json!({ "n": n })) }
    nothing, nothing_inline() -> () {}
    block, block_inline(text: &str) -> Content { Content::text(text) }
    whole, whole_inline(text: &str) -> ToolResult { ToolResult::data(json!({ "a": 1 })).text(text).meta("k", 1) }
    fails, fails_inline(text: String) -> Result<u8, ToolError> { Err(ToolError::new("OutOfStock", text)) }
}

fn registry(check: OutputCheck) -> Registry {
    build(
        with_tools(tools![
            add,
            add_inline,
            point,
            point_inline,
            list,
            list_inline,
            object,
            object_inline,
            nothing,
            nothing_inline,
            block,
            block_inline,
            whole,
            whole_inline,
            fails,
            fails_inline
        ])
        .check_output(check),
    )
}

#[test]
fn a_call_from_bytes_has_the_result_of_a_call_from_values() {
    let calls = [
        ("add", json!({ "a": 1, "b": -2 })),
        ("add", json!({ "a": 1 })),
        ("add", json!({ "a": 1, "b": 2, "c": 3 })),
        ("add", json!({ "a": "1", "b": null })),
        ("point", json!({ "x": 1.5 })),
        ("list", json!({ "n": 3 })),
        ("object", json!({ "n": 3 })),
        ("nothing", json!({})),
        ("block", json!({ "text": "some \"text\"\n" })),
        ("whole", json!({ "text": "héllo" })),
        ("fails", json!({ "text": "none left" })),
        ("gone", json!({})),
    ];
    for check in [OutputCheck::Never, OutputCheck::Always] {
        let registry = registry(check);
        for (name, arguments) in &calls {
            for way in ["", "_inline"] {
                for name in [format!("bytes.{name}{way}"), format!("bytes_{name}{way}")] {
                    let by_value = registry.call_blocking(&ToolCall::new(name.as_str(), arguments.clone()));
                    let mut out = b"[".to_vec();
                    let text = format!(" {arguments:#} ");
                    let done = registry.call_bytes_blocking(&name, text.as_bytes(), &CallOptions::new(), &mut out);
                    match done {
                        Ok(()) => assert_eq!(String::from_utf8_lossy(&out[1..]), by_value.to_json(), "{name}"),
                        Err(error) => {
                            assert_eq!(out, b"[", "{name}");
                            assert_eq!(ToolResult::from(error).to_json(), by_value.to_json(), "{name}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_that_are_not_json_are_refused() {
    let registry = registry(OutputCheck::Never);
    let mut out = Vec::new();
    for name in ["bytes.add", "bytes.add_inline"] {
        for bytes in [&b""[..], b"[]", b"1", b"{", br#"{"a":1,"b":2"#, br#"{"a":1,"b":2}}"#, br#"{"a":1,"a":1,"b":2}"#]
        {
            let error = registry.call_bytes_blocking(name, bytes, &CallOptions::new(), &mut out).unwrap_err();
            assert!(matches!(error, Error::Schema(_)), "{error}");
        }
        let error = registry.call_bytes_blocking(name, b"{\"a\":\"\xff\"}", &CallOptions::new(), &mut out).unwrap_err();
        assert!(matches!(error, Error::Validation(ValidationError::Encoding { offset: 6 })), "{error:?}");
    }
    assert!(out.is_empty());
}

#[test]
fn a_call_can_be_checked_without_running_it() {
    let registry = registry(OutputCheck::Never);
    assert!(registry.check(&ToolCall::new("bytes.fails", json!({ "text": "a" }))).is_ok());
    let error = registry.check(&ToolCall::new("bytes.add", json!({ "a": "x", "c": 1 }))).unwrap_err();
    let Error::Schema(error) = error else { panic!("{error}") };
    let paths: Vec<&str> = error.faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/c", "/b"]);
    assert!(matches!(registry.check(&ToolCall::new("bytes.ad", json!({}))), Err(Error::ToolNotFound(_))));
}
