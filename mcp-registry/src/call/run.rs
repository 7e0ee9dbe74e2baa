//! Running one tool: where it is called, as a future, or on the pool; with its deadline.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_core::{
    BoxFuture, CallError, CallOptions, CancelToken, Error, ErrorType, Fault, Input, Returned, SchemaError,
    TimeoutError, ToolContext, ToolError, ToolResult,
};
use serde_json::Value;

use super::Called;
use super::drive::{Drive, Stopped};
use super::lane::Turn;
use super::pool::Work;
use super::target::Target;
use crate::call::answer::result_of;
use crate::call::observe::Arguments;
use crate::call::settings::Settings;
use crate::call::trace::in_span;
use crate::catalog::definition::{DynamicHandler, Handler};
use crate::runtime::tokio_context::timeout_hint;
use crate::util::lock::lock;
use crate::util::panic::{Panicked, guard};
use crate::validate;

/// Runs the tool and makes a result of what it left behind.
pub(crate) async fn run(
    settings: &Arc<Settings>,
    called: Called<'_>,
    cx: &ToolContext,
    arguments: String,
) -> Result<ToolResult, Error> {
    let mut json = Vec::new();
    let returned = run_into(settings, called, cx, &arguments, &mut json).await?;
    result_of(settings, called, returned, &json)
}

/// Runs the tool; a value that it returns stands behind what was in the buffer.
pub(crate) async fn run_into(
    settings: &Arc<Settings>,
    called: Called<'_>,
    cx: &ToolContext,
    arguments: &str,
    out: &mut Vec<u8>,
) -> Result<Returned, Error> {
    let start = out.len();
    let run = Run::new(settings, called, cx);
    let returned =
        if is_heavy(called.tool, arguments) { run.apart(arguments, out).await } else { run.here(arguments, out).await };
    if returned.is_err() {
        out.truncate(start);
    }
    returned
}

/// Whether arguments may take long to read and check: they are large, or of a type that takes more than linear time.
pub(crate) fn is_heavy(tool: &Target, arguments: &str) -> bool {
    arguments.len() > validate::LARGE || tool.slow().is_some()
}

/// Every fault of the arguments; the tool does not run.
pub(crate) async fn check(
    settings: &Arc<Settings>,
    called: Called<'_>,
    cx: &ToolContext,
    arguments: &str,
) -> Result<(), Error> {
    if !is_heavy(called.tool, arguments) {
        return check_here(called.tool, arguments);
    }
    let run = Run::new(settings, called, cx);
    let (turn, tool, json) = (run.turn(arguments).await?, called.tool.clone(), arguments.to_owned());
    let job = move || {
        let _turn = turn;
        check_here(&tool, &json)
    };
    run.step(run.on_pool(job)?).await??
}

/// Every fault of the arguments, read and checked here.
pub(crate) fn check_here(tool: &Target, arguments: &str) -> Result<(), Error> {
    tool.checks().check_arguments(arguments)?;
    if let Some(entry) = tool.definition().entry() {
        let checked = guard(|| entry.check(arguments)).map_err(|panicked| panicked.into_error(tool.name()))?;
        checked.map_err(|faults| tool.checks().explain_rejection(arguments, faults))?;
    }
    Ok(())
}

/// The arguments, for those who want to look inside.
pub(crate) async fn value<'a>(
    settings: &Arc<Settings>,
    called: Called<'_>,
    cx: &ToolContext,
    arguments: Arguments<'a>,
) -> Result<Cow<'a, Value>, Error> {
    match arguments {
        Arguments::Value(value) => Ok(Cow::Borrowed(value)),
        Arguments::Json(json) if json.len() <= validate::LARGE => parsed(called.tool, json).map(Cow::Owned),
        Arguments::Json(json) => {
            let run = Run::new(settings, called, cx);
            let turn = run.step(Box::pin(settings.large.acquire())).await?;
            let (tool, json) = (called.tool.clone(), json.to_owned());
            let job = move || {
                let _turn = turn;
                parsed(&tool, &json)
            };
            run.step(run.on_pool(job)?).await??.map(Cow::Owned)
        }
    }
}

