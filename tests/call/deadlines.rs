//! Deadlines, cancellation, and abandoned work.

use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mcp_registry::entry::Timeout;
use mcp_registry::{CallOptions, CancelToken, Error, Registry, Tool, ToolCall, ToolContext, mcp_tool, tools};
use serde_json::json;
use support::wait_until_blocking;

use crate::{block_on, build, call_in_time as call, failure, try_call, with_tools};

/// Counts drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

/// Never ends.
#[mcp_tool(module = "time", timeout = "50ms")]
async fn wait_for_ever(#[ctx] drops: &Drops) {
    let _dropped = Dropped(Arc::clone(&drops.0));
    pending::<()>().await;
}

/// A door that stays shut until the test opens it.
#[derive(Clone, Default)]
struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut open = self.0.0.lock().unwrap();
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }
}

/// Blocks its thread until the door is open.
#[mcp_tool(module = "time", timeout = "50ms")]
fn block(#[ctx] door: &Door) -> bool {
    door.pass();
    true
}

/// Blocks its thread until the door is open, with all the time there is.
#[mcp_tool(module = "time", timeout = "none")]
fn block_long(#[ctx] door: &Door) -> bool {
    door.pass();
    true
}

/// Asks whether it is still wanted.
#[mcp_tool(module = "time", timeout = "50ms")]
fn polite(#[ctx] cx: &ToolContext, #[ctx] left: &Left) {
    while !cx.is_cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
    left.0.store(true, Ordering::SeqCst);
}

/// Asks whether it is still wanted, and has all the time there is.
#[mcp_tool(module = "time", timeout = "none")]
fn leaves(#[ctx] cx: &ToolContext, #[ctx] left: &Left) {
    while !cx.is_cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
    left.0.store(true, Ordering::SeqCst);
}

#[derive(Clone, Default)]
struct Left(Arc<AtomicBool>);

/// Answers quickly.
#[mcp_tool(module = "time")]
fn quick() -> u8 {
    7
}

/// Answers after some time.
#[mcp_tool(module = "time", timeout = "none")]
async fn slow_async(#[ctx] cx: &ToolContext) -> &'static str {
    cx.cancelled().await;
    "nobody reads this"
}

/// When it has to be over.
#[mcp_tool(module = "time")]
fn seconds_left(#[ctx] cx: &ToolContext) -> Option<f64> {
    cx.deadline().map(|deadline| (deadline - Instant::now()).as_secs_f64())
}

#[test]
fn s3_17_an_async_tool_is_dropped_at_its_deadline() {
    let drops = Drops::default();
    let registry = build(with_tools(tools![wait_for_ever]).state(drops.clone()));
    let error = try_call(&registry, "time.wait_for_ever", json!({})).unwrap_err();
    let Error::Timeout(error) = error else { panic!("{error}") };
    assert_eq!((error.tool.as_str(), error.limit), ("time.wait_for_ever", Duration::from_millis(50)));
    assert_eq!(drops.0.load(Ordering::SeqCst), 1);
    let result = call(&registry, "time.wait_for_ever", json!({}));
    let (error_type, message) = failure(&result);
    assert_eq!(error_type, "TimeoutError");
    assert!(message.contains("50ms") && message.ends_with("try again later"), "{message}");
}

#[test]
fn a_call_of_a_plain_function_that_never_returns_is_answered_at_its_deadline() {
    let door = Door::default();
    let registry = build(with_tools(tools![block]).state(door.clone()));
    let started = Instant::now();
    let result = call(&registry, "time.block", json!({}));
    assert_eq!(failure(&result).0, "TimeoutError");
    assert!(started.elapsed() >= Duration::from_millis(50));
    // The door is still shut, so the call did not wait for the function.
    door.open();
}

#[test]
fn abandoned_work_is_bounded_and_counted_until_it_returns() {
    let door = Door::default();
    let registry = build(with_tools(tools![block, quick, slow_async]).state(door.clone()).max_abandoned(3));
    for _ in 0..3 {
        assert_eq!(failure(&call(&registry, "time.block", json!({}))).0, "TimeoutError");
    }
    let refused = call(&registry, "time.quick", json!({}));
    let (error_type, message) = failure(&refused);
    assert_eq!(error_type, "ApiLimitExceeded");
    assert!(message.contains("3 calls that ran out of time") && message.ends_with("try again later"), "{message}");
    door.open();
    wait_until_blocking("the pool is free again", || !call(&registry, "time.quick", json!({})).is_failure());
}

#[test]
fn a_plain_function_can_see_that_its_deadline_has_passed() {
    let left = Left::default();
    let registry = build(with_tools(tools![polite]).state(left.clone()));
    assert_eq!(failure(&call(&registry, "time.polite", json!({}))).0, "TimeoutError");
    wait_until_blocking("the function leaves", || left.0.load(Ordering::SeqCst));
}

