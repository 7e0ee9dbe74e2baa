//! The real protocol, in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_core::{CallOptions, CallToolResult, ProtocolVersion, RpcError, ToolEvent, code};
use serde_json::{Value, json};

use crate::protocol::{Peer, Server};
use crate::util::lock::lock;

/// A client of a server, in memory: it speaks the real protocol, and keeps what it is told meanwhile.
///
/// ```standalone_crate
/// use mcp_registry::serde_json::json;
/// use mcp_registry::testing::{Client, assert_progress, block_on};
/// use mcp_registry::{ProtocolVersion, Registry, Server, ToolContext, mcp_tool};
///
/// /// Counts.
/// #[mcp_tool(module = "calc")]
/// fn count(#[ctx] cx: &ToolContext, to: u32) -> u32 {
///     cx.progress(to, to, "done");
///     to
/// }
///
/// # fn main() -> mcp_registry::Result<()> {
/// let server = Server::new(Registry::linked()?);
/// for era in [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25] {
///     let client = block_on(Client::connect(server.clone(), era))?;
///     assert_eq!(block_on(client.list_tools())?[0]["name"], "calc_count");
///     let result = block_on(client.call_tool("calc_count", json!({ "to": 3 })))?;
///     assert_eq!(result.structured_content.unwrap()["result"], 3);
///     assert_progress(&client.events(), &[(3.0, Some(3.0), "done")]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    server: Server,
    peer: Peer,
    era: ProtocolVersion,
    next_id: AtomicU64,
    told: Arc<Mutex<Vec<Value>>>,
}

impl Client {
    /// A client of the newest version, which needs no set-up.
    pub fn new(server: Server) -> Self {
        Self::with(server, ProtocolVersion::V2026_07_28, CallOptions::new())
    }

    /// A client of some version, set up as that version asks for.
    pub async fn connect(server: Server, era: ProtocolVersion) -> Result<Self, RpcError> {
        Self::connect_with(server, era, CallOptions::new()).await
    }

    /// As [`connect`](Self::connect), with what each call brings along: caller, trust, extensions.
    pub async fn connect_with(server: Server, era: ProtocolVersion, options: CallOptions) -> Result<Self, RpcError> {
        let client = Self::with(server, era, options);
        if !era.is_stateless() {
            let info = json!({ "name": "in memory", "version": "1.0.0" });
            let params = json!({ "protocolVersion": era.as_str(), "capabilities": {}, "clientInfo": info });
            client.request("initialize", params).await?;
            client.notify("notifications/initialized", json!({})).await;
        }
        Ok(client)
    }

    fn with(server: Server, era: ProtocolVersion, options: CallOptions) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let of_sink = Arc::clone(&told);
        let peer = Peer::new().options(options).notify(move |message| {
            let message = serde_json::from_slice(&message).unwrap_or_default();
            lock(&of_sink).push(message);
        });
        Self { server, peer, era, next_id: AtomicU64::new(1), told }
    }

    /// The tools, over all pages.
    pub async fn list_tools(&self) -> Result<Vec<Value>, RpcError> {
        let (mut tools, mut params) = (Vec::new(), json!({}));
        loop {
            let mut page = self.request("tools/list", params).await?;
            tools.extend(page["tools"].as_array_mut().map(std::mem::take).unwrap_or_default());
            match page.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
    }

    /// Calls a tool. Its progress is kept; see [`events`](Self::events).
    pub async fn call_tool(&self, name: &str, arguments: impl Into<Value>) -> Result<CallToolResult, RpcError> {
        let params = json!({ "name": name, "arguments": arguments.into(), "_meta": { "progressToken": name } });
        let result = self.request("tools/call", params).await?;
        CallToolResult::from_value(result).map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
    }

    /// Makes a request, with what the version asks for, and gives its result.
    pub async fn request(&self, method: &str, params: impl Into<Value>) -> Result<Value, RpcError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let params = self.completed(params.into());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let Some(mut answer) = self.send(message.to_string().as_bytes()).await else {
            return Err(RpcError::new(code::INTERNAL_ERROR, "the request was not answered; was it cancelled?"));
        };
        match answer.get_mut("error").map(Value::take) {
            Some(error) => Err(serde_json::from_value(error)
                .unwrap_or_else(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))),
            None => Ok(answer["result"].take()),
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: impl Into<Value>) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params.into() });
        self.send(message.to_string().as_bytes()).await;
    }

    /// Sends bytes as they are, and gives the answer if there is one.
    pub async fn send(&self, message: &[u8]) -> Option<Value> {
        let answer = self.server.handle(message, &self.peer).await?;
        Some(serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// The parameters with the `_meta` that each request of the newest version carries.
    fn completed(&self, mut params: Value) -> Value {
        if let (true, Value::Object(params)) = (self.era.is_stateless(), &mut params) {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), self.era.as_str().into());
                meta.entry("io.modelcontextprotocol/clientCapabilities").or_insert_with(|| json!({}));
                meta.entry("io.modelcontextprotocol/logLevel").or_insert_with(|| "debug".into());
            }
        }
        params
    }

    /// The notifications that came since this was last asked.
    pub fn notifications(&self) -> Vec<Value> {
        std::mem::take(&mut *lock(&self.told))
    }

    /// What tools have told since this or [`notifications`](Self::notifications) was last asked: progress and log.
    pub fn events(&self) -> Vec<ToolEvent> {
        self.notifications().iter().filter_map(event).collect()
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The connection, as the server sees it.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }
}

/// What a notification tells of a tool.
fn event(message: &Value) -> Option<ToolEvent> {
    let params = &message["params"];
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    match message["method"].as_str()? {
        "notifications/progress" => Some(ToolEvent::Progress {
            done: params["progress"].as_f64()?,
            total: params["total"].as_f64(),
            message: text(&params["message"]),
        }),
        "notifications/message" => Some(ToolEvent::Log {
            level: mcp_core::LogLevel::from_name(params["level"].as_str()?)?,
            message: text(&params["data"]).unwrap_or_else(|| params["data"].to_string()),
        }),
        _ => None,
    }
}
