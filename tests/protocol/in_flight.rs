//! What is in flight on one connection: IDs and progress tokens are unique, `_meta` is bounded, and calls beyond the limit
//! are recorded.

use mcp_registry::observe::CallOutcome;
use mcp_registry::protocol::Peer;
use mcp_registry::{AuditLog, CallOptions, Registry, Server, mcp_tool, tools};
use serde_json::{Value, json};

use crate::{block_on, builder, server};

fn request(id: u32, method: &str, params: Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes()
}

/// The answer, which must be available at once.
fn at_once(server: &Server, message: &[u8], peer: &Peer) -> Value {
    let mut out = Vec::new();
    assert!(server.begin(message, peer, &mut out).is_none(), "it is answered at once");
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn no_request_may_use_an_id_that_is_in_flight() {
    let (server, peer) = (server(), Peer::new());
    let mut out = Vec::new();
    let wait = server.begin(&request(1, "tools/call", json!({ "name": "served_wait" })), &peer, &mut out).unwrap();
    let add = json!({ "name": "served_add", "arguments": { "a": 1 } });
    for (method, params) in [("ping", json!({})), ("tools/call", add.clone()), ("tools/list", json!({}))] {
        let refused = at_once(&server, &request(1, method, params.clone()), &peer);
        assert_eq!(refused["error"]["code"], -32600, "{method}: {refused}");
        let answered = at_once(&server, &request(2, method, params), &peer);
        assert!(answered["result"].is_object(), "{method}: {answered}");
    }
    peer.close();
    assert_eq!(block_on(wait), None);
    assert!(at_once(&server, &request(1, "tools/call", add), &peer)["result"].is_object(), "it is free again");
}

#[test]
fn no_two_calls_in_flight_share_a_progress_token() {
    let (server, peer) = (server(), Peer::builder().on_notification(|_| {}).build());
    let with_token = |name: &str, token: Value| {
        let arguments = if name == "served_wait" { json!({}) } else { json!({ "a": 1 }) };
        json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": token } })
    };
    let mut out = Vec::new();
    let wait = server.begin(&request(1, "tools/call", with_token("served_wait", json!(7))), &peer, &mut out);
    let wait = wait.unwrap();
    for tool in ["served_steps", "served_add"] {
        let refused = at_once(&server, &request(2, "tools/call", with_token(tool, json!(7))), &peer);
        assert_eq!(refused["error"]["code"], -32602, "{tool}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("progressToken"), "{refused}");
    }
    let other = at_once(&server, &request(3, "tools/call", with_token("served_add", json!("7"))), &peer);
    assert!(other["result"].is_object(), "a text is another token than a number: {other}");
    peer.close();
    assert_eq!(block_on(wait), None);
    let free = at_once(&server, &request(4, "tools/call", with_token("served_add", json!(7))), &peer);
    assert!(free["result"].is_object(), "{free}");
}

#[test]
fn a_call_beyond_the_in_flight_limit_is_recorded() {
    let audit = AuditLog::new();
    let registry = builder().observer(audit.clone()).build().unwrap();
    let server = Server::new(registry).max_in_flight(1);
    let peer = Peer::builder().options(CallOptions::new().caller("ada")).build();
    let mut out = Vec::new();
    let wait = server.begin(&request(1, "tools/call", json!({ "name": "served_wait" })), &peer, &mut out).unwrap();
    at_once(&server, &request(2, "tools/call", json!({ "name": "served_say_slowly" })), &peer);
    at_once(&server, br#"{"tool_name": "served.say_slowly", "arguments": {"text": "a"}}"#, &peer);
    at_once(&server, &request(3, "call_tool", json!({ "tool_name": "served.say_slowly", "args": {} })), &peer);
    let records = audit.records();
    assert_eq!(records.len(), 3);
    for record in &records {
        assert_eq!(record.tool, "served.say_slowly");
        assert_eq!(record.error_type.as_deref(), Some("ApiLimitExceeded"));
        assert_eq!(record.caller.as_deref(), Some("ada"));
    }
    let metrics = server.registry().metrics();
    let tool = metrics.get("served.say_slowly").unwrap();
    assert_eq!((tool.calls, tool.errors), (3, 3));
    peer.close();
    drop(wait);
}

fn know(meta: &str) -> Value {
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"served_know","_meta":{meta}}}}}"#);
    serde_json::from_slice(&block_on(server().handle(message.as_bytes(), &Peer::new())).unwrap()).unwrap()
}

