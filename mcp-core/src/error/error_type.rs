//! The category of an error.

use std::borrow::Cow;

use serde::Deserialize;

use crate::util::text::string_like;

/// A machine-readable category of errors: one of the constants, or a custom name.
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

            /// The types that have constants.
            pub const STANDARD: &'static [Self] = &[$(Self::$constant),*];
        }
    };
}

error_types! {
    /// The input is invalid.
    VALIDATION_ERROR = "ValidationError";
    /// A file does not exist.
    FILE_NOT_FOUND_ERROR = "FileNotFoundError";
    /// The caller is not authenticated.
    AUTHENTICATION_ERROR = "AuthenticationError";
    /// A resource does not exist.
    RESOURCE_NOT_FOUND = "ResourceNotFound";
    /// The tool failed for another reason.
    TOOL_EXECUTION_ERROR = "ToolExecutionError";
    /// A rate limit was reached.
    API_LIMIT_EXCEEDED = "ApiLimitExceeded";
    /// The call exceeded its deadline.
    TIMEOUT_ERROR = "TimeoutError";
    /// The caller, or the program, lacks permission.
    PERMISSION_ERROR = "PermissionError";
    /// The connection failed.
    TRANSPORT_ERROR = "TransportError";
    /// No tool has the name.
    TOOL_NOT_FOUND_ERROR = "ToolNotFoundError";
    /// The arguments do not match the tool's schema.
    SCHEMA_ERROR = "SchemaError";
    /// A value cannot be serialized.
    SERIALIZATION_ERROR = "SerializationError";
    /// A tool cannot be registered.
    REGISTRATION_ERROR = "RegistrationError";
    /// The tool does not support a text encoding.
    UNSUPPORTED_ENCODING_ERROR = "UnsupportedEncodingError";
    /// A file is too large for the tool.
    FILE_TOO_LARGE_ERROR = "FileTooLargeError";
}

impl ErrorType {
    /// The client lacks a capability that the tool needs. MCP has an error code for this.
    pub const MISSING_CLIENT_CAPABILITY: Self = Self(Cow::Borrowed("MissingClientCapability"));

    /// A result is too large.
    pub const RESULT_TOO_LARGE_ERROR: Self = Self(Cow::Borrowed("ResultTooLargeError"));

    /// Creates a custom type, in a constant.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the name in messages.
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

string_like!(ErrorType, as_str);
