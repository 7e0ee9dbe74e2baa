//! Flat results and MCP results convert into each other.

use mcp_core::error::{CodeProfile, TransportError};
use mcp_core::mcp::{CallToolResult, Dialect};
use mcp_core::rpc::{RpcMessage, RpcResponse};
use mcp_core::serde_json::{Value, json};
use mcp_core::{Content, Error, ErrorDetail, ErrorType, Status, ToolCall, ToolResult, serde_json};
use proptest::prelude::*;

fn mcp(value: Value) -> CallToolResult {
    CallToolResult::from_value(value).unwrap()
}

#[test]
fn s3_20_s3_21_s3_22_c6_a_success_becomes_text_and_structured_content() {
    let result = CallToolResult::from(ToolResult::data(json!({ "temperature": 22.5 })));
    assert_eq!(
        result.to_value(),
        json!({
            "content": [{ "type": "text", "text": "{\"temperature\":22.5}" }],
            "structuredContent": { "temperature": 22.5 },
            "isError": false,
        })
    );
}

#[test]
fn c6_a_failure_becomes_an_error_that_models_and_programs_can_read() {
    let error =
        ErrorDetail::new(ErrorType::FILE_NOT_FOUND_ERROR, "there is no such file").details(json!({ "path": "a.txt" }));
    let result = CallToolResult::from(ToolResult::failure(error));
    assert_eq!(
        result.to_value(),
        json!({
            "content": [{ "type": "text", "text": "FileNotFoundError: there is no such file\n{\"path\":\"a.txt\"}" }],
            "isError": true,
            "_meta": { "error": {
                "error_type": "FileNotFoundError",
                "error_details": { "path": "a.txt" },
            }},
        })
    );
}

#[test]
fn c6_status_and_explanation_travel_in_meta() {
    let result = CallToolResult::from(ToolResult::no_change_needed().explanation("it was so already"));
    assert_eq!(
        result.to_value(),
        json!({
            "content": [{ "type": "text", "text": "it was so already" }],
            "isError": false,
            "_meta": { "status": "no_change_needed", "explanation": "it was so already" },
        })
    );
}

