//! Runs one tool within its deadline: on the caller's thread, as a future, or on the pool.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_core::context::BoxFuture;
use mcp_core::entry::Input;
use mcp_core::error::{CallError, Fault, SchemaError, TimeoutError};
use mcp_core::output::Returned;
use mcp_core::{CallOptions, CancelToken, Error, ErrorType, ToolContext, ToolError, ToolResult};
use serde_json::Value;

use super::CalledTool;
use super::async_lock::AsyncLockGuard;
use super::callable::Callable;
use super::pool::PoolJob;
use super::supervise::{Stopped, Supervised};
use crate::call::observe::Arguments;
use crate::call::result::to_result;
use crate::call::settings::Settings;
use crate::call::trace::in_span;
use crate::catalog::definition::{DynamicHandler, Handler};
use crate::runtime::tokio_context::timeout_hint;
use crate::util::lock::lock;
use crate::util::panic::{Panicked, guard};
use crate::validate;

/// Runs the tool and converts its output to a result.
pub(crate) async fn run(
    settings: &Arc<Settings>,
    called: CalledTool<'_>,
    cx: &ToolContext,
    arguments: String,
) -> Result<ToolResult, Error> {
    let mut json = Vec::new();
    let returned = run_into(settings, called, cx, &arguments, &mut json).await?;
    to_result(settings, called, returned, &json)
}

/// Runs the tool; a JSON value that it returns is appended to the buffer.
pub(crate) async fn run_into(
    settings: &Arc<Settings>,
    called: CalledTool<'_>,
    cx: &ToolContext,
    arguments: &str,
    out: &mut Vec<u8>,
) -> Result<Returned, Error> {
    let start = out.len();
    let run = Run::new(settings, called, cx);
    let returned = if is_heavy(called.tool, arguments) {
        run.reading_on_pool(arguments, out).await
    } else {
        run.reading_here(arguments, out).await
    };
    if returned.is_err() {
        out.truncate(start);
    }
    returned
}

/// Whether arguments may take long to read and check: they are large, or of a type that may take more than linear time.
pub(crate) fn is_heavy(tool: &Callable, arguments: &str) -> bool {
    arguments.len() > validate::LARGE || tool.read_lock().is_some()
}

/// Checks the arguments without running the tool; the error has every fault.
pub(crate) async fn check(
    settings: &Arc<Settings>,
    called: CalledTool<'_>,
    cx: &ToolContext,
    arguments: &str,
) -> Result<(), Error> {
    if !is_heavy(called.tool, arguments) {
        return check_here(called.tool, arguments);
    }
    let run = Run::new(settings, called, cx);
    let (permit, tool, json) = (run.lock_reading(arguments).await?, called.tool.clone(), arguments.to_owned());
    run.step_on_pool(permit, move || check_here(&tool, &json)).await?
}

/// The same on this thread.
pub(crate) fn check_here(tool: &Callable, arguments: &str) -> Result<(), Error> {
    tool.checks().check_arguments(arguments)?;
    if let Some(entry) = tool.definition().entry() {
        let checked = guard(|| entry.check(arguments)).map_err(|panicked| panicked.into_error(tool.name()))?;
        checked.map_err(|faults| tool.checks().explain_rejection(arguments, faults))?;
    }
    Ok(())
}

/// The arguments as a value, for the gate and the layers.
pub(crate) async fn value<'a>(
    settings: &Arc<Settings>,
    called: CalledTool<'_>,
    cx: &ToolContext,
    arguments: Arguments<'a>,
) -> Result<Cow<'a, Value>, Error> {
    match arguments {
        Arguments::Value(value) => Ok(Cow::Borrowed(value)),
        Arguments::Json(json) if json.len() <= validate::LARGE => parsed(called.tool, json).map(Cow::Owned),
        Arguments::Json(json) => {
            let run = Run::new(settings, called, cx);
            let permit = run.step(Box::pin(settings.large_arguments.acquire())).await?;
            let (tool, json) = (called.tool.clone(), json.to_owned());
            run.step_on_pool(Some(permit), move || parsed(&tool, &json)).await?.map(Cow::Owned)
        }
    }
}

