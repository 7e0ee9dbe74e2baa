//! The one path of every call: gate, limits, arguments, layers, the tool, its result, the record.
//!
//! [`Call::begin`] goes as far as it can without waiting. A call that has to wait becomes a [`PendingCall`], which owns what
//! it needs and goes on from there.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use mcp_core::context::Extensions;
use mcp_core::output::Returned;
use mcp_core::{CallOptions, CancelToken, Error, ToolCall, ToolContext, TrustLevel};

use super::callable::Callable;
use super::gate::{Decision, GateCall, decide_by_level, gate_panicked, refusal};
use super::layer::Next;
use super::limit::{Bucket, exceeded};
use super::observe::Notice;
use super::recorder::{self, Recorder};
use super::request::{CallRequest, CalledTool};
use super::result::{Answer, ResultWriter, complete};
use super::run::{self, Limits, Run, Running, is_heavy};
use super::settings::Settings;
use super::supervise::{Stopped, Supervised};
use super::trace::{self, CallSpan};

/// How far a call got.
pub(crate) enum Step {
    Done(Result<Answer, Error>),
    Pending(PendingCall),
}

/// One call of a tool.
pub(crate) struct Call<'a> {
    settings: Cow<'a, Arc<Settings>>,
    tool: Cow<'a, Callable>,
    request: CallRequest<'a>,
    started: recorder::Started,
    notices: Vec<Notice>,
    /// Whether the gate refused it.
    is_denied: bool,
    span: CallSpan,
}

/// Whether a call has to wait before its tool is started: for the gate, for layers, or for its arguments.
fn has_to_wait(settings: &Settings, tool: &Callable, arguments: &str) -> bool {
    settings.gate.is_some() || !settings.layers.is_empty() || is_heavy(tool, arguments)
}

/// Whether [`Call::begin`] ends the call, so that nobody can cancel it.
pub(crate) fn is_immediate(settings: &Settings, tool: &Callable, arguments: &str) -> bool {
    tool.plan(settings).is_inline && !has_to_wait(settings, tool, arguments)
}

/// Whether someone looks at the options of a call: the tool, the gate, a layer or an observer.
pub(crate) fn uses_options(settings: &Settings, tool: &Callable) -> bool {
    tool.plan(settings).uses_context || !settings.is_plain() || trace::is_on()
}

impl<'a> Call<'a> {
    pub(crate) fn new(settings: &'a Arc<Settings>, tool: &'a Callable, request: CallRequest<'a>) -> Self {
        Self {
            started: recorder::Started::now(settings),
            notices: tool.notices(&request.name),
            span: CallSpan::new(&request.name, &request.options),
            settings: Cow::Borrowed(settings),
            tool: Cow::Borrowed(tool),
            request,
            is_denied: false,
        }
    }

    /// Makes the call as far as that is possible without waiting. A value that the tool returns is written to the buffer;
    /// nothing is written if the call fails or has to wait.
    pub(crate) fn begin(mut self, writer: &impl ResultWriter, out: &mut Vec<u8>) -> Step {
        if has_to_wait(&self.settings, &self.tool, &self.request.arguments) {
            return Step::Pending(self.into_pending(Stage::Arrived));
        }
        let start = out.len();
        writer.before(self.tool.plan(&self.settings).wraps, out);
        let value = out.len();
        let span = self.span.clone();
        let returned = match span.in_scope(|| self.start(out)) {
            Ok((run::Started::Done(returned), ..)) => Ok(returned),
            Ok((run::Started::Running(running), limits, stopped)) => {
                out.truncate(start);
                return Step::Pending(self.into_pending(Stage::Running { running, limits, stopped }));
            }
            Err(error) => Err(error),
        };
        Step::Done(self.finish(returned, writer, (start, value), out))
    }

    /// Starts the tool, if the call is allowed.
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(run::Started, Limits, Option<CancelToken>), Error> {
        self.check_cancelled()?;
        let trust = self.settings.trust(&self.tool, &self.request.options);
        self.obey(decide_by_level(&self.tool, trust), trust)?;
        acquire(&self.settings, self.called())?;
        let run = Run::with_limits(&self.settings, self.called(), self.limits(self.started.at));
        let started = run.start(run.context(self.context()), &self.request.arguments, out)?;
        Ok((started, run.limits, run.stopped))
    }

