//! Observers receive a record of each call when it ends, and of rejected requests.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hasher;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use mcp_core::support::prefix;
use serde::Serialize;

use super::callable::Callable;
use super::seen::Seen;
pub use crate::catalog::notices::Notice;
use crate::validate::LARGE;

/// Receives a record of every call, however it ends. It runs on the thread on which the call ends: return quickly, or
/// hand the record to another thread.
pub trait Observer: Send + Sync + 'static {
    /// A call has ended.
    fn observe(&self, record: &CallRecord<'_>);

    /// A server has rejected a request before any tool was called: a wrong token, an origin that is not allowed, too
    /// many requests in flight. Does nothing by default.
    fn rejected(&self, rejection: &Rejection<'_>) {
        let _ = rejection;
    }

    /// Whether this observer keeps error messages (default: `true`). If no observer does and `tracing` is off, a
    /// message that is masked for the caller is written to stderr instead.
    fn keeps_messages(&self) -> bool {
        true
    }
}

/// The reason why a server rejected a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RejectionReason {
    /// The `Host` header of the request is not allowed.
    Host,
    /// The request came from a web page whose origin is not allowed or unknown.
    Origin,
    /// The request had no token.
    MissingToken,
    /// The request had a wrong token.
    WrongToken,
    /// The request named a session of another caller.
    ForeignSession,
    /// The server has reached one of its limits.
    Busy,
    /// The function that sets the options of the call, `Http::call_options`, has panicked.
    CallOptions,
}

impl RejectionReason {
    /// The reason in one word, such as `wrong_token`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::MissingToken => "missing_token",
            Self::WrongToken => "wrong_token",
            Self::ForeignSession => "foreign_session",
            Self::Busy => "busy",
            Self::CallOptions => "call_options",
        }
    }
}

/// One or more requests that a server rejected. It contains neither tokens nor session IDs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejection<'a> {
    /// When it was rejected.
    pub time: SystemTime,
    /// The reason.
    pub reason: RejectionReason,
    /// The `Host` or origin that is not allowed, or the limit; at most 256 bytes of it.
    pub detail: Option<&'a str>,
    /// The address that the request came from, if it is known.
    pub client: Option<SocketAddr>,
    /// The number of rejected requests: in a flood, several requests are reported together.
    pub count: u64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallOutcome {
    /// The tool succeeded.
    Success,
    /// The tool failed, or the call did not reach it.
    Failure,
    /// The gate refused the call.
    Denied,
    /// The caller cancelled the call.
    Cancelled,
}

impl CallOutcome {
    /// The outcome in one word: `success`, `failure`, `denied`, `cancelled`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The number of bytes of a name or an ID that are recorded at most.
const MAX_LENGTH: usize = 256;

/// Truncates a long name or ID: callers choose them, and logs keep them.
pub(crate) fn truncated(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_LENGTH {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", prefix(text, MAX_LENGTH)))
}

/// The record of a call that has ended, or of a request for a call that was refused: one whose ID, `_meta`, name or
/// arguments are not valid, for example. Names and IDs of more than 256 bytes are truncated, and end in `…`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallRecord<'a> {
    /// When it began.
    pub time: SystemTime,
    /// The tool's canonical name; if there is no such tool, the name in the call. Empty if a request asks for a tool
    /// without a name that can be read.
    pub tool: &'a str,
    /// The name in the call, or empty.
    pub called_as: &'a str,
    /// The caller, if the embedding server sets it.
    pub caller: Option<&'a str>,
    /// The ID of the request, if it had one.
    pub request_id: Option<&'a str>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// How long it took.
    pub duration: Duration,
    /// The machine-readable type of the error, as the caller sees it.
    pub error_type: Option<&'a str>,
    /// The full error message, even if it was masked for the caller.
    pub message: Option<&'a str>,
    /// The ID that the caller got in place of the message.
    pub correlation_id: Option<&'a str>,
    /// Notices about the call.
    pub notices: &'a [Notice],
    /// Not public, because some arguments are secret.
    pub(crate) arguments: Arguments<'a>,
}

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    /// As they were sent.
    pub(crate) json: &'a str,
    /// `None` if there is no such tool.
    pub(crate) tool: Option<&'a Callable>,
}

/// Omits the arguments: debug output ends up in logs.
impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

/// Advice on how to show a masked message to callers.
pub(crate) const UNMASK: &str = "the caller saw only an ID; to show the message, return a `ToolError` or a string, or \
                                 build the registry with `mask_errors(false)`";

impl CallRecord<'_> {
    /// Advice on how to show the message to callers, if they got a [`correlation_id`](Self::correlation_id) instead.
    /// Log it next to the message.
    pub fn hint(&self) -> Option<&'static str> {
        self.correlation_id.map(|_| UNMASK)
    }

    /// Feeds the arguments to a hasher, as a [`Gate`](crate::gate::Gate) sees them; the order of their names does not
    /// matter. Use a keyed hash: otherwise, secret arguments can be found by trying them out. Arguments of more than 64 KiB
    /// are hashed as raw bytes.
    pub fn hash_arguments(&self, hasher: &mut impl Hasher) {
        let Arguments { json, tool } = self.arguments;
        let seen = |tool: &Callable| Seen::read(tool, json).ok().map(|seen| seen.value);
        let value = (json.len() <= LARGE).then(|| tool.and_then(seen).or_else(|| serde_json::from_str(json).ok()));
        match value.flatten() {
            Some(mut value) => {
                value.sort_all_objects();
                hasher.write(value.to_string().as_bytes());
            }
            None => hasher.write(json.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, truncated};

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(truncated(&"n".repeat(MAX_LENGTH)), "n".repeat(MAX_LENGTH));
        assert_eq!(truncated(&"ö".repeat(MAX_LENGTH)), format!("{}…", "ö".repeat(MAX_LENGTH / 2)));
    }
}
