//! The protocol without I/O: takes a message, returns the reply.
//!
//! [`Server`] answers the messages of any number of connections; a [`Peer`] is one connection. Use them to write your
//! own transport: `serve_stdio` and `serve_http` are built on them.

mod batch;
mod call;
mod call_result;
mod decode;
mod encode;
mod errors;
mod flat;
mod headers;
mod in_flight;
mod initialize;
mod list;
mod peer;
mod reply;
mod subscriptions;

use std::fmt;
use std::sync::{Arc, OnceLock};
#[cfg(feature = "stdio")]
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mcp_core::mcp::Dialect;
use mcp_core::message::Strictness;
use mcp_core::rpc::{Id, RpcError, RpcRejection, code};
use mcp_core::support::{Members, Message, RpcParams};
use serde::Deserialize;
use serde_json::{Value, json};

use self::batch::Batch;
use self::call::ToolRequest;
#[cfg(feature = "rmcp")]
pub(crate) use self::decode::check_meta_size;
use self::decode::{Params, Request};
pub(crate) use self::encode::respond_error;
#[cfg(any(feature = "stdio", feature = "http"))]
pub(crate) use self::encode::{Delivery, delivery};
use self::encode::{fail, respond};
pub(crate) use self::errors::internal;
#[cfg(feature = "rmcp")]
pub(crate) use self::errors::protocol_error;
use self::errors::{call_without_id, id_in_use, invalid_request, unknown_method};
#[cfg(feature = "http")]
pub(crate) use self::errors::{header_mismatch, unsupported_version};
use self::headers::NoHeaders;
#[cfg(feature = "http")]
pub(crate) use self::headers::RepeatedFields;
pub(crate) use self::headers::TransportHeaders;
#[cfg(feature = "rmcp")]
pub(crate) use self::initialize::contract_meta;
use self::list::Lists;
#[cfg(feature = "http")]
pub(crate) use self::peer::WeakPeer;
pub use self::peer::{Peer, PeerBuilder};
pub use self::reply::PendingReply;
#[cfg(feature = "http")]
pub(crate) use self::reply::Reply;
pub(crate) use self::reply::{ReplyKind, Step};
use self::subscriptions::Subscribers;
use crate::registry::{Registry, Watcher};
use crate::util::panic::guard;

/// The default of [`Server::max_message_bytes`].
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// The default of [`Server::max_in_flight`].
pub(crate) const MAX_IN_FLIGHT: usize = 1024;

/// The default of [`Server::drain_timeout`].
#[cfg(feature = "stdio")]
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers messages of MCP 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05, the legacy methods
/// `list_tools` and `call_tool`, and flat calls, each in its own format. Cheap to clone.
///
/// A client gets only what its version defines. Before 2025-06-18, tools have no output schema, title or `_meta`, and
/// results have no structured content; before 2025-03-26, tools have no annotations. A content block that the version
/// does not have (a resource link, audio) becomes a text block.
///
/// ```standalone_crate
/// use mcp_registry::testing::block_on;
/// use mcp_registry::{Registry, Server, mcp_tool};
/// use mcp_registry::protocol::Peer;
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc", inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # fn main() -> mcp_registry::Result<()> {
/// let server = Server::new(Registry::linked()?).info("calculator", "1.0.0");
/// let message = br#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
///                    "params": {"name": "calc_add", "arguments": {"a": 2, "b": 3}}}"#;
/// let answer = block_on(server.handle(message, &Peer::new())).expect("a request is answered");
/// let answer: mcp_registry::serde_json::Value = mcp_registry::serde_json::from_slice(&answer)?;
/// assert_eq!(answer["result"]["structuredContent"]["result"], 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    registry: Registry,
    settings: Settings,
    /// The encoded lists of the last set of tools.
    lists: ArcSwapOption<Lists>,
    subscribers: Arc<Subscribers>,
    /// Set when the first connection subscribes to changes.
    watcher: OnceLock<Watcher>,
    /// The end of each result in the newest version.
    result_suffix: OnceLock<String>,
}

#[derive(Clone)]
struct Settings {
    name: String,
    version: String,
    instructions: Option<String>,
    max_message_bytes: usize,
    max_in_flight: usize,
    #[cfg(feature = "stdio")]
    drain_timeout: Duration,
    page_size: usize,
    legacy_methods: bool,
    reject_arguments: bool,
    flat_strictness: Strictness,
}

