//! Calls the tools of a registry.

use std::convert::Infallible;

use mcp_core::context::BoxFuture;
use mcp_core::error::ValidationError;
use mcp_core::{CallOptions, Error, ErrorDetail, ToolCall, ToolResult};

use super::Registry;
use crate::call::buffered::buffered;
use crate::call::metrics::Metrics;
use crate::call::pipeline::{Call, PendingCall, Step};
use crate::call::recorder::{Recorder, StartTime};
use crate::call::request::CallRequest;
use crate::call::result::{Answer, FlatWriter, ResultWriter, ValueWriter, write_result};
use crate::call::trace::CallSpan;
use crate::runtime::tokio_context::block_on;

impl Registry {
    /// Calls a tool. Errors are part of the result.
    pub async fn call(&self, call: &ToolCall) -> ToolResult {
        self.call_with(call, &CallOptions::new()).await
    }

    /// Calls a tool with options, such as the caller, a cancellation token or a progress callback.
    pub async fn call_with(&self, call: &ToolCall, options: &CallOptions) -> ToolResult {
        self.try_call_with(call, options).await.unwrap_or_else(ToolResult::from)
    }

    /// Calls a tool and waits for it on this thread.
    ///
    /// With the feature `tokio`, this also works for tools that use tokio, inside a tokio runtime and outside of one. A
    /// tool runs in the runtime of the registry's `TokioRuntime`, else in that of this thread, else in one on a
    /// background thread of this library. A runtime that this call would block is not used: a current-thread runtime
    /// that this thread is in, or the runtime of the task that makes this call. A tool that waits for such a runtime
    /// times out; inside a runtime, prefer [`call`](Self::call).
    pub fn call_blocking(&self, call: &ToolCall) -> ToolResult {
        block_on(self.call(call))
    }

    /// As [`call_blocking`](Self::call_blocking), with options.
    pub fn call_blocking_with(&self, call: &ToolCall, options: &CallOptions) -> ToolResult {
        block_on(self.call_with(call, options))
    }

    /// Makes several calls, at most [`concurrency`](crate::registry::builder::RegistryBuilder::concurrency) at a time.
    /// The results are in the order of the calls; a failure affects only its own call.
    pub async fn call_many(&self, calls: &[ToolCall]) -> Vec<ToolResult> {
        self.call_many_with(calls, &CallOptions::new()).await
    }

