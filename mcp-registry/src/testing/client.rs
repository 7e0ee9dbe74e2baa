//! An in-memory client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_core::CallOptions;
use mcp_core::context::ToolEvent;
use mcp_core::mcp::{CallToolResult, ProtocolVersion};
use mcp_core::rpc::{RpcError, code};
use serde_json::{Value, json};

use crate::protocol::{Peer, Server};
use crate::util::lock::lock;

/// An in-memory client of a server. It speaks the real protocol and keeps the notifications.
///
/// ```standalone_crate
/// use mcp_registry::serde_json::json;
/// use mcp_registry::testing::{Client, assert_progress, block_on};
/// use mcp_registry::{Registry, Server, ToolContext, mcp_tool};
/// use mcp_registry::mcp::ProtocolVersion;
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
/// for version in [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25] {
///     let client = block_on(Client::connect(server.clone(), version))?;
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
    version: ProtocolVersion,
    next_id: AtomicU64,
    notifications: Arc<Mutex<Vec<Value>>>,
}

impl Client {
    /// A client of the newest version, which needs no handshake.
    pub fn new(server: Server) -> Self {
        Self::with(server, ProtocolVersion::V2026_07_28, CallOptions::new())
    }

    /// A client of this version, after the handshake.
    pub async fn connect(server: Server, version: ProtocolVersion) -> Result<Self, RpcError> {
        Self::connect_with(server, version, CallOptions::new()).await
    }

    /// Like [`connect`](Self::connect), with options for each call: caller, trust, extensions.
    pub async fn connect_with(
        server: Server,
        version: ProtocolVersion,
        options: CallOptions,
    ) -> Result<Self, RpcError> {
        let client = Self::with(server, version, options);
        if !version.is_stateless() {
            let info = json!({ "name": "in memory", "version": "1.0.0" });
            let params = json!({ "protocolVersion": version.as_str(), "capabilities": {}, "clientInfo": info });
            client.request("initialize", params).await?;
            client.notify("notifications/initialized", json!({})).await;
        }
        Ok(client)
    }

    fn with(server: Server, version: ProtocolVersion, options: CallOptions) -> Self {
        let notifications = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&notifications);
        let peer = Peer::builder().options(options).on_notification(move |message| {
            let message = serde_json::from_slice(&message).unwrap_or_default();
            lock(&received).push(message);
        });
        let peer = peer.build();
        Self { server, peer, version, next_id: AtomicU64::new(1), notifications }
    }

    /// Lists the tools of all pages.
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

    /// Calls a tool and requests its progress; see [`events`](Self::events).
    pub async fn call_tool(&self, name: &str, arguments: impl Into<Value>) -> Result<CallToolResult, RpcError> {
        let params = json!({ "name": name, "arguments": arguments.into(), "_meta": { "progressToken": name } });
        let result = self.request("tools/call", params).await?;
        CallToolResult::from_value(result).map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
    }

    /// Sends a request, with the `_meta` that the version requires, and returns its result.
    pub async fn request(&self, method: &str, params: impl Into<Value>) -> Result<Value, RpcError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let params = self.with_meta(params.into());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let Some(mut response) = self.send(message.to_string().as_bytes()).await else {
            return Err(RpcError::new(code::INTERNAL_ERROR, "the request was not answered; was it cancelled?"));
        };
        match response.get_mut("error").map(Value::take) {
            Some(error) => Err(serde_json::from_value(error)
                .unwrap_or_else(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))),
            None => Ok(response["result"].take()),
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: impl Into<Value>) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params.into() });
        self.send(message.to_string().as_bytes()).await;
    }

    /// Sends raw bytes, and returns the response if there is one.
    pub async fn send(&self, message: &[u8]) -> Option<Value> {
        let response = self.server.handle(message, &self.peer).await?;
        Some(serde_json::from_slice(&response).unwrap_or_default())
    }

    /// Adds the `_meta` that each request of the newest version requires.
    fn with_meta(&self, mut params: Value) -> Value {
        if let (true, Value::Object(params)) = (self.version.is_stateless(), &mut params) {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), self.version.as_str().into());
                meta.entry("io.modelcontextprotocol/clientCapabilities").or_insert_with(|| json!({}));
                meta.entry("io.modelcontextprotocol/logLevel").or_insert_with(|| "debug".into());
            }
        }
        params
    }

    /// Takes the notifications since the last call of this method.
    pub fn notifications(&self) -> Vec<Value> {
        std::mem::take(&mut *lock(&self.notifications))
    }

    /// Takes the notifications since the last call of this method, as events of tools: progress and log messages.
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

/// The event that a notification carries.
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
