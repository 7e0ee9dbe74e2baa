//! Who may call what, and how often.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::observe::{CallOutcome, CallRecord, Observer};
use mcp_registry::{
    AuditLog, CallOptions, CancelToken, Error, RateLimit, Registry, ToolCall, ToolContext, ToolResult, TrustLevel,
    mcp_tool, tools,
};
use serde_json::json;
use support::wait_until_blocking;

use crate::{block_on, build, call, failure, try_call, with_tools};

/// Deletes everything.
#[mcp_tool(module = "files", destructive)]
fn delete() -> bool {
    true
}

/// Deletes a little.
#[mcp_tool(module = "files", destructive, inline)]
fn delete_inline() -> bool {
    true
}

/// Reads.
#[mcp_tool(module = "files", read_only, tags("safe"))]
fn read(path: &str) -> String {
    path.to_owned()
}

#[test]
fn s3_46_destructive_tools_are_refused_unless_trusted() {
    for level in [TrustLevel::Untrusted, TrustLevel::Verified] {
        let registry = build(with_tools(tools![delete, delete_inline, read]).trust(level));
        for name in ["files.delete", "files.delete_inline"] {
            let error = try_call(&registry, name, json!({})).unwrap_err();
            let Error::Tool(error) = error else { panic!("{error}") };
            assert_eq!(error.error_type(), "PermissionError");
            assert!(error.message().ends_with("ask the operator of the server to allow it"), "{error}");
            let way = format!(".trust_tool(\"{name}\", TrustLevel::Trusted)");
            assert!(std::error::Error::source(&error).unwrap().to_string().contains(&way), "{error:?}");
            let mut out = Vec::new();
            assert!(registry.call_bytes_blocking(name, b"{}", &CallOptions::new(), &mut out).is_err());
        }
        assert!(!call(&registry, "files.read", json!({ "path": "a" })).is_failure());
    }
    let trusted = build(with_tools(tools![delete, read]).trust(TrustLevel::Trusted));
    assert!(!call(&trusted, "files.delete", json!({})).is_failure());
}

#[test]
fn c30_trust_is_given_to_one_tool_or_to_one_request() {
    let registry = build(with_tools(tools![delete, delete_inline]).trust_tool("files_delete", TrustLevel::Trusted));
    assert!(!call(&registry, "files.delete", json!({})).is_failure());
    assert!(call(&registry, "files.delete_inline", json!({})).is_failure());
    let with = |trust| {
        let options = CallOptions::new().trust(trust);
        block_on(registry.call_with(&ToolCall::new("files.delete_inline", json!({})), &options)).is_failure()
    };
    assert!(!with(TrustLevel::Trusted));
    assert!(with(TrustLevel::Untrusted));
}

/// Calls on.
struct Passes;

impl Layer for Passes {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        next.run(call, cx).await
    }
}

/// Deletes what it is told to.
#[mcp_tool(module = "files", destructive)]
fn delete_all(paths: Vec<String>) -> usize {
    paths.len()
}

#[test]
fn a_destructive_call_that_has_to_wait_is_refused_unless_trusted() {
    let called = |registry: &Registry, count: usize| {
        let paths = vec!["/tmp/file"; count];
        try_call(registry, "files.delete_all", json!({ "paths": paths }))
    };
    for has_layer in [false, true] {
        let with = |level| {
            let builder = with_tools(tools![delete_all]).trust(level);
            build(if has_layer { builder.layer(Passes) } else { builder })
        };
        // The many paths are read on the pool.
        for count in [1, 10_000] {
            for level in [TrustLevel::Untrusted, TrustLevel::Verified] {
                let error = called(&with(level), count).expect_err("it is not trusted");
                assert_eq!(error.wire_type().as_str(), "PermissionError", "{has_layer} {count}: {error}");
            }
            let result = called(&with(TrustLevel::Trusted), count).unwrap();
            assert_eq!(result.data.unwrap()["result"], count, "{has_layer}");
        }
    }
}

