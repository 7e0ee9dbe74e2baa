//! The protocol, message by message: all five dialects, each answered in its own form.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "tools take what they take"
)]

mod call;
mod errors;
mod in_flight;
mod inline_calls;
mod kinds;
mod list;
mod notifications;
mod older_versions;
mod refused;
mod results;
mod session;
mod untrusted_input;

use std::time::Duration;

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::protocol::Peer;
use mcp_registry::testing::{self, Client};
use mcp_registry::{
    CallOptions, Content, LogLevel, Registry, RegistryBuilder, Server, ToolContext, ToolError, ToolResult, mcp_tool,
    schemars, tools,
};
use serde_json::{Value, json};

/// Adds two numbers.
#[mcp_tool(module = "served", title = "Add", inline, read_only, meta(owner = "math"))]
fn add(a: i64, #[arg(default = 1)] b: i64) -> i64 {
    a + b
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Point {
    x: f64,
    label: Option<String>,
}

/// A point.
#[mcp_tool(module = "served", inline)]
fn point(x: f64, label: Option<String>) -> Point {
    Point { x, label }
}

/// A point, if there is one.
#[mcp_tool(module = "served", inline, hidden)]
fn maybe(there: bool) -> Option<Point> {
    there.then_some(Point { x: 1.0, label: None })
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Named {
    result: i64,
}

/// An object that looks like a value that was wrapped.
#[mcp_tool(module = "served", inline, hidden)]
fn named_result() -> Named {
    Named { result: 5 }
}

/// Says something.
#[mcp_tool(module = "served", inline)]
fn say(text: String) -> String {
    text
}

/// Says something, on the pool.
#[mcp_tool(module = "served", aliases("served.shout"))]
fn say_slowly(text: String) -> String {
    text
}

/// A picture.
#[mcp_tool(module = "served")]
fn picture() -> Vec<Content> {
    vec![Content::text("a picture"), Content::image(b"png", "image/png")]
}

/// Fails.
#[mcp_tool(module = "served", inline)]
fn fail(how: &str) -> Result<ToolResult, ToolError> {
    match how {
        "nothing to do" => Ok(ToolResult::no_change_needed().explanation("it was so before")),
        "panic" => panic!("on purpose"),
        how => Err(ToolError::new("OutOfStock", how)),
    }
}

/// Deletes.
#[mcp_tool(module = "served", destructive)]
fn delete() {}

/// Not for everyone.
#[mcp_tool(module = "served", hidden)]
fn hidden() -> &'static str {
    "found"
}

/// Waits until it is cancelled, or for ten seconds.
#[mcp_tool(module = "served", timeout = "10s")]
async fn wait(#[ctx] cx: &ToolContext) -> bool {
    cx.cancelled().await;
    true
}

/// Works in steps, and tells of them.
#[mcp_tool(module = "served")]
async fn steps(#[ctx] cx: &ToolContext) -> u32 {
    cx.log(LogLevel::Debug, "a detail");
    cx.log(LogLevel::Warning, "something odd");
    for (done, message) in [(1, "one"), (1, "one again"), (2, "two")] {
        cx.progress(done, 2, message);
    }
    2
}

/// What it knows of the request.
#[mcp_tool(module = "served")]
fn know(#[ctx] cx: &ToolContext) -> mcp_registry::Json<Value> {
    mcp_registry::Json(json!({
        "request": cx.request_id(),
        "caller": cx.caller(),
        "trace": cx.meta().get("traceparent"),
        "extension": cx.extensions().get::<Duration>().map(Duration::as_secs),
    }))
}

fn builder() -> RegistryBuilder {
    Registry::builder_of(tools![
        add,
        point,
        maybe,
        named_result,
        say,
        say_slowly,
        picture,
        fail,
        delete,
        hidden,
        wait,
        steps,
        know
    ])
}

fn server() -> Server {
    Server::new(builder().build().unwrap()).info("served", "1.2.3").instructions("Serve yourself.")
}

/// The same, on the fast path: results are not checked against output schemas.
fn short_server() -> Server {
    Server::new(builder().check_output(mcp_registry::registry::OutputCheck::Never).build().unwrap())
        .info("served", "1.2.3")
}

/// Blocks on a future that must be ready soon.
fn block_on<F: Future>(future: F) -> F::Output {
    testing::block_on(support::in_time(future))
}

fn client(version: ProtocolVersion) -> Client {
    block_on(Client::connect(server(), version)).unwrap()
}

/// The answer to a raw message, on a new connection.
fn answer(server: &Server, message: &str) -> Option<Value> {
    let answer = block_on(server.handle(message.as_bytes(), &Peer::new()))?;
    assert!(!answer.contains(&b'\n'), "one message is one line");
    Some(serde_json::from_slice(&answer).unwrap())
}

/// The versions that begin with `initialize`.
const LEGACY: [ProtocolVersion; 4] = [
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2024_11_05,
];

/// The versions that have structured content.
const STRUCTURED: [ProtocolVersion; 3] =
    [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25, ProtocolVersion::V2025_06_18];

/// The `_meta` of a request of the newest version.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn options() -> CallOptions {
    CallOptions::new().caller("ada").extension(Duration::from_secs(7))
}
