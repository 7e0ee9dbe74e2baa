//! Tools that need tokio, called with and without a runtime around them.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_registry::entry::ToolEntry;
use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::runtime::TokioRuntime;
use mcp_registry::testing::{Harness, block_on};
use mcp_registry::{CallOptions, Registry, Tool, ToolCall, ToolResult, mcp_tool, tools};
use serde_json::{Value, json};
use support::run_in_time;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::sync::oneshot;

use crate::{build, call, failure, with_tools};

/// Sleeps on tokio's timer.
#[mcp_tool(module = "on_tokio", timeout = "20s")]
async fn sleep() -> String {
    tokio::time::sleep(Duration::from_millis(20)).await;
    runtime()
}

/// Sends a byte over a socket.
#[mcp_tool(module = "on_tokio", timeout = "20s")]
async fn connect() -> Result<String, std::io::Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (client, server) = tokio::join!(TcpStream::connect(listener.local_addr()?), listener.accept());
    let (mut client, (mut server, _)) = (client?, server?);
    client.write_all(b"!").await?;
    assert_eq!(server.read_u8().await?, b'!');
    Ok(runtime())
}

/// Waits for tasks that it spawns.
#[mcp_tool(module = "on_tokio", timeout = "20s")]
async fn spawn() -> String {
    let sleeps = tokio::spawn(async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        runtime()
    });
    tokio::task::spawn_blocking(|| ()).await.unwrap();
    sleeps.await.unwrap()
}

/// Waits for a future from a plain function.
#[mcp_tool(module = "on_tokio", timeout = "20s")]
fn wait() -> String {
    Handle::current()
        .block_on(tokio::spawn(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            runtime()
        }))
        .unwrap()
}

/// Spawns a task when its future is dropped.
#[mcp_tool(module = "on_tokio", timeout = "20ms")]
async fn spawn_on_drop(#[ctx] dropped: &Dropped) {
    struct Spawns(Dropped);

    impl Drop for Spawns {
        fn drop(&mut self) {
            let sender = self.0.0.lock().unwrap().take();
            tokio::spawn(async move { sender.map(|sender| sender.send(())) });
        }
    }

    let _spawns = Spawns(dropped.clone());
    std::future::pending::<()>().await;
}

#[derive(Clone)]
struct Dropped(Arc<Mutex<Option<std::sync::mpsc::Sender<()>>>>);

/// Asks for the runtime where it is called.
#[mcp_tool(module = "on_tokio", inline)]
fn inline() -> String {
    runtime()
}

/// The id of the runtime that the tool is in.
fn runtime() -> String {
    Handle::current().id().to_string()
}

const ALL: [&str; 4] = ["on_tokio.sleep", "on_tokio.connect", "on_tokio.spawn", "on_tokio.wait"];

fn all() -> [&'static ToolEntry; 4] {
    tools![sleep, connect, spawn, wait]
}

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The runtimes that the tools ran in, called in every way that blocks the thread.
fn ran_in(registry: &Registry) -> Vec<String> {
    let result = |result: &Value| result["result"].as_str().unwrap().to_owned();
    let harness = Harness::new(registry.clone());
    let mut runtimes = Vec::new();
    for name in ALL {
        let asked = ToolCall::new(name, json!({}));
        for called in [
            registry.call_blocking(&asked),
            registry.call_blocking_with(&asked, &CallOptions::new()),
            harness.call(name, json!({})),
            block_on(registry.call(&asked)),
        ] {
            let data = called.data.as_ref().unwrap_or_else(|| panic!("{name}: {}", called.to_json()));
            runtimes.push(result(data));
        }
        let mut out = Vec::new();
        registry.call_bytes_blocking(name, b"{}", &CallOptions::new(), &mut out).unwrap();
        runtimes.push(result(&serde_json::from_slice::<Value>(&out).unwrap()["data"]));
    }
    runtimes.sort();
    runtimes.dedup();
    runtimes
}

#[test]
fn blocking_calls_need_no_runtime() {
    assert_eq!(ran_in(&build(with_tools(all()))).len(), 1, "they share one");
    assert!(Handle::try_current().is_err(), "the thread is left as it was");
}

#[test]
fn blocking_calls_from_a_plain_thread_use_the_tokio_runtime_of_the_registry() {
    let runtime = multi_thread(1);
    let registry = build(with_tools(all()).runtime(TokioRuntime::new(runtime.handle().clone()).unwrap()));
    assert_eq!(ran_in(&registry), [runtime.handle().id().to_string()]);
}

