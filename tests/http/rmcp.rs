//! The server, as rmcp's client sees it, in the versions with a handshake and without.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode, ProgressNotificationParam,
    ProtocolVersion, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::served::{Served, new_tool};
use crate::wire::LONG;

/// Keeps what it is told.
#[derive(Clone, Default)]
struct Client {
    progress: Arc<Mutex<Vec<f64>>>,
    changes: Arc<AtomicUsize>,
}

impl ClientHandler for Client {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push(params.progress);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

struct Connected {
    client: RunningService<RoleClient, Client>,
    told: Client,
    served: Served,
}

async fn connect(lifecycle: ClientLifecycleMode) -> Connected {
    let served = Served::with(|http| http.token("s3cret"));
    let uri = format!("http://{}/mcp", served.address);
    let config = StreamableHttpClientTransportConfig::with_uri(uri).auth_header("s3cret");
    let transport = StreamableHttpClientTransport::from_config(config);
    let told = Client::default();
    let client = timeout(LONG, told.clone().serve_with_lifecycle(transport, lifecycle)).await.unwrap().unwrap();
    Connected { client, told, served }
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

impl Connected {
    async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        timeout(LONG, self.client.call_tool(params(tool, &arguments))).await.unwrap()
    }

    async fn names(&self) -> Vec<String> {
        let tools = timeout(LONG, self.client.list_all_tools()).await.unwrap().unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// What is the same in all versions.
    async fn works(&self) {
        assert!(self.names().await.contains(&"t_add".to_owned()));
        let result = self.call("t_add", json!({ "a": 2, "b": 3 })).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "result": 5 })));
        assert_ne!(result.is_error, Some(true));
        let text = "é\n".repeat(100_000);
        for tool in ["t_echo", "t_say"] {
            let result = self.call(tool, json!({ "text": text })).await.unwrap();
            assert_eq!(result.structured_content, Some(json!({ "result": text })));
        }
        let result = self.call("t_mirrored", json!({ "region": "é ", "count": 3, "dry": true })).await.unwrap();
        assert_eq!(result.is_error, Some(false), "its headers are as they have to be: {result:?}");

        for (tool, arguments) in
            [("t_add", json!({ "a": "two", "b": 3 })), ("t_fail", json!({})), ("t_panic", json!({}))]
        {
            let result = self.call(tool, arguments).await.unwrap();
            assert_eq!(result.is_error, Some(true), "{tool}");
        }

        let error = self.call("t_ad", json!({})).await.unwrap_err();
        let ServiceError::McpError(error) = error else { panic!("{error:?}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);

        self.call("t_pool_steps", json!({ "count": 5 })).await.unwrap();
        let progress = Arc::clone(&self.told.progress);
        eventually(|| progress.lock().unwrap().len() == 5).await;
        let mut steps = progress.lock().unwrap().clone();
        // The client may handle them in another order.
        steps.sort_by(f64::total_cmp);
        assert_eq!(steps, [1.0, 2.0, 3.0, 4.0, 5.0]);

        for (number, tool) in ["t_wait", "t_block", "t_step", "t_block_step"].into_iter().enumerate() {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params(tool, &json!({}))));
            let options = PeerRequestOptions::no_options();
            let handle = self.client.send_cancellable_request(request, options).await.unwrap();
            let log = self.served.log.clone();
            eventually(|| log.count("began") == number + 1).await;
            handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
            eventually(|| log.count("cancelled") == number + 1).await;
            // And it goes on.
            let result = self.call("t_add", json!({ "a": 2, "b": 3 })).await.unwrap();
            assert_eq!(result.structured_content, Some(json!({ "result": 5 })), "after {tool}");
        }
    }

    async fn ends(mut self) {
        timeout(LONG, self.client.cancel()).await.unwrap().unwrap();
        self.served.stop();
        self.served.ended();
    }
}

async fn eventually(done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, wait).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_handshake_is_served() {
    let connected = connect(ClientLifecycleMode::Initialize).await;
    let info = connected.client.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(info.server_info.as_ref().unwrap().name, "served");
    assert_eq!(info.capabilities.tools.as_ref().unwrap().list_changed, Some(true));
    connected.works().await;

    // Its stream may not be open yet.
    let changes = Arc::clone(&connected.told.changes);
    let registry = connected.served.registry.clone();
    let tell = async {
        while changes.load(Ordering::SeqCst) == 0 {
            registry.register(new_tool("t.new")).unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            registry.unregister("t.new");
        }
    };
    timeout(LONG, tell).await.unwrap();
    registry.register(new_tool("t.new")).unwrap();
    assert!(connected.names().await.contains(&"t_new".to_owned()));
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_handshake_is_served() {
    let connected = connect(discover()).await;
    let info = connected.client.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2026_07_28);
    assert!(info.capabilities.tools.is_some());
    connected.works().await;

    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = timeout(LONG, connected.client.listen(filter)).await.unwrap().unwrap();
    assert_eq!(subscription.acknowledged().tools_list_changed, Some(true));
    connected.served.registry.register(new_tool("t.new")).unwrap();
    let told = timeout(LONG, subscription.next()).await.unwrap().unwrap();
    assert!(matches!(told, Some(ServerNotification::ToolListChangedNotification(_))), "{told:?}");
    assert_eq!(connected.told.changes.load(Ordering::SeqCst), 0, "only who has asked is told");
    subscription.cancel().await.unwrap();
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_tries_finds_the_newest() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let connected = connect(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }).await;
    assert_eq!(connected.client.peer_info().unwrap().protocol_version, ProtocolVersion::V_2026_07_28);
    connected.ends().await;
}
