//! Errors: one type for each concern, and [`Error`] for all of them. One table ([`ErrorKind`]) maps them to the wire.

mod call;
pub mod code;
mod detail;
mod error_type;
mod kind;
mod registration;
mod tool;
mod validation;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::call::CallError;
pub use self::detail::ErrorDetail;
pub use self::error_type::ErrorType;
pub use self::kind::{CodeProfile, ErrorKind};
pub use self::registration::{Conflict, Contender, Origin, RegistrationError, RegistrationProblem};
pub use self::tool::{BoxError, ToolError};
pub use self::validation::{MAX_DEPTH, Rule, ValidationError, Violation};
pub(crate) use self::validation::{Violations, join};
use crate::util::text::{shortened, shown};

/// Any failure of a call or of the registry.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum Error {
    /// The tools cannot be registered.
    Registration(#[from] RegistrationError),
    /// There is no tool with the name.
    ToolNotFound(#[from] ToolNotFoundError),
    /// The arguments do not match the tool's schema.
    Schema(#[from] SchemaError),
    /// The message is invalid.
    Validation(#[from] ValidationError),
    /// A value cannot be serialized.
    Serialization(#[from] SerializationError),
    /// The call exceeded its deadline.
    Timeout(#[from] TimeoutError),
    /// The result of the tool is too large.
    ResultTooLarge(#[from] ResultTooLargeError),
    /// The connection failed.
    Transport(#[from] TransportError),
    /// The tool failed, or the call was not allowed.
    Tool(#[from] ToolError),
}

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Registration(_) => ErrorKind::Registration,
            Self::ToolNotFound(_) => ErrorKind::ToolNotFound,
            Self::Schema(_) => ErrorKind::Schema,
            Self::Validation(ValidationError::Fields(_)) => ErrorKind::Validation,
            Self::Validation(_) => ErrorKind::Parse,
            Self::Serialization(_) => ErrorKind::Serialization,
            Self::Timeout(_) => ErrorKind::Timeout,
            Self::ResultTooLarge(_) => ErrorKind::ResultTooLarge,
            Self::Transport(_) => ErrorKind::Transport,
            Self::Tool(error) => ErrorKind::from_error_type(error.error_type()),
        }
    }

    /// Returns the type of the error, such as `ToolNotFoundError`, or the custom type of a tool.
    pub fn error_type(&self) -> ErrorType {
        match self {
            Self::Tool(error) => error.error_type().clone(),
            _ => self.kind().error_type(),
        }
    }

    /// Returns the type of the error in messages, records and traces: [`error_type`](Self::error_type), except that
    /// invalid arguments are a `ValidationError`.
    pub fn wire_type(&self) -> ErrorType {
        match self {
            Self::Schema(_) => ErrorType::VALIDATION_ERROR,
            _ => self.error_type(),
        }
    }

    /// Returns the JSON-RPC code.
    pub fn code(&self, profile: CodeProfile) -> i64 {
        self.kind().code(profile)
    }

    /// Returns the HTTP status for a plain HTTP API.
    pub fn http_status(&self) -> u16 {
        self.kind().http_status()
    }

    /// Converts the error to that of a flat result. Invalid arguments are a `ValidationError` whose details have
    /// `"kind": "SchemaError"` and, for each fault, its path, what is expected and what was received. The message
    /// describes the faults.
    pub fn to_detail(&self) -> ErrorDetail {
        match self {
            Self::Registration(error) => error.into(),
            Self::ToolNotFound(error) => error.into(),
            Self::Schema(error) => error.into(),
            Self::Validation(error) => error.into(),
            Self::Serialization(error) => error.into(),
            Self::Timeout(error) => error.into(),
            Self::ResultTooLarge(error) => error.into(),
            Self::Transport(error) => error.into(),
            Self::Tool(error) => error.detail().clone(),
        }
    }
}

macro_rules! details {
    ($($error:ident, $kind:ident => |$name:ident| $details:expr;)*) => {$(
        impl From<&$error> for ErrorDetail {
            fn from($name: &$error) -> Self {
                let detail = Self::new(ErrorKind::$kind.error_type(), $name.to_string()).details($details);
                Self { is_foreign: ErrorKind::$kind.is_internal(), ..detail }
            }
        }

        impl From<$error> for ErrorDetail {
            fn from(error: $error) -> Self {
                Self::from(&error)
            }
        }
    )*};
}

details! {
    RegistrationError, Registration => |_error| Value::Null;
    ToolNotFoundError, ToolNotFound => |error| json!({ "name": shown(&error.name), "did_you_mean": error.did_you_mean });
    SchemaError, Validation => |error| error.details();
    ValidationError, Validation => |error| faults(error.violations());
    SerializationError, Serialization => |_error| Value::Null;
    TimeoutError, Timeout => |error| json!({ "tool": error.tool, "timeout_seconds": error.limit.as_secs_f64() });
    ResultTooLargeError, ResultTooLarge =>
        |error| json!({ "tool": error.tool, "size": error.size, "limit": error.limit });
    TransportError, Transport => |_error| Value::Null;
}

/// The paths of the faults; the message describes them.
fn faults(violations: &[Violation]) -> Value {
    let faults: Vec<Value> = violations.iter().map(|violation| json!({ "path": violation.path })).collect();
    if faults.is_empty() { Value::Null } else { json!({ "faults": faults }) }
}

impl From<Error> for ErrorDetail {
    fn from(error: Error) -> Self {
        match error {
            Error::Tool(error) => error.into(),
            error => error.to_detail(),
        }
    }
}

/// There is no tool with the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ToolNotFoundError {
    /// The name.
    pub name: String,
    /// The most similar names of tools, the most similar first.
    pub did_you_mean: Vec<String>,
}

impl ToolNotFoundError {
    /// Creates the error for a name, with the most similar names of tools.
    pub fn new(name: impl Into<String>, did_you_mean: Vec<String>) -> Self {
        Self { name: name.into(), did_you_mean }
    }
}

impl fmt::Display for ToolNotFoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no tool is named `{}`; ", shown(&self.name))?;
        match self.did_you_mean.as_slice() {
            [] => f.write_str("list the tools to see their names"),
            [one] => write!(f, "did you mean `{one}`?"),
            [first @ .., last] => write!(f, "did you mean `{}` or `{last}`?", first.join("`, `")),
        }
    }
}

/// The arguments of a call do not match the tool's schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct SchemaError {
    /// The tool.
    pub tool: String,
    /// The faults: between 1 and 20.
    pub faults: Vec<Fault>,
    /// The number of further faults, which are not listed.
    pub omitted: usize,
}

impl SchemaError {
    /// Creates the error for the arguments of a tool.
    pub fn new(tool: impl Into<String>, faults: Vec<Fault>) -> Self {
        Self { tool: tool.into(), faults, omitted: 0 }
    }

    /// Sets the number of further faults.
    #[must_use]
    pub fn omitted(mut self, faults: usize) -> Self {
        self.omitted = faults;
        self
    }

    fn details(&self) -> Value {
        let mut details = json!({ "kind": "SchemaError", "tool": self.tool, "faults": self.faults });
        if self.omitted > 0 {
            details["omitted"] = self.omitted.into();
        }
        details
    }
}

/// One argument that does not match. The details of an error omit its message, which the error's message includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// The path as a JSON Pointer, such as `/filters/0/date`; empty for the arguments as a whole.
    pub path: String,
    /// What is expected.
    pub expected: String,
    /// What was received, truncated; `None` for a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// The fault as a sentence, which ends with what to do.
    #[serde(skip)]
    pub message: String,
}

