//! Calls in memory, and the events of tools.

use std::any::Any;
use std::sync::{Arc, Mutex};

use mcp_core::context::ToolEvent;
use mcp_core::entry::ToolEntry;
use mcp_core::{CallOptions, RegistrationError, ToolCall, ToolResult, TrustLevel};
use serde_json::Value;

use crate::call::settings::OutputCheck;
use crate::registry::Registry;
use crate::registry::builder::RegistryBuilder;
use crate::runtime::tokio_context::block_on;
use crate::util::lock::lock;

/// Calls tools in memory, for tests.
///
/// ```standalone_crate
/// use mcp_registry::serde_json::json;
/// use mcp_registry::testing::{Harness, assert_data, assert_progress};
/// use mcp_registry::{ToolContext, mcp_tool, tools};
///
/// struct Shelf(Vec<&'static str>);
///
/// /// Counts the books.
/// #[mcp_tool(module = "library")]
/// fn count(#[ctx] cx: &ToolContext, #[ctx] shelf: &Shelf) -> usize {
///     cx.progress(1, 2, "found the shelf");
///     shelf.0.len()
/// }
///
/// let library = Harness::for_tools(tools![count], |builder| builder.state(Shelf(vec!["Emma", "Ulysses"])))?;
/// assert_data(&library.call("library.count", json!({})), 2);
/// assert_progress(&library.events(), &[(1.0, Some(2.0), "found the shelf")]);
/// # Ok::<(), mcp_registry::RegistrationError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Harness {
    registry: Registry,
    options: CallOptions,
    recorder: Recorder,
}

impl Harness {
    /// A harness for only these tools. Every caller is trusted, and results are checked against the output schemas.
    #[track_caller]
    pub fn for_tools(
        tools: impl IntoIterator<Item = &'static ToolEntry>,
        setup: impl FnOnce(RegistryBuilder) -> RegistryBuilder,
    ) -> Result<Self, RegistrationError> {
        let builder = Registry::builder_of(tools).trust(TrustLevel::Trusted).check_output(OutputCheck::Always);
        setup(builder).build().map(Self::new)
    }

    /// A harness for this registry, with its own settings.
    pub fn new(registry: Registry) -> Self {
        let recorder = Recorder::default();
        Self { registry, options: CallOptions::new().on_event(recorder.sink()), recorder }
    }

    /// Adds a value that tools find in [`ToolContext::extensions`](mcp_core::ToolContext::extensions).
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(mut self, extension: T) -> Self {
        self.options = self.options.extension(extension);
        self
    }

    /// Sets the caller.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<String>) -> Self {
        self.options = self.options.caller(caller);
        self
    }

    /// Sets the trust level of the caller.
    #[must_use]
    pub fn trust(mut self, trust: TrustLevel) -> Self {
        self.options = self.options.trust(trust);
        self
    }

    /// Calls a tool and waits for it on this thread, inside or outside of an async runtime.
    pub fn call(&self, name: &str, arguments: impl Into<Value>) -> ToolResult {
        block_on(self.call_async(name, arguments))
    }

    /// Calls a tool, in an async test.
    pub async fn call_async(&self, name: &str, arguments: impl Into<Value>) -> ToolResult {
        self.registry.call_with(&ToolCall::new(name, arguments), &self.options).await
    }

    /// Takes the events since the last call of this method: progress and log messages.
    pub fn events(&self) -> Vec<ToolEvent> {
        self.recorder.take()
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

/// Records the events of a tool. Clones share the record.
///
/// ```
/// use mcp_registry::ToolContext;
/// use mcp_registry::testing::{Recorder, assert_progress};
///
/// let recorder = Recorder::default();
/// let cx = ToolContext::for_test().with_events(recorder.sink());
/// cx.progress(1, None, "began");
/// assert_progress(&recorder.take(), &[(1.0, None, "began")]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Vec<ToolEvent>>>);

impl Recorder {
    /// The callback that records events.
    pub fn sink(&self) -> impl Fn(ToolEvent) + Send + Sync + 'static {
        let events = Arc::clone(&self.0);
        move |event| lock(&events).push(event)
    }

    /// Takes the events since the last call of this method.
    pub fn take(&self) -> Vec<ToolEvent> {
        std::mem::take(&mut *lock(&self.0))
    }
}
