//! The same calls on std's threads and on tokio's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_registry::runtime::{Job, Runtime, RuntimeError, ThreadRuntime, TokioRuntime};
use mcp_registry::{Registry, ToolCall, mcp_tool, tools};
use serde_json::json;
use support::in_time;

use crate::{block_on, build, call, failure, with_tools};

/// On which thread it runs.
#[mcp_tool(module = "runtime")]
fn thread() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// Where it is called.
#[mcp_tool(module = "runtime", inline)]
fn here() -> String {
    format!("{:?}", std::thread::current().id())
}

/// Blocks for longer than it may.
#[mcp_tool(module = "runtime", timeout = "30ms")]
fn block() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Sleeps by tokio's clock.
#[mcp_tool(module = "runtime", timeout = "1s")]
async fn sleep(ms: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    ms
}

/// Asks for the runtime from a plain function.
#[mcp_tool(module = "runtime")]
fn has_runtime() -> bool {
    tokio::runtime::Handle::try_current().is_ok()
}

async fn checked(registry: &Registry) {
    let ask = async |name: &str, arguments| in_time(registry.call(&ToolCall::new(name, arguments))).await;
    assert_eq!(failure(&ask("runtime.block", json!({})).await).0, "TimeoutError");
    assert_eq!(failure(&ask("runtime.sleep", json!({ "ms": 60_000 })).await).0, "TimeoutError");
    assert_eq!(ask("runtime.sleep", json!({ "ms": 1 })).await.data.unwrap()["result"], 1);
    assert_eq!(ask("runtime.has_runtime", json!({})).await.data.unwrap()["result"], true);
    let here = format!("{:?}", std::thread::current().id());
    assert_eq!(ask("runtime.here", json!({})).await.data.unwrap()["result"], here);
}

#[test]
fn calls_run_on_tokio() {
    for runtime in [
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap(),
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap(),
    ] {
        runtime.block_on(async {
            let tools = tools![thread, here, block, sleep, has_runtime];
            checked(&build(with_tools(tools).runtime(TokioRuntime::current().unwrap()))).await;
            // And on std's threads, inside the same runtime.
            checked(&build(with_tools(tools))).await;
        });
    }
}

#[test]
fn a_tokio_runtime_serves_calls_from_outside() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let registry =
        build(with_tools(tools![block, thread]).runtime(TokioRuntime::new(runtime.handle().clone()).unwrap()));
    assert_eq!(failure(&call(&registry, "runtime.block", json!({}))).0, "TimeoutError");
    assert!(!call(&registry, "runtime.thread", json!({})).is_failure());
    runtime.shutdown_background();
    let result = call(&registry, "runtime.thread", json!({}));
    assert!(result.is_failure(), "a runtime that is gone gives an error and no hang: {}", result.to_json());
}

#[test]
fn a_deadline_fires_while_the_runtime_is_blocked() {
    for runtime in [
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap(),
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap(),
    ] {
        let result = runtime.block_on(async {
            let task = tokio::spawn(async {
                let registry = build(with_tools(tools![block]).runtime(TokioRuntime::current().unwrap()));
                registry.call_blocking(&ToolCall::new("runtime.block", json!({})))
            });
            task.await.unwrap()
        });
        assert_eq!(failure(&result).0, "TimeoutError");
    }
}

#[test]
fn plain_functions_run_on_threads_of_the_pool() {
    let registry = build(with_tools(tools![thread]).runtime(ThreadRuntime::new()));
    let name = call(&registry, "runtime.thread", json!({})).data.unwrap()["result"].as_str().unwrap().to_owned();
    assert!(name.starts_with("mcp-tool-"), "{name}");
}

/// Has no threads to give.
struct Poor(Arc<ThreadRuntime>);

impl Runtime for Poor {
    fn sleep_until(&self, deadline: Instant) -> mcp_registry::context::BoxFuture<'static, ()> {
        self.0.sleep_until(deadline)
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
        drop(job);
        Ok(())
    }
}

#[test]
fn a_job_that_the_runtime_drops_is_an_error_and_does_not_hang() {
    let registry = build(with_tools(tools![thread]).no_timeout().runtime(Poor(ThreadRuntime::shared())));
    let result = call(&registry, "runtime.thread", json!({}));
    assert!(failure(&result).1.contains("the runtime is shutting down"), "{}", result.to_json());
}

/// Runs its jobs when it is told to.
#[derive(Clone, Default)]
struct Lazy(Arc<Mutex<Vec<Job>>>);

impl Runtime for Lazy {
    fn sleep_until(&self, deadline: Instant) -> mcp_registry::context::BoxFuture<'static, ()> {
        ThreadRuntime::shared().sleep_until(deadline)
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
        self.0.lock().unwrap().push(job);
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Runs(Arc<AtomicUsize>);

/// Counts its runs.
#[mcp_tool(module = "runtime", timeout = "30ms")]
fn count(#[ctx] runs: &Runs) {
    runs.0.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_tool_that_is_queued_beyond_its_deadline_does_not_run() {
    let (lazy, runs) = (Lazy::default(), Runs::default());
    let registry = build(with_tools(tools![count]).state(runs.clone()).runtime(lazy.clone()).max_abandoned(1));
    let error = block_on(registry.try_call(&ToolCall::new("runtime.count", json!({})))).unwrap_err();
    assert!(matches!(error, mcp_registry::Error::Timeout(_)), "{error}");
    let refused = call(&registry, "runtime.count", json!({}));
    assert_eq!(failure(&refused).0, "ApiLimitExceeded", "the job still waits");
    let jobs = std::mem::take(&mut *lazy.0.lock().unwrap());
    assert_eq!(jobs.len(), 1);
    for job in jobs {
        job();
    }
    assert_eq!(runs.0.load(Ordering::SeqCst), 0);
    let late = call(&registry, "runtime.count", json!({}));
    assert_eq!(failure(&late).0, "TimeoutError", "it no longer counts as abandoned");
}

/// Panics in every method.
struct Broken {
    sleeps: bool,
}

impl Runtime for Broken {
    fn sleep_until(&self, deadline: Instant) -> mcp_registry::context::BoxFuture<'static, ()> {
        assert!(self.sleeps, "no time");
        ThreadRuntime::shared().sleep_until(deadline)
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
        assert!(!self.sleeps, "no threads");
        ThreadRuntime::shared().spawn_blocking(job)
    }
}

#[test]
fn a_panic_of_the_runtime_fails_the_call() {
    for (sleeps, message) in [(true, "no threads"), (false, "no time")] {
        let registry = build(with_tools(tools![block]).runtime(Broken { sleeps }));
        let result = call(&registry, "runtime.block", json!({}));
        assert_eq!(failure(&result).0, "ToolExecutionError");
        assert!(failure(&result).1.contains(message), "{}", result.to_json());
    }
}
