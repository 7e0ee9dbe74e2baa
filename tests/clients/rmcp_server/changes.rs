//! Tools that are registered and unregistered while a client is connected.

use std::sync::atomic::Ordering;

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::rmcp::Handler;
use mcp_registry::{Tool, ToolResult};
use rmcp::model::{ErrorCode, ServerNotification, SubscriptionFilter};
use serde_json::{Value, json};
use support::{LONG, wait_until};
use tokio::time::timeout;

use super::{Own, connect, registry};

/// A tool that comes late.
fn late() -> Tool {
    Tool::new("t.late", json!({ "type": "object" }), |_, _: Value| async { ToolResult::data(json!({ "late": true })) })
}

#[tokio::test]
async fn clients_of_a_handler_are_notified_of_registered_and_unregistered_tools() {
    let registry = registry();
    let handler = Handler::new(&registry);
    let (one, other) = (
        connect(handler.clone(), ProtocolVersion::V2025_11_25).await,
        connect(handler.clone(), ProtocolVersion::V2025_11_25).await,
    );
    assert!(!one.names().await.contains(&"t_late".to_owned()));
    // By now, the server has seen `notifications/initialized`.
    other.call("t_add", json!({ "a": 1 })).await.unwrap();

    let changed = registry.clone();
    // Outside the runtime.
    std::thread::spawn(move || changed.register(late()).unwrap()).join().unwrap();
    for connected in [&one, &other] {
        wait_until("a change is told", || connected.told.changes.load(Ordering::SeqCst) == 1).await;
        assert!(connected.names().await.contains(&"t_late".to_owned()));
        let result = connected.call("t_late", json!({})).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "late": true })));
    }
    assert!(registry.unregister("t.late"));
    wait_until("a second change is told", || one.told.changes.load(Ordering::SeqCst) == 2).await;
    assert!(!one.names().await.contains(&"t_late".to_owned()));
    assert_eq!(one.protocol_error("t_late", json!({})).await.code, ErrorCode::INVALID_PARAMS);
}

#[tokio::test]
async fn a_client_that_listens_is_notified_of_changes() {
    let registry = registry();
    let connected = connect(Handler::new(&registry), ProtocolVersion::V2026_07_28).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = timeout(LONG, connected.client.listen(filter)).await.unwrap().unwrap();
    assert_eq!(subscription.acknowledged().tools_list_changed, Some(true));
    registry.register(late()).unwrap();
    let told = timeout(LONG, subscription.next()).await.unwrap().unwrap();
    assert!(matches!(told, Some(ServerNotification::ToolListChangedNotification(_))), "{told:?}");
    assert!(connected.names().await.contains(&"t_late".to_owned()));
    subscription.cancel().await.unwrap();
}

#[tokio::test]
async fn a_router_keeps_the_tools_it_was_created_with() {
    let registry = registry();
    let connected = connect(Own::with(&registry), ProtocolVersion::V2025_11_25).await;
    registry.register(late()).unwrap();
    assert!(!connected.names().await.contains(&"t_late".to_owned()));
    assert!(registry.unregister("t.add"));
    let error = connected.protocol_error("t_add", json!({ "a": 1 })).await;
    assert_eq!(error.data.unwrap()["error_type"], "ToolNotFoundError");
}
