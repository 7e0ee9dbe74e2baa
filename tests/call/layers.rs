//! Layers around a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_registry::layer::{Layer, Next};
use mcp_registry::registry::OutputCheck;
use mcp_registry::{
    CallOptions, CancelToken, Error, ErrorType, ToolCall, ToolContext, ToolError, ToolResult, mcp_tool, tools,
};
use serde_json::json;

use crate::{block_on, build, call, failure, with_tools};

/// Doubles a number.
#[mcp_tool(module = "layers", inline)]
fn double(#[arg(max = 1000)] n: i64) -> i64 {
    2 * n
}

/// Returns the caller that the layers have set.
#[mcp_tool(module = "layers")]
async fn whoami(#[ctx] cx: &ToolContext) -> String {
    cx.extensions().get::<&str>().copied().unwrap_or("nobody").to_owned()
}

/// Notes each call and each result.
struct Noting(&'static str, Arc<Mutex<Vec<String>>>);

impl Layer for Noting {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        self.1.lock().unwrap().push(format!("{} in {} {}", self.0, call.tool_name, call.arguments));
        let result = next.run(call, cx).await;
        self.1.lock().unwrap().push(format!("{} out", self.0));
        result
    }
}

#[test]
fn layers_wrap_the_call_in_order() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let registry = build(
        with_tools(tools![double])
            .layer(Noting("first", Arc::clone(&notes)))
            .layer(Noting("second", Arc::clone(&notes))),
    );
    assert_eq!(call(&registry, "layers_double", json!({ "n": 2 })).data.unwrap()["result"], 4);
    let seen = std::mem::take(&mut *notes.lock().unwrap());
    assert_eq!(
        seen,
        [r#"first in layers.double {"n":2}"#, r#"second in layers.double {"n":2}"#, "second out", "first out"]
    );
    let refused = call(&registry, "layers.double", json!({ "n": "two" }));
    assert_eq!(failure(&refused).0, "ValidationError");
    assert!(notes.lock().unwrap().is_empty(), "arguments are checked before a layer is asked");
    let mut out = Vec::new();
    registry.call_bytes_blocking("layers.double", br#"{"n":3}"#, &CallOptions::new(), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), call(&registry, "layers.double", json!({ "n": 3 })).to_json());
}

/// Answers in place of the tool.
struct Mock;

impl Layer for Mock {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        match call.arguments["n"].as_i64() {
            Some(0) => Ok(ToolResult::data(json!({ "result": 99 })).meta("mocked", true)),
            Some(1) => Err(ToolError::new(ErrorType::API_LIMIT_EXCEEDED, "no more today").into()),
            Some(2) => next.run(&ToolCall::new("elsewhere", json!({ "n": 500 })), cx).await,
            Some(3) => next.run(&ToolCall::new("layers.double", json!({ "n": 5000 })), cx).await,
            Some(4) => panic!("the mock is broken"),
            Some(5) => Ok(ToolResult::data(json!({ "result": "no number" }))),
            _ => next.run(call, &cx.clone().with_extension("ada")).await,
        }
    }
}

#[test]
fn a_layer_can_answer_change_and_refuse_a_call() {
    let registry = build(with_tools(tools![double, whoami]).layer(Mock).check_output(OutputCheck::Always));
    let double = |n: i64| call(&registry, "layers.double", json!({ "n": n }));
    assert_eq!((double(0).data.unwrap(), double(0).meta["mocked"].clone()), (json!({ "result": 99 }), json!(true)));
    assert_eq!(failure(&double(1)), ("ApiLimitExceeded", "no more today"));
    assert_eq!(double(2).data.unwrap()["result"], 1000);
    assert_eq!(failure(&double(3)).0, "ValidationError", "what a layer makes up is checked too");
    assert!(failure(&double(4)).1.contains("the mock is broken"));
    assert!(failure(&double(5)).1.contains("output schema"), "also what a layer answers keeps to the schema");
    assert_eq!(double(6).data.unwrap()["result"], 12);
    assert_eq!(call(&registry, "layers.whoami", json!({})).data.unwrap()["result"], "ada");
}

/// Retries a failed call.
struct Retry;

impl Layer for Retry {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        match next.run(call, cx).await {
            Err(_) => next.run(call, cx).await,
            done => done,
        }
    }
}

/// Fails the first time.
#[mcp_tool(module = "layers")]
fn fail_once(#[ctx] tries: &Tries) -> Result<usize, ToolError> {
    let before = tries.0.fetch_add(1, Ordering::SeqCst);
    if before == 0 { Err(ToolError::new("OutOfStock", "try again")) } else { Ok(before + 1) }
}

#[derive(Default)]
struct Tries(AtomicUsize);

struct SharedTries(Arc<Tries>);

