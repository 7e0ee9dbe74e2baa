//! The tools inside an rmcp server, as rmcp's client sees them, in the versions with a handshake and without.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    clippy::unused_self,
    deprecated,
    reason = "tools take what they take, and log lines are still asked for"
)]

mod bounds;
mod changes;
mod names;
mod order;
mod results;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::rmcp::{Handler, MergeError, Tools, merge, tool_router};
use mcp_registry::testing::Client as InMemory;
use mcp_registry::{
    AuditLog, CallOptions, Content, LogLevel, Registry, RegistryBuilder, Server, Tool, ToolContext, ToolError,
    ToolResult, mcp_tool, tools,
};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, ErrorCode, ErrorData,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, RequestMetaObject, SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RoleServer, ServerHandler, ServiceError,
    ServiceExt as _, tool, tool_handler,
};
use serde_json::{Value, json};
use support::{LONG, wait_until};
use tokio::io::duplex;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Adds two numbers.
#[mcp_tool(module = "t", title = "Add", inline, read_only, meta(owner = "math"), aliases("t.plus"))]
fn add(a: i64, #[arg(default = 1)] b: i64) -> i64 {
    a + b
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Point {
    x: f64,
    label: Option<String>,
}

/// A point.
#[mcp_tool(module = "t", idempotent)]
async fn point(x: f64) -> Point {
    Point { x, label: None }
}

/// Fails.
#[mcp_tool(module = "t")]
fn fail(how: &str) -> Result<(), mcp_registry::error::BoxError> {
    match how {
        "panic" => panic!("on purpose"),
        "client" => Err(ToolError::client_lacks(json!({ "sampling": {} })).into()),
        "foreign" => Err(io::Error::other("the password is swordfish").into()),
        how => Err(ToolError::new("OutOfStock", how).details(json!({ "left": 0 })).into()),
    }
}

/// All that a result can say.
#[mcp_tool(module = "t")]
fn everything() -> ToolResult {
    let content = vec![
        Content::text("seen").with("annotations", json!({ "audience": ["user"], "priority": 0.5 })),
        Content::image(b"png", "image/png").with("_meta", json!({ "page": 1 })),
        Content::audio(b"wav", "audio/wav"),
        Content::link("file:///a", "a").with("title", "A").with("mimeType", "text/plain").with("size", 3),
        Content::resource("file:///b", "text/plain", "b"),
        Content::resource_bytes("file:///c", "image/png", b"c"),
    ];
    let mut result = ToolResult::partial_success(json!({ "done": 1 })).explanation("half of it").meta("took", 7);
    result.content = Some(content);
    result
}

/// What rmcp has no field for.
#[mcp_tool(module = "t")]
fn odd() -> Vec<Content> {
    vec![
        Content::text("odd").with("mood", "fine").with("_meta", json!({ "page": 1 })),
        Content::text("bad").with("annotations", json!({ "audience": ["robots"] })),
        Content::Other { kind: "smell".to_owned(), extra: json!({ "of": "roses" }).as_object().unwrap().clone() },
    ]
}

/// Works in steps, and tells of them.
#[mcp_tool(module = "t")]
async fn steps(#[ctx] cx: &ToolContext) -> u32 {
    cx.log(LogLevel::Debug, "a detail");
    cx.log(LogLevel::Warning, "something odd");
    for (done, message) in [(1, "one"), (1, "one again"), (2, "two")] {
        cx.progress(done, 2, message);
    }
    2
}

/// The same at once.
#[mcp_tool(module = "t", inline)]
fn steps_at_once(#[ctx] cx: &ToolContext) -> u32 {
    (1..=100).for_each(|done| cx.progress(done, 100, None));
    100
}

#[derive(Default)]
struct Seen {
    began: Notify,
    cancelled: Notify,
    polled: AtomicBool,
}

/// Waits until it is cancelled, on the pool.
#[mcp_tool(module = "t", timeout = "50s")]
fn wait(#[ctx] cx: &ToolContext, #[ctx] seen: &Arc<Seen>) {
    seen.began.notify_one();
    while !cx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(2));
    }
    seen.polled.store(true, Ordering::SeqCst);
    seen.cancelled.notify_one();
}