#[tokio::test]
async fn blocking_calls_inside_a_current_thread_runtime_do_not_hang() {
    let own = Handle::current().id().to_string();
    for registry in [build(with_tools(all())), build(with_tools(all()).runtime(TokioRuntime::current().unwrap()))] {
        assert!(!ran_in(&registry).contains(&own));
    }
}

#[test]
fn blocking_calls_inside_a_task_do_not_hang() {
    for runtime in [multi_thread(1), multi_thread(2), current_thread()] {
        let task = runtime.spawn(async {
            ran_in(&build(with_tools(all())));
            ran_in(&build(with_tools(all()).runtime(TokioRuntime::current().unwrap())));
        });
        runtime.block_on(task).unwrap();
    }
}

#[test]
fn blocking_calls_beside_a_running_runtime_use_it() {
    let runtime = multi_thread(1);
    let own = runtime.handle().id().to_string();
    assert_eq!(runtime.block_on(async { ran_in(&build(with_tools(all()))) }), std::slice::from_ref(&own));
    let _entered = runtime.enter();
    assert_eq!(ran_in(&build(with_tools(all()))), [own]);
}

#[test]
fn blocking_calls_on_threads_that_may_block_use_the_runtime_of_the_thread() {
    for runtime in [multi_thread(1), multi_thread(2), current_thread()] {
        let own = runtime.handle().id().to_string();
        let ran = runtime.block_on(runtime.spawn_blocking(|| ran_in(&build(with_tools(all()))))).unwrap();
        assert_eq!(ran, std::slice::from_ref(&own), "spawn_blocking");
        if runtime.handle().runtime_flavor() == RuntimeFlavor::MultiThread {
            let task = runtime.spawn(async { tokio::task::block_in_place(|| ran_in(&build(with_tools(all())))) });
            assert_eq!(runtime.block_on(task).unwrap(), [own], "block_in_place");
        }
    }
}

#[test]
fn awaited_calls_use_the_runtime_of_their_caller() {
    for runtime in [multi_thread(1), current_thread()] {
        runtime.block_on(async {
            let registry = build(with_tools(all()));
            for name in ALL {
                let result = registry.call(&ToolCall::new(name, json!({}))).await;
                assert_eq!(result.data.unwrap()["result"], super::tokio_runtime::runtime(), "{name}");
            }
        });
    }
}

#[test]
fn blocking_calls_may_be_nested() {
    let inner = build(with_tools(all()));
    let outer = Tool::new("outer.tool", json!({ "type": "object" }), move |_, _| {
        let inner = inner.clone();
        async move { ToolResult::data(ran_in(&inner).len()) }
    });
    let registry = build(with_tools([]).tool(outer.description("Calls other tools.")));
    assert_eq!(call(&registry, "outer.tool", json!({})).data.unwrap()["result"], 1);
    let result = current_thread().block_on(async { call(&registry, "outer.tool", json!({})) });
    assert_eq!(result.data.unwrap()["result"], 1);
}

#[test]
fn futures_are_dropped_in_the_runtime() {
    run_in_time(|| {
        let (sender, spawned) = std::sync::mpsc::channel();
        let dropped = Dropped(Arc::new(Mutex::new(Some(sender))));
        let registry = build(with_tools(tools![spawn_on_drop]).state(dropped));
        assert_eq!(failure(&call(&registry, "on_tokio.spawn_on_drop", json!({}))).0, "TimeoutError");
        spawned.recv_timeout(Duration::from_secs(20)).unwrap();
    });
}

/// Asks somebody who answers later.
struct Slow;

impl Gate for Slow {
    async fn check(&self, _: &GateCall<'_>) -> Decision {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Decision::Allow
    }
}

#[test]
fn gates_need_no_runtime() {
    let registry = build(with_tools(tools![sleep]).gate(Slow));
    assert!(!call(&registry, "on_tokio.sleep", json!({})).is_failure());
}

#[derive(Clone)]
struct Answer(Arc<Mutex<Option<oneshot::Receiver<u8>>>>);

/// Waits for something of the runtime that its state was made in.
#[mcp_tool(module = "on_tokio", timeout = "100ms")]
async fn wait_for_state(#[ctx] answer: &Answer) -> u8 {
    let receiver = answer.0.lock().unwrap().take().unwrap();
    receiver.await.unwrap()
}

/// A registry with a tool that waits for a task of this runtime.
fn waiting() -> Registry {
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move { sender.send(1) });
    build(with_tools(tools![wait_for_state]).state(Answer(Arc::new(Mutex::new(Some(receiver))))))
}