    fn called(&self) -> CalledTool<'_> {
        CalledTool { tool: &self.tool, name: &self.request.name }
    }

    /// The limits of a run that begins at this time.
    fn limits(&self, start: Instant) -> Limits {
        let time = self.settings.time_limit(self.tool.timeout(), &self.request.options);
        Limits::new(time, start, self.request.cancel_token())
    }

    /// The context of the call, as far as the tool can see it.
    fn context(&self) -> ToolContext {
        if self.tool.plan(&self.settings).uses_context {
            self.full_context()
        } else {
            ToolContext::new(self.tool.shared_name(), Extensions::new(), CallOptions::new())
        }
    }

    fn full_context(&self) -> ToolContext {
        let cx = self.settings.context(&self.tool, &self.request.options);
        match &self.request.cancel {
            Some(cancel) => cx.with_cancel(cancel.clone()),
            None => cx,
        }
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        let is_cancelled = self.request.cancel_token().is_some_and(CancelToken::is_cancelled);
        if is_cancelled { Err(run::cancelled(&self.request.name)) } else { Ok(()) }
    }

    /// Does as the gate has decided.
    fn obey(&mut self, decision: Decision, trust: TrustLevel) -> Result<(), Error> {
        match decision {
            Decision::Allow => Ok(()),
            Decision::Deny(reason) => {
                self.is_denied = true;
                Err(refusal(self.called(), trust, &reason).into())
            }
        }
    }

    /// Completes the result and records the call.
    fn finish(
        &self,
        returned: Result<Returned, Error>,
        writer: &impl ResultWriter,
        (start, value): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<Answer, Error> {
        let answer = returned.and_then(|returned| {
            complete(&self.settings, self.called(), returned, &self.notices, writer, (value, out))
        });
        if !matches!(answer, Ok(Answer::Written)) {
            out.truncate(start);
        }
        self.span.in_scope(|| self.recorder().finish(answer, Answer::failed))
    }

    fn recorder(&self) -> Recorder<'_> {
        let Self { settings, tool, request, started, notices, is_denied, .. } = self;
        let (started, is_denied) = (*started, *is_denied);
        Recorder { settings, request, tool: Some(tool), started, notices, is_denied }
    }

    fn into_pending(self, stage: Stage) -> PendingCall {
        let call = Call {
            settings: Cow::Owned(self.settings.into_owned()),
            tool: Cow::Owned(self.tool.into_owned()),
            request: self.request.into_owned(),
            ..self
        };
        PendingCall { call, stage, is_over: false }
    }
}

/// Takes a call from the tool's rate limit and from that of the registry.
fn acquire(settings: &Settings, CalledTool { tool, name }: CalledTool<'_>) -> Result<(), Error> {
    if let Some(limit) = tool.limit() {
        limit.take().map_err(|wait| exceeded(Some(name), wait))?;
    }
    if let Some(limit) = &settings.limit {
        limit.take().map_err(|wait| {
            // The call is not made, and does not count for the tool.
            tool.limit().into_iter().for_each(Bucket::refund);
            exceeded(None, wait)
        })?;
    }
    Ok(())
}

/// Where a call waits.
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

/// A call that has to wait. If it is dropped before it is over, it was cancelled.
pub(crate) struct PendingCall {
    call: Call<'static>,
    stage: Stage,
    is_over: bool,
}

impl PendingCall {
    /// Makes the rest of the call. A value that the tool returns is appended to the buffer.
    pub(crate) async fn finish(mut self, writer: &impl ResultWriter, out: &mut Vec<u8>) -> Result<Answer, Error> {
        let (start, wraps) = (out.len(), self.call.tool.plan(&self.call.settings).wraps);
        writer.before(wraps, out);
        let value = out.len();
        let stage = std::mem::take(&mut self.stage);
        let returned = self.call.span.clone().instrument(self.call.run(stage, out)).await;
        self.is_over = true;
        self.call.finish(returned, writer, (start, value), out)
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if !self.is_over {
            self.call.span.in_scope(|| self.call.recorder().cancelled());
        }
    }
}

impl Call<'static> {
    /// Runs the tool from where the call waits.
    async fn run(&mut self, stage: Stage, out: &mut Vec<u8>) -> Result<Returned, Error> {
        if let Stage::Running { running, limits, stopped } = stage {
            let run = Run { settings: &self.settings, called: self.called(), limits, stopped };
            return run.finish(running, out).await;
        }
        self.check_cancelled()?;
        let cx = self.full_context();
        self.check_gate(&cx).await?;
        acquire(&self.settings, self.called())?;
        if self.settings.layers.is_empty() {
            let run = Run::with_limits(&self.settings, self.called(), self.limits(Instant::now()));
            return run.run(cx, &self.request.arguments, out).await;
        }
        self.call_layers(&cx).await
    }

    /// Asks the gate whether the call may be made.
    async fn check_gate(&mut self, cx: &ToolContext) -> Result<(), Error> {
        let decision = match &self.settings.gate {
            None => decide_by_level(&self.tool, cx.trust()),
            Some(gate) => {
                let run = Run::new(&self.settings, self.called(), cx);
                let arguments = run.value(&self.request.arguments).await?;
                let call = GateCall { tool: &self.tool, arguments: &arguments, cx };
                let limits = Limits::cancelled_by(cx.cancel_token());
                match Supervised::new(&self.settings, gate.check(&call), &limits).await {
                    Ok(decision) => decision,
                    Err(Stopped::Panicked(panicked)) => {
                        let error = gate_panicked(&self.request.name, &panicked);
                        self.is_denied = true;
                        return Err(error.into());
                    }
                    Err(Stopped::Cancelled | Stopped::TimedOut) => return Err(run::cancelled(&self.request.name)),
                }
            }
        };
        self.obey(decision, cx.trust())
    }

    /// Checks the arguments, then calls the tool through the layers.
    async fn call_layers(&self, cx: &ToolContext) -> Result<Returned, Error> {
        let run = Run::new(&self.settings, self.called(), cx);
        run.check(&self.request.arguments).await?;
        let arguments = run.value(&self.request.arguments).await?;
        let call = ToolCall::new(self.tool.name(), arguments);
        let next = Next { settings: &self.settings, called: self.called(), layers: &self.settings.layers };
        let limits = Limits::cancelled_by(cx.cancel_token());
        match Supervised::new(&self.settings, next.run(&call, cx), &limits).await {
            Ok(result) => Ok(Returned::Result(Box::new(result?))),
            Err(Stopped::Panicked(panicked)) => Err(panicked.by("a layer").into_error(&self.request.name)),
            Err(Stopped::Cancelled | Stopped::TimedOut) => Err(run::cancelled(&self.request.name)),
        }
    }
}