/// What it knows of the request.
#[mcp_tool(module = "t")]
fn know(#[ctx] cx: &ToolContext) -> mcp_registry::Json<Value> {
    let of_request = cx.extensions().get::<rmcp::model::Extensions>().unwrap();
    mcp_registry::Json(json!({
        "request": cx.request_id(),
        "caller": cx.caller(),
        "trace": cx.meta().get("traceparent"),
        "header": of_request.get::<Header>().map(|header| header.0),
        "peer": cx.extensions().get::<rmcp::Peer<RoleServer>>().is_some(),
        "region": cx.extensions().get::<http::HeaderMap>().map(|headers| headers["x-region"].to_str().unwrap()),
        "layer": cx.extensions().get::<u8>(),
    }))
}

/// Not for everyone.
#[mcp_tool(module = "t", hidden)]
fn hidden() -> &'static str {
    "found"
}

fn builder() -> RegistryBuilder {
    Registry::builder_of(tools![add, point, fail, everything, odd, steps, steps_at_once, wait, know, hidden])
        .state(Arc::new(Seen::default()))
        .tool(Tool::new("t.any", any_schema(), |_, _: Value| async { ToolResult::data(json!({})) }))
}

/// A schema that is not the same in all versions.
fn any_schema() -> Value {
    json!({ "type": "object", "properties": { "any": true } })
}

fn registry() -> Registry {
    builder().build().unwrap()
}

/// A custom server, with the registry's tools next to its own.
struct Own {
    tools: ToolRouter<Self>,
}