    /// As [`call_many`](Self::call_many), with options.
    pub async fn call_many_with(&self, calls: &[ToolCall], options: &CallOptions) -> Vec<ToolResult> {
        let calls = calls.iter().map(|call| -> BoxFuture<'_, ToolResult> {
            // Waiting for one call, if only for a moment, would delay the start of the others.
            Box::pin(async move { self.make_call(call, options, false).await.unwrap_or_else(ToolResult::from) })
        });
        buffered(calls, self.settings().concurrency).await
    }

    /// Calls a tool. Errors of the call and of the tool keep their types.
    pub async fn try_call(&self, call: &ToolCall) -> Result<ToolResult, Error> {
        self.try_call_with(call, &CallOptions::new()).await
    }

    /// As [`try_call`](Self::try_call), with options.
    pub async fn try_call_with(&self, call: &ToolCall, options: &CallOptions) -> Result<ToolResult, Error> {
        self.make_call(call, options, true).await
    }

    async fn make_call(&self, call: &ToolCall, options: &CallOptions, is_single: bool) -> Result<ToolResult, Error> {
        let arguments = call.arguments.to_string();
        let request = CallRequest::new(&call.tool_name, &arguments, options);
        let tool =
            call.validate().map_err(Error::from).and_then(|()| Ok(self.snapshot().get(&call.tool_name)?.clone()));
        let tool = match tool {
            Ok(tool) => tool,
            Err(error) => return Err(self.reject(request, error)),
        };
        let mut json = Vec::new();
        let answer = match Call::new(self.settings(), &tool, request).begin(&ValueWriter, &mut json) {
            Step::Done(answer) => answer,
            Step::Pending(pending) if is_single => finish(pending, &ValueWriter, &mut json).await,
            Step::Pending(pending) => Box::pin(pending.finish(&ValueWriter, &mut json)).await,
        };
        Ok(answer?.into_result())
    }

    /// Calls a tool with arguments as raw JSON, and appends the result to the buffer as raw JSON: the same message as
    /// [`call`](Self::call) returns, but with every digit of numbers that a `Value` cannot hold. On an error, nothing
    /// is appended.
    ///
    /// This is the fast path for servers: an `inline` tool runs on the caller's thread and writes its result directly
    /// into the buffer.
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
    pub async fn call_bytes(
        &self,
        name: &str,
        arguments: &[u8],
        options: &CallOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let answer = match std::str::from_utf8(arguments) {
            Ok(arguments) => match self.begin(CallRequest::new(name, arguments, options), &FlatWriter, out) {
                Step::Done(answer) => answer,
                Step::Pending(pending) => finish(pending, &FlatWriter, out).await,
            },
            Err(error) => {
                let error = ValidationError::Encoding { offset: error.valid_up_to() };
                Err(self.reject(CallRequest::new(name, "", options), error.into()))
            }
        };
        match answer? {
            Answer::Written => Ok(()),
            Answer::Result(result) => write_result(&result, out),
        }
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

    /// Checks that the tool exists and that the arguments are valid. Runs neither the tool nor the gate.
    pub fn check(&self, call: &ToolCall) -> Result<(), Error> {
        call.validate()?;
        let tool = self.snapshot().get(&call.tool_name)?.clone();
        tool.checks().check_call(&call.arguments.to_string())
    }

    /// The number of calls, the number of failures and the durations, for each tool. A tool that is in several
    /// registries (by [`subset`](Self::subset)) is counted over all of them.
    pub fn metrics(&self) -> Metrics {
        Metrics::new(self.snapshot().callables.iter().map(|tool| (tool.name(), tool.meter())))
    }

    /// Begins a call. A value that the tool returns is written to the buffer.
    #[inline]
    fn begin(&self, request: CallRequest<'_>, writer: &impl ResultWriter, out: &mut Vec<u8>) -> Step {
        let tools = self.snapshot();
        match tools.get(request.name) {
            Ok(tool) => Call::new(self.settings(), tool, request).begin(writer, out),
            Err(error) => Step::Done(Err(self.reject(request, error.into()))),
        }
    }

    /// Records a call that is rejected before it is made. Returns the error as the caller may see it.
    pub(crate) fn reject(&self, request: CallRequest<'_>, error: Error) -> Error {
        let Err(error) = self.record(request, Err::<Infallible, _>(error), |never| match *never {});
        error
    }

    /// Records a request for a call that is not valid, with the error of its answer.
    pub(crate) fn reject_with(&self, request: CallRequest<'_>, error: ErrorDetail) {
        drop(self.record(request, Ok(ToolResult::failure(error)), |result| Some(result)));
    }

    fn record<T>(
        &self,
        request: CallRequest<'_>,
        result: Result<T, Error>,
        as_result: impl FnOnce(&mut T) -> Option<&mut ToolResult>,
    ) -> Result<T, Error> {
        let (settings, tools) = (self.settings(), self.snapshot());
        let tool = tools.find(request.name);
        let notices = tool.map(|tool| tool.notices(request.name)).unwrap_or_default();
        let started = StartTime::now(settings);
        let recorder = Recorder { settings, request, tool, started, notices: &notices, is_denied: false };
        CallSpan::new(request.name, request.options).in_scope(|| recorder.finish(result, as_result))
    }
}

/// Waits for a call: yields a few times if it is likely to end soon, then waits asynchronously.
async fn finish(mut pending: Box<PendingCall>, writer: &impl ResultWriter, out: &mut Vec<u8>) -> Result<Answer, Error> {
    match pending.finish_soon(writer, out) {
        Some(answer) => answer,
        None => Box::pin(pending.finish(writer, out)).await,
    }
}