impl Fault {
    /// Creates a fault of the value at a path.
    pub fn new(path: impl Into<String>, expected: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), expected: expected.into(), got: None, message: message.into() }
    }

    /// Sets what was received.
    #[must_use]
    pub fn got(mut self, got: impl Into<String>) -> Self {
        self.got = Some(got.into());
        self
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the arguments of `{}` do not match its schema", self.tool)?;
        self.faults.iter().enumerate().try_for_each(|(index, fault)| {
            let separator = if index == 0 { ": " } else { "; " };
            match fault.path.as_str() {
                "" => write!(f, "{separator}{}", fault.message),
                path => write!(f, "{separator}`{path}`: {}", fault.message),
            }
        })?;
        if self.omitted > 0 {
            write!(f, "; and {} more", self.omitted)?;
        }
        Ok(())
    }
}

/// A value cannot be serialized.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} cannot become JSON: {}; use string keys and types that serde can serialize",
    shortened(&source.to_string(), ToolError::MAX_TEXT)
)]
pub struct SerializationError {
    what: String,
    source: serde_json::Error,
}

impl SerializationError {
    /// Creates the error for a value, which `what` describes, such as `"the result of calc.add"`.
    pub fn new(what: impl Into<String>, source: serde_json::Error) -> Self {
        Self { what: what.into(), source }
    }
}

