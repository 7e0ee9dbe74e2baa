//! Calling the tools of a registry.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_core::{
    BoxFuture, CallOptions, Error, Extensions, Input, Returned, ToolCall, ToolContext, ToolResult, ValidationError,
};

use super::Registry;
use crate::call::answer::{add_notices, result_of, write_flat, write_result};
use crate::call::metrics::Metrics;
use crate::call::observe::Arguments;
use crate::call::target::{Express, Target};
use crate::call::watch::{Failure, Watch, masked};
use crate::call::{Asked, Called, Flat, Form, admit, layered, many, run, take_a_turn, trace};
use crate::runtime::tokio_context::block_on;
use crate::util::panic::guard;
use crate::validate;

impl Registry {
    /// Calls a tool. Whatever goes wrong is in the result.
    pub async fn call(&self, call: &ToolCall) -> ToolResult {
        self.call_with(call, &CallOptions::new()).await
    }

    /// Calls a tool, with what came with the call: who asks, how to call it off, whom to tell of progress.
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

    /// As [`call_blocking`](Self::call_blocking), with what came with the call.
    pub fn call_blocking_with(&self, call: &ToolCall, options: &CallOptions) -> ToolResult {
        block_on(self.call_with(call, options))
    }

    /// Calls several tools, each on its own and so many at a time as
    /// [`concurrency`](crate::RegistryBuilder::concurrency) says. The results are in the order of the calls.
    pub async fn call_many(&self, calls: &[ToolCall]) -> Vec<ToolResult> {
        self.call_many_with(calls, &CallOptions::new()).await
    }

    /// As [`call_many`](Self::call_many), with what came with the calls.
    pub async fn call_many_with(&self, calls: &[ToolCall], options: &CallOptions) -> Vec<ToolResult> {
        let calls = Calls { registry: self, left: calls.iter(), options };
        many::in_order(calls, self.settings().concurrency).await
    }

    /// Calls a tool. What goes wrong before the tool, or is the tool's own error, keeps its type.
    pub async fn try_call(&self, call: &ToolCall) -> Result<ToolResult, Error> {
        self.try_call_with(call, &CallOptions::new()).await
    }

    /// As [`try_call`](Self::try_call), with what came with the call.
    pub async fn try_call_with(&self, call: &ToolCall, options: &CallOptions) -> Result<ToolResult, Error> {
        let asked = Asked { name: &call.tool_name, arguments: Arguments::Value(&call.arguments), options };
        let made = async {
            let mut watch = Watch::new(self.settings(), &asked);
            let answer = match call.validate() {
                Ok(()) => self.result(&asked, &mut watch).await,
                Err(error) => Err(error.into()),
            };
            watch.end(answer, Failure::of)
        };
        trace::in_call_span(asked.name, options, made).await
    }

    /// Calls a tool with arguments as raw JSON, and appends the result to the buffer as raw JSON: the same message that
    /// [`call`](Self::call) gives (with every digit of a number that a `Value` cannot hold). On an error nothing is
    /// appended.
    ///
    /// This is the short way for servers: an `inline` tool is run without a detour, and what it returns is written where
    /// it belongs.
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
        CallBytes::Asked(Some(Bytes { registry: self, name, arguments, options, out }))
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

    /// Whether a call would be made: the tool is there and the arguments fit. Nothing is run, and no gate is asked.
    pub fn check(&self, call: &ToolCall) -> Result<(), Error> {
        call.validate()?;
        let tool = self.snapshot().get(&call.tool_name)?.clone();
        run::check_here(&tool, &call.arguments.to_string())
    }

    /// How often each tool was called, how often that went wrong, and how long it took. A tool that is in several
    /// registries (by [`subset`](Self::subset)) is counted over all of them.
    pub fn metrics(&self) -> Metrics {
        Metrics::of(self.snapshot().targets.iter().map(|tool| (tool.name(), tool.meter())))
    }

    /// Everything up to what the tool leaves behind; a value stands behind what was in the buffer.
    async fn answer(
        &self,
        asked: &Asked<'_>,
        watch: &mut Watch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Target, Returned), Error> {
        let settings = self.settings();
        let tool = self.snapshot().get(asked.name)?.clone();
        watch.found(&tool);
        let cx = settings.context(&tool, asked.options);
        if cx.is_cancelled() {
            return Err(run::cancelled(asked.name));
        }
        let called = Called { tool: &tool, name: asked.name };
        admit(settings, called, asked, &cx, watch).await?;
        take_a_turn(settings, called)?;
        let returned = if settings.layers.is_empty() {
            run::run_into(settings, called, &cx, &asked.arguments.json(), out).await?
        } else {
            Returned::Result(Box::new(layered(settings, called, asked, &cx).await?))
        };
        Ok((tool, returned))
    }
}

/// Calls that are yet to be made.
struct Calls<'a> {
    registry: &'a Registry,
    left: std::slice::Iter<'a, ToolCall>,
    options: &'a CallOptions,
}

impl<'a> Iterator for Calls<'a> {
    type Item = BoxFuture<'a, ToolResult>;

    fn next(&mut self) -> Option<Self::Item> {
        let (registry, call, options) = (self.registry, self.left.next()?, self.options);
        Some(Box::pin(registry.call_with(call, options)))
    }
}

/// A call from bytes to bytes. It is small, and what takes the long way is put on the heap.
enum CallBytes<'a> {
    Asked(Option<Bytes<'a>>),
    UnderWay(BoxFuture<'a, Result<(), Error>>),
}

struct Bytes<'a> {
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
        if let Self::Asked(asked) = this {
            let Some(mut bytes) = asked.take() else { return Poll::Pending };
            if let Some(answer) = bytes.at_once() {
                return Poll::Ready(answer);
            }
            *this = Self::UnderWay(Box::pin(bytes.answer()));
        }
        match this {
            Self::UnderWay(future) => future.as_mut().poll(context),
            Self::Asked(_) => Poll::Pending,
        }
    }
}

