//! The servers under test, as child processes: this program, started again with a subcommand.

#![allow(clippy::needless_pass_by_value, clippy::unused_async, reason = "tools take what they take")]

use std::io::{self, Read as _};
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::{Http, Registry, Server, ToolContext, mcp_tool, serve_stdio};
use serde::Deserialize;
use tokio::net::TcpListener;

/// The deadline of `soak.late` and `soak.late_on_pool`.
pub(crate) const DEADLINE: Duration = Duration::from_millis(20);
/// The deadline of `soak.tree`.
pub(crate) const TREE_DEADLINE: Duration = Duration::from_secs(1);

/// Calls that have begun and not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

struct Running;

impl Running {
    fn begin() -> Self {
        RUNNING.fetch_add(1, Relaxed);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Relaxed);
    }
}

/// Adds two numbers.
#[mcp_tool(module = "soak", inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers on the thread pool.
#[mcp_tool(module = "soak")]
fn add_on_pool(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers in a future.
#[mcp_tool(module = "soak")]
async fn add_in_future(a: i64, b: i64) -> i64 {
    tokio::task::yield_now().await;
    a + b
}

/// Panics.
#[mcp_tool(module = "soak", inline)]
fn panic() {
    panic!("on purpose");
}

/// Panics in a future.
#[mcp_tool(module = "soak")]
async fn panic_in_future() {
    tokio::task::yield_now().await;
    panic!("on purpose");
}

/// Never finishes.
#[mcp_tool(module = "soak", timeout = "20ms")]
async fn late() {
    let _running = Running::begin();
    std::future::pending::<()>().await;
}

/// Blocks a thread until it is told to stop.
#[mcp_tool(module = "soak", timeout = "20ms")]
fn late_on_pool(#[ctx] cx: &ToolContext) {
    let _running = Running::begin();
    while !cx.is_cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits to be cancelled.
#[mcp_tool(module = "soak", timeout = "1s")]
async fn wait(#[ctx] cx: &ToolContext) {
    let _running = Running::begin();
    cx.cancelled().await;
}

/// Counts the calls of `late`, `late_on_pool` and `wait` that are still running.
#[mcp_tool(module = "soak", inline)]
fn running() -> usize {
    RUNNING.load(Relaxed)
}

/// A lower-case word.
#[derive(Deserialize, JsonSchema)]
struct Word(#[schemars(regex(pattern = "^[a-z]+$"))] String);

/// Counts the letters of words.
#[mcp_tool(module = "soak")]
fn letters(words: Vec<Word>) -> usize {
    words.iter().map(|word| word.0.len()).sum()
}

/// Reading a list of depth n that fits no variant tries 2^n ways.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Tree {
    Branch(Vec<Tree>),
    Fork(Vec<Tree>),
    Leaf(bool),
}

impl Tree {
    fn leaves(&self) -> usize {
        match self {
            Self::Branch(trees) | Self::Fork(trees) => trees.iter().map(Self::leaves).sum(),
            Self::Leaf(leaf) => usize::from(*leaf),
        }
    }
}

/// Counts the leaves of a tree that are true.
#[mcp_tool(module = "soak", timeout = "1s")]
async fn tree(tree: Tree, note: String) -> usize {
    tree.leaves() + note.len()
}

/// Keeps what came with the call for a while.
#[mcp_tool(module = "soak")]
async fn hold(#[ctx] cx: &ToolContext) -> bool {
    tokio::time::sleep(Duration::from_millis(500)).await;
    cx.is_cancelled()
}

/// Serves over stdin and stdout, or over HTTP at a port that it prints, until stdin ends.
pub(crate) fn serve(over_http: bool, max_message: Option<usize>) -> io::Result<()> {
    // Tools panic by the thousand.
    std::panic::set_hook(Box::new(|_| {}));
    let registry = Registry::linked().map_err(io::Error::other)?;
    let mut server = Server::new(registry).info("soak", env!("CARGO_PKG_VERSION"));
    if let Some(bytes) = max_message {
        server = server.max_message_bytes(bytes);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if !over_http {
        return runtime.block_on(serve_stdio(server)).map_err(io::Error::other);
    }
    // It ends when the program that started it ends, for whatever reason.
    thread::spawn(|| {
        let ended = io::stdin().read_to_end(&mut Vec::new());
        exit(i32::from(ended.is_err()));
    });
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        Http::new(server).serve_on(listener).await.map_err(io::Error::other)
    })
}
