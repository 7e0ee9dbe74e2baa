//! Every kind of tool takes the same path: `inline`, `async`, plain and made at run time, in every dialect and version.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_registry::audit::AuditLog;
use mcp_registry::mcp::{CallToolResult, ProtocolVersion};
use mcp_registry::observe::CallOutcome;
use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
use mcp_registry::serde_json::{self, Value, json};
use mcp_registry::{
    CallOptions, Error, Json, Registry, RegistryBuilder, Server, Tool, ToolCall, ToolContext, ToolError, ToolResult,
    mcp_tool, tools,
};
use support::wait_until_blocking;

use crate::block_on;

/// The return value for the name of a case.
fn value(case: &str) -> Result<Json<Value>, ToolError> {
    Ok(Json(match case {
        "number" => json!(5),
        "text" => json!("a \"text\"\nof two lines"),
        "list" => json!([1, "two"]),
        "null" => json!(null),
        "object" => json!({ "a": { "b": "\\" } }),
        "only a result" => json!({ "result": 5 }),
        "only a text as result" => json!({ "result": "five" }),
        "only an object as result" => json!({ "result": { "a": 1 } }),
        "a result and more" => json!({ "result": 5, "more": true }),
        "large text" => json!("\"é".repeat(100_000)),
        "large object" => json!({ "text": "é".repeat(200_000) }),
        _ => return Err(ToolError::new("OutOfStock", "there is none")),
    }))
}

const CASES: [&str; 12] = [
    "number",
    "text",
    "list",
    "null",
    "object",
    "only a result",
    "only a text as result",
    "only an object as result",
    "a result and more",
    "large text",
    "large object",
    "error",
];

/// On the caller's thread.
#[mcp_tool(module = "kind", inline)]
fn inline(case: &str) -> Result<Json<Value>, ToolError> {
    value(case)
}

/// In a future.
#[mcp_tool(module = "kind")]
#[allow(clippy::unused_async, reason = "it is ready at once")]
async fn future(case: &str) -> Result<Json<Value>, ToolError> {
    value(case)
}

/// On the pool.
#[mcp_tool(module = "kind")]
fn plain(case: &str) -> Result<Json<Value>, ToolError> {
    value(case)
}

/// In a future that has to wait.
#[mcp_tool(module = "kind")]
async fn later(case: &str) -> Result<Json<Value>, ToolError> {
    let mut is_second = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut is_second, true) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    value(case)
}

/// A number, in an object.
#[mcp_tool(module = "kind", inline)]
fn wrapped() -> i64 {
    5
}

const KINDS: [&str; 5] = ["inline", "future", "plain", "later", "dynamic"];

fn builder() -> RegistryBuilder {
    let schema = json!({ "type": "object", "properties": { "case": { "type": "string" } }, "required": ["case"] });
    let dynamic = Tool::new("kind.dynamic", schema, |_, arguments: Value| async move {
        value(arguments["case"].as_str().unwrap_or_default()).map(|Json(value)| ToolResult::data(value))
    });
    let tools = Registry::builder_of(tools![inline, future, plain, later, wrapped]);
    tools.tool(dynamic.description("Made at run time.")).check_output(OutputCheck::Never)
}

/// The answer to a message, after the server knows how quick its tools are.
fn answer(server: &Server, peer: &Peer, message: &Value) -> Value {
    let message = message.to_string();
    let answers: Vec<Vec<u8>> =
        (0..3).map(|_| block_on(server.handle(message.as_bytes(), peer)).expect("a call is answered")).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{message}");
    serde_json::from_slice(&answers[0]).unwrap()
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

#[test]
fn every_kind_returns_the_same_result_in_every_version_and_dialect() {
    let server = Server::new(builder().build().unwrap());
    for case in CASES {
        let results = KINDS.map(|kind| {
            let call = ToolCall::new(format!("kind.{kind}"), json!({ "case": case }));
            server.registry().call_blocking(&call)
        });
        assert!(results.iter().all(|result| *result == results[0]), "{case}: {results:?}");
        let result = &results[0];
        for kind in KINDS {
            let flat = json!({ "tool_name": format!("kind.{kind}"), "arguments": { "case": case } });
            let flat = answer(&server, &Peer::new(), &flat);
            assert_eq!(flat, result.to_value(), "{kind}: {case}");

            let legacy = json!({ "tool_name": format!("kind.{kind}"), "args": { "case": case } });
            let legacy = answer(&server, &Peer::new(), &rpc("call_tool", &legacy));
            assert_eq!(legacy.get("result"), result.data.as_ref(), "{kind}: {case}");
            assert_eq!(legacy.get("error").is_some(), result.is_failure(), "{kind}: {case}");

            for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
                let peer = Peer::new();
                let hello = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} });
                answer(&server, &peer, &rpc("initialize", &hello));
                let call = json!({ "name": format!("kind_{kind}"), "arguments": { "case": case } });
                let answer = answer(&server, &peer, &rpc("tools/call", &call));
                let is_structured = version >= "2025-06-18";
                let expected = if is_structured {
                    CallToolResult::from(result.clone())
                } else {
                    CallToolResult::without_structure(result.clone())
                };
                assert_eq!(answer["result"], expected.to_value(), "{kind}, {version}: {case}");
            }
        }
    }
}

