//! What callers read of an error depends on its author and the transport: the table in the documentation of `#[mcp_tool]`.

use std::io;
use std::time::Duration;

use anyhow::Context as _;
use mcp_registry::error::{BoxError, SerializationError};
use mcp_registry::mcp::CallToolResult;
use mcp_registry::protocol::Peer;
use mcp_registry::stdio::serve_lines;
use mcp_registry::{
    CallOptions, Http, Json, Registry, Server, ToolCall, ToolError, ToolResult, mcp_tool, schemars, tools,
};
use serde_json::{Value, json};

use super::service::{ask, value};
use super::wire::{VERSIONS, call, modern, older};

/// The text to look for in what callers read.
const WORDS: &str = "disk 7 is full";

fn io_error() -> io::Error {
    io::Error::other(WORDS)
}

#[derive(Debug)]
struct Own;

impl From<Own> for ToolError {
    fn from(_: Own) -> Self {
        Self::new("DiskError", WORDS)
    }
}

macro_rules! failing {
    ($($name:ident: $type:ty = $error:expr;)*) => {$(
        /// Fails.
        #[mcp_tool(module = "masked")]
        fn $name() -> Result<u8, $type> {
            Err($error)
        }
    )*};
}

failing! {
    tool_error: ToolError = ToolError::new("DiskError", WORDS);
    own: Own = Own;
    string: String = WORDS.to_owned();
    text: &'static str = WORDS;
    boxed_text: BoxError = WORDS.into();
    std_error: io::Error = io_error();
    by_question_mark: ToolError = io_error().into();
    boxed: BoxError = Box::new(io_error());
    anyhow_text: anyhow::Error = anyhow::anyhow!(WORDS);
    anyhow_around: anyhow::Error = Err::<(), _>(io_error()).context("cannot save").unwrap_err();
    boxed_tool_error: BoxError = Box::new(ToolError::new("DiskError", WORDS));
    anyhow_tool_error: anyhow::Error = anyhow::Error::new(ToolError::new("DiskError", WORDS)).context("cannot save");
}

/// Fails by its result.
#[mcp_tool(module = "masked")]
fn result() -> ToolResult {
    ToolResult::failure(ToolError::new("DiskError", WORDS))
}

/// Panics.
#[mcp_tool(module = "masked")]
fn panics() -> u8 {
    panic!("{WORDS}")
}

struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(WORDS))
    }
}

/// Returns what cannot be written.
#[mcp_tool(module = "masked")]
fn unwritable() -> Json<Unwritable> {
    Json(Unwritable)
}

/// Returns what cannot be written, at once.
#[mcp_tool(module = "masked", inline)]
fn unwritable_now() -> Json<Unwritable> {
    Json(Unwritable)
}

/// Fails with the error of what cannot be written.
#[mcp_tool(module = "masked")]
fn unwritable_error() -> Result<u8, BoxError> {
    let error = serde_json::to_string(&Unwritable).unwrap_err();
    Err(Box::new(SerializationError::new("the disk", error)))
}

/// Wants an argument.
#[mcp_tool(module = "masked")]
fn wants(disk: u8) -> u8 {
    disk
}

/// Takes too long.
#[mcp_tool(module = "masked", timeout = "10ms")]
async fn late() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// The rows of the table, with the tools that fail in that way and the text that their messages have.
const ROWS: [(&str, &[(&str, &str)]); 8] = [
    (
        "`ToolError::new(…)`, also by `From<YourError> for ToolError` or `ToolResult::failure`",
        &[("tool_error", WORDS), ("own", WORDS), ("result", WORDS)],
    ),
    ("a text: `String`, `&str`, also in a `BoxError`", &[("string", WORDS), ("text", WORDS), ("boxed_text", WORDS)]),
    (
        "`std::io::Error` or any other `std::error::Error`, also where `?` makes a `ToolError` of it",
        &[("std_error", WORDS), ("by_question_mark", WORDS)],
    ),
    (
        "`anyhow::Error`, that of `anyhow!(\"…\")` too; `BoxError` of such an error",
        &[("boxed", WORDS), ("anyhow_text", WORDS), ("anyhow_around", WORDS)],
    ),
    (
        "`anyhow::Error` or `BoxError` with a `ToolError` inside",
        &[("boxed_tool_error", WORDS), ("anyhow_tool_error", WORDS)],
    ),
    ("a panic", &[("panics", WORDS)]),
    (
        "a value that cannot become JSON",
        &[("unwritable", WORDS), ("unwritable_now", WORDS), ("unwritable_error", WORDS)],
    ),
    ("arguments that do not fit, the deadline", &[("wants", "`disk`"), ("late", "did not answer within 10ms")]),
];

