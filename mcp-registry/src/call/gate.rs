//! Who may call what: asked before each call.

use std::future::Future;
use std::{fmt, io};

use mcp_core::{BoxFuture, ErrorType, ToolContext, ToolError, TrustLevel};
use serde_json::{Value, json};

use crate::call::CalledTool;
use crate::catalog::tool::RegisteredTool;
use crate::util::panic::Panicked;

/// Decides whether a call may be made: by the caller, by the arguments, by asking a person.
///
/// Without one, [`LevelGate`] decides. A refusal is a `PermissionError`, and is told to the observers.
///
/// ```
/// use mcp_registry::{Decision, Gate, GateCall, LevelGate};
///
/// /// Nobody but Ada writes; else it is a matter of trust.
/// struct OnlyAda;
///
/// impl Gate for OnlyAda {
///     async fn check(&self, call: &GateCall<'_>) -> Decision {
///         if call.tool.has_tag("write") && call.cx.caller() != Some("ada") {
///             return Decision::deny("only ada may write; ask her");
///         }
///         LevelGate.check(call).await
///     }
/// }
/// ```
pub trait Gate: Send + Sync + 'static {
    /// Whether the call may be made. It may take its time; a panic is a refusal.
    fn check(&self, call: &GateCall<'_>) -> impl Future<Output = Decision> + Send;
}

/// A call at the gate.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct GateCall<'a> {
    /// The tool.
    pub tool: &'a RegisteredTool,
    /// The arguments as they came; they are not checked yet.
    pub arguments: &'a Value,
    /// Who asks, how far it is trusted, and what else came with the call.
    pub cx: &'a ToolContext,
}

/// The arguments are not shown: what is debugged ends up in logs, and some of them are secret.
impl fmt::Debug for GateCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateCall").field("tool", self.tool).field("cx", self.cx).finish_non_exhaustive()
    }
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Go on.
    Allow,
    /// No, and why; the model reads it.
    Deny(String),
}

impl Decision {
    /// No, and why.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

/// The gate that asks for a level: a tool that says it is `destructive` may be called by
/// [`TrustLevel::Trusted`](mcp_core::TrustLevel::Trusted) alone.
///
/// Allow it for one tool with [`trust_tool`](crate::RegistryBuilder::trust_tool), for all tools with
/// [`trust`](crate::RegistryBuilder::trust), or for one request with [`CallOptions::trust`](mcp_core::CallOptions::trust).
/// The caller is told to ask whoever runs the server; observers and `tracing` are told of these calls, and so is whoever
/// prints the [`source`](std::error::Error::source) of the error.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelGate;

impl Gate for LevelGate {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        decide_by_level(call.tool, call.cx.trust())
    }
}

/// What [`LevelGate`] says.
pub(crate) fn decide_by_level(tool: &RegisteredTool, trust: TrustLevel) -> Decision {
    if !tool.is_destructive() || trust >= TrustLevel::Trusted {
        return Decision::Allow;
    }
    Decision::Deny(format!(
        "it may destroy something and needs the trust level `trusted`, but this call has `{trust}`; ask whoever runs the \
         server to allow it"
    ))
}

/// The error of a call that the gate refused. How to allow it is for the developer: it is the error's source, which callers
/// are not shown, and is told to observers.
pub(crate) fn refusal(CalledTool { tool, name }: CalledTool<'_>, trust: TrustLevel, reason: &str) -> ToolError {
    let message = format!("`{name}` may not be called: {reason}");
    let details = json!({ "tool": name, "trust": trust.as_str() });
    let error = ToolError::new(ErrorType::PERMISSION_ERROR, message).details(details);
    if decide_by_level(tool, trust) != Decision::deny(reason) {
        return error;
    }
    error.with_source(format!(
        "allow it with `.trust_tool(\"{}\", TrustLevel::Trusted)` or `.trust(TrustLevel::Trusted)` on the registry's builder",
        tool.name()
    ))
}

/// The error of a call whose gate panicked. What it panicked with is not the gate's word to the model, and may be masked.
pub(crate) fn broken(name: &str, panicked: &Panicked) -> ToolError {
    let message =
        format!("`{name}` may not be called: the gate panicked: {}; tell whoever runs the server", panicked.message());
    ToolError::from_error(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// A gate, whatever its type.
pub(crate) trait AnyGate: Send + Sync {
    fn check<'a>(&'a self, call: &'a GateCall<'a>) -> BoxFuture<'a, Decision>;
}

impl<G: Gate> AnyGate for G {
    fn check<'a>(&'a self, call: &'a GateCall<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(Gate::check(self, call))
    }
}
