//! A tool as calls see it: the tool, and what its calls share.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use mcp_core::TrustLevel;

use super::lane::Lane;
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
pub(crate) struct Target(Arc<Inner>);

struct Inner {
    checks: Checks<RegisteredTool>,
    /// How far whoever calls this tool is trusted, where the builder says.
    trust: Option<TrustLevel>,
    /// How often this tool may be called, where the builder says.
    limit: Option<Bucket>,
    meter: OnceLock<Box<Meter>>,
    express: OnceLock<Option<Express>>,
    /// Where calls wait for each other to read their arguments, if that may take more than linear time.
    slow: OnceLock<Option<Lane>>,
}

/// The short way to a tool.
pub(crate) struct Express {
    pub(crate) call: SyncHandler,
    pub(crate) wraps: bool,
    /// Whether the validator may have to see the arguments.
    pub(crate) may_want: bool,
    /// Whether it asks for the context, or for something in it.
    pub(crate) sees_context: bool,
    /// How many bytes of JSON it may return.
    pub(crate) max_result: usize,
}

impl Deref for Target {
    type Target = RegisteredTool;

    fn deref(&self) -> &RegisteredTool {
        self.0.checks.subject()
    }
}

impl Target {
    pub(crate) fn new(tool: RegisteredTool, trust: Option<TrustLevel>, limit: Option<Bucket>) -> Self {
        let (meter, express, slow) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { checks: Checks::new(tool), trust, limit, meter, express, slow }))
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

    /// Where the calls wait for each other to read their arguments, if the types may take more than linear time.
    pub(crate) fn slow(&self) -> Option<&Lane> {
        let slow = self.0.slow.get_or_init(|| {
            // A schema that panics fails where it is asked for.
            guard(|| slow_type(&**self)).unwrap_or_default().map(|_| Lane::default())
        });
        slow.as_ref()
    }

    /// What is worth knowing of a call by the name.
    pub(crate) fn notices(&self, name: &str) -> Vec<Notice> {
        let deprecated = self.deprecated_in().map(|since| Notice::Deprecated {
            since: since.to_owned(),
            replaced_by: self.replaced_by().map(ToOwned::to_owned),
        });
        let alias =
            (!self.is_named(name)).then(|| Notice::Alias { called_as: name.to_owned(), name: self.name().to_owned() });
        deprecated.into_iter().chain(alias).collect()
    }

    /// The short way to the tool, if nothing has to be asked, checked or told beside it.
    pub(crate) fn express(&self, settings: &Settings) -> Option<&Express> {
        let express = self.0.express.get_or_init(|| {
            let Handler::Inline(call) = self.definition().handler else { return None };
            let checked = settings.output_check.applies() && self.output_schema().is_some();
            let plain = !self.is_destructive() && self.deprecated_in().is_none() && self.limit().is_none();
            let express = Express {
                call,
                wraps: self.wraps_output(),
                may_want: self.checks().may_need_validator(),
                sees_context: !self.definition().needs().is_empty(),
                max_result: settings.max_result(self),
            };
            (plain && !checked && self.slow().is_none()).then_some(express)
        });
        express.as_ref()
    }
}
