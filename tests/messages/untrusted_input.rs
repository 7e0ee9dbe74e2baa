//! Malicious input: a clear error of bounded size, and no panic.

use mcp_core::error::{MAX_DEPTH, Rule, ToolNotFoundError, ValidationError};
use mcp_core::mcp::CallToolResult;
use mcp_core::message::Strictness;
use mcp_core::rpc::{RpcMessage, code};
use mcp_core::serde_json::json;
use mcp_core::{Error, ErrorDetail, ToolCall, ToolResult};

/// No error is longer than this, whatever the input.
const BOUND: usize = 4096;

fn refused(message: &[u8]) -> ValidationError {
    let errors = [
        ToolCall::parse(message).unwrap_err(),
        ToolResult::parse(message).unwrap_err(),
        ErrorDetail::parse(message).unwrap_err(),
    ];
    for error in &errors {
        assert!(error.to_string().len() < BOUND, "{} bytes", error.to_string().len());
    }
    errors.into_iter().next().unwrap()
}

#[test]
fn a_name_of_a_megabyte_is_refused_with_a_short_error() {
    let megabyte = "n".repeat(1 << 20);
    let error = ToolCall::new(megabyte.clone(), json!({})).validate().unwrap_err().to_string();
    assert!(error.contains("has 1048576 characters; use at most 128") && error.len() < 256, "{error}");
    let error = ToolNotFoundError::new(&megabyte, vec![]);
    assert!(error.to_string().len() < 256);
    assert!(Error::from(error).to_detail().to_json().len() < 1024);

    let key = format!(r#"{{"tool_name":"a.b","arguments":{{}},"{megabyte}":1}}"#);
    let error = ToolCall::parse_with(key, Strictness::Strict).unwrap_err().to_string();
    assert!(error.len() < 256, "{error}");
    let twice = format!(r#"{{"{megabyte}":1,"{megabyte}":1}}"#);
    assert!(refused(twice.as_bytes()).to_string().len() < 256);
}

#[test]
fn a_text_of_a_megabyte_is_accepted() {
    let megabyte = "é".repeat(1 << 19);
    let call = ToolCall::new("a.b", json!({ "text": megabyte }));
    assert_eq!(ToolCall::parse(call.to_json()).unwrap(), call);
    let result = ToolResult::failure(ErrorDetail::new("E", megabyte.clone()).details(megabyte));
    assert_eq!(ToolResult::parse(result.to_json()).unwrap(), result);
}

#[test]
fn deep_nesting_is_refused_with_its_path() {
    for (open, close) in [("[", "]"), (r#"{"k":"#, "}")] {
        let deep =
            format!(r#"{{"tool_name":"a.b","arguments":{{"x":{}1{}}}}}"#, open.repeat(10_000), close.repeat(10_000));
        let error = refused(deep.as_bytes());
        assert_eq!(error.violations()[0].rule, Rule::Depth);
        assert!(error.violations()[0].path.starts_with("arguments.x"), "{error}");
        CallToolResult::parse(&deep).unwrap_err();
        // Never closed: the depth is exceeded before the end is reached.
        let endless = format!(r#"{{"arguments":{}"#, open.repeat(100_000));
        assert_eq!(refused(endless.as_bytes()).violations()[0].rule, Rule::Depth);
    }
    let allowed = format!(
        r#"{{"tool_name":"a.b","arguments":{{"x":{}1{}}}}}"#,
        "[".repeat(MAX_DEPTH - 2),
        "]".repeat(MAX_DEPTH - 2)
    );
    ToolCall::parse(allowed).unwrap();
}

#[test]
fn deep_nesting_in_json_rpc_params_is_left_to_their_reader() {
    let nested = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a.b","arguments":{nested}}}}}"#);
    let Ok(RpcMessage::Request(request)) = RpcMessage::parse(text.as_bytes()) else { panic!("not a request") };
    let error = ToolCall::from_params(request.params.as_deref()).unwrap_err();
    assert_eq!(error.violations()[0].rule, Rule::Depth);
    let rejection = RpcMessage::parse(nested.as_bytes()).unwrap_err();
    assert_eq!(rejection.error.code, code::INVALID_REQUEST);
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_their_position() {
    let error = refused(b"{\"tool_name\":\"a\xc3\x28\"}");
    assert_eq!(error, ValidationError::Encoding { offset: 15 });
    refused(b"\xff\xfe{\x00}\x00");
    refused("\u{feff}{}".as_bytes());
    assert!(matches!(ToolCall::parse(r#"{"tool_name":"\ud800","arguments":{}}"#), Err(ValidationError::Syntax { .. })));
}

#[test]
fn a_duplicate_key_is_refused_at_every_depth() {
    for (message, path) in [
        (r#"{"tool_name":"a.b","tool_name":"c.d","arguments":{}}"#, "tool_name"),
        (r#"{"tool_name":"a.b","arguments":{"x":1,"x":1}}"#, "arguments.x"),
        (r#"{"tool_name":"a.b","arguments":{"l":[0,{"deep":{"y":1,"\u0079":2}}]}}"#, "arguments.l[1].deep.y"),
        (r#"{"tool_name":"a.b","arguments":{},"extra":{"z":1,"z":2}}"#, "extra.z"),
    ] {
        let error = refused(message.as_bytes());
        assert_eq!(error.to_string(), format!("`{path}` is a duplicate key; keep one of the two"));
    }
}

#[test]
fn a_message_that_is_not_one_object_is_refused() {
    for message in ["null", "true", "[]", "[{}]", "\"{}\"", "12"] {
        let error = refused(message.as_bytes());
        assert!(error.to_string().starts_with("the message must be an object, but is "), "{error}");
    }
    for message in ["", " ", "{", "{}{}", "{} x", "{'a':1}", "{\"a\":1,}", "undefined"] {
        let error = refused(message.as_bytes());
        assert!(matches!(error, ValidationError::Syntax { .. }), "{message}");
        assert!(error.to_string().contains("at line 1, column"), "{error}");
    }
}

#[test]
fn a_message_with_many_faults_gets_a_short_answer() {
    let keys: Vec<String> = (0..100_000).map(|index| format!("\"k{index}\":1")).collect();
    let message = format!(r#"{{"tool_name":"a.b","arguments":{{}},{}}}"#, keys.join(","));
    let error = ToolCall::parse_with(&message, Strictness::Strict).unwrap_err();
    assert!(error.to_string().len() < BOUND && error.violations().len() == 20);

    let blocks = vec!["1"; 100_000].join(",");
    let error = ToolResult::parse(format!(r#"{{"status":"success","content":[{blocks}]}}"#)).unwrap_err();
    assert_eq!(error.violations().len(), 20);
}

#[test]
fn every_error_is_short_whatever_the_keys_and_values() {
    let key = "🥊".repeat(64);
    let deep = format!("{}1{}", format!(r#"{{"{key}":"#).repeat(200), "}".repeat(200));
    let error = Error::from(refused(deep.as_bytes()));
    assert!(error.to_string().len() < 512, "{}", error.to_string().len());
    assert!(error.to_detail().to_json().len() < BOUND);
    let extras: Vec<String> = (0..50).map(|index| format!(r#""{key}{index}":1"#)).collect();
    let many = format!(r#"{{"tool_name":"a.b","arguments":{{}},{}}}"#, extras.join(","));
    let error = ToolCall::parse_with(many, Strictness::Strict).unwrap_err();
    assert!(error.to_string().len() < BOUND);

    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":"{}"}}}}"#, "v".repeat(1 << 20));
    let Ok(RpcMessage::Request(request)) = RpcMessage::parse(&text) else { panic!("not a request") };
    let error = request.params_as::<std::collections::HashMap<String, i32>>().unwrap_err();
    assert!(error.message.len() < 512);
}

#[test]
fn an_error_has_no_control_characters_of_its_input() {
    let error = ToolCall::new("a\n[INFO] forged\u{1b}[2J", json!({})).validate().unwrap_err().to_string();
    assert!(!error.contains(char::is_control), "{error:?}");
    let error = refused(b"{\"a\\n\":{\"b\":1,\"b\":2}}").to_string();
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[test]
fn numbers_are_numbers_whatever_features_serde_json_has() {
    use serde::Deserialize as _;
    // What serde_json produces with `arbitrary_precision`, which any crate of a program can turn on.
    let number = [("$serde_json::private::Number", "1.50")];
    let number = serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(number.into_iter());
    let message = serde::de::value::MapDeserializer::new([("error_type", number)].into_iter());
    let error = ErrorDetail::deserialize(message).unwrap_err().to_string();
    assert!(error.contains("`error_type` must be a string, but is a number"), "{error}");
}

#[test]
fn numbers_out_of_range_are_refused_or_kept_as_floats() {
    assert!(ToolCall::parse(r#"{"tool_name":"a.b","arguments":{"n":1e999}}"#).is_err());
    let call = ToolCall::parse(r#"{"tool_name":"a.b","arguments":{"n":18446744073709551615}}"#).unwrap();
    assert_eq!(call.arguments["n"], u64::MAX);
}