/// Runs a job that reads something large on the pool, one at a time, within the time that a call has.
pub(crate) async fn apart<T: Send + 'static>(
    settings: &Arc<Settings>,
    job: impl FnOnce() -> T + Send + 'static,
    options: &CallOptions,
) -> Result<T, Error> {
    const WHAT: &str = "the message";
    let limit = settings.time_limit(None, options);
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let work = async {
        let turn = settings.large.acquire().await;
        let job = in_span(move || {
            let _turn = turn;
            guard(job)
        });
        match Work::start(settings, WHAT, job)?.await {
            Some(done) => done.map_err(|panicked| panicked.into_error(WHAT)),
            None => Err(given_up(WHAT)),
        }
    };
    let drive = Drive::new(settings, Box::pin(work)).until(deadline).unless(options.get_cancel());
    drive.await.unwrap_or_else(|stopped| Err(error_of(stopped, WHAT, limit)))
}

/// What a tool leaves behind on another thread: what it returned, and its value as JSON.
type Ran = Result<(Returned, Vec<u8>), Error>;

/// One run of a tool, and when it is to be over.
struct Run<'a> {
    settings: &'a Arc<Settings>,
    tool: &'a Target,
    /// The name by which it was called.
    name: &'a str,
    cx: &'a ToolContext,
    limit: Option<Duration>,
    deadline: Option<Instant>,
    /// Cancelled when the run is over or stopped, for what the tool has started elsewhere.
    stopped: CancelToken,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Arc<Settings>, Called { tool, name }: Called<'a>, cx: &'a ToolContext) -> Self {
        let limit = settings.time_for(tool, cx.options());
        // A time too long to be told is no limit.
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let stopped = cx.cancel_token().map_or_else(CancelToken::new, CancelToken::child);
        Self { settings, tool, name, cx, limit, deadline, stopped }
    }

    /// The context as the tool sees it.
    fn context(&self) -> ToolContext {
        self.cx.clone().with_deadline(self.deadline).with_cancel(self.stopped.clone())
    }

    /// Waits for the last part of the run.
    async fn drive<T>(&self, future: BoxFuture<'_, T>) -> Result<T, Error> {
        let drive = self.limited(future).telling(Some(self.stopped.clone()));
        drive.await.map_err(|stopped| self.error_of(stopped))
    }

    /// Waits for a part of the run that is not the last.
    async fn step<T>(&self, future: BoxFuture<'_, T>) -> Result<T, Error> {
        self.limited(future).await.map_err(|stopped| self.error_of(stopped))
    }

    fn limited<'f, T>(&'f self, future: BoxFuture<'f, T>) -> Drive<'f, T> {
        Drive::new(self.settings, future).until(self.deadline).unless(self.cx.cancel_token())
    }

    fn error_of(&self, stopped: Stopped) -> Error {
        error_of(stopped, self.name, self.limit)
    }

    fn called(&self) -> Called<'a> {
        Called { tool: self.tool, name: self.name }
    }

    /// Reads and checks the arguments where the call is made.
    async fn here(&self, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        self.tool.checks().check_arguments(arguments)?;
        match &self.tool.definition().handler {
            Handler::Dynamic(handler) => self.dynamic(handler, parsed(self.tool, arguments)?).await,
            Handler::Inline(call) => {
                let returned = guard(|| call(self.cx, Input::new(arguments), out));
                self::returned(self.called(), returned, arguments)
            }
            Handler::Blocking(call) => {
                let (cx, owned, call) = (self.context(), arguments.to_owned(), *call);
                let job = move || {
                    let mut json = Vec::new();
                    let returned = call(&cx, Input::new(&owned), &mut json);
                    (returned, json)
                };
                let (returned, json) = self.drive(self.on_pool(job)?).await??;
                out.extend_from_slice(&json);
                self::returned(self.called(), Ok(returned), arguments)
            }
            Handler::Async(call) => {
                let cx = self.context();
                let returned = self.drive(call(&cx, Input::new(arguments), out)).await?;
                self::returned(self.called(), Ok(returned), arguments)
            }
        }
    }

    /// Reads and checks the arguments on the pool, where they can be abandoned, and runs the tool where it belongs.
    async fn apart(&self, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        let turn = self.turn(arguments).await?;
        let (tool, name, json) = (self.tool.clone(), self.name.to_owned(), arguments.to_owned());
        let (returned, json) = match &self.tool.definition().handler {
            Handler::Dynamic(handler) => {
                let job = move || {
                    let _turn = turn;
                    tool.checks().check_arguments(&json)?;
                    parsed(&tool, &json)
                };
                let arguments = self.step(self.on_pool(job)?).await???;
                return self.dynamic(handler, arguments).await;
            }
            Handler::Inline(call) | Handler::Blocking(call) => {
                let (cx, call) = (self.context(), *call);
                let job = move || -> Ran {
                    let mut out = Vec::new();
                    let turn = Mutex::new(turn);
                    let on_read = || {
                        release(&turn);
                        // Whoever was answered at the deadline is not to find later that the tool ran all the same.
                        !cx.is_cancelled()
                    };
                    tool.checks().check_arguments(&json)?;
                    let returned = call(&cx, Input::new(&json).on_read(&on_read), &mut out);
                    Ok((self::returned(Called { tool: &tool, name: &name }, Ok(returned), &json)?, out))
                };
                self.drive(self.on_pool(job)?).await???
            }
            Handler::Async(call) => {
                let (cx, call) = (self.context(), *call);
                let job = move || {
                    let mut future: BoxFuture<'static, Ran> = Box::pin(async move {
                        let turn = Mutex::new(turn);
                        let on_read = || {
                            release(&turn);
                            true
                        };
                        tool.checks().check_arguments(&json)?;
                        let mut out = Vec::new();
                        let input = Input::new(&json).pause().on_read(&on_read);
                        let returned = call(&cx, input, &mut out).await;
                        Ok((self::returned(Called { tool: &tool, name: &name }, Ok(returned), &json)?, out))
                    });
                    // It is pending when the arguments are read.
                    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                        Poll::Ready(refused) => Err(refused),
                        Poll::Pending => Ok(future),
                    }
                };
                match self.step(self.on_pool(job)?).await?? {
                    Ok(future) => self.drive(future).await??,
                    Err(refused) => refused?,
                }
            }
        };
        out.extend_from_slice(&json);
        Ok(returned)
    }

    /// Waits until it is this call's turn to be read and checked, if it needs one.
    async fn turn(&self, arguments: &str) -> Result<Option<Turn>, Error> {
        let is_checked = || guard(|| self.tool.checks().needs_validator(arguments)).unwrap_or(true);
        let lane = self.tool.slow().or_else(|| is_checked().then_some(&self.settings.large));
        match lane {
            Some(lane) => self.step(Box::pin(lane.acquire())).await.map(Some),
            None => Ok(None),
        }
    }

    /// Puts a job on the pool. It ends in what the job returns, or in an error.
    fn on_pool<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<BoxFuture<'a, Result<T, Error>>, Error> {
        let name = self.name;
        let work = Work::start(self.settings, name, in_span(self.settings.carry(move || guard(job))))?;
        Ok(Box::pin(async move {
            match work.await {
                Some(Ok(done)) => Ok(done),
                Some(Err(panicked)) => Err(panicked.into_error(name)),
                None => Err(given_up(name)),
            }
        }))
    }

    async fn dynamic(&self, handler: &Arc<DynamicHandler>, arguments: Value) -> Result<Returned, Error> {
        let (handler, cx) = (Arc::clone(handler), self.context());
        let result = self.drive(Box::pin(async move { handler(cx, arguments).await })).await??;
        Ok(Returned::Result(Box::new(result)))
    }
}