#[test]
fn a_wrapped_value_is_shown_without_its_wrapper() {
    let text = |result: ToolResult| CallToolResult::from(result).content[0].as_text().unwrap().to_owned();
    assert_eq!(text(ToolResult::data("hello")), "hello");
    assert_eq!(text(ToolResult::data(3)), "3");
    assert_eq!(text(ToolResult::data(json!({ "result": {} }))), r#"{"result":{}}"#);
}

#[test]
fn an_error_of_another_server_becomes_a_tool_execution_error_with_its_text() {
    let strange = mcp(json!({ "content": [{ "type": "text", "text": "boom" }], "isError": true }));
    let flat = ToolResult::from(strange.clone());
    assert!(flat.validate().is_ok() && flat.status == Status::Failure);
    let error = flat.error.clone().unwrap();
    assert_eq!((error.error_type.as_str(), error.error_message.as_str()), ("ToolExecutionError", "boom"));
    assert_eq!(CallToolResult::from(flat), strange);
}

#[test]
fn structured_content_that_is_not_an_object_is_wrapped_and_comes_back() {
    let list =
        mcp(json!({ "content": [{ "type": "text", "text": "[1]" }], "structuredContent": [1], "isError": false }));
    let flat = ToolResult::from(list.clone());
    assert_eq!(flat.data, Some(json!({ "result": [1] })));
    assert!(flat.validate().is_ok());
    assert_eq!(CallToolResult::from(flat), list);
}

#[test]
fn content_blocks_are_written_as_mcp_requires() {
    let blocks = [
        Content::text("t"),
        Content::image([1, 2, 3], "image/png"),
        Content::audio([255], "audio/wav").with("annotations", json!({ "priority": 0.5 })),
        Content::link("file:///a", "a").with("mimeType", "text/plain"),
        Content::resource("file:///b", "text/plain", "b"),
        Content::resource_bytes("file:///c", "application/zip", b"PK"),
    ];
    assert_eq!(blocks[1].bytes(), Some(vec![1, 2, 3]));
    assert_eq!(blocks[5].bytes(), Some(b"PK".to_vec()));
    assert_eq!(
        serde_json::to_value(&blocks).unwrap(),
        json!([
            { "type": "text", "text": "t" },
            { "type": "image", "data": "AQID", "mimeType": "image/png" },
            { "type": "audio", "data": "/w==", "mimeType": "audio/wav", "annotations": { "priority": 0.5 } },
            { "type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "b", "mimeType": "text/plain" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "UEs=", "mimeType": "application/zip" } },
        ])
    );
}

#[test]
fn s2_20_c6_the_legacy_answer_is_the_bare_data_or_an_error() {
    let weather = json!({ "temperature": 22.5, "conditions": "partly cloudy" });
    let answer = |result: ToolResult| {
        let response = result.to_response("execution-1", Dialect::Legacy, CodeProfile::Extended).unwrap().unwrap();
        serde_json::to_value(response).unwrap()
    };
    assert_eq!(
        answer(ToolResult::data(weather.clone())),
        json!({ "jsonrpc": "2.0", "id": "execution-1", "result": weather })
    );
    let sentence = "Parameter 'location' is required";
    assert_eq!(
        answer(ToolResult::failure(ErrorDetail::new("ValidationError", sentence))),
        json!({ "jsonrpc": "2.0", "id": "execution-1", "error": {
            "code": -32602,
            "message": "Invalid params",
            "data": { "error_type": "ValidationError", "details": sentence },
        }})
    );
}

#[test]
fn s2_33_a_legacy_error_has_the_phrase_of_its_code_and_the_sentence_in_details() {
    for (error_type, code, phrase) in [
        ("ValidationError", -32602, "Invalid params"),
        ("SerializationError", -32603, "Internal error"),
        ("OutOfStock", 40000, "Tool execution error"),
        ("AuthenticationError", 40100, "Authentication error"),
        ("PermissionError", 40300, "Permission denied"),
    ] {
        let plain = ErrorDetail::new(error_type, "a sentence");
        for detail in [plain.clone(), plain.clone().details(json!({ "left": 0 })), plain.details("more")] {
            let result = ToolResult::failure(detail);
            let response = result.to_response(1, Dialect::Legacy, CodeProfile::Extended).unwrap().unwrap();
            let error = response.outcome.as_ref().unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (code, phrase));
            assert_eq!(error.data.as_ref().unwrap()["details"], "a sentence");
            assert_eq!(ToolResult::from_response(&response, Dialect::Legacy).unwrap(), result);
        }
    }
    let worked = r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"Invalid params","data":{"details":"Parameter 'location' is required"}}}"#;
    let Ok(RpcMessage::Response(response)) = RpcMessage::parse(worked) else { panic!("not a response") };
    assert_eq!(
        ToolResult::from_response(&response, Dialect::Legacy).unwrap().error.unwrap(),
        ErrorDetail::new("ValidationError", "Parameter 'location' is required")
    );
}

#[test]
fn s3_43_a_failure_without_an_error_is_a_failure_in_every_dialect() {
    let unsaid = ToolResult::success().status(Status::Failure);
    let legacy = unsaid.to_response(1, Dialect::Legacy, Dialect::Legacy.code_profile()).unwrap().unwrap();
    assert_eq!(legacy.outcome.unwrap_err().code, 40000);
    assert!(CallToolResult::from(unsaid).is_error);
}

#[test]
fn an_inconsistent_result_is_converted_without_a_panic() {
    let mut detail = ErrorDetail::new("E", "m");
    detail.extra.insert("error_type".into(), json!(1));
    assert!(CallToolResult::from(ToolResult::failure(detail)).is_error);
    let mut result = ToolResult::success();
    result.extra.insert("content".into(), json!(1));
    assert!(!CallToolResult::from(result).is_error);
    let mut strange = CallToolResult::default();
    strange.content = vec![Content::text("a").with("text", "b")];
    strange.meta.insert("status".into(), json!(1));
    assert_eq!(ToolResult::from(strange).status, Status::Success);
}

