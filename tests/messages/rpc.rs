//! JSON-RPC 2.0, as MCP uses it.

use mcp_core::mcp::Incoming;
use mcp_core::rpc::{Id, RpcError, RpcMessage, RpcNotification, RpcRejection, RpcRequest, RpcResponse, code};
use mcp_core::serde_json::{self, Value, json};
use mcp_core::support::{Members, Message};
use proptest::prelude::*;
use serde::Deserialize;

fn rejected(message: &str) -> Box<RpcRejection> {
    RpcMessage::parse(message.as_bytes()).expect_err("the message is malformed")
}

fn request(message: &str) -> RpcRequest<'_> {
    match RpcMessage::parse(message.as_bytes()) {
        Ok(RpcMessage::Request(request)) => request,
        other => panic!("not a request: {other:?}"),
    }
}

fn wire(message: &RpcMessage<'_>) -> Value {
    serde_json::to_value(message).unwrap()
}

#[test]
fn s2_1_s2_2_a_request_has_an_id_a_method_and_params() {
    let message = json!({
        "jsonrpc": "2.0", "id": "unique-request-id", "method": "method-name",
        "params": { "param1": "value1", "param2": "value2" },
    });
    let text = message.to_string();
    let request = request(&text);
    assert_eq!(request.id, "unique-request-id".into());
    assert_eq!(request.method, "method-name");
    assert_eq!(request.params_as::<Value>().unwrap()["param2"], "value2");
    assert_eq!(wire(&RpcMessage::Request(request)), message);
}

#[test]
fn s2_3_s2_4_a_response_has_the_id_and_a_result_or_an_error() {
    for message in [
        json!({ "jsonrpc": "2.0", "id": "unique-request-id", "result": { "field1": "value1", "field2": "value2" } }),
        json!({ "jsonrpc": "2.0", "id": "unique-request-id", "error": {
            "code": -32602, "message": "Invalid params", "data": { "details": "Parameter 'location' is required" },
        }}),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "Parse error" } }),
    ] {
        let text = message.to_string();
        let parsed = RpcMessage::parse(text.as_bytes()).unwrap();
        assert!(matches!(&parsed, RpcMessage::Response(_)));
        assert_eq!(wire(&parsed.into_owned()), message);
    }
}

#[test]
fn s2_5_to_s2_13_s3_45_every_code_has_its_number() {
    let codes = [
        (code::PARSE_ERROR, -32700),
        (code::INVALID_REQUEST, -32600),
        (code::METHOD_NOT_FOUND, -32601),
        (code::INVALID_PARAMS, -32602),
        (code::INTERNAL_ERROR, -32603),
        (code::SERVER_ERROR, -32000),
        (code::SERVER_ERROR_LAST, -32099),
        (code::HEADER_MISMATCH, -32020),
        (code::MISSING_CLIENT_CAPABILITY, -32021),
        (code::UNSUPPORTED_PROTOCOL_VERSION, -32022),
        (code::TOOL_EXECUTION_ERROR, 40000),
        (code::AUTHENTICATION_ERROR, 40100),
        (code::PERMISSION_DENIED, 40300),
    ];
    for (code, number) in codes {
        assert_eq!(code, number);
    }
}

#[test]
fn s3_19_c23_an_id_is_a_string_or_an_integer_and_survives_a_round_trip() {
    for id in [json!(0), json!(-7), json!(i64::MIN), json!(u64::MAX), json!(""), json!("a\"b\n"), json!("7")] {
        let text = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
        let request = request(&text);
        assert_eq!(serde_json::to_value(&request.id).unwrap(), id);
        let answer = RpcResponse::success(request.id.clone(), json!({})).unwrap();
        assert_eq!(serde_json::to_value(answer).unwrap()["id"], id);
    }
    assert_ne!(Id::from(7), Id::from("7"));
}

