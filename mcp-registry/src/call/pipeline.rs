//! The path of every call: gate, limits, arguments, layers, the tool, its result, the record.
//!
//! [`Call::begin`] gets as far as possible without waiting. A call that has to wait becomes a [`PendingCall`], which
//! owns its data and continues from there.

use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use mcp_core::context::Extensions;
use mcp_core::output::Returned;
use mcp_core::{CallOptions, CancelToken, Error, ToolCall, ToolContext, TrustLevel};
use serde_json::Value;

use super::callable::Callable;
use super::clock::Clock;
use super::gate::{Decision, GateCall, decide_by_level, gate_panicked, refusal};
use super::layer::{Next, Unchanged};
use super::limit::{Bucket, exceeded};
use super::observe::Notice;
use super::recorder::{Recorder, StartTime};
use super::request::{CallRequest, CalledTool};
use super::result::{Answer, ResultWriter, complete};
use super::run::{self, Limits, Run, Running, is_heavy};
use super::seen::Seen;
use super::settings::Settings;
use super::supervise::{Stopped, Supervised};
use super::trace::{self, CallSpan};
use crate::catalog::definition::Handler;
use crate::util::panic::discard;
use crate::util::wait::{YIELDS, wait_until};
use crate::validate::LARGE;

/// The state of a call after [`Call::begin`].
pub(crate) enum Step {
    Done(Result<Answer, Error>),
    Pending(Box<PendingCall>),
}

/// One call of a tool.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    settings: &'a Arc<Settings>,
    tool: &'a Callable,
    request: CallRequest<'a>,
    started: StartTime,
}

/// A call whose tool was started.
enum Begun {
    Returned(Returned),
    Running(Running, Limits, Option<CancelToken>),
}

/// The error of a call.
struct Failed {
    error: Error,
    /// Whether the gate refused it.
    is_denied: bool,
}

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { error: error.into(), is_denied: false }
    }
}

/// Whether a call has to wait before its tool is started: for the gate, for layers, or to parse heavy arguments.
fn has_to_wait(settings: &Settings, tool: &Callable, arguments: &str) -> bool {
    settings.gate.is_some() || !settings.layers.is_empty() || is_heavy(tool, arguments)
}

/// Whether [`Call::begin`] completes the call, so that it cannot be cancelled.
pub(crate) fn is_immediate(settings: &Settings, tool: &Callable, arguments: &str) -> bool {
    tool.plan(settings).is_inline && !has_to_wait(settings, tool, arguments)
}

/// Whether the tool, the gate, a layer or an observer uses the options of a call.
pub(crate) fn uses_options(settings: &Settings, tool: &Callable) -> bool {
    tool.plan(settings).uses_context || !settings.is_plain() || trace::is_on()
}

impl<'a> Call<'a> {
    pub(crate) fn new(settings: &'a Arc<Settings>, tool: &'a Callable, request: CallRequest<'a>) -> Self {
        Self { settings, tool, request, started: StartTime::now(settings) }
    }

    /// Runs the call as far as possible without waiting. A value that the tool returns is written to the buffer;
    /// nothing is written if the call fails or has to wait.
    pub(crate) fn begin(self, writer: &impl ResultWriter, out: &mut Vec<u8>) -> Step {
        let span = CallSpan::new(self.request.name, self.request.options);
        if has_to_wait(self.settings, self.tool, self.request.arguments) {
            return Step::Pending(self.to_pending(Stage::Arrived, span));
        }
        let start = out.len();
        writer.before(self.tool.plan(self.settings).wraps, out);
        let value = out.len();
        span.in_scope(|| {
            let returned = match self.start(out) {
                Ok(Begun::Returned(returned)) => Ok(returned),
                Ok(Begun::Running(running, limits, stopped)) => {
                    out.truncate(start);
                    let stage = Stage::Running { running, limits, stopped };
                    return Step::Pending(self.to_pending(stage, span.clone()));
                }
                Err(failed) => Err(failed),
            };
            Step::Done(self.finish(returned, writer, (start, value), out))
        })
    }

