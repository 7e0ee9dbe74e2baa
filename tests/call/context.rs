//! What a tool can read about its call, and what it can report.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_registry::context::ToolEvent;
use mcp_registry::{
    CallOptions, CancelToken, FromContext, LogLevel, ToolCall, ToolContext, ToolError, TrustLevel, mcp_tool, tools,
};
use serde_json::{Value, json};

use crate::{block_on, build, with_tools};

/// Tells what it knows.
#[mcp_tool(module = "context")]
fn know(#[ctx] cx: &ToolContext) -> mcp_registry::Json<Value> {
    mcp_registry::Json(json!({
        "tool": cx.tool_name(),
        "request": cx.request_id(),
        "caller": cx.caller(),
        "meta": cx.meta(),
        "extension": cx.extensions().get::<String>(),
        "trust": cx.trust().as_str(),
        "deadline": cx.deadline().is_some(),
        "cancelled": cx.is_cancelled(),
    }))
}

/// Works in steps.
#[mcp_tool(module = "context")]
async fn steps(#[ctx] cx: ToolContext) -> u32 {
    cx.log(LogLevel::Notice, "let us begin");
    cx.progress(1, 3, "one");
    cx.progress(2.5, 3.0, None);
    let (count, message) = (3_usize, format!("all {}", 3));
    cx.progress(count, None, &message);
    cx.progress(count, None, message);
    3
}

/// Goes on after its time.
#[mcp_tool(module = "context", timeout = "20ms")]
fn tells_too_late(#[ctx] cx: &ToolContext) {
    cx.progress(1, None, "in time");
    while !cx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
    cx.progress(2, None, "too late");
    cx.extensions().get::<Arc<std::sync::Barrier>>().unwrap().wait();
}

/// The caller.
struct User(String);

impl FromContext for User {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        let name = cx.extensions().get::<String>().cloned();
        name.map(User).ok_or_else(|| ToolError::new("AuthenticationError", "log in first"))
    }
}

/// Greets the caller.
#[mcp_tool(module = "context")]
fn greet(#[ctx] user: User) -> String {
    format!("hello, {}", user.0)
}

/// A sink, and the events that it received.
fn recorded() -> (Arc<Mutex<Vec<ToolEvent>>>, impl Fn(ToolEvent) + Send + Sync + 'static) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let of_sink = Arc::clone(&events);
    (events, move |event| of_sink.lock().unwrap().push(event))
}

#[test]
fn a_tool_can_read_everything_that_came_with_the_call() {
    let registry = build(with_tools(tools![know, greet]));
    let meta = json!({ "traceparent": "00-1-2-01" });
    let options = CallOptions::new()
        .request_id("7")
        .caller("ada")
        .meta(meta.as_object().unwrap().clone())
        .extension("an extension".to_owned())
        .trust(TrustLevel::Trusted)
        .cancel(CancelToken::new());
    let known = block_on(registry.call_with(&ToolCall::new("context_know", json!({})), &options)).data.unwrap();
    assert_eq!(
        known,
        json!({
            "tool": "context.know",
            "request": "7",
            "caller": "ada",
            "meta": meta,
            "extension": "an extension",
            "trust": "trusted",
            "deadline": true,
            "cancelled": false,
        })
    );
    let bare = block_on(registry.call(&ToolCall::new("context.know", json!({})))).data.unwrap();
    assert_eq!((&bare["request"], &bare["meta"], &bare["trust"]), (&json!(null), &json!({}), &json!("verified")));
    let greeted = block_on(registry.call_with(&ToolCall::new("context.greet", json!({})), &options));
    assert_eq!(greeted.data.unwrap()["result"], "hello, an extension");
    let unknown = block_on(registry.call(&ToolCall::new("context.greet", json!({}))));
    assert_eq!(unknown.error.unwrap().error_type, "AuthenticationError");
}