#[test]
fn the_trust_of_a_request_counts_before_that_of_the_tool_and_that_of_the_tool_before_the_rest() {
    use TrustLevel::{Trusted, Untrusted, Verified};

    for (registry, tool, request, is_allowed) in [
        (Trusted, None, None, true),
        (Trusted, Some(Verified), None, false),
        (Trusted, Some(Verified), Some(Trusted), true),
        (Trusted, None, Some(Verified), false),
        (Verified, Some(Trusted), None, true),
        (Verified, Some(Trusted), Some(Untrusted), false),
        (Verified, Some(Untrusted), Some(Trusted), true),
        (Untrusted, None, Some(Trusted), true),
    ] {
        let mut builder = with_tools(tools![delete]).trust(registry);
        if let Some(level) = tool {
            builder = builder.trust_tool("files.delete", level);
        }
        let options = request.map_or_else(CallOptions::new, |level| CallOptions::new().trust(level));
        let result = block_on(build(builder).call_with(&ToolCall::new("files.delete", json!({})), &options));
        assert_eq!(!result.is_failure(), is_allowed, "{registry:?} {tool:?} {request:?}");
    }
}

#[test]
fn a_tool_has_a_level_and_a_limit_of_its_own() {
    let builder = with_tools(tools![delete]).trust_tool("files.delete", TrustLevel::Trusted);
    let registry = build(builder.rate_limit_tool("files.delete", RateLimit::per_minute(1).burst(1)));
    let called = || call(&registry, "files.delete", json!({}));
    assert!(!called().is_failure());
    assert_eq!(failure(&called()).0, "ApiLimitExceeded");
}

#[test]
fn settings_for_an_unknown_tool_or_set_twice_are_refused_at_build() {
    let error =
        with_tools(tools![delete]).trust_tool("files.delte", TrustLevel::Trusted).build().unwrap_err().to_string();
    assert!(error.contains(".trust_tool(\"files.delte\", …)` matches no tool"), "{error}");
    assert!(error.contains("did you mean `files.delete`") && error.contains("gate.rs:"), "{error}");
    let twice = with_tools(tools![delete])
        .rate_limit_tool("files.delete", RateLimit::per_second(1))
        .rate_limit_tool("files_delete", RateLimit::per_second(2));
    let same = with_tools(tools![delete])
        .trust_tool("files.delete", TrustLevel::Trusted)
        .trust_tool("files.delete", TrustLevel::Untrusted);
    for twice in [twice, same] {
        let error = twice.build().unwrap_err().to_string();
        assert!(error.contains("is set twice for one tool"), "{error}");
    }
}

/// Lets Ada in, and keeps what it was asked.
#[derive(Default)]
struct Door(Mutex<Vec<String>>);

impl Gate for &'static Door {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        std::future::ready(()).await;
        self.0.lock().unwrap().push(format!("{} {}", call.tool.name(), call.arguments));
        assert_ne!(call.cx.caller(), Some("bomb"), "the gate is broken");
        match call.cx.caller() {
            Some("ada") => Decision::Allow,
            _ => Decision::deny("only ada may; ask her"),
        }
    }
}

