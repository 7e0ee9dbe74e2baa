//! Telling of calls: what is known of one when it is over.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hasher;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::validate::LARGE;

/// Is told of every call when it is over, whatever came of it. It runs where the call ends: be quick, or hand it on.
pub trait Observer: Send + Sync + 'static {
    /// The call is over.
    fn observe(&self, record: &CallRecord<'_>);

    /// A server has rejected a request before any tool was called: a wrong token, an origin that is not allowed, too many
    /// requests in flight. Does nothing by default.
    fn rejected(&self, rejection: &Rejection<'_>) {
        let _ = rejection;
    }

    /// Whether it keeps the messages of errors. If no observer does and `tracing` is off, a message that is masked for
    /// the caller is written to stderr instead. `true` by default.
    fn keeps_messages(&self) -> bool {
        true
    }
}

/// Why a server rejected a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectionReason {
    /// It was sent to a host name that is not allowed.
    Host,
    /// It came from a web page whose origin is not allowed, or not given.
    Origin,
    /// It had no token.
    MissingToken,
    /// It had a wrong token.
    WrongToken,
    /// It named a session of another caller.
    ForeignSession,
    /// The server is at one of its limits.
    Busy,
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
        }
    }
}

/// A request, or several, that a server rejected. Tokens and session ids are not part of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejection<'a> {
    /// When it was rejected.
    pub time: SystemTime,
    /// Why.
    pub reason: RejectionReason,
    /// The host or origin that is not allowed, or the limit; at most 256 bytes of it.
    pub detail: Option<&'a str>,
    /// The address that the request came from, if it is known.
    pub client: Option<SocketAddr>,
    /// How many requests it stands for: in a flood, not every one is reported by itself.
    pub count: u64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The tool did it.
    Success,
    /// The tool failed, or was not reached.
    Failure,
    /// The gate said no.
    Denied,
    /// The caller did not want it any more.
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

/// What is worth knowing of how a tool was called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The tool is deprecated.
    Deprecated {
        /// Since which version of the tool.
        since: String,
        /// The tool to use instead.
        replaced_by: Option<String>,
    },
    /// The tool was called by an older name.
    Alias {
        /// The name in the call.
        called_as: String,
        /// The tool's name.
        name: String,
    },
}

impl Notice {
    /// The notice as it stands in the `_meta` of a result.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Deprecated { since, replaced_by: None } => json!({ "kind": "deprecated", "since": since }),
            Self::Deprecated { since, replaced_by: Some(tool) } => {
                json!({ "kind": "deprecated", "since": since, "replaced_by": tool })
            }
            Self::Alias { called_as, name } => json!({ "kind": "alias", "called_as": called_as, "name": name }),
        }
    }
}

/// The most bytes of a name or an id that are recorded.
const MAX_LENGTH: usize = 256;

/// A name or an id, or its beginning if it is long: the caller chooses them, and logs keep them.
pub(crate) fn truncated(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_LENGTH {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_LENGTH).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    Cow::Owned(format!("{}…", &text[..end]))
}

/// What is known of a call when it is over. Names and ids of more than 256 bytes are cut, and end in `…`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallRecord<'a> {
    /// When it began.
    pub time: SystemTime,
    /// The tool's canonical name; where there is no such tool, the name that was asked for.
    pub tool: &'a str,
    /// The name that was asked for.
    pub called_as: &'a str,
    /// Who called, if the embedding server said.
    pub caller: Option<&'a str>,
    /// The id of the request, if it had one.
    pub request_id: Option<&'a str>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// How long it took.
    pub duration: Duration,
    /// The machine-readable category of the error, as the caller is told it.
    pub error_type: Option<&'a str>,
    /// What went wrong, in full; also where the caller was shown less.
    pub message: Option<&'a str>,
    /// The id that the caller was shown in place of the message.
    pub correlation_id: Option<&'a str>,
    /// What is worth knowing of how the tool was called.
    pub notices: &'a [Notice],
    /// The arguments; not for observers, since some of them are secret.
    pub(crate) arguments: Arguments<'a>,
}

/// The arguments of a call, as they came.
#[derive(Clone, Copy)]
pub(crate) enum Arguments<'a> {
    Json(&'a str),
    Value(&'a Value),
}

/// Not shown: a record that is debugged ends up in logs.
impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

/// How to show callers what they got an id for.
pub(crate) const UNMASK: &str = "the caller was shown an id only; to show the message, return a `ToolError` or a text, or \
                                 build the registry with `mask_errors(false)`";

impl CallRecord<'_> {
    /// How to show callers the message, where they got a [`correlation_id`](Self::correlation_id) in place of it. A log
    /// should have it beside the message.
    pub fn hint(&self) -> Option<&'static str> {
        self.correlation_id.map(|_| UNMASK)
    }

    /// Puts the arguments into a hash, the same whatever the order of their names. (They are not shown: some are
    /// secret. Use a keyed hash, since few possible arguments are soon tried out.) Of arguments of more than 64 KiB that
    /// came as text, the bytes are hashed as they are.
    pub fn hash_arguments(&self, hasher: &mut impl Hasher) {
        match self.arguments {
            Arguments::Value(value) => hash(value, hasher),
            Arguments::Json(json) if json.len() > LARGE => hasher.write(json.as_bytes()),
            Arguments::Json(json) => match serde_json::from_str::<Value>(json) {
                Ok(value) => hash(&value, hasher),
                Err(_) => hasher.write(json.as_bytes()),
            },
        }
    }
}

/// Equal JSON has equal hashes; each kind begins with a letter of its own and each length is told.
fn hash(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(b'n'),
        Value::Bool(yes) => hasher.write(&[b'b', u8::from(*yes)]),
        Value::Number(number) => {
            hasher.write_u8(b'd');
            hash_text(&number.to_string(), hasher);
        }
        Value::String(text) => {
            hasher.write_u8(b's');
            hash_text(text, hasher);
        }
        Value::Array(items) => {
            hasher.write_u8(b'a');
            hasher.write_usize(items.len());
            for item in items {
                hash(item, hasher);
            }
        }
        Value::Object(object) => {
            hasher.write_u8(b'o');
            hasher.write_usize(object.len());
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in members {
                hash_text(key, hasher);
                hash(value, hasher);
            }
        }
    }
}

fn hash_text(text: &str, hasher: &mut impl Hasher) {
    hasher.write_usize(text.len());
    hasher.write(text.as_bytes());
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
