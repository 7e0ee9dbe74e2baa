//! Streams in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_registry::error::TransportError;
use mcp_registry::registry::OutputCheck;
use mcp_registry::stdio::serve_lines;
use mcp_registry::{AuditLog, CallOptions, Registry, Server, Tool, ToolContext, mcp_tool, tools};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex};

use super::pipes::{call, result_of};

/// Adds two numbers.
#[mcp_tool(module = "t", inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A text so long.
#[mcp_tool(module = "t")]
async fn text(length: usize) -> String {
    tokio::task::yield_now().await;
    "x".repeat(length)
}

/// A long text, at once.
#[mcp_tool(module = "t", inline)]
fn long() -> String {
    "x".repeat(10_000)
}

/// Waits until it is dropped.
#[mcp_tool(module = "t")]
async fn wait(#[ctx] cx: &ToolContext) {
    let _told = cx.extensions().get::<Told>().cloned();
    std::future::pending::<()>().await;
}

/// A JSON value that was written to a file by hand.
#[mcp_tool(module = "t", inline)]
fn pretty() -> mcp_registry::Json<Box<serde_json::value::RawValue>> {
    mcp_registry::Json(serde_json::value::RawValue::from_string("{\n  \"a\": 1\n}".to_owned()).unwrap())
}

