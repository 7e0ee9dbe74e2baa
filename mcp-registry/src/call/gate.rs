//! Gates decide who may call which tool. A gate is asked before each call that the trust level allows.

use std::future::Future;
use std::{fmt, io};

use mcp_core::context::BoxFuture;
use mcp_core::{ToolContext, ToolError, TrustLevel};
use serde_json::Value;

use crate::call::request::CalledTool;
use crate::catalog::notices::refused;
use crate::catalog::tool::RegisteredTool;
use crate::util::panic::{Panicked, boxed};

/// Decides whether a call may be made: based on the caller, on the arguments, or by asking a person.
///
/// The trust level is checked first, as [`LevelGate`] does: a gate sees only calls that the level allows, and can refuse
/// more of them. If the gate alone is to decide, give everyone the level
/// [`TrustLevel::Trusted`](mcp_core::TrustLevel::Trusted) with
/// [`RegistryBuilder::trust`](crate::registry::builder::RegistryBuilder::trust). A refused call ends in a
/// `PermissionError`, and is reported to the observers.
///
/// A gate sees the arguments as the tool gets them, under the names and in the form that the schema publishes: an argument
/// that was sent under an alias has its own name, and where only integers fit, `500.0` is `500`. An argument that the caller
/// left out has its default value, if it has one from `#[arg(default)]` (a constant one: the tool computes it again), and else
/// is absent; so is one that is null and
/// optional. (Fields of structs that the caller left out are absent.) What the types of the tool could read, but the schema
/// does not name, is refused with the names to use, such as a `#[serde(alias)]` that the library does not know; only an object
/// that the schema leaves open, such as a struct with a flattened map or a map as an alternative of an untagged enum, is shown
/// as it was sent. The arguments of a call
/// that will be refused for them are shown as they were sent: the gate is asked first, so that a caller who may not call the
/// tool learns nothing else.
///
/// ```
/// use mcp_registry::gate::{Decision, Gate, GateCall};
///
/// /// Only Ada may write.
/// struct OnlyAda;
///
/// impl Gate for OnlyAda {
///     async fn check(&self, call: &GateCall<'_>) -> Decision {
///         if call.tool.has_tag("write") && call.cx.caller() != Some("ada") {
///             return Decision::deny("only ada may write; ask her");
///         }
///         Decision::Allow
///     }
/// }
/// ```
pub trait Gate: Send + Sync + 'static {
    /// Whether the call may be made. The gate has no time limit; if it panics, the call is refused.
    fn check(&self, call: &GateCall<'_>) -> impl Future<Output = Decision> + Send;
}

/// A call at the gate.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct GateCall<'a> {
    /// The tool.
    pub tool: &'a RegisteredTool,
    /// The arguments, as the tool gets them; as they were sent, if they do not fit the schema.
    pub arguments: &'a Value,
    /// The context of the call, with the caller and its trust level.
    pub cx: &'a ToolContext,
}

/// Omits the arguments: some are secret, and debug output ends up in logs.
impl fmt::Debug for GateCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateCall").field("tool", self.tool).field("cx", self.cx).finish_non_exhaustive()
    }
}

/// The decision of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The call may be made.
    Allow,
    /// The call is refused. The model sees the reason.
    Deny(String),
}

impl Decision {
    /// Refuses the call for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

/// The rule that is checked before any gate: a `destructive` tool needs the trust level
/// [`TrustLevel::Trusted`](mcp_core::TrustLevel::Trusted).
///
/// Allow it for one tool with [`RegistryBuilder::trust_tool`](crate::registry::builder::RegistryBuilder::trust_tool),
/// for all tools with [`RegistryBuilder::trust`](crate::registry::builder::RegistryBuilder::trust), or for one request
/// with [`CallOptions::trust`](mcp_core::CallOptions::trust). The error tells the caller to ask the operator of the
/// server; its [`source`](std::error::Error::source), observers and `tracing` say which of these setters allows the
/// call.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelGate;

impl Gate for LevelGate {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        decide_by_level(call.tool, call.cx.trust())
    }
}

/// The decision of [`LevelGate`].
pub(crate) fn decide_by_level(tool: &RegisteredTool, trust: TrustLevel) -> Decision {
    tool.refusal(trust).map_or(Decision::Allow, Decision::Deny)
}

/// The error of a call that the gate refused. Its source says how to allow the call: observers see it, callers do not.
pub(crate) fn refusal(CalledTool { tool, name }: CalledTool<'_>, trust: TrustLevel, reason: &str) -> ToolError {
    let error = refused(name, trust, reason);
    if tool.refusal(trust).as_deref() != Some(reason) {
        return error;
    }
    error.with_source(format!(
        "allow it with `.trust_tool(\"{}\", TrustLevel::Trusted)` or `.trust(TrustLevel::Trusted)` on the registry's builder",
        tool.name()
    ))
}

/// The error of a call whose gate panicked. The panic message was not written for a model, and may be masked.
pub(crate) fn gate_panicked(name: &str, panicked: &Panicked) -> ToolError {
    let message = format!(
        "`{name}` may not be called: the gate panicked: {}; tell the operator of the server",
        panicked.message()
    );
    ToolError::from_error(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// A [`Gate`] as a trait object.
pub(crate) trait AnyGate: Send + Sync {
    fn check<'a>(&'a self, call: &'a GateCall<'a>) -> BoxFuture<'a, Decision>;
}

impl<G: Gate> AnyGate for G {
    fn check<'a>(&'a self, call: &'a GateCall<'a>) -> BoxFuture<'a, Decision> {
        boxed(|| Gate::check(self, call))
    }
}
