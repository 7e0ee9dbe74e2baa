//! Cancellation of calls and of the server, over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::serde_json::json;
use mcp_registry::{CancelToken, Http, Registry, Server, mcp_tool, tools};
use support::wait_until_blocking;
use tokio::net::TcpListener;

static RUNS: AtomicUsize = AtomicUsize::new(0);
static IS_CANCELLED: AtomicBool = AtomicBool::new(false);

/// Takes its time where it is called.
#[mcp_tool(module = "holes")]
#[allow(clippy::unused_async, reason = "it blocks before it could wait")]
async fn slow(#[arg(default)] waits: bool) -> usize {
    if !waits {
        return 0;
    }
    let runs = RUNS.fetch_add(1, Ordering::SeqCst);
    wait_until_blocking("the call is cancelled", || IS_CANCELLED.load(Ordering::SeqCst));
    runs
}

struct Nobody;

impl Observer for Nobody {
    fn observe(&self, _: &CallRecord<'_>) {}
}

/// Serves on a separate thread, which a tool may block.
fn serve(app: axum::Router) -> SocketAddr {
    let (send, address) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            send.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    address.recv().unwrap()
}

fn send(address: SocketAddr, headers: &str, message: &mcp_registry::serde_json::Value) -> TcpStream {
    let (mut stream, body) = (TcpStream::connect(address).unwrap(), message.to_string());
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n{headers}\r\n{body}", body.len()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_cancelled_call_is_not_run_again() {
    let app = Http::new(Server::new(Registry::builder_of(tools![slow]).observer(Nobody).build().unwrap())).router();
    let (one, other) = (serve(app.clone()), serve(app));
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    let hello = answer(send(one, "", &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })));
    let id = hello.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let session = format!("Mcp-Session-Id: {id}\r\n");
    let call = |id: u32, waits: bool| {
        let params = json!({ "name": "holes_slow", "arguments": { "waits": waits } });
        send(one, &session, &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    };
    // After a quick call, the next one is polled inline first.
    assert!(answer(call(6, false)).contains(r#""result":0"#));
    let call = call(7, true);
    wait_until_blocking("the call begins", || RUNS.load(Ordering::SeqCst) > 0);
    let off = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert!(answer(send(other, &session, &off)).starts_with("HTTP/1.1 202 "));
    IS_CANCELLED.store(true, Ordering::SeqCst);
    let answer = answer(call);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n:\n\n"), "{answer}");
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_stops_when_its_token_is_cancelled() {
    let token = CancelToken::new();
    let http = Http::new(Server::new(Registry::builder_of(tools![slow]).build().unwrap())).stop_with(token.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    token.cancel();
    let ended = http.serve_until(listener, std::future::pending());
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap().unwrap();
}
