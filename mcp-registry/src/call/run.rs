//! Runs a tool within its limits: on the caller's thread, as a future, or on the pool.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_core::entry::{Input, ToolFuture};
use mcp_core::error::{CallError, TimeoutError};
use mcp_core::output::Returned;
use mcp_core::support::TYPICAL_RESULT_BYTES;
use mcp_core::{CallOptions, CancelToken, Error, ErrorType, ToolContext, ToolError};
use serde_json::Value;

use super::async_lock::AsyncLockGuard;
use super::callable::Callable;
use super::pool::PoolJob;
use super::request::CalledTool;
use super::seen::{Seen, parsed};
use super::supervise::{Stopped, Supervised};
use crate::call::settings::Settings;
use crate::call::trace::in_span;
use crate::catalog::definition::{DynamicHandler, Handler, SyncHandler};
use crate::runtime::tokio_context::timeout_hint;
use crate::util::lock::lock;
use crate::util::panic::{Panicked, discard, guard};
use crate::validate;

/// Whether arguments may take long to parse and check: they are large, or their types may take more than linear time.
pub(crate) fn is_heavy(tool: &Callable, arguments: &str) -> bool {
    arguments.len() > validate::LARGE || tool.read_lock().is_some()
}

/// Calls a tool with arguments that were not checked. If the types reject them, but the schema accepts them, such as `2.0`
/// in a list of integers, the tool is called with what the types accept.
fn with_edits<T>(
    tool: &Callable,
    may_need_edits: bool,
    arguments: &str,
    mut call: impl FnMut(&str) -> Result<T, CallError>,
) -> Result<T, CallError> {
    match call(arguments) {
        Err(CallError::Arguments(faults)) if may_need_edits => match tool.checks().edited(arguments) {
            Some(edited) => call(&edited),
            None => Err(CallError::Arguments(faults)),
        },
        returned => returned,
    }
}

/// Runs a job that parses a large message on the pool, one such job at a time, within the time limit of a call.
pub(crate) async fn read_on_pool<T: Send + 'static>(
    settings: &Arc<Settings>,
    job: impl FnOnce() -> T + Send + 'static,
    options: &CallOptions,
) -> Result<T, Error> {
    const NAME: &str = "the message";
    let limits = Limits::new(settings.time_limit(None, options), Instant::now(), options.get_cancel());
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
    let work = Supervised::new(settings, Box::pin(work), &limits);
    work.await.unwrap_or_else(|stopped| Err(error_of(stopped, NAME, &limits)))
}

/// The limits that stop a run.
#[derive(Clone)]
pub(crate) struct Limits {
    pub(crate) time: Option<Duration>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: Option<CancelToken>,
}

impl Limits {
    pub(crate) fn new(time: Option<Duration>, start: Instant, cancel: Option<&CancelToken>) -> Self {
        // A time beyond the clock's range means no limit.
        Self { time, deadline: time.and_then(|time| start.checked_add(time)), cancel: cancel.cloned() }
    }

    /// No limit except the cancellation token.
    pub(crate) fn cancelled_by(cancel: Option<&CancelToken>) -> Self {
        Self { time: None, deadline: None, cancel: cancel.cloned() }
    }

    /// The reason to stop the run, if a limit has been reached.
    pub(crate) fn reached(&self, now: Instant) -> Option<Stopped> {
        if self.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        self.deadline.filter(|deadline| now >= *deadline).map(|_| Stopped::TimedOut)
    }

    /// A token that is cancelled with the call, or separately.
    fn child_token(&self) -> CancelToken {
        self.cancel.as_ref().map_or_else(CancelToken::new, CancelToken::child)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }
}

/// The state of a run after [`Run::start`].
pub(crate) enum Started {
    /// The tool has returned. A value was appended to the buffer as JSON.
    Done(Returned),
    Running(Running),
}

/// A running tool: a future, or a job on the pool.
pub(crate) enum Running {
    Future { future: ToolFuture, tool: Callable, is_polled: bool },
    Job(PoolJob<JobOutput>),
}

