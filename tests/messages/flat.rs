//! The flat messages. Each test names the requirement that it shows.

use std::collections::HashMap;

use mcp_core::error::{Rule, ValidationError};
use mcp_core::message::{self, MESSAGE_FORMAT_VERSION, Strictness};
use mcp_core::name::Version;
use mcp_core::serde_json::{self, Value, json};
use mcp_core::support::FlatCall;
use mcp_core::{Content, ErrorDetail, ErrorType, Status, ToolCall, ToolResult};
use proptest::prelude::*;
use support::{CALLS, ERROR_DETAIL, RESULTS};

/// The paths that an error blames.
fn paths(error: &ValidationError) -> Vec<&str> {
    error.violations().iter().map(|violation| violation.path.as_str()).collect()
}

fn refused_call(message: Value) -> ValidationError {
    ToolCall::from_value(message).expect_err("the call is malformed")
}

fn refused_result(message: Value) -> ValidationError {
    ToolResult::from_value(message).expect_err("the result is malformed")
}

fn refused_detail(message: Value) -> ValidationError {
    ErrorDetail::from_value(message).expect_err("the error detail is malformed")
}

#[test]
fn s0_1_s0_2_the_three_messages_are_created_and_checked_by_types_of_one_crate() {
    assert!(ToolCall::new("a.b", json!({})).validate().is_ok());
    assert!(ToolResult::success().validate().is_ok());
    assert!(ErrorDetail::new("TimeoutError", "late").validate().is_ok());
}

#[test]
fn s0_2_s3_6_c32_the_names_of_the_specification_are_the_same_types() {
    use mcp_registry::message::{MCPErrorDetail, MCPToolCall, MCPToolResult};

    let call: ToolCall = MCPToolCall::new("file_utility.read_file_content", json!({ "file_path": "a" }));
    assert_eq!(MCPToolCall::parse(call.to_json()).unwrap(), call);
    let detail: ErrorDetail = MCPErrorDetail::new("FileNotFound", "The target file was not found.");
    let result: ToolResult = MCPToolResult::failure(detail);
    assert_eq!(MCPToolResult::parse(result.to_json()).unwrap(), result);
}

#[test]
fn s0_3_s0_4_an_error_has_a_type_and_a_message_both_strings() {
    let error = refused_detail(json!({}));
    assert_eq!(paths(&error), ["error_type", "error_message"]);
    assert_eq!(
        error.to_string(),
        "`error_type` is missing; add a string; and `error_message` is missing; add a string"
    );
    let error = refused_detail(json!({ "error_type": 4, "error_message": ["x"] }));
    assert_eq!(error.violations()[0].rule, Rule::Type { expected: "a string", got: "a number" });
    assert_eq!(error.violations()[1].to_string(), "`error_message` must be a string, but is an array; send a string");
}

#[test]
fn s0_5_s1_22_error_details_are_an_object_a_string_or_null() {
    let with = |details: Value| json!({ "error_type": "E", "error_message": "m", "error_details": details });
    for good in [json!({ "parameter": "prompt" }), json!("plain words"), json!(null)] {
        assert!(ErrorDetail::from_value(with(good.clone())).is_ok(), "{good}");
    }
    for bad in [json!([1]), json!(1), json!(true)] {
        let error = refused_detail(with(bad.clone()));
        assert_eq!(paths(&error), ["error_details"], "{bad}");
        assert!(error.to_string().ends_with("send an object, a string or null"), "{error}");
    }
    let absent = ErrorDetail::from_value(json!({ "error_type": "E", "error_message": "m" })).unwrap();
    assert_eq!(absent.error_details, None);
    assert_eq!(ErrorDetail::new("E", "m").details(json!([1, 2])).error_details, Some(json!({ "value": [1, 2] })));
}

#[test]
fn s0_6_a_call_names_its_tool() {
    let error = refused_call(json!({ "arguments": {} }));
    assert_eq!(error.to_string(), "`tool_name` is missing; add a string");
    let error = refused_call(json!({ "tool_name": null, "arguments": {} }));
    assert_eq!(error.to_string(), "`tool_name` must be a string, but is null; send a string");
}