#[test]
fn what_a_tool_returns_is_the_same_for_programs_and_clients() {
    let server = Server::new(builder().build().unwrap());
    let result = server.registry().call_blocking(&ToolCall::new("kind.wrapped", json!({})));
    assert_eq!(result.data, Some(json!({ "result": 5 })));
    let answer = answer(&server, &Peer::new(), &rpc("tools/call", &json!({ "name": "kind_wrapped" })));
    assert_eq!(answer["result"], CallToolResult::from(result).to_value());
}

#[test]
fn the_notices_of_a_deprecated_tool_are_in_every_form() {
    /// Replaced.
    #[mcp_tool(module = "kind", inline, version = "2.0.0", deprecated_in = "2.0.0", replaced_by = "kind.plain")]
    fn old() -> i64 {
        5
    }

    let server =
        Server::new(Registry::builder_of(tools![old, plain]).check_output(OutputCheck::Never).build().unwrap());
    let result = server.registry().call_blocking(&ToolCall::new("kind.old", json!({})));
    let notices = json!([{ "kind": "deprecated", "since": "2.0.0", "replaced_by": "kind.plain" }]);
    assert_eq!(result.meta["mcp-registry/notices"], notices);
    let flat = answer(&server, &Peer::new(), &json!({ "tool_name": "kind.old", "arguments": {} }));
    assert_eq!(flat, result.to_value());
    let mcp = answer(&server, &Peer::new(), &rpc("tools/call", &json!({ "name": "kind_old" })));
    assert_eq!(mcp["result"], CallToolResult::from(result).to_value());
    let mut params = json!({ "name": "kind_old" });
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": ProtocolVersion::V2026_07_28.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let newest = answer(&server, &Peer::new(), &rpc("tools/call", &params));
    assert_eq!(newest["result"]["resultType"], "complete", "{newest}");
    assert_eq!(newest["result"]["_meta"]["mcp-registry/notices"], notices, "{newest}");
    assert!(newest["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(), "{newest}");
}

static BLOCKS: AtomicBool = AtomicBool::new(false);

/// Is ready at once, but may block before.
#[mcp_tool(module = "kind")]
#[allow(clippy::unused_async, reason = "it is ready at once")]
async fn moody() -> bool {
    let blocks = BLOCKS.load(Ordering::SeqCst);
    if blocks {
        std::thread::sleep(Duration::from_millis(5));
    }
    blocks
}

#[test]
fn a_future_is_polled_where_the_call_begins_if_the_tool_was_quick_the_last_time() {
    let server = Server::new(Registry::builder_of(tools![moody]).check_output(OutputCheck::Never).build().unwrap());
    let (message, peer) = (rpc("tools/call", &json!({ "name": "kind_moody" })).to_string(), Peer::new());
    let is_done = || {
        let mut out = Vec::new();
        let Some(pending) = server.begin(message.as_bytes(), &peer, &mut out) else { return true };
        assert!(out.is_empty());
        block_on(pending).expect("a call is answered");
        false
    };
    assert!(!is_done(), "it might block");
    // The machine may be busy.
    assert!((0..100).any(|_| is_done()), "it was quick");
    assert_eq!(peer.in_flight(), 0);
    BLOCKS.store(true, Ordering::SeqCst);
    while is_done() {}
    assert!(!is_done(), "it blocked the last time");
    BLOCKS.store(false, Ordering::SeqCst);
    assert!((0..100).any(|_| is_done()), "it is quick again");
}

#[test]
fn bad_arguments_of_a_future_are_rejected_before_it_is_created() {
    let server = Server::new(builder().build().unwrap());
    let message = rpc("tools/call", &json!({ "name": "kind_future", "arguments": { "case": 5 } })).to_string();
    let mut out = Vec::new();
    assert!(server.begin(message.as_bytes(), &Peer::new(), &mut out).is_none());
    let error = block_on(server.registry().try_call(&ToolCall::new("kind.future", json!({ "case": 5 })))).unwrap_err();
    assert!(matches!(error, Error::Schema(_)), "{error}");
    assert!(String::from_utf8(out).unwrap().contains("`case`"), "{error}");
}

static BEGAN: AtomicBool = AtomicBool::new(false);
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Runs until nobody waits for it.
#[mcp_tool(module = "kind", timeout = "none")]
fn endless(#[ctx] cx: &ToolContext) {
    BEGAN.store(true, Ordering::SeqCst);
    while !cx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
    STOPPED.store(true, Ordering::SeqCst);
}

#[test]
fn a_call_whose_reply_is_dropped_before_it_is_awaited_is_cancelled() {
    let audit = AuditLog::new();
    let server = Server::new(Registry::builder_of(tools![endless]).observer(audit.clone()).build().unwrap());
    let (message, peer) = (rpc("tools/call", &json!({ "name": "kind_endless" })).to_string(), Peer::new());
    let pending = server.begin(message.as_bytes(), &peer, &mut Vec::new()).expect("it takes long");
    wait_until_blocking("the tool begins", || BEGAN.load(Ordering::SeqCst));
    drop(pending);
    wait_until_blocking("the tool stops", || STOPPED.load(Ordering::SeqCst));
    assert_eq!(peer.in_flight(), 0);
    assert_eq!(audit.records().iter().map(|record| record.outcome).collect::<Vec<_>>(), [CallOutcome::Cancelled]);
}

/// Tells when it is dropped, from the runtime that it is dropped in.
struct Guard(std::sync::mpsc::Sender<bool>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(tokio::runtime::Handle::try_current().is_ok());
    }
}

#[derive(Clone)]
struct Guards(std::sync::mpsc::Sender<bool>);

/// Waits for ever, with something to drop.
#[mcp_tool(module = "kind", timeout = "none")]
async fn guarded(#[ctx] guards: &Guards) {
    let _guard = Guard(guards.0.clone());
    std::future::pending::<()>().await;
}

#[test]
fn a_reply_that_is_dropped_drops_its_tool_at_once_and_inside_of_a_runtime() {
    let (sender, dropped) = std::sync::mpsc::channel();
    let server = Server::new(Registry::builder_of(tools![guarded]).state(Guards(sender)).build().unwrap());
    let message = rpc("tools/call", &json!({ "name": "kind_guarded" })).to_string();
    let begin = || server.begin(message.as_bytes(), &Peer::new(), &mut Vec::new()).expect("it takes long");
    // Once it was polled, it is quick, and polled where the call begins.
    let mut polled = begin();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::Pin::new(&mut polled).poll(&mut context).is_pending());
    for pending in [polled, begin()] {
        assert!(dropped.try_recv().is_err(), "it waits");
        drop(pending);
        assert_eq!(dropped.try_recv(), Ok(true));
    }
}

