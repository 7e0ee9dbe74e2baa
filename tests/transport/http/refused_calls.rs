//! Everything that asks for a tool over HTTP and is refused is recorded once: as a call, or as a rejected request if its
//! message was not looked at.

use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::{AuditLog, CallOptions, Registry, Server, mcp_tool, tools};
use serde_json::{Value, json};

use super::served::{Log, Served, builder};
use super::wire::{Ask, VERSIONS, call, modern, older};

fn audited(set: impl FnOnce(mcp_registry::Http) -> mcp_registry::Http) -> (Served, AuditLog) {
    let (log, audit) = (Log::new(), AuditLog::new());
    let registry = builder(&log).observer(audit.clone()).build().unwrap();
    (Served::new(Server::new(registry), log, set), audit)
}

/// The tools and error types of the records so far.
fn recorded(audit: &AuditLog) -> Vec<(String, String)> {
    let records = audit.records();
    records.iter().map(|record| (record.tool.clone(), record.error_type.clone().unwrap_or_default())).collect()
}

/// Requests that ask for a tool and are refused, and the tool of the record.
fn refused(session: &str) -> Vec<(Ask, &'static str)> {
    let add = json!({ "name": "t_add", "arguments": { "a": 1, "b": 1 } });
    let raw = |message: &str| Ask::post(message).with("MCP-Protocol-Version", "2025-11-25");
    let mut asks = vec![
        (modern("tools/call", json!({ "name": "t_add", "arguments": [] })), "t.add"),
        (modern("tools/call", json!({})), ""),
        (modern("tools/call", add.clone()).with("Mcp-Name", "t_echo"), "t.add"),
        (modern("tools/call", add.clone()).without("Mcp-Method"), "t.add"),
        (modern("tools/call", add.clone()).with("MCP-Protocol-Version", "2025-11-25"), "t.add"),
        (modern("tools/call", json!({ "name": "t_mirrored", "arguments": { "region": "eu" } })), "t.mirrored"),
        (modern("call_tool", json!({ "name": "t_add" })), "t.add"),
        (older("tools/call", &add).with("MCP-Protocol-Version", "1999-01-01"), "t.add"),
        (older("tools/call", &add).with("MCP-Protocol-Version", "2026-07-28"), "t.add"),
        (older("tools/call", &add).with("Mcp-Session-Id", "0123456789abcdef0123456789abcdef"), "t.add"),
        (raw(r#"{"tool_name": "t.add", "arguments": {}}"#).with("MCP-Protocol-Version", "2026-07-28"), "t.add"),
    ];
    for (ask, tool) in [
        (older("tools/call", &json!({ "name": "t_add", "arguments": "{}" })), "t.add"),
        (older("tools/call", &json!({ "name": "t_nothing" })), "t_nothing"),
        (older("call_tool", &json!({ "tool_name": "t.add", "args": [] })), "t.add"),
        (raw(r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t_add"}}"#), "t.add"),
        (raw(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t_add"}}"#), "t.add"),
        (raw(r#"{"tool_name": "t.add"}"#), "t.add"),
        (raw(r#"{"tool_name": "t.add", "arguments": {"#), "t.add"),
    ] {
        asks.push((ask.clone(), tool));
        asks.push((ask.with("Mcp-Session-Id", session), tool));
    }
    asks
}

#[test]
fn a_refused_call_is_recorded_once_over_http_with_and_without_a_session() {
    let (served, audit) = audited(|http| http);
    let session = served.session("2025-11-25");
    let mut expected = Vec::new();
    for (ask, tool) in refused(&session) {
        let reply = served.ask(&ask);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let message = String::from_utf8_lossy(&ask.body).into_owned();
        assert!(reply.status == 202 || text.contains("error"), "{message}: {text}");
        let kind = if tool == "t_nothing" { "ToolNotFoundError" } else { "ValidationError" };
        expected.push((tool.to_owned(), kind.to_owned()));
        assert_eq!(recorded(&audit), expected, "{message}: {text}");
    }
    assert_eq!(audit.rejections().len(), 0);
    served.is_well();
}

#[test]
fn a_refused_call_that_is_a_rejected_request_is_not_recorded_twice() {
    let options = |request: &axum::http::request::Parts| {
        let caller = request.headers.get("x-caller").and_then(|name| name.to_str().ok());
        CallOptions::new().caller(caller.unwrap_or("nobody"))
    };
    let (served, audit) = audited(|http| http.call_options(options));
    let session = served.session("2025-11-25");
    let foreign = call("2025-11-25", "t_add", json!({ "a": 1, "b": 1 })).with("Mcp-Session-Id", session);
    assert_eq!(served.ask(&foreign.with("X-Caller", "eve")).status, 404);
    assert_eq!((audit.records().len(), audit.rejections().len()), (0, 1));
}

fn waits(count: i64) -> Value {
    let wait = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "t_wait" } });
    (1..=count).map(wait).collect()
}

#[test]
fn every_call_of_a_batch_counts_against_the_requests_in_flight() {
    let (served, audit) = audited(|http| http.max_in_flight(4));
    let session = served.session("2025-03-26");
    let batch = |count| Ask::post(waits(count).to_string()).with("Mcp-Session-Id", &session);
    let mut wire = served.wire();
    wire.send(batch(6).bytes());
    served.log.wait_for("began", 4);
    let other = served.ask(&call("2025-11-25", "t_add", json!({ "a": 1, "b": 1 })));
    assert_eq!(other.status, 503, "the calls of the batch take the whole limit");
    served.log.release();
    let answers = wire.reply().json();
    let answers = answers.as_array().unwrap();
    let (refused, made): (Vec<&Value>, Vec<&Value>) = answers.iter().partition(|answer| answer["error"].is_object());
    assert_eq!((refused.len(), made.len()), (2, 4), "{answers:?}");
    for (answer, id) in refused.into_iter().zip([5, 6]) {
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)));
        assert_eq!(answer["error"]["data"]["error_type"], "ApiLimitExceeded");
        assert!(
            answer["error"]["message"].as_str().unwrap().starts_with("too many requests are in flight"),
            "{answer}"
        );
    }
    assert_eq!(served.log.count("began"), 4, "the others did not run");
    let beyond = recorded(&audit).into_iter().filter(|(tool, kind)| tool == "t.wait" && kind == "ApiLimitExceeded");
    assert_eq!((beyond.count(), audit.records().len()), (2, 6));
    let again = served.ask(&batch(4)).json();
    assert!(again.as_array().unwrap().iter().all(|answer| answer["result"].is_object()), "all are free again: {again}");
    served.is_well();
}

#[test]
fn a_panic_in_call_options_is_a_rejection_that_is_recorded_and_keeps_the_id() {
    let options = |parts: &axum::http::request::Parts| {
        assert!(!parts.headers.contains_key("x-panic"), "on purpose, with a secret");
        CallOptions::new()
    };
    let (served, audit) = audited(|http| http.call_options(options).max_in_flight(2));
    let post = |message: Value| Ask::post(message.to_string()).with("X-Panic", "yes");
    let call = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "t_add" } });
    for (ask, id) in [
        (post(call(json!(7))), json!(7)),
        (post(call(json!("seven"))), json!("seven")),
        (post(json!({ "jsonrpc": "2.0", "id": 8, "method": 5 })), json!(8)),
        (post(json!({ "tool_name": "t.add", "arguments": {} })), json!(null)),
        (Ask::new("GET").with("Accept", "text/event-stream").with("X-Panic", "yes"), json!(null)),
    ] {
        let reply = served.ask(&ask);
        assert_eq!(reply.refusal(), (500, -32603));
        assert_eq!(reply.json()["id"], id);
        assert!(!String::from_utf8_lossy(&reply.body).contains("secret"), "{reply:?}");
        served.is_well();
    }
    let reasons: Vec<&str> = audit.rejections().iter().map(|rejection| rejection.reason.as_str()).collect();
    assert_eq!(reasons, ["call_options"; 5]);
    assert_eq!(audit.records().len(), 5, "the calls that were made");
}

/// Has no schema: asking for it panics.
#[derive(serde::Deserialize)]
struct Unschematic;

impl JsonSchema for Unschematic {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unschematic".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        panic!("on purpose")
    }
}

/// Takes what has no schema.
#[mcp_tool(module = "t")]
fn unschematic(_value: Unschematic) {}

#[test]
fn a_call_whose_schema_panics_is_recorded_once_in_every_version() {
    let audit = AuditLog::new();
    let registry = Registry::builder_of(tools![unschematic]).observer(audit.clone()).build().unwrap();
    let served = Served::new(Server::new(registry), Log::new(), |http| http);
    for (count, version) in (1..).zip(VERSIONS) {
        let reply = served.ask(&call(version, "t_unschematic", json!({ "value": null })));
        assert_eq!(recorded(&audit).len(), count, "{version}: {reply:?}");
    }
    assert!(recorded(&audit).iter().all(|(tool, kind)| tool == "t.unschematic" && !kind.is_empty()));
}
