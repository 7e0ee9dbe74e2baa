//! Everything that asks for a tool and is refused is recorded once, in the words that the client reads.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{Arc, Mutex};

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::observe::{CallOutcome, CallRecord, Observer};
use mcp_registry::protocol::Peer;
use mcp_registry::testing::{Client, block_on};
use mcp_registry::{CallOptions, Server};
use serde_json::{Value, json};

use crate::builder;

/// A record: the tool, the name in the call, the type of the error, the message and the ID.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    tool: String,
    called_as: String,
    error_type: String,
    message: String,
    request_id: Option<String>,
    caller: Option<String>,
}

/// Keeps the records of failures, and counts the others.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<(Vec<Seen>, usize)>>);

impl Observer for Told {
    fn observe(&self, record: &CallRecord<'_>) {
        let told = &mut *self.0.lock().unwrap();
        if record.outcome != CallOutcome::Failure {
            told.1 += 1;
            return;
        }
        told.0.push(Seen {
            tool: record.tool.to_owned(),
            called_as: record.called_as.to_owned(),
            error_type: record.error_type.unwrap_or_default().to_owned(),
            message: record.message.unwrap_or_default().to_owned(),
            request_id: record.request_id.map(str::to_owned),
            caller: record.caller.map(str::to_owned),
        });
    }
}

impl Told {
    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap().0)
    }

    /// The one record since the last.
    fn one(&self, of: &str) -> Seen {
        let [seen] = <[Seen; 1]>::try_from(self.take()).unwrap_or_else(|seen| panic!("{of}: {seen:?}"));
        seen
    }
}

fn observed() -> (Server, Told) {
    let told = Told::default();
    (Server::new(builder().observer(told.clone()).build().unwrap()), told)
}

fn peer() -> Peer {
    Peer::builder().options(CallOptions::new().caller("ada")).build()
}

/// The message of the error that a client reads, in any form.
fn read(answer: &Value) -> &str {
    let error = &answer["error"];
    let sentence = [&error["data"]["details"], &error["message"], &error["error_message"]];
    sentence.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("no error: {answer}"))
}

