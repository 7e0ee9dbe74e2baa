//! The bounds of calls, and the record of calls that are refused.

use std::sync::{Arc, Mutex};

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::rmcp::{Handler, Tools};
use mcp_registry::{CallOptions, Registry, mcp_tool, tools};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, ClientRequest, ErrorCode, ErrorData, JsonObject,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle};
use rmcp::{RoleClient, RoleServer, ServerHandler, ServiceError};
use serde_json::{Value, json};
use support::{LONG, wait_until};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{Around, Connected, Own, VERSIONS, builder, connect, params};

/// Lets calls end.
type Gate = Arc<Semaphore>;

/// Waits until it may end.
#[mcp_tool(module = "t", timeout = "50s")]
async fn hold(#[ctx] gate: &Gate) {
    gate.acquire().await.unwrap().forget();
}

/// The name and the error type of each call that ended.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(String, String)>>>);

impl Observer for Log {
    fn observe(&self, record: &CallRecord<'_>) {
        let ended = (record.called_as.to_owned(), record.error_type.unwrap_or("none").to_owned());
        self.0.lock().unwrap().push(ended);
    }
}

impl Log {
    /// The error types since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(|(_, error_type)| error_type).collect()
    }
}

/// A registry with that tool, its gate and a log.
fn holding() -> (Registry, Gate, Log) {
    let (gate, log) = (Arc::new(Semaphore::new(0)), Log::default());
    let registry = Registry::builder_of(tools![hold, super::add]).state(Arc::clone(&gate)).observer(log.clone());
    (registry.build().unwrap(), gate, log)
}

/// Connections to each kind of server of these tools.
async fn connections(tools: &Tools, version: ProtocolVersion) -> [Connected; 2] {
    [connect(Handler::new(tools.clone()), version).await, connect(Own::with(tools.clone()), version).await]
}

impl Connected {
    async fn start(&self, tool: &'static str, meta: RequestMetaObject) -> RequestHandle<RoleClient> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params(tool, &json!({}))));
        let options = PeerRequestOptions::no_options().with_meta(meta);
        timeout(LONG, self.client.send_cancellable_request(request, options)).await.unwrap().unwrap()
    }
}

async fn answer(started: RequestHandle<RoleClient>) -> Result<Value, ServiceError> {
    let answer: ServerResult = timeout(LONG, started.await_response()).await.unwrap()?;
    Ok(json!(answer))
}

#[tokio::test]
async fn calls_beyond_the_limit_of_a_connection_are_refused_and_recorded() {
    for version in VERSIONS {
        let (registry, gate, log) = holding();
        let tools = Tools::new(&registry).max_in_flight(3);
        let handler = Handler::new(tools.clone());
        let other = connect(handler.clone(), version).await;
        for connected in [connect(handler, version).await, connect(Own::with(tools), version).await] {
            let mut held = Vec::new();
            for _ in 0..3 {
                held.push(connected.start("t_hold", RequestMetaObject::new()).await);
            }
            let refused = connected.call("t_add", json!({ "a": 1 })).await.unwrap();
            assert_eq!(refused.is_error, Some(true));
            let said = &refused.content[0].as_text().unwrap().text;
            assert!(said.contains("ApiLimitExceeded: 3 calls of this connection are in flight"), "{said}");
            assert_eq!(log.take(), ["ApiLimitExceeded"], "{version}");
            let accepted = other.call("t_add", json!({ "a": 1 })).await.unwrap();
            assert_eq!(accepted.is_error, Some(false), "another connection has its own limit");

            gate.add_permits(3);
            for held in held {
                assert_eq!(answer(held).await.unwrap()["isError"], false);
            }
            let accepted = connected.call("t_add", json!({ "a": 1 })).await.unwrap();
            assert_eq!(accepted.is_error, Some(false), "there is room again");
            log.take();
        }
    }
}

#[tokio::test]
async fn connections_that_share_a_handler_or_a_router_share_its_limit() {
    let version = ProtocolVersion::V2025_11_25;
    let (registry, gate, _) = holding();
    let tools = Tools::new(&registry).max_in_flight(1);
    let handler = Arc::new(Handler::new(tools.clone()));
    let router = Own::with(tools).tools;
    let handlers = [connect(Arc::clone(&handler), version).await, connect(handler, version).await];
    let routers =
        [connect(Own { tools: router.clone() }, version).await, connect(Own { tools: router }, version).await];
    for [first, second] in [handlers, routers] {
        let held = first.start("t_hold", RequestMetaObject::new()).await;
        // By now, the first call has begun.
        assert_eq!(first.call("t_add", json!({ "a": 1 })).await.unwrap().is_error, Some(true));
        assert_eq!(second.call("t_add", json!({ "a": 1 })).await.unwrap().is_error, Some(true));
        gate.add_permits(1);
        assert_eq!(answer(held).await.unwrap()["isError"], false);
        assert_eq!(second.call("t_add", json!({ "a": 1 })).await.unwrap().is_error, Some(false));
    }
}

