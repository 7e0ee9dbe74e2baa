//! An inline call runs on the caller's thread, and still passes gates, limits, layers and observers.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
use mcp_registry::testing::block_on;
use mcp_registry::{
    Error, RateLimit, Registry, RegistryBuilder, Server, ToolCall, ToolContext, ToolResult, mcp_tool, tools,
};

use super::answer;

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"served_add","arguments":{"a":1}}}"#;

/// Results are not checked, unlike by default in debug builds.
fn builder() -> RegistryBuilder {
    Registry::builder_of(tools![super::add]).check_output(OutputCheck::Never)
}

fn called(builder: RegistryBuilder) -> Server {
    let server = Server::new(builder.build().unwrap());
    answer(&server, CALL).expect("a call is answered");
    server
}

#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Observer for Count {
    fn observe(&self, _: &CallRecord<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_observer_and_a_limit_see_every_inline_call() {
    let count = Count::default();
    called(builder().observer(count.clone()));
    assert_eq!(count.0.load(Ordering::Relaxed), 1);

    let server = called(builder().rate_limit(RateLimit::per_minute(1).burst(1)));
    let second = answer(&server, CALL).expect("a call is answered").to_string();
    assert!(second.contains("ApiLimitExceeded"), "{second}");
}

struct Closed;

impl Gate for Closed {
    async fn check(&self, _: &GateCall<'_>) -> Decision {
        Decision::deny("nobody may call this")
    }
}

impl Layer for Closed {
    async fn call(&self, _: &ToolCall, _: &ToolContext, _: Next<'_>) -> Result<ToolResult, Error> {
        Ok(ToolResult::success().text("from the layer"))
    }
}

#[test]
fn a_gate_and_a_layer_see_every_inline_call() {
    for (builder, expected) in
        [(builder().gate(Closed), "nobody may call this"), (builder().layer(Closed), "from the layer")]
    {
        let server = Server::new(builder.build().unwrap());
        let answer = answer(&server, CALL).expect("a call is answered").to_string();
        assert!(answer.contains(expected), "{answer}");
    }
}

/// Blocks its thread, although it is `async`.
#[mcp_tool(module = "blocking")]
async fn block(ms: u64) -> u64 {
    thread::sleep(Duration::from_millis(ms));
    ms
}

/// Whether the answer of a call is there when `begin` returns; if it is not, waits for it.
fn is_immediate(server: &Server, name: &str, ms: u64) -> bool {
    let mut out = Vec::new();
    let params = format!(r#"{{"name":"{name}","arguments":{{"ms":{ms}}}}}"#);
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let pending = server.begin(message.as_bytes(), &Peer::new(), &mut out);
    let is_immediate = pending.is_none();
    let reply = pending.map_or(out, |pending| block_on(pending).unwrap());
    assert!(String::from_utf8(reply).unwrap().contains(&format!(r#"{{"result":{ms}}}"#)));
    is_immediate
}

#[test]
fn a_tool_that_has_blocked_its_thread_once_is_never_again_polled_by_the_thread_that_reads() {
    const NAME: &str =
        "inline_calls::a_tool_that_has_blocked_its_thread_once_is_never_again_polled_by_the_thread_that_reads";
    if std::env::var_os("BLOCKS_A_THREAD").is_none() {
        let mut test = Command::new(std::env::current_exe().unwrap());
        let run = test.args(["--exact", NAME, "--nocapture"]).env("BLOCKS_A_THREAD", "1").output().unwrap();
        let err = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.success(), "{err}");
        assert_eq!(err.matches("`blocking.block` has blocked its thread").count(), 1, "{err}");
        return;
    }
    let server = Server::new(Registry::builder_of(tools![block]).build().unwrap());
    let is_immediate = |ms: u64| is_immediate(&server, "blocking_block", ms);
    // A loaded machine may delay a quick call for so long that it is no longer considered quick.
    assert!((0..50).any(|_| is_immediate(0)), "a quick tool is polled where its message is read");
    block_for_certain(is_immediate);
    assert!((0..50).all(|_| !is_immediate(0)), "it has blocked");
    is_immediate(300);
}

/// Blocks twice: how long a thread has waited for a processor before is known only from the first measurement on.
fn block_for_certain(is_immediate: impl Fn(u64) -> bool) {
    (0..2).for_each(|_| _ = is_immediate(300));
}

/// Blocks its thread after it has yielded.
#[mcp_tool(module = "blocking")]
async fn block_later(ms: u64) -> u64 {
    if ms > 0 {
        let mut has_yielded = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_yielded, true) {
                return std::task::Poll::Ready(());
            }
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
        thread::sleep(Duration::from_millis(ms));
    }
    ms
}

#[test]
fn a_tool_that_has_blocked_its_thread_after_its_first_poll_is_not_polled_by_the_thread_that_reads_either() {
    let server = Server::new(Registry::builder_of(tools![block_later]).build().unwrap());
    let is_immediate = |ms: u64| is_immediate(&server, "blocking_block_later", ms);
    assert!((0..50).any(|_| is_immediate(0)), "a quick tool is polled where its message is read");
    block_for_certain(is_immediate);
    assert!((0..50).all(|_| !is_immediate(0)), "it has blocked");
}