#[test]
fn a_cancel_token_cancels_its_call() {
    let door = Door::default();
    let registry = build(with_tools(tools![block_long, slow_async]).state(door.clone()));
    for name in ["time.block_long", "time.slow_async"] {
        let token = CancelToken::new();
        let options = CallOptions::new().cancel(token.clone());
        let result = thread::scope(|scope| {
            let waiting = scope.spawn(|| block_on(registry.call_with(&ToolCall::new(name, json!({})), &options)));
            thread::sleep(Duration::from_millis(20));
            token.cancel();
            waiting.join().unwrap()
        });
        assert_eq!(failure(&result).0, "CancelledError", "{name}");
        let again = block_on(registry.call_with(&ToolCall::new(name, json!({})), &options));
        assert_eq!(failure(&again).0, "CancelledError", "{name} was cancelled before");
    }
    door.open();
}

/// Blocks its thread for longer than it may, unless told otherwise.
#[mcp_tool(module = "time", timeout = "50ms")]
async fn late(blocks: bool) -> bool {
    if blocks {
        thread::sleep(Duration::from_millis(100));
    }
    blocks
}

/// Blocks its thread for longer than it may.
#[mcp_tool(module = "time", timeout = "50ms")]
fn late_on_pool(#[ctx] left: &Left) {
    thread::sleep(Duration::from_millis(100));
    left.0.store(true, Ordering::SeqCst);
}

#[test]
fn a_result_that_arrives_after_the_deadline_is_a_timeout() {
    let registry = build(with_tools(tools![late]));
    let late = |blocks| try_call(&registry, "time.late", json!({ "blocks": blocks }));
    let assert_late = |result| assert!(matches!(result, Err(Error::Timeout(_))), "{result:?}");
    // First it is polled by its waiter; after it was quick, where the call begins.
    assert_late(late(true));
    wait_until_blocking("the tool is quick", || late(false).is_ok());
    assert_late(late(true));
}

/// Is cancelled, and late.
#[mcp_tool(module = "time", timeout = "50ms")]
async fn late_and_cancelled(#[ctx] caller: &Caller) -> bool {
    caller.0.cancel();
    thread::sleep(Duration::from_millis(100));
    true
}

/// The token of a call.
struct Caller(CancelToken);

#[test]
fn a_call_that_was_cancelled_is_no_timeout_even_if_it_is_late() {
    let token = CancelToken::new();
    let registry = build(with_tools(tools![late_and_cancelled]).state(Caller(token.clone())));
    let options = CallOptions::new().cancel(token);
    let result = block_on(registry.call_with(&ToolCall::new("time.late_and_cancelled", json!({})), &options));
    assert_eq!(failure(&result).0, "CancelledError");
}

