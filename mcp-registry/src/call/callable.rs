//! A tool, and what its calls share.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use mcp_core::TrustLevel;

use super::async_lock::AsyncLock;
use super::limit::Bucket;
use super::metrics::Meter;
use super::observe::Notice;
use super::settings::Settings;
use crate::catalog::definition::{Handler, SyncHandler};
use crate::catalog::tool::RegisteredTool;
use crate::util::panic::guard;
use crate::validate::{Checks, slow_type};

/// A tool, and what its calls share; cheap to clone.
#[derive(Clone)]
pub(crate) struct Callable(Arc<Inner>);

struct Inner {
    checks: Checks<RegisteredTool>,
    /// The trust level of its callers, if the builder sets one.
    trust: Option<TrustLevel>,
    /// Its rate limit, if the builder sets one.
    limit: Option<Bucket>,
    meter: OnceLock<Box<Meter>>,
    inline: OnceLock<Option<InlineCall>>,
    /// Held while arguments are read, if that may take more than linear time.
    read_lock: OnceLock<Option<AsyncLock>>,
}

/// What [`try_inline`](crate::registry::Registry::try_inline) needs of a tool.
pub(crate) struct InlineCall {
    pub(crate) call: SyncHandler,
    pub(crate) wraps: bool,
    /// Whether the validator may have to check the arguments.
    pub(crate) may_need_check: bool,
    /// Whether it takes the context, or something from it.
    pub(crate) uses_context: bool,
    /// The most bytes of JSON that it may return.
    pub(crate) max_result: usize,
}

impl Deref for Callable {
    type Target = RegisteredTool;

    fn deref(&self) -> &RegisteredTool {
        self.0.checks.subject()
    }
}

impl Callable {
    pub(crate) fn new(tool: RegisteredTool, trust: Option<TrustLevel>, limit: Option<Bucket>) -> Self {
        let (meter, inline, read_lock) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { checks: Checks::new(tool), trust, limit, meter, inline, read_lock }))
    }

    pub(crate) fn checks(&self) -> &Checks<RegisteredTool> {
        &self.0.checks
    }

    pub(crate) fn trust(&self) -> Option<TrustLevel> {
        self.0.trust
    }

    pub(crate) fn limit(&self) -> Option<&Bucket> {
        self.0.limit.as_ref()
    }

    pub(crate) fn meter(&self) -> &Meter {
        self.0.meter.get_or_init(|| Box::new(Meter::new()))
    }

    /// Held while arguments are read, if their types may take more than linear time.
    pub(crate) fn read_lock(&self) -> Option<&AsyncLock> {
        let lock = self.0.read_lock.get_or_init(|| {
            // A schema that panics fails where it is used.
            guard(|| slow_type(&**self)).unwrap_or_default().map(|_| AsyncLock::default())
        });
        lock.as_ref()
    }

    /// The notices for a call by this name.
    pub(crate) fn notices(&self, name: &str) -> Vec<Notice> {
        let deprecated = self.deprecated_in().map(|since| Notice::Deprecated {
            since: since.to_owned(),
            replaced_by: self.replaced_by().map(ToOwned::to_owned),
        });
        let alias =
            (!self.is_named(name)).then(|| Notice::Alias { called_as: name.to_owned(), name: self.name().to_owned() });
        deprecated.into_iter().chain(alias).collect()
    }

    /// The tool's inline call, if no gate, limit, check or notice concerns it.
    pub(crate) fn inline_call(&self, settings: &Settings) -> Option<&InlineCall> {
        let inline = self.0.inline.get_or_init(|| {
            let Handler::Inline(call) = self.definition().handler else { return None };
            let checked = settings.output_check.applies() && self.output_schema().is_some();
            let plain = !self.is_destructive() && self.deprecated_in().is_none() && self.limit().is_none();
            let inline = InlineCall {
                call,
                wraps: self.wraps_output(),
                may_need_check: self.checks().may_need_validator(),
                uses_context: !self.definition().needs().is_empty(),
                max_result: settings.max_result(self),
            };
            (plain && !checked && self.read_lock().is_none()).then_some(inline)
        });
        inline.as_ref()
    }
}