/// Waits for ever.
#[mcp_tool(module = "kind")]
async fn waiting() -> i64 {
    std::future::pending().await
}

#[test]
fn a_call_that_is_dropped_leaves_nothing_in_the_buffer() {
    let registry = Registry::builder_of(tools![waiting]).build().unwrap();
    let (options, mut out) = (CallOptions::new(), b"before".to_vec());
    {
        let mut call = std::pin::pin!(registry.call_bytes("kind.waiting", b"{}", &options, &mut out));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::future::Future::poll(call.as_mut(), &mut context).is_pending());
    }
    assert_eq!(out, b"before");
}

/// Cannot become a value: it is nested too deeply.
#[mcp_tool(module = "kind", inline)]
fn deep() -> Json<Box<serde_json::value::RawValue>> {
    let json = "[".repeat(200) + &"]".repeat(200);
    Json(serde_json::value::RawValue::from_string(json).unwrap())
}

#[test]
fn a_result_that_cannot_become_a_value_is_recorded_as_a_failure() {
    let registry = Registry::builder_of(tools![deep]).check_output(OutputCheck::Never).build().unwrap();
    let error = block_on(registry.try_call(&ToolCall::new("kind.deep", json!({})))).unwrap_err();
    assert!(matches!(error, Error::Serialization(_)), "{error}");
    let metrics = registry.metrics();
    assert_eq!((metrics.get("kind.deep").unwrap().calls, metrics.get("kind.deep").unwrap().errors), (1, 1));
}

static BIG_STOPPED: AtomicBool = AtomicBool::new(false);

/// Runs until nobody waits for it, on the pool if its argument is large.
#[mcp_tool(module = "kind", inline)]
fn big(text: &str, #[ctx] cx: &ToolContext) -> usize {
    while text.len() > 1000 && !cx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
    BIG_STOPPED.store(true, Ordering::SeqCst);
    text.len()
}

#[test]
fn an_inline_tool_with_a_large_argument_can_see_that_its_deadline_has_passed() {
    let registry = Registry::builder_of(tools![big]).build().unwrap();
    let call = ToolCall::new("kind.big", json!({ "text": "x".repeat(100_000) }));
    let options = CallOptions::new().timeout(Duration::from_millis(50));
    let error = block_on(registry.try_call_with(&call, &options)).unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error}");
    wait_until_blocking("the tool stops", || BIG_STOPPED.load(Ordering::SeqCst));
}