/// The output of a job: what the tool returned, its value as JSON, and the arguments.
pub(crate) type JobOutput = Result<(Result<Returned, CallError>, Vec<u8>, String), Panicked>;

/// The output of a run.
pub(crate) enum Finished {
    Future(Result<(Returned, Vec<u8>), CallError>),
    /// `None` if the runtime dropped the job.
    Job(Option<JobOutput>),
}

impl Future for Running {
    type Output = Finished;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Finished> {
        match self.get_mut() {
            Self::Future { future, tool, is_polled } => {
                let begun = Instant::now();
                let polled = future.as_mut().poll(context).map(Finished::Future);
                if std::mem::replace(is_polled, true) {
                    tool.record_poll(begun.elapsed());
                } else {
                    tool.record_first_poll(begun.elapsed());
                }
                polled
            }
            Self::Job(job) => Pin::new(job).poll(context).map(Finished::Job),
        }
    }
}

impl CalledTool<'_> {
    /// Checks the arguments, if that is done before they are read. Returns them as the types read them.
    #[inline]
    pub(crate) fn check<'a>(self, settings: &Settings, arguments: &'a str) -> Result<Cow<'a, str>, Error> {
        if self.tool.plan(settings).checks_first { self.tool.checks().check(arguments) } else { Ok(arguments.into()) }
    }

    #[inline]
    pub(crate) fn call_inline(
        self,
        settings: &Settings,
        call: SyncHandler,
        cx: &ToolContext,
        arguments: &str,
        out: &mut Vec<u8>,
    ) -> Result<Returned, Error> {
        let may_need_edits = self.tool.plan(settings).may_need_edits;
        let call = |json: &str| call(cx, Input::new(json), out);
        self.returned(guard(|| with_edits(self.tool, may_need_edits, arguments, call)), arguments)
    }

    /// What the tool returned, or the error of the call.
    #[inline]
    fn returned<T>(self, returned: Result<Result<T, CallError>, Panicked>, arguments: &str) -> Result<T, Error> {
        match returned {
            Ok(Ok(returned)) => Ok(returned),
            Ok(Err(error)) => Err(self.failed(error, arguments)),
            Err(panicked) => Err(panicked.into_error(self.name)),
        }
    }

    #[cold]
    fn failed(self, error: CallError, arguments: &str) -> Error {
        match error {
            CallError::Arguments(faults) => self.tool.checks().explain_rejection(arguments, faults).into(),
            error => error.into_error(self.name),
        }
    }
}

/// One run of a tool, with its limits.
pub(crate) struct Run<'a> {
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) called: CalledTool<'a>,
    pub(crate) limits: Limits,
    /// Cancelled when the run is complete or stopped, to stop what the tool has started elsewhere. `None` if the tool
    /// has no access to it.
    pub(crate) stopped: Option<CancelToken>,
    /// Whether the arguments were checked against the schema, and are as the types read them.
    pub(crate) is_checked: bool,
}

impl<'a> Run<'a> {
    pub(crate) fn with_limits(settings: &'a Arc<Settings>, called: CalledTool<'a>, limits: Limits) -> Self {
        let plan = called.tool.plan(settings);
        let stopped = (plan.uses_context && !plan.is_inline).then(|| limits.child_token());
        Self { settings, called, limits, stopped, is_checked: false }
    }

    /// States that the arguments were checked against the schema.
    pub(crate) fn of_checked_arguments(self, is_checked: bool) -> Self {
        Self { is_checked, ..self }
    }

    /// The context for the tool, with the deadline and the token of this run.
    pub(crate) fn context(&self, cx: ToolContext) -> ToolContext {
        match &self.stopped {
            Some(stopped) => cx.with_deadline(self.limits.deadline).with_cancel(stopped.clone()),
            None => cx,
        }
    }

