//! The schemas of the messages accept what the types accept, and nothing else.

use std::sync::LazyLock;

use jsonschema::Validator;
use mcp_core::message::Strictness;
use mcp_core::message::schema;
use mcp_core::serde_json::{self, Value, json};
use mcp_core::{ErrorDetail, ToolCall, ToolResult};
use proptest::prelude::*;
use support::{CALLS, ERROR_DETAIL, RESULTS, fields, one_of};

const MODES: [Strictness; 2] = [Strictness::Lenient, Strictness::Strict];

fn validator(schema: &Value) -> Validator {
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert!(jsonschema::draft7::meta::is_valid(schema), "{schema:#}");
    jsonschema::draft7::new(schema).expect("the schema compiles")
}

static CALL: LazyLock<[Validator; 2]> = LazyLock::new(|| MODES.map(|mode| validator(&schema::tool_call(mode))));
static RESULT: LazyLock<[Validator; 2]> = LazyLock::new(|| MODES.map(|mode| validator(&schema::tool_result(mode))));
static DETAIL: LazyLock<[Validator; 2]> = LazyLock::new(|| MODES.map(|mode| validator(&schema::error_detail(mode))));

#[test]
fn s1_7_s1_12_s1_21_the_schemas_are_draft_07_with_their_titles() {
    assert_eq!(schema::context()["title"], "MCP Context");
    validator(&schema::context());
    for mode in MODES {
        for (schema, title) in [
            (schema::tool_call(mode), "MCP Tool Call"),
            (schema::tool_result(mode), "MCP Tool Result"),
            (schema::error_detail(mode), "MCP Error Detail"),
        ] {
            validator(&schema);
            assert_eq!(schema["title"], title);
            assert_eq!(schema["type"], "object");
        }
    }
}