#[test]
fn a_gate_sees_tool_arguments_and_caller_and_its_refusals_are_audited() {
    let door: &Door = Box::leak(Box::default());
    let audit = AuditLog::new();
    let registry = build(with_tools(tools![delete, read]).gate(door).observer(audit.clone()));
    let ask = |name: &str, arguments, caller: &str| {
        block_on(registry.call_with(&ToolCall::new(name, arguments), &CallOptions::new().caller(caller)))
    };
    assert!(!ask("files.read", json!({ "path": "a" }), "ada").is_failure());
    let refused = ask("files.read", json!({ "path": "b" }), "bob");
    let (error_type, message) = failure(&refused);
    assert_eq!((error_type, message), ("PermissionError", "`files.read` may not be called: only ada may; ask her"));
    assert_eq!(failure(&ask("files.delete", json!({}), "ada")).0, "PermissionError", "the level is asked first");
    // A gate that panics lets nobody in, and the tool is not blamed for it.
    let broken = ask("files.read", json!({ "path": "c" }), "bomb");
    let (error_type, message) = failure(&broken);
    assert_eq!(error_type, "PermissionError");
    assert!(message.contains("the gate panicked") && !message.contains("mistake in the tool"), "{message}");
    assert_eq!(
        *door.0.lock().unwrap(),
        [r#"files.read {"path":"a"}"#, r#"files.read {"path":"b"}"#, r#"files.read {"path":"c"}"#]
    );
    let outcomes: Vec<CallOutcome> = audit.records().iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [CallOutcome::Success, CallOutcome::Denied, CallOutcome::Denied, CallOutcome::Denied]);
    let mut out = Vec::new();
    let options = CallOptions::new().caller("bob");
    assert!(registry.call_bytes_blocking("files.read", br#"{"path":"d"}"#, &options, &mut out).is_err());
}

/// Lets everyone in, and counts how often it is asked.
#[derive(Clone, Default)]
struct OpenDoor(Arc<AtomicUsize>);

impl Gate for OpenDoor {
    async fn check(&self, _: &GateCall<'_>) -> Decision {
        self.0.fetch_add(1, Ordering::SeqCst);
        Decision::Allow
    }
}

#[test]
fn the_level_is_asked_first_whatever_a_gate_allows() {
    for is_layered in [false, true] {
        for (trust, is_allowed) in
            [(TrustLevel::Untrusted, false), (TrustLevel::Verified, false), (TrustLevel::Trusted, true)]
        {
            let (door, audit) = (OpenDoor::default(), AuditLog::new());
            let builder = with_tools(tools![delete, delete_inline]).gate(door.clone()).observer(audit.clone());
            let builder = if is_layered { builder.layer(Passes) } else { builder };
            let registry = build(builder.trust(trust));
            for name in ["files.delete", "files.delete_inline"] {
                let result = call(&registry, name, json!({}));
                assert_eq!(result.is_failure(), !is_allowed, "{name} {trust:?}");
            }
            assert_eq!(door.0.load(Ordering::SeqCst), if is_allowed { 2 } else { 0 });
            let expected = if is_allowed { CallOutcome::Success } else { CallOutcome::Denied };
            assert!(audit.records().iter().all(|record| record.outcome == expected) && audit.records().len() == 2);
        }
    }
}

/// Panics before it returns its future.
struct Broken;

impl Gate for Broken {
    fn check(&self, _: &GateCall<'_>) -> impl Future<Output = Decision> + Send {
        assert!(Self::is_fine(), "the gate is broken");
        std::future::ready(Decision::Allow)
    }
}

impl Layer for Broken {
    fn call(
        &self,
        _: &ToolCall,
        _: &ToolContext,
        _: Next<'_>,
    ) -> impl Future<Output = Result<ToolResult, Error>> + Send {
        assert!(Self::is_fine(), "the layer is broken");
        std::future::ready(Ok(ToolResult::success()))
    }
}

impl Broken {
    fn is_fine() -> bool {
        std::env::var_os("NEVER_SET").is_some()
    }
}

#[test]
fn a_gate_or_layer_that_panics_before_it_returns_its_future_fails_only_that_call() {
    for is_gate in [true, false] {
        let audit = AuditLog::new();
        let builder = with_tools(tools![read]).observer(audit.clone());
        let registry = build(if is_gate { builder.gate(Broken) } else { builder.layer(Passes).layer(Broken) });
        let (error_type, outcome) = if is_gate {
            ("PermissionError", CallOutcome::Denied)
        } else {
            ("ToolExecutionError", CallOutcome::Failure)
        };
        for _ in 0..2 {
            let result = call(&registry, "files.read", json!({ "path": "a" }));
            assert_eq!(failure(&result).0, error_type);
            assert!(failure(&result).1.contains("is broken"));
        }
        let outcomes: Vec<CallOutcome> = audit.records().iter().map(|record| record.outcome).collect();
        assert_eq!(outcomes, [outcome, outcome]);
    }
}

#[test]
fn what_a_gate_says_when_it_panics_is_masked() {
    let audit = Told::default();
    let registry = build(with_tools(tools![read]).gate(Broken).mask_errors(true).observer(audit.clone()));
    let result = call(&registry, "files.read", json!({ "path": "a" }));
    let (error_type, message) = failure(&result);
    assert!(error_type == "PermissionError" && !result.to_json().contains("broken"), "{message}");
    let messages = audit.0.lock().unwrap();
    assert!(messages.len() == 1 && messages[0].contains("the gate is broken"), "{messages:?}");
}

#[test]
fn only_a_refusal_for_the_level_says_how_to_raise_it() {
    let told = Told::default();
    let door: &Door = Box::leak(Box::default());
    let registry = build(with_tools(tools![delete, read]).gate(door).observer(told.clone()));
    for (name, is_level) in [("files.read", false), ("files.delete", true)] {
        let error = try_call(&registry, name, json!({ "path": "a" })).unwrap_err();
        let Error::Tool(error) = error else { panic!("{error}") };
        assert_eq!(std::error::Error::source(&error).is_some(), is_level, "{error:?}");
        let message = told.0.lock().unwrap().remove(0);
        assert_eq!(message.contains("trust_tool"), is_level, "{message}");
    }
}

/// Keeps the messages of errors.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Observer for Told {
    fn observe(&self, record: &CallRecord<'_>) {
        self.0.lock().unwrap().push(record.message.unwrap_or_default().to_owned());
    }
}

/// Waits until the call is cancelled.
struct Patient;

impl Gate for Patient {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        call.cx.cancelled().await;
        Decision::Allow
    }
}

