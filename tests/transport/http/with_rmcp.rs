//! The server, as rmcp's client sees it, in the versions with a handshake and without.

use std::time::Duration;

use rmcp::ClientLifecycleMode;
use rmcp::model::ProtocolVersion;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;
use support::{LONG, wait_until};
use tokio::time::timeout;

use super::served::{Served, new_tool};
use crate::rmcp_client::{Client, auto, discover};

struct Connected {
    client: Client,
    served: Served,
}

async fn connect(lifecycle: ClientLifecycleMode) -> Connected {
    let served = Served::with(|http| http.token("s3cret"));
    let uri = format!("http://{}/mcp", served.address);
    let config = StreamableHttpClientTransportConfig::with_uri(uri).auth_header("s3cret");
    let client = Client::connect(StreamableHttpClientTransport::from_config(config), lifecycle).await;
    Connected { client, served }
}

impl Connected {
    /// What is the same in all versions.
    async fn works(&self) {
        let client = &self.client;
        client.works("t_pool_steps", json!({ "count": 5 })).await;
        let text = "é\n".repeat(100_000);
        let result = client.call("t_say", json!({ "text": text })).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({ "result": text })));
        let result = client.call("t_mirrored", json!({ "region": "é ", "count": 3, "dry": true })).await.unwrap();
        assert_eq!(result.is_error, Some(false), "its headers are as they have to be: {result:?}");

        for (number, tool) in ["t_wait", "t_block", "t_step", "t_block_step"].into_iter().enumerate() {
            let handle = client.begin(tool, json!({})).await;
            let log = &self.served.log;
            wait_until("the call begins", || log.count("began") == number + 1).await;
            handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
            wait_until("the call is cancelled", || log.count("cancelled") == number + 1).await;
            // The connection still works.
            let result = client.call("t_add", json!({ "a": 2, "b": 3 })).await.unwrap();
            assert_eq!(result.structured_content, Some(json!({ "result": 5 })), "after {tool}");
        }
    }

    async fn ends(mut self) {
        timeout(LONG, self.client.running.cancel()).await.unwrap().unwrap();
        self.served.stop();
        self.served.ended();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_handshake_is_served() {
    let connected = connect(ClientLifecycleMode::Initialize).await;
    let info = connected.client.running.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(info.server_info.as_ref().unwrap().name, "served");
    assert_eq!(info.capabilities.tools.as_ref().unwrap().list_changed, Some(true));
    connected.works().await;

    // Its stream may not be open yet.
    let registry = connected.served.registry.clone();
    let tell = async {
        while connected.client.changes() == 0 {
            registry.register(new_tool("t.new")).unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            registry.unregister("t.new");
        }
    };
    timeout(LONG, tell).await.unwrap();
    registry.register(new_tool("t.new")).unwrap();
    assert!(connected.client.names().await.contains(&"t_new".to_owned()));
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_handshake_is_served() {
    let connected = connect(discover()).await;
    assert_eq!(connected.client.version(), ProtocolVersion::V_2026_07_28);
    assert!(connected.client.running.peer_info().unwrap().capabilities.tools.is_some());
    connected.works().await;
    let change = async { connected.served.registry.register(new_tool("t.new")).unwrap() };
    connected.client.hears_of(change).await;
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_prefers_the_newest_version_gets_it() {
    let connected = connect(auto()).await;
    assert_eq!(connected.client.version(), ProtocolVersion::V_2026_07_28);
    connected.ends().await;
}
