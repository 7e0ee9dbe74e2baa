//! The server that several targets talk to.

use std::future::poll_fn;
use std::sync::LazyLock;
use std::task::Poll;

use mcp_registry::{ErrorType, LogLevel, Registry, Server, ToolContext, ToolError, mcp_tool};
use serde_json::Value;

use crate::http::Access;

/// How many bytes a message may have.
pub(crate) const LONGEST: usize = 1024;

/// Adds two numbers.
#[mcp_tool(module = "fuzz", inline)]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Gives a value back.
#[mcp_tool(module = "fuzz", inline)]
fn echo(value: Value) -> Value {
    value
}

/// Takes a word.
#[mcp_tool(module = "fuzz", inline)]
fn word(#[arg(pattern = "^[a-z]+$", alias = "w")] word: String) -> String {
    word
}

/// Waits for a few turns, and tells of each.
#[mcp_tool(module = "fuzz")]
async fn wait(#[ctx] cx: &ToolContext, turns: Option<u8>) -> u8 {
    let turns = turns.unwrap_or(1) % 4;
    for turn in 0..turns {
        cx.progress(turn, turns, "a turn");
        cx.log(LogLevel::Info, "a turn");
        let mut is_over = false;
        poll_fn(|context| {
            if std::mem::replace(&mut is_over, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
    turns
}

/// Fails.
#[mcp_tool(module = "fuzz", inline)]
fn fail(message: String) -> Result<(), ToolError> {
    Err(ToolError::new(ErrorType::TIMEOUT_ERROR, message))
}

/// Runs on a thread of the pool.
#[mcp_tool(module = "fuzz")]
fn pool(text: String) -> String {
    text
}

/// Records that the request was let in.
#[mcp_tool(module = "fuzz", inline)]
fn guarded(#[ctx] cx: &ToolContext) -> bool {
    let access = cx.extensions().get::<Access>();
    assert!(
        access.is_none_or(|access| access.is_granted),
        "a request that is not to be let in runs a tool: {access:?}"
    );
    true
}

/// The server, with messages of at most [`LONGEST`] bytes and four tools on a page.
pub(crate) static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let entries = mcp_registry::entry::entries().filter(|entry| entry.name.starts_with("fuzz."));
    let registry = Registry::builder_of(entries).build().expect("the tools are sound");
    Server::new(registry).info("fuzz", "1.0.0").max_message_bytes(LONGEST).page_size(4)
});

/// The tools, with their schemas.
pub(crate) static TOOLS: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    let tools = SERVER.registry().list_registered_tools();
    tools.iter().map(|tool| (tool.name().to_owned(), (**tool.input_schema()).clone())).collect()
});
