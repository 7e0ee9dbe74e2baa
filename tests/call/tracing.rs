//! Spans and events of calls. (A binary of its own, because a subscriber is global.)

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use mcp_core::support::block_on;
use mcp_registry::{CallOptions, Http, Registry, Server, ToolCall, mcp_tool, tools};
use serde_json::{Value, json};
use tower_service::Service as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Says something on the way.
#[mcp_tool(module = "traced")]
fn speak(#[arg(secret)] word: &str) -> Result<usize, String> {
    tracing::info!("in the tool");
    if word.is_empty() { Err("no word".to_owned()) } else { Ok(word.len()) }
}

/// Fails with an error that was not written for callers.
#[mcp_tool(module = "traced")]
fn fail() -> Result<u8, io::Error> {
    Err(io::Error::other("/srv is full"))
}

/// In its place.
#[mcp_tool(module = "traced", inline)]
fn inline() {}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Lines {
    fn take(&self) -> Vec<Value> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        assert!(!text.contains("hunter2"), "no secret is told: {text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn a_call_has_a_span_and_an_event_and_a_rejection_has_an_event() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().json().with_span_events(FmtSpan::CLOSE).with_writer(lines.clone());
    subscriber.init();
    let registry = Registry::builder_of(tools![speak, inline]).build().unwrap();
    let meta = json!({ "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    let options = CallOptions::new().request_id("7").caller("ada").meta(meta.as_object().unwrap().clone());

    let call = ToolCall::new("traced.speak", json!({ "word": "hunter2" }));
    assert!(!block_on(registry.call_with(&call, &options)).is_failure());
    let told = lines.take();
    let [in_tool, outcome, close] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!(in_tool["fields"]["message"], "in the tool");
    assert_eq!(in_tool["span"]["name"], "tool_call", "the span goes along to the thread of the pool");
    assert_eq!(in_tool["span"]["traceparent"], meta["traceparent"]);
    assert_eq!((&outcome["level"], &outcome["fields"]["tool"]), (&json!("INFO"), &json!("traced.speak")));
    let span = &close["span"];
    assert_eq!(
        (&span["outcome"], &span["caller"], &span["request_id"]),
        (&json!("success"), &json!("ada"), &json!("7"))
    );

    let call = ToolCall::new("traced.speak", json!({ "word": "" }));
    assert!(block_on(registry.call(&call)).is_failure());
    let told = lines.take();
    let outcome = &told[1];
    assert_eq!((&outcome["level"], &outcome["fields"]["outcome"]), (&json!("WARN"), &json!("failure")));
    assert_eq!(outcome["fields"]["error_type"], "ToolExecutionError");
    assert!(outcome["fields"]["message"].as_str().unwrap().contains("no word"));
    assert_eq!(told[2]["span"]["error_type"], "ToolExecutionError");

    assert_eq!(outcome["fields"]["hint"], Value::Null, "nothing was masked");

    let masked = Registry::builder_of(tools![fail]).mask_errors(true).build().unwrap();
    assert!(!block_on(masked.call(&ToolCall::new("traced.fail", json!({})))).to_json().contains("/srv"));
    let told = lines.take();
    let fields = &told[0]["fields"];
    assert!(fields["message"].as_str().unwrap().contains("/srv") && fields["correlation_id"].is_string(), "{fields}");
    let hint = fields["hint"].as_str().unwrap();
    assert!(hint.contains("`ToolError`") && hint.contains("`mask_errors(false)`"), "{hint}");

    let call = ToolCall::new("traced.speak", json!({ "word": 7 }));
    assert_eq!(block_on(registry.call(&call)).error.unwrap().error_type, "ValidationError");
    let told = lines.take();
    assert_eq!(told[0]["fields"]["error_type"], "ValidationError", "as the caller is told");

    let mut out = Vec::new();
    registry.call_bytes_blocking("traced.inline", b"{}", &CallOptions::new(), &mut out).unwrap();
    assert_eq!(lines.take().len(), 2, "the short way is not taken while someone listens");

    let long = "n".repeat(1_000_000);
    let options = CallOptions::new().request_id(&*long).caller(&*long);
    assert!(block_on(registry.call_with(&ToolCall::new(&*long, json!({})), &options)).is_failure());
    let told = lines.take();
    let bytes = told.iter().map(|line| line.to_string().len()).sum::<usize>();
    assert!(bytes < 10_000, "names and ids are cut: {bytes} bytes");

    let mut service = Http::new(Server::new(registry)).token("s3cret").service();
    let guess = Request::post("/mcp").header("Host", "localhost").header("Authorization", "Bearer gue55");
    let mut guess = guess.body(Body::empty()).unwrap();
    let client: SocketAddr = "192.0.2.7:4711".parse().unwrap();
    guess.extensions_mut().insert(client);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(service.call(guess)).unwrap().status(), 401);
    let told = lines.take();
    let [rejected] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!((&rejected["level"], &rejected["fields"]["reason"]), (&json!("WARN"), &json!("wrong_token")));
    assert_eq!((&rejected["fields"]["client"], &rejected["fields"]["count"]), (&json!("192.0.2.7:4711"), &json!(1)));
    let text = rejected.to_string();
    assert!(!text.contains("gue55") && !text.contains("s3cret"), "{text}");
}