    /// Starts the tool, if the call is allowed.
    fn start(self, out: &mut Vec<u8>) -> Result<Begun, Failed> {
        self.check_cancelled()?;
        self.check_level()?;
        let (called, arguments) = (self.called(), self.request.arguments);
        acquire(self.settings, called)?;
        let arguments = &*called.check(self.settings, arguments)?;
        let cx = if self.tool.plan(self.settings).uses_context {
            self.context()
        } else {
            ToolContext::new(self.tool.shared_name(), Extensions::new(), CallOptions::new())
        };
        if let Handler::Inline(call) = self.tool.definition().handler {
            // A tool on this thread cannot be stopped, so it needs no limits.
            return Ok(Begun::Returned(called.call_inline(self.settings, call, &cx, arguments, out)?));
        }
        let run = Run::with_limits(self.settings, called, self.limits(self.started.at));
        Ok(match run.start(run.context(cx), arguments, out)? {
            run::Started::Done(returned) => Begun::Returned(returned),
            run::Started::Running(running) => Begun::Running(running, run.limits, run.stopped),
        })
    }

    fn called(self) -> CalledTool<'a> {
        CalledTool { tool: self.tool, name: self.request.name }
    }

    /// The limits of a run that starts at this time.
    fn limits(self, start: Instant) -> Limits {
        let time = self.settings.time_limit(self.tool.timeout(), self.request.options);
        Limits::new(time, start, self.request.cancel_token())
    }

    fn context(self) -> ToolContext {
        let cx = self.settings.context(self.tool, self.request.options);
        match self.request.cancel {
            Some(cancel) => cx.with_cancel(cancel.clone()),
            None => cx,
        }
    }

    #[inline]
    fn check_cancelled(self) -> Result<(), Error> {
        let is_cancelled = self.request.cancel_token().is_some_and(CancelToken::is_cancelled);
        if is_cancelled { Err(run::cancelled(self.request.name)) } else { Ok(()) }
    }

    /// Fails if the trust level does not allow the call. This is asked first: a gate can only refuse more.
    #[inline]
    fn check_level(self) -> Result<(), Failed> {
        if !self.tool.is_destructive() {
            return Ok(());
        }
        let trust = self.settings.trust(self.tool, self.request.options);
        self.apply(decide_by_level(self.tool, trust), trust)
    }

    /// Fails if the gate has denied the call.
    fn apply(self, decision: Decision, trust: TrustLevel) -> Result<(), Failed> {
        match decision {
            Decision::Allow => Ok(()),
            Decision::Deny(reason) => {
                Err(Failed { error: refusal(self.called(), trust, &reason).into(), is_denied: true })
            }
        }
    }

    /// Completes the result and records the call.
    fn finish(
        self,
        returned: Result<Returned, Failed>,
        writer: &impl ResultWriter,
        (start, value): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<Answer, Error> {
        let notices = self.tool.notices(self.request.name);
        let (answer, is_denied) = match returned {
            Ok(returned) => (complete(self.settings, self.called(), returned, &notices, writer, (value, out)), false),
            Err(Failed { error, is_denied }) => (Err(error), is_denied),
        };
        if !matches!(answer, Ok(Answer::Written)) {
            out.truncate(start);
        }
        Recorder { is_denied, ..self.recorder(&notices) }.finish(answer, Answer::as_result)
    }

    fn recorder<'n>(self, notices: &'n [Notice]) -> Recorder<'n>
    where
        'a: 'n,
    {
        let Self { settings, tool, request, started } = self;
        Recorder { settings, request, tool: Some(tool), started, notices, is_denied: false }
    }

    fn to_pending(self, stage: Stage, span: CallSpan) -> Box<PendingCall> {
        let CallRequest { name, arguments, options, cancel } = self.request;
        // Once the tool runs, only observers need the arguments.
        let keeps_arguments = matches!(stage, Stage::Arrived) || !self.settings.observers.is_empty();
        let is_job = matches!(&stage, Stage::Running { running: Running::Job(_), .. });
        Box::new(PendingCall {
            yields: if is_job && self.tool.is_quick() { YIELDS } else { 0 },
            settings: Arc::clone(self.settings),
            tool: self.tool.clone(),
            called_as: match name {
                name if name == self.tool.wire_name() => CalledAs::WireName,
                name if name == self.tool.name() => CalledAs::Name,
                name => CalledAs::Alias(name.to_owned()),
            },
            arguments: if keeps_arguments { arguments.to_owned() } else { String::new() },
            options: options.clone(),
            cancel: cancel.cloned(),
            started: self.started,
            span,
            stage,
            is_over: false,
        })
    }
}

