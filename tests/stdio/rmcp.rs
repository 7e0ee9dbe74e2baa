//! The program, as rmcp's client sees it, in the versions with a handshake and without.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode, ProgressNotificationParam,
    ProtocolVersion, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

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

/// A client, and the lines that the program writes to stderr.
struct Connected {
    client: RunningService<RoleClient, Client>,
    told: Client,
    errors: UnboundedReceiver<String>,
}

async fn connect(lifecycle: ClientLifecycleMode) -> Connected {
    let command = Command::new(env!("CARGO_BIN_EXE_stdio-server"));
    let (transport, errors) = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn().unwrap();
    let (send, receive) = unbounded_channel();
    tokio::spawn(async move {
        let mut lines = BufReader::new(errors.unwrap()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = send.send(line);
        }
    });
    let told = Client::default();
    let client = timeout(LONG, told.clone().serve_with_lifecycle(transport, lifecycle)).await.unwrap().unwrap();
    Connected { client, told, errors: receive }
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

    async fn error_line(&mut self, wanted: &str) {
        while timeout(LONG, self.errors.recv()).await.unwrap().unwrap() != wanted {}
    }

    /// What is the same in all versions.
    async fn works(&mut self) {
        assert!(self.names().await.contains(&"t_add".to_owned()));

        let result = self.call("t_add", json!({ "a": 2, "b": 3 })).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "result": 5 })));
        assert_ne!(result.is_error, Some(true));
        let text = "x".repeat(300_000);
        let result = self.call("t_echo", json!({ "text": text })).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "result": text })));

        for (tool, arguments) in
            [("t_add", json!({ "a": "two", "b": 3 })), ("t_fail", json!({})), ("t_panic", json!({}))]
        {
            let result = self.call(tool, arguments).await.unwrap();
            assert_eq!(result.is_error, Some(true), "{tool}");
        }

        let error = self.call("t_ad", json!({})).await.unwrap_err();
        let ServiceError::McpError(error) = error else { panic!("{error:?}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);

        self.call("t_progress", json!({})).await.unwrap();
        let progress = Arc::clone(&self.told.progress);
        eventually(|| progress.lock().unwrap().len() == 5).await;
        let mut steps = progress.lock().unwrap().clone();
        // The client may handle them in another order.
        steps.sort_by(f64::total_cmp);
        assert_eq!(steps, [1.0, 2.0, 3.0, 4.0, 5.0]);

        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("t_slow", &json!({ "ms": 100_000 }))));
        let options = PeerRequestOptions::no_options();
        let handle = self.client.send_cancellable_request(request, options).await.unwrap();
        self.error_line("slow began").await;
        handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
        self.error_line("slow was cancelled").await;
    }

    async fn ends(mut self) {
        self.client.cancel().await.unwrap();
        while let Some(line) = timeout(LONG, self.errors.recv()).await.unwrap() {
            if line == "the end" {
                return;
            }
        }
        panic!("the server ended without an end");
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
    let mut connected = connect(ClientLifecycleMode::Initialize).await;
    let info = connected.client.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(info.server_info.as_ref().unwrap().name, "fixture");
    assert_eq!(info.capabilities.tools.as_ref().unwrap().list_changed, Some(true));
    connected.works().await;

    connected.call("t_register", json!({ "name": "new" })).await.unwrap();
    let changes = Arc::clone(&connected.told.changes);
    eventually(|| changes.load(Ordering::SeqCst) == 1).await;
    assert!(connected.names().await.contains(&"t_new".to_owned()));
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_handshake_is_served() {
    let mut connected = connect(discover()).await;
    let info = connected.client.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2026_07_28);
    assert!(info.capabilities.tools.is_some());
    connected.works().await;

    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = timeout(LONG, connected.client.listen(filter)).await.unwrap().unwrap();
    assert_eq!(subscription.acknowledged().tools_list_changed, Some(true));
    connected.call("t_register", json!({ "name": "new" })).await.unwrap();
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