    /// Runs the tool to its end. A value that it returns is appended to the buffer as JSON.
    pub(crate) async fn run(&self, cx: ToolContext, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        if let Some(stopped) = self.limits.reached(Instant::now()) {
            return Err(self.stop(stopped));
        }
        let cx = self.context(cx);
        if is_heavy(self.called.tool, arguments) {
            return self.reading_on_pool(cx, arguments, out).await;
        }
        let arguments = if self.is_checked { arguments.into() } else { self.called.check(self.settings, arguments)? };
        match self.start(cx, &arguments, out)? {
            Started::Done(returned) => Ok(returned),
            Started::Running(running) => self.finish(running, out).await,
        }
    }

    /// Starts the tool with checked arguments. The future of a quick tool is polled once, so that it needs no task,
    /// timer or waker if it is ready.
    pub(crate) fn start(&self, cx: ToolContext, arguments: &str, out: &mut Vec<u8>) -> Result<Started, Error> {
        let (called, settings) = (self.called, self.settings);
        let may_need_edits = called.tool.plan(settings).may_need_edits;
        match &called.tool.definition().handler {
            Handler::Inline(call) => called.call_inline(settings, *call, &cx, arguments, out).map(Started::Done),
            Handler::Async(call) => {
                let future = guard(|| {
                    if !may_need_edits {
                        return call(cx, Input::new(arguments));
                    }
                    with_edits(called.tool, true, arguments, |json| call(cx.clone(), Input::new(json)))
                });
                match called.returned(future, arguments)? {
                    Some(future) => self.poll_once(future, out),
                    None => Ok(Started::Done(Returned::Nothing)),
                }
            }
            Handler::Dynamic(handler) => self.poll_once(dynamic(handler, cx, parsed(called.tool, arguments)?), out),
            Handler::Blocking(call) => {
                let (owned, call, tool) = (arguments.to_owned(), *call, called.tool.clone());
                let job = move || {
                    let (begun, mut json) = (Instant::now(), Vec::with_capacity(TYPICAL_RESULT_BYTES));
                    let call = |arguments: &str| call(&cx, Input::new(arguments), &mut json);
                    let returned = with_edits(&tool, may_need_edits, &owned, call);
                    tool.record_job(begun.elapsed());
                    (returned, json, owned)
                };
                self.on_pool(job).map(Running::Job).map(Started::Running)
            }
        }
    }