/// Takes a call from the tool's rate limit and from that of the registry.
#[inline]
fn acquire(settings: &Settings, CalledTool { tool, name }: CalledTool<'_>) -> Result<(), Error> {
    if let Some(limit) = tool.limit() {
        limit.take().map_err(|wait| exceeded(Some(name), wait))?;
    }
    if let Some(limit) = &settings.limit {
        limit.take().map_err(|wait| {
            // The call is not made, so it does not count towards the limit of the tool.
            tool.limit().into_iter().for_each(Bucket::refund);
            exceeded(None, wait)
        })?;
    }
    Ok(())
}

/// The stage at which a call waits.
#[derive(Default)]
enum Stage {
    /// Before the gate.
    #[default]
    Arrived,
    Running {
        running: Running,
        limits: Limits,
        stopped: Option<CancelToken>,
    },
}

/// The kind of name by which a tool was called.
enum CalledAs {
    Name,
    WireName,
    Alias(String),
}

/// A call that has to wait. Dropping it before it has ended cancels it.
pub(crate) struct PendingCall {
    settings: Arc<Settings>,
    tool: Callable,
    called_as: CalledAs,
    arguments: String,
    options: CallOptions,
    cancel: Option<CancelToken>,
    started: StartTime,
    span: CallSpan,
    stage: Stage,
    /// The number of yields that are left before a timer, a task and a waker are created.
    yields: u32,
    is_over: bool,
}

impl PendingCall {
    /// The name by which the tool was called.
    pub(crate) fn name(&self) -> &str {
        match &self.called_as {
            CalledAs::Name => self.tool.name(),
            CalledAs::WireName => self.tool.wire_name(),
            CalledAs::Alias(alias) => alias,
        }
    }

    /// Whether the call runs on the pool and is likely to end within a few yields.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn ends_soon(&self) -> bool {
        self.yields > 0
    }

    /// Completes the call if its job ends within a few yields of this thread. A second attempt does nothing.
    pub(crate) fn finish_soon(
        &mut self,
        writer: &impl ResultWriter,
        out: &mut Vec<u8>,
    ) -> Option<Result<Answer, Error>> {
        // Fewer yields are left after an earlier attempt.
        let Stage::Running { running: Running::Job(job), .. } = &self.stage else { return None };
        if self.yields < YIELDS {
            return None;
        }
        wait_until(|| job.is_done());
        self.yields = 0;
        self.try_finish(writer, out)
    }

    /// Completes the call if its job has ended. As long as it [`ends_soon`](Self::ends_soon), retry after other work.
    pub(crate) fn try_finish(
        &mut self,
        writer: &impl ResultWriter,
        out: &mut Vec<u8>,
    ) -> Option<Result<Answer, Error>> {
        self.yields = self.yields.saturating_sub(1);
        let Stage::Running { running: Running::Job(job), limits, stopped } = &mut self.stage else { return None };
        let Poll::Ready(output) = job.try_take() else { return None };
        let (limits, stopped) = (limits.clone(), stopped.take());
        (self.is_over, self.yields, self.stage) = (true, 0, Stage::Arrived);
        let (call, start) = (self.call(), out.len());
        writer.before(self.tool.plan(&self.settings).wraps, out);
        let value = out.len();
        Some(self.span.in_scope(|| {
            let run = Run { settings: call.settings, called: call.called(), limits, stopped, is_checked: true };
            let returned = run.finish_job(output, out).map_err(Failed::from);
            call.finish(returned, writer, (start, value), out)
        }))
    }

    /// Runs the call to its end. A value that the tool returns is appended to the buffer.
    pub(crate) async fn finish(
        mut self: Box<Self>,
        writer: &impl ResultWriter,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Error> {
        let (stage, span) = (std::mem::take(&mut self.stage), self.span.clone());
        // This future may be dropped at the `await`, and must not leave a partial result in `out`.
        let mut json = Vec::new();
        let returned = span.instrument(self.call().run(stage, &mut json)).await;
        self.is_over = true;
        let start = out.len();
        writer.before(self.tool.plan(&self.settings).wraps, out);
        let value = out.len();
        out.append(&mut json);
        span.in_scope(|| self.call().finish(returned, writer, (start, value), out))
    }

    fn call(&self) -> Call<'_> {
        let Self { settings, tool, arguments, options, cancel, started, .. } = self;
        let request = CallRequest { name: self.name(), arguments, options, cancel: cancel.as_ref() };
        Call { settings, tool, request, started: *started }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // The tool was started, but is no longer awaited.
        if let Stage::Running { running, stopped, .. } = std::mem::take(&mut self.stage) {
            stopped.iter().for_each(CancelToken::cancel);
            self.settings.in_runtime(|| discard(running));
        }
        let notices = self.tool.notices(self.name());
        self.span.in_scope(|| self.call().recorder(&notices).cancelled());
    }
}