#[test]
fn s0_7_c3_a_flat_call_must_have_arguments() {
    let error = refused_call(json!({ "tool_name": "a.b" }));
    assert_eq!(error.to_string(), "`arguments` is missing; add an object, `{}` if there are none");
    for bad in [json!(null), json!([]), json!("{}"), json!(1)] {
        assert_eq!(paths(&refused_call(json!({ "tool_name": "a.b", "arguments": bad }))), ["arguments"]);
    }
}

#[test]
fn s0_8_s1_9_arguments_are_not_interpreted_by_the_envelope() {
    let call =
        ToolCall::from_value(json!({ "tool_name": "a.b", "arguments": { "any": [{ "thing": null }] } })).unwrap();
    assert_eq!(call.arguments["any"][0]["thing"], Value::Null);
}

#[test]
fn s0_9_s0_16_c5_extra_fields_are_kept_in_lenient_mode() {
    let call = json!({ "tool_name": "a.b", "arguments": {}, "trace": { "id": 1 }, "z": null, "a": 2 });
    assert_eq!(ToolCall::from_value(call.clone()).unwrap().to_value(), call);
    let result = json!({
        "status": "success", "data": null, "error": null, "explanation": null, "warnings": ["w"], "isError": false,
    });
    assert_eq!(ToolResult::from_value(result.clone()).unwrap().to_value(), result);
    let detail = json!({ "error_type": "E", "error_message": "m", "error_details": null, "hint": "h" });
    assert_eq!(ErrorDetail::from_value(detail.clone()).unwrap().to_value(), detail);
}

#[test]
fn s1_10_s3_2_c5_extra_fields_are_refused_in_strict_mode_by_name() {
    let error =
        ToolCall::from_value_with(json!({ "tool_name": "a.b", "arguments": {}, "trace": 1 }), Strictness::Strict)
            .unwrap_err();
    assert_eq!(error.to_string(), "`trace` is not a field of a tool call; remove it, or read the message leniently");
    let result = json!({ "status": "failure", "error": { "error_type": "E", "error_message": "m", "x": 1 }, "y": 2,
        "content": [], "_meta": { "k": 1 } });
    let error = ToolResult::from_value_with(result, Strictness::Strict).unwrap_err();
    assert_eq!(paths(&error), ["content", "_meta", "error.x", "y"]);
}

#[test]
fn s0_10_s1_13_c7_a_status_is_one_of_four_or_the_tools_own() {
    for (text, status) in [
        ("success", Status::Success),
        ("failure", Status::Failure),
        ("no_change_needed", Status::NoChangeNeeded),
        ("partial_success", Status::PartialSuccess),
        ("partial", Status::Other("partial".into())),
    ] {
        assert_eq!(Status::from(text), status);
        assert_eq!(status.to_string(), text);
    }
    assert!(Status::default().is_standard() && !Status::from("partial").is_standard());
    assert_eq!(Status::Other("success".into()), Status::Success);

    let own = json!({ "status": "partial" });
    assert_eq!(ToolResult::from_value(own.clone()).unwrap().status, "partial");
    let error = ToolResult::from_value_with(own, Strictness::Strict).unwrap_err();
    assert_eq!(error.violations()[0].rule, Rule::Status);
}

#[test]
fn s1_12_c8_status_is_required_on_the_wire_and_success_in_the_builder() {
    assert_eq!(refused_result(json!({ "data": {} })).to_string(), "`status` is missing; add a string");
    assert_eq!(paths(&refused_result(json!({ "status": 200 }))), ["status"]);
    assert_eq!(ToolResult::success().status, Status::Success);
}

#[test]
fn s0_11_s1_14_data_is_an_object_or_null() {
    assert_eq!(ToolResult::from_value(json!({ "status": "success", "data": null })).unwrap().data, None);
    assert_eq!(ToolResult::from_value(json!({ "status": "success" })).unwrap().data, None);
    for bad in [json!([1]), json!("text"), json!(0)] {
        assert_eq!(paths(&refused_result(json!({ "status": "success", "data": bad }))), ["data"]);
    }
}

