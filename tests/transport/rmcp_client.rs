//! rmcp's client, and what it does with a server over any transport.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode, ProgressNotificationParam,
    ProtocolVersion, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};
use serde_json::{Value, json};
use support::{LONG, wait_until};
use tokio::time::timeout;

/// Keeps the notifications that it receives.
#[derive(Clone, Default)]
pub(crate) struct Told {
    progress: Arc<Mutex<Vec<f64>>>,
    changes: Arc<AtomicUsize>,
}

impl ClientHandler for Told {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push(params.progress);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

/// A client that is connected.
pub(crate) struct Client {
    pub(crate) running: RunningService<RoleClient, Told>,
    told: Told,
}

/// Accepts only the newest version.
pub(crate) fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Prefers the newest version, and accepts an older one.
pub(crate) fn auto() -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }
}

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

impl Client {
    pub(crate) async fn connect<E, A>(
        transport: impl IntoTransport<RoleClient, E, A>,
        lifecycle: ClientLifecycleMode,
    ) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let told = Told::default();
        let running = timeout(LONG, told.clone().serve_with_lifecycle(transport, lifecycle)).await.unwrap().unwrap();
        Self { running, told }
    }

    pub(crate) fn version(&self) -> ProtocolVersion {
        self.running.peer_info().unwrap().protocol_version.clone()
    }

    /// How often it was notified of changes without a subscription.
    pub(crate) fn changes(&self) -> usize {
        self.told.changes.load(Ordering::SeqCst)
    }

    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        timeout(LONG, self.running.call_tool(params(tool, &arguments))).await.unwrap()
    }

    /// Begins a call that can be cancelled.
    pub(crate) async fn begin(&self, tool: &'static str, arguments: Value) -> RequestHandle<RoleClient> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params(tool, &arguments)));
        self.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
    }

    pub(crate) async fn names(&self) -> Vec<String> {
        let tools = timeout(LONG, self.running.list_all_tools()).await.unwrap().unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// Lists the tools, calls them, fails a call, and receives five steps of progress.
    pub(crate) async fn works(&self, five_steps: &'static str, arguments: Value) {
        assert!(self.names().await.contains(&"t_add".to_owned()));
        let result = self.call("t_add", json!({ "a": 2, "b": 3 })).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "result": 5 })));
        assert_ne!(result.is_error, Some(true));
        let text = "é\n".repeat(100_000);
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

        self.call(five_steps, arguments).await.unwrap();
        wait_until("five steps of progress", || self.told.progress.lock().unwrap().len() == 5).await;
        let mut steps = self.told.progress.lock().unwrap().clone();
        // The client may handle them in another order.
        steps.sort_by(f64::total_cmp);
        assert_eq!(steps, [1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    /// In the newest version, subscribers are notified of changes.
    pub(crate) async fn hears_of(&self, change: impl Future<Output = ()>) {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = timeout(LONG, self.running.listen(filter)).await.unwrap().unwrap();
        assert_eq!(subscription.acknowledged().tools_list_changed, Some(true));
        change.await;
        let told = timeout(LONG, subscription.next()).await.unwrap().unwrap();
        assert!(matches!(told, Some(ServerNotification::ToolListChangedNotification(_))), "{told:?}");
        assert_eq!(self.changes(), 0, "only who has asked is told");
        subscription.cancel().await.unwrap();
    }
}