impl Call<'_> {
    /// Continues the call from the stage at which it waits.
    async fn run(self, stage: Stage, out: &mut Vec<u8>) -> Result<Returned, Failed> {
        if let Stage::Running { running, limits, stopped } = stage {
            let run = Run { settings: self.settings, called: self.called(), limits, stopped, is_checked: true };
            return Ok(run.finish(running, out).await?);
        }
        self.check_cancelled()?;
        self.check_level()?;
        let (settings, called, cx) = (self.settings, self.called(), self.context());
        let clock = Clock::new(settings.time_limit(self.tool.timeout(), self.request.options));
        let run = || Run::with_limits(settings, called, clock.limits(cx.cancel_token()));
        if settings.gate.is_none() && settings.layers.is_empty() {
            acquire(settings, called)?;
            return Ok(run().run(cx.clone(), self.request.arguments, out).await?);
        }
        let (arguments, is_heavy) = (self.request.arguments, is_heavy(self.tool, self.request.arguments));
        let mut seen = if arguments.len() > LARGE {
            let _counts = clock.start();
            Box::pin(run().see(arguments)).await?
        } else {
            Seen::read(self.tool, arguments)?
        };
        self.check_gate(&seen.value, &cx).await?;
        acquire(settings, called)?;
        seen.check(self.tool, arguments)?;
        let arguments = seen.edited.as_deref().unwrap_or(arguments);
        if settings.layers.is_empty() {
            return Ok(run().of_checked_arguments(true).run(cx.clone(), arguments, out).await?);
        }
        if is_heavy {
            let _counts = clock.start();
            Box::pin(run().check_types(arguments)).await?;
        } else {
            self.tool.checks().check_types(arguments)?;
        }
        let call = ToolCall::new(self.tool.name(), seen.value);
        Ok(self.call_layers(&call, arguments, &clock, &cx).await?)
    }

    /// Asks the gate whether the call may be made.
    async fn check_gate(self, arguments: &Value, cx: &ToolContext) -> Result<(), Failed> {
        let Some(gate) = &self.settings.gate else { return Ok(()) };
        let call = GateCall { tool: self.tool, arguments, cx };
        let limits = Limits::cancelled_by(cx.cancel_token());
        match Supervised::new(self.settings, gate.check(&call), &limits).await {
            Ok(decision) => self.apply(decision, cx.trust()),
            Err(Stopped::Panicked(panicked)) => {
                Err(Failed { error: gate_panicked(self.request.name, &panicked).into(), is_denied: true })
            }
            Err(Stopped::Cancelled | Stopped::TimedOut) => Err(run::cancelled(self.request.name).into()),
        }
    }

    /// Calls the tool through the layers. `json` has the arguments for the tool, if no layer changes them.
    async fn call_layers(
        self,
        call: &ToolCall,
        json: &str,
        clock: &Clock,
        cx: &ToolContext,
    ) -> Result<Returned, Error> {
        let (layers, unchanged) = (&self.settings.layers, &Unchanged { value: &call.arguments, json });
        let next = Next { settings: self.settings, called: self.called(), layers, unchanged, clock };
        let limits = Limits::cancelled_by(cx.cancel_token());
        match Supervised::new(self.settings, next.run(call, cx), &limits).await {
            Ok(result) => Ok(Returned::Result(Box::new(result?))),
            Err(Stopped::Panicked(panicked)) => Err(panicked.by("a layer").into_error(self.request.name)),
            Err(Stopped::Cancelled | Stopped::TimedOut) => Err(run::cancelled(self.request.name)),
        }
    }
}
