//! The protocol, without sockets: a message in, the answer out.

mod batch;
mod call;
mod envelope;
mod flat;
mod list;
mod listen;
mod peer;
mod project;
mod request;
mod write;

use std::fmt;
use std::sync::{Arc, OnceLock};
#[cfg(feature = "stdio")]
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mcp_core::{
    BoxFuture, Dialect, Id, Incoming, JsonObject, LogLevel, ProtocolVersion, RpcError, RpcMessage, RpcNotification,
    RpcRejection, Strictness, code,
};
use serde::Deserialize;
use serde_json::{Value, json};

use self::batch::Batch;
#[cfg(feature = "rmcp")]
pub(crate) use self::call::protocol_error;
#[cfg(feature = "http")]
pub(crate) use self::envelope::mismatch;
pub(crate) use self::envelope::{Bare, Envelope, Letter};
use self::flat::{FlatHead, flat_in};
use self::list::Lists;
use self::listen::Listeners;
pub(crate) use self::peer::Outcome;
pub use self::peer::Peer;
#[cfg(feature = "http")]
pub(crate) use self::peer::WeakPeer;
pub(crate) use self::request::internal;
#[cfg(feature = "http")]
pub(crate) use self::request::unsupported;
use self::request::{Asked, Params, PlainRequest, capabilities_missing, unknown_method, version_missing};
pub(crate) use self::write::respond_error;
#[cfg(any(feature = "stdio", feature = "http"))]
pub(crate) use self::write::{Kept, kept};
use self::write::{respond, respond_error_in};
use crate::registry::{Registry, Watcher};
use crate::util::panic::guard;

/// The rest of an answer that takes its time: it ends in the answer, or in none.
pub type Rest = BoxFuture<'static, Option<Vec<u8>>>;

/// A request: its id, its method, and its parameters, if they are any.
type Request<'a> = (&'a Id<'a>, &'a str, Result<Params<'a>, RpcError>);

/// How long a message may be.
const MESSAGE: usize = 16 * 1024 * 1024;

/// How many requests of one connection may be under way.
const IN_FLIGHT: usize = 1024;

/// How long calls in flight may go on when the server shuts down.
#[cfg(feature = "stdio")]
const DRAIN: Duration = Duration::from_secs(5);

/// The protocol: it answers messages of MCP 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05, of the older
/// `list_tools` and `call_tool`, and flat calls, each in the form in which it was asked. Cheap to clone.
///
/// A version sees only what it knows. Before 2025-06-18, tools have no output schema, title or `_meta`, and results have no
/// structured content; before 2025-03-26, tools have no annotations. A block of a result that the version does not know (a
/// link to a resource, audio) becomes a text.
///
/// ```standalone_crate
/// use mcp_registry::testing::block_on;
/// use mcp_registry::{Peer, Registry, Server, mcp_tool};
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
    /// The lists of tools as they were last asked for.
    lists: ArcSwapOption<Lists>,
    listeners: Arc<Listeners>,
    /// Set up when the first connection wants to be told of changes.
    watcher: OnceLock<Watcher>,
    /// What stands at the end of each result of the newest version.
    end_of_result: OnceLock<String>,
}

#[derive(Clone)]
struct Settings {
    name: String,
    version: String,
    instructions: Option<String>,
    max_message: usize,
    max_in_flight: usize,
    #[cfg(feature = "stdio")]
    drain_timeout: Duration,
    page_size: usize,
    legacy_methods: bool,
    refuse_arguments: bool,
    flat_strictness: Strictness,
}

impl Server {
    /// Serves the tools of a registry, under the name of the program.
    pub fn new(registry: Registry) -> Self {
        let settings = Settings {
            name: program(),
            version: "0.0.0".to_owned(),
            instructions: None,
            max_message: MESSAGE,
            max_in_flight: IN_FLIGHT,
            #[cfg(feature = "stdio")]
            drain_timeout: DRAIN,
            page_size: usize::MAX,
            legacy_methods: true,
            refuse_arguments: false,
            flat_strictness: Strictness::Lenient,
        };
        Self::of(registry, settings)
    }