#[test]
fn cancelled_and_malformed_calls_are_not_recorded_as_denied() {
    let audit = AuditLog::new();
    let registry = build(with_tools(tools![read]).gate(Patient).observer(audit.clone()));
    let cancel = CancelToken::new();
    let options = CallOptions::new().cancel(cancel.clone());
    let call = ToolCall::new("files.read", json!({ "path": "a" }));
    std::thread::scope(|scope| {
        scope.spawn(|| block_on(registry.call_with(&call, &options)));
        std::thread::sleep(Duration::from_millis(30));
        cancel.cancel();
    });
    assert!(registry.call_bytes_blocking("files.read", b"{no json", &CallOptions::new(), &mut Vec::new()).is_err());
    let outcomes: Vec<CallOutcome> = audit.records().iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [CallOutcome::Cancelled, CallOutcome::Failure]);
}

/// Never decides.
struct Undecided;

impl Gate for Undecided {
    async fn check(&self, _: &GateCall<'_>) -> Decision {
        std::future::pending().await
    }
}

#[test]
fn a_call_can_be_cancelled_while_its_gate_decides() {
    let registry = build(with_tools(tools![read]).gate(Undecided));
    let cancel = CancelToken::new();
    let options = CallOptions::new().cancel(cancel.clone());
    let call = ToolCall::new("files.read", json!({ "path": "a" }));
    std::thread::scope(|scope| {
        let called = scope.spawn(|| block_on(registry.call_with(&call, &options)));
        std::thread::sleep(Duration::from_millis(30));
        cancel.cancel();
        assert_eq!(failure(&called.join().unwrap()).0, "CancelledError");
    });
}

#[test]
fn refused_and_cancelled_calls_count_as_errors() {
    let registry = build(with_tools(tools![delete, read]));
    let token = CancelToken::new();
    token.cancel();
    let options = CallOptions::new().cancel(token);
    assert!(call(&registry, "files.delete", json!({})).is_failure());
    let cancelled = ToolCall::new("files.read", json!({ "path": "a" }));
    assert!(block_on(registry.call_with(&cancelled, &options)).is_failure());
    for name in ["files.delete", "files.read"] {
        let metrics = registry.metrics();
        let tool = metrics.get(name).unwrap();
        assert_eq!((tool.calls, tool.errors), (1, 1), "{name}");
    }
}

/// Keeps the debug output of what it sees.
struct Talks(&'static Mutex<String>);

impl Gate for Talks {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        *self.0.lock().unwrap() = format!("{call:?}");
        Decision::Allow
    }
}

#[test]
fn the_debug_output_of_a_gate_call_has_no_arguments() {
    let said: &Mutex<String> = Box::leak(Box::default());
    let registry = build(with_tools(tools![read]).gate(Talks(said)));
    assert!(!call(&registry, "files.read", json!({ "path": "hunter2" })).is_failure());
    let said = said.lock().unwrap();
    assert!(said.contains("files.read") && !said.contains("hunter2"), "{said}");
}