#[rmcp::tool_router]
impl Own {
    #[tool(description = "Greets.")]
    fn greet(&self) -> String {
        "hello".to_owned()
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Own {}

impl Own {
    fn with(tools: impl Into<Tools>) -> Self {
        Self { tools: merge(Self::tool_router(), tools).unwrap() }
    }
}

/// What a transport would attach to a request.
#[derive(Clone)]
struct Header(&'static str);

/// A server that delegates to the handler.
struct Around(Handler);

impl ServerHandler for Around {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        context.extensions.insert(Header("of the request"));
        let sent = http::Request::builder().uri("/mcp").header("x-region", "eu").extension(7_u8).body(()).unwrap();
        context.extensions.insert(sent.into_parts().0);
        self.0.call_tool(request, context).await
    }
}

/// Keeps the notifications that it receives.
#[derive(Clone, Default)]
struct Told {
    progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
    lines: Arc<Mutex<Vec<LoggingMessageNotificationParam>>>,
    changes: Arc<AtomicUsize>,
}

impl ClientHandler for Told {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push(params);
    }

    async fn on_logging_message(&self, line: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.lines.lock().unwrap().push(line);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

struct Connected {
    client: RunningService<RoleClient, Told>,
    told: Told,
}

async fn connect(server: impl ServerHandler, version: ProtocolVersion) -> Connected {
    let (here, there) = duplex(1 << 16);
    tokio::spawn(async move { server.serve(there).await.unwrap().waiting().await });
    let lifecycle = match version {
        ProtocolVersion::V2026_07_28 => {
            ClientLifecycleMode::Discover { preferred_versions: vec![rmcp::model::ProtocolVersion::V_2026_07_28] }
        }
        _ => ClientLifecycleMode::Initialize,
    };
    let told = Told::default();
    let client = timeout(LONG, told.clone().serve_with_lifecycle(here, lifecycle)).await.unwrap().unwrap();
    Connected { client, told }
}

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25];

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

impl Connected {
    async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        timeout(LONG, self.client.call_tool(params(tool, &arguments))).await.unwrap()
    }

    async fn protocol_error(&self, tool: &'static str, arguments: Value) -> ErrorData {
        match self.call(tool, arguments).await.unwrap_err() {
            ServiceError::McpError(error) => error,
            other => panic!("{other:?}"),
        }
    }

    async fn list(&self) -> Vec<Value> {
        let tools = timeout(LONG, self.client.list_all_tools()).await.unwrap().unwrap();
        tools.iter().map(|tool| json!(tool)).collect()
    }

    async fn names(&self) -> Vec<String> {
        self.list().await.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// The list of our own server.
async fn own_list(registry: &Registry, version: ProtocolVersion) -> Vec<Value> {
    InMemory::connect(Server::new(registry.clone()), version).await.unwrap().list_tools().await.unwrap()
}

#[tokio::test]
async fn a_handler_lists_what_our_own_server_lists() {
    let registry = registry();
    for version in VERSIONS {
        let connected =
            connect(Handler::new(&registry).info("embedded", "1.2.3").instructions("Help yourself."), version).await;
        let info = connected.client.peer_info().unwrap();
        assert_eq!(info.protocol_version.as_str(), version.as_str());
        assert_eq!(info.server_info.as_ref().unwrap().name, "embedded");
        assert_eq!(info.instructions.as_deref(), Some("Help yourself."));
        let meta = json!(info.meta);
        assert_eq!(meta["mcp-registry/contract"]["digest"], registry.catalog().digest());
        let listed = connected.list().await;
        assert_eq!(meta["tools_count"], listed.len());
        assert_eq!(listed, own_list(&registry, version).await);
        let any = listed.iter().find(|tool| tool["name"] == "t_any").unwrap();
        let expected = if version.is_stateless() { json!(true) } else { json!({}) };
        assert_eq!(any["inputSchema"]["properties"]["any"], expected);
    }
}

#[tokio::test]
async fn a_router_lists_the_tools_beside_its_own() {
    let registry = registry();
    let legacy = own_list(&registry, ProtocolVersion::V2025_11_25).await;
    let router: ToolRouter<Own> = tool_router(&registry);
    assert_eq!(router.list_all().iter().map(|tool| json!(tool)).collect::<Vec<_>>(), legacy);
    for version in VERSIONS {
        let mut listed = connect(Own::with(&registry), version).await.list().await;
        let greet = listed.remove(0);
        assert_eq!(greet["name"], "greet");
        assert_eq!(listed, legacy);
    }
}

#[tokio::test]
async fn calls_return_results_tool_errors_and_protocol_errors() {
    let registry = registry();
    for version in VERSIONS {
        for connected in [connect(Handler::new(&registry), version).await, connect(Own::with(&registry), version).await]
        {
            let result = connected.call("t_add", json!({ "a": 2, "b": 3 })).await.unwrap();
            assert_eq!((result.structured_content, result.is_error), (Some(json!({ "result": 5 })), Some(false)));
            let result = connected.call("t_point", json!({ "x": 2.5 })).await.unwrap();
            assert_eq!(result.structured_content, Some(json!({ "x": 2.5, "label": null })));

            let result = connected.call("t_add", json!({ "a": "two", "c": 3 })).await.unwrap();
            assert_eq!(result.is_error, Some(true));
            let text = result.content[0].as_text().unwrap();
            assert!(text.text.contains("`/a`") && text.text.contains("`/c`"), "{}", text.text);
            for (how, said) in [("none left", "OutOfStock: none left"), ("panic", "panicked: on purpose")] {
                let result = connected.call("t_fail", json!({ "how": how })).await.unwrap();
                assert_eq!(result.is_error, Some(true));
                let text = result.content[0].as_text().unwrap();
                assert!(text.text.contains(said), "{}", text.text);
            }
            let error = connected.protocol_error("t_ad", json!({})).await;
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        }
        let connected = connect(Own::with(&registry), version).await;
        assert_eq!(connected.call("greet", json!({})).await.unwrap().content[0].as_text().unwrap().text, "hello");
    }
}

#[tokio::test]
async fn a_handler_accepts_every_name_of_a_tool_and_suggests_the_nearest() {
    let connected = connect(Handler::new(registry()), ProtocolVersion::V2025_11_25).await;
    for name in ["t.add", "t_add", "t.plus", "t_plus"] {
        let result = connected.call(name, json!({ "a": 2 })).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "result": 3 })), "{name}");
    }
    assert_eq!(connected.call("t_hidden", json!({})).await.unwrap().is_error, Some(false));
    let error = connected.protocol_error("t_ad", json!({})).await;
    assert!(error.message.contains("did you mean `t_add`"), "{error:?}");
    assert_eq!(error.data.unwrap()["error_type"], "ToolNotFoundError");
    let error = connected.protocol_error("no such name", json!({})).await;
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
}

