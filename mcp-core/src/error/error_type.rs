//! The category of an error.

use std::borrow::Cow;

use serde::Deserialize;

use crate::util::text::same_as;

/// A machine-readable category of error: one of the constants, or a name of the tool's own.
///
/// ```
/// use mcp_core::ErrorType;
///
/// assert_eq!(ErrorType::TIMEOUT_ERROR, "TimeoutError");
/// assert_eq!(ErrorType::from("TimeoutError"), ErrorType::TIMEOUT_ERROR);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct ErrorType(Cow<'static, str>);

macro_rules! error_types {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)*) => {
        impl ErrorType {
            $($(#[$doc])* pub const $constant: Self = Self(Cow::Borrowed($name));)*

            /// The types that have a constant.
            pub const STANDARD: &'static [Self] = &[$(Self::$constant),*];
        }
    };
}

error_types! {
    /// The input does not pass validation.
    VALIDATION_ERROR = "ValidationError";
    /// A file is not there.
    FILE_NOT_FOUND_ERROR = "FileNotFoundError";
    /// The caller is not known.
    AUTHENTICATION_ERROR = "AuthenticationError";
    /// Something that was asked for is not there.
    RESOURCE_NOT_FOUND = "ResourceNotFound";
    /// The tool failed for another reason.
    TOOL_EXECUTION_ERROR = "ToolExecutionError";
    /// A rate limit was reached.
    API_LIMIT_EXCEEDED = "ApiLimitExceeded";
    /// The call did not end in its time.
    TIMEOUT_ERROR = "TimeoutError";
    /// The caller, or the program, may not do this.
    PERMISSION_ERROR = "PermissionError";
    /// The connection failed.
    TRANSPORT_ERROR = "TransportError";
    /// No tool has the name.
    TOOL_NOT_FOUND_ERROR = "ToolNotFoundError";
    /// The arguments do not match the tool's schema.
    SCHEMA_ERROR = "SchemaError";
    /// A value cannot become JSON.
    SERIALIZATION_ERROR = "SerializationError";
    /// A tool cannot be registered.
    REGISTRATION_ERROR = "RegistrationError";
    /// A text encoding that the tool does not know.
    UNSUPPORTED_ENCODING_ERROR = "UnsupportedEncodingError";
    /// A file is larger than the tool reads.
    FILE_TOO_LARGE_ERROR = "FileTooLargeError";
}

impl ErrorType {
    /// The client does not offer what the tool needs of it. MCP has a code of its own for it.
    pub const MISSING_CLIENT_CAPABILITY: Self = Self(Cow::Borrowed("MissingClientCapability"));

    /// A tool returned more than a result may have.
    pub const RESULT_TOO_LARGE_ERROR: Self = Self(Cow::Borrowed("ResultTooLargeError"));

    /// A type of your own, for a constant.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name as it stands in a message.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ErrorType {
    fn default() -> Self {
        Self::TOOL_EXECUTION_ERROR
    }
}

impl From<&str> for ErrorType {
    fn from(name: &str) -> Self {
        Self(Cow::Owned(name.to_owned()))
    }
}

impl From<String> for ErrorType {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl AsRef<str> for ErrorType {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

same_as!(ErrorType, as_str);