#[test]
fn meta_that_is_too_large_or_invalid_is_refused_and_never_silently_dropped() {
    let known = know(r#"{"traceparent": "00-1-2-01"}"#);
    assert!(known.to_string().contains("00-1-2-01"), "{known}");
    assert!(know("null")["result"].is_object());
    for (meta, reason) in [
        (format!(r#"{{"a": "{}"}}"#, "x".repeat(64 * 1024)), "65536"),
        (format!(r#"{{"a": {}1{}}}"#, "[".repeat(120), "]".repeat(120)), "nested deeper"),
        (format!(r#"{{"a": {}1{}}}"#, "[".repeat(200), "]".repeat(200)), "_meta"),
        (r#"{"traceparent": "00-1-2-01", "b": "\ud800"}"#.to_owned(), "hex escape"),
        (r#"{"traceparent": "00-1-2-01", "b": 1e999}"#.to_owned(), "out of range"),
        (r#"{"traceparent": "00-1-2-01", "b": {"c": 1, "c": 2}}"#.to_owned(), "duplicate key"),
    ] {
        let refused = know(&meta);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(reason), "{reason}: {refused}");
        assert!(refused.to_string().len() < 1_000);
    }
}

#[test]
fn unreadable_arguments_under_both_spellings_are_a_contradiction() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"served_add",
        "arguments":{"a":1,"b":2,"c":1e999},"args":{"a":3,"b":4,"c":1e998}}}"#;
    let answer = block_on(server().handle(message.as_bytes(), &Peer::new())).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_large_flat_call_is_answered_like_a_small_one() {
    let server = server();
    let call = |text: &str, name: &str| {
        let message = json!({ "tool_name": name, "arguments": { "text": text } }).to_string();
        let answer = block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()
    };
    for name in ["served.say", "served.say_slowly"] {
        let (small, large) = (call("a", name), call(&"a".repeat(100_000), name));
        assert_eq!(small["data"]["result"], "a");
        assert_eq!(large["data"]["result"].as_str().map(str::len), Some(100_000));
    }
    assert_eq!(call(&"a".repeat(100_000), "served.nothing")["error"]["error_type"], "ToolNotFoundError");
    let broken = format!(
        r#"{{"tool_name": "served.say", "arguments": {{"text": "{}"}}, "tool_name": "x"}}"#,
        "a".repeat(100_000)
    );
    let answer = block_on(server.handle(broken.as_bytes(), &Peer::new())).unwrap();
    assert!(String::from_utf8(answer).unwrap().contains("tool_name"));
    for members in [
        r#""name":5"#,
        r#""name":"served.say","tool_name":"served.wait""#,
        r#""jsonrpc":null,"tool_name":"served.say""#,
        r#""id":{},"params":[]"#,
    ] {
        let [small, large] = [1, 100_000].map(|count| {
            let message = format!(r#"{{"arguments":{{"text":"{}"}},{members}}}"#, "a".repeat(count));
            String::from_utf8(block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap()).unwrap()
        });
        assert_eq!(small, large, "{members}");
    }
}

/// A number, digit by digit.
#[mcp_tool(module = "digits", inline)]
fn digits(n: i128, #[arg(default = "")] text: String) -> String {
    format!("{n}{}", text.len())
}

#[test]
fn a_flat_call_keeps_every_digit_whatever_its_size() {
    let server = Server::new(Registry::builder_of(tools![digits]).build().unwrap());
    for length in [0, 100_000] {
        for (name, arguments) in [("tool_name", "arguments"), ("name", "args"), ("tool_name", "args")] {
            let text = "a".repeat(length);
            let message =
                format!(r#"{{"{name}":"digits.digits","{arguments}":{{"n":36893488147419103233,"text":"{text}"}}}}"#);
            let answer = block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer["data"]["result"], format!("36893488147419103233{length}"), "{name}: {answer}");
        }
    }
}

#[test]
fn a_large_flat_call_that_is_dropped_while_it_is_read_is_recorded_as_cancelled() {
    let audit = AuditLog::new();
    let server = Server::new(builder().observer(audit.clone()).build().unwrap());
    let message = json!({ "tool_name": "served.say", "arguments": { "text": "a".repeat(100_000) } }).to_string();
    let peer = Peer::new();
    let pending = server.begin(message.as_bytes(), &peer, &mut Vec::new()).expect("it is read on the pool");
    assert_eq!(audit.records().len(), 0);
    drop(pending);
    let outcomes: Vec<_> = audit.records().iter().map(|record| (record.tool.clone(), record.outcome)).collect();
    assert_eq!(outcomes, [("served.say".to_owned(), CallOutcome::Cancelled)]);
    assert_eq!(peer.in_flight(), 0);
}