/// Sends when it is dropped for the last time.
#[derive(Clone)]
struct Told(#[allow(dead_code, reason = "kept")] tokio::sync::mpsc::Sender<()>);

fn server() -> Server {
    Server::new(
        Registry::builder_of(tools![add, text, long, wait, pretty, watch])
            .check_output(OutputCheck::Never)
            .build()
            .unwrap(),
    )
}

async fn served(input: &str) -> Vec<Value> {
    let mut output = Vec::new();
    serve_lines(server(), CallOptions::new(), input.as_bytes(), &mut output).await.unwrap();
    String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn any_streams_are_served_to_their_end() {
    let requests = [
        call(1, "t_text", &json!({ "length": 3 })),
        call(2, "t_add", &json!({ "a": 1, "b": 2 })),
        call(3, "t_pretty", &json!({})),
    ];
    let answers = served(&requests.map(|request| request.to_string()).join("\n")).await;
    assert_eq!(answers.len(), 3);
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(*result_of(answer(1)), "xxx");
    assert_eq!(*result_of(answer(2)), 3);
    assert_eq!(answer(3)["result"]["structuredContent"], json!({ "a": 1 }));
    assert_eq!(served("").await, [] as [Value; 0]);
}

#[tokio::test]
async fn more_answers_than_there_is_room_for_all_arrive() {
    let (client, server_side) = duplex(1000);
    let (input, output) = tokio::io::split(server_side);
    let serving = tokio::spawn(serve_lines(server(), CallOptions::new(), input, output));
    let (from, mut to) = tokio::io::split(client);
    let writing = tokio::spawn(async move {
        for id in 0..500 {
            let request = format!("{}\n", call(id, "t_text", &json!({ "length": 20_000 })));
            to.write_all(request.as_bytes()).await.unwrap();
        }
        to.shutdown().await.unwrap();
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!writing.is_finished());
    let (mut lines, mut count) = (BufReader::new(from).lines(), 0);
    while let Some(line) = lines.next_line().await.unwrap() {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(result_of(&answer).as_str().unwrap().len(), 20_000);
        count += 1;
    }
    assert_eq!(count, 500);
    writing.await.unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn no_more_is_read_from_a_client_that_does_not_read() {
    let (client, server_side) = duplex(1000);
    let (input, output) = tokio::io::split(server_side);
    let serving = tokio::spawn(serve_lines(server(), CallOptions::new(), input, output));
    let (from, mut to) = tokio::io::split(client);
    let sent = Arc::new(AtomicUsize::new(0));
    let of_writer = Arc::clone(&sent);
    let writing = tokio::spawn(async move {
        for id in 0..1000 {
            let request = format!("{}\n", call(id, "t_text", &json!({ "length": 20_000 })));
            to.write_all(request.as_bytes()).await.unwrap();
            of_writer.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (mut before, mut same) = (0, 0);
    while same < 10 && !writing.is_finished() {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = sent.load(Ordering::Relaxed);
        (before, same) = (now, if now == before { same + 1 } else { 0 });
    }
    // One MiB of answers waits, and a few that were under way.
    assert!(before < 200, "{before} requests were read");
    writing.abort();
    drop(from);
    serving.abort();
}

#[tokio::test]
async fn a_subscription_ends_with_its_connection() {
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let (mut client, server_side) = duplex(1000);
    let (input, output) = tokio::io::split(server_side);
    let options = CallOptions::new().extension(Told(send));
    let serving = tokio::spawn(serve_lines(server(), options, input, output));
    client.write_all(format!("{}\n", listen("l")).as_bytes()).await.unwrap();
    client.read_exact(&mut [0; 20]).await.unwrap();
    serving.abort();
    let _ = serving.await;
    // No sender is left.
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), receive.recv()).await, Ok(None));
}

#[tokio::test]
async fn calls_of_a_client_that_disconnected_are_cancelled() {
    for dropped in [false, true] {
        let (send, mut receive) = tokio::sync::mpsc::channel(1);
        let options = CallOptions::new().extension(Told(send));
        let (mut client, server_side) = duplex(1000);
        let (input, output) = tokio::io::split(server_side);
        let serving = tokio::spawn(serve_lines(server(), options, input, output));
        client.write_all(format!("{}\n", call(1, "t_wait", &json!({}))).as_bytes()).await.unwrap();
        client.write_all(format!("{}\n", call(2, "t_add", &json!({ "a": 1, "b": 1 }))).as_bytes()).await.unwrap();
        client.read_exact(&mut [0; 20]).await.unwrap();
        if dropped {
            serving.abort();
            let _ = serving.await;
        } else {
            client.write_all(format!("{}\n", call(3, "t_add", &json!({ "a": 1, "b": 1 }))).as_bytes()).await.unwrap();
            drop(client);
            serving.await.unwrap().unwrap();
        }
        // No sender is left.
        let over = tokio::time::timeout(Duration::from_secs(10), receive.recv()).await;
        assert_eq!(over, Ok(None), "dropped: {dropped}");
    }
}

#[tokio::test]
async fn requests_and_a_subscription_at_the_end_of_input_are_answered() {
    // More requests than are answered at a time, and then a subscription.
    let many = (0..300).map(|id| call(id, "t_long", &json!({})).to_string() + "\n").collect::<String>();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    let listen = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
    let answers = tokio::time::timeout(Duration::from_secs(60), served(&format!("{many}{listen}"))).await.unwrap();
    // Including the acknowledgement.
    assert_eq!(answers.len(), 302);
    assert_eq!(answers.iter().filter(|answer| answer["id"] == "l").count(), 1);
}

#[tokio::test]
async fn the_oldest_versions_are_supported_and_2025_03_26_has_batches() {
    for version in ["2025-03-26", "2024-11-05"] {
        let client = json!({ "name": "c", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let answers = served(&format!("{initialize}\n{}\n{}\n", json!([ping(1), ping(2)]), ping(3))).await;
        let [initialized, batch, last] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(initialized["result"]["protocolVersion"], version);
        assert_eq!(last["id"], 3);
        match version {
            "2025-03-26" => assert_eq!((&batch[0]["id"], &batch[1]["id"]), (&json!(1), &json!(2))),
            _ => assert_eq!(batch["error"]["code"], -32600),
        }
    }
}

/// Blocks until the call is cancelled.
#[mcp_tool(module = "t")]
fn watch(#[ctx] cx: &ToolContext) {
    let _told = cx.extensions().get::<Told>().cloned();
    while !cx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn calls_that_outlast_the_end_of_input_are_cancelled_and_answered() {
    let server = server().drain_timeout(Duration::from_millis(50));
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let options = CallOptions::new().extension(Told(send));
    let requests = [call(1, "t_wait", &json!({})), call(2, "t_watch", &json!({}))];
    let input = requests.map(|request| request.to_string()).join("\n");
    let mut output = Vec::new();
    let serving = serve_lines(server, options, input.as_bytes(), &mut output);
    tokio::time::timeout(Duration::from_secs(30), serving).await.unwrap().unwrap();
    let answers: Vec<_> = std::str::from_utf8(&output).unwrap().lines().collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.contains("because the server is shutting down")), "{answers:?}");
    // Both tools have ended: the async one was dropped, and the plain one has seen that it is cancelled.
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), receive.recv()).await, Ok(None));
}

fn listen(id: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })
}

