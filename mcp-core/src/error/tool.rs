//! `ToolError`: the error of a tool.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;

use serde_json::Value;

use super::{
    Error, ErrorDetail, ErrorType, RegistrationError, ResultTooLargeError, SchemaError, SerializationError,
    TimeoutError, ToolNotFoundError, TransportError, ValidationError,
};
use crate::util::panics::Contained;
use crate::util::text::shortened;

/// Any error that is `Send` and `Sync`: what `?` converts to in a tool that returns [`crate::Result`].
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The error of a tool, as the model reads it.
///
/// Callers get at most [`MAX_TEXT`](Self::MAX_TEXT) bytes of the message, and no details that are larger than that.
///
/// ```
/// use mcp_core::ToolError;
/// use serde_json::json;
///
/// fn read(path: &str) -> Result<String, ToolError> {
///     if path.contains("..") {
///         return Err(ToolError::new("PermissionError", "the path leaves the workspace")
///             .details(json!({ "path": path })));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
///
/// assert_eq!(read("../secret").unwrap_err().error_type(), "PermissionError");
/// assert_eq!(read("no/such/file").unwrap_err().error_type(), "FileNotFoundError");
/// ```
#[derive(Debug)]
pub struct ToolError {
    detail: Box<ErrorDetail>,
    source: Option<Contained<BoxError>>,
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.detail.error_type, self.detail.error_message)
    }
}

impl StdError for ToolError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_ref()?;
        Some(&***source)
    }
}

impl ToolError {
    /// The maximum size of the message, and of the details as JSON: 64 KiB. A longer message is truncated, with a note;
    /// larger details are replaced by a note.
    pub const MAX_TEXT: usize = 64 * 1024;

    /// Creates an error with a type, which is a constant of [`ErrorType`] or a custom one, and a message for the model.
    pub fn new(error_type: impl Into<ErrorType>, message: impl Into<String>) -> Self {
        Self::from(ErrorDetail::new(error_type, message))
    }

    /// Creates the error for a client that lacks capabilities which the tool needs, such as `{"sampling": {}}`. In versions of
    /// MCP in which each request states the client's capabilities, it becomes a protocol error with a specific code.
    ///
    /// ```
    /// use mcp_core::ToolError;
    /// use serde_json::json;
    ///
    /// let error = ToolError::client_lacks(json!({ "sampling": {} }));
    /// assert!(error.message().starts_with("the client does not offer `sampling`;"));
    /// ```
    pub fn client_lacks(capabilities: impl Into<Value>) -> Self {
        let capabilities = capabilities.into();
        let names = capabilities.as_object().into_iter().flat_map(|object| object.keys());
        let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        let message = format!("the client does not offer {names}; call this from one that does");
        let details = serde_json::json!({ "requiredCapabilities": capabilities });
        Self::new(ErrorType::MISSING_CLIENT_CAPABILITY, message).details(details)
    }

    /// Sets the details: an object or a string. Any other value becomes `{"value": …}`.
    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        *self.detail = self.detail.details(details);
        self
    }

    /// Sets the source of the error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(Contained::new(source.into()));
        self
    }

    /// Returns the machine-readable category.
    pub fn error_type(&self) -> &ErrorType {
        &self.detail.error_type
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.detail.error_message
    }

    /// Returns the error in the form of a result's error.
    pub fn detail(&self) -> &ErrorDetail {
        &self.detail
    }

    /// Returns whether the message comes from another error rather than from the tool's author. It may contain internal
    /// details, so servers mask it over the network.
    pub fn is_foreign(&self) -> bool {
        self.detail.is_foreign
    }

    /// Truncates the message and the details to [`MAX_TEXT`](Self::MAX_TEXT) bytes each.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let ErrorDetail { error_type, error_message, error_details, extra, .. } = &mut *self.detail;
        if error_type.as_str().len() > Self::MAX_TEXT {
            *error_type = ErrorType::from(shortened(error_type.as_str(), Self::MAX_TEXT).into_owned());
        }
        if let Cow::Owned(short) = shortened(error_message, Self::MAX_TEXT) {
            *error_message = short;
        }
        let size = |value: &Value| value.to_string().len();
        if let Some(size) = error_details.as_ref().map(size).filter(|size| *size > Self::MAX_TEXT) {
            let note = format!("omitted: the details have {size} bytes, but the limit is {}", Self::MAX_TEXT);
            *error_details = Some(note.into());
        }
        extra.retain(|_, value| size(value) <= Self::MAX_TEXT);
        self
    }

    /// Converts any error to a tool error. If the chain of sources has a `ToolError`, or another error of this crate,
    /// its type and message are kept; so is the message of an error that was created from a string.
    pub fn from_error(error: impl Into<BoxError>) -> Self {
        let error = match error.into().downcast::<Self>() {
            Ok(found) => return *found,
            Err(error) => error,
        };
        let known = links(&*error).find_map(known_detail);
        if let Some(detail) = known {
            return Self { detail: Box::new(detail), source: Some(Contained::new(error)) };
        }
        if is_string(&*error) {
            return Self::from(error.to_string());
        }
        let error_type = links(&*error).find_map(type_of).unwrap_or_default();
        let detail = ErrorDetail { is_foreign: true, ..ErrorDetail::new(error_type, chain(&*error)) };
        Self { detail: Box::new(detail), source: Some(Contained::new(error)) }
    }
}