impl Server {
    /// Serves the tools of a registry. The server has the name of the running program.
    pub fn new(registry: Registry) -> Self {
        let settings = Settings {
            name: program_name(),
            version: "0.0.0".to_owned(),
            instructions: None,
            max_message_bytes: MAX_MESSAGE_BYTES,
            max_in_flight: MAX_IN_FLIGHT,
            #[cfg(feature = "stdio")]
            drain_timeout: DRAIN_TIMEOUT,
            page_size: usize::MAX,
            legacy_methods: true,
            reject_arguments: false,
            flat_strictness: Strictness::Lenient,
        };
        Self::with_settings(registry, settings)
    }

    fn with_settings(registry: Registry, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            registry,
            settings,
            lists: ArcSwapOption::empty(),
            subscribers: Arc::default(),
            watcher: OnceLock::new(),
            result_suffix: OnceLock::new(),
        }))
    }

    fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = self.0.settings.clone();
        change(&mut settings);
        Self::with_settings(self.0.registry.clone(), settings)
    }

    /// Sets the name and version that clients see.
    #[must_use]
    pub fn info(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.set(|settings| (settings.name, settings.version) = (name.into(), version.into()))
    }

    /// Sets the instructions for the model: how to use this server (default: none).
    #[must_use]
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(text.into()))
    }

    /// Sets the maximum size of a message (default: 16 MiB).
    #[must_use]
    pub fn max_message_bytes(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_message_bytes = bytes)
    }

    /// Sets how many calls of one connection may be in flight (default: 1,024).
    #[must_use]
    pub fn max_in_flight(self, calls: usize) -> Self {
        self.set(|settings| settings.max_in_flight = calls)
    }

    /// Sets how long calls in flight may take after the end of the input or a shutdown signal (default: 5 s). Calls
    /// that take longer are cancelled and answered with an error. This applies to
    /// [`serve_stdio`](crate::transport::stdio::serve_stdio) and [`serve_lines`](crate::transport::stdio::serve_lines).
    #[cfg(feature = "stdio")]
    #[must_use]
    pub fn drain_timeout(self, timeout: Duration) -> Self {
        self.set(|settings| settings.drain_timeout = timeout)
    }

    /// Sets the number of tools on a page of the list (default: all of them).
    #[must_use]
    pub fn page_size(self, tools: usize) -> Self {
        self.set(|settings| settings.page_size = tools.max(1))
    }

    /// Sets whether the legacy methods `list_tools` and `call_tool` and flat calls are answered (default: true). Otherwise,
    /// they are refused with an error that names `tools/list` and `tools/call`.
    #[must_use]
    pub fn legacy_methods(self, yes: bool) -> Self {
        self.set(|settings| settings.legacy_methods = yes)
    }

    /// Sets whether invalid arguments are a protocol error (-32602) instead of a result with `isError`, which the model
    /// sees and can correct (default: false).
    #[must_use]
    pub fn argument_errors_as_protocol_errors(self, yes: bool) -> Self {
        self.set(|settings| settings.reject_arguments = yes)
    }

    /// Sets whether flat calls are parsed strictly (default: false). A strict call has the fields `tool_name` and
    /// `arguments` and no others, and the name is `module.tool` in lower case; see [`Strictness`].
    #[must_use]
    pub fn strict_flat_calls(self, yes: bool) -> Self {
        self.set(|settings| settings.flat_strictness = if yes { Strictness::Strict } else { Strictness::Lenient })
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// The name, version and capabilities of the server, and the number of its tools.
    pub fn server_info(&self) -> Value {
        let mut info = json!({
            "name": self.0.settings.name,
            "version": self.0.settings.version,
            "capabilities": {
                "tools": { "listChanged": true },
                "resources": { "subscribe": false, "listChanged": false },
                "prompts": { "listChanged": false },
            },
        });
        if let Value::Object(info) = &mut info {
            info.extend(initialize::counts(&self.0.registry.catalog()));
        }
        info
    }

    /// Answers a message. `None` if there is no answer: to a notification, a response, or a cancelled request.
    pub async fn handle(&self, message: &[u8], peer: &Peer) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self.begin(message, peer, &mut out) {
            None => (!out.is_empty()).then_some(out),
            Some(mut pending) => match pending.try_finish(true, &mut out) {
                Some(_) => (!out.is_empty()).then_some(out),
                None => pending.await,
            },
        }
    }

    /// Starts to answer a message. An answer that is available immediately is appended to the buffer; one that takes
    /// longer is returned as a future, which borrows neither the message nor the buffer. This is for transports that
    /// answer many messages concurrently.
    #[must_use = "the call is cancelled when its reply is dropped"]
    pub fn begin(&self, message: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Option<PendingReply> {
        match self.begin_with(&NoHeaders, message, peer, out) {
            Step::Done(_) => None,
            Step::Pending(pending) => Some(pending),
        }
    }

    /// Starts to answer a message that came with headers.
    pub(crate) fn begin_with(
        &self,
        headers: &impl TransportHeaders,
        message: &[u8],
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        if message.len() > self.0.settings.max_message_bytes {
            respond_error(None, &self.too_long(message.len()), out);
            return Step::Done(ReplyKind::Invalid(Dialect::Mcp));
        }
        if let Some(batch) = Batch::read(message, peer) {
            return self.batch(headers, &batch, peer, out);
        }
        let mut members = Members::default();
        match members.read(message) {
            Ok(()) if !members.is_rpc() => {
                self.flat(headers, members.tool_name().unwrap_or_default(), message, peer, out)
            }
            read => self.rpc(headers, &members, read, peer, out),
        }
    }

    /// Starts to answer a JSON-RPC message. A panic is answered with an error.
    fn rpc(
        &self,
        headers: &impl TransportHeaders,
        members: &Members<'_, Params<'_>>,
        read: Result<(), Box<RpcRejection>>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        Step::Done(match read.and_then(|()| members.interpret()) {
            Ok(Message::Request(id, method, params)) => {
                let start = out.len();
                // Calls have their own guard. Listing tools generates schemas of user types, which may panic.
                return guard(|| self.dispatch(headers, id, method, params, peer, out)).unwrap_or_else(|panicked| {
                    out.truncate(start);
                    let error = internal(&self.0.registry, peer.call_options(), &panicked);
                    fail(self.dialect(headers, method), id, error, out)
                });
            }
            Ok(Message::Notification(method, params)) => {
                if is_call(method) {
                    self.refuse_fault(&ToolRequest::partial(None, params), &call_without_id(), peer);
                }
                receive_notification(method, params, peer);
                ReplyKind::Accepted
            }
            // The server sends no requests, so it expects no responses.
            Ok(Message::Response(..)) => ReplyKind::Accepted,
            Err(rejection) => {
                if let Some(call) = ToolRequest::malformed(rejection.id.as_ref(), members) {
                    self.refuse_fault(&call, &rejection.error, peer);
                }
                if !rejection.is_notification {
                    respond_error(rejection.id.as_ref(), &rejection.error, out);
                }
                ReplyKind::Invalid(Dialect::Mcp)
            }
        })
    }

    /// Forwards the notifications in a message or batch to other connections: they may refer to requests there.
    #[cfg(feature = "http")]
    pub(crate) fn forward_notifications(message: &[u8], from: &Peer, to: &[Peer]) {
        let forward = |message: &[u8]| {
            let mut members = Members::default();
            let read = members.read(message).and_then(|()| members.interpret());
            if let Ok(Message::Notification(method, params)) = read {
                for peer in to {
                    receive_notification(method, params, peer);
                }
            }
        };
        match Batch::read(message, from) {
            Some(batch) => batch.into_messages().iter().for_each(|message| forward(message.get().as_bytes())),
            None => forward(message),
        }
    }

    /// The ID of the request in a message, if it has one.
    #[cfg(feature = "http")]
    pub(crate) fn request_id(message: &[u8]) -> Option<Id<'static>> {
        let mut members = Members::<Params<'_>>::default();
        match members.read(message).and_then(|()| members.interpret()) {
            Ok(Message::Request(id, ..)) => Some(id.clone().into_owned()),
            Ok(_) => None,
            Err(rejection) => rejection.id,
        }
    }

    /// Records a message that the transport refuses, if it asks for a tool.
    #[cfg(feature = "http")]
    pub(crate) fn refuse_message(&self, message: &[u8], error: &RpcError, peer: &Peer) {
        let mut members = Members::default();
        let read = members.read(message).and_then(|()| members.interpret());
        let id = if let Ok(Message::Request(id, ..)) = read { Some(id) } else { None };
        if let Some(call) = ToolRequest::malformed(id, &members) {
            self.refuse_fault(&call, error, peer);
        }
    }

    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn max_message(&self) -> usize {
        self.0.settings.max_message_bytes
    }

    #[cfg(feature = "stdio")]
    pub(crate) fn configured_drain_timeout(&self) -> Duration {
        self.0.settings.drain_timeout
    }

    /// Answers a message that is too long and was discarded.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn reject_length(&self, bytes: usize, out: &mut Vec<u8>) {
        respond_error(None, &self.too_long(bytes), out);
    }

    fn too_long(&self, bytes: usize) -> RpcError {
        let max = self.0.settings.max_message_bytes;
        invalid_request(format!("the message has {bytes} bytes and may have {max}; send less at a time"))
    }

    /// The dialect of the answer to a request.
    fn dialect(&self, headers: &impl TransportHeaders, method: &str) -> Dialect {
        match Dialect::from_method(method) {
            Some(Dialect::Legacy) if self.0.settings.legacy_methods && !headers.is_stateless() => Dialect::Legacy,
            _ => Dialect::Mcp,
        }
    }

    fn dispatch(
        &self,
        headers: &impl TransportHeaders,
        id: &Id<'_>,
        method: &str,
        params: RpcParams<'_, '_, Params<'_>>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let dialect = self.dialect(headers, method);
        // A call checks its ID when it starts.
        if !is_call(method) && peer.is_in_flight(id) {
            return fail(dialect, id, id_in_use(), out);
        }
        let refused = |error: &RpcError| {
            if is_call(method) {
                self.refuse_fault(&ToolRequest::partial(Some(id), params), error, peer);
            }
        };
        let read_params = Params::read(params);
        let read = |params| Request::read(headers, method, params, peer, &self.0.registry);
        let request = read_params.as_deref().map_err(Clone::clone).and_then(read);
        let request = match request {
            Ok(request) => request,
            Err(error) => {
                refused(&error);
                let is_internal = error.code == code::INTERNAL_ERROR;
                fail(dialect, id, error, out);
                return Step::Done(if is_internal {
                    ReplyKind::Response(dialect)
                } else {
                    ReplyKind::Invalid(dialect)
                });
            }
        };
        let version = request.version;
        let response = ReplyKind::Response(dialect);
        let answer = match (method, version.is_stateless()) {
            ("tools/call", _) => return self.call(id, &request, Dialect::Mcp, peer, out),
            ("call_tool", false) if self.0.settings.legacy_methods => {
                return self.call(id, &request, Dialect::Legacy, peer, out);
            }
            ("tools/list", _) => {
                let cursor = request.params.cursor();
                match cursor.and_then(|cursor| cursor.as_deref().map(list::decode_cursor).transpose()) {
                    Ok(after) => self.write_list(id, version, after.as_deref(), out),
                    Err(error) => respond_error(Some(id), &error, out),
                }
                return Step::Done(response);
            }
            ("list_tools", false) if self.0.settings.legacy_methods => {
                self.write_legacy_list(id, out);
                return Step::Done(response);
            }
            ("subscriptions/listen", true) => return self.listen(id, &request, peer, out),
            ("initialize", false) => self
                .initialize(&request, headers.oldest_version(), peer)
                .map(|(result, version)| (result, ReplyKind::Initialized(version))),
            ("server/discover", true) => Ok((self.discover(headers.oldest_version(), peer), response)),
            ("ping", false) => Ok((json!({}), response)),
            ("logging/setLevel", false) => {
                initialize::set_log_level(&request, peer).map(|level| (json!({}), ReplyKind::LogLevelSet(level)))
            }
            (_, is_stateless) => {
                let error = unknown_method(method);
                refused(&error);
                respond_error(Some(id), &error, out);
                return Step::Done(if is_stateless { ReplyKind::MethodNotFound } else { response });
            }
        };
        match answer {
            Ok((result, kind)) => {
                respond(id, &self.complete(result, version), out);
                Step::Done(kind)
            }
            Err(error) => fail(Dialect::Mcp, id, error, out),
        }
    }
}

/// Whether a method calls a tool.
fn is_call(method: &str) -> bool {
    matches!(method, "tools/call" | "call_tool")
}

/// Handles a notification from the client.
fn receive_notification(method: &str, params: RpcParams<'_, '_, Params<'_>>, peer: &Peer) {
    match method {
        "notifications/initialized" => peer.set_initialized(),
        "notifications/cancelled" => {
            let id = match params {
                Ok(params) => params.request_id(),
                // Other members do not matter, even if they would be invalid in a request.
                Err(raw) => {
                    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).map(|Cancelled { id }| id.into_owned())
                }
            };
            if let Some(id) = id {
                peer.cancel(&id);
            }
        }
        _ => {}
    }
}

#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(rename = "requestId", borrow)]
    id: Id<'a>,
}

/// The name of the running program.
pub(crate) fn program_name() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_ref().and_then(|path| path.file_stem()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "mcp-registry".to_owned())
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { name, version, .. } = &self.0.settings;
        f.debug_struct("Server")
            .field("name", name)
            .field("version", version)
            .field("registry", &self.0.registry)
            .finish_non_exhaustive()
    }
}
