//! An inline call runs on the caller's thread, and still passes gates, limits, layers and observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::registry::OutputCheck;
use mcp_registry::{Error, RateLimit, Registry, RegistryBuilder, Server, ToolCall, ToolContext, ToolResult, tools};

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
