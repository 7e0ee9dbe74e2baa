//! The ways in: each of them makes calls by name, with arguments as JSON text, and returns what the caller learns.
//!
//! Whoever adds a way in adds a variant: the matches are exhaustive.

use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use mcp_registry::error::ErrorDetail;
use mcp_registry::http::HttpService;
use mcp_registry::mcp::{CallToolResult, ProtocolVersion};
use mcp_registry::protocol::Peer;
use mcp_registry::rmcp::{Handler, Tools, merge};
use mcp_registry::rpc::RpcError;
use mcp_registry::stdio::serve_lines;
use mcp_registry::testing::Client;
use mcp_registry::{CallOptions, Content, Error, Http, Registry, Server, ToolCall, ToolResult};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::CallToolRequestParams;
use rmcp::{ServerHandler, ServiceError, ServiceExt as _, tool_handler};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Lines, duplex, split};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tower_service::Service as _;

/// How long a caller waits for one answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

columns! {
    /// A way to call a tool.
    Way {
        Call,
        TryCall,
        CallBlocking,
        CallMany,
        /// `call_bytes`.
        Bytes,
        /// `Server::handle`, in the newest version.
        Handle,
        /// `serve_lines`, with pipes in memory.
        Lines,
        /// A program that serves its stdin and stdout.
        Stdio,
        HttpSession,
        /// HTTP in the newest version, which has no sessions.
        HttpStateless,
        /// A batch of 2025-03-26.
        Batch,
        /// The method `call_tool`.
        Legacy,
        /// A message without JSON-RPC.
        Flat,
        RmcpMerge,
        RmcpHandler,
        TestingClient,
        /// The command `call` of a program.
        CommandLine,
    }
}

/// What is called.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) registry: Registry,
    /// What the server around the registry says about each call; a program has none.
    pub(crate) options: CallOptions,
    /// A program with the same tools, for the ways that need one: its command line is that of `cli::Cli`.
    pub(crate) program: Option<Arc<dyn Fn() -> Command + Send + Sync>>,
}

/// What a caller learns from one call.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) outcome: Outcome,
    /// Everything that the caller can read.
    pub(crate) text: String,
}

/// How a call ends for its caller.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The data of the result.
    Success(Value),
    /// A result that says what is wrong.
    Failure(ErrorDetail),
    /// An error of the protocol, with its code; of the command line, with its exit code.
    Protocol(i64, ErrorDetail),
    /// Nothing, or nothing that is an answer.
    NoAnswer(String),
}

impl Way {
    /// Whether the registry is in another process, so that calls have no options.
    pub(crate) fn is_program(self) -> bool {
        matches!(self, Self::Stdio | Self::CommandLine)
    }

    /// Makes one call.
    pub(crate) fn call(self, target: &Target, name: &str, arguments: &str) -> Reply {
        let mut replies = self.calls(target, &[(name, arguments)]);
        if replies.len() == 1 { replies.remove(0) } else { Reply::silence(format!("not one answer: {replies:?}")) }
    }

    /// Makes calls on one connection, each after the answer to the one before; `call_many` makes them at once.
    pub(crate) fn calls(self, target: &Target, calls: &[(&str, &str)]) -> Vec<Reply> {
        let (send, receive) = channel();
        let target = target.clone();
        let calls: Vec<Asked> = calls.iter().map(|(name, arguments)| Asked::new(name, arguments)).collect();
        let count = calls.len();
        // A thread of its own: whatever hangs, the test goes on.
        thread::spawn(move || {
            let _ = send.send(self.calls_here(&target, &calls));
        });
        let patience = PATIENCE * (u32::try_from(count).unwrap() + 1);
        let silence = |error| vec![Reply::silence(format!("the caller hangs or panics: {error}")); count];
        receive.recv_timeout(patience).unwrap_or_else(silence)
    }