#[test]
fn a_layer_can_retry_a_call() {
    let registry = build(with_tools(tools![fail_once]).state(Tries::default()).layer(Retry));
    assert_eq!(call(&registry, "layers.fail_once", json!({})).data.unwrap()["result"], 2);
}

/// Lets this many calls through.
struct Quota(AtomicUsize);

impl Layer for Quota {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(ToolError::new(ErrorType::API_LIMIT_EXCEEDED, "the quota is used up").into());
        }
        next.run(call, cx).await
    }
}

#[test]
fn a_layer_can_limit_the_number_of_calls() {
    let registry = build(with_tools(tools![double]).layer(Quota(AtomicUsize::new(2))));
    let calls: Vec<ToolCall> = (0..3).map(|n| ToolCall::new("layers.double", json!({ "n": n }))).collect();
    let results = block_on(registry.call_many(&calls));
    assert_eq!(results.iter().map(ToolResult::is_failure).collect::<Vec<_>>(), [false, false, true]);
}

/// Never ends.
#[mcp_tool(module = "layers", timeout = "100ms")]
async fn never(#[ctx] tries: &SharedTries) {
    tries.0.0.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
}

#[test]
fn a_retry_gets_only_what_is_left_of_the_time_limit() {
    let tries = Arc::new(Tries::default());
    let registry = build(with_tools(tools![never]).state(SharedTries(Arc::clone(&tries))).layer(Retry));
    let result = call(&registry, "layers.never", json!({}));
    let (error_type, message) = failure(&result);
    assert_eq!(error_type, "TimeoutError");
    assert!(message.contains("within 100ms"), "{message}");
    assert_eq!(tries.0.load(Ordering::SeqCst), 1, "there was no time left for the second one");
}

/// Waits before it makes the call.
struct Waits;

impl Layer for Waits {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        std::thread::sleep(std::time::Duration::from_millis(200));
        next.run(call, cx).await
    }
}

/// Is quick.
#[mcp_tool(module = "layers", timeout = "100ms")]
async fn quick() -> u8 {
    7
}

#[test]
fn the_time_of_a_layer_does_not_count_towards_the_limit() {
    let registry = build(with_tools(tools![quick]).layer(Waits));
    assert_eq!(call(&registry, "layers.quick", json!({})).data.unwrap()["result"], 7);
}

/// Retries a failed call nine times.
struct RetryOften;

impl Layer for RetryOften {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        for _ in 0..9 {
            match next.run(call, cx).await {
                Err(Error::Tool(_)) => {}
                done => return done,
            }
        }
        next.run(call, cx).await
    }
}

/// Fails after a tenth of a second.
#[mcp_tool(module = "layers", timeout = "400ms")]
fn fail_slowly() -> Result<(), ToolError> {
    std::thread::sleep(std::time::Duration::from_millis(100));
    Err(ToolError::new("OutOfStock", "try again"))
}

#[test]
fn the_times_of_all_retries_add_up() {
    let registry = build(with_tools(tools![fail_slowly]).layer(RetryOften));
    assert_eq!(failure(&call(&registry, "layers.fail_slowly", json!({}))).0, "TimeoutError");
}

/// Passes a context with a token of its own on.
struct OwnToken(CancelToken);

impl Layer for OwnToken {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        next.run(call, &cx.clone().with_cancel(self.0.clone())).await
    }
}

#[test]
fn a_layer_can_cancel_the_tool_with_a_token_of_its_own() {
    let token = CancelToken::new();
    let registry = build(with_tools(tools![quick]).layer(OwnToken(token.clone())));
    assert!(!call(&registry, "layers.quick", json!({})).is_failure());
    token.cancel();
    assert_eq!(failure(&call(&registry, "layers.quick", json!({}))).0, "CancelledError");
}

/// Greets those whose names are short. Only the schema says so.
#[mcp_tool(module = "layers")]
fn greet(#[arg(pattern = "^.{1,3}$")] name: String) -> String {
    format!("Hello, {name}!")
}

/// Makes the name longer.
struct Lengthens;

impl Layer for Lengthens {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        let name = call.arguments["name"].as_str().unwrap();
        next.run(&ToolCall::new("", json!({ "name": format!("{name}a") })), cx).await
    }
}

#[test]
fn what_a_layer_changes_is_checked_against_the_schema() {
    let registry = build(with_tools(tools![greet]).layer(Lengthens));
    let greet = |name: &str| call(&registry, "layers.greet", json!({ "name": name }));
    assert_eq!(greet("Ad").data.unwrap()["result"], "Hello, Ada!");
    let result = greet("Eve");
    assert!(failure(&result).0 == "ValidationError" && failure(&result).1.contains("`/name`"), "{result:?}");
}
