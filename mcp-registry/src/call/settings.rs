//! The settings for all calls of a registry.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use mcp_core::context::Extensions;
use mcp_core::entry::Timeout;
use mcp_core::{CallOptions, ToolContext, TrustLevel};

use crate::call::async_lock::AsyncLock;
use crate::call::callable::Callable;
use crate::call::gate::AnyGate;
use crate::call::layer::AnyLayer;
use crate::call::limit::Bucket;
use crate::call::observe::Observer;
use crate::catalog::definition::{DEFAULT_MAX_RESULT, DEFAULT_TIMEOUT};
use crate::catalog::tool::RegisteredTool;
use crate::runtime::{Runtime, ThreadRuntime, tokio_context};
use crate::util::panic::discard;
#[cfg(feature = "http")]
use crate::util::panic::guard;

/// The default number of abandoned jobs that may run.
const MAX_ABANDONED: usize = 64;

/// The default number of calls that one `call_many` makes at a time.
const CONCURRENCY: usize = 16;

/// When results are checked against the output schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputCheck {
    /// In debug builds, and therefore in tests.
    #[default]
    Debug,
    /// Always.
    Always,
    /// Never.
    Never,
    /// Every n-th success of each tool, beginning with the first one; with 0, never.
    Sample(u32),
}

impl OutputCheck {
    /// One of how many results is checked; 0 for none.
    pub(crate) fn interval(self) -> u32 {
        match self {
            Self::Debug => u32::from(cfg!(debug_assertions)),
            Self::Always => 1,
            Self::Never => 0,
            Self::Sample(interval) => interval,
        }
    }
}

/// The settings for calls of one tool.
#[derive(Clone, Default)]
pub(crate) struct ToolSettings {
    /// The trust level of its callers.
    pub(crate) trust: Option<TrustLevel>,
    /// Its rate limit, which all tools share that are registered under its name.
    pub(crate) limit: Option<Arc<Bucket>>,
}

pub(crate) struct Settings {
    pub(crate) state: Extensions,
    /// The settings for single tools, with the name that the builder was given and the canonical one.
    pub(crate) by_name: Vec<([String; 2], ToolSettings)>,
    pub(crate) trust: TrustLevel,
    pub(crate) gate: Option<Arc<dyn AnyGate>>,
    pub(crate) limit: Option<Bucket>,
    pub(crate) timeout: Timeout,
    pub(crate) runtime: Option<Arc<dyn Runtime>>,
    pub(crate) max_abandoned: usize,
    /// The number of jobs on the pool that are still running but no longer awaited.
    pub(crate) abandoned: AtomicUsize,
    pub(crate) concurrency: usize,
    pub(crate) max_result: usize,
    /// Held while large arguments are parsed and checked.
    pub(crate) large_arguments: AsyncLock,
    /// Outermost first.
    pub(crate) layers: Vec<Arc<dyn AnyLayer>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    /// Whether an observer keeps the messages of errors.
    pub(crate) keeps_messages: bool,
    pub(crate) output_check: OutputCheck,
    pub(crate) mask_errors: Option<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            state: Extensions::new(),
            by_name: Vec::new(),
            trust: TrustLevel::default(),
            gate: None,
            limit: None,
            timeout: Timeout::After(DEFAULT_TIMEOUT),
            runtime: None,
            max_abandoned: MAX_ABANDONED,
            abandoned: AtomicUsize::new(0),
            concurrency: CONCURRENCY,
            max_result: DEFAULT_MAX_RESULT,
            large_arguments: AsyncLock::default(),
            layers: Vec::new(),
            observers: Vec::new(),
            keeps_messages: false,
            output_check: OutputCheck::default(),
            mask_errors: None,
        }
    }
}

/// The last call may outlive the registry, so this may be dropped on any thread.
impl Drop for Settings {
    fn drop(&mut self) {
        discard(self.gate.take());
        discard(self.runtime.take());
        // Two panics in one drop would end the process.
        self.layers.drain(..).for_each(discard);
        self.observers.drain(..).for_each(discard);
    }
}

impl Settings {
    /// Whether calls have no gate, limit, layer or observer.
    pub(crate) fn is_plain(&self) -> bool {
        self.gate.is_none() && self.limit.is_none() && self.layers.is_empty() && self.observers.is_empty()
    }

    /// The settings for a tool. A tool that is registered later may have the names of several: then the lowest trust level
    /// and the first limit apply.
    pub(crate) fn of_tool(&self, tool: &RegisteredTool) -> ToolSettings {
        let mut of_tool = ToolSettings::default();
        for (names, ToolSettings { trust, limit }) in &self.by_name {
            if names.iter().any(|name| tool.answers_to(name)) {
                of_tool.trust = [of_tool.trust, *trust].into_iter().flatten().min();
                of_tool.limit = of_tool.limit.or_else(|| limit.clone());
            }
        }
        of_tool
    }

    /// The trust level of a call.
    pub(crate) fn trust(&self, tool: &Callable, options: &CallOptions) -> TrustLevel {
        options.get_trust().or_else(|| tool.trust()).unwrap_or(self.trust)
    }

    /// The context of a call of the tool.
    pub(crate) fn context(&self, tool: &Callable, options: &CallOptions) -> ToolContext {
        let trust = self.trust(tool, options);
        ToolContext::new(tool.shared_name(), self.state.clone(), options.clone()).with_trust(trust)
    }

    /// The time limit of a call; `tool` is the tool's own limit.
    pub(crate) fn time_limit(&self, tool: Option<Timeout>, options: &CallOptions) -> Option<Duration> {
        let limit = match tool.unwrap_or(self.timeout) {
            Timeout::Never => None,
            Timeout::After(time) => Some(time),
        };
        [limit, options.get_timeout()].into_iter().flatten().min()
    }

    /// The maximum number of bytes of JSON that the tool may return.
    pub(crate) fn max_result(&self, tool: &RegisteredTool) -> usize {
        tool.max_result().unwrap_or(self.max_result)
    }

    /// Reports requests that a server rejected to the observers.
    #[cfg(feature = "http")]
    pub(crate) fn rejected(&self, rejection: &crate::call::observe::Rejection<'_>) {
        let _ = guard(|| crate::call::trace::rejected(rejection));
        for observer in &self.observers {
            // A panic of an observer does not affect the request.
            let _ = guard(|| observer.rejected(rejection));
        }
    }

    pub(crate) fn runtime(&self) -> Arc<dyn Runtime> {
        match &self.runtime {
            Some(runtime) => Arc::clone(runtime),
            None => ThreadRuntime::shared(),
        }
    }

    /// Runs a function inside the tokio runtime that tools need, such as to poll or drop the future of a call.
    pub(crate) fn in_runtime<T>(&self, run: impl FnOnce() -> T) -> T {
        tokio_context::enter(self.runtime.as_deref(), run)
    }

    /// Wraps a job for the pool, so that it runs inside the tokio runtime that tools need.
    pub(crate) fn wrap_job<T, J: FnOnce() -> T + Send + 'static>(
        &self,
        job: J,
    ) -> impl FnOnce() -> T + Send + use<T, J> {
        tokio_context::wrap_job(self.runtime.as_deref(), job)
    }

    pub(crate) fn masks(&self, options: &CallOptions) -> bool {
        self.mask_errors.or_else(|| options.get_mask_errors()).unwrap_or(false)
    }
}