/// A call exceeded its deadline. The author of a tool that needs more time can raise its `timeout`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{tool}` did not answer within {limit:?}; ask for less, or try again later{}{}",
    if hint.is_some() { "; " } else { "" },
    hint.unwrap_or_default()
)]
#[non_exhaustive]
pub struct TimeoutError {
    /// The tool.
    pub tool: String,
    /// The time limit.
    pub limit: Duration,
    /// A likely cause and what to do about it, if one is known.
    pub hint: Option<&'static str>,
}

impl TimeoutError {
    /// Creates the error of a tool with this time limit.
    pub fn new(tool: impl Into<String>, limit: Duration) -> Self {
        Self { tool: tool.into(), limit, hint: None }
    }

    /// Sets a likely cause and what to do about it, if one is known.
    #[must_use]
    pub fn hint(mut self, hint: Option<&'static str>) -> Self {
        self.hint = hint;
        self
    }
}

/// The result of a tool is too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ResultTooLargeError {
    /// The tool.
    pub tool: String,
    /// The size of the result as JSON, in bytes.
    pub size: usize,
    /// The maximum size.
    pub limit: usize,
    /// The argument that limits the size of the result, if the tool has one.
    pub argument: Option<String>,
}

impl ResultTooLargeError {
    /// Creates the error of a tool whose result has this size.
    pub fn new(tool: impl Into<String>, size: usize, limit: usize) -> Self {
        Self { tool: tool.into(), size, limit, argument: None }
    }

    /// Sets the argument that limits the size of the result.
    #[must_use]
    pub fn argument(mut self, name: impl Into<String>) -> Self {
        self.argument = Some(name.into());
        self
    }
}

impl fmt::Display for ResultTooLargeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, size, limit, argument } = self;
        write!(
            f,
            "the result of `{tool}` has {size} bytes, but the limit is {limit}; call it again and ask for less, "
        )?;
        match argument {
            Some(argument) => write!(f, "such as with a smaller `{argument}`"),
            None => f.write_str("with arguments that narrow the result"),
        }
    }
}

/// A connection failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// Nothing listens at the address.
    #[error("the connection to {peer} was refused; check that the server runs and where it listens")]
    Refused {
        /// The address or the command.
        peer: String,
    },
    /// The connection was closed before the response.
    #[error("the connection was closed before the answer came; check the server's log and try again")]
    Closed,
    /// There was no response in time.
    #[error("no answer came within {0:?}; check the server and try again later")]
    Timeout(Duration),
    /// The response does not follow the protocol.
    #[error("the answer does not follow the protocol: {0}; check that the other side speaks MCP")]
    Malformed(String),
    /// A message is too large.
    #[error("a message has more than {limit} bytes; send less at once, or raise the limit")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {}", bind_remedy(source))]
    Bind {
        /// The address.
        address: String,
        /// The reason.
        source: std::io::Error,
    },
    /// Other machines could connect without authentication.
    #[error(
        "{address} can be reached by others; set a token, declare that authentication is handled elsewhere, or serve at \
         127.0.0.1"
    )]
    Open {
        /// The address.
        address: std::net::SocketAddr,
    },
    /// The token is empty, or cannot be sent in a header.
    #[error("the token is empty, or contains something other than visible ASCII; choose one that nobody can guess")]
    Token,
    /// Reading or writing failed.
    #[error("the connection failed: {0}; check it and try again")]
    Io(#[from] std::io::Error),
}

/// Shows the same as `Display`, since a `main` that returns the error prints it with `Debug`.
impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Describes why an address cannot be bound, and what to do.
fn bind_remedy(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "the address is in use; choose another port".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied; choose a port of 1024 or above".to_owned(),
        _ => format!("{error}; give an address such as 127.0.0.1:3000"),
    }
}