    /// Polls the future for the first time, if the tool is quick.
    fn poll_once(&self, mut future: ToolFuture, out: &mut Vec<u8>) -> Result<Started, Error> {
        if !self.called.tool.is_quick() {
            return Ok(Started::Running(self.future(future, false)));
        }
        let (polled, now) = self.settings.in_runtime(|| {
            let begun = Instant::now();
            let polled = guard(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
            let now = Instant::now();
            self.called.tool.record_first_poll(now - begun);
            let output = match polled {
                Ok(Poll::Pending) => return (Err(future), now),
                Ok(Poll::Ready(output)) => Ok(output),
                Err(panicked) => Err(panicked),
            };
            discard(future);
            (Ok(output), now)
        });
        let output = match polled {
            Err(future) => return Ok(Started::Running(self.future(future, true))),
            Ok(Ok(output)) => output,
            Ok(Err(panicked)) => return Err(self.stop(Stopped::Panicked(panicked))),
        };
        if let Some(stopped) = self.limits.reached(now) {
            discard(output);
            return Err(self.stop(stopped));
        }
        self.end();
        self.finished(Finished::Future(output), out).map(Started::Done)
    }

    /// Completes a job that has returned.
    pub(crate) fn finish_job(&self, output: Option<JobOutput>, out: &mut Vec<u8>) -> Result<Returned, Error> {
        if let Some(stopped) = self.limits.reached(Instant::now()) {
            discard(output);
            return Err(self.stop(stopped));
        }
        self.end();
        self.finished(Finished::Job(output), out)
    }

    fn future(&self, future: ToolFuture, is_polled: bool) -> Running {
        Running::Future { future, tool: self.called.tool.clone(), is_polled }
    }

    /// Waits for a running tool.
    pub(crate) async fn finish(&self, running: Running, out: &mut Vec<u8>) -> Result<Returned, Error> {
        let finished = self.supervise(running, self.stopped.as_ref()).await?;
        self.finished(finished, out)
    }

    /// Waits for a part of the run. The token is cancelled when that part is complete or stopped.
    async fn supervise<F: Future + Unpin>(&self, future: F, on_end: Option<&CancelToken>) -> Result<F::Output, Error> {
        let future = Supervised::new(self.settings, future, &self.limits).on_end(on_end);
        future.await.map_err(|stopped| self.error_of(stopped))
    }

    fn end(&self) {
        self.stopped.iter().for_each(CancelToken::cancel);
    }

    fn stop(&self, stopped: Stopped) -> Error {
        self.end();
        self.error_of(stopped)
    }

    fn error_of(&self, stopped: Stopped) -> Error {
        error_of(stopped, self.called.name, &self.limits)
    }

    /// Unpacks the output of a run. A value is appended to the buffer.
    fn finished(&self, finished: Finished, out: &mut Vec<u8>) -> Result<Returned, Error> {
        let (returned, json) = match finished {
            Finished::Future(Ok(done)) => done,
            Finished::Future(Err(error)) => return Err(error.into_error(self.called.name)),
            Finished::Job(output) => {
                let (returned, json, arguments) = self.job_output(output)?;
                (self.called.returned(Ok(returned), &arguments)?, json)
            }
        };
        if out.is_empty() {
            *out = json;
        } else {
            out.extend_from_slice(&json);
        }
        Ok(returned)
    }

    /// Runs the tool, but parses and checks the arguments on the pool, where a job can be abandoned.
    async fn reading_on_pool(&self, cx: ToolContext, arguments: &str, out: &mut Vec<u8>) -> Result<Returned, Error> {
        let permit = self.lock_reading().await?;
        let (tool, json) = (self.called.tool.clone(), arguments.to_owned());
        let (may_need_edits, is_checked) = (tool.plan(self.settings).may_need_edits, self.is_checked);
        match &self.called.tool.definition().handler {
            Handler::Dynamic(handler) => {
                let job = move || parsed(&tool, &checked(&tool, json, is_checked)?);
                let arguments = self.step_on_pool(permit, job).await??;
                self.finish(self.future(dynamic(handler, cx, arguments), false), out).await
            }
            Handler::Inline(call) | Handler::Blocking(call) => {
                let (call, stopped) = (*call, self.stopped.clone().unwrap_or_else(|| self.limits.child_token()));
                // Unlike on the caller's thread, an inline tool can be stopped here.
                let cx = cx.with_deadline(self.limits.deadline).with_cancel(stopped.clone());
                let (limits, is_stopped) = (self.limits.clone(), stopped.clone());
                let job = move || {
                    let permit = Mutex::new(permit);
                    let on_read = || {
                        release(&permit);
                        // Do not start a tool whose caller no longer waits.
                        limits.reached(Instant::now()).is_none() && !is_stopped.is_cancelled()
                    };
                    let json = checked(&tool, json, is_checked)?;
                    let mut out = Vec::new();
                    let call = |json: &str| call(&cx, Input::new(json).on_read(&on_read), &mut out);
                    let returned = with_edits(&tool, may_need_edits, &json, call);
                    Ok::<_, Error>((returned, out, json))
                };
                let output = self.supervise(self.on_pool(job)?, Some(&stopped)).await?;
                let (returned, json, arguments) = self.job_output(output)??;
                out.extend_from_slice(&json);
                self.called.returned(Ok(returned), &arguments)
            }
            Handler::Async(call) => {
                let call = *call;
                let job = move || {
                    let json = checked(&tool, json, is_checked)?;
                    let call = |json: &str| call(cx.clone(), Input::new(json));
                    Ok::<_, Error>((with_edits(&tool, may_need_edits, &json, call), json))
                };
                let (future, arguments) = self.step_on_pool(permit, job).await??;
                match self.called.returned(Ok(future), &arguments)? {
                    Some(future) => self.finish(self.future(future, false), out).await,
                    None => Ok(Returned::Nothing),
                }
            }
        }
    }

    /// Acquires the lock under which the arguments are parsed and checked, if they need one.
    async fn lock_reading(&self) -> Result<Option<AsyncLockGuard>, Error> {
        let tool = self.called.tool;
        // What is checked first may become a value, which takes many times the memory of the text.
        let is_value = matches!(tool.definition().handler, Handler::Dynamic(_));
        let lock = tool.read_lock().or_else(|| is_value.then_some(&self.settings.large_arguments));
        match lock {
            Some(lock) => self.supervise(Box::pin(lock.acquire()), None).await.map(Some),
            None => Ok(None),
        }
    }

    /// Runs an intermediate step on the pool while holding the permit.
    async fn step_on_pool<T: Send + 'static>(
        &self,
        permit: Option<AsyncLockGuard>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let job = move || {
            let _permit = permit;
            job()
        };
        let output = self.supervise(self.on_pool(job)?, None).await?;
        self.job_output(output)
    }

