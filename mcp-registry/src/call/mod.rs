//! A call, step by step: look up, ask the gate and the limits, check the arguments, run, answer; and tell of it.

pub(crate) mod answer;
pub mod audit;
mod drive;
pub mod gate;
pub(crate) mod id;
pub(crate) mod lane;
pub mod layer;
pub mod limit;
pub(crate) mod many;
pub mod metrics;
pub mod observe;
mod pool;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod target;
pub(crate) mod trace;
pub(crate) mod watch;

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::{CallOptions, Error, ToolCall, ToolContext, ToolResult};

use self::drive::{Drive, Stopped};
use self::target::Target;
use self::watch::Watch;
use crate::call::answer::{flat_prefix, flat_suffix};
use crate::call::gate::{Decision, GateCall, broken, by_level, refusal};
use crate::call::layer::Next;
use crate::call::limit::{Bucket, exceeded, exceeded_by_all};
use crate::call::observe::Arguments;
use crate::call::settings::Settings;

/// A call as it came.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Arguments<'a>,
    pub(crate) options: &'a CallOptions,
}

/// The tool of a call, and the name by which it was called. Errors use that name: it is one that the caller knows.
#[derive(Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(crate) tool: &'a Target,
    pub(crate) name: &'a str,
}

/// Asks the gate.
pub(crate) async fn admit(
    settings: &Arc<Settings>,
    called: Called<'_>,
    asked: &Asked<'_>,
    cx: &ToolContext,
    watch: &mut Watch<'_>,
) -> Result<(), Error> {
    let decision = match &settings.gate {
        None => by_level(called.tool, cx.trust()),
        Some(gate) => {
            let arguments = run::value(settings, called, cx, asked.arguments).await?;
            let call = GateCall { tool: called.tool, arguments: &arguments, cx };
            match Drive::new(settings, gate.check(&call)).unless(cx.cancel_token()).await {
                Ok(decision) => decision,
                Err(Stopped::Panicked(panicked)) => {
                    watch.deny();
                    return Err(broken(called.name, &panicked).into());
                }
                Err(Stopped::Cancelled | Stopped::Late) => return Err(run::cancelled(called.name)),
            }
        }
    };
    match decision {
        Decision::Allow => Ok(()),
        Decision::Deny(reason) => {
            watch.deny();
            Err(refusal(called, cx.trust(), &reason).into())
        }
    }
}

/// Asks the limits.
pub(crate) fn take_a_turn(settings: &Settings, Called { tool, name }: Called<'_>) -> Result<(), Error> {
    if let Some(own) = tool.limit() {
        own.take().map_err(|wait| exceeded(name, wait))?;
    }
    if let Some(all) = &settings.limit {
        all.take().map_err(|wait| {
            // The call is not made, and costs the tool nothing.
            tool.limit().into_iter().for_each(Bucket::give_back);
            exceeded_by_all(wait)
        })?;
    }
    Ok(())
}

/// Goes through the layers, with arguments that fit.
pub(crate) async fn layered(
    settings: &Arc<Settings>,
    called: Called<'_>,
    asked: &Asked<'_>,
    cx: &ToolContext,
) -> Result<ToolResult, Error> {
    run::check(settings, called, cx, &asked.arguments.json()).await?;
    let arguments = run::value(settings, called, cx, asked.arguments).await?;
    let call = ToolCall::new(called.tool.name(), arguments.into_owned());
    let next = Next { settings, called, layers: &settings.layers };
    match Drive::new(settings, next.run(&call, cx)).unless(cx.cancel_token()).await {
        Ok(result) => result,
        Err(Stopped::Panicked(panicked)) => Err(panicked.by("a layer").into_error(called.name)),
        Err(Stopped::Cancelled | Stopped::Late) => Err(run::cancelled(called.name)),
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

/// What stands around a value that is written where it belongs.
pub(crate) trait Form {
    /// Whether a value can be written where it stands: an object, or one that is wrapped into one.
    fn fits(&self, wraps: bool, json: &[u8]) -> bool {
        wraps || json.first() == Some(&b'{')
    }

    /// Writes what comes before the value.
    fn before(&self, wraps: bool, out: &mut Vec<u8>);

    /// Writes what comes behind the value, which begins here.
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
