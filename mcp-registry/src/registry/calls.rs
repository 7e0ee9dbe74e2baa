//! Calling the tools of a registry.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_core::context::{BoxFuture, Extensions};
use mcp_core::entry::Input;
use mcp_core::error::ValidationError;
use mcp_core::output::Returned;
use mcp_core::{CallOptions, Error, ToolCall, ToolContext, ToolResult};

use super::Registry;
use crate::call::buffered::buffered;
use crate::call::callable::{Callable, InlineCall};
use crate::call::metrics::Metrics;
use crate::call::observe::Arguments;
use crate::call::recorder::{Failure, Recorder, mask_error};
use crate::call::result::{add_notices, to_result, write_flat, write_result};
use crate::call::{CallRequest, CalledTool, Flat, Form, acquire, call_layers, check_gate, run, trace};
use crate::runtime::tokio_context::block_on;
use crate::util::panic::guard;
use crate::validate;

impl Registry {
    /// Calls a tool. Whatever goes wrong is in the result.
    pub async fn call(&self, call: &ToolCall) -> ToolResult {
        self.call_with(call, &CallOptions::new()).await
    }

    /// Calls a tool with options: the caller, a cancellation, a callback for progress.
    pub async fn call_with(&self, call: &ToolCall, options: &CallOptions) -> ToolResult {
        self.try_call_with(call, options).await.unwrap_or_else(ToolResult::from)
    }

    /// Calls a tool and waits for it on this thread.
    ///
    /// With the feature `tokio` this works with and without a runtime, for tools that use tokio too: they run in the
    /// runtime of the registry's `TokioRuntime`, else in that of this thread, else in one on a background thread of the
    /// library. A runtime that this call would keep from making progress is not used: one of the current-thread flavor
    /// that this thread is in, or one of whose tasks makes the call. A tool that waits for something of such a runtime
    /// runs out of time; inside a runtime prefer [`call`](Self::call).
    pub fn call_blocking(&self, call: &ToolCall) -> ToolResult {
        block_on(self.call(call))
    }

    /// As [`call_blocking`](Self::call_blocking), with options.
    pub fn call_blocking_with(&self, call: &ToolCall, options: &CallOptions) -> ToolResult {
        block_on(self.call_with(call, options))
    }

    /// Makes several calls, at most [`concurrency`](crate::registry::builder::RegistryBuilder::concurrency) at a time. The results are in the order
    /// of the calls; a failure affects only its own call.
    pub async fn call_many(&self, calls: &[ToolCall]) -> Vec<ToolResult> {
        self.call_many_with(calls, &CallOptions::new()).await
    }

