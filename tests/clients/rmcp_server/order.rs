//! The order of the messages that a client receives, line by line.

use mcp_registry::rmcp::Handler;
use rmcp::ServiceExt as _;
use serde_json::{Value, json};
use support::LONG;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex};
use tokio::time::timeout;

use super::registry;

/// An initialized client that writes its lines by hand.
async fn by_hand(handler: Handler) -> (BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>) {
    let (here, there) = duplex(1 << 16);
    tokio::spawn(async move { handler.serve(there).await.unwrap().waiting().await });
    let (read, mut write) = tokio::io::split(here);
    let mut read = BufReader::new(read);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "1" },
    });
    send(&mut write, json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
    assert_eq!(line(&mut read).await["id"], 0);
    send(&mut write, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    (read, write)
}

async fn send(write: &mut WriteHalf<DuplexStream>, message: Value) {
    write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
}

async fn line(read: &mut BufReader<ReadHalf<DuplexStream>>) -> Value {
    let mut line = String::new();
    timeout(LONG, read.read_line(&mut line)).await.unwrap().unwrap();
    serde_json::from_str(&line).unwrap()
}

fn counting() -> Value {
    let params = json!({ "name": "t_steps_at_once", "arguments": {}, "_meta": { "progressToken": "here" } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[tokio::test]
async fn progress_arrives_in_order_and_before_the_answer() {
    let (mut read, mut write) = by_hand(Handler::new(registry())).await;
    send(&mut write, counting()).await;
    for done in 1..=100 {
        let params = line(&mut read).await["params"].take();
        assert_eq!(params, json!({ "progressToken": "here", "progress": f64::from(done), "total": 100.0 }));
    }
    assert_eq!(line(&mut read).await["result"]["structuredContent"], json!({ "result": 100 }));
}

#[tokio::test]
async fn a_call_is_answered_after_the_client_has_closed_its_side() {
    let (mut read, mut write) = by_hand(Handler::new(registry())).await;
    send(&mut write, counting()).await;
    write.shutdown().await.unwrap();
    loop {
        let told = line(&mut read).await;
        if told["id"] == 1 {
            assert_eq!(told["result"]["structuredContent"], json!({ "result": 100 }));
            return;
        }
    }
}