/// Runs a job that reads something large on the pool, one such job at a time, within the time limit of a call.
pub(crate) async fn read_on_pool<T: Send + 'static>(
    settings: &Arc<Settings>,
    job: impl FnOnce() -> T + Send + 'static,
    options: &CallOptions,
) -> Result<T, Error> {
    const NAME: &str = "the message";
    let limit = settings.time_limit(None, options);
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let work = async {
        let permit = settings.large_arguments.acquire().await;
        let job = in_span(move || {
            let _permit = permit;
            guard(job)
        });
        match PoolJob::start(settings, NAME, job)?.await {
            Some(done) => done.map_err(|panicked| panicked.into_error(NAME)),
            None => Err(abandoned_by_runtime(NAME)),
        }
    };
    let work = Supervised::new(settings, Box::pin(work)).deadline(deadline).cancel(options.get_cancel());
    work.await.unwrap_or_else(|stopped| Err(error_of(stopped, NAME, limit)))
}

/// What a tool returned on another thread, and its value as JSON.
type Output = Result<(Returned, Vec<u8>), Error>;

/// One run of a tool, with its deadline.
struct Run<'a> {
    settings: &'a Arc<Settings>,
    called: CalledTool<'a>,
    cx: &'a ToolContext,
    limit: Option<Duration>,
    deadline: Option<Instant>,
    /// Cancelled when the run is over or stopped, for what the tool has started elsewhere.
    stopped: CancelToken,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Arc<Settings>, called: CalledTool<'a>, cx: &'a ToolContext) -> Self {
        let limit = settings.time_limit(called.tool.timeout(), cx.options());
        // A time beyond the clock's range is no limit.
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let stopped = cx.cancel_token().map_or_else(CancelToken::new, CancelToken::child);
        Self { settings, called, cx, limit, deadline, stopped }
    }

    /// The context as the tool sees it.
    fn context(&self) -> ToolContext {
        self.cx.clone().with_deadline(self.deadline).with_cancel(self.stopped.clone())
    }

    /// Waits for the last part of the run.
    async fn last_step<T>(&self, future: BoxFuture<'_, T>) -> Result<T, Error> {
        let future = self.supervised(future).on_end(self.stopped.clone());
        future.await.map_err(|stopped| self.error_of(stopped))
    }

    /// Waits for a part of the run that is not the last.
    async fn step<T>(&self, future: BoxFuture<'_, T>) -> Result<T, Error> {
        self.supervised(future).await.map_err(|stopped| self.error_of(stopped))
    }

    fn supervised<'f, T>(&'f self, future: BoxFuture<'f, T>) -> Supervised<'f, T> {
        Supervised::new(self.settings, future).deadline(self.deadline).cancel(self.cx.cancel_token())
    }

    fn error_of(&self, stopped: Stopped) -> Error {
        error_of(stopped, self.called.name, self.limit)
    }

    /// Runs the tool, reading and checking the arguments on the caller's thread.
    async fn reading_here(&self, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        self.called.tool.checks().check_arguments(arguments)?;
        match &self.called.tool.definition().handler {
            Handler::Dynamic(handler) => self.dynamic(handler, parsed(self.called.tool, arguments)?).await,
            Handler::Inline(call) => {
                let returned = guard(|| call(self.cx, Input::new(arguments), out));
                self::returned(self.called, returned, arguments)
            }
            Handler::Blocking(call) => {
                let (cx, owned, call) = (self.context(), arguments.to_owned(), *call);
                let job = move || {
                    let mut json = Vec::new();
                    let returned = call(&cx, Input::new(&owned), &mut json);
                    (returned, json)
                };
                let (returned, json) = self.last_step(self.on_pool(job)?).await??;
                out.extend_from_slice(&json);
                self::returned(self.called, Ok(returned), arguments)
            }
            Handler::Async(call) => {
                let cx = self.context();
                let returned = self.last_step(call(&cx, Input::new(arguments), out)).await?;
                self::returned(self.called, Ok(returned), arguments)
            }
        }
    }

    /// Runs the tool, reading and checking the arguments on the pool, where that can be abandoned.
    async fn reading_on_pool(&self, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        let permit = self.lock_reading(arguments).await?;
        let (tool, name, json) = (self.called.tool.clone(), self.called.name.to_owned(), arguments.to_owned());
        let (returned, json) = match &self.called.tool.definition().handler {
            Handler::Dynamic(handler) => {
                let job = move || {
                    tool.checks().check_arguments(&json)?;
                    parsed(&tool, &json)
                };
                return self.dynamic(handler, self.step_on_pool(permit, job).await??).await;
            }
            Handler::Inline(call) | Handler::Blocking(call) => {
                let (cx, call) = (self.context(), *call);
                let job = move || -> Output {
                    let mut out = Vec::new();
                    let permit = Mutex::new(permit);
                    let on_read = || {
                        release(&permit);
                        // A tool whose caller got a timeout must not run later.
                        !cx.is_cancelled()
                    };
                    tool.checks().check_arguments(&json)?;
                    let returned = call(&cx, Input::new(&json).on_read(&on_read), &mut out);
                    Ok((self::returned(CalledTool { tool: &tool, name: &name }, Ok(returned), &json)?, out))
                };
                self.last_step(self.on_pool(job)?).await???
            }
            Handler::Async(call) => {
                let (cx, call) = (self.context(), *call);
                let job = move || {
                    let mut future: BoxFuture<'static, Output> = Box::pin(async move {
                        let permit = Mutex::new(permit);
                        let on_read = || {
                            release(&permit);
                            true
                        };
                        tool.checks().check_arguments(&json)?;
                        let mut out = Vec::new();
                        let input = Input::new(&json).pause().on_read(&on_read);
                        let returned = call(&cx, input, &mut out).await;
                        Ok((self::returned(CalledTool { tool: &tool, name: &name }, Ok(returned), &json)?, out))
                    });
                    // It is pending when the arguments are read.
                    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                        Poll::Ready(rejected) => Err(rejected),
                        Poll::Pending => Ok(future),
                    }
                };
                match self.step(self.on_pool(job)?).await?? {
                    Ok(future) => self.last_step(future).await??,
                    Err(rejected) => rejected?,
                }
            }
        };
        out.extend_from_slice(&json);
        Ok(returned)
    }

    /// Waits for the lock under which the arguments are read and checked, if they need one.
    async fn lock_reading(&self, arguments: &str) -> Result<Option<AsyncLockGuard>, Error> {
        let needs_check = || guard(|| self.called.tool.checks().needs_validator(arguments)).unwrap_or(true);
        let lock = self.called.tool.read_lock().or_else(|| needs_check().then_some(&self.settings.large_arguments));
        match lock {
            Some(lock) => self.step(Box::pin(lock.acquire())).await.map(Some),
            None => Ok(None),
        }
    }

    /// Runs a part of the run that is not the last on the pool, holding the permit meanwhile.
    async fn step_on_pool<T: Send + 'static>(
        &self,
        permit: Option<AsyncLockGuard>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let job = move || {
            let _permit = permit;
            job()
        };
        self.step(self.on_pool(job)?).await?
    }

    /// Puts a job on the pool. The future yields what the job returns, or an error.
    fn on_pool<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<BoxFuture<'a, Result<T, Error>>, Error> {
        let name = self.called.name;
        let work = PoolJob::start(self.settings, name, in_span(self.settings.carry(move || guard(job))))?;
        Ok(Box::pin(async move {
            match work.await {
                Some(Ok(done)) => Ok(done),
                Some(Err(panicked)) => Err(panicked.into_error(name)),
                None => Err(abandoned_by_runtime(name)),
            }
        }))
    }

    async fn dynamic(&self, handler: &Arc<DynamicHandler>, arguments: Value) -> Result<Returned, Error> {
        let (handler, cx) = (Arc::clone(handler), self.context());
        let result = self.last_step(Box::pin(async move { handler(cx, arguments).await })).await??;
        Ok(Returned::Result(Box::new(result)))
    }
}