#[test]
fn progress_and_log_messages_reach_the_caller() {
    let registry = build(with_tools(tools![steps]));
    let (events, sink) = recorded();
    let result =
        block_on(registry.call_with(&ToolCall::new("context.steps", json!({})), &CallOptions::new().on_event(sink)));
    assert_eq!(result.data.unwrap()["result"], 3);
    let progress = |done, total, message: Option<&str>| ToolEvent::Progress {
        done,
        total,
        message: message.map(ToOwned::to_owned),
    };
    assert_eq!(
        *events.lock().unwrap(),
        [
            ToolEvent::Log { level: LogLevel::Notice, message: "let us begin".into() },
            progress(1.0, Some(3.0), Some("one")),
            progress(2.5, Some(3.0), None),
            progress(3.0, None, Some("all 3")),
            progress(3.0, None, Some("all 3")),
        ]
    );
    assert!(!block_on(registry.call(&ToolCall::new("context.steps", json!({})))).is_failure(), "nobody need listen");
}

#[test]
fn no_event_is_delivered_after_the_deadline() {
    let registry = build(with_tools(tools![tells_too_late]));
    let (events, sink) = recorded();
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let options = CallOptions::new().on_event(sink).extension(Arc::clone(&barrier));
    let result = block_on(registry.call_with(&ToolCall::new("context.tells_too_late", json!({})), &options));
    assert!(result.is_failure());
    barrier.wait();
    assert_eq!(events.lock().unwrap().len(), 1);
}

/// Leaves a thread behind that reports progress.
#[mcp_tool(module = "context")]
async fn leaves_behind(#[ctx] cx: ToolContext, panics: bool) {
    std::thread::spawn(move || {
        // Without a limit: the thread ends only if it is woken.
        mcp_core::support::block_on(cx.cancelled());
        cx.progress(1, 1, "too late");
    });
    assert!(!panics, "on purpose");
}

#[test]
fn no_event_is_delivered_after_the_tool_has_returned_or_panicked() {
    let (events, sink) = recorded();
    let registry = build(with_tools(tools![leaves_behind]));
    let options = CallOptions::new().on_event(sink);
    // The first call is polled by its waiter; later ones, once the tool was quick, where they begin.
    for panics in [false, true] {
        for _ in 0..20 {
            let call = ToolCall::new("context.leaves_behind", json!({ "panics": panics }));
            assert_eq!(block_on(registry.call_with(&call, &options)).is_failure(), panics);
        }
    }
    drop(options);
    // The end of each call wakes its thread, which drops its sink.
    support::wait_until_blocking("the threads that were left behind end", || Arc::strong_count(&events) == 1);
    assert!(events.lock().unwrap().is_empty());
}

#[test]
fn a_context_can_be_built_by_hand_to_test_a_function() {
    let (events, sink) = recorded();
    let cx = ToolContext::for_test().with_request_id("1").with_trust(TrustLevel::Untrusted).with_events(sink);
    assert_eq!(block_on(steps(cx.clone())), 3);
    assert_eq!(events.lock().unwrap().len(), 5);
    assert!(!cx.is_cancelled());
    let token = CancelToken::new();
    let cx = cx.with_cancel(token.clone());
    token.cancel();
    assert!(cx.is_cancelled());
    block_on(cx.cancelled());
    let past = ToolContext::for_test().with_deadline(Some(std::time::Instant::now()));
    assert!(past.is_cancelled());
}

#[test]
fn contexts_and_futures_of_calls_can_be_sent_to_other_threads() {
    fn goes_anywhere<T: Clone + Send + Sync + 'static>() {}
    fn is_send<T: Send>(_: T) {}
    goes_anywhere::<ToolContext>();
    let registry = build(with_tools(tools![know]));
    is_send(registry.call(&ToolCall::new("x", json!({}))));
    is_send(registry.call_many(&[]));
    is_send(registry.call_bytes("x", b"{}", &CallOptions::new(), &mut Vec::new()));
}

#[test]
fn log_levels_are_parsed_by_name() {
    for level in LogLevel::ALL {
        assert_eq!(LogLevel::from_name(&level.to_string()), Some(level));
        assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
    }
    assert!(LogLevel::Debug < LogLevel::Emergency && LogLevel::from_name("loud").is_none());
    for level in [TrustLevel::Untrusted, TrustLevel::Verified, TrustLevel::Trusted] {
        assert_eq!(TrustLevel::from_name(level.as_str()), Some(level));
    }
}