    fn calls_here(self, target: &Target, calls: &[Asked]) -> Vec<Reply> {
        let Target { registry, options, .. } = target;
        if self == Self::CallBlocking {
            return calls.iter().map(|call| registry.call_blocking_with(&call.message(), options).into()).collect();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let replies = runtime.block_on(self.calls_async(target, calls));
        runtime.shutdown_background();
        replies
    }

    async fn calls_async(self, target: &Target, calls: &[Asked]) -> Vec<Reply> {
        let Target { registry, options, .. } = target;
        let mut replies = Vec::new();
        match self {
            Self::CallBlocking => unreachable!("it needs a thread outside of the runtime"),
            Self::Call => {
                for call in calls {
                    replies.push(patient(async { registry.call_with(&call.message(), options).await.into() }).await);
                }
            }
            Self::TryCall => {
                for call in calls {
                    replies
                        .push(patient(async { registry.try_call_with(&call.message(), options).await.into() }).await);
                }
            }
            Self::CallMany => {
                let calls: Vec<ToolCall> = calls.iter().map(Asked::message).collect();
                let results = timeout(PATIENCE, registry.call_many_with(&calls, options)).await;
                replies = results.unwrap_or_default().into_iter().map(Reply::from).collect();
            }
            Self::Bytes => {
                for Asked { name, arguments } in calls {
                    let mut out = Vec::new();
                    let call = async {
                        let called = registry.call_bytes(name, arguments.as_bytes(), options, &mut out).await;
                        called.map_or_else(Reply::from, |()| Reply::flat(&text(out)))
                    };
                    replies.push(patient(call).await);
                }
            }
            Self::CommandLine => {
                for call in calls {
                    replies.push(patient(call.typed(target)).await);
                }
            }
            Self::TestingClient => {
                let client = Client::connect_with(server(target), ProtocolVersion::V2026_07_28, options.clone());
                let client = client.await.unwrap();
                for Asked { name, arguments } in calls {
                    let call = client.call_tool(name, serde_json::from_str::<Value>(arguments).unwrap());
                    replies.push(patient(async { call.await.map_or_else(Reply::from, Reply::from) }).await);
                }
            }
            Self::RmcpMerge | Self::RmcpHandler => {
                let options = options.clone();
                let tools = Tools::new(registry).options(move |_| options.clone());
                let (here, there) = duplex(1 << 16);
                if self == Self::RmcpMerge {
                    let server = Merged { tools: merge(ToolRouter::new(), tools).unwrap() };
                    tokio::spawn(async move { server.serve(there).await.unwrap().waiting().await });
                } else {
                    tokio::spawn(async move { Handler::new(tools).serve(there).await.unwrap().waiting().await });
                }
                let client = timeout(PATIENCE, ().serve(here)).await.unwrap().unwrap();
                for Asked { name, arguments } in calls {
                    let call = CallToolRequestParams::new(name.clone());
                    let call = client.call_tool(call.with_arguments(serde_json::from_str(arguments).unwrap()));
                    replies.push(Box::pin(patient(async { call.await.into() })).await);
                }
            }
            Self::Handle
            | Self::Lines
            | Self::Stdio
            | Self::HttpSession
            | Self::HttpStateless
            | Self::Batch
            | Self::Legacy
            | Self::Flat => {
                let mut connection = Connection::open(self, target).await;
                for (id, call) in calls.iter().enumerate() {
                    let sent = connection.send(Some(id), call.sent(self, id), Some(&call.name));
                    replies.push(patient(async { Reply::received(self, id, sent.await) }).await);
                }
                replies.extend(connection.close().await);
            }
        }
        replies
    }
}

fn server(target: &Target) -> Server {
    Server::new(target.registry.clone())
}

fn text(bytes: impl Into<Vec<u8>>) -> String {
    String::from_utf8(bytes.into()).expect("answers are UTF-8")
}

async fn patient(call: impl Future<Output = Reply>) -> Reply {
    timeout(PATIENCE, call).await.unwrap_or_else(|_| Reply::silence("nothing comes"))
}

/// An rmcp server with the tools of a registry.
struct Merged {
    tools: ToolRouter<Self>,
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Merged {}

/// A call that is to be made.
struct Asked {
    name: String,
    arguments: String,
}

impl Asked {
    fn new(name: &str, arguments: &str) -> Self {
        Self { name: name.to_owned(), arguments: arguments.to_owned() }
    }