#[test]
fn a_timeout_on_a_blocked_runtime_names_the_cause_and_the_fix() {
    run_in_time(|| {
        current_thread().block_on(async {
            let asked = ToolCall::new("on_tokio.wait_for_state", json!({}));
            let result = waiting().call_blocking(&asked);
            let (error_type, message) = failure(&result);
            assert_eq!(error_type, "TimeoutError");
            assert!(
                message.contains("the blocking call may keep the tokio runtime of its thread from")
                    && message.contains("`call(…).await`"),
                "{message}"
            );
            // Elsewhere the message stays as it is.
            let registry = waiting();
            assert_eq!(registry.call(&asked).await.data.unwrap()["result"], 1);
            let late = thread::spawn(|| {
                let (_sender, receiver) = oneshot::channel();
                let answer = Answer(Arc::new(Mutex::new(Some(receiver))));
                call(&build(with_tools(tools![wait_for_state]).state(answer)), "on_tokio.wait_for_state", json!({}))
            });
            let late = late.join().unwrap();
            assert!(failure(&late).1.ends_with("try again later"), "{}", failure(&late).1);
        });
    });
}

#[test]
fn a_timeout_names_the_blocked_runtime_only_where_the_call_blocks_it() {
    run_in_time(|| {
        fn message() -> String {
            let (_sender, receiver) = oneshot::channel();
            let registry =
                build(with_tools(tools![wait_for_state]).state(Answer(Arc::new(Mutex::new(Some(receiver))))));
            let late = call(&registry, "on_tokio.wait_for_state", json!({}));
            failure(&late).1.to_owned()
        }
        for runtime in [multi_thread(1), multi_thread(2), current_thread()] {
            let blocked = runtime.block_on(runtime.spawn(async { message() })).unwrap();
            assert!(blocked.contains("the blocking call may keep the tokio runtime"), "{blocked}");
            let in_pool = runtime.block_on(runtime.spawn_blocking(message)).unwrap();
            assert!(!in_pool.contains("blocking call"), "{in_pool}");
            if runtime.handle().runtime_flavor() == RuntimeFlavor::MultiThread {
                let task = runtime.spawn(async { tokio::task::block_in_place(message) });
                let in_place = runtime.block_on(task).unwrap();
                assert!(!in_place.contains("blocking call"), "{in_place}");
            }
        }
    });
}

/// Keeps what was recorded.
#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Vec<String>>>);

impl Observer for Messages {
    fn observe(&self, record: &CallRecord<'_>) {
        self.0.lock().unwrap().extend(record.message.map(str::to_owned));
    }
}

#[test]
fn a_tool_that_finds_no_runtime_says_what_to_do() {
    let messages = Messages::default();
    let registry = build(with_tools(tools![inline]).observer(messages.clone()));
    let result = call(&registry, "on_tokio.inline", json!({}));
    let (error_type, message) = failure(&result);
    assert_eq!(error_type, "ToolExecutionError");
    assert!(message.starts_with("`on_tokio.inline` needs a tokio runtime"), "{message}");
    assert!(message.contains("`inline`") && !message.contains("author"), "{message}");
    assert_eq!(*messages.0.lock().unwrap(), [format!("{error_type}: {message}")]);

    let masked = build(with_tools(tools![inline]).mask_errors(true).observer(messages.clone()));
    let result = call(&masked, "on_tokio.inline", json!({}));
    assert!(!result.to_json().contains("tokio runtime"), "{}", result.to_json());
    assert_eq!(messages.0.lock().unwrap()[1], format!("{error_type}: {message}"), "the log says it all");
}

#[test]
fn a_runtime_that_was_shut_down_is_not_blamed_on_the_tool() {
    let runtime = multi_thread(1);
    let registry = build(with_tools(tools![sleep]).runtime(TokioRuntime::new(runtime.handle().clone()).unwrap()));
    runtime.shutdown_background();
    let result = call(&registry, "on_tokio.sleep", json!({}));
    let message = failure(&result).1;
    assert!(message.contains("was shut down; keep the runtime until"), "{message}");
}

#[test]
fn a_runtime_without_timers_is_not_blamed_on_the_tool() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let registry = build(with_tools(tools![sleep]));
    let result = runtime.block_on(registry.call(&ToolCall::new("on_tokio.sleep", json!({}))));
    let message = failure(&result).1;
    assert!(message.contains("enable_time") && !message.contains("author"), "{message}");
}
