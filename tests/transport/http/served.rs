//! The server under test, and its tools.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use mcp_registry::schemars::JsonSchema;
use mcp_registry::{
    Http, Json, LogLevel, Registry, RegistryBuilder, Server, Tool, ToolContext, ToolError, mcp_tool, tools,
};
use serde::Deserialize;
use serde_json::{Value, json};
use support::LONG;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::wire::{Ask, Reply, Wire};

/// A log that tools write to, and a signal that they wait for.
#[derive(Clone)]
pub(crate) struct Log(Arc<(Mutex<Vec<String>>, Condvar)>, Arc<watch::Sender<bool>>);

impl Log {
    pub(crate) fn new() -> Self {
        Self(Arc::default(), Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn note(&self, text: &str) {
        self.0.0.lock().unwrap().push(text.to_owned());
        self.0.1.notify_all();
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.0.lock().unwrap().iter().filter(|known| *known == text).count()
    }

    /// Waits until the text was noted this many times.
    pub(crate) fn wait_for(&self, text: &str, times: usize) {
        let enough = |noted: &mut Vec<String>| noted.iter().filter(|known| *known == text).count() < times;
        let (noted, timeout) = self.0.1.wait_timeout_while(self.0.0.lock().unwrap(), LONG, enough).unwrap();
        assert!(!timeout.timed_out(), "`{text}` is not {times} times in {noted:?}");
    }

    /// Releases all tools that wait.
    pub(crate) fn release(&self) {
        self.1.send_replace(true);
    }

    fn is_released(&self) -> bool {
        *self.1.borrow()
    }

    async fn released(&self) {
        let _ = self.1.subscribe().wait_for(|released| *released).await;
    }
}

fn log(cx: &ToolContext) -> Log {
    cx.state::<Log>().unwrap().clone()
}

/// Notes how a tool ends.
struct Ends {
    log: Log,
    cx: ToolContext,
    well: bool,
}

impl Ends {
    fn begin(cx: &ToolContext) -> Self {
        let ends = Self { log: log(cx), cx: cx.clone(), well: false };
        ends.log.note("began");
        ends
    }

    fn well(mut self) {
        self.well = true;
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let text = match (self.well, self.cx.is_cancelled()) {
            (true, _) => "ended",
            (false, true) => "cancelled",
            (false, false) => "dropped",
        };
        self.log.note(text);
    }
}

/// Adds two numbers.
#[mcp_tool(module = "t", inline)]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Gives back a text.
#[mcp_tool(module = "t", max_result = 64 << 20)]
async fn echo(text: String) -> String {
    tokio::task::yield_now().await;
    text
}

/// Gives back a text, from the pool.
#[mcp_tool(module = "t")]
fn say(text: String) -> String {
    text
}

/// Waits until it is released or cancelled.
#[mcp_tool(module = "t")]
async fn wait(#[ctx] cx: &ToolContext) -> &'static str {
    let ends = Ends::begin(cx);
    ends.log.released().await;
    ends.well();
    "released"
}

/// Tells of a step, and waits until it is released or cancelled.
#[mcp_tool(module = "t")]
async fn step(#[ctx] cx: &ToolContext) -> &'static str {
    let ends = Ends::begin(cx);
    cx.progress(1, 2, "one");
    ends.log.released().await;
    cx.progress(2, 2, "two");
    ends.well();
    "released"
}

fn block_until_released(cx: &ToolContext) {
    let ends = Ends::begin(cx);
    while !ends.log.is_released() {
        if cx.is_cancelled() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    ends.well();
}

/// Blocks a thread until it is released or cancelled.
#[mcp_tool(module = "t")]
fn block(#[ctx] cx: &ToolContext) -> &'static str {
    block_until_released(cx);
    "released"
}

/// Tells of a step, and blocks a thread until it is released or cancelled.
#[mcp_tool(module = "t")]
fn block_step(#[ctx] cx: &ToolContext) -> &'static str {
    cx.progress(1, 2, "one");
    block_until_released(cx);
    "released"
}

/// Takes steps at once.
#[mcp_tool(module = "t", inline)]
fn steps(#[ctx] cx: &ToolContext, count: u32) -> u32 {
    for step in 1..=count {
        cx.progress(step, count, format!("step {step}"));
    }
    count
}

/// Takes steps, from the pool.
#[mcp_tool(module = "t")]
fn pool_steps(#[ctx] cx: &ToolContext, count: u32) -> u32 {
    for step in 1..=count {
        cx.progress(step, count, format!("step {step}"));
    }
    count
}

/// Logs.
#[mcp_tool(module = "t", inline)]
fn logs(#[ctx] cx: &ToolContext) {
    cx.log(LogLevel::Debug, "a detail");
    cx.log(LogLevel::Warning, "something odd");
}

/// Fails for a reason that is nobody's business.
#[mcp_tool(module = "t")]
fn fail() -> Result<(), std::io::Error> {
    Err(std::io::Error::other("no route to db-7.internal"))
}

/// Panics.
#[mcp_tool(module = "t")]
fn panic() {
    panic!("on purpose");
}

/// Panics at once.
#[mcp_tool(module = "t", inline)]
fn panic_inline() {
    panic!("on purpose");
}

/// Panics in a future.
#[mcp_tool(module = "t")]
async fn panic_async() {
    tokio::task::yield_now().await;
    panic!("on purpose");
}

/// Needs more of the client.
#[mcp_tool(module = "t")]
fn needs() -> Result<(), ToolError> {
    Err(ToolError::client_lacks(json!({ "sampling": {} })))
}

/// Deletes.
#[mcp_tool(module = "t", destructive)]
fn delete() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[schemars(extend("x-mcp-header" = "Zip"))]
    zip: Option<i64>,
}

/// Has arguments that are repeated in headers.
#[mcp_tool(module = "t", inline)]
fn mirrored(
    #[arg(header = "Region", alias = "area")] region: Option<String>,
    #[arg(header = "Count")] count: Option<i64>,
    #[arg(header = "Dry")] dry: Option<bool>,
    place: Option<Place>,
    anything: Option<Value>,
) -> String {
    let anything = anything.is_some();
    format!("{region:?} {count:?} {dry:?} {:?} {anything}", place.and_then(|place| place.zip))
}

/// JSON that was written by hand, over several lines.
#[derive(JsonSchema)]
struct Handwritten {
    #[allow(dead_code, reason = "it is in the schema")]
    a: [u8; 2],
}

impl serde::Serialize for Handwritten {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = "{\n  \"a\": [1,\r\n\n2]\n}".to_owned();
        serde_json::value::RawValue::from_string(text).unwrap().serialize(serializer)
    }
}

/// Returns JSON of several lines.
#[mcp_tool(module = "t", inline)]
fn lines() -> Handwritten {
    Handwritten { a: [1, 2] }
}

/// A value that a layer adds to the request.
#[derive(Clone)]
pub(crate) struct User(pub(crate) &'static str);

/// What it knows of the request.
#[mcp_tool(module = "t")]
fn know(#[ctx] cx: &ToolContext) -> Json<Value> {
    let headers = cx.extensions().get::<axum::http::HeaderMap>();
    Json(json!({
        "caller": cx.caller(),
        "trust": cx.trust().as_str(),
        "user": cx.extensions().get::<User>().map(|user| user.0),
        "header": headers.and_then(|headers| headers.get("x-asks")?.to_str().ok()),
        "request": cx.request_id(),
    }))
}

pub(crate) fn builder(log: &Log) -> RegistryBuilder {
    let tools = tools![
        add,
        echo,
        say,
        wait,
        step,
        block,
        block_step,
        steps,
        pool_steps,
        logs,
        fail,
        panic,
        panic_inline,
        panic_async,
        needs,
        delete,
        mirrored,
        lines,
        know
    ];
    Registry::builder_of(tools).state(log.clone())
}

/// A tool that comes later.
pub(crate) fn new_tool(name: &str) -> Tool {
    let schema = json!({ "type": "object", "properties": {} });
    Tool::new(name, schema, |_, _| async { "new".to_owned() }).description("Is new.")
}

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) log: Log,
    pub(crate) registry: Registry,
    stop: Option<oneshot::Sender<()>>,
    over: Mutex<Receiver<Result<(), String>>>,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::with(|http| http)
    }

    pub(crate) fn with(set: impl FnOnce(Http) -> Http) -> Self {
        let log = Log::new();
        let server = Server::new(builder(&log).build().unwrap()).info("served", "1.2.3");
        Self::new(server, log, set)
    }

    pub(crate) fn new(server: Server, log: Log, set: impl FnOnce(Http) -> Http) -> Self {
        let registry = server.registry().clone();
        let http = set(Http::new(server));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (send, over) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let ended = runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                http.serve_until(listener, async { drop(stopped.await) }).await
            });
            let _ = send.send(ended.map_err(|error| error.to_string()));
            runtime.shutdown_background();
        });
        Self { address, log, registry, stop: Some(stop), over: Mutex::new(over) }
    }

    pub(crate) fn wire(&self) -> Wire {
        Wire::open(self.address)
    }

    /// Sends a request on a new connection.
    pub(crate) fn ask(&self, ask: &Ask) -> Reply {
        self.wire().ask(ask)
    }

    /// Begins a session.
    pub(crate) fn session(&self, version: &str) -> String {
        let reply = self.ask(&initialize(version));
        assert_eq!(reply.status, 200, "{reply:?}");
        let id = reply.header("mcp-session-id").expect("a session").to_owned();
        let done = notification_in(&id, "notifications/initialized", &json!({}));
        assert_eq!(self.ask(&done).status, 202);
        id
    }

    /// Checks that it still answers.
    pub(crate) fn is_well(&self) {
        let reply = self.ask(&super::wire::call("2026-07-28", "t_add", json!({ "a": 2, "b": 3 })));
        assert_eq!((reply.status, reply.result()), (200, json!(5)));
    }

    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until it ends.
    pub(crate) fn ended(&self) {
        self.over.lock().unwrap().recv_timeout(LONG).expect("it does not end").unwrap();
    }

    /// Whether it keeps running for this long.
    pub(crate) fn goes_on(&self, time: Duration) -> bool {
        matches!(self.over.lock().unwrap().recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }
}

pub(crate) fn initialize(version: &str) -> Ask {
    let params =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    super::wire::older("initialize", &params).without("MCP-Protocol-Version")
}

/// A notification in a session.
pub(crate) fn notification_in(session: &str, method: &str, params: &Value) -> Ask {
    super::wire::notification(method, params).with("Mcp-Session-Id", session)
}