#[test]
fn s3_20_a_result_of_another_shape_is_not_read_as_an_empty_success() {
    let error = CallToolResult::parse(r#"{"temperature":3}"#).unwrap_err();
    assert_eq!(error.to_string(), "`content` is missing; add an array of content blocks");
    let nulls =
        r#"{"content":[{"type":"text","text":"t","annotations":null,"_meta":null}],"isError":null,"_meta":null}"#;
    assert_eq!(CallToolResult::parse(nulls).unwrap().content, [Content::text("t")]);
    assert_eq!(serde_json::from_value::<Content>(json!({ "type": "text", "text": "t" })).unwrap(), Content::text("t"));
}

#[test]
fn s3_12_an_answer_that_is_not_of_the_protocol_is_a_transport_error() {
    for (dialect, result) in [
        (Dialect::Mcp, json!({ "temperature": 3 })),
        (Dialect::Mcp, json!([])),
        (Dialect::Flat, json!({ "data": {} })),
        (Dialect::Flat, json!("done")),
    ] {
        let response = RpcResponse::success(1, &result).unwrap();
        let error = ToolResult::from_response(&response, dialect).unwrap_err();
        assert!(matches!(&error, Error::Transport(TransportError::Malformed(_))), "{result}: {error}");
        assert_eq!(error.error_type(), ErrorType::TRANSPORT_ERROR);
        assert!(error.to_string().ends_with("check that the other side speaks MCP"), "{error}");
    }
}

#[test]
fn the_deepest_flat_result_survives_mcp() {
    let deep = format!(
        r#"{{"status":"failure","error":{{"error_type":"E","error_message":"m","error_details":{{"x":{}1{}}}}}}}"#,
        "[".repeat(97),
        "]".repeat(97)
    );
    let flat = ToolResult::parse(deep).unwrap();
    let there = CallToolResult::parse(CallToolResult::from(flat.clone()).to_json()).unwrap();
    assert_eq!(ToolResult::from(there), flat);
}

#[test]
fn c1_c2_a_call_is_the_same_call_in_every_dialect() {
    let call = ToolCall::new("memory.put", json!({ "key": "k" }));
    assert_eq!(call.to_request(1, Dialect::Flat).unwrap().map(|_| ()), None);
    for (dialect, method, name, arguments) in
        [(Dialect::Mcp, "tools/call", "name", "arguments"), (Dialect::Legacy, "call_tool", "tool_name", "args")]
    {
        let request = call.to_request(1, dialect).unwrap().unwrap();
        let wire = serde_json::to_value(&request).unwrap();
        assert_eq!(
            wire,
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { name: "memory.put", arguments: { "key": "k" } } })
        );
        let bytes = wire.to_string().into_bytes();
        let Ok(RpcMessage::Request(request)) = RpcMessage::parse(&bytes) else { panic!("not a request") };
        assert_eq!(Dialect::from_method(&request.method), Some(dialect));
        assert_eq!(ToolCall::from_params(request.params.as_deref()).unwrap(), call);
    }
}