    fn of(registry: Registry, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            registry,
            settings,
            lists: ArcSwapOption::empty(),
            listeners: Arc::default(),
            watcher: OnceLock::new(),
            end_of_result: OnceLock::new(),
        }))
    }

    fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = self.0.settings.clone();
        change(&mut settings);
        Self::of(self.0.registry.clone(), settings)
    }

    /// Sets the name and version that clients see.
    #[must_use]
    pub fn info(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.set(|settings| (settings.name, settings.version) = (name.into(), version.into()))
    }

    /// Sets what a model is told of the server as a whole.
    #[must_use]
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(text.into()))
    }

    /// Sets how many bytes a message may have; 16 MiB otherwise.
    #[must_use]
    pub fn max_message_bytes(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_message = bytes)
    }

    /// Sets how many calls of one connection may be under way; 1,024 otherwise.
    #[must_use]
    pub fn max_in_flight(self, calls: usize) -> Self {
        self.set(|settings| settings.max_in_flight = calls)
    }

    /// Sets how long calls in flight may go on after the input has ended or a signal has asked to shut down (default: 5 s).
    /// Calls that take longer are cancelled, and answered with an error that says so. [`serve_stdio`](crate::serve_stdio)
    /// and [`serve_lines`](crate::serve_lines) go by it.
    #[cfg(feature = "stdio")]
    #[must_use]
    pub fn drain_timeout(self, timeout: Duration) -> Self {
        self.set(|settings| settings.drain_timeout = timeout)
    }

    /// Sets how many tools a page of the list has; all of them otherwise.
    #[must_use]
    pub fn page_size(self, tools: usize) -> Self {
        self.set(|settings| settings.page_size = tools.max(1))
    }

    /// Says whether `list_tools` and `call_tool` are answered; they are otherwise.
    #[must_use]
    pub fn legacy_methods(self, answer: bool) -> Self {
        self.set(|settings| settings.legacy_methods = answer)
    }

    /// Says whether arguments that do not fit are an error of the protocol (-32602) in place of a result with `isError`,
    /// which a model gets to see and can repair.
    #[must_use]
    pub fn argument_errors_as_protocol_errors(self, yes: bool) -> Self {
        self.set(|settings| settings.refuse_arguments = yes)
    }

    /// Says whether flat calls are read strictly (default: no). Strictly, a call has `tool_name` and `arguments` and no other
    /// field, and the name is `module.tool` in lower case; see [`Strictness`].
    #[must_use]
    pub fn strict_flat_calls(self, yes: bool) -> Self {
        self.set(|settings| settings.flat_strictness = if yes { Strictness::Strict } else { Strictness::Lenient })
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Name, version, capabilities, and how much there is of each.
    pub fn server_info(&self) -> Value {
        json!({
            "name": self.0.settings.name,
            "version": self.0.settings.version,
            "capabilities": {
                "tools": { "listChanged": true },
                "resources": { "subscribe": false, "listChanged": false },
                "prompts": { "listChanged": false },
            },
            "tools_count": self.listed_tools(),
            "resources_count": 0,
            "prompts_count": 0,
        })
    }

    fn listed_tools(&self) -> usize {
        let catalog = self.0.registry.catalog();
        catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).count()
    }

    /// Answers a message; none for what is not answered: a notification, a response, a request that was cancelled.
    pub async fn handle(&self, message: &[u8], peer: &Peer) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self.begin(message, peer, &mut out) {
            None => (!out.is_empty()).then_some(out),
            Some(rest) => rest.await,
        }
    }

    /// Begins to answer a message. What can be answered at once is appended to the buffer; what takes longer is a future
    /// that needs neither the message nor the buffer, and ends in the answer. This is for transports that answer many
    /// messages at a time.
    #[must_use = "the rest of the answer is a future"]
    pub fn begin(&self, message: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Option<Rest> {
        self.begin_in(&Bare, message, peer, out)
    }

    /// Begins to answer a message that came in an envelope.
    pub(crate) fn begin_in(
        &self,
        envelope: &impl Envelope,
        message: &[u8],
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Option<Rest> {
        if message.len() > self.0.settings.max_message {
            peer.note(Outcome::Refused);
            respond_error(None, &self.too_long(message.len()), out);
            return None;
        }
        if let Some(PlainRequest { id, method, params, .. }) = PlainRequest::read(message) {
            return self.request_guarded(envelope, (&id, method, Ok(params)), peer, out);
        }
        if let Some(batch) = Batch::of(message, peer) {
            return self.batch(envelope, &batch, peer, out);
        }
        if let Some(name) = FlatHead::of_large(message) {
            return flat_in(envelope, peer, out, |out| self.large_flat(&name, message, peer, out));
        }
        match Incoming::parse_with(message, self.0.settings.flat_strictness) {
            Ok(Incoming::Flat(call)) => flat_in(envelope, peer, out, |out| self.flat(call, peer, out)),
            Ok(Incoming::Rpc(message)) => self.rpc(envelope, Ok(message), peer, out),
            Err(rejection) => self.rpc(envelope, Err(rejection), peer, out),
        }
    }

    /// Begins to answer a message of JSON-RPC.
    fn rpc(
        &self,
        envelope: &impl Envelope,
        message: Result<RpcMessage<'_>, Box<RpcRejection>>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Option<Rest> {
        match message {
            Ok(RpcMessage::Request(request)) => {
                self.request_guarded(envelope, (&request.id, &request.method, Params::read(&request)), peer, out)
            }
            Ok(RpcMessage::Notification(notification)) => {
                peer.note(Outcome::Noticed);
                notice(&notification, peer);
                None
            }
            // The server asks nothing.
            Ok(RpcMessage::Response(_)) => {
                peer.note(Outcome::Noticed);
                None
            }
            Err(rejection) => {
                peer.note(Outcome::Refused);
                if !rejection.is_notification {
                    respond_error(rejection.id.as_ref(), &rejection.error, out);
                }
                None
            }
        }
    }

    /// Passes a notification of a connection on to other ones, since it may concern a request of theirs; of a batch, all of
    /// them.
    #[cfg(feature = "http")]
    pub(crate) fn pass_on(message: &[u8], of: &Peer, peers: &[Peer]) {
        let pass_on = |message: &[u8]| {
            if let Ok(RpcMessage::Notification(notification)) = RpcMessage::parse(message) {
                for peer in peers {
                    notice(&notification, peer);
                }
            }
        };
        match Batch::of(message, of) {
            Some(batch) => batch.into_messages().iter().for_each(|message| pass_on(message.get().as_bytes())),
            None => pass_on(message),
        }
    }

    /// How many bytes a message may have.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn max_message(&self) -> usize {
        self.0.settings.max_message
    }

    /// How long calls in flight may go on when the server shuts down.
    #[cfg(feature = "stdio")]
    pub(crate) fn drains_for(&self) -> Duration {
        self.0.settings.drain_timeout
    }

    /// Answers a message that nobody has kept, since it is too long.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn refuse_length(&self, bytes: usize, out: &mut Vec<u8>) {
        respond_error(None, &self.too_long(bytes), out);
    }

    fn too_long(&self, bytes: usize) -> RpcError {
        let most = self.0.settings.max_message;
        let message = format!("the message has {bytes} bytes and may have {most}; send less at a time");
        RpcError::new(code::INVALID_REQUEST, message).data(json!({ "error_type": "ValidationError" }))
    }

    fn request_guarded(
        &self,
        envelope: &impl Envelope,
        request: Request<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Option<Rest> {
        let (start, id, dialect) = (out.len(), request.0, self.dialect(envelope, request.1));
        // Calls are guarded by themselves; the schemas of a user's types are made in the list.
        guard(|| self.request(envelope, request, peer, out)).unwrap_or_else(|panicked| {
            out.truncate(start);
            respond_error_in(dialect, id, internal(&self.0.registry, peer.call_options(), &panicked), out);
            None
        })
    }

    /// The dialect in which a request is answered.
    fn dialect(&self, envelope: &impl Envelope, method: &str) -> Dialect {
        match Dialect::of_method(method) {
            Some(Dialect::Legacy) if self.0.settings.legacy_methods && !envelope.is_stateless() => Dialect::Legacy,
            _ => Dialect::Mcp,
        }
    }

    fn request(
        &self,
        envelope: &impl Envelope,
        (id, method, params): Request<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Option<Rest> {
        let dialect = self.dialect(envelope, method);
        if peer.is_in_flight(id) {
            respond_error_in(dialect, id, call::id_in_use(), out);
            return None;
        }
        let asked = params.and_then(|params| {
            let asked = asked(envelope, method, params, peer)?;
            if asked.era.is_stateless() {
                envelope.fits(&Letter::of(method, &asked.params, &self.0.registry))?;
            }
            Ok(asked)
        });
        let asked = match asked {
            Ok(asked) => asked,
            Err(error) => {
                let is_older = dialect == Dialect::Legacy;
                peer.note(if is_older { Outcome::OlderRefused } else { Outcome::Refused });
                respond_error_in(dialect, id, error, out);
                return None;
            }
        };
        let answer = match (method, asked.era.is_stateless()) {
            ("tools/call", _) => return self.call(id, &asked, peer, out),
            ("call_tool", false) if self.0.settings.legacy_methods => {
                peer.note(Outcome::OlderMethod);
                return self.call_legacy(id, &asked, peer, out);
            }
            ("tools/list", _) => {
                let era = asked.era;
                let cursor = asked.params.cursor();
                match cursor.and_then(|cursor| cursor.as_deref().map(list::after).transpose()) {
                    Ok(after) => self.write_list(id, era, after.as_deref(), out),
                    Err(error) => respond_error(Some(id), &error, out),
                }
                return None;
            }
            ("list_tools", false) if self.0.settings.legacy_methods => {
                peer.note(Outcome::OlderMethod);
                self.write_whole_list(id, out);
                return None;
            }
            ("subscriptions/listen", true) => return self.listen(id, &asked, peer, out),
            ("initialize", false) => self.initialize(&asked, envelope.oldest(), peer),
            ("server/discover", true) => Ok(self.discover(envelope.oldest(), peer)),
            ("ping", false) => Ok(json!({})),
            ("logging/setLevel", false) => set_level(&asked, peer),
            _ => {
                if asked.era.is_stateless() {
                    peer.note(Outcome::NoMethod);
                }
                Err(unknown_method(method))
            }
        };
        match answer {
            Ok(result) => respond(id, &self.completed(result, asked.era), out),
            Err(error) => respond_error(Some(id), &error, out),
        }
        None
    }

    fn initialize(&self, asked: &Asked<'_>, oldest: ProtocolVersion, peer: &Peer) -> Result<Value, RpcError> {
        let wanted = asked.params.protocol_version()?;
        let era = ProtocolVersion::from_name(&wanted).filter(|era| *era >= oldest && !era.is_stateless());
        let era = era.unwrap_or(ProtocolVersion::V2025_11_25);
        peer.set_protocol_version(era);
        peer.note(Outcome::Initialized);
        self.tell_of_changes(peer);
        let mut result = json!({
            "protocolVersion": era.as_str(),
            "capabilities": capabilities(peer),
            "serverInfo": self.implementation(),
            "_meta": { "tools_count": self.listed_tools(), "resources_count": 0, "prompts_count": 0 },
        });
        self.add_instructions(&mut result);
        Ok(result)
    }

    fn discover(&self, oldest: ProtocolVersion, peer: &Peer) -> Value {
        let mut result = json!({
            "supportedVersions": request::versions(oldest),
            "capabilities": capabilities(peer),
            "ttlMs": 300_000,
            "cacheScope": "public",
        });
        self.add_instructions(&mut result);
        result
    }

    fn implementation(&self) -> Value {
        json!({ "name": self.0.settings.name, "version": self.0.settings.version })
    }

    fn add_instructions(&self, result: &mut Value) {
        if let (Some(text), Value::Object(result)) = (&self.0.settings.instructions, result) {
            result.insert("instructions".to_owned(), text.as_str().into());
        }
    }

    /// A result with what its version asks of every result.
    fn completed(&self, mut result: Value, era: ProtocolVersion) -> Value {
        if let (true, Value::Object(result)) = (era.is_stateless(), &mut result) {
            result.insert("resultType".to_owned(), "complete".into());
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert(request::SERVER_INFO.to_owned(), self.implementation());
            }
        }
        result
    }
}