#[test]
fn s0_12_s1_15_c10_the_error_is_an_error_detail_or_null() {
    for absent in [json!({ "status": "success" }), json!({ "status": "success", "error": null })] {
        let result = ToolResult::from_value(absent).unwrap();
        assert_eq!((&result.error, &result.to_value()["error"]), (&None, &Value::Null));
    }
    for success in [ToolResult::success(), ToolResult::data(1), ToolResult::no_change_needed()] {
        assert_eq!(success.error, None);
    }
    let detail = json!({ "error_type": "E", "error_message": "m", "error_details": { "n": 1 } });
    let failure = ToolResult::from_value(json!({ "status": "failure", "error": detail })).unwrap();
    assert_eq!(failure.error, Some(ErrorDetail::new("E", "m").details(json!({ "n": 1 }))));
    assert_eq!(failure.to_value()["error"], detail);
    let warning = json!({ "status": "success", "error": { "error_type": "W", "error_message": "careful" } });
    assert_eq!(ToolResult::from_value(warning).unwrap().error.unwrap().error_type, "W");
    assert_eq!(paths(&refused_result(json!({ "status": "success", "error": "boom" }))), ["error"]);
    let error = refused_result(json!({ "status": "failure", "error": { "error_type": "E", "error_details": 1 } }));
    assert_eq!(paths(&error), ["error.error_message", "error.error_details"]);
}

#[test]
fn s0_13_s1_16_the_explanation_is_a_string_or_null() {
    for absent in [json!({ "status": "success" }), json!({ "status": "success", "explanation": null })] {
        let result = ToolResult::from_value(absent).unwrap();
        assert_eq!((&result.explanation, &result.to_value()["explanation"]), (&None, &Value::Null));
    }
    for text in ["as it was", ""] {
        let result = ToolResult::from_value(json!({ "status": "success", "explanation": text })).unwrap();
        assert_eq!((result.explanation.as_deref(), &result.to_value()["explanation"]), (Some(text), &json!(text)));
    }
    assert_eq!(paths(&refused_result(json!({ "status": "success", "explanation": {} }))), ["explanation"]);
}

#[test]
fn s0_14_s1_17_c9_a_failure_has_an_error_also_when_the_field_is_left_out() {
    for status in ["failure", "FAILED", "Failure", "partial_failure", "has failed"] {
        for message in [json!({ "status": status }), json!({ "status": status, "error": null })] {
            let error = refused_result(message);
            assert_eq!(error.violations()[0].rule, Rule::ErrorOnFailure, "{status}");
            assert_eq!(paths(&error), ["error"]);
        }
    }
    assert!(!Status::from("fai").is_failure() && !Status::from("").is_failure());
}

#[test]
fn s0_15_s1_18_a_failure_has_no_data() {
    let error = json!({ "error_type": "E", "error_message": "m" });
    let refused = refused_result(json!({ "status": "failure", "data": {}, "error": error }));
    assert_eq!(
        refused.to_string(),
        "`data` must be null when the status is a failure; move it into `error.error_details`"
    );
    for message in
        [json!({ "status": "failure", "error": error }), json!({ "status": "failure", "data": null, "error": error })]
    {
        assert!(ToolResult::from_value(message).is_ok());
    }
}

#[test]
fn s1_19_a_success_may_have_no_data() {
    assert!(ToolResult::from_value(json!({ "status": "success", "data": null })).is_ok());
}

#[test]
fn s0_17_the_four_constructions_are_valid_and_equal_their_json() {
    let detail = ErrorDetail::new("ResourceNotFound", "The requested resource could not be located.")
        .details(json!({ "resource_id": "xyz-123" }));
    assert_eq!(detail, ERROR_DETAIL.parse().unwrap());

    let call =
        ToolCall::new("file_utility.read_file_content", json!({ "file_path": "/path/to/file.txt", "max_chars": 1024 }));
    assert_eq!(call, CALLS[0].1.parse().unwrap());

    let success = ToolResult::data(json!({ "file_content": "Hello World" })).explanation("Read file successfully.");
    assert_eq!(success, RESULTS[0].1.parse().unwrap());

    let failure = ToolResult::failure(ErrorDetail::new("FileNotFound", "The target file was not found."));
    assert_eq!(failure, RESULTS[1].1.parse().unwrap());
    for result in [success, failure] {
        assert!(result.validate_with(Strictness::Strict).is_ok());
    }
}

