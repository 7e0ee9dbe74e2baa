//! A panic fails only its own call.

use std::future::Future;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_registry::layer::{Layer, Next};
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
use mcp_registry::{CallOptions, Error, Server, Tool, ToolCall, ToolContext, ToolResult, mcp_tool, schemars, tools};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use crate::{block_on, build, call_in_time as call, failure, with_tools};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(7);
    }
}

/// Panics with a text.
#[mcp_tool(module = "panics")]
fn with_text(n: u8) -> u8 {
    assert!(n < 5, "{n} is too much");
    n
}

/// Panics where it is called.
#[mcp_tool(module = "panics", inline)]
fn inline(n: u8) -> u8 {
    assert!(n < 5, "{n} is too much");
    n
}

/// Panics after a while.
#[mcp_tool(module = "panics")]
async fn in_future(n: u8) -> u8 {
    std::future::ready(()).await;
    assert!(n < 5, "{n} is too much");
    n
}

/// Panics with something else.
#[mcp_tool(module = "panics")]
fn with_a_bomb() {
    panic_any(Bomb);
}

/// Panics when what it made is dropped.
#[mcp_tool(module = "panics")]
async fn in_drop() {
    let _bomb = Bomb;
}

/// Panics when it is stopped.
#[mcp_tool(module = "panics", timeout = "10ms")]
async fn in_drop_at_the_deadline() {
    struct Never(#[allow(dead_code, reason = "to be dropped")] Bomb);

    impl Future for Never {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }
    }

    Never(Bomb).await;
}

/// An argument that cannot be read.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "never read")]
struct Unreadable(u8);

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("nobody can read this")
    }
}

/// Panics while its arguments are read.
#[mcp_tool(module = "panics", inline)]
fn while_reading(value: Option<Unreadable>) {
    let _ = value;
}

/// An argument that cannot be read, and whose schema has to be probed.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "never read")]
struct Explosive {
    #[schemars(range(min = 1))]
    n: u8,
}

impl<'de> Deserialize<'de> for Explosive {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic_any(Bomb)
    }
}

/// Panics before it is called, and again when that is cleared away.
#[mcp_tool(module = "panics", inline)]
fn while_probed(value: Explosive) {
    let _ = value;
}

#[derive(schemars::JsonSchema)]
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("nobody can write this")
    }
}

/// Panics while its result is written.
#[mcp_tool(module = "panics", inline)]
fn while_writing() -> Unwritable {
    Unwritable
}

#[test]
fn s3_43_a_panic_fails_only_its_call() {
    let registry = build(with_tools(tools![with_text, inline, in_future, while_reading, while_writing]));
    for name in ["panics.with_text", "panics.inline", "panics.in_future"] {
        let result = call(&registry, name, json!({ "n": 9 }));
        let (error_type, message) = failure(&result);
        assert_eq!(error_type, "ToolExecutionError");
        assert!(message.contains(name) && message.contains("panicked: 9 is too much;"), "{message}");
        assert_eq!(call(&registry, name, json!({ "n": 1 })).data.unwrap()["result"], 1, "the registry goes on");
    }
    assert!(failure(&call(&registry, "panics.while_reading", json!({ "value": 1 }))).1.contains("nobody can read"));
    assert!(failure(&call(&registry, "panics.while_writing", json!({}))).1.contains("nobody can write"));
}

#[test]
fn a_panic_in_drop_or_with_any_payload_is_caught() {
    let registry = build(with_tools(tools![with_a_bomb, in_drop, in_drop_at_the_deadline]));
    let result = call(&registry, "panics.with_a_bomb", json!({}));
    assert!(failure(&result).1.contains("panicked: with a value that is not text;"), "{}", result.to_json());
    assert!(failure(&call(&registry, "panics.in_drop", json!({}))).1.contains("panicked"));
    assert_eq!(failure(&call(&registry, "panics.in_drop_at_the_deadline", json!({}))).0, "TimeoutError");
}

#[test]
fn a_panic_while_a_schema_is_probed_fails_only_its_call() {
    let registry = build(with_tools(tools![while_probed]));
    for _ in 0..2 {
        let result = call(&registry, "panics.while_probed", json!({ "value": { "n": 1 } }));
        assert!(failure(&result).1.contains("panicked"), "{}", result.to_json());
    }
}

/// A type whose schema cannot be generated.
#[derive(Deserialize)]
#[allow(dead_code, reason = "never read")]
struct Indescribable(u8);

impl schemars::JsonSchema for Indescribable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Indescribable".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        panic!("nobody can describe this")
    }
}

/// Panics when it is described.
#[mcp_tool(module = "panics", inline)]
fn when_described(value: Indescribable) {
    let _ = value;
}