/// Lets the next call read its arguments.
fn release(permit: &Mutex<Option<AsyncLockGuard>>) {
    drop(lock(permit).take());
}

fn error_of(stopped: Stopped, tool: &str, limit: Option<Duration>) -> Error {
    match stopped {
        Stopped::TimedOut => TimeoutError::new(tool, limit.unwrap_or_default()).hint(timeout_hint()).into(),
        Stopped::Cancelled => cancelled(tool),
        Stopped::Panicked(panicked) => panicked.into_error(tool),
    }
}

fn abandoned_by_runtime(tool: &str) -> Error {
    let message = format!("`{tool}` was abandoned: the runtime is shutting down; try again elsewhere");
    ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).into()
}

/// What the tool returned, or why it failed.
pub(crate) fn returned(
    CalledTool { tool, name }: CalledTool<'_>,
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

/// The arguments as a value.
fn parsed(tool: &Callable, arguments: &str) -> Result<Value, Error> {
    let reason = match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => return Ok(value),
        Ok(_) => "they are JSON, but no object".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("the arguments are no JSON object: {reason}; send one JSON object");
    let fault = Fault::new("", "a JSON object", message);
    Err(SchemaError::new(tool.name(), vec![fault]).into())
}

/// The type of the error of a cancelled call.
pub(crate) const CANCELLED: ErrorType = ErrorType::from_static("CancelledError");

/// The error of a cancelled call.
pub(crate) fn cancelled(tool: &str) -> Error {
    let message = format!("`{tool}` was cancelled by its caller; call it again if it is wanted after all");
    ToolError::new(CANCELLED, message).into()
}