/// Lets the next call be read.
fn release(turn: &Mutex<Option<Turn>>) {
    drop(lock(turn).take());
}

fn error_of(stopped: Stopped, tool: &str, limit: Option<Duration>) -> Error {
    match stopped {
        Stopped::Late => {
            TimeoutError { tool: tool.to_owned(), limit: limit.unwrap_or_default(), hint: timeout_hint() }.into()
        }
        Stopped::Cancelled => cancelled(tool),
        Stopped::Panicked(panicked) => panicked.into_error(tool),
    }
}

fn given_up(tool: &str) -> Error {
    let message = format!("`{tool}` was given up by the host, which is shutting down; try again elsewhere");
    ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).into()
}

/// What the tool left behind, or why it did not.
pub(crate) fn returned(
    Called { tool, name }: Called<'_>,
    returned: Result<Result<Returned, CallError>, Panicked>,
    arguments: &str,
) -> Result<Returned, Error> {
    match returned {
        Ok(Ok(returned)) => Ok(returned),
        Ok(Err(CallError::Arguments(faults))) => Err(tool.checks().explain_rejection(arguments, faults).into()),
        Ok(Err(error)) => Err(error.into_error(name)),
        Err(panicked) => Err(panicked.into_error(name)),
    }
}

/// The arguments, for those who want all of them at once.
pub(crate) fn parsed(tool: &Target, arguments: &str) -> Result<Value, Error> {
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
