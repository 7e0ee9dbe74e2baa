//! Records each call once, however it ends: in metrics, in `tracing` and with the observers.

use std::io::{self, Write as _};
use std::time::{Instant, SystemTime};

use mcp_core::output::Returned;
use mcp_core::{CallOptions, Error, ToolError, ToolResult};
use serde_json::json;

use super::CallRequest;
use super::callable::Callable;
use super::run::CANCELLED;
use crate::call::correlation_id::correlation_id;
use crate::call::observe::{CallOutcome, CallRecord, Notice, UNMASK, truncated};
use crate::call::settings::Settings;
use crate::call::trace;
use crate::util::panic::guard;

/// The record of a call in flight. If it is dropped before [`finish`](Self::finish), the call was cancelled.
pub(crate) struct Recorder<'a> {
    settings: &'a Settings,
    request: &'a CallRequest<'a>,
    time: SystemTime,
    started: Instant,
    tool: Option<Callable>,
    notices: Vec<Notice>,
    denied: bool,
    is_finished: bool,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(settings: &'a Settings, request: &'a CallRequest<'a>) -> Self {
        Self {
            settings,
            request,
            time: SystemTime::now(),
            started: Instant::now(),
            tool: None,
            notices: Vec::new(),
            denied: false,
            is_finished: false,
        }
    }

    /// The tool was found.
    pub(crate) fn found(&mut self, tool: &Callable) {
        self.notices = tool.notices(self.request.name);
        self.tool = Some(tool.clone());
    }

    /// The gate refused the call.
    pub(crate) fn deny(&mut self) {
        self.denied = true;
    }

    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Records how the call ended. Returns the error as the caller may see it.
    pub(crate) fn finish<T>(
        mut self,
        result: Result<T, Error>,
        failure: impl FnOnce(&T) -> Failure,
    ) -> Result<T, Error> {
        match result {
            Ok(output) => {
                let Failure { error_type, message } = failure(&output);
                self.report(self.outcome(error_type.as_deref()), error_type.as_deref(), message.as_deref(), None);
                Ok(output)
            }
            Err(error) => {
                let (shown, id) = mask_error(self.settings, self.request.name, self.request.options, error);
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
                self.report(outcome, Some(error_type.as_str()), Some(&message), id.as_deref());
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

    fn report(&mut self, outcome: CallOutcome, error_type: Option<&str>, message: Option<&str>, id: Option<&str>) {
        self.is_finished = true;
        let duration = self.started.elapsed();
        if let Some(tool) = &self.tool {
            tool.meter().record(duration, outcome != CallOutcome::Success);
        }
        let CallRequest { name, options, .. } = self.request;
        let called_as = truncated(name);
        let (caller, request_id) = (options.get_caller().map(truncated), options.get_request_id().map(truncated));
        let error_type = error_type.map(truncated);
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
            arguments: self.request.arguments,
        };
        trace::ended(&record);
        for observer in &self.settings.observers {
            // A panic of an observer does not affect the call.
            let _ = guard(|| observer.observe(&record));
        }
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            let message = "the call was dropped before it was over";
            self.report(CallOutcome::Cancelled, Some(CANCELLED.as_str()), Some(message), None);
        }
    }
}

/// The error as its caller may see it: of bounded size, with the name that was called; and the ID under which the rest is
/// logged.
pub(crate) fn mask_error(
    settings: &Settings,
    name: &str,
    options: &CallOptions,
    error: Error,
) -> (Error, Option<String>) {
    let error = match error {
        // The message of a `Serialize` is not written for callers.
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
                // Nobody else keeps it.
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

/// The error in a result that a tool returned.
#[derive(Clone, Default)]
pub(crate) struct Failure {
    error_type: Option<String>,
    message: Option<String>,
}

impl Failure {
    pub(crate) fn from_result(result: &ToolResult) -> Self {
        if !result.is_failure() {
            return Self::default();
        }
        let error = result.error.as_ref();
        let error_type = error.map_or("ToolExecutionError", |error| error.error_type.as_str());
        let message = error.map_or("", |error| &error.error_message);
        Self { error_type: Some(error_type.to_owned()), message: Some(message.to_owned()) }
    }

    pub(crate) fn from_returned(returned: &Returned) -> Self {
        match returned {
            Returned::Result(result) => Self::from_result(result),
            Returned::Json | Returned::Nothing | Returned::Content(_) => Self::default(),
        }
    }
}