/// The error and its sources.
fn links<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&link| link.source())
}

/// The detail of an error of this crate.
fn known_detail(error: &(dyn StdError + 'static)) -> Option<ErrorDetail> {
    error
        .downcast_ref::<ToolError>()
        .map(|error| error.detail().clone())
        .or_else(|| error.downcast_ref::<Error>().map(Error::to_detail))
        .or_else(|| error.downcast_ref::<SerializationError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<ValidationError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<SchemaError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<ToolNotFoundError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<TimeoutError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<ResultTooLargeError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<RegistrationError>().map(ErrorDetail::from))
        .or_else(|| error.downcast_ref::<TransportError>().map(ErrorDetail::from))
}

/// Whether the error was created from a string. The standard library's type for that is private, but its `Debug` is
/// that of a string.
fn is_string(error: &(dyn StdError + 'static)) -> bool {
    error.source().is_none() && format!("{error:?}") == format!("{:?}", error.to_string())
}

/// The messages of the error and of its sources, without repetitions.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    for source in links(error).skip(1).map(ToString::to_string) {
        if !text.contains(&source) {
            text.push_str(": ");
            text.push_str(&source);
        }
    }
    text
}

/// The type for an error of the standard library or of `serde_json`.
fn type_of(error: &(dyn StdError + 'static)) -> Option<ErrorType> {
    if let Some(io) = error.downcast_ref::<io::Error>() {
        return Some(type_of_io(io.kind()));
    }
    let json = error.downcast_ref::<serde_json::Error>()?;
    Some(match json.io_error_kind() {
        Some(kind) => type_of_io(kind),
        // An error of serialization has no line number.
        None if json.line() == 0 && json.is_syntax() => ErrorType::SERIALIZATION_ERROR,
        None => ErrorType::TOOL_EXECUTION_ERROR,
    })
}

fn type_of_io(kind: io::ErrorKind) -> ErrorType {
    use io::ErrorKind as K;
    match kind {
        K::NotFound => ErrorType::FILE_NOT_FOUND_ERROR,
        K::PermissionDenied => ErrorType::PERMISSION_ERROR,
        K::TimedOut => ErrorType::TIMEOUT_ERROR,
        K::FileTooLarge => ErrorType::FILE_TOO_LARGE_ERROR,
        K::ConnectionRefused
        | K::ConnectionReset
        | K::ConnectionAborted
        | K::HostUnreachable
        | K::NetworkUnreachable
        | K::NetworkDown
        | K::NotConnected
        | K::BrokenPipe => ErrorType::TRANSPORT_ERROR,
        _ => ErrorType::TOOL_EXECUTION_ERROR,
    }
}

/// Creates a `ToolExecutionError` with this message.
impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(ErrorType::TOOL_EXECUTION_ERROR, message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::from(message.to_owned())
    }
}

impl From<ErrorDetail> for ToolError {
    fn from(detail: ErrorDetail) -> Self {
        Self { detail: Box::new(detail), source: None }
    }
}

impl From<ToolError> for ErrorDetail {
    fn from(error: ToolError) -> Self {
        *error.detail
    }
}

macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for ToolError {
            fn from(error: $error) -> Self {
                Self::from_error(error)
            }
        }
    )*};
}

from_errors! {
    BoxError,
    Error,
    RegistrationError,
    ResultTooLargeError,
    SchemaError,
    SerializationError,
    TimeoutError,
    ToolNotFoundError,
    TransportError,
    ValidationError,
    io::Error,
    fmt::Error,
    serde_json::Error,
    std::char::ParseCharError,
    std::env::VarError,
    std::net::AddrParseError,
    std::num::ParseFloatError,
    std::num::ParseIntError,
    std::num::TryFromIntError,
    std::path::StripPrefixError,
    std::str::ParseBoolError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::sync::mpsc::RecvError,
    std::sync::mpsc::RecvTimeoutError,
    std::time::SystemTimeError,
}