    /// As [`call_many`](Self::call_many), with options.
    pub async fn call_many_with(&self, calls: &[ToolCall], options: &CallOptions) -> Vec<ToolResult> {
        let calls = calls.iter().map(|call| -> BoxFuture<'_, ToolResult> { Box::pin(self.call_with(call, options)) });
        buffered(calls, self.settings().concurrency).await
    }

    /// Calls a tool. Errors of the call and of the tool keep their types.
    pub async fn try_call(&self, call: &ToolCall) -> Result<ToolResult, Error> {
        self.try_call_with(call, &CallOptions::new()).await
    }

    /// As [`try_call`](Self::try_call), with options.
    pub async fn try_call_with(&self, call: &ToolCall, options: &CallOptions) -> Result<ToolResult, Error> {
        let request = CallRequest { name: &call.tool_name, arguments: Arguments::Value(&call.arguments), options };
        let call = async {
            let mut recorder = Recorder::new(self.settings(), &request);
            let result = match call.validate() {
                Ok(()) => self.result(&request, &mut recorder).await,
                Err(error) => Err(error.into()),
            };
            recorder.finish(result, Failure::from_result)
        };
        trace::in_call_span(request.name, options, call).await
    }

    /// Calls a tool with arguments as raw JSON, and appends the result to the buffer as raw JSON: the same message that
    /// [`call`](Self::call) gives (with every digit of a number that a `Value` cannot hold). On an error nothing is
    /// appended.
    ///
    /// This is the fast path for servers: an `inline` tool runs on the caller's thread and writes its result straight into
    /// the buffer.
    ///
    /// ```standalone_crate
    /// use mcp_registry::{CallOptions, Registry, mcp_tool};
    ///
    /// /// Adds two numbers.
    /// #[mcp_tool(module = "calc", inline)]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # fn main() -> mcp_registry::Result<()> {
    /// let registry = Registry::linked()?;
    /// let mut out = Vec::new();
    /// registry.call_bytes_blocking("calc.add", br#"{"a": 2, "b": 3}"#, &CallOptions::new(), &mut out)?;
    /// assert_eq!(out, br#"{"status":"success","data":{"result":5},"error":null,"explanation":null}"#);
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_bytes<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a [u8],
        options: &'a CallOptions,
        out: &'a mut Vec<u8>,
    ) -> impl Future<Output = Result<(), Error>> + Send + 'a {
        CallBytes::Ready(Some(BytesCall { registry: self, name, arguments, options, out }))
    }

    /// As [`call_bytes`](Self::call_bytes), waiting on this thread as [`call_blocking`](Self::call_blocking) does.
    pub fn call_bytes_blocking(
        &self,
        name: &str,
        arguments: &[u8],
        options: &CallOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        block_on(self.call_bytes(name, arguments, options, out))
    }

    /// Checks that the tool exists and that the arguments fit. Nothing is run, and the gate is not asked.
    pub fn check(&self, call: &ToolCall) -> Result<(), Error> {
        call.validate()?;
        let tool = self.snapshot().get(&call.tool_name)?.clone();
        run::check_here(&tool, &call.arguments.to_string())
    }

    /// The number of calls, the number of failures and the durations, for each tool. A tool that is in several registries
    /// (by [`subset`](Self::subset)) is counted over all of them.
    pub fn metrics(&self) -> Metrics {
        Metrics::new(self.snapshot().callables.iter().map(|tool| (tool.name(), tool.meter())))
    }

    /// Takes the call through all steps; a JSON value that the tool returns is appended to the buffer.
    async fn dispatch(
        &self,
        request: &CallRequest<'_>,
        recorder: &mut Recorder<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Callable, Returned), Error> {
        let settings = self.settings();
        let tool = self.snapshot().get(request.name)?.clone();
        recorder.found(&tool);
        let cx = settings.context(&tool, request.options);
        if cx.is_cancelled() {
            return Err(run::cancelled(request.name));
        }
        let called = CalledTool { tool: &tool, name: request.name };
        check_gate(settings, called, request, &cx, recorder).await?;
        acquire(settings, called)?;
        let returned = if settings.layers.is_empty() {
            run::run_into(settings, called, &cx, &request.arguments.json(), out).await?
        } else {
            Returned::Result(Box::new(call_layers(settings, called, request, &cx).await?))
        };
        Ok((tool, returned))
    }
}

/// A call from bytes to bytes. An inline call is done at the first poll; the future of another is boxed.
enum CallBytes<'a> {
    Ready(Option<BytesCall<'a>>),
    Running(BoxFuture<'a, Result<(), Error>>),
}

struct BytesCall<'a> {
    registry: &'a Registry,
    name: &'a str,
    arguments: &'a [u8],
    options: &'a CallOptions,
    out: &'a mut Vec<u8>,
}

impl Future for CallBytes<'_> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Self::Ready(call) = this {
            let Some(mut call) = call.take() else { return Poll::Pending };
            if let Some(result) = call.try_inline() {
                return Poll::Ready(result);
            }
            *this = Self::Running(Box::pin(call.run()));
        }
        match this {
            Self::Running(future) => future.as_mut().poll(context),
            Self::Ready(_) => Poll::Pending,
        }
    }
}

impl BytesCall<'_> {
    fn try_inline(&mut self) -> Option<Result<(), Error>> {
        let Self { registry, name, arguments, options, out } = self;
        let arguments = std::str::from_utf8(arguments).ok()?;
        let start = out.len();
        let result = registry.try_inline(name, arguments, options, || Some(options.clone()), out, &Flat)?;
        let written = result.and_then(|result| result.map_or(Ok(()), |result| write_result(&result, out)));
        Some(written.inspect_err(|_| out.truncate(start)))
    }

    /// Makes the call through all steps.
    async fn run(self) -> Result<(), Error> {
        let Self { registry, name, arguments, options, out } = self;
        let start = out.len();
        let utf8 = std::str::from_utf8(arguments);
        let request = CallRequest { name, arguments: Arguments::Json(utf8.unwrap_or_default()), options };
        let call = async {
            let mut recorder = Recorder::new(registry.settings(), &request);
            let result = async {
                utf8.map_err(|error| ValidationError::Encoding { offset: error.valid_up_to() })?;
                let (tool, returned) = registry.dispatch(&request, &mut recorder, out).await?;
                let failure = Failure::from_returned(&returned);
                let called = CalledTool { tool: &tool, name };
                write_flat(registry.settings(), called, returned, recorder.notices(), out, start)?;
                Ok(failure)
            };
            let result = result.await;
            recorder.finish(result, Failure::clone)
        };
        let result = trace::in_call_span(request.name, options, call).await;
        result.map(drop).inspect_err(|_| out.truncate(start))
    }
}

