//! The context of a call.

mod cancel;
mod event;
mod extensions;
mod options;
mod state;
mod trust;

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

pub use self::cancel::{CancelToken, Cancelled};
pub use self::event::{Amount, LogLevel, Remark, ToolEvent, Total};
pub use self::extensions::Extensions;
pub use self::options::CallOptions;
pub use self::state::StateType;
pub use self::trust::TrustLevel;
use crate::error::{ErrorType, ToolError};
use crate::mcp::ProtocolVersion;
use crate::util::JsonObject;

/// A boxed future that is `Send`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The context of a call: who calls, the state, cancellation, progress. A tool takes it as `#[ctx] cx: &ToolContext`.
///
/// It serialises to the standard context object, such as for a log or another service; its schema is
/// [`schema::context`](crate::message::schema::context).
///
/// ```
/// use mcp_core::ToolContext;
///
/// let cx = ToolContext::for_test().with_extension("the caller's name".to_owned());
/// assert_eq!(cx.extensions().get::<String>().unwrap(), "the caller's name");
/// ```
#[derive(Clone, Debug)]
pub struct ToolContext {
    tool_name: Arc<str>,
    state: Extensions,
    options: CallOptions,
    trust: TrustLevel,
    deadline: Option<Instant>,
    cancel: Option<CancelToken>,
}

impl ToolContext {
    /// Creates the context of a call, with the application state.
    pub fn new(tool_name: impl Into<Arc<str>>, state: Extensions, options: CallOptions) -> Self {
        let (trust, cancel) = (options.get_trust().unwrap_or_default(), options.get_cancel().cloned());
        Self { tool_name: tool_name.into(), state, options, trust, deadline: None, cancel }
    }

    /// Creates a context to call a tool's function in a test.
    pub fn for_test() -> Self {
        Self::new("test", Extensions::new(), CallOptions::new())
    }

    /// Adds application state.
    #[must_use]
    pub fn with_state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        self.state.insert(state);
        self
    }

    /// Adds a value to the [`extensions`](Self::extensions).
    #[must_use]
    pub fn with_extension<T: Any + Send + Sync>(self, extension: T) -> Self {
        self.with_options(|options| options.extension(extension))
    }

    /// Sets the ID of the request.
    #[must_use]
    pub fn with_request_id(self, id: impl Into<String>) -> Self {
        self.with_options(|options| options.request_id(id))
    }

    /// Sets the `_meta` of the request.
    #[must_use]
    pub fn with_meta(self, meta: JsonObject) -> Self {
        self.with_options(|options| options.meta(meta))
    }

    /// Sets the listener for [`progress`](Self::progress) and [`log`](Self::log).
    #[must_use]
    pub fn with_events(self, sink: impl Fn(ToolEvent) + Send + Sync + 'static) -> Self {
        self.with_options(|options| options.on_event(sink))
    }

    /// Sets the trust level of the request.
    #[must_use]
    pub fn with_trust(mut self, trust: TrustLevel) -> Self {
        self.trust = trust;
        self
    }

    /// Sets the deadline of the call.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the token that cancels the call.
    #[must_use]
    pub fn with_cancel(mut self, token: CancelToken) -> Self {
        self.cancel = Some(token);
        self
    }

    fn with_options(mut self, change: impl FnOnce(CallOptions) -> CallOptions) -> Self {
        self.options = change(std::mem::take(&mut self.options));
        self
    }

    /// Returns the canonical name of the tool.
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// Returns the ID of the request, if it has one.
    pub fn request_id(&self) -> Option<&str> {
        self.options.get_request_id()
    }

    /// Returns the caller, if the server set it.
    pub fn caller(&self) -> Option<&str> {
        self.options.get_caller()
    }

    /// Returns the `_meta` of the request.
    pub fn meta(&self) -> &JsonObject {
        self.options.get_meta()
    }

    /// Returns the client's capabilities, in versions of MCP in which each request states them. A tool that needs more fails
    /// with [`ToolError::client_lacks`](ToolError::client_lacks).
    pub fn client_capabilities(&self) -> Option<&JsonObject> {
        self.meta().get("io.modelcontextprotocol/clientCapabilities")?.as_object()
    }

    /// Returns the values that the server added: extensions of the request, headers, the authenticated user.
    pub fn extensions(&self) -> &Extensions {
        self.options.get_extensions()
    }

    /// Returns the options of the call.
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// Returns the application state of this type.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.state.get()
    }

    /// Returns the trust level of the request.
    pub fn trust(&self) -> TrustLevel {
        self.trust
    }

    /// Returns the deadline of the call. The caller gets an answer by then, whatever the tool does.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns whether the call was cancelled or has exceeded its deadline, so that nobody waits for the result. A
    /// long-running plain function should check this regularly, and return early.
    pub fn is_cancelled(&self) -> bool {
        let late = || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) || late()
    }

    /// Completes when the call is cancelled or exceeds its deadline. The future of an `async` tool is dropped then, so
    /// this is for tasks that the tool has spawned.
    pub fn cancelled(&self) -> Cancelled {
        self.cancel.as_ref().map_or_else(Cancelled::never, CancelToken::cancelled)
    }

    /// Returns the token that cancels the call, if there is one.
    pub fn cancel_token(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    /// Reports progress to the caller. Has no effect after the call has ended; an `inline` tool does not track that.
    ///
    /// ```
    /// # let cx = mcp_core::ToolContext::for_test();
    /// cx.progress(3, 10, "three of ten");
    /// cx.progress(0.5, None, None);
    /// ```
    pub fn progress(&self, done: impl Amount, total: impl Total, message: impl Remark) {
        self.emit(|| ToolEvent::Progress { done: done.amount(), total: total.total(), message: message.remark() });
    }

    /// Sends a log message to the caller.
    pub fn log(&self, level: LogLevel, message: impl Into<String>) {
        self.emit(|| ToolEvent::Log { level, message: message.into() });
    }

    fn emit(&self, event: impl FnOnce() -> ToolEvent) {
        if let Some(sink) = self.options.sink().filter(|_| !self.is_cancelled()) {
            sink(event());
        }
    }
}

