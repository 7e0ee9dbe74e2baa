//! The error in a result; `message` reads and writes it.

use serde_json::{Value, json};

use super::ErrorType;
use crate::util::JsonObject;

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
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ErrorDetail {
    /// The category, such as `FileNotFoundError`.
    pub error_type: ErrorType,
    /// What went wrong, for people and models.
    pub error_message: String,
    /// More information: an object or a string.
    pub error_details: Option<Value>,
    /// Unknown fields, which are kept.
    pub extra: JsonObject,
    /// Not serialized, and not compared.
    pub(crate) is_foreign: bool,
}

impl ErrorDetail {
    /// Creates an error of this type, with a message.
    pub fn new(error_type: impl Into<ErrorType>, error_message: impl Into<String>) -> Self {
        Self { error_type: error_type.into(), error_message: error_message.into(), ..Self::default() }
    }

    /// Sets the details: an object or a string. Null removes them; any other value becomes `{"value": …}`.
    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.error_details = match details.into() {
            Value::Null => None,
            details @ (Value::Object(_) | Value::String(_)) => Some(details),
            other => Some(json!({ "value": other })),
        };
        self
    }

    /// Returns whether the message comes from another error rather than from the tool's author. It may contain internal
    /// details, so servers mask it over the network. This is known only in the process in which the error occurred.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}

/// Compares the messages: where the error comes from does not matter.
impl PartialEq for ErrorDetail {
    fn eq(&self, other: &Self) -> bool {
        let Self { error_type, error_message, error_details, extra, is_foreign: _ } = self;
        (error_type, error_message, error_details, extra)
            == (&other.error_type, &other.error_message, &other.error_details, &other.extra)
    }
}
