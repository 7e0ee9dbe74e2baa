//! What a tool can learn of the call that it is in.

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

pub use self::cancel::{CancelToken, Cancelled};
pub use self::event::{Amount, LogLevel, Remark, ToolEvent, Total};
pub use self::extensions::Extensions;
pub use self::options::CallOptions;
pub use self::state::StateType;
pub use self::trust::TrustLevel;
use crate::error::{ErrorType, ToolError};
use crate::util::JsonObject;

/// A future on the heap, which may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a tool can learn of the call that it is in, and tell of itself. Ask for it by `#[ctx] cx: &ToolContext`.
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
    /// The context of a call of the tool, with the application's state.
    pub fn new(tool_name: impl Into<Arc<str>>, state: Extensions, options: CallOptions) -> Self {
        let (trust, cancel) = (options.get_trust().unwrap_or_default(), options.get_cancel().cloned());
        Self { tool_name: tool_name.into(), state, options, trust, deadline: None, cancel }
    }

    /// A context to call a tool's function with, in a test.
    pub fn for_test() -> Self {
        Self::new("test", Extensions::new(), CallOptions::new())
    }

    /// Adds application state.
    #[must_use]
    pub fn with_state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        self.state.insert(state);
        self
    }

    /// Adds what a tool finds under [`extensions`](Self::extensions).
    #[must_use]
    pub fn with_extension<T: Any + Send + Sync>(self, extension: T) -> Self {
        self.with_options(|options| options.extension(extension))
    }

    /// Sets the id of the request.
    #[must_use]
    pub fn with_request_id(self, id: impl Into<String>) -> Self {
        self.with_options(|options| options.request_id(id))
    }

    /// Sets the `_meta` of the request.
    #[must_use]
    pub fn with_meta(self, meta: JsonObject) -> Self {
        self.with_options(|options| options.meta(meta))
    }

    /// Sets who is told of [`progress`](Self::progress) and [`log`](Self::log).
    #[must_use]
    pub fn with_events(self, sink: impl Fn(ToolEvent) + Send + Sync + 'static) -> Self {
        self.with_options(|options| options.on_event(sink))
    }

    /// Sets how far the request is trusted.
    #[must_use]
    pub fn with_trust(mut self, trust: TrustLevel) -> Self {
        self.trust = trust;
        self
    }

    /// Sets when the call has to be over.
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

    /// The tool's canonical name.
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// The id of the request, if it came with one.
    pub fn request_id(&self) -> Option<&str> {
        self.options.get_request_id()
    }

    /// Who calls, if the embedding server said.
    pub fn caller(&self) -> Option<&str> {
        self.options.get_caller()
    }

    /// The `_meta` of the request.
    pub fn meta(&self) -> &JsonObject {
        self.options.get_meta()
    }

    /// What the client says that it can do, in the versions of MCP in which each request says so. A tool that needs more
    /// fails with [`ToolError::client_lacks`](ToolError::client_lacks).
    pub fn client_capabilities(&self) -> Option<&JsonObject> {
        self.meta().get("io.modelcontextprotocol/clientCapabilities")?.as_object()
    }

    /// What the embedding server put there: request extensions, headers, the authenticated caller.
    pub fn extensions(&self) -> &Extensions {
        self.options.get_extensions()
    }

    /// What came with the call.
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// The application's state of a type.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.state.get()
    }

    /// How far this request is trusted.
    pub fn trust(&self) -> TrustLevel {
        self.trust
    }

    /// When the call has to be over. The caller is answered then, whatever the tool does.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether nobody waits for the result any more: the call was cancelled, or its time is over. A plain function that
    /// takes long asks now and then, and returns.
    pub fn is_cancelled(&self) -> bool {
        let late = || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) || late()
    }

    /// Ends when nobody waits for the result any more. (The future of an `async` tool is dropped then by itself; this is
    /// for what the tool has started elsewhere.)
    pub fn cancelled(&self) -> Cancelled {
        self.cancel.as_ref().map_or_else(Cancelled::never, CancelToken::cancelled)
    }

    /// The token that cancels the call, if there is one.
    pub fn cancel_token(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    /// Tells how far the tool is. Nobody is told once the call is over. (Of an `inline` tool, which leaves nothing behind,
    /// that is not watched.)
    ///
    /// ```
    /// # let cx = mcp_core::ToolContext::for_test();
    /// cx.progress(3, 10, "three of ten");
    /// cx.progress(0.5, None, None);
    /// ```
    pub fn progress(&self, done: impl Amount, total: impl Total, message: impl Remark) {
        self.emit(|| ToolEvent::Progress { done: done.amount(), total: total.total(), message: message.remark() });
    }

    /// Says something for the log of whoever called.
    pub fn log(&self, level: LogLevel, message: impl Into<String>) {
        self.emit(|| ToolEvent::Log { level, message: message.into() });
    }

    fn emit(&self, event: impl FnOnce() -> ToolEvent) {
        if let Some(sink) = self.options.sink().filter(|_| !self.is_cancelled()) {
            sink(event());
        }
    }
}

/// A parameter that is made from the context: `#[ctx] user: User`.
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
    /// Makes the value, or says why the call cannot go on.
    fn from_context(cx: &ToolContext) -> impl Future<Output = Result<Self, ToolError>> + Send;

    /// The types of application state that it needs.
    fn requires() -> Vec<StateType> {
        Vec::new()
    }
}

impl FromContext for ToolContext {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        Ok(cx.clone())
    }
}

/// State that the registry did not check for: a context made by hand.
pub(crate) fn missing_state<T: Any>(cx: &ToolContext) -> ToolError {
    let requested = StateType::of::<T>();
    let remedy = match cx.state.similar(requested) {
        Some(given) => format!("take `&{}`, which is there, in the tool", given.name),
        None => "give it to the builder with `.state(…)`".to_owned(),
    };
    let message = format!("there is no state of type `{}`; {remedy}", requested.name);
    ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message)
}