    fn message(&self) -> ToolCall {
        ToolCall::new(&*self.name, serde_json::from_str::<Value>(&self.arguments).unwrap())
    }

    /// The message that asks for this call, with the text of the arguments as it is.
    fn sent(&self, way: Way, id: usize) -> String {
        let (name, arguments) = (json!(self.name), &self.arguments);
        let meta = if way == Way::HttpStateless || way == Way::Handle {
            format!(r#","_meta":{}"#, meta())
        } else {
            String::new()
        };
        let method = if way == Way::Legacy { "call_tool" } else { "tools/call" };
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":{name},"arguments":{arguments}{meta}}}}}"#
        );
        match way {
            Way::Flat => format!(r#"{{"tool_name":{name},"arguments":{arguments}}}"#),
            Way::Batch => format!(r#"[{{"jsonrpc":"2.0","id":"ping","method":"ping"}},{call}]"#),
            _ => call,
        }
    }

    /// Makes the call with the command line of the program.
    async fn typed(&self, target: &Target) -> Reply {
        let mut command = program(target);
        command.args(["call", &*self.name, &*self.arguments]).stdin(Stdio::null());
        let output = command.output().await.unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        if out.trim().is_empty() {
            let code = output.status.code().unwrap_or(-1);
            return Reply::from((i64::from(code), ErrorDetail::new("CommandLine", err)));
        }
        // Earlier lines are what the tool prints.
        Reply { text: out.clone(), ..Reply::flat(out.lines().last().unwrap()) }
    }
}

fn program(target: &Target) -> Command {
    let mut command = target.program.as_ref().expect("this way needs a program")();
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A connection that carries messages.
#[allow(clippy::large_enum_variant, reason = "there are few")]
enum Connection {
    Server(Server, Peer),
    Lines {
        to: Box<dyn AsyncWrite + Send + Unpin>,
        from: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
        child: Option<Child>,
    },
    Http(HttpService, Option<String>),
}

impl Connection {
    /// Connects, and shakes hands in the versions that begin with it.
    async fn open(way: Way, target: &Target) -> Self {
        let options = target.options.clone();
        let (mut connection, version) = match way {
            Way::Lines => {
                let (here, there) = duplex(1 << 16);
                let ((input, output), (from, to)) = (split(there), split(here));
                tokio::spawn(serve_lines(server(target), options, input, output));
                (Self::lines(to, from, None), Some("2025-11-25"))
            }
            Way::Stdio => {
                let mut child = program(target).arg("serve").stdin(Stdio::piped()).spawn().unwrap();
                let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
                (Self::lines(to, from, Some(child)), Some("2025-11-25"))
            }
            Way::HttpSession | Way::HttpStateless => {
                let http = Http::new(server(target)).call_options(move |_| options.clone()).service();
                (Self::Http(http, None), (way == Way::HttpSession).then_some("2025-11-25"))
            }
            Way::Batch => (Self::server(target, options), Some("2025-03-26")),
            _ => (Self::server(target, options), None),
        };
        if let Some(version) = version {
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
            let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
            let answer = timeout(PATIENCE, connection.send(None, hello.to_string(), None)).await.unwrap();
            assert!(answer.contains(version), "{answer}");
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            connection.notify(ready.to_string()).await;
        }
        connection
    }

    fn server(target: &Target, options: CallOptions) -> Self {
        Self::Server(server(target), Peer::builder().options(options).build())
    }

    fn lines(
        to: impl AsyncWrite + Send + Unpin + 'static,
        from: impl AsyncRead + Send + Unpin + 'static,
        child: Option<Child>,
    ) -> Self {
        let from: Box<dyn AsyncRead + Send + Unpin> = Box::new(from);
        Self::Lines { to: Box::new(to), from: BufReader::new(from).lines(), child }
    }

    /// Sends a request, and returns what comes back, line by line up to its answer.
    async fn send(&mut self, id: Option<usize>, message: String, tool: Option<&str>) -> String {
        let id = id.map_or(json!("hello"), |id| json!(id));
        match self {
            Self::Server(server, peer) => text(server.handle(message.as_bytes(), peer).await.unwrap_or_default()),
            Self::Lines { to, from, .. } => {
                to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                let mut received = String::new();
                while let Ok(Some(line)) = from.next_line().await {
                    received += &(line.clone() + "\n");
                    if serde_json::from_str::<Value>(&line).is_ok_and(|line| line["id"] == id) {
                        break;
                    }
                }
                received
            }
            Self::Http(..) => {
                let (answer, session) = self.post(message, tool).await;
                if let (Self::Http(_, known), Some(session)) = (self, session) {
                    *known = Some(session);
                }
                answer
            }
        }
    }

    async fn notify(&mut self, message: String) {
        match self {
            Self::Server(server, peer) => _ = server.handle(message.as_bytes(), peer).await,
            Self::Lines { to, .. } => to.write_all(format!("{message}\n").as_bytes()).await.unwrap(),
            Self::Http(..) => _ = self.post(message, None).await,
        }
    }

    /// Posts a message; returns the answer and the session that begins with it.
    async fn post(&mut self, message: String, tool: Option<&str>) -> (String, Option<String>) {
        let Self::Http(service, session) = self else { unreachable!("only HTTP posts") };
        let mut request =
            http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        request = match session {
            Some(session) => request.header("mcp-session-id", &**session).header("mcp-protocol-version", "2025-11-25"),
            None if tool.is_none() => request,
            None => request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call"),
        };
        if let (None, Some(tool)) = (&session, tool) {
            request = request.header("mcp-name", tool);
        }
        let response = service.call(request.body(Body::from(message)).unwrap()).await.unwrap();
        let session = response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        let body = to_bytes(Body::new(response.into_body()), usize::MAX).await;
        let body = text(body.expect("the body ends"));
        // Events, or one message.
        (body.replace("event: message\n", "").replace("data: ", ""), session)
    }

    /// Ends the connection. What still comes was not asked for.
    async fn close(self) -> Vec<Reply> {
        let Self::Lines { mut to, mut from, child } = self else { return Vec::new() };
        let _ = to.shutdown().await;
        drop(to);
        let mut rest = Vec::new();
        let read = async {
            while let Ok(Some(line)) = from.next_line().await {
                rest.push(Reply::silence(format!("nobody asked for this: {line}")));
            }
        };
        if timeout(PATIENCE, read).await.is_err() {
            rest.push(Reply::silence("the server does not end"));
        }
        if let Some(mut child) = child {
            let ended = timeout(PATIENCE, child.wait()).await;
            if !ended.is_ok_and(|status| status.is_ok_and(|status| status.success())) {
                rest.push(Reply::silence("the program fails"));
            }
        }
        rest
    }
}

impl Reply {
    pub(crate) fn silence(what: impl Into<String>) -> Self {
        let what = what.into();
        Self { outcome: Outcome::NoAnswer(what.clone()), text: what }
    }

    /// The error, of the call or of the protocol.
    pub(crate) fn error(&self) -> Option<&ErrorDetail> {
        match &self.outcome {
            Outcome::Failure(error) | Outcome::Protocol(_, error) => Some(error),
            Outcome::Success(_) | Outcome::NoAnswer(_) => None,
        }
    }

    /// The type of the error; empty if there is none.
    pub(crate) fn error_type(&self) -> &str {
        self.error().map_or("", |error| error.error_type.as_str())
    }

    pub(crate) fn message(&self) -> &str {
        self.error().map_or("", |error| &error.error_message)
    }

    /// The data of a success.
    pub(crate) fn data(&self) -> Option<&Value> {
        match &self.outcome {
            Outcome::Success(data) => Some(data),
            _ => None,
        }
    }

    /// A flat result.
    fn flat(json: &str) -> Self {
        match ToolResult::parse(json) {
            Ok(result) => Self { text: json.to_owned(), ..result.into() },
            Err(error) => Self::silence(format!("{error}: {json}")),
        }
    }

    /// What came back for a message.
    fn received(way: Way, id: usize, received: String) -> Self {
        let answer = |line: &str| match serde_json::from_str::<Value>(line).ok()? {
            Value::Array(answers) => answers.into_iter().find(|answer| answer["id"] == id),
            answer => Some(answer).filter(|answer| way == Way::Flat || answer["id"] == id),
        };
        let answers: Vec<Value> = received.lines().filter_map(answer).collect();
        let [answer] = &answers[..] else { return Self::silence(format!("{} answers in: {received}", answers.len())) };
        let mut reply = if way == Way::Flat {
            Self::flat(&received)
        } else if let Some(error) = answer.get("error") {
            serde_json::from_value::<RpcError>(error.clone()).unwrap().into()
        } else if way == Way::Legacy {
            ToolResult::data(&answer["result"]).into()
        } else {
            match CallToolResult::from_value(answer["result"].clone()) {
                Ok(result) => result.into(),
                Err(error) => Self::silence(format!("{error}: {received}")),
            }
        };
        reply.text = received;
        reply
    }
}

impl From<ToolResult> for Reply {
    fn from(result: ToolResult) -> Self {
        let text = result.to_json();
        let outcome = match result.error {
            Some(error) if result.status.is_failure() => Outcome::Failure(error),
            // Before 2025-06-18, the data is only a text.
            _ => Outcome::Success(result.data.or_else(|| data_in(result.content?)).unwrap_or_default()),
        };
        Self { outcome, text }
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        // Who gets an `Error` can also read its debug output, but its sources are for the operator.
        ToolResult::failure(error).into()
    }
}

impl From<Result<ToolResult, Error>> for Reply {
    fn from(result: Result<ToolResult, Error>) -> Self {
        result.map_or_else(Self::from, Self::from)
    }
}

impl From<CallToolResult> for Reply {
    fn from(result: CallToolResult) -> Self {
        let text = result.to_json();
        Self { text, ..ToolResult::from(result).into() }
    }
}

impl From<RpcError> for Reply {
    fn from(error: RpcError) -> Self {
        Self { text: json!(error).to_string(), ..Self::from((error.code, error.to_detail())) }
    }
}

impl From<(i64, ErrorDetail)> for Reply {
    fn from((code, error): (i64, ErrorDetail)) -> Self {
        Self { text: json!(error).to_string(), outcome: Outcome::Protocol(code, error) }
    }
}

impl From<Result<rmcp::model::CallToolResult, ServiceError>> for Reply {
    fn from(result: Result<rmcp::model::CallToolResult, ServiceError>) -> Self {
        match result {
            Ok(result) => CallToolResult::from_value(json!(result)).unwrap().into(),
            Err(ServiceError::McpError(error)) => serde_json::from_value::<RpcError>(json!(error)).unwrap().into(),
            Err(error) => Self::silence(error.to_string()),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.text.chars().take(400).collect();
        match &self.outcome {
            Outcome::Success(_) => write!(f, "success {short}"),
            Outcome::Failure(_) => write!(f, "failure {short}"),
            Outcome::Protocol(code, _) => write!(f, "protocol error {code} {short}"),
            Outcome::NoAnswer(why) => write!(f, "no answer ({why})"),
        }
    }
}

/// The data that a text repeats.
fn data_in(content: Vec<Content>) -> Option<Value> {
    serde_json::from_str(content.first()?.as_text()?).ok()
}