#[tokio::test]
async fn a_client_that_does_not_read_is_notified_once_that_the_list_changed() {
    let server = server();
    let registry = server.registry().clone();
    let (client, server_side) = duplex(4096);
    let (input, output) = tokio::io::split(server_side);
    let serving = tokio::spawn(serve_lines(server, CallOptions::new(), input, output));
    let (from, mut to) = tokio::io::split(client);
    let mut lines = BufReader::new(from).lines();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } },
    });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    to.write_all(format!("{initialize}\n{initialized}\n{}\n{}\n", listen("a"), listen("b")).as_bytes()).await.unwrap();
    for _ in 0..3 {
        lines.next_line().await.unwrap().unwrap();
    }
    let change = || {
        let tool = Tool::new("t.new", json!({ "type": "object", "properties": {} }), |_, _| async {});
        registry.register(tool.description("Is new.")).unwrap();
        assert!(registry.unregister("t.new"));
    };
    // Fills the stream, so that the server cannot write everything.
    to.write_all(format!("{}\n", call(2, "t_long", &json!({}))).as_bytes()).await.unwrap();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        (0..500).for_each(|_| change());
    }
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n").await.unwrap();
    to.shutdown().await.unwrap();
    let (mut answered, mut told) = (Vec::new(), std::collections::BTreeMap::<String, usize>::new());
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value = serde_json::from_str(&line).unwrap();
        match line.get("id") {
            Some(id) => answered.push(id.clone()),
            None if line["method"] == "notifications/tools/list_changed" => {
                let id = &line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
                *told.entry(id.to_string()).or_default() += 1;
            }
            None => panic!("{line}"),
        }
    }
    assert_eq!(answered.len(), 4, "{answered:?}");
    let once = ["\"a\"", "\"b\"", "null"].map(|id| (id.to_owned(), 1));
    assert_eq!(told.into_iter().collect::<Vec<_>>(), once);
    serving.await.unwrap().unwrap();
}

/// Input that cannot be read.
struct Unreadable;

impl tokio::io::AsyncRead for Unreadable {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Err(std::io::Error::other("the disk is on fire")))
    }
}

#[tokio::test]
async fn s3_43_input_that_cannot_be_read_is_a_transport_error() {
    let error = serve_lines(server(), CallOptions::new(), Unreadable, Vec::new()).await.unwrap_err();
    assert!(matches!(error, TransportError::Io(_)), "{error}");
    assert_eq!(error.to_string(), "the connection failed: the disk is on fire; check it and try again");
}

#[tokio::test]
async fn a_refused_call_is_recorded_once_over_stdio() {
    let audit = AuditLog::new();
    let server = Server::new(Registry::builder_of(tools![add]).observer(audit.clone()).build().unwrap());
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t_add","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t_add","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"call_tool","params":{"tool_name":"t.add","args":5}}"#,
        r#"{"tool_name":"t.add"}"#,
        r#"{"tool_name":"t.add","arguments":{"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t_add"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#,
    ];
    let mut output = Vec::new();
    serve_lines(server, CallOptions::new(), lines.join("\n").as_bytes(), &mut output).await.unwrap();
    assert_eq!(output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 7);
    let tools: Vec<String> = audit.records().iter().map(|record| record.tool.clone()).collect();
    assert_eq!(tools, ["t.add", "t.add", "", "t.add", "t.add", "t.add", "t.add"]);
}