#[tokio::test]
async fn a_connection_has_1024_calls_in_flight_at_most() {
    let (registry, gate, log) = holding();
    for connected in connections(&Tools::new(&registry), ProtocolVersion::V2025_11_25).await {
        let mut started = Vec::new();
        for _ in 0..1030 {
            started.push(connected.start("t_hold", RequestMetaObject::new()).await);
        }
        wait_until("six calls are refused", || log.0.lock().unwrap().len() == 6).await;
        gate.add_permits(1024);
        let mut refused = 0;
        for started in started {
            refused += usize::from(answer(started).await.unwrap()["isError"] == true);
        }
        assert_eq!(refused, 6);
        assert_eq!(gate.available_permits(), 0);
        log.take();
    }
}

#[tokio::test]
async fn a_meta_of_more_than_64_kib_is_refused_and_recorded() {
    let log = Log::default();
    let tools = Tools::new(builder().observer(log.clone()).build().unwrap());
    for version in VERSIONS {
        for connected in connections(&tools, version).await {
            let meta = |bytes: usize| {
                let mut meta = JsonObject::new();
                meta.insert("baggage".to_owned(), "b".repeat(bytes).into());
                RequestMetaObject::from(meta)
            };
            let accepted = connected.start("t_steps_at_once", meta(60_000)).await;
            assert_eq!(answer(accepted).await.unwrap()["structuredContent"]["result"], 100);
            let refused = connected.start("t_steps_at_once", meta(64 * 1024)).await;
            let Err(ServiceError::McpError(error)) = answer(refused).await else { panic!("it is accepted") };
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.contains("`_meta` has 65") && error.message.contains("65536"), "{error:?}");
            assert_eq!(log.take(), ["none", "ValidationError"]);
        }
    }
}

#[tokio::test]
async fn a_handler_records_calls_of_unknown_tools() {
    let log = Log::default();
    let registry = builder().observer(log.clone()).build().unwrap();
    for version in VERSIONS {
        let connected = connect(Handler::new(&registry), version).await;
        for name in ["t_ad", "no such name", ""] {
            connected.protocol_error(name, json!({})).await;
        }
        let seen = std::mem::take(&mut *log.0.lock().unwrap());
        let seen: Vec<_> = seen.iter().map(|(name, error_type)| (&**name, &**error_type)).collect();
        let expected = [("t_ad", "ToolNotFoundError"), ("no such name", "ValidationError"), ("", "ValidationError")];
        assert_eq!(seen, expected);
    }
}

/// A server that passes calls of names that its router does not have on to a handler.
struct PassingOn {
    own: Own,
    handler: Handler,
}

impl ServerHandler for PassingOn {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.own.tools.has_route(&request.name) {
            return self.own.tools.call(ToolCallContext::new(&self.own, request, context)).await;
        }
        self.handler.call_tool(request, context).await
    }
}

#[tokio::test]
async fn calls_of_unknown_tools_are_recorded_if_a_server_passes_them_on_to_a_handler() {
    let log = Log::default();
    let registry = builder().observer(log.clone()).build().unwrap();
    let server = PassingOn { own: Own::with(&registry), handler: Handler::new(&registry) };
    let connected = connect(server, ProtocolVersion::V2025_11_25).await;
    for name in ["greet", "t_add", "t.plus"] {
        assert_eq!(connected.call(name, json!({ "a": 1 })).await.unwrap().is_error, Some(false), "{name}");
    }
    assert_eq!(log.take(), ["none", "none"]);
    let error = connected.protocol_error("t_ad", json!({})).await;
    assert!(error.message.contains("did you mean `t_add`"), "{error:?}");
    assert_eq!(log.take(), ["ToolNotFoundError"]);
}

#[tokio::test]
async fn a_call_is_recorded_if_its_options_panic() {
    let log = Log::default();
    let registry = builder().observer(log.clone()).build().unwrap();
    let tools = Tools::new(registry).options(|_: &RequestContext<RoleServer>| -> CallOptions { panic!("on purpose") });
    for connected in connections(&tools, ProtocolVersion::V2025_11_25).await {
        let error = connected.protocol_error("t_add", json!({ "a": 1 })).await;
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert!(error.message.contains("`Tools::options` panicked: on purpose"), "{error:?}");
        assert_eq!(log.take(), ["ToolExecutionError"]);
    }
    let over_http = connect(Around(Handler::new(tools)), ProtocolVersion::V2025_11_25).await;
    let error = over_http.protocol_error("t_add", json!({ "a": 1 })).await;
    assert!(error.code == ErrorCode::INTERNAL_ERROR && !error.message.contains("on purpose"), "{error:?}");
}
