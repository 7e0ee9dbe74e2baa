//! The error in a result.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{Entries, JsonObject, Strictness, check_extra, expect, kind_of, serialize_with_extra};
use crate::error::{MAX_DEPTH, Rule, Violations, join};

const FIELDS: [&str; 3] = ["error_type", "error_message", "error_details"];
const DEPTH: usize = MAX_DEPTH;
const MESSAGE: &str = "an error detail";

/// The error in a result: a machine-readable type, a message for people and models, and details.
///
/// ```
/// use mcp_core::ErrorDetail;
/// use serde_json::json;
///
/// let detail = ErrorDetail::new("ResourceNotFound", "The requested resource could not be located.")
///     .details(json!({ "resource_id": "xyz-123" }));
/// assert!(detail.validate().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorDetail {
    /// The category, such as `FileNotFoundError`.
    pub error_type: ErrorType,
    /// What went wrong, for people and models.
    pub error_message: String,
    /// An object or a text that says more.
    pub error_details: Option<Value>,
    /// Fields beside those, kept as they came.
    pub extra: JsonObject,
}

impl ErrorDetail {
    /// An error of a type with a message.
    pub fn new(error_type: impl Into<ErrorType>, error_message: impl Into<String>) -> Self {
        Self { error_type: error_type.into(), error_message: error_message.into(), ..Self::default() }
    }

    /// Adds details: an object, or a text. Null takes them away; another value becomes `{"value": …}`.
    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.error_details = match details.into() {
            Value::Null => None,
            details @ (Value::Object(_) | Value::String(_)) => Some(details),
            other => Some(json!({ "value": other })),
        };
        self
    }

    fn read_fields(entries: Entries, _: Strictness, violations: &mut Violations) -> Self {
        Self::read_entries("", entries, violations)
    }

    pub(crate) fn read_at(path: &str, value: Value, violations: &mut Violations) -> Option<Self> {
        expect::object(value, path, violations).map(|object| Self::read_entries(path, object, violations))
    }

    fn read_entries<K: Into<String> + AsRef<str>>(
        path: &str,
        entries: impl IntoIterator<Item = (K, Value)>,
        violations: &mut Violations,
    ) -> Self {
        let (mut error_type, mut error_message, mut error_details, mut extra) = (None, None, None, JsonObject::new());
        for (key, value) in entries {
            match key.as_ref() {
                "error_type" => error_type = Some(value),
                "error_message" => error_message = Some(value),
                "error_details" => error_details = Some(value).filter(|value| !value.is_null()),
                _ => _ = extra.insert(key.into(), value),
            }
        }
        let mut text = |value, key| expect::required_string(value, &join(path, key), violations).unwrap_or_default();
        let error_type = ErrorType::from(text(error_type, "error_type"));
        let error_message = text(error_message, "error_message");
        Self { error_type, error_message, error_details, extra }
    }

    fn check(&self, strictness: Strictness, violations: &mut Violations) {
        self.check_at("", strictness, violations);
    }

    pub(crate) fn check_at(&self, path: &str, strictness: Strictness, violations: &mut Violations) {
        if let Some(details) = &self.error_details {
            if !matches!(details, Value::Object(_) | Value::String(_) | Value::Null) {
                let rule = Rule::Type { expected: "an object, a string or null", got: kind_of(details) };
                violations.add(join(path, "error_details"), rule);
            }
        }
        check_extra(path, MESSAGE, &FIELDS, self.extra.keys(), strictness, violations);
    }
}

message_api!(ErrorDetail, "an error detail");
message_rules!(ErrorDetail);

impl Serialize for ErrorDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(FIELDS.len() + self.extra.len()))?;
        map.serialize_entry("error_type", &self.error_type)?;
        map.serialize_entry("error_message", &self.error_message)?;
        map.serialize_entry("error_details", &self.error_details)?;
        serialize_with_extra(map, &FIELDS, &self.extra)
    }
}

/// A machine-readable category of error: one of the constants, or a name of the tool's own.
///
/// ```
/// use mcp_core::ErrorType;
///
/// assert_eq!(ErrorType::TIMEOUT_ERROR, "TimeoutError");
/// assert_eq!(ErrorType::from("TimeoutError"), ErrorType::TIMEOUT_ERROR);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for ErrorType {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for ErrorType {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ErrorType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}