#[test]
fn s1_7_s1_8_s1_9_s1_10_the_strict_call_schema_is_the_specified_one() {
    let schema = schema::tool_call(Strictness::Strict);
    assert_eq!(schema["required"], json!(["tool_name", "arguments"]));
    assert_eq!(schema["properties"]["tool_name"]["pattern"], r"^[a-z0-9_]+(\.[a-z0-9_]+)+$");
    assert_eq!(schema["properties"]["arguments"]["additionalProperties"], true);
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn s1_12_to_s1_16_c10_the_strict_result_schema_is_the_specified_one_with_a_nullable_error() {
    let schema = schema::tool_result(Strictness::Strict);
    assert_eq!(schema["required"], json!(["status"]));
    let status = &schema["properties"]["status"];
    assert_eq!(status["enum"], json!(["success", "failure", "no_change_needed", "partial_success"]));
    assert_eq!(status["default"], "success");
    assert_eq!(schema["properties"]["data"]["type"], json!(["object", "null"]));
    assert_eq!(schema["properties"]["data"]["additionalProperties"], true);
    assert_eq!(
        schema["properties"]["error"]["anyOf"],
        json!([{ "$ref": "#/definitions/MCPErrorDetail" }, { "type": "null" }])
    );
    assert_eq!(schema["properties"]["explanation"]["type"], json!(["string", "null"]));
    assert_eq!(schema["definitions"]["MCPErrorDetail"]["required"], json!(["error_type", "error_message"]));
}

#[test]
fn s1_21_s1_22_the_detail_schema_is_the_specified_one() {
    let schema = schema::error_detail(Strictness::Lenient);
    assert_eq!(schema["required"], json!(["error_type", "error_message"]));
    assert_eq!(
        schema["properties"]["error_details"]["oneOf"],
        json!([{ "type": "object", "additionalProperties": true }, { "type": "string" }, { "type": "null" }])
    );
    let examples = schema["properties"]["error_type"]["examples"].as_array().unwrap();
    for name in [
        "ValidationError",
        "FileNotFoundError",
        "AuthenticationError",
        "ResourceNotFound",
        "ToolExecutionError",
        "ApiLimitExceeded",
        "TimeoutError",
        "PermissionError",
    ] {
        assert!(examples.contains(&json!(name)), "{name}");
    }
}

#[test]
fn s1_20_every_worked_example_validates_in_both_modes() {
    for mode in MODES {
        let (call, result) = (validator(&schema::tool_call(mode)), validator(&schema::tool_result(mode)));
        let read = |json: &str| serde_json::from_str::<Value>(json).unwrap();
        for (name, json) in CALLS {
            assert!(call.is_valid(&read(json)), "{name}");
        }
        for (name, json) in RESULTS {
            assert!(result.is_valid(&read(json)), "{name}");
        }
        assert!(validator(&schema::error_detail(mode)).is_valid(&read(ERROR_DETAIL)));
    }
}

/// A value that may or may not be of the right type.
fn about(values: &[Value]) -> BoxedStrategy<Value> {
    prop_oneof![6 => one_of(values), 1 => support::json()].boxed()
}

fn details() -> BoxedStrategy<Value> {
    fields(vec![
        ("error_type", about(&[json!("TimeoutError"), json!("")])),
        ("error_message", about(&[json!("late"), json!("")])),
        ("error_details", about(&[json!({}), json!("x"), json!(null), json!([])])),
        ("more", prop_oneof![4 => Just(json!(1))].boxed()),
    ])
    .prop_map(|mut value| {
        // One in three has an extra field.
        if value.to_string().len() % 3 != 0 {
            value.as_object_mut().unwrap().shift_remove("more");
        }
        value
    })
    .boxed()
}

pub(crate) fn calls() -> impl Strategy<Value = Value> {
    let names = ["a.b", "a", "A.b", "a-b.c", "", "a..b", ".a", "a b", "a\n", "é.e", &"n".repeat(128), &"n".repeat(129)];
    let names: Vec<Value> = names.into_iter().map(Value::from).collect();
    let arguments = [json!({}), json!({ "x": [1] }), json!({}), json!([])];
    let regular = fields(vec![("tool_name", about(&names)), ("arguments", about(&arguments))]);
    let spelt = fields(vec![
        ("tool_name", about(&names)),
        ("name", about(&names)),
        ("arguments", about(&arguments)),
        ("args", about(&arguments)),
        ("extra", about(&[json!(1)])),
    ]);
    prop_oneof![regular, spelt]
}

fn blocks() -> BoxedStrategy<Value> {
    let kinds = ["text", "image", "audio", "resource_link", "resource", "hologram"].map(Value::from);
    let text = || about(&[json!("x")]);
    let resource = fields(vec![("uri", text()), ("text", text()), ("blob", text()), ("mimeType", text())]).boxed();
    let block = fields(vec![
        ("type", about(&kinds)),
        ("text", text()),
        ("data", text()),
        ("mimeType", text()),
        ("uri", text()),
        ("name", text()),
        ("resource", resource),
        ("annotations", about(&[json!({}), json!({ "priority": 1 })])),
        ("_meta", about(&[json!({})])),
    ]);
    prop::collection::vec(block, 0..3).prop_map(Value::from).boxed()
}

fn results() -> impl Strategy<Value = Value> {
    let statuses = ["success", "failure", "no_change_needed", "partial_success", "FAILED", "partial", "fai", ""];
    let status = || about(&statuses.map(Value::from));
    let data = || about(&[json!({}), json!({ "a": 1 }), json!(null), json!(null), json!([])]);
    let error = || prop_oneof![3 => details(), 2 => Just(json!(null))].boxed();
    let explanation = || about(&[json!("why"), json!(null)]);
    let regular =
        fields(vec![("status", status()), ("data", data()), ("error", error()), ("explanation", explanation())]);
    let open = fields(vec![
        ("status", status()),
        ("data", data()),
        ("error", error()),
        ("content", prop_oneof![5 => blocks(), 1 => support::json()].boxed()),
        ("_meta", about(&[json!({}), json!({ "k": 1 }), json!(null)])),
        ("other", support::json().boxed()),
    ]);
    prop_oneof![regular, open]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn s3_4_the_call_schema_accepts_what_the_type_accepts(value in calls()) {
        for mode in MODES {
            let read = ToolCall::from_value_with(value.clone(), mode);
            // The schema cannot express that two spellings have to agree.
            let object = value.as_object().unwrap();
            let differ = |a, b| object.contains_key(a) && object.contains_key(b) && object[a] != object[b];
            if differ("tool_name", "name") || differ("arguments", "args") {
                prop_assert!(read.is_err());
                continue;
            }
            let schema = &CALL[mode as usize];
            prop_assert_eq!(read.is_ok(), schema.is_valid(&value), "{:?} {} {:?}", mode, value, read);
        }
    }

    #[test]
    fn s3_4_the_result_schema_accepts_what_the_type_accepts(value in results()) {
        for mode in MODES {
            let read = ToolResult::from_value_with(value.clone(), mode);
            let schema = &RESULT[mode as usize];
            prop_assert_eq!(read.is_ok(), schema.is_valid(&value), "{:?} {} {:?}", mode, value, read);
        }
    }

    #[test]
    fn s3_4_the_detail_schema_accepts_what_the_type_accepts(value in details()) {
        for mode in MODES {
            let read = ErrorDetail::from_value_with(value.clone(), mode);
            let schema = &DETAIL[mode as usize];
            prop_assert_eq!(read.is_ok(), schema.is_valid(&value), "{:?} {} {:?}", mode, value, read);
        }
    }
}