impl Bytes<'_> {
    fn at_once(&mut self) -> Option<Result<(), Error>> {
        let Self { registry, name, arguments, options, out } = self;
        let arguments = std::str::from_utf8(arguments).ok()?;
        let start = out.len();
        let answer = registry.at_once(name, arguments, options, || Some(options.clone()), out, &Flat)?;
        Some(answer.and_then(|result| result.map_or(Ok(()), |result| write_result(&result, out))).inspect_err(|_| {
            out.truncate(start);
        }))
    }

    /// Makes the call the long way.
    async fn answer(self) -> Result<(), Error> {
        let Self { registry, name, arguments, options, out } = self;
        let start = out.len();
        let utf8 = std::str::from_utf8(arguments);
        let asked = Asked { name, arguments: Arguments::Json(utf8.unwrap_or_default()), options };
        let made = async {
            let mut watch = Watch::new(registry.settings(), &asked);
            let answer = async {
                utf8.map_err(|error| ValidationError::Encoding { offset: error.valid_up_to() })?;
                let (tool, returned) = registry.answer(&asked, &mut watch, out).await?;
                let failure = Failure::of_returned(&returned);
                let called = Called { tool: &tool, name };
                write_flat(registry.settings(), called, returned, watch.notices(), out, start)?;
                Ok(failure)
            };
            let answer = answer.await;
            watch.end(answer, Failure::clone)
        };
        let answer = trace::in_call_span(asked.name, options, made).await;
        answer.map(drop).inspect_err(|_| out.truncate(start))
    }
}

impl Registry {
    /// Makes a call here and now, where the tool is `inline` and nothing stands around it. A value is written in its form;
    /// another result is given back. On an error nothing is written. What else comes with the call is asked for only if
    /// the tool can see it.
    pub(crate) fn at_once(
        &self,
        name: &str,
        arguments: &str,
        options: &CallOptions,
        whole: impl FnOnce() -> Option<CallOptions>,
        out: &mut Vec<u8>,
        form: &impl Form,
    ) -> Option<Result<Option<Box<ToolResult>>, Error>> {
        let settings = self.settings();
        if !self.is_plain() || options.get_cancel().is_some() || trace::is_on() {
            return None;
        }
        let tools = self.snapshot();
        let tool = tools.find(name).filter(|tool| tool.is_named(name))?;
        let Express { call, wraps, may_want, sees_context, max_result } = tool.express(settings)?;
        if arguments.len() > validate::LARGE || (*may_want && tool.checks().needs_validator(arguments)) {
            return None;
        }
        let (started, start) = (Instant::now(), out.len());
        let cx = if *sees_context {
            settings.context(tool, &whole()?)
        } else {
            ToolContext::new(tool.shared_name(), Extensions::new(), CallOptions::new())
        };
        form.before(*wraps, out);
        let value = out.len();
        let returned = guard(|| call(&cx, Input::new(arguments), out));
        let json = out.get(value..).unwrap_or_default();
        let fits = json.len() <= *max_result && form.fits(*wraps, json);
        let answer = if fits && matches!(returned, Ok(Ok(Returned::Json))) {
            form.after(*wraps, value, out);
            Ok(None)
        } else {
            let json = out.split_off(value.min(out.len()));
            out.truncate(start);
            let called = Called { tool, name };
            run::returned(called, returned, arguments)
                .and_then(|returned| result_of(settings, called, returned, &json))
                .map(|result| Some(Box::new(result)))
                .map_err(|error| masked(settings, name, options, error).0)
        };
        let failed = answer.as_ref().map_or(true, |result| result.as_deref().is_some_and(ToolResult::is_failure));
        tool.meter().record(started.elapsed(), failed);
        Some(answer)
    }

    /// Whether a call of the tool does not wait for anything: it is `inline`, and neither a gate nor a layer is asked.
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
        let asked = Asked { name, arguments: Arguments::Json(arguments), options };
        let made = async {
            let mut watch = Watch::new(self.settings(), &asked);
            let answer = self.result(&asked, &mut watch).await;
            watch.end(answer, Failure::of)
        };
        trace::in_call_span(name, options, made).await
    }

    /// Records a call that is rejected before it is made, for lack of room. Gives the error as its caller may see it.
    pub(crate) fn reject(&self, name: &str, arguments: &str, options: &CallOptions, error: Error) -> Error {
        let asked = Asked { name, arguments: Arguments::Json(arguments), options };
        let mut watch = Watch::new(self.settings(), &asked);
        if let Some(tool) = self.snapshot().find(name) {
            watch.found(tool);
        }
        let Err(error) = watch.end(Err::<Infallible, _>(error), |never| match *never {});
        error
    }

    /// Runs a job that reads something large on the pool, one at a time.
    pub(crate) async fn read_apart<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
        options: &CallOptions,
    ) -> Result<T, Error> {
        run::apart(self.settings(), job, options).await
    }

    async fn result(&self, asked: &Asked<'_>, watch: &mut Watch<'_>) -> Result<ToolResult, Error> {
        let mut json = Vec::new();
        let (tool, returned) = self.answer(asked, watch, &mut json).await?;
        let called = Called { tool: &tool, name: asked.name };
        let mut result = result_of(self.settings(), called, returned, &json)?;
        add_notices(&mut result.meta, watch.notices());
        Ok(result)
    }
}
