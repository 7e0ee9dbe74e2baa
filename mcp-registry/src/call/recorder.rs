//! Records each call once, however it ends: in the metrics, in `tracing` and with the observers.

use std::io::{self, Write as _};
use std::time::{Duration, Instant, SystemTime};

use mcp_core::{CallOptions, Error, ErrorType, ToolError, ToolResult};
use serde_json::json;

use super::callable::Callable;
use super::request::CallRequest;
use super::run::CANCELLED;
use crate::call::correlation_id::correlation_id;
use crate::call::observe::{Arguments, CallOutcome, CallRecord, Notice, UNMASK, truncated};
use crate::call::settings::Settings;
use crate::call::trace;
use crate::util::panic::guard;

/// The facts about a call that are recorded at its end.
pub(crate) struct Recorder<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) request: CallRequest<'a>,
    /// `None` if there is no such tool.
    pub(crate) tool: Option<&'a Callable>,
    pub(crate) started: StartTime,
    pub(crate) notices: &'a [Notice],
    /// Whether the gate refused the call.
    pub(crate) is_denied: bool,
}

/// When a call started.
#[derive(Clone, Copy)]
pub(crate) struct StartTime {
    pub(crate) at: Instant,
    /// The wall-clock time, if the call is reported to observers or `tracing`.
    time: Option<SystemTime>,
}

impl StartTime {
    pub(crate) fn now(settings: &Settings) -> Self {
        let is_recorded = !settings.observers.is_empty() || trace::is_on();
        Self { at: Instant::now(), time: is_recorded.then(SystemTime::now) }
    }
}

impl Recorder<'_> {
    /// Records how the call ended. Returns the error as the caller may see it.
    pub(crate) fn finish<T>(
        self,
        result: Result<T, Error>,
        as_result: impl FnOnce(&mut T) -> Option<&mut ToolResult>,
    ) -> Result<T, Error> {
        match result {
            Ok(mut output) => {
                match as_result(&mut output) {
                    Some(result) => self.returned(result),
                    None => self.report(CallOutcome::Success, None, None, None),
                }
                Ok(output)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Records a result. Its error becomes what the caller may see: a layer or a tool can have made it of any error.
    #[inline(never)]
    fn returned(self, result: &mut ToolResult) {
        let is_failure = result.is_failure();
        let Some(error) = &mut result.error else {
            let error_type = is_failure.then_some(ErrorType::TOOL_EXECUTION_ERROR);
            let outcome = if is_failure { CallOutcome::Failure } else { CallOutcome::Success };
            return self.report(outcome, error_type.as_ref().map(ErrorType::as_str), is_failure.then_some(""), None);
        };
        let hidden = std::mem::take(error);
        let full = if hidden.is_foreign() { hidden.error_message.clone() } else { String::new() };
        let hidden = ToolError::from(hidden).into();
        let (shown, id) = mask_error(self.settings, self.request.name, self.request.options, hidden);
        *error = shown.into();
        if !is_failure {
            return self.report(CallOutcome::Success, None, None, None);
        }
        let error_type = error.error_type.as_str();
        let message = if id.is_some() { &full } else { &error.error_message };
        self.report(self.outcome(error_type), Some(error_type), Some(message), id.as_deref());
    }

    /// Records that the call failed. Returns the error as the caller may see it.
    #[inline(never)]
    fn failed(self, error: Error) -> Error {
        let (shown, id) = mask_error(self.settings, self.request.name, self.request.options, error);
        let error_type = shown.wire_type();
        let outcome = self.outcome(error_type.as_str());
        let message = self.is_recorded().then(|| self.message(&shown, id.is_some()));
        self.report(outcome, Some(error_type.as_str()), message.as_deref(), id.as_deref());
        shown
    }

    /// Records that the call was dropped before it ended.
    pub(crate) fn cancelled(self) {
        let message = "the call was dropped before it ended";
        self.report(CallOutcome::Cancelled, Some(CANCELLED.as_str()), Some(message), None);
    }

    fn is_recorded(&self) -> bool {
        self.started.time.is_some()
    }

    /// The error message for the operator of the server.
    fn message(&self, shown: &Error, is_masked: bool) -> String {
        // Any other source is an error of the tool, whose message may panic.
        let source = match shown {
            Error::Tool(shown) if is_masked || self.is_denied => std::error::Error::source(shown),
            _ => None,
        };
        match (source, shown) {
            (Some(hidden), _) if is_masked => hidden.to_string(),
            (Some(advice), _) if self.is_denied => format!("{shown}; {advice}"),
            (_, Error::Timeout(_)) => format!("{shown}; if it needs longer, raise the tool's `timeout`"),
            _ => shown.to_string(),
        }
    }

    fn outcome(&self, error_type: &str) -> CallOutcome {
        if self.is_denied {
            CallOutcome::Denied
        } else if CANCELLED == error_type {
            CallOutcome::Cancelled
        } else {
            CallOutcome::Failure
        }
    }

    #[inline]
    fn report(&self, outcome: CallOutcome, error_type: Option<&str>, message: Option<&str>, id: Option<&str>) {
        let duration = self.started.at.elapsed();
        if let Some(tool) = self.tool {
            tool.meter().record(duration, outcome != CallOutcome::Success);
        }
        if let Some(time) = self.started.time {
            self.observe((time, duration), outcome, (error_type, message, id));
        }
    }

    /// Reports the call to observers and `tracing`.
    fn observe(
        &self,
        (time, duration): (SystemTime, Duration),
        outcome: CallOutcome,
        (error_type, message, id): (Option<&str>, Option<&str>, Option<&str>),
    ) {
        let CallRequest { name, options, arguments, .. } = self.request;
        let called_as = truncated(name);
        let (caller, request_id) = (options.get_caller().map(truncated), options.get_request_id().map(truncated));
        let error_type = error_type.map(truncated);
        let record = CallRecord {
            time,
            tool: self.tool.map_or(&called_as, |tool| tool.name()),
            called_as: &called_as,
            caller: caller.as_deref(),
            request_id: request_id.as_deref(),
            outcome,
            duration,
            error_type: error_type.as_deref(),
            message,
            correlation_id: id,
            notices: self.notices,
            arguments: Arguments { json: arguments, tool: self.tool },
        };
        let _ = guard(|| trace::ended(&record));
        for observer in &self.settings.observers {
            // An observer that panics does not affect the call.
            let _ = guard(|| observer.observe(&record));
        }
    }
}

/// The error as the caller may see it, of limited size and with the name that was called; and, if it is masked, the ID
/// under which the message is logged.
pub(crate) fn mask_error(
    settings: &Settings,
    name: &str,
    options: &CallOptions,
    error: Error,
) -> (Error, Option<String>) {
    let error = match error {
        // Their messages were not written for callers.
        error @ (Error::Registration(_) | Error::Serialization(_) | Error::Transport(_)) if settings.masks(options) => {
            ToolError::from(error).into()
        }
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
                // The message is not kept anywhere else.
                let _ = writeln!(io::stderr(), "error {id}: {error} ({UNMASK})");
            }
            let message = format!("the tool failed; the operator of the server can find the reason under the ID {id}");
            let masked = ToolError::new(error.error_type().clone(), message);
            (masked.details(json!({ "correlation_id": id })).shortened().with_source(error).into(), Some(id))
        }
        Error::Tool(error) => (error.shortened().into(), None),
        error => (error, None),
    }
}