impl Registry {
    /// Makes the call on this thread, if the tool is `inline` and there is no gate, limit, layer or observer; else returns
    /// `None`. A JSON value is written in its form, another result is returned; nothing is written on an error.
    /// `full_options` is used only if the tool takes something from the context.
    pub(crate) fn try_inline(
        &self,
        name: &str,
        arguments: &str,
        options: &CallOptions,
        full_options: impl FnOnce() -> Option<CallOptions>,
        out: &mut Vec<u8>,
        form: &impl Form,
    ) -> Option<Result<Option<Box<ToolResult>>, Error>> {
        let settings = self.settings();
        if !self.is_plain() || options.get_cancel().is_some() || trace::is_on() {
            return None;
        }
        let tools = self.snapshot();
        let tool = tools.find(name).filter(|tool| tool.is_named(name))?;
        let InlineCall { call, wraps, may_need_check, uses_context, max_result } = tool.inline_call(settings)?;
        if arguments.len() > validate::LARGE || (*may_need_check && tool.checks().needs_validator(arguments)) {
            return None;
        }
        let (started, start) = (Instant::now(), out.len());
        let cx = if *uses_context {
            settings.context(tool, &full_options()?)
        } else {
            ToolContext::new(tool.shared_name(), Extensions::new(), CallOptions::new())
        };
        form.before(*wraps, out);
        let value = out.len();
        let returned = guard(|| call(&cx, Input::new(arguments), out));
        let json = out.get(value..).unwrap_or_default();
        let fits = json.len() <= *max_result && form.fits(*wraps, json);
        let result = if fits && matches!(returned, Ok(Ok(Returned::Json))) {
            form.after(*wraps, value, out);
            Ok(None)
        } else {
            let json = out.split_off(value.min(out.len()));
            out.truncate(start);
            let called = CalledTool { tool, name };
            run::returned(called, returned, arguments)
                .and_then(|returned| to_result(settings, called, returned, &json))
                .map(|result| Some(Box::new(result)))
                .map_err(|error| mask_error(settings, name, options, error).0)
        };
        let failed = result.as_ref().map_or(true, |result| result.as_deref().is_some_and(ToolResult::is_failure));
        tool.meter().record(started.elapsed(), failed);
        Some(result)
    }

    /// Whether calls of the tool never wait: it is `inline`, and there is neither a gate nor a layer.
    pub(crate) fn is_quick(&self, name: &str) -> bool {
        let settings = self.settings();
        settings.gate.is_none()
            && settings.layers.is_empty()
            && self.snapshot().find(name).is_some_and(|tool| tool.is_inline())
    }

    /// As [`try_call_with`](Self::try_call_with), with arguments as JSON.
    pub(crate) async fn try_call_json(
        &self,
        name: &str,
        arguments: &str,
        options: &CallOptions,
    ) -> Result<ToolResult, Error> {
        let request = CallRequest { name, arguments: Arguments::Json(arguments), options };
        let call = async {
            let mut recorder = Recorder::new(self.settings(), &request);
            let result = self.result(&request, &mut recorder).await;
            recorder.finish(result, Failure::from_result)
        };
        trace::in_call_span(name, options, call).await
    }

    /// Records a call that is rejected before it is made. Returns the error as its caller may see it.
    pub(crate) fn reject(&self, name: &str, arguments: &str, options: &CallOptions, error: Error) -> Error {
        let request = CallRequest { name, arguments: Arguments::Json(arguments), options };
        let mut recorder = Recorder::new(self.settings(), &request);
        if let Some(tool) = self.snapshot().find(name) {
            recorder.found(tool);
        }
        let Err(error) = recorder.finish(Err::<Infallible, _>(error), |never| match *never {});
        error
    }

    /// Runs a job that reads something large on the pool, one such job at a time.
    pub(crate) async fn read_on_pool<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
        options: &CallOptions,
    ) -> Result<T, Error> {
        run::read_on_pool(self.settings(), job, options).await
    }

    async fn result(&self, request: &CallRequest<'_>, recorder: &mut Recorder<'_>) -> Result<ToolResult, Error> {
        let mut json = Vec::new();
        let (tool, returned) = self.dispatch(request, recorder, &mut json).await?;
        let called = CalledTool { tool: &tool, name: request.name };
        let mut result = to_result(self.settings(), called, returned, &json)?;
        add_notices(&mut result.meta, recorder.notices());
        Ok(result)
    }
}
