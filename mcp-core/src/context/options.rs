//! The options of a call.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use super::TrustLevel;
use super::cancel::CancelToken;
use super::event::ToolEvent;
use super::extensions::Extensions;
use crate::error::ValidationError;
use crate::mcp::ProtocolVersion;
use crate::message::{entries_of, parse};
use crate::util::JsonObject;
use crate::util::panics::Contained;

/// A listener for the events of running tools.
pub(super) type Sink = Arc<dyn Fn(ToolEvent) + Send + Sync>;

/// The options of a call: the caller, its trust level, a token that cancels it. They are cheap to clone, and do not
/// allocate while they are empty.
///
/// ```
/// use mcp_core::{CallOptions, CancelToken, TrustLevel};
///
/// let cancel = CancelToken::new();
/// let options = CallOptions::new().caller("ada").trust(TrustLevel::Trusted).cancel(cancel.clone());
/// assert_eq!(options.get_trust(), Some(TrustLevel::Trusted));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallOptions(Option<Arc<Inner>>);

#[derive(Clone, Default)]
struct Inner {
    request_id: Option<String>,
    caller: Option<String>,
    meta: Meta,
    extensions: Extensions,
    trust: Option<TrustLevel>,
    timeout: Option<Duration>,
    cancel: Option<CancelToken>,
    sink: Option<Sink>,
    mask_errors: Option<bool>,
    protocol_version: Option<ProtocolVersion>,
}

/// The `_meta` of a request, which is parsed when a tool asks for it.
#[derive(Clone, Default)]
struct Meta {
    json: Option<Box<str>>,
    object: OnceLock<JsonObject>,
}

impl Meta {
    fn object(&self) -> &JsonObject {
        self.object.get_or_init(|| {
            // `meta_json` has checked it.
            self.json.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
        })
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request_id, caller, extensions, trust, timeout, .. } = self;
        f.debug_struct("Inner")
            .field("request_id", request_id)
            .field("caller", caller)
            .field("extensions", extensions)
            .field("trust", trust)
            .field("timeout", timeout)
            .finish_non_exhaustive()
    }
}

impl CallOptions {
    /// Creates empty options.
    pub const fn new() -> Self {
        Self(None)
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(self.0.get_or_insert_default()));
        self
    }

    /// Sets the ID of the request.
    #[must_use]
    pub fn request_id(self, id: impl Into<String>) -> Self {
        self.with(|inner| inner.request_id = Some(id.into()))
    }

    /// Sets the caller, for audit logs and gates.
    #[must_use]
    pub fn caller(self, caller: impl Into<String>) -> Self {
        self.with(|inner| inner.caller = Some(caller.into()))
    }

    /// Sets the `_meta` of the request.
    #[must_use]
    pub fn meta(self, meta: JsonObject) -> Self {
        self.with(|inner| inner.meta = Meta { json: None, object: meta.into() })
    }

    /// Sets the `_meta` of the request from JSON text, which is parsed when a tool asks for it. Fails if it is not an object,
    /// is nested too deeply, has a duplicate key, or contains something that a `Value` cannot represent.
    ///
    /// ```
    /// use mcp_core::CallOptions;
    ///
    /// let options = CallOptions::new().meta_json(r#"{"tenant": "a"}"#)?;
    /// assert_eq!(options.get_meta()["tenant"], "a");
    /// assert!(CallOptions::new().meta_json(r#"{"tenant": "\ud800"}"#).is_err());
    /// # Ok::<(), mcp_core::error::ValidationError>(())
    /// ```
    pub fn meta_json(self, json: &str) -> Result<Self, ValidationError> {
        entries_of(parse(json.as_bytes())?)?;
        Ok(self.with(|inner| inner.meta = Meta { json: Some(json.into()), object: OnceLock::new() }))
    }

    /// Adds a value to [`ToolContext::extensions`](super::ToolContext::extensions).
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(self, extension: T) -> Self {
        self.with(|inner| inner.extensions.insert(extension))
    }

    /// Sets the HTTP request of the call. A tool finds its extensions, headers and parts in
    /// [`ToolContext::extensions`](super::ToolContext::extensions).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http_request(self, request: http::request::Parts) -> Self {
        self.with(|inner| inner.extensions.set_request(request))
    }

    /// Sets the trust level of the request, which overrides that of the registry.
    #[must_use]
    pub fn trust(self, trust: TrustLevel) -> Self {
        self.with(|inner| inner.trust = Some(trust))
    }

    /// Limits the time of the call. A shorter limit of the tool still applies.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.timeout = Some(timeout))
    }

    /// Cancels the call when the token is cancelled.
    #[must_use]
    pub fn cancel(self, token: CancelToken) -> Self {
        self.with(|inner| inner.cancel = Some(token))
    }

    /// Sets the listener for progress and log messages of the tool. It runs on the tool's thread, so it should be quick.
    #[must_use]
    pub fn on_event(self, sink: impl Fn(ToolEvent) + Send + Sync + 'static) -> Self {
        let sink = Contained::new(sink);
        self.with(|inner| inner.sink = Some(Arc::new(move |event| (*sink)(event))))
    }

    /// Sets whether errors that were not written for a model are masked, if the registry does not set it.
    #[must_use]
    pub fn mask_errors(self, mask: bool) -> Self {
        self.with(|inner| inner.mask_errors = Some(mask))
    }

    /// Sets the version of MCP that the request uses.
    #[must_use]
    pub fn protocol_version(self, version: ProtocolVersion) -> Self {
        self.with(|inner| inner.protocol_version = Some(version))
    }

    /// Returns the ID of the request.
    pub fn get_request_id(&self) -> Option<&str> {
        self.0.as_ref()?.request_id.as_deref()
    }

    /// Returns the caller.
    pub fn get_caller(&self) -> Option<&str> {
        self.0.as_ref()?.caller.as_deref()
    }

    /// Returns the `_meta` of the request.
    pub fn get_meta(&self) -> &JsonObject {
        static EMPTY: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);
        self.0.as_ref().map_or(&EMPTY, |inner| inner.meta.object())
    }

    /// Returns the values that the server added.
    pub fn get_extensions(&self) -> &Extensions {
        static EMPTY: Extensions = Extensions::new();
        self.0.as_ref().map_or(&EMPTY, |inner| &inner.extensions)
    }

    /// Returns the trust level of the request.
    pub fn get_trust(&self) -> Option<TrustLevel> {
        self.0.as_ref()?.trust
    }

    /// Returns the time limit of the call.
    pub fn get_timeout(&self) -> Option<Duration> {
        self.0.as_ref()?.timeout
    }

    /// Returns the token that cancels the call.
    pub fn get_cancel(&self) -> Option<&CancelToken> {
        self.0.as_ref()?.cancel.as_ref()
    }

    /// Returns whether errors that were not written for a model are masked.
    pub fn get_mask_errors(&self) -> Option<bool> {
        self.0.as_ref()?.mask_errors
    }

    /// Returns the version of MCP that the request uses.
    pub fn get_protocol_version(&self) -> Option<ProtocolVersion> {
        self.0.as_ref()?.protocol_version
    }

    pub(super) fn sink(&self) -> Option<&Sink> {
        self.0.as_ref()?.sink.as_ref()
    }
}
