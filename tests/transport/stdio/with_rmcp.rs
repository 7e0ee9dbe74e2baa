//! The program, as rmcp's client sees it, in the versions with a handshake and without.

use std::process::Stdio;

use rmcp::ClientLifecycleMode;
use rmcp::model::ProtocolVersion;
use rmcp::transport::TokioChildProcess;
use serde_json::json;
use support::{LONG, wait_until};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::rmcp_client::{Client, auto, discover};

/// A client, and the lines that the program writes to stderr.
struct Connected {
    client: Client,
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
    Connected { client: Client::connect(transport, lifecycle).await, errors: receive }
}

impl Connected {
    async fn error_line(&mut self, expected: &str) {
        while timeout(LONG, self.errors.recv()).await.unwrap().unwrap() != expected {}
    }

    /// What is the same in all versions.
    async fn works(&mut self) {
        self.client.works("t_progress", json!({})).await;
        let handle = self.client.begin("t_slow", json!({ "ms": 100_000 })).await;
        self.error_line("slow began").await;
        handle.cancel(Some("no longer needed".to_owned())).await.unwrap();
        self.error_line("slow was cancelled").await;
    }

    async fn ends(mut self) {
        self.client.running.cancel().await.unwrap();
        while let Some(line) = timeout(LONG, self.errors.recv()).await.unwrap() {
            if line == "the end" {
                return;
            }
        }
        panic!("the server ended without an end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_handshake_is_served() {
    let mut connected = connect(ClientLifecycleMode::Initialize).await;
    let info = connected.client.running.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(info.server_info.as_ref().unwrap().name, "fixture");
    assert_eq!(info.capabilities.tools.as_ref().unwrap().list_changed, Some(true));
    connected.works().await;

    connected.client.call("t_register", json!({ "name": "new" })).await.unwrap();
    wait_until("a change is told", || connected.client.changes() == 1).await;
    assert!(connected.client.names().await.contains(&"t_new".to_owned()));
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_handshake_is_served() {
    let mut connected = connect(discover()).await;
    assert_eq!(connected.client.version(), ProtocolVersion::V_2026_07_28);
    assert!(connected.client.running.peer_info().unwrap().capabilities.tools.is_some());
    connected.works().await;
    let client = &connected.client;
    client.hears_of(async { drop(client.call("t_register", json!({ "name": "new" })).await.unwrap()) }).await;
    connected.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_prefers_the_newest_version_gets_it() {
    let connected = connect(auto()).await;
    assert_eq!(connected.client.version(), ProtocolVersion::V_2026_07_28);
    connected.ends().await;
}