#[test]
fn c23_a_null_or_odd_id_is_an_invalid_request_and_not_a_notification() {
    for id in ["null", "true", "1.5", "1.0", "1e2", "{}", "[1]", "18446744073709551616"] {
        let rejection = rejected(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!((rejection.id, rejection.error.code), (None, code::INVALID_REQUEST), "{id}");
        assert!(rejection.error.message.starts_with("`id` must be a string or an integer"), "{}", rejection.error);
    }
}

#[test]
fn a_message_without_an_id_is_a_notification() {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let Ok(RpcMessage::Notification(notification)) = RpcMessage::parse(text.as_bytes()) else {
        panic!("no notification")
    };
    assert_eq!(notification.method, "notifications/cancelled");
    assert_eq!(notification.params_as::<Value>().unwrap(), json!({ "requestId": 1 }));
    let made = RpcNotification::new("notifications/cancelled").params(json!({ "requestId": 1 })).unwrap();
    assert_eq!(serde_json::to_string(&made).unwrap(), text);
}

#[test]
fn params_are_an_object_or_left_out() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#,
    ] {
        assert!(request(text).params.is_none());
        assert_eq!(request(text).params_as::<Value>().unwrap(), json!({}));
    }
    for params in ["[1]", "\"x\"", "1", "false"] {
        let rejection = rejected(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#));
        assert_eq!((rejection.id, rejection.error.code), (Some(1.into()), code::INVALID_PARAMS), "{params}");
    }
    let error = request(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"x"}}"#)
        .params_as::<std::collections::HashMap<String, i32>>()
        .unwrap_err();
    assert_eq!(error.code, code::INVALID_PARAMS);
}