/// Messages that ask for a tool and are refused, and the tool of the record.
fn refused() -> Vec<(String, &'static str)> {
    let call = |params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let legacy = |params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "call_tool", "params": params });
    let add = json!({ "name": "served_add", "arguments": { "a": 1 } });
    let of_id = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": add }).to_string();
    let with_meta =
        |meta: Value| call(json!({ "name": "served_add", "arguments": { "a": 1 }, "_meta": meta })).to_string();
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let mut cases = vec![
        // Arguments that are no object, names that are missing or contradict each other.
        (call(json!({ "name": "served_add", "arguments": [1] })).to_string(), "served.add"),
        (call(json!({ "name": "served_add", "arguments": "{}" })).to_string(), "served.add"),
        (call(json!({ "name": "served.add", "args": 5 })).to_string(), "served.add"),
        (call(json!({ "arguments": {} })).to_string(), ""),
        (call(json!({ "name": 7, "arguments": {} })).to_string(), ""),
        (call(json!({ "name": "served_add", "tool_name": "served_say" })).to_string(), "served.add"),
        (call(json!({ "name": "served_nothing" })).to_string(), "served_nothing"),
        (call(json!({ "name": "served_add", "arguments": {}, "args": { "a": 1 } })).to_string(), "served.add"),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" }).to_string(), ""),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [] }).to_string(), ""),
        (json!({ "jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": add }).to_string(), "served.add"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"served_add","arguments":{},"arguments":{}}}"#
                .to_owned(),
            "served.add",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"served_add"}}"#.to_owned(),
            "served.add",
        ),
        // IDs.
        (of_id(json!(null)), "served.add"),
        (of_id(json!(1.5)), "served.add"),
        (of_id(json!({})), "served.add"),
        (of_id(json!([1])), "served.add"),
        (of_id(json!(true)), "served.add"),
        // `_meta`, its version and its progress token.
        (with_meta(json!([])), "served.add"),
        (with_meta(json!({ "a": "x".repeat(70_000) })), "served.add"),
        (with_meta(json!({ "progressToken": [] })), "served.add"),
        (with_meta(json!({ capabilities: {} })), "served.add"),
        (with_meta(json!({ version: "2026-07-28" })), "served.add"),
        (with_meta(json!({ version: "2026-07-28", capabilities: 1 })), "served.add"),
        (with_meta(json!({ version: "1999-01-01", capabilities: {} })), "served.add"),
        (with_meta(json!({ version: "2025-11-25", capabilities: {} })), "served.add"),
        (with_meta(json!({ version: "2026-07-28", capabilities: {}, "io.modelcontextprotocol/logLevel": "loud" })), "served.add"),
        (call(json!({ "name": "served_know", "_meta": { "a": { "b": 1 } } })).to_string().replace(r#"{"b":1}"#, r#"{"b":1,"b":1}"#), "served.know"),
        // The legacy form.
        (legacy(json!({ "tool_name": "served.add", "args": [1] })).to_string(), "served.add"),
        (legacy(json!({})).to_string(), ""),
        (legacy(json!({ "tool_name": "served.nothing" })).to_string(), "served.nothing"),
        (legacy(json!({ "tool_name": "served.add", "_meta": crate::meta() })).to_string(), "served.add"),
    ];
    // Flat calls.
    for (flat, tool) in [
        (r#"{"tool_name": "served.add"}"#, "served.add"),
        (r#"{"tool_name": "served.add", "arguments": [1]}"#, "served.add"),
        (r#"{"tool_name": "served.add", "arguments": {}, "arguments": {}}"#, "served.add"),
        (r#"{"tool_name": "served.add", "arguments": {"a": 1, "a": 2}}"#, "served.add"),
        (r#"{"tool_name": "served.add", "arguments": {}, "args": {"a": 1}}"#, "served.add"),
        (r#"{"tool_name": "no name!", "arguments": {}}"#, "no name!"),
        (r#"{"tool_name": "served.nothing", "arguments": {}}"#, "served.nothing"),
        (r#"{"tool_name": 5, "arguments": {}}"#, ""),
        (r#"{"arguments": {}}"#, ""),
        (r#"{"tool_name": "served.add", "arguments": {"a": 1}"#, "served.add"),
        (r#"{"tool_name": "served.add", "arguments": {"a": 1}} {}"#, "served.add"),
        (r#"{"name": "served.add", "arguments": {"a": nope}}"#, "served.add"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"#, ""),
    ] {
        cases.push((flat.to_owned(), tool));
    }
    cases
}

#[test]
fn a_refused_call_is_recorded_once_with_the_message_that_the_client_reads() {
    let (server, told) = observed();
    let peer = peer();
    for (message, tool) in refused() {
        let case = &message[..message.len().min(200)];
        let answer = block_on(server.handle(message.as_bytes(), &peer)).expect("it is answered");
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let seen = told.one(case);
        assert_eq!(seen.tool, tool, "{case}");
        assert!(!seen.message.is_empty() && seen.caller.as_deref() == Some("ada"), "{case}: {seen:?}");
        let has_suggestions = seen.error_type == "ToolNotFoundError";
        assert!(has_suggestions || read(&answer) == seen.message, "{case}: {seen:?}, {answer}");
        assert!(has_suggestions || seen.error_type == "ValidationError", "{case}: {seen:?}");
        let id = answer["id"].as_i64().map(|id| id.to_string());
        assert_eq!(seen.request_id, id, "{case}");
    }
    assert_eq!(told.0.lock().unwrap().1, 0, "no call was made");
}

#[test]
fn a_refused_call_of_a_known_tool_counts_as_a_call_and_an_error_of_it() {
    let (server, _) = observed();
    let cases = refused();
    for (message, _) in &cases {
        block_on(server.handle(message.as_bytes(), &Peer::new()));
    }
    let expected = u64::try_from(cases.iter().filter(|(_, tool)| *tool == "served.add").count()).unwrap();
    let metrics = server.registry().metrics();
    let add = metrics.get("served.add").unwrap();
    assert_eq!((add.calls, add.errors), (expected, expected));
}

#[test]
fn what_asks_for_no_tool_is_not_recorded_as_a_call() {
    let (server, told) = observed();
    for message in [
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"nonsense"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/other","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"id": 1"#,
        "[",
        "7",
        "",
    ] {
        block_on(server.handle(message.as_bytes(), &Peer::new()));
        assert_eq!(told.take(), [], "{message}");
    }
}

#[test]
fn a_call_without_an_id_is_not_answered_but_recorded() {
    let (server, told) = observed();
    for params in [r#"{"name":"served_add","arguments":{"a":1}}"#, "[]"] {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params}}}"#);
        assert_eq!(block_on(server.handle(message.as_bytes(), &Peer::new())), None);
        let seen = told.one(&message);
        assert_eq!(seen.tool, if params == "[]" { "" } else { "served.add" });
    }
}

#[test]
fn a_duplicate_id_or_token_in_flight_is_recorded() {
    let (server, told) = observed();
    let peer = Peer::builder().on_notification(|_| {}).options(CallOptions::new().caller("ada")).build();
    let request = |id: i64, tool: &str| {
        let params = json!({ "name": tool, "arguments": if tool == "served_add" { json!({ "a": 1 }) } else { json!({}) },
            "_meta": { "progressToken": 7 } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    let mut out = Vec::new();
    let wait = server.begin(request(1, "served_wait").as_bytes(), &peer, &mut out).unwrap();
    for (id, tool, name) in [
        (1, "served_add", "served.add"),
        (1, "served_steps", "served.steps"),
        (2, "served_add", "served.add"),
        (2, "served_steps", "served.steps"),
    ] {
        assert!(server.begin(request(id, tool).as_bytes(), &peer, &mut out).is_none());
        let answer: Value = serde_json::from_slice(&std::mem::take(&mut out)).unwrap();
        let seen = told.one(tool);
        assert_eq!((seen.tool.as_str(), seen.message.as_str()), (name, read(&answer)));
        assert_eq!((seen.request_id, seen.error_type.as_str()), (Some(id.to_string()), "ValidationError"));
    }
    peer.close();
    drop(wait);
}

#[test]
fn each_refused_call_of_a_batch_is_recorded() {
    let (server, told) = observed();
    let client = block_on(Client::connect(server, ProtocolVersion::V2025_03_26)).unwrap();
    let call =
        |id: Value, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let batch = json!([
        call(json!(1), json!({ "name": "served_add", "arguments": { "a": 1 } })),
        call(json!(2), json!({ "name": "served_add", "arguments": [] })),
        call(json!(null), json!({ "name": "served_say" })),
        call(json!(4), json!({})),
        { "tool_name": "served.point", "arguments": {} },
        { "jsonrpc": "2.0", "id": 5, "method": "ping" },
    ]);
    block_on(client.send(batch.to_string().as_bytes())).unwrap();
    let seen = told.take();
    let tools: Vec<&str> = seen.iter().map(|seen| seen.tool.as_str()).collect();
    assert_eq!(tools, ["served.add", "served.say", "", "served.point"]);
    assert_eq!(told.0.lock().unwrap().1, 1, "and the one that was made");
}

#[test]
fn a_large_malformed_flat_call_is_recorded_once() {
    let (server, told) = observed();
    for end in ["], ", r#", "tool_name": "served.add", "#, r#", "arguments": {}, "#] {
        let message =
            format!(r#"{{"tool_name": "served.say"{end}"arguments": {{"text": "{}"}}}}"#, "a".repeat(100_000));
        let answer = block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let seen = told.one(end);
        assert_eq!(read(&answer), seen.message, "{end}");
    }
}

/// Keeps a hash of the arguments of each record.
#[derive(Clone, Default)]
struct Hashes(Arc<Mutex<Vec<u64>>>);

impl Observer for Hashes {
    fn observe(&self, record: &CallRecord<'_>) {
        let mut hasher = DefaultHasher::new();
        record.hash_arguments(&mut hasher);
        self.0.lock().unwrap().push(hasher.finish());
    }
}

#[test]
fn the_arguments_of_a_refused_call_are_in_its_record_under_both_names() {
    let hashes = Hashes::default();
    let server = Server::new(builder().observer(hashes.clone()).build().unwrap());
    for (method, name, key, a) in [
        ("tools/call", "name", "arguments", 1),
        ("tools/call", "name", "args", 1),
        ("call_tool", "tool_name", "args", 1),
        ("call_tool", "tool_name", "args", 2),
    ] {
        // The progress token is invalid.
        let params = json!({ name: "served.add", key: { "a": a }, "_meta": { "progressToken": [] } });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answer = block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap();
        assert!(String::from_utf8(answer).unwrap().contains("progressToken"));
    }
    let hashes = hashes.0.lock().unwrap();
    assert_eq!(hashes.len(), 4);
    assert!(hashes[1] == hashes[0] && hashes[2] == hashes[0] && hashes[3] != hashes[0], "{hashes:?}");
}

#[test]
fn flat_calls_and_call_tool_that_are_switched_off_are_refused_with_what_to_use_instead() {
    let (server, told) = observed();
    let server = server.legacy_methods(false);
    let text = "a".repeat(100_000);
    for (message, tool) in [
        (r#"{"tool_name": "served.add", "arguments": {"a": 1}}"#.to_owned(), "served.add"),
        (format!(r#"{{"name": "served.say", "arguments": {{"text": "{text}"}}}}"#), "served.say"),
        (r#"{"tool_name": "served.nothing"}"#.to_owned(), "served.nothing"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"call_tool","params":{"tool_name":"served.add","args":{"a":1}}}"#
                .to_owned(),
            "served.add",
        ),
    ] {
        let answer = block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert!(answer["jsonrpc"] == "2.0" && answer["error"]["code"].is_i64(), "{answer}");
        assert!(read(&answer).contains("`tools/call`"), "{answer}");
        let seen = told.one(tool);
        assert_eq!((seen.tool.as_str(), seen.message.as_str()), (tool, read(&answer)));
    }
    assert_eq!(told.0.lock().unwrap().1, 0, "no call was made");
}
