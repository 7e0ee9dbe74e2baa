//! The steps of a call: gate, limits, arguments, layers, the tool itself, its result; and the record of it.

pub(crate) mod async_lock;
pub mod audit;
pub(crate) mod buffered;
pub(crate) mod callable;
pub(crate) mod correlation_id;
pub mod gate;
pub mod layer;
pub mod limit;
pub mod metrics;
pub mod observe;
mod pool;
pub(crate) mod recorder;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod settings;
mod supervise;
pub(crate) mod trace;

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::{CallOptions, Error, ToolCall, ToolContext, ToolResult};

use self::callable::Callable;
use self::recorder::Recorder;
use self::supervise::{Stopped, Supervised};
use crate::call::gate::{Decision, GateCall, decide_by_level, gate_panicked, refusal};
use crate::call::layer::Next;
use crate::call::limit::{Bucket, exceeded};
use crate::call::observe::Arguments;
use crate::call::result::{flat_prefix, flat_suffix};
use crate::call::settings::Settings;

/// A call as it arrived.
pub(crate) struct CallRequest<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Arguments<'a>,
    pub(crate) options: &'a CallOptions,
}

/// The tool of a call, and the name by which it was called. Errors use that name, since the caller knows it.
#[derive(Clone, Copy)]
pub(crate) struct CalledTool<'a> {
    pub(crate) tool: &'a Callable,
    pub(crate) name: &'a str,
}

/// Asks the gate whether the call may be made.
pub(crate) async fn check_gate(
    settings: &Arc<Settings>,
    called: CalledTool<'_>,
    request: &CallRequest<'_>,
    cx: &ToolContext,
    recorder: &mut Recorder<'_>,
) -> Result<(), Error> {
    let decision = match &settings.gate {
        None => decide_by_level(called.tool, cx.trust()),
        Some(gate) => {
            let arguments = run::value(settings, called, cx, request.arguments).await?;
            let call = GateCall { tool: called.tool, arguments: &arguments, cx };
            match Supervised::new(settings, gate.check(&call)).cancel(cx.cancel_token()).await {
                Ok(decision) => decision,
                Err(Stopped::Panicked(panicked)) => {
                    recorder.deny();
                    return Err(gate_panicked(called.name, &panicked).into());
                }
                Err(Stopped::Cancelled | Stopped::TimedOut) => return Err(run::cancelled(called.name)),
            }
        }
    };
    match decision {
        Decision::Allow => Ok(()),
        Decision::Deny(reason) => {
            recorder.deny();
            Err(refusal(called, cx.trust(), &reason).into())
        }
    }
}

/// Takes a call from the tool's rate limit and from that of the registry.
pub(crate) fn acquire(settings: &Settings, CalledTool { tool, name }: CalledTool<'_>) -> Result<(), Error> {
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

/// Checks the arguments, then calls the tool through the layers.
pub(crate) async fn call_layers(
    settings: &Arc<Settings>,
    called: CalledTool<'_>,
    request: &CallRequest<'_>,
    cx: &ToolContext,
) -> Result<ToolResult, Error> {
    run::check(settings, called, cx, &request.arguments.json()).await?;
    let arguments = run::value(settings, called, cx, request.arguments).await?;
    let call = ToolCall::new(called.tool.name(), arguments.into_owned());
    let next = Next { settings, called, layers: &settings.layers };
    match Supervised::new(settings, next.run(&call, cx)).cancel(cx.cancel_token()).await {
        Ok(result) => result,
        Err(Stopped::Panicked(panicked)) => Err(panicked.by("a layer").into_error(called.name)),
        Err(Stopped::Cancelled | Stopped::TimedOut) => Err(run::cancelled(called.name)),
    }
}

impl<'a> Arguments<'a> {
    pub(crate) fn json(self) -> Cow<'a, str> {
        match self {
            Self::Json(json) => Cow::Borrowed(json),
            Self::Value(value) => Cow::Owned(value.to_string()),
        }
    }
}

/// The JSON around a value that a tool writes straight into the answer.
pub(crate) trait Form {
    /// Whether the value may stay where it was written: it is an object, or wrapped into one.
    fn fits(&self, wraps: bool, json: &[u8]) -> bool {
        wraps || json.first() == Some(&b'{')
    }

    /// Writes the JSON before the value.
    fn before(&self, wraps: bool, out: &mut Vec<u8>);

    /// Writes the JSON after the value, which begins at `value`.
    fn after(&self, wraps: bool, value: usize, out: &mut Vec<u8>);
}

/// The flat result.
pub(crate) struct Flat;

impl Form for Flat {
    #[inline]
    fn before(&self, wraps: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(flat_prefix(wraps));
    }

    #[inline]
    fn after(&self, wraps: bool, _: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(flat_suffix(wraps));
    }
}