#[test]
fn reading_copies_nothing_and_does_not_parse_params() {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"m","params":{{"deep":{}1{}}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let request = request(&text);
    assert!(matches!(request.method, std::borrow::Cow::Borrowed(_)));
    assert!(matches!(request.id, Id::Str(std::borrow::Cow::Borrowed("x"))));
    assert!(matches!(request.params, Some(std::borrow::Cow::Borrowed(_))));
}

#[test]
fn s2_5_a_message_that_is_not_json_is_a_parse_error_with_its_position() {
    for text in ["", "   ", "{", r#"{"jsonrpc":"2.0","id":1,"method":"m""#, "nonsense", r#"{"a":01}"#, "{} {}", "[1,"] {
        let rejection = rejected(text);
        assert_eq!((rejection.id, rejection.error.code), (None, code::PARSE_ERROR), "{text}");
        assert!(rejection.error.message.contains("line 1, column"), "{}", rejection.error.message);
    }
    let rejection = RpcMessage::parse(b"{\"method\":\"\xff\"}").unwrap_err();
    assert_eq!(rejection.error.code, code::PARSE_ERROR);
    assert_eq!(rejection.error.message, "the message is not UTF-8 from byte 11 on; encode it as UTF-8");
}

#[test]
fn s2_6_json_that_is_not_a_request_is_an_invalid_request() {
    let cases = [
        ("[]", None, "batches are not supported"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None, "batches are not supported"),
        ("\"text\"", None, "a message is a JSON object"),
        ("42", None, "a message is a JSON object"),
        ("{}", None, "`jsonrpc` is missing"),
        (r#"{"id":1,"method":"ping"}"#, Some(1), "`jsonrpc` is missing"),
        (r#"{"jsonrpc":"1.0","id":2,"method":"ping"}"#, Some(2), "`jsonrpc` must be the string \"2.0\""),
        (r#"{"jsonrpc":2.0,"id":3,"method":"ping"}"#, Some(3), "`jsonrpc` must be the string \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":4}"#, Some(4), "`method` is missing"),
        (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, Some(5), "`method` must be a string"),
        (r#"{"jsonrpc":"2.0","id":6,"method":"a","method":"b"}"#, Some(6), "`method` is a duplicate key"),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"a"}"#, None, "`id` is a duplicate key"),
        (r#"{"jsonrpc":"2.0","id":8,"method":"a","result":{}}"#, Some(8), "a message has a `method`, or"),
        (r#"{"jsonrpc":"2.0","id":9,"result":{},"error":{}}"#, Some(9), "a response has `result` or `error`"),
        (r#"{"jsonrpc":"2.0","id":10,"error":{"code":"x"}}"#, Some(10), "`error` must be an object"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, None, "`id` is missing"),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, None, "`id` must be a string or an integer"),
    ];
    for (text, id, message) in cases {
        let rejection = rejected(text);
        assert_eq!(rejection.error.code, code::INVALID_REQUEST, "{text}");
        assert_eq!(rejection.id, id.map(Id::from), "{text}");
        assert!(rejection.error.message.starts_with(message), "{text}: {}", rejection.error.message);
        assert_eq!(rejection.error.data, Some(json!({ "error_type": "ValidationError" })));
    }
}

#[test]
fn c1_a_message_without_jsonrpc_is_a_flat_call() {
    let flat = |text: &str| match Incoming::parse(text.as_bytes()) {
        Ok(Incoming::Flat(call)) => call,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(flat(r#"{"tool_name":"a.b","arguments":{}}"#).unwrap().tool_name, "a.b");
    assert_eq!(flat(r#"{"tool_name":"a.b"}"#).unwrap_err().violations()[0].path, "arguments");
    assert!(matches!(Incoming::parse(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#), Ok(Incoming::Rpc(_))));
    assert_eq!(Incoming::parse(b"[]").unwrap_err().error.code, code::INVALID_REQUEST);
    assert_eq!(Incoming::parse(b"{").unwrap_err().error.code, code::PARSE_ERROR);
}

#[test]
fn a_malformed_notification_is_not_answered() {
    for text in [r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#, r#"{"jsonrpc":"2.0","method":7}"#] {
        assert!(rejected(text).into_response().is_none(), "{text}");
    }
    assert!(rejected("{}").into_response().is_some());
}

#[test]
fn an_error_without_an_id_is_a_response() {
    let text = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#;
    let Ok(RpcMessage::Response(response)) = RpcMessage::parse(text) else { panic!("no response") };
    assert_eq!((response.id, response.outcome.unwrap_err().code), (None, -32700));
}

#[test]
fn an_id_is_read_from_anything_that_serde_reads() {
    assert_eq!(serde_json::from_value::<Id<'static>>(json!(7)).unwrap(), Id::from(7));
    assert_eq!(serde_json::from_str::<Id<'static>>("\"a\"").unwrap(), Id::from("a"));
    assert!(serde_json::from_value::<Id<'static>>(json!(null)).is_err());
    assert!(serde_json::from_value::<Id<'static>>(json!(1.5)).is_err());
}

#[test]
fn params_that_are_not_an_object_cannot_be_set() {
    assert!(RpcRequest::new(1, "m").params([1]).is_err());
    assert!(RpcNotification::new("m").params(()).is_err());
}

#[test]
fn c13_a_rejection_is_answered_with_the_id_that_could_be_read_or_null() {
    let answer = |text| serde_json::to_value(rejected(text).into_response()).unwrap();
    assert_eq!(answer("{")["id"], Value::Null);
    assert_eq!(answer(r#"{"jsonrpc":"2.0","id":5,"method":7}"#)["id"], 5);
}

#[test]
fn unknown_members_are_ignored() {
    assert_eq!(request(r#"{"extra":[{}],"jsonrpc":"2.0","id":1,"method":"ping"}"#).method, "ping");
    assert_eq!(request(r#"{"jsonrpc":"2\u002e0","id":"\u0031","method":"pi\u006eg"}"#).method, "ping");
}

#[test]
fn an_error_is_written_without_empty_data() {
    let error = RpcError::new(code::METHOD_NOT_FOUND, "no such method");
    assert_eq!(serde_json::to_value(&error).unwrap(), json!({ "code": -32601, "message": "no such method" }));
    assert_eq!(error.to_string(), "no such method (-32601)");
}

const KEYS: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error", "tool_name", "name", "extra"];

const VALUES: &[&str] = &[
    r#""2.0""#,
    r#""2\u002e0""#,
    r#""m""#,
    r#""\ud800""#,
    "1",
    "-0",
    "1.5",
    "1e999",
    "18446744073709551616",
    "null",
    "{}",
    r#"{"a":1}"#,
    r#"{"a":1,"a":2}"#,
    r#"{"a":"x"}"#,
    "[]",
    "[1]",
    r#"{"code":1,"message":"m"}"#,
    "tru",
];

#[derive(Default, Deserialize)]
struct TypedParams {
    a: Option<u8>,
}

/// Reads a message with typed parameters, and checks that it is what it is without.
fn read_typed(text: &str) {
    let mut members = Members::<TypedParams>::default();
    match (members.read(text.as_bytes()).and_then(|()| members.interpret()), RpcMessage::parse(text)) {
        (Ok(Message::Request(id, method, params)), Ok(RpcMessage::Request(request))) => {
            assert_eq!((id, method), (&request.id, &request.method), "{text}");
            assert_eq!(params.is_ok_and(|params| params.a == Some(1)), text.contains(r#""params":{"a":1}"#), "{text}");
        }
        (Ok(Message::Notification(method, _)), Ok(RpcMessage::Notification(notification))) => {
            assert_eq!(method, &notification.method, "{text}");
        }
        (Ok(Message::Response(id, outcome)), Ok(RpcMessage::Response(response))) => {
            assert_eq!((id, outcome.is_ok()), (response.id.as_ref(), response.outcome.is_ok()), "{text}");
        }
        (Err(typed), Err(raw)) => assert_eq!(typed, raw, "{text}"),
        (typed, raw) => panic!("{text}: {} with typed parameters, but {raw:?} without", typed.is_ok()),
    }
}

#[test]
fn a_message_is_the_same_with_typed_and_untyped_params() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
        r#" {"params":{"a":1},"method":"\u006d","id":"\u0031","jsonrpc":"2\u002e0"} "#,
        r#"{"jsonrpc":"2.0","id":-0,"method":"m","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"m","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"x"}}"#,
    ] {
        read_typed(text);
    }
    assert_eq!(request(r#"{"jsonrpc":"2.0","id":-0,"method":"m"}"#).id, Id::from(0));
}

proptest! {
    #[test]
    fn any_message_is_the_same_with_typed_and_untyped_params(
        members in prop::collection::vec((prop::sample::select(KEYS), prop::sample::select(VALUES)), 0..6),
        has_version in any::<bool>(),
    ) {
        let members = members.iter().map(|(key, value)| format!(r#""{key}":{value}"#));
        let version = has_version.then(|| r#""jsonrpc":"2.0""#.to_owned());
        let members: Vec<_> = version.into_iter().chain(members).collect();
        read_typed(&format!("{{{}}}", members.join(",")));
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = RpcMessage::parse(&bytes).map_err(|rejection| rejection.to_string());
    }

    #[test]
    fn arbitrary_members_are_read_or_rejected_without_a_panic(
        mut message in support::object(),
        id in support::json(), method in support::json(), params in support::json(),
    ) {
        message.extend([("jsonrpc".to_owned(), json!("2.0")), ("id".to_owned(), id), ("method".to_owned(), method),
            ("params".to_owned(), params)]);
        let text = Value::Object(message).to_string();
        let _ = RpcMessage::parse(text.as_bytes()).map_err(|rejection| rejection.to_string());
    }

    #[test]
    fn any_request_survives_a_round_trip(id in ".{0,9}", method in ".{0,9}", params in support::object()) {
        let made = RpcRequest::new(id, method).params(&params).unwrap();
        let text = serde_json::to_string(&made).unwrap();
        let read = request(&text);
        prop_assert_eq!((&read.id, &read.method), (&made.id, &made.method));
        prop_assert_eq!(read.params_as::<serde_json::Map<String, Value>>().unwrap(), params);
    }
}