impl Serialize for ToolContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // What a client says of itself may be anything; only texts are taken from it.
        let texts = |from: &JsonObject, keys: [&str; 2]| -> Option<JsonObject> {
            let text = |key: &str| Some((key.to_owned(), from.get(key).filter(|value| value.is_string())?.clone()));
            let texts: JsonObject = keys.iter().filter_map(|key| text(key)).collect();
            texts.contains_key(keys[0]).then_some(texts)
        };
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_millis());
        let client = self.meta().get("io.modelcontextprotocol/clientInfo").and_then(Value::as_object);
        let members = [
            ("tool_name", json!(self.tool_name())),
            ("request_id", json!(self.request_id())),
            ("caller", json!(self.caller())),
            ("trust", json!(self.trust.as_str())),
            ("deadline_ms", json!(left.map(|left| u64::try_from(left).unwrap_or(u64::MAX)))),
            ("protocol_version", json!(self.options.get_protocol_version().map(ProtocolVersion::as_str))),
            ("client", json!(client.and_then(|client| texts(client, ["name", "version"])))),
            ("trace", json!(texts(self.meta(), ["traceparent", "tracestate"]))),
        ];
        serializer.collect_map(members.into_iter().filter(|(_, value)| !value.is_null()))
    }
}

/// A parameter that is created from the context: `#[ctx] user: User`.
///
/// ```
/// use mcp_core::{FromContext, ToolContext, ToolError};
///
/// struct User(String);
///
/// impl FromContext for User {
///     async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
///         match cx.extensions().get::<String>() {
///             Some(name) => Ok(Self(name.clone())),
///             None => Err(ToolError::new("AuthenticationError", "log in first")),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the context",
    label = "write `#[ctx] name: &{Self}` for application state, or `#[ctx(clone)]` for a clone of it",
    note = "a type of your own can implement `FromContext`"
)]
pub trait FromContext: Sized + Send {
    /// Creates the value. An error fails the call.
    fn from_context(cx: &ToolContext) -> impl Future<Output = Result<Self, ToolError>> + Send;

    /// Returns the types of application state that it needs.
    fn requires() -> Vec<StateType> {
        Vec::new()
    }
}

impl FromContext for ToolContext {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        Ok(cx.clone())
    }
}

/// The error for missing state in a context that was not created by a registry, which checks for it.
pub(crate) fn missing_state<T: Any>(cx: &ToolContext) -> ToolError {
    let requested = StateType::of::<T>();
    let remedy = match cx.state.similar(requested) {
        Some(given) => format!("take `&{}` in the tool instead", given.name),
        None => "give it to the builder with `.state(…)`".to_owned(),
    };
    let message = format!("there is no state of type `{}`; {remedy}", requested.name);
    ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message)
}