#[test]
fn s1_20_s4_7_c11_every_worked_example_is_valid_in_both_modes() {
    for strictness in [Strictness::Lenient, Strictness::Strict] {
        for (name, call) in CALLS {
            let call = ToolCall::parse_with(call, strictness).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(call.extra.is_empty());
        }
        for (name, result) in RESULTS {
            ToolResult::parse_with(result, strictness).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        ErrorDetail::parse_with(ERROR_DETAIL, strictness).unwrap();
    }
}

#[test]
fn c11_the_worked_success_counts_its_characters() {
    let result = ToolResult::parse(include_str!("../seed/s4_3_result_success.json")).unwrap();
    let data = result.data.unwrap();
    assert_eq!(data["chars_read"], data["file_content"].as_str().unwrap().chars().count());
}

#[test]
fn s4_12_s4_13_absent_fields_are_written_as_null_in_the_order_of_the_examples() {
    for (name, json) in RESULTS.into_iter().filter(|(name, _)| name.starts_with("s4")) {
        let compact = serde_json::from_str::<Value>(json).unwrap().to_string();
        assert_eq!(ToolResult::parse(json).unwrap().to_json(), compact, "{name}");
    }
    let nothing = r#"{"status":"success","data":null,"error":null,"explanation":null}"#;
    assert_eq!(ToolResult::success().to_json(), nothing);
    let detail = r#"{"error_type":"E","error_message":"m","error_details":null}"#;
    assert_eq!(ErrorDetail::new("E", "m").to_json(), detail);
}

#[test]
fn s1_8_c4_the_strict_name_has_two_lower_case_segments() {
    let with = |name: &str| json!({ "tool_name": name, "arguments": {} });
    for lenient in ["get_weather", "Memory.Put", "a-b.c", "memory_put"] {
        assert!(ToolCall::from_value(with(lenient)).is_ok(), "{lenient}");
        let error = ToolCall::from_value_with(with(lenient), Strictness::Strict).unwrap_err();
        assert_eq!(paths(&error), ["tool_name"], "{lenient}");
    }
    for never in ["", ".", "a.", ".a", "a..b", "a b", "a/b", "ünicode", "a\n"] {
        assert_eq!(paths(&refused_call(with(never))), ["tool_name"], "{never:?}");
    }
}

#[test]
fn c3_either_spelling_is_accepted_and_a_contradiction_refused() {
    let canonical = ToolCall::new("a.b", json!({ "x": 1 }));
    for message in [
        json!({ "name": "a.b", "args": { "x": 1 } }),
        json!({ "name": "a.b", "arguments": { "x": 1 } }),
        json!({ "tool_name": "a.b", "name": "a.b", "arguments": { "x": 1 }, "args": { "x": 1 } }),
    ] {
        assert_eq!(ToolCall::from_value(message).unwrap(), canonical);
    }
    let error = refused_call(json!({ "tool_name": "a.b", "name": "c.d", "arguments": {}, "args": { "x": 1 } }));
    assert_eq!(paths(&error), ["name", "args"]);
    assert!(error.to_string().starts_with("`name` differs from `tool_name`, which means the same; send one of them"));

    let error = ToolCall::from_value_with(json!({ "name": "a.b", "arguments": {} }), Strictness::Strict).unwrap_err();
    assert_eq!(error.to_string(), "`name` is not accepted in strict mode; rename it to `tool_name`");
}

#[test]
fn an_invalid_call_can_be_created_and_fails_validation() {
    let error = ToolCall::new("no spaces", json!([1])).validate().unwrap_err();
    assert_eq!(paths(&error), ["tool_name", "arguments"]);
}

#[test]
fn an_extra_field_cannot_replace_a_field() {
    let mut call = ToolCall::new("a.b", json!({}));
    call.extra.insert("tool_name".into(), json!("c.d"));
    assert!(matches!(call.validate().unwrap_err().violations()[0].rule, Rule::Reserved { .. }));
    assert_eq!(call.to_json(), r#"{"tool_name":"a.b","arguments":{}}"#);
    for alias in ["name", "args"] {
        let mut call = ToolCall::new("a.b", json!({}));
        call.extra.insert(alias.into(), json!("x"));
        assert_eq!(paths(&call.validate().unwrap_err()), [alias]);
    }
    let block = Content::text("a").with("text", "b");
    assert_eq!(paths(&ToolResult::success().content([block]).validate().unwrap_err()), ["content[0].text"]);
}

#[test]
fn c24_data_that_is_not_an_object_is_wrapped_and_an_object_is_not() {
    assert_eq!(ToolResult::data(3).data, Some(json!({ "result": 3 })));
    assert_eq!(ToolResult::data(["a"]).data, Some(json!({ "result": ["a"] })));
    assert_eq!(ToolResult::data(json!({ "result": 3 })).data, Some(json!({ "result": 3 })));
    assert!(ToolResult::data(3).validate().is_ok());
}

#[test]
fn s3_16_data_that_cannot_become_json_is_a_failure_that_says_so() {
    let keyed_by_pairs = HashMap::from([((1, 2), 3)]);
    let result = ToolResult::data(keyed_by_pairs);
    assert!(result.is_failure() && result.validate().is_ok());
    assert_eq!(result.error.unwrap().error_type, ErrorType::SERIALIZATION_ERROR);
}

#[test]
fn the_other_statuses_and_contents_have_constructors() {
    assert_eq!(ToolResult::no_change_needed().explanation("as it was").status, Status::NoChangeNeeded);
    let partial = ToolResult::partial_success(json!({ "done": 3 }));
    assert_eq!((partial.status.as_str(), partial.data), ("partial_success", Some(json!({ "done": 3 }))));
    let shown = ToolResult::data(json!({ "n": 3 })).text("3 orders").meta("cached", true);
    let wire = shown.to_value();
    assert_eq!(wire["content"], json!([{ "type": "text", "text": "3 orders" }]));
    assert_eq!(wire["_meta"], json!({ "cached": true }));
    assert_eq!(ToolResult::from_value(wire).unwrap(), shown);
}

#[test]
fn the_extra_field_content_holds_content_blocks() {
    let error = refused_result(json!({ "status": "success", "content": [
        { "type": "text", "text": "fine" }, { "type": "text" }, "loose", { "type": "image", "data": 1 },
        { "type": "resource", "resource": { "uri": "u" } },
    ]}));
    assert_eq!(
        paths(&error),
        ["content[1].text", "content[2]", "content[3].data", "content[3].mimeType", "content[4].resource.text"]
    );
    let unknown = json!({ "status": "success", "content": [{ "type": "hologram", "depth": 3 }] });
    let kept = ToolResult::from_value(unknown).unwrap().content.unwrap();
    assert!(matches!(&kept[0], Content::Other { kind, extra } if kind == "hologram" && extra["depth"] == 3));
}

#[test]
fn s1_11_s1_43_s1_47_messages_are_utf_8_json_compact_and_pretty() {
    let text = "zwölf Boxkämpfer 🥊";
    let call = ToolCall::new("a.b", json!({ "text": text }));
    let compact = r#"{"tool_name":"a.b","arguments":{"text":"zwölf Boxkämpfer 🥊"}}"#;
    assert_eq!((call.to_json().as_str(), call.to_value()), (compact, serde_json::from_str(compact).unwrap()));
    let pretty = call.to_json_pretty();
    assert!(pretty.starts_with("{\n  \"tool_name\": \"a.b\""), "{pretty}");
    for json in [compact, &pretty] {
        assert_eq!(ToolCall::parse(json).unwrap(), call);
        assert_eq!(ToolCall::from_value(serde_json::from_str(json).unwrap()).unwrap(), call);
    }

    let result = ToolResult::data(json!({ "text": text })).explanation(text);
    let compact = r#"{"status":"success","data":{"text":"zwölf Boxkämpfer 🥊"},"error":null,"explanation":"zwölf Boxkämpfer 🥊"}"#;
    assert_eq!((result.to_json().as_str(), result.to_value()), (compact, serde_json::from_str(compact).unwrap()));
    let pretty = result.to_json_pretty();
    assert!(pretty.starts_with("{\n  \"status\": \"success\""), "{pretty}");
    for json in [compact, &pretty] {
        assert_eq!(ToolResult::parse(json).unwrap(), result);
        assert_eq!(ToolResult::from_value(serde_json::from_str(json).unwrap()).unwrap(), result);
    }

    let detail = ErrorDetail::new("E", text).details(json!({ "late": 3 }));
    let compact = r#"{"error_type":"E","error_message":"zwölf Boxkämpfer 🥊","error_details":{"late":3}}"#;
    assert_eq!((detail.to_json().as_str(), detail.to_value()), (compact, serde_json::from_str(compact).unwrap()));
    let pretty = detail.to_json_pretty();
    assert!(pretty.starts_with("{\n  \"error_type\": \"E\""), "{pretty}");
    for json in [compact, &pretty] {
        assert_eq!(ErrorDetail::parse(json).unwrap(), detail);
        assert_eq!(ErrorDetail::from_value(serde_json::from_str(json).unwrap()).unwrap(), detail);
    }
}

#[test]
fn s1_45_numbers_are_json_numbers() {
    for bad in ["01", "0x1F", "1.", "+1", "NaN"] {
        let message = format!(r#"{{"tool_name":"a.b","arguments":{{"n":{bad}}}}}"#);
        assert!(matches!(ToolCall::parse(message), Err(ValidationError::Syntax { .. })), "{bad}");
    }
}

#[test]
fn s1_35_the_message_format_is_1_0_0() {
    assert_eq!(MESSAGE_FORMAT_VERSION, "1.0.0");
}

/// The type of a property, or of what it may be.
fn type_of(schema: &Value) -> Value {
    let types = |list: &Value| list.as_array().map(|list| list.iter().map(type_of).collect::<Vec<_>>());
    match (&schema["type"], schema["$ref"].as_str()) {
        (Value::Null, Some(reference)) => json!(reference),
        (Value::Null, None) => json!(types(&schema["anyOf"]).or_else(|| types(&schema["oneOf"]))),
        (of_type, _) => of_type.clone(),
    }
}

/// What must not change before version 2: another required field, a removed field, or a field with another type would
/// break messages that are valid today.
#[test]
fn s0_20_s1_34_format_1_keeps_its_fields_their_types_and_what_is_required() {
    assert_eq!(Version::parse(MESSAGE_FORMAT_VERSION).unwrap().major(), 1, "for version 2, pin its fields here");
    let detail = "#/definitions/MCPErrorDetail";
    for mode in [Strictness::Lenient, Strictness::Strict] {
        for (schema, required, fields) in [
            (
                message::schema::tool_call(mode),
                json!(["tool_name", "arguments"]),
                json!({ "tool_name": "string", "arguments": "object" }),
            ),
            (
                message::schema::tool_result(mode),
                json!(["status"]),
                json!({ "status": "string", "data": ["object", "null"], "error": [detail, "null"],
                    "explanation": ["string", "null"] }),
            ),
            (
                message::schema::error_detail(mode),
                json!(["error_type", "error_message"]),
                json!({ "error_type": "string", "error_message": "string",
                    "error_details": ["object", "string", "null"] }),
            ),
        ] {
            if mode == Strictness::Strict {
                assert_eq!(schema["required"], required, "{schema:#}");
            }
            for (field, of_type) in fields.as_object().unwrap() {
                assert_eq!(type_of(&schema["properties"][field]), *of_type, "{field} of {}", schema["title"]);
            }
        }
    }
}

#[test]
fn s1_3_s1_40_messages_of_format_1_0_0_and_of_a_later_1_x_are_read() {
    let format = Version::parse(MESSAGE_FORMAT_VERSION).unwrap();
    assert!(format.is_compatible_with(&Version::new(1, 0, 0)));
    // The examples are of 1.0.0; a later version may add fields.
    let later = |json: &str| {
        let mut message: Value = serde_json::from_str(json).unwrap();
        message["added_in_1_1"] = json!({ "more": true });
        message
    };
    for (name, call) in CALLS {
        assert!(ToolCall::parse(call).is_ok(), "{name}");
        assert_eq!(ToolCall::from_value(later(call)).unwrap().extra["added_in_1_1"]["more"], true, "{name}");
    }
    for (name, result) in RESULTS {
        assert!(ToolResult::parse(result).is_ok(), "{name}");
        assert_eq!(ToolResult::from_value(later(result)).unwrap().extra["added_in_1_1"]["more"], true, "{name}");
    }
    assert_eq!(ErrorDetail::from_value(later(ERROR_DETAIL)).unwrap().extra["added_in_1_1"]["more"], true);
}

#[test]
fn serde_reads_messages_by_the_same_rules() {
    #[derive(serde::Deserialize)]
    struct Log {
        call: ToolCall,
    }
    let good: Log = serde_json::from_value(json!({ "call": { "tool_name": "a.b", "arguments": {} } })).unwrap();
    assert_eq!(good.call.tool_name, "a.b");
    let error = serde_json::from_str::<Log>(r#"{"call": {"tool_name": "a.b"}}"#).err().unwrap().to_string();
    assert!(error.contains("`arguments` is missing"), "{error}");
    let twice = r#"{"call": {"tool_name": "a.b", "arguments": {"x": 1, "x": 2}}}"#;
    let error = serde_json::from_str::<Log>(twice).err().unwrap().to_string();
    assert!(error.contains("`arguments.x` is a duplicate key"), "{error}");
}

proptest! {
    #[test]
    fn s1_47_any_call_survives_a_round_trip(
        name in "[a-z0-9_]{1,9}(\\.[A-Za-z0-9_-]{1,9}){0,3}",
        arguments in support::object(),
        extra in support::object(),
    ) {
        let mut call = ToolCall::new(name, arguments);
        call.extra = extra;
        call.extra.retain(|key, _| !matches!(key.as_str(), "tool_name" | "arguments" | "name" | "args"));
        prop_assert_eq!(ToolCall::parse(call.to_json()).unwrap(), call.clone());
        prop_assert_eq!(ToolCall::parse(call.to_json_pretty()).unwrap(), call.clone());
        prop_assert_eq!(serde_json::from_str::<Value>(&call.to_json()).unwrap(), call.to_value());
        prop_assert_eq!(ToolCall::from_value(call.to_value()).unwrap(), call);
    }

    #[test]
    fn arbitrary_json_is_read_or_refused_without_a_panic(value in support::json()) {
        let text = value.to_string();
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            let _ = ToolCall::parse_with(&text, strictness).map_err(|error| error.to_string());
            let _ = ToolResult::parse_with(&text, strictness).map_err(|error| error.to_string());
            let _ = ErrorDetail::parse_with(&text, strictness).map_err(|error| error.to_string());
        }
    }

    #[test]
    fn a_message_read_leniently_is_valid_and_survives_a_round_trip(value in support::object()) {
        if let Ok(result) = ToolResult::from_value(Value::Object(value)) {
            prop_assert!(result.validate().is_ok());
            prop_assert_eq!(ToolResult::parse(result.to_json()).unwrap(), result);
        }
    }
}

/// A flat call as a server reads it: the name, and the arguments as text.
fn raw_call(text: &str, strictness: Strictness) -> Result<(String, String), ValidationError> {
    let call = FlatCall::parse(text.as_bytes(), strictness)?;
    Ok((call.tool_name.into_owned(), call.arguments.into_owned()))
}

#[test]
fn arguments_that_stay_text_keep_every_digit_and_every_byte() {
    let arguments = r#"{ "n": 36893488147419103233, "x": [1.50, 1e2], "t": "\u00e9" }"#;
    for fields in [
        format!(r#""tool_name": "a.b", "arguments": {arguments}"#),
        format!(r#""args": {arguments}, "name": "a.b""#),
        format!(r#""name": "a.b", "arguments": {arguments}"#),
        format!(r#""tool_name": "a.b", "name": "a.b", "arguments": {arguments}, "args": {arguments}, "x": [{{}}]"#),
    ] {
        let read = raw_call(&format!("{{{fields}}}"), Strictness::Lenient).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read, ("a.b".to_owned(), arguments.to_owned()), "{fields}");
    }
}

#[test]
fn a_call_whose_arguments_stay_text_is_refused_for_the_same_reasons() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let many = |last: &str| {
        let names = (0..40).map(|n| format!("k{n}")).chain([last.to_owned()]);
        names.map(|name| format!(r#""{name}":0"#)).collect::<Vec<_>>().join(",")
    };
    let mut texts: Vec<String> = [
        r#"{"tool_name":"a.b","arguments":{}}"#,
        r#"{"tool_name":"A-b","arguments":{}}"#,
        r#"{"tool_name":"no name","arguments":{}}"#,
        r#"{"tool_name":"a.b"}"#,
        r#"{"arguments":{}}"#,
        r#"{"tool_name":5,"arguments":[]}"#,
        r#"{"tool_name":"a.b","arguments":null}"#,
        r#"{"tool_name":"a.b","arguments":{"a":1,"a":1}}"#,
        r#"{"tool_name":"a.b","arguments":{"a":[{"b":1,"\u0062":1}]}}"#,
        r#"{"tool_name":"a.b","arguments":{"a":1e999}}"#,
        r#"{"tool_name":"a.b","arguments":{"a":"\ud800"}}"#,
        r#"{"tool_name":"a.b","arguments":{},"arguments":{}}"#,
        r#"{"tool_name":"a.b","arguments":{},"args":{"a":1}}"#,
        r#"{"tool_name":"a.b","arguments":{"a":1,"b":2},"args":{"b":2,"a":1}}"#,
        r#"{"tool_name":"a.b","name":"a.c","arguments":{}}"#,
        r#"{"tool_name":"a.b","arguments":{},"x":{"y":1,"y":1}}"#,
        r#"{"tool_name":"a.b","arguments":{},"x":1,"x":2}"#,
        r#"{"tool_name":"a.b","arguments":{}} {}"#,
        r#"{"tool_name":"a.b","arguments":{}"#,
        r#"{"tool_name":"a.b","arguments":{"a":nope}}"#,
        r#"["tool_name"]"#,
        "",
        " \n{\t\"name\":\"a.b\",\"args\":{ }}\n",
    ]
    .map(str::to_owned)
    .to_vec();
    for levels in [97, 98, 99, 100, 126, 127, 128] {
        texts.push(format!(r#"{{"tool_name":"a.b","arguments":{{"a":{}}}}}"#, deep(levels)));
        texts.push(format!(r#"{{"tool_name":"a.b","arguments":{{}},"x":{}}}"#, deep(levels)));
    }
    for last in ["k40", "k0", "k39"] {
        texts.push(format!(r#"{{"tool_name":"a.b","arguments":{{{}}}}}"#, many(last)));
        texts.push(format!(r#"{{"tool_name":"a.b","arguments":{{}},{}}}"#, many(last)));
    }
    for text in &texts {
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            assert_same_call(text, strictness);
        }
    }
    let broken = FlatCall::parse(b"{\"tool_name\":\"a\xff\"", Strictness::Lenient).unwrap_err();
    assert_eq!(broken, ToolCall::parse(b"{\"tool_name\":\"a\xff\"").unwrap_err());
}

fn assert_same_call(text: &str, strictness: Strictness) {
    let (raw, value) = (raw_call(text, strictness), ToolCall::parse_with(text, strictness));
    let read = raw.map(|(name, arguments)| (name, serde_json::from_str::<Value>(&arguments).unwrap()));
    assert_eq!(read, value.map(|call| (call.tool_name, call.arguments)), "{text}");
}

proptest! {
    #[test]
    fn a_call_whose_arguments_stay_text_is_the_same_call(call in crate::schemas::calls(), cut in 0_usize..200) {
        let text = call.to_string();
        let end = (0..=cut.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            assert_same_call(&text, strictness);
            assert_same_call(&text[..end], strictness);
        }
    }
}
