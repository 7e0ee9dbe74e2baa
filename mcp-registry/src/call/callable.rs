//! A tool that can be called, with the state that its calls share.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_core::TrustLevel;

use super::async_lock::AsyncLock;
use super::limit::Bucket;
use super::metrics::Meter;
use super::settings::{Settings, ToolSettings};
use super::trace::warn;
use crate::catalog::definition::Handler;
use crate::catalog::tool::RegisteredTool;
use crate::util::held::held;
use crate::util::panic::guard;
use crate::validate::{Checks, slow_type};

/// The maximum duration of the first poll of a quick future.
const QUICK_POLL: Duration = Duration::from_micros(200);

/// The duration from which on a poll blocks its thread.
const BLOCKING_POLL: Duration = Duration::from_millis(10);

/// The maximum duration of a quick job on the pool.
const QUICK_JOB: Duration = Duration::from_micros(100);

/// A tool that can be called, with the state that its calls share; cheap to clone.
#[derive(Clone)]
pub(crate) struct Callable(Arc<Inner>);

struct Inner {
    checks: Checks<RegisteredTool>,
    own: ToolSettings,
    meter: OnceLock<Box<Meter>>,
    plan: OnceLock<Plan>,
    /// Whether the last call was quick.
    is_quick: AtomicBool,
    /// Whether a poll has ever blocked its thread.
    has_blocked: AtomicBool,
    /// The number of results so far, if only some of them are checked.
    results: AtomicUsize,
    /// Held while arguments are parsed, if that may take more than linear time.
    read_lock: OnceLock<Option<AsyncLock>>,
}

/// Facts that every call of a tool needs, computed once.
#[allow(clippy::struct_excessive_bools, reason = "each skips another step")]
pub(crate) struct Plan {
    pub(crate) wraps: bool,
    /// Whether arguments are checked before they are read.
    pub(crate) checks_first: bool,
    /// Whether types can reject arguments that fit the schema until these are edited.
    pub(crate) may_need_edits: bool,
    /// One of how many results is checked against the output schema; 0 for none.
    pub(crate) check_interval: u32,
    /// Whether the tool uses its context.
    pub(crate) uses_context: bool,
    /// Whether the tool is `inline`, and runs on the caller's thread.
    pub(crate) is_inline: bool,
    /// The maximum number of bytes of JSON that the tool may return.
    pub(crate) max_result: usize,
}

impl Deref for Callable {
    type Target = RegisteredTool;

    fn deref(&self) -> &RegisteredTool {
        self.0.checks.subject()
    }
}

impl Callable {
    pub(crate) fn new(tool: RegisteredTool, own: ToolSettings) -> Self {
        let (meter, plan, read_lock) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (is_quick, has_blocked, results) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
        let checks = Checks::new(tool);
        Self(Arc::new(Inner { checks, own, meter, plan, is_quick, has_blocked, results, read_lock }))
    }

    pub(crate) fn checks(&self) -> &Checks<RegisteredTool> {
        &self.0.checks
    }

    pub(crate) fn trust(&self) -> Option<TrustLevel> {
        self.0.own.trust
    }

    pub(crate) fn limit(&self) -> Option<&Bucket> {
        self.0.own.limit.as_deref()
    }

    pub(crate) fn meter(&self) -> &Meter {
        self.0.meter.get_or_init(Box::default)
    }

    /// Whether the last call was quick: up to its first `await`, or on the pool.
    ///
    /// If so, the call polls the future for the first time on its own thread, such as the one that reads messages, and
    /// a caller that waits for the pool yields a few times before it creates a timer and a waker. For a tool that
    /// blocks or computes for a long time, that would delay other messages.
    pub(crate) fn is_quick(&self) -> bool {
        self.0.is_quick.load(Ordering::Relaxed) && !self.0.has_blocked.load(Ordering::Relaxed)
    }

    /// Records the duration of the first poll of a future. A tool that has once blocked its thread is never quick again.
    pub(crate) fn record_first_poll(&self, time: Duration) {
        self.record_poll(time);
        self.set_quick(time <= QUICK_POLL);
    }

    /// Records the duration of a poll. The first one that blocks its thread is reported.
    #[inline]
    pub(crate) fn record_poll(&self, time: Duration) {
        if time >= BLOCKING_POLL {
            self.record_blocking_poll(time);
        }
    }

    #[cold]
    fn record_blocking_poll(&self, time: Duration) {
        let time = held(time);
        if time < BLOCKING_POLL {
            return;
        }
        if !self.0.has_blocked.swap(true, Ordering::Relaxed) {
            let name = self.name();
            warn(&format!(
                "`{name}` has blocked its thread for {time:.1?}, which delays other calls and its own deadline; make it a \
                 plain `fn`, or await what takes long"
            ));
        }
    }

    /// Records the duration of a job on the pool.
    pub(crate) fn record_job(&self, time: Duration) {
        self.set_quick(time <= QUICK_JOB);
    }

    fn set_quick(&self, is_quick: bool) {
        if self.0.is_quick.load(Ordering::Relaxed) != is_quick {
            self.0.is_quick.store(is_quick, Ordering::Relaxed);
        }
    }

    /// The lock to hold while arguments are parsed, if their types may take more than linear time.
    pub(crate) fn read_lock(&self) -> Option<&AsyncLock> {
        let lock = self.0.read_lock.get_or_init(|| {
            // A schema that panics fails where it is used.
            guard(|| slow_type(&**self)).unwrap_or_default().map(|_| AsyncLock::default())
        });
        lock.as_ref()
    }

    /// Whether to check the next result against the output schema.
    #[inline]
    pub(crate) fn checks_output(&self, plan: &Plan) -> bool {
        match plan.check_interval {
            0 => false,
            1 => true,
            interval => self.0.results.fetch_add(1, Ordering::Relaxed) % interval as usize == 0,
        }
    }

    /// The plan for its calls. The settings are those of its registry.
    pub(crate) fn plan(&self, settings: &Settings) -> &Plan {
        self.0.plan.get_or_init(|| {
            let definition = self.definition();
            // A schema that panics fails where it is used.
            Plan {
                wraps: guard(|| self.wraps_output()).unwrap_or_default(),
                checks_first: self.checks().is_checked_first(),
                may_need_edits: self.checks().may_need_edits(),
                check_interval: match settings.output_check.interval() {
                    interval if interval > 0 && guard(|| self.output_schema().is_some()).unwrap_or(true) => interval,
                    _ => 0,
                },
                uses_context: !definition.needs().is_empty() || matches!(definition.handler, Handler::Dynamic(_)),
                is_inline: self.is_inline(),
                max_result: settings.max_result(self),
            }
        })
    }
}
