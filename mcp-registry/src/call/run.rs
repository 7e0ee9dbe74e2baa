//! Running one tool: where it is called, as a future, or on the pool; with its deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_core::{
    Call, CallError, CancelToken, Error, ErrorType, Fault, Input, Returned, SchemaError, TimeoutError, ToolContext,
    ToolError, ToolResult,
};
use serde_json::Value;

use super::drive::{Drive, Stopped};
use super::guard::{Panicked, guard};
use super::pool::Work;
use crate::answer::result_of;
use crate::made::Tool;
use crate::settings::Settings;
use crate::tool::{RegisteredTool, Source};
use crate::trace::in_span;
use crate::validate;

/// Runs the tool and makes a result of what it left behind.
pub(crate) async fn run(
    settings: &Arc<Settings>,
    tool: &RegisteredTool,
    cx: &ToolContext,
    arguments: String,
) -> Result<ToolResult, Error> {
    let mut json = Vec::new();
    let returned = run_into(settings, tool, cx, &arguments, &mut json).await?;
    result_of(settings, tool, returned, &json)
}

/// Runs the tool; a value that it returns stands behind what was in the buffer.
pub(crate) async fn run_into(
    settings: &Arc<Settings>,
    tool: &RegisteredTool,
    cx: &ToolContext,
    arguments: &str,
    out: &mut Vec<u8>,
) -> Result<Returned, Error> {
    validate::admit(tool, arguments)?;
    let start = out.len();
    let run = Run::new(settings, tool, cx);
    let returned = match tool.source() {
        Source::Made(made) => run.made(made, arguments).await,
        Source::Linked(entry) => match entry.call {
            Call::Sync(call) if entry.inline => {
                let returned = guard(|| call(cx, Input::new(arguments), out));
                self::returned(tool, returned, arguments)
            }
            Call::Sync(call) => run.on_pool(call, arguments, out).await,
            Call::Async(call) => {
                let cx = run.context();
                let future = call(&cx, Input::new(arguments), out);
                match run.drive(future).await {
                    Ok(returned) => self::returned(tool, Ok(returned), arguments),
                    Err(error) => Err(error),
                }
            }
        },
    };
    if returned.is_err() {
        out.truncate(start);
    }
    returned
}

pub(crate) type SyncCall = fn(&ToolContext, Input<'_>, &mut Vec<u8>) -> Result<Returned, CallError>;

/// One run of a tool, and when it is to be over.
struct Run<'a> {
    settings: &'a Arc<Settings>,
    tool: &'a RegisteredTool,
    cx: &'a ToolContext,
    limit: Option<Duration>,
    deadline: Option<Instant>,
    /// Cancelled when the run is over or stopped, for what the tool has started elsewhere.
    stopped: CancelToken,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Arc<Settings>, tool: &'a RegisteredTool, cx: &'a ToolContext) -> Self {
        let limit = settings.time_for(tool, cx.options());
        // A time too long to be told is no limit.
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let stopped = cx.cancel_token().map_or_else(CancelToken::new, CancelToken::child);
        Self { settings, tool, cx, limit, deadline, stopped }
    }

    /// The context as the tool sees it.
    fn context(&self) -> ToolContext {
        self.cx.clone().with_deadline(self.deadline).with_cancel(self.stopped.clone())
    }

    async fn drive<T>(&self, future: mcp_core::BoxFuture<'_, T>) -> Result<T, Error> {
        let drive = Drive::new(future)
            .until(self.deadline, || self.settings.host())
            .unless(self.cx.cancel_token())
            .telling(Some(self.stopped.clone()));
        drive.await.map_err(|stopped| self.error_of(stopped))
    }

    fn error_of(&self, stopped: Stopped) -> Error {
        let tool = self.tool.name();
        match stopped {
            Stopped::Late => TimeoutError { tool: tool.to_owned(), limit: self.limit.unwrap_or_default() }.into(),
            Stopped::Cancelled => cancelled(tool),
            Stopped::Panicked(panicked) => panicked.of(tool),
        }
    }

    async fn on_pool(&self, call: SyncCall, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        let (cx, owned, tool) = (self.context(), arguments.to_owned(), self.tool.name());
        let work = Work::start(
            self.settings,
            tool,
            in_span(move || {
                guard(|| {
                    let mut json = Vec::new();
                    let returned = call(&cx, Input::new(&owned), &mut json);
                    (returned, json)
                })
            }),
        )?;
        match self.drive(Box::pin(work)).await? {
            Some(Ok((returned, json))) => {
                out.extend_from_slice(&json);
                self::returned(self.tool, Ok(returned), arguments)
            }
            Some(Err(panicked)) => Err(panicked.of(tool)),
            None => {
                let message = format!("`{tool}` was given up by the host, which is shutting down; try again elsewhere");
                Err(ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).into())
            }
        }
    }

    async fn made(&self, made: &Arc<Tool>, arguments: &str) -> Result<Returned, Error> {
        let (made, cx, arguments) = (Arc::clone(made), self.context(), parsed(self.tool, arguments)?);
        let result = self.drive(Box::pin(async move { made.run(cx, arguments).await })).await??;
        Ok(Returned::Result(Box::new(result)))
    }
}

/// What the tool left behind, or why it did not.
pub(crate) fn returned(
    tool: &RegisteredTool,
    returned: Result<Result<Returned, CallError>, Panicked>,
    arguments: &str,
) -> Result<Returned, Error> {
    match returned {
        Ok(Ok(returned)) => Ok(returned),
        Ok(Err(CallError::Arguments(faults))) => Err(validate::complete(tool, arguments, faults).into()),
        Ok(Err(error)) => Err(error.into_error(tool.name())),
        Err(panicked) => Err(panicked.of(tool.name())),
    }
}

/// The arguments, for those who want all of them at once.
pub(crate) fn parsed(tool: &RegisteredTool, arguments: &str) -> Result<Value, Error> {
    let reason = match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => return Ok(value),
        Ok(_) => "they are JSON, but no object".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("the arguments are no JSON object: {reason}; send one JSON object");
    let fault = Fault { path: String::new(), expected: "a JSON object".into(), got: None, message };
    Err(SchemaError::new(tool.name(), vec![fault]).into())
}

/// The type of the error of a call that nobody waits for.
pub(crate) const CANCELLED: ErrorType = ErrorType::from_static("CancelledError");

/// The error of a call that nobody waits for.
pub(crate) fn cancelled(tool: &str) -> Error {
    let message = format!("`{tool}` was cancelled by its caller; call it again if it is wanted after all");
    ToolError::new(CANCELLED, message).into()
}