#[tokio::test]
async fn results_are_those_of_our_own_server() {
    let registry = registry();
    for version in VERSIONS {
        let own = InMemory::connect(Server::new(registry.clone()), version).await.unwrap();
        let connected = connect(Handler::new(&registry), version).await;
        for (tool, arguments) in
            [("t_everything", json!({})), ("t_add", json!({ "a": 1 })), ("t_fail", json!({ "how": "none left" }))]
        {
            let mut expected = own.call_tool(tool, arguments.clone()).await.unwrap().to_value();
            // rmcp adds its own server info.
            let expected = expected.as_object_mut().unwrap();
            if version.is_stateless() {
                expected["_meta"].as_object_mut().unwrap().shift_remove("io.modelcontextprotocol/serverInfo");
            }
            if expected.get("_meta") == Some(&json!({})) {
                expected.shift_remove("_meta");
            }
            assert_eq!(json!(connected.call(tool, arguments).await.unwrap()), json!(expected), "{tool}");
        }
        let odd = connected.call("t_odd", json!({})).await.unwrap();
        assert_eq!(
            json!(odd.content),
            json!([
                { "type": "text", "text": "odd", "_meta": { "page": 1, "mood": "fine" } },
                { "type": "text", "text": "bad", "_meta": { "annotations": { "audience": ["robots"] } } },
                { "type": "text", "text": r#"{"type":"smell","of":"roses"}"# },
            ])
        );
    }
}

#[tokio::test]
async fn a_cancellation_reaches_the_tool() {
    for version in VERSIONS {
        let audit = AuditLog::new();
        let seen = Arc::new(Seen::default());
        let registry =
            Registry::builder_of(tools![wait]).state(Arc::clone(&seen)).observer(audit.clone()).build().unwrap();
        let connected = connect(Own::with(&registry), version).await;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("t_wait", &json!({}))));
        let options = PeerRequestOptions::no_options();
        let handle = connected.client.send_cancellable_request(request, options).await.unwrap();
        timeout(LONG, seen.began.notified()).await.unwrap();
        handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
        timeout(LONG, seen.cancelled.notified()).await.unwrap();
        assert!(seen.polled.load(Ordering::SeqCst));
        wait_until("the call is in the audit", || audit.records().len() == 1).await;
        assert_eq!(json!(audit.records()[0])["outcome"], "cancelled");
    }
}

#[tokio::test]
async fn progress_is_sent_to_clients_that_request_it() {
    let registry = registry();
    for version in VERSIONS {
        for connected in [connect(Handler::new(&registry), version).await, connect(Own::with(&registry), version).await]
        {
            connected.call("t_steps", json!({})).await.unwrap();
            let progress = &connected.told.progress;
            wait_until("two steps of progress", || progress.lock().unwrap().len() == 2).await;
            let mut told = progress.lock().unwrap().clone();
            // The client may handle them in another order.
            told.sort_by(|one, other| one.progress.total_cmp(&other.progress));
            let told = told.iter().map(|told| (told.progress, told.total, told.message.as_deref()));
            assert_eq!(told.collect::<Vec<_>>(), [(1.0, Some(2.0), Some("one")), (2.0, Some(2.0), Some("two"))]);
        }
    }
}

#[tokio::test]
async fn log_messages_are_sent_as_the_version_requires() {
    let registry = registry();
    let odd = json!([{ "level": "warning", "logger": "t_steps", "data": "something odd" }]);
    let lines = |connected: &Connected| connected.told.lines.lock().unwrap().clone();

    let connected = connect(Handler::new(&registry), ProtocolVersion::V2025_11_25).await;
    connected.call("t_steps", json!({})).await.unwrap();
    wait_until("a log line", || !lines(&connected).is_empty()).await;
    assert_eq!(json!(lines(&connected)), odd);
    connected.client.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await.unwrap();
    connected.call("t_steps", json!({})).await.unwrap();
    wait_until("three log lines", || lines(&connected).len() == 3).await;

    // Each request sets its level; without one there are no messages.
    for connected in [
        connect(Handler::new(&registry), ProtocolVersion::V2026_07_28).await,
        connect(Own::with(&registry), ProtocolVersion::V2026_07_28).await,
    ] {
        connected.call("t_steps", json!({})).await.unwrap();
        let mut meta = RequestMetaObject::new();
        meta.set_log_level(LoggingLevel::Notice);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("t_steps", &json!({}))));
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let handle = connected.client.send_cancellable_request(request, options).await.unwrap();
        timeout(LONG, handle.await_response()).await.unwrap().unwrap();
        wait_until("a log line", || !lines(&connected).is_empty()).await;
        assert_eq!(json!(lines(&connected)), odd);
    }
}

