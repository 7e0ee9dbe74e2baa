//! The protocol in your own loop: here over a queue between threads, but it could be a message bus or a web socket.
//! `cargo run -p mcp-examples --example own_loop`

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use mcp_registry::error::BoxError;
use mcp_registry::protocol::Peer;
use mcp_registry::serde_json::{Value, from_slice, json};
use mcp_registry::testing::block_on;
use mcp_registry::{CallOptions, Registry, Server, ToolContext, mcp_tool};

/// Counts to a number, and tells how far it is.
#[mcp_tool(module = "numbers")]
fn count(#[ctx] cx: &ToolContext, to: u32) -> u32 {
    for n in 1..=to {
        cx.progress(n, to, "counted");
    }
    to
}

/// Answers messages until the queue ends. This needs no runtime; on yours, await `handle`.
fn serve(server: &Server, messages: &Receiver<Vec<u8>>, answers: &Sender<Vec<u8>>) {
    let notices = answers.clone();
    let peer = Peer::builder()
        .options(CallOptions::new().caller("the other thread"))
        // A client that is gone needs no notifications.
        .on_notification(move |message| drop(notices.send(message)))
        .build();
    for message in messages {
        let answer = block_on(server.handle(&message, &peer));
        if answer.is_some_and(|answer| answers.send(answer).is_err()) {
            return;
        }
    }
}

fn main() -> Result<(), BoxError> {
    let server = Server::new(Registry::linked()?).info("numbers", "1.0.0");
    let ((to_server, messages), (answers, from_server)) = (channel(), channel());
    let serving = thread::spawn(move || serve(&server, &messages, &answers));

    let ask = |id: u32, method: &str, params: Value| {
        to_server.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into())
    };
    ask(1, "initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} }))?;
    ask(2, "tools/list", json!({}))?;
    let arguments = json!({ "name": "numbers_count", "arguments": { "to": 2 }, "_meta": { "progressToken": "p" } });
    ask(3, "tools/call", arguments)?;
    ask(4, "tools/call", json!({ "name": "numbers_count", "arguments": { "to": -1 } }))?;
    drop(to_server);

    for message in from_server {
        let message: Value = from_slice(&message)?;
        let result = &message["result"];
        match message["id"].as_u64() {
            None => println!("told: {} {}", message["params"]["progress"], message["method"]),
            Some(1) => println!("served by: {}", result["serverInfo"]["name"]),
            Some(2) => println!("tools: {}", result["tools"][0]["name"]),
            Some(_) => println!("answer {}: {}", message["id"], result["content"][0]["text"]),
        }
    }
    serving.join().map_err(|_| "the server panicked".into())
}
