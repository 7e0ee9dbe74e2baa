//! Watching one call: whatever comes of it, it is told once.

use std::io::{self, Write as _};
use std::time::{Instant, SystemTime};

use mcp_core::{CallOptions, Error, Returned, ToolError, ToolResult};
use serde_json::json;

use super::Asked;
use super::run::CANCELLED;
use super::target::Target;
use crate::call::id::correlation_id;
use crate::call::observe::{CallOutcome, CallRecord, Notice, UNMASK, short};
use crate::call::settings::Settings;
use crate::call::trace;

/// A call that is under way. Dropped before it is over, it was cancelled.
pub(crate) struct Watch<'a> {
    settings: &'a Settings,
    asked: &'a Asked<'a>,
    time: SystemTime,
    started: Instant,
    tool: Option<Target>,
    notices: Vec<Notice>,
    denied: bool,
    over: bool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(settings: &'a Settings, asked: &'a Asked<'a>) -> Self {
        Self {
            settings,
            asked,
            time: SystemTime::now(),
            started: Instant::now(),
            tool: None,
            notices: Vec::new(),
            denied: false,
            over: false,
        }
    }

    /// The tool was found.
    pub(crate) fn found(&mut self, tool: &Target) {
        self.notices = tool.notices(self.asked.name);
        self.tool = Some(tool.clone());
    }

    /// The gate refused the call.
    pub(crate) fn deny(&mut self) {
        self.denied = true;
    }

    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The call is over. An error that is not for the caller's eyes is masked from here on.
    pub(crate) fn end<T>(mut self, answer: Result<T, Error>, failure: impl FnOnce(&T) -> Failure) -> Result<T, Error> {
        match answer {
            Ok(answer) => {
                let Failure { error_type, message } = failure(&answer);
                self.tell(self.outcome(error_type.as_deref()), error_type.as_deref(), message.as_deref(), None);
                Ok(answer)
            }
            Err(error) => {
                let (shown, id) = masked(self.settings, self.asked.name, self.asked.options, error);
                let source = match &shown {
                    Error::Tool(shown) => std::error::Error::source(shown).map(ToString::to_string),
                    _ => None,
                };
                let message = match (source, &shown) {
                    (Some(hidden), _) if id.is_some() => hidden,
                    (Some(advice), _) if self.denied => format!("{shown}; {advice}"),
                    (_, Error::Timeout(_)) => format!("{shown}; if it needs longer, raise the tool's `timeout`"),
                    _ => shown.to_string(),
                };
                let error_type = shown.wire_type();
                let outcome = self.outcome(Some(error_type.as_str()));
                self.tell(outcome, Some(error_type.as_str()), Some(&message), id.as_deref());
                Err(shown)
            }
        }
    }

    fn outcome(&self, error_type: Option<&str>) -> CallOutcome {
        match error_type {
            None => CallOutcome::Success,
            Some(_) if self.denied => CallOutcome::Denied,
            Some(error_type) if CANCELLED == error_type => CallOutcome::Cancelled,
            Some(_) => CallOutcome::Failure,
        }
    }

    fn tell(&mut self, outcome: CallOutcome, error_type: Option<&str>, message: Option<&str>, id: Option<&str>) {
        self.over = true;
        let duration = self.started.elapsed();
        if let Some(tool) = &self.tool {
            tool.meter().record(duration, outcome != CallOutcome::Success);
        }
        let Asked { name, options, .. } = self.asked;
        let called_as = short(name);
        let (caller, request_id) = (options.get_caller().map(short), options.get_request_id().map(short));
        let error_type = error_type.map(short);
        let record = CallRecord {
            time: self.time,
            tool: self.tool.as_ref().map_or(&called_as, |tool| tool.name()),
            called_as: &called_as,
            caller: caller.as_deref(),
            request_id: request_id.as_deref(),
            outcome,
            duration,
            error_type: error_type.as_deref(),
            message,
            correlation_id: id,
            notices: &self.notices,
            arguments: self.asked.arguments,
        };
        trace::ended(&record);
        for observer in &self.settings.observers {
            // What an observer does to itself is not the call's concern.
            let _ = crate::util::panic::guard(|| observer.observe(&record));
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.over {
            let message = "the call was dropped before it was over";
            self.tell(CallOutcome::Cancelled, Some(CANCELLED.as_str()), Some(message), None);
        }
    }
}

/// The error as its caller may see it, of a bounded size, with the tool's name as the call has it, and the id under which
/// the operator finds the rest.
pub(crate) fn masked(settings: &Settings, name: &str, options: &CallOptions, error: Error) -> (Error, Option<String>) {
    let error = match error {
        // What a `Serialize` says is not written for callers.
        Error::Serialization(error) if settings.masks(options) => ToolError::from(error).into(),
        error => error,
    };
    match error {
        Error::Schema(mut error) => {
            name.clone_into(&mut error.tool);
            (error.into(), None)
        }
        Error::Tool(error) if error.is_foreign() && settings.masks(options) => {
            let id = correlation_id();
            if !settings.keeps_messages && !trace::is_on() {
                // Otherwise nobody would know.
                let _ = writeln!(io::stderr(), "error {id}: {error} ({UNMASK})");
            }
            let message = format!("the tool failed; whoever runs the server finds the reason under the id {id}");
            let masked = ToolError::new(error.error_type().clone(), message);
            (masked.details(json!({ "correlation_id": id })).shortened().with_source(error).into(), Some(id))
        }
        Error::Tool(error) => (error.shortened().into(), None),
        error => (error, None),
    }
}

/// What a tool's own result says of a failure.
#[derive(Clone, Default)]
pub(crate) struct Failure {
    error_type: Option<String>,
    message: Option<String>,
}

impl Failure {
    pub(crate) fn of(result: &ToolResult) -> Self {
        if !result.is_failure() {
            return Self::default();
        }
        let error = result.error.as_ref();
        let error_type = error.map_or("ToolExecutionError", |error| error.error_type.as_str());
        let message = error.map_or("", |error| &error.error_message);
        Self { error_type: Some(error_type.to_owned()), message: Some(message.to_owned()) }
    }

    pub(crate) fn of_returned(returned: &Returned) -> Self {
        match returned {
            Returned::Result(result) => Self::of(result),
            Returned::Json | Returned::Nothing | Returned::Content(_) => Self::default(),
        }
    }
}