    /// Starts a job on the pool.
    fn on_pool<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<PoolJob<Result<T, Panicked>>, Error> {
        PoolJob::start(self.settings, self.called.name, in_span(self.settings.wrap_job(move || guard(job))))
    }

    fn job_output<T>(&self, output: Option<Result<T, Panicked>>) -> Result<T, Error> {
        match output {
            Some(output) => output.map_err(|panicked| panicked.into_error(self.called.name)),
            None => Err(abandoned_by_runtime(self.called.name)),
        }
    }

    /// Reads heavy arguments for the gate and the layers.
    pub(crate) async fn see(&self, arguments: &str) -> Result<Seen, Error> {
        let permit = self.supervise(Box::pin(self.settings.large_arguments.acquire()), None).await?;
        let (tool, json) = (self.called.tool.clone(), arguments.to_owned());
        self.step_on_pool(Some(permit), move || Seen::read(&tool, &json)).await?
    }

    /// Checks that the types accept heavy arguments that fit the schema.
    pub(crate) async fn check_types(&self, arguments: &str) -> Result<(), Error> {
        let permit = self.lock_reading().await?;
        let (tool, json) = (self.called.tool.clone(), arguments.to_owned());
        self.step_on_pool(permit, move || tool.checks().check_types(&json)).await?
    }
}

/// The arguments as the types read them.
fn checked(tool: &Callable, arguments: String, is_checked: bool) -> Result<String, Error> {
    if is_checked {
        return Ok(arguments);
    }
    match tool.checks().check(&arguments)? {
        Cow::Owned(edited) => Ok(edited),
        Cow::Borrowed(_) => Ok(arguments),
    }
}

/// Calls a tool that takes its arguments as a value.
fn dynamic(handler: &Arc<DynamicHandler>, cx: ToolContext, arguments: Value) -> ToolFuture {
    let handler = Arc::clone(handler);
    Box::pin(async move {
        let result = handler(cx, arguments).await?;
        Ok((Returned::Result(Box::new(result)), Vec::new()))
    })
}

/// Lets the next call parse its arguments.
fn release(permit: &Mutex<Option<AsyncLockGuard>>) {
    drop(lock(permit).take());
}

fn error_of(stopped: Stopped, tool: &str, limits: &Limits) -> Error {
    match stopped {
        Stopped::TimedOut => TimeoutError::new(tool, limits.time.unwrap_or_default()).hint(timeout_hint()).into(),
        Stopped::Cancelled => cancelled(tool),
        Stopped::Panicked(panicked) => panicked.into_error(tool),
    }
}

fn abandoned_by_runtime(tool: &str) -> Error {
    let message = format!("`{tool}` was abandoned: the runtime is shutting down; try again elsewhere");
    ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).into()
}

/// The error type of a cancelled call.
pub(crate) const CANCELLED: ErrorType = ErrorType::from_static("CancelledError");

/// The error of a cancelled call.
pub(crate) fn cancelled(tool: &str) -> Error {
    let message = format!("`{tool}` was cancelled by its caller; call it again if you still need it");
    ToolError::new(CANCELLED, message).into()
}