#[test]
fn a_result_that_nobody_takes_before_the_deadline_is_a_timeout() {
    let left = Left::default();
    let registry = build(with_tools(tools![late_on_pool]).state(left.clone()));
    let tool_call = ToolCall::new("time.late_on_pool", json!({}));
    let mut under_way = pin!(registry.try_call(&tool_call));
    assert!(under_way.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    wait_until_blocking("the tool returns", || left.0.load(Ordering::SeqCst));
    thread::sleep(Duration::from_millis(50));
    let result = block_on(under_way);
    assert!(matches!(result, Err(Error::Timeout(_))), "{result:?}");
}

/// Counts its calls, where it is called.
#[mcp_tool(module = "time", inline)]
fn count_inline(#[ctx] calls: &Calls) {
    calls.0.fetch_add(1, Ordering::SeqCst);
}

/// Counts its calls, on the pool.
#[mcp_tool(module = "time")]
fn count_on_pool(#[ctx] calls: &Calls) {
    calls.0.fetch_add(1, Ordering::SeqCst);
}

/// Counts its calls, in a future.
#[mcp_tool(module = "time")]
async fn count_async(#[ctx] calls: &Calls) {
    calls.0.fetch_add(1, Ordering::SeqCst);
}

#[derive(Clone, Default)]
struct Calls(Arc<AtomicUsize>);

#[test]
fn a_call_that_was_cancelled_before_does_not_run_its_tool() {
    let calls = Calls::default();
    let registry = build(with_tools(tools![count_inline, count_on_pool, count_async]).state(calls.clone()));
    let token = CancelToken::new();
    let options = CallOptions::new().cancel(token.clone());
    for is_cancelled in [false, true] {
        if is_cancelled {
            token.cancel();
        }
        for name in ["time.count_inline", "time.count_on_pool", "time.count_async"] {
            let result = block_on(registry.try_call_with(&ToolCall::new(name, json!({})), &options));
            let error = result.err().map(|error| error.wire_type().as_str().to_owned());
            assert_eq!(error.as_deref(), is_cancelled.then_some("CancelledError"), "{name}");
        }
        assert_eq!(calls.0.load(Ordering::SeqCst), 3, "none was made since");
    }
}

#[test]
fn a_tool_sees_that_its_call_is_cancelled_before_its_caller_does() {
    let left = Left::default();
    let registry = build(with_tools(tools![leaves]).state(left.clone()));
    let (token, call) = (CancelToken::new(), ToolCall::new("time.leaves", json!({})));
    let options = CallOptions::new().cancel(token.clone());
    let mut under_way = pin!(registry.try_call_with(&call, &options));
    assert!(under_way.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    token.cancel();
    wait_until_blocking("the tool leaves", || left.0.load(Ordering::SeqCst));
    let error = block_on(under_way).unwrap_err();
    assert_eq!(error.wire_type().as_str(), "CancelledError");
}

#[test]
fn dropping_a_call_drops_its_tool() {
    let drops = Drops::default();
    let registry = build(with_tools(tools![wait_for_ever]).state(drops.clone()));
    let tool_call = ToolCall::new("time.wait_for_ever", json!({}));
    {
        let mut under_way = pin!(registry.call(&tool_call));
        assert!(under_way.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(drops.0.load(Ordering::SeqCst), 0);
    }
    assert_eq!(drops.0.load(Ordering::SeqCst), 1);
}

#[test]
fn c17_the_timeout_is_that_of_the_tool_or_the_registry_or_30_seconds() {
    let left = |registry: &Registry, options: &CallOptions| {
        let result = block_on(registry.call_with(&ToolCall::new("time.seconds_left", json!({})), options));
        result.data.unwrap()["result"].as_f64()
    };
    let is_about = |left: Option<f64>, seconds: f64| left.is_some_and(|left| left <= seconds && left > seconds - 5.0);
    let none = CallOptions::new();
    assert!(is_about(left(&build(with_tools(tools![seconds_left])), &none), 30.0));
    let registry = build(with_tools(tools![seconds_left]).timeout(Duration::from_secs(100)));
    assert!(is_about(left(&registry, &none), 100.0));
    assert!(is_about(left(&registry, &CallOptions::new().timeout(Duration::from_secs(20))), 20.0));
    assert!(is_about(left(&registry, &CallOptions::new().timeout(Duration::from_secs(200))), 100.0));
    assert_eq!(left(&build(with_tools(tools![seconds_left]).no_timeout()), &none), None);
}

#[test]
fn a_tool_created_at_run_time_has_a_deadline_too() {
    let schema = json!({ "type": "object" });
    let tool = Tool::new("made.slow", schema, |_, _| pending::<()>());
    let tool = tool.timeout(Timeout::After(Duration::from_millis(20)));
    let registry = build(with_tools([]).tool(tool));
    assert_eq!(failure(&call(&registry, "made.slow", json!({}))).0, "TimeoutError");
}

#[test]
fn the_longest_timeout_is_no_deadline() {
    let registry = build(with_tools(tools![seconds_left]).timeout(Duration::MAX));
    assert_eq!(call(&registry, "time.seconds_left", json!({})).data.unwrap()["result"], json!(null));
}

#[test]
fn s1_48_many_calls_are_answered_in_order_and_independently() {
    let door = Door::default();
    let registry = build(with_tools(tools![block, quick]).state(door.clone()).concurrency(4));
    let calls: Vec<ToolCall> = (0..20)
        .map(|n| match n % 5 {
            0 => ToolCall::new("time.block", json!({})),
            1 => ToolCall::new("time.nothing", json!({})),
            2 => ToolCall::new("time.quick", json!({ "x": 1 })),
            _ => ToolCall::new("time.quick", json!({})),
        })
        .collect();
    let results = block_on(registry.call_many(&calls));
    let types: Vec<&str> =
        results.iter().map(|result| result.error.as_ref().map_or("", |error| error.error_type.as_str())).collect();
    let five = ["TimeoutError", "ToolNotFoundError", "ValidationError", "", ""];
    assert_eq!(types, five.repeat(4));
    door.open();
    assert!(block_on(registry.call_many(&[])).is_empty());
}

/// Counts the calls that are under way at once, and waits for others.
#[mcp_tool(module = "time")]
async fn crowded(#[ctx] crowd: &Crowd) {
    let now = crowd.0.now.fetch_add(1, Ordering::SeqCst) + 1;
    crowd.0.most.fetch_max(now, Ordering::SeqCst);
    let mut polls = 0;
    std::future::poll_fn(|context| {
        polls += 1;
        context.waker().wake_by_ref();
        if polls < 20 { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    crowd.0.now.fetch_sub(1, Ordering::SeqCst);
}

#[derive(Clone, Default)]
struct Crowd(Arc<Most>);

#[derive(Default)]
struct Most {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[test]
fn no_more_calls_are_made_at_once_than_the_builder_allows() {
    for concurrency in [1, 3] {
        let crowd = Crowd::default();
        let registry = build(with_tools(tools![crowded]).state(crowd.clone()).concurrency(concurrency));
        let results = block_on(registry.call_many(&vec![ToolCall::new("time.crowded", json!({})); 20]));
        assert!(results.len() == 20 && results.iter().all(|result| !result.is_failure()));
        assert_eq!(crowd.0.most.load(Ordering::SeqCst), concurrency);
    }
}