#[tokio::test]
async fn a_tool_can_read_the_request() {
    let tools = Tools::new(registry()).options(|request| match request.extensions.get::<Header>() {
        Some(_) => CallOptions::new().caller("ada"),
        None => CallOptions::new(),
    });
    let connected = connect(Around(Handler::new(tools.clone())), ProtocolVersion::V2025_11_25).await;
    let mut meta = RequestMetaObject::new();
    meta.set_traceparent("00-1-2-01");
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("t_know", &json!({}))));
    let options = PeerRequestOptions::no_options().with_meta(meta);
    let handle = connected.client.send_cancellable_request(request, options).await.unwrap();
    let id = handle.id.to_string();
    let answer = json!(timeout(LONG, handle.await_response()).await.unwrap().unwrap());
    let expected = json!({
        "request": id, "caller": "ada", "trace": "00-1-2-01", "header": "of the request", "peer": true,
        "region": "eu", "layer": 7,
    });
    assert_eq!(answer["structuredContent"], expected);

    let result = connect(Own::with(tools), ProtocolVersion::V2025_11_25).await.call("t_know", json!({})).await.unwrap();
    let known = result.structured_content.unwrap();
    assert_eq!((&known["caller"], &known["header"], &known["peer"]), (&Value::Null, &Value::Null, &json!(true)));
}

#[tokio::test]
async fn errors_that_are_not_for_the_model_can_be_masked() {
    for mask in [None, Some(false), Some(true)] {
        let tools = Tools::new(registry()).options(move |_| match mask {
            Some(mask) => CallOptions::new().mask_errors(mask),
            None => CallOptions::new(),
        });
        let elsewhere = connect(Own::with(tools.clone()), ProtocolVersion::V2025_11_25).await;
        let over_http = connect(Around(Handler::new(tools)), ProtocolVersion::V2025_11_25).await;
        for (connected, masked) in [(elsewhere, mask.unwrap_or(false)), (over_http, mask.unwrap_or(true))] {
            let result = connected.call("t_fail", json!({ "how": "foreign" })).await.unwrap();
            assert_eq!(!json!(result).to_string().contains("swordfish"), masked);
        }
    }
}

#[tokio::test]
async fn a_missing_client_capability_is_reported_as_the_version_requires() {
    let registry = registry();
    let connected = connect(Own::with(&registry), ProtocolVersion::V2026_07_28).await;
    let error = connected.protocol_error("t_fail", json!({ "how": "client" })).await;
    assert_eq!((error.code.0, error.data), (-32021, Some(json!({ "requiredCapabilities": { "sampling": {} } }))));
    let connected = connect(Own::with(&registry), ProtocolVersion::V2025_11_25).await;
    assert_eq!(connected.call("t_fail", json!({ "how": "client" })).await.unwrap().is_error, Some(true));
}

#[tokio::test]
async fn a_panic_outside_of_a_tool_is_an_internal_error() {
    let tools = Tools::new(registry()).options(|_| panic!("on purpose"));
    let error =
        connect(Own::with(tools), ProtocolVersion::V2025_11_25).await.protocol_error("t_add", json!({ "a": 1 })).await;
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
}

#[tokio::test]
async fn a_name_that_both_sides_have_is_refused() {
    /// The tool of the server, by another name.
    fn conflict(name: &'static str, registry: &Registry) -> MergeError {
        let mut own = Own::tool_router();
        let mut route = own.map.get("greet").unwrap().clone();
        route.attr.name = name.into();
        own.add_route(route);
        merge(own, registry).unwrap_err()
    }

    let registry = registry();
    for name in ["t_add", "t.add", "t-add"] {
        let error = conflict(name, &registry);
        let [found] = error.conflicts() else { panic!("{error}") };
        assert_eq!((found.existing.as_str(), found.tool.name.as_str()), (name, "t.add"));
        let page = error.to_string();
        for said in [
            name,
            "`t.add`",
            "Own",
            "rmcp_server/mod.rs:",
            r#".exclude("mcp-tests", "t.add")"#,
            r#"#[tool(name = "…")]"#,
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }
    assert!(conflict("t.any", &registry).to_string().contains("created at run time"));
}