fn registry() -> Registry {
    let entries = tools![
        tool_error,
        own,
        string,
        text,
        boxed_text,
        std_error,
        by_question_mark,
        boxed,
        anyhow_text,
        anyhow_around,
        boxed_tool_error,
        anyhow_tool_error,
        result,
        panics,
        unwritable,
        unwritable_now,
        unwritable_error,
        wants,
        late,
    ];
    Registry::builder_of(entries).build().unwrap()
}

/// What the caller reads, in the words of the table.
fn cell(answer: &Value, words: &str) -> &'static str {
    let text = answer.to_string();
    match (text.contains(words), text.contains("correlation_id")) {
        (true, false) => "the message",
        (false, true) => "an id",
        _ => panic!("neither the message nor an id, or both: {text}"),
    }
}

/// What the caller reads in the same process, over stdio, and over HTTP in every version.
async fn cells(tool: &str, words: &str) -> [&'static str; 3] {
    let (called, on_wire) = (format!("masked.{tool}"), format!("masked_{tool}"));
    let here = registry().call(&ToolCall::new(called, json!({}))).await;
    assert!(here.is_failure());
    let server = Server::new(registry());
    let mut line = call(VERSIONS[0], &on_wire, json!({})).body;
    line.push(b'\n');
    let mut out = Vec::new();
    serve_lines(server.clone(), CallOptions::new(), line.as_slice(), &mut out).await.unwrap();
    let mut over_http = Vec::new();
    for version in VERSIONS {
        let answer = ask(&mut Http::new(server.clone()).service(), &call(version, &on_wire, json!({}))).await;
        over_http.push(cell(&value(answer).await, words));
    }
    over_http.dedup();
    assert_eq!(over_http.len(), 1, "all versions show the same");
    [cell(&here.to_value(), words), cell(&serde_json::from_slice(&out).unwrap(), words), over_http[0]]
}

#[tokio::test]
async fn what_callers_read_of_errors_is_as_documented() {
    let page = include_str!("../../../mcp-macros/src/mcp_tool.md");
    let mut table = vec!["| the call fails with | in the same process | over stdio | over HTTP |".to_owned()];
    table.push("|---|---|---|---|".to_owned());
    for (row, tools) in ROWS {
        let mut seen = Vec::new();
        for (tool, words) in tools {
            seen.push(cells(tool, words).await.join(" | "));
        }
        seen.dedup();
        assert_eq!(seen.len(), 1, "`{row}` is more than one row: {seen:?}");
        table.push(format!("| {row} | {} |", seen[0]));
    }
    let table = table.join("\n");
    assert!(page.contains(&format!("\n\n{table}\n\n")), "the table is:\n{table}");
}

#[tokio::test]
async fn the_id_of_a_masked_error_is_stated_once_in_the_text() {
    for version in VERSIONS {
        let server = Server::new(registry());
        let answer = ask(&mut Http::new(server).service(), &call(version, "masked_std_error", json!({}))).await;
        let result = value(answer).await["result"].clone();
        let id = result["_meta"]["error"]["error_details"]["correlation_id"].as_str().unwrap().to_owned();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.matches(&id).count(), 1, "{text}");
        assert!(text.ends_with(&id), "{text}");
        let mcp = CallToolResult::from_value(result).unwrap();
        let flat = ToolResult::from(mcp.clone());
        assert!(flat.error.as_ref().unwrap().error_message.ends_with(&id));
        assert_eq!(CallToolResult::from(flat), mcp);
    }
}

#[derive(serde::Deserialize)]
struct Unlisted;

impl schemars::JsonSchema for Unlisted {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unlisted".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        panic!("{WORDS}")
    }
}

/// Has a schema that panics.
#[mcp_tool(module = "masked")]
fn unlisted(disk: Unlisted) {
    let Unlisted = disk;
}

#[tokio::test]
async fn a_panic_in_the_list_of_tools_is_masked_over_http() {
    let server = Server::new(Registry::builder_of(tools![unlisted]).build().unwrap());
    for (version, list) in
        [("2026-07-28", modern("tools/list", json!({}))), ("2025-11-25", older("tools/list", &json!({})))]
    {
        let answer = value(ask(&mut Http::new(server.clone()).service(), &list).await).await;
        assert_eq!(cell(&answer, WORDS), "an id", "{version}");
        assert_eq!(answer["error"]["code"], -32603, "{version}");
    }
    let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let answer = server.handle(list, &Peer::new()).await.unwrap();
    assert_eq!(cell(&serde_json::from_slice(&answer).unwrap(), WORDS), "the message");
}