#[test]
fn s1_62_calls_are_limited_per_tool_and_altogether() {
    let registry =
        build(with_tools(tools![delete, read]).rate_limit_tool("files.read", RateLimit::per_minute(1).burst(2)));
    let read = || call(&registry, "files.read", json!({ "path": "a" }));
    assert!(!read().is_failure() && !read().is_failure());
    let third = read();
    let (error_type, message) = failure(&third);
    assert_eq!(error_type, "ApiLimitExceeded");
    assert!(message.contains("files.read") && message.contains("try again in"), "{message}");
    let details = serde_json::to_value(third.error.unwrap()).unwrap();
    assert!(details["error_details"]["retry_after_seconds"].as_f64().unwrap() > 1.0, "{details}");
    assert_eq!(failure(&call(&registry, "files.delete", json!({}))).0, "PermissionError", "others are not limited");

    let all = build(with_tools(tools![read_only_one, read_only_two]).rate_limit(RateLimit::per_minute(1).burst(3)));
    let names = ["limited.read_only_one", "limited.read_only_two"];
    let failures = (0..6).filter(|n| call(&all, names[n % 2], json!({})).is_failure()).count();
    assert_eq!(failures, 3);
}

#[test]
fn a_call_that_the_common_limit_refuses_does_not_count_towards_the_limit_of_its_tool() {
    let registry = build(
        with_tools(tools![read_only_one])
            .rate_limit(RateLimit::per_minute(60).burst(1))
            .rate_limit_tool("limited.read_only_one", RateLimit::per_minute(1).burst(2)),
    );
    let call = || call(&registry, "limited.read_only_one", json!({}));
    assert!(!call().is_failure());
    let mut refused = 0;
    wait_until_blocking("the common limit lets the second call through", || {
        let result = call();
        if result.is_failure() {
            let message = failure(&result).1;
            assert!(message.contains("common limit"), "{message}");
            refused += 1;
        }
        !result.is_failure()
    });
    assert!(refused > 2, "{refused}");
    let third = call();
    assert!(failure(&third).1.starts_with("`limited.read_only_one` is called more often"), "{}", failure(&third).1);
}

#[test]
fn a_call_that_has_to_wait_counts_towards_the_limits() {
    struct Open;

    impl Gate for Open {
        async fn check(&self, _: &GateCall<'_>) -> Decision {
            Decision::Allow
        }
    }

    let limit = RateLimit::per_minute(1).burst(1);
    let builder = || with_tools(tools![read]);
    for builder in [
        builder().gate(Open).rate_limit(limit),
        builder().gate(Open).rate_limit_tool("files.read", limit),
        builder().layer(Passes).rate_limit(limit),
        builder().layer(Passes).rate_limit_tool("files.read", limit),
    ] {
        let registry = build(builder);
        let called = || call(&registry, "files.read", json!({ "path": "a" }));
        assert!(!called().is_failure());
        assert_eq!(failure(&called()).0, "ApiLimitExceeded");
    }
    // Large arguments are read on the pool.
    let registry = build(with_tools(tools![read]).rate_limit(limit));
    let called = || call(&registry, "files.read", json!({ "path": "a".repeat(100_000) }));
    assert!(!called().is_failure());
    assert_eq!(failure(&called()).0, "ApiLimitExceeded");
}

#[test]
fn a_call_that_the_gate_denies_does_not_count_towards_the_limits() {
    let limit = RateLimit::per_minute(1).burst(1);
    let builder = || with_tools(tools![read]).gate(Box::leak::<'static>(Box::<Door>::default()) as &'static Door);
    for builder in [builder().rate_limit(limit), builder().rate_limit_tool("files.read", limit)] {
        let registry = build(builder);
        let ask = |caller: &str| {
            let call = ToolCall::new("files.read", json!({ "path": "a" }));
            block_on(registry.call_with(&call, &CallOptions::new().caller(caller)))
        };
        for _ in 0..3 {
            assert_eq!(failure(&ask("bob")).0, "PermissionError");
        }
        assert!(!ask("ada").is_failure());
        assert_eq!(failure(&ask("ada")).0, "ApiLimitExceeded");
        assert_eq!(failure(&ask("bob")).0, "PermissionError", "the gate is asked first");
    }
}

#[test]
fn c28_there_is_no_limit_unless_one_is_set() {
    let registry = build(with_tools(tools![read_only_one]));
    let calls: Vec<ToolCall> = (0..1000).map(|_| ToolCall::new("limited.read_only_one", json!({}))).collect();
    assert!(block_on(registry.call_many(&calls)).iter().all(|result| !result.is_failure()));
}

/// Limited.
#[mcp_tool(module = "limited", inline)]
fn read_only_one() {}

/// Limited too.
#[mcp_tool(module = "limited", inline)]
fn read_only_two() {}