/// Does what a notification says.
fn notice(notification: &RpcNotification<'_>, peer: &Peer) {
    match &*notification.method {
        "notifications/initialized" => peer.set_initialized(),
        "notifications/cancelled" => {
            if let Ok(Cancelled { request_id }) = notification.params_as() {
                peer.cancel(&request_id.into_owned());
            }
        }
        _ => {}
    }
}

/// The version in which a request speaks, and what it brings.
fn asked<'a>(envelope: &impl Envelope, method: &str, params: Params<'a>, peer: &Peer) -> Result<Asked<'a>, RpcError> {
    let meta = params.meta()?;
    let era = match &meta.version {
        Some(version) => {
            if meta.capabilities.is_none() {
                return Err(capabilities_missing());
            }
            envelope.agrees(Some(version))?;
            match ProtocolVersion::from_name(version).filter(|era| era.is_stateless()) {
                Some(era) => era,
                None => return Err(request::unsupported(version, envelope.oldest())),
            }
        }
        None if meta.is_stateless() || method == "server/discover" || envelope.is_stateless() => {
            return Err(version_missing());
        }
        None => {
            envelope.agrees(None)?;
            peer.protocol_version().unwrap_or(ProtocolVersion::V2025_11_25)
        }
    };
    Ok(Asked { era, params, meta })
}

/// What a connection can be told of.
fn capabilities(peer: &Peer) -> Value {
    let mut capabilities = json!({ "tools": { "listChanged": peer.can_be_told() } });
    if let (true, Value::Object(capabilities)) = (peer.can_be_told(), &mut capabilities) {
        capabilities.insert("logging".to_owned(), JsonObject::new().into());
    }
    capabilities
}

fn set_level(asked: &Asked<'_>, peer: &Peer) -> Result<Value, RpcError> {
    let name = asked.params.level()?;
    let Some(level) = LogLevel::from_name(&name) else { return Err(request::unknown_level(&name)) };
    peer.set_log_level(level);
    peer.note(Outcome::LevelSet);
    Ok(json!({}))
}

/// The name of the program that runs.
pub(crate) fn program() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_ref().and_then(|path| path.file_stem()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "mcp-registry".to_owned())
}

#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(rename = "requestId", borrow)]
    request_id: Id<'a>,
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
