//! A hundred thousand calls of all kinds on all cores: each is answered once, and no memory is leaked.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "tools take what they take"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_core::support::block_on;
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::registry::OutputCheck;
use mcp_registry::{
    AuditLog, CallOptions, CancelToken, RateLimit, Registry, Tool, ToolCall, ToolContext, ToolError, ToolResult,
    mcp_tool, tools,
};
use serde_json::json;

use super::{ALLOCATOR, COUNTING};

/// Adds in its place.
#[mcp_tool(module = "soak", inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Joins on the pool.
#[mcp_tool(module = "soak")]
fn join(parts: Vec<String>) -> String {
    parts.join("-")
}

/// Waits a moment.
#[mcp_tool(module = "soak")]
async fn echo(text: String) -> String {
    let mut polled = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
    text
}

/// Fails.
#[mcp_tool(module = "soak")]
async fn fail() -> Result<(), ToolError> {
    Err(ToolError::new("OutOfStock", "none left"))
}

/// Panics.
#[mcp_tool(module = "soak", inline)]
fn panic() {
    std::panic::resume_unwind(Box::new("on purpose"));
}

/// Panics on the pool.
#[mcp_tool(module = "soak")]
fn panic_on_pool() {
    std::panic::resume_unwind(Box::new(7));
}

/// Is never done in time.
#[mcp_tool(module = "soak", timeout = "1ms")]
async fn late() {
    std::future::pending::<()>().await;
}

/// Blocks for longer than it may.
#[mcp_tool(module = "soak", timeout = "1ms")]
fn block(#[ctx] cx: &ToolContext) {
    while !cx.is_cancelled() {
        thread::sleep(Duration::from_micros(200));
    }
}

/// Waits to be cancelled.
#[mcp_tool(module = "soak")]
async fn wait(#[ctx] cx: &ToolContext) {
    cx.cancelled().await;
}

/// Is limited.
#[mcp_tool(module = "soak", inline)]
fn limited() {}

/// Is not trusted.
#[mcp_tool(module = "soak", destructive)]
fn destroy() {}

const CALLS: usize = 100_000;

/// The calls of a round, each with its expected answer.
fn round(n: usize) -> (&'static str, serde_json::Value, &'static [&'static str]) {
    const OK: &str = "";
    match n % 20 {
        0..=4 => ("soak.add", json!({ "a": n, "b": 1 }), &[OK]),
        5 | 6 => ("soak.join", json!({ "parts": ["a", "b", n.to_string()] }), &[OK]),
        7 | 8 => ("soak.echo", json!({ "text": "x".repeat(n % 3000) }), &[OK]),
        9 => ("soak.add", json!({ "a": "one", "c": [n], "b": null }), &["ValidationError"]),
        10 => ("soak.join", json!({ "parts": [1, { "a": n }] }), &["ValidationError"]),
        11 => ("soak.nothing", json!({}), &["ToolNotFoundError"]),
        12 => ("soak.fail", json!({}), &["OutOfStock"]),
        13 => ("soak.panic", json!({}), &["ToolExecutionError"]),
        14 if n % 400 == 14 => ("soak.panic_on_pool", json!({}), &["ToolExecutionError"]),
        15 if n % 400 == 15 => ("soak.late", json!({}), &["TimeoutError"]),
        16 if n % 400 == 16 => ("soak.block", json!({}), &["TimeoutError", "ApiLimitExceeded"]),
        17 => ("soak.wait", json!({}), &["CancelledError"]),
        18 => ("soak.limited", json!({}), &[OK, "ApiLimitExceeded"]),
        19 => ("soak.destroy", json!({}), &["PermissionError"]),
        _ => ("made.count", json!({ "n": n }), &[OK]),
    }
}

/// Makes a call in one of three ways.
fn make(registry: &Registry, n: usize) {
    let (name, arguments, expected) = round(n);
    let token = CancelToken::new();
    let options = match name {
        "soak.wait" => CallOptions::new().cancel(token.clone()).extension(n),
        _ => CallOptions::new().caller("soak"),
    };
    let call = ToolCall::new(name, arguments);
    let answer = async {
        if n.is_multiple_of(2) {
            return registry.call_with(&call, &options).await;
        }
        let (json, mut out) = (call.arguments.to_string(), Vec::new());
        match registry.call_bytes(name, json.as_bytes(), &options, &mut out).await {
            Ok(()) => ToolResult::parse(&out).expect("what is answered is a result"),
            Err(error) => error.into(),
        }
    };
    let result = block_on(async {
        let mut answer = std::pin::pin!(answer);
        std::future::poll_fn(move |context| {
            let answered = answer.as_mut().poll(context);
            if answered.is_pending() && name == "soak.wait" {
                token.cancel();
            }
            answered
        })
        .await
    });
    let got = result.error.as_ref().map_or("", |error| error.error_type.as_str());
    assert!(expected.contains(&got), "{name}: {}", result.to_json());
}

/// Counts the records that it gets.
struct Count(Arc<AtomicUsize>);

impl Observer for Count {
    fn observe(&self, _: &CallRecord<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Bytes that are in use.
fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Makes this many calls, on all cores at once.
fn soak(registry: &Registry, calls: usize, answered: &AtomicUsize) {
    let (next, threads) = (AtomicUsize::new(0), thread::available_parallelism().map_or(2, usize::from).max(2));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= calls {
                        break;
                    }
                    make(registry, n);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
}

#[test]
fn a_hundred_thousand_calls_are_each_answered_once_and_leak_no_memory() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let told = Arc::new(AtomicUsize::new(0));
    let count = Tool::new("made.count", json!({ "type": "object" }), |_, args: serde_json::Value| async move { args });
    let registry =
        Registry::builder_of(tools![add, join, echo, fail, panic, panic_on_pool, late, block, wait, limited, destroy])
            .tool(count)
            .check_output(OutputCheck::Never)
            .rate_limit_tool("soak.limited", RateLimit::per_second(1000))
            .observer(AuditLog::builder().capacity(256).build())
            .observer(Count(Arc::clone(&told)))
            .build()
            .unwrap();
    let answered = AtomicUsize::new(0);
    // Pools, caches and the audit log fill up before anything is compared.
    soak(&registry, CALLS / 10, &answered);
    soak(&registry, CALLS / 2, &answered);
    let settle = || {
        // Abandoned threads of the pool end in the meantime.
        thread::sleep(Duration::from_millis(100));
        live_bytes()
    };
    let after_first = settle();
    soak(&registry, CALLS / 2, &answered);
    let after_second = settle();
    let calls = CALLS / 10 + CALLS;
    assert_eq!(answered.load(Ordering::Relaxed), calls, "every call is answered");
    assert_eq!(told.load(Ordering::Relaxed), calls, "and none twice");
    let metrics = registry.metrics().total();
    println!("{calls} calls, {} errors; {after_first} bytes live, then {after_second}", metrics.errors);
    #[allow(clippy::cast_precision_loss, reason = "bytes of a test")]
    let grown = after_second as f64 / after_first as f64;
    assert!(grown <= 1.05, "{after_first} bytes were live after the first half, {after_second} after the second");
}