#[test]
fn s2_9_a_schema_that_panics_is_an_internal_error_and_the_server_survives() {
    let registry = build(with_tools(tools![when_described, with_text]));
    let result = call(&registry, "panics.when_described", json!({ "value": 1 }));
    assert!(failure(&result).1.contains("nobody can describe this"), "{}", result.to_json());
    let server = Server::new(registry);
    let answer = |method, params| {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string();
        let answer = block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap();
        serde_json::from_slice::<serde_json::Value>(&answer).unwrap()
    };
    let listed = answer("tools/list", json!({}));
    assert_eq!((&listed["id"], &listed["error"]["code"]), (&json!(7), &json!(-32603)), "{listed}");
    assert!(listed["error"]["message"].as_str().unwrap().contains("nobody can describe this"), "{listed}");
    let called = answer("tools/call", json!({ "name": "panics_with_text", "arguments": { "n": 1 } }));
    assert_eq!(called["result"]["structuredContent"]["result"], 1, "{called}");
}

#[test]
fn a_panic_leaves_no_partial_result_in_the_buffer() {
    let registry = build(with_tools(tools![inline, while_writing, with_text]).check_output(OutputCheck::Never));
    let mut out = b"before".to_vec();
    for (name, arguments) in
        [("panics.inline", &br#"{"n": 9}"#[..]), ("panics.while_writing", b"{}"), ("panics.with_text", br#"{"n":9}"#)]
    {
        let error = registry.call_bytes_blocking(name, arguments, &CallOptions::new(), &mut out).unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        assert_eq!(out, b"before");
    }
}

#[test]
fn a_panic_of_a_closure_before_it_returns_its_future_is_caught() {
    let tool = Tool::new("made.bad", json!({ "type": "object" }), |_, args: serde_json::Value| {
        assert!(args.get("a").is_some(), "there is no a");
        async {}
    });
    let registry = build(with_tools([]).tool(tool));
    assert!(failure(&call(&registry, "made.bad", json!({}))).1.contains("there is no a"));
}

/// A secret that cannot be read.
#[derive(schemars::JsonSchema)]
#[schemars(transparent)]
#[allow(dead_code, reason = "never read")]
struct Token(String);

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        panic!("no key has the token {}", String::deserialize(deserializer)?)
    }
}

/// All of its arguments are secret.
#[derive(Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "never read")]
struct Login {
    token: Token,
}

/// Takes a secret at once.
#[mcp_tool(module = "panics", inline)]
fn secret_inline(#[arg(secret)] token: Token) {
    let _ = token;
}

/// Takes a secret on the pool, after another argument.
#[mcp_tool(module = "panics")]
fn secret_on_pool(padding: Option<String>, #[arg(secret)] token: Token) {
    let _ = (padding, token);
}

/// Takes a secret in a future, after another argument.
#[mcp_tool(module = "panics")]
async fn secret_in_future(padding: Option<String>, #[arg(secret)] token: Token) {
    let _ = (padding, token);
}

/// Takes nothing but secrets.
#[mcp_tool(module = "panics")]
fn secret_flattened(#[arg(secret, flatten)] login: Login) {
    let _ = login;
}

/// Takes the same in the open.
#[mcp_tool(module = "panics")]
fn open(token: Token) {
    let _ = token;
}

/// Passes each call on.
struct Through;

impl Layer for Through {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        next.run(call, cx).await
    }
}

/// Keeps what is recorded of each call.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<String>>>);

impl Observer for Records {
    fn observe(&self, record: &CallRecord<'_>) {
        self.0.lock().unwrap().push(format!("{record:?}"));
    }
}

#[test]
fn a_panic_while_secret_arguments_are_read_tells_neither_the_caller_nor_an_observer_its_message() {
    let tools = || with_tools(tools![secret_inline, secret_on_pool, secret_in_future, secret_flattened, open]);
    for is_layered in [false, true] {
        let records = Records::default();
        let builder = tools().observer(records.clone());
        let registry = build(if is_layered { builder.layer(Through) } else { builder });
        let mut calls: Vec<_> = ["inline", "on_pool", "in_future", "flattened"]
            .map(|how| ToolCall::new(format!("panics.secret_{how}"), json!({ "token": "hunter2" })))
            .into();
        // Large arguments are read elsewhere.
        let large = json!({ "padding": "x".repeat(100_000), "token": "hunter2" });
        calls.extend(["on_pool", "in_future"].map(|how| ToolCall::new(format!("panics.secret_{how}"), large.clone())));
        for call in &calls {
            let error = block_on(registry.try_call(call)).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("panicked: its message is not shown, since it was reading secret"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(!format!("{:?}", registry.check(call)).contains("hunter2"), "when the arguments are only checked");
        }
        let records = std::mem::take(&mut *records.0.lock().unwrap());
        assert_eq!(records.len(), calls.len());
        assert!(records.iter().all(|record| record.contains("not shown, since") && !record.contains("hunter2")));

        let open = call(&registry, "panics.open", json!({ "token": "hunter2" }));
        assert!(failure(&open).1.contains("no key has the token hunter2"), "it was not called secret");
    }
}