#[test]
fn c3_a_request_may_leave_the_arguments_out() {
    for params in [r#"{"name":"a.b"}"#, r#"{"name":"a.b","arguments":null}"#, r#"{"tool_name":"a.b","args":{}}"#] {
        let raw = serde_json::from_str::<Box<serde_json::value::RawValue>>(params).unwrap();
        let call = ToolCall::from_params(Some(&raw)).unwrap();
        assert_eq!((call.tool_name.as_str(), call.arguments), ("a.b", json!({})));
    }
    assert_eq!(ToolCall::from_params(None).unwrap_err().violations()[0].path, "tool_name");
    let raw = serde_json::from_str::<Box<serde_json::value::RawValue>>(r#"{"name":"a.b","arguments":[1]}"#).unwrap();
    assert_eq!(ToolCall::from_params(Some(&raw)).unwrap_err().violations()[0].path, "arguments");
}

/// The same result; content that only repeats the default text is the default.
fn normal(result: ToolResult) -> ToolResult {
    let mut bare = result.clone();
    bare.content = None;
    if CallToolResult::from(bare.clone()).content == result.content.clone().unwrap_or_default()
        && result.content.is_some()
    {
        bare
    } else {
        result
    }
}

fn content() -> impl Strategy<Value = Vec<Content>> {
    let extra = prop::collection::vec(("[a-z]{1,3}x", support::json()), 0..2);
    let block = prop_oneof![
        ".{0,5}".prop_map(Content::text),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(|bytes| Content::image(bytes, "image/png")),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(|bytes| Content::audio(bytes, "audio/wav")),
        ".{0,5}".prop_map(|uri| Content::link(uri, "n")),
        ".{0,5}".prop_map(|text| Content::resource("u", "text/plain", text)),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(|bytes| Content::resource_bytes("u", "x/y", bytes)),
    ];
    let block = (block, extra)
        .prop_map(|(block, extra)| extra.into_iter().fold(block, |block, (key, value)| block.with(key, value)));
    prop::collection::vec(block, 0..3)
}

fn detail() -> impl Strategy<Value = ErrorDetail> {
    let details =
        prop_oneof![Just(Value::Null), support::object().prop_map(Value::Object), ".{0,6}".prop_map(Value::from)];
    let kind = prop_oneof![Just("ToolExecutionError".to_owned()), "[A-Z][a-z]{0,5}"];
    (kind, ".{0,6}", details).prop_map(|(kind, message, details)| ErrorDetail::new(kind, message).details(details))
}

fn flat_results() -> impl Strategy<Value = ToolResult> {
    let status =
        prop::sample::select(vec!["success", "failure", "no_change_needed", "partial_success", "failed", "ok"]);
    let data = prop::option::of(prop_oneof![
        support::object().prop_map(Value::Object),
        support::json().prop_map(|value| json!({ "result": value })),
    ]);
    (
        (status, data, prop::option::of(detail()), detail()),
        (prop::option::of(".{0,6}"), prop::option::of(content()), support::object(), support::object()),
    )
        .prop_map(|((status, data, warning, failure), (explanation, content, meta, extra))| {
            let status = Status::from(status);
            let failed = status.is_failure();
            let mut result = ToolResult::success().status(status);
            result.data = data.filter(|_| !failed);
            result.error = if failed { Some(failure) } else { warning };
            result.explanation = explanation;
            result.content = content;
            result.meta = meta;
            result.extra = extra;
            let own = ["status", "data", "error", "explanation", "content", "_meta"];
            result.extra.retain(|key, _| !own.contains(&key.as_str()));
            result
        })
}

fn mcp_results() -> impl Strategy<Value = CallToolResult> {
    let structured = prop::option::of(prop_oneof![support::object().prop_map(Value::Object), support::json()]);
    (content(), structured, any::<bool>(), support::object(), support::object()).prop_map(
        |(content, structured, is_error, meta, extra)| {
            let mut result = CallToolResult::default();
            (result.content, result.structured_content, result.is_error) = (content, structured, is_error);
            (result.meta, result.extra) = (meta, extra);
            result.extra.retain(|key, _| !["content", "structuredContent", "isError", "_meta"].contains(&key.as_str()));
            result
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn c6_a_flat_result_survives_the_round_trip_through_mcp(result in flat_results()) {
        prop_assert!(result.validate().is_ok());
        let there = CallToolResult::from(result.clone());
        let wire = there.to_json();
        prop_assert_eq!(CallToolResult::parse(wire).unwrap(), there.clone());
        prop_assert_eq!(normal(ToolResult::from(there)), normal(result));
    }

    #[test]
    fn c6_an_mcp_result_survives_the_round_trip_through_the_flat_form(result in mcp_results()) {
        let there = ToolResult::from(result.clone());
        prop_assert!(there.validate().is_ok(), "{:?}", there.validate());
        let wire = there.to_json();
        prop_assert_eq!(ToolResult::parse(wire).unwrap(), there.clone());
        prop_assert_eq!(CallToolResult::from(there), result);
    }

    #[test]
    fn c6_an_answer_over_mcp_is_read_as_the_result_that_was_sent(result in flat_results()) {
        let response = result.to_response(1, Dialect::Mcp, CodeProfile::Standard).unwrap().unwrap();
        let bytes = serde_json::to_vec(&response).unwrap();
        let Ok(RpcMessage::Response(response)) = RpcMessage::parse(&bytes) else { panic!("not a response") };
        let response: RpcResponse<'_> = response;
        prop_assert_eq!(normal(ToolResult::from_response(&response, Dialect::Mcp).unwrap()), normal(result));
    }
}
