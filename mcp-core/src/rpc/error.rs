//! JSON-RPC errors.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::read::invalid;
use super::{RpcRejection, code};
use crate::error::{CodeProfile, Error, ErrorDetail, ErrorKind};
use crate::message::read_value;
use crate::util::JsonObject;

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, thiserror::Error)]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct RpcError {
    /// The code; see [`code`](crate::error::code).
    pub code: i64,
    /// The message.
    pub message: String,
    /// Further data, such as the `error_type` if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_value")]
    pub data: Option<Value>,
}

impl Error {
    /// Converts the error to a JSON-RPC error, whose `data` has the `error_type` and the details.
    pub fn to_rpc(&self, profile: CodeProfile) -> RpcError {
        let mut error = RpcError::from_detail(&self.to_detail(), profile);
        error.code = self.code(profile);
        error
    }
}

impl RpcError {
    /// Creates an error.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Sets the data.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// Creates the error for a failed result. The `error_type` determines the code; `data` has the `error_type`, the
    /// `details` and the extra fields.
    pub fn from_detail(detail: &ErrorDetail, profile: CodeProfile) -> Self {
        let mut data = detail.extra.clone();
        data.insert("error_type".to_owned(), detail.error_type.as_str().into());
        if let Some(details) = &detail.error_details {
            data.insert("details".to_owned(), details.clone());
        }
        Self::new(ErrorKind::from_error_type(&detail.error_type).code(profile), &detail.error_message).data(data)
    }

    /// Converts the error to the form of the legacy dialect: the message becomes the standard phrase for the code, the
    /// original message moves to `data.details`, and the original `data.details` to `data.error_details`.
    ///
    /// ```
    /// use mcp_core::rpc::{RpcError, code};
    ///
    /// let error = RpcError::new(code::INVALID_PARAMS, "`location` is missing; add a string").into_legacy();
    /// assert_eq!(error.message, "Invalid params");
    /// assert_eq!(error.data.unwrap()["details"], "`location` is missing; add a string");
    /// ```
    #[must_use]
    pub fn into_legacy(mut self) -> Self {
        let Some(phrase) = code::phrase(self.code) else { return self };
        let mut data = match self.data.take() {
            Some(Value::Object(data)) => data,
            None => JsonObject::new(),
            Some(other) => JsonObject::from_iter([("details".to_owned(), other)]),
        };
        let message = std::mem::replace(&mut self.message, phrase.to_owned());
        if let Some(details) = data.insert("details".to_owned(), message.into()) {
            data.insert("error_details".to_owned(), details);
        }
        self.data(data)
    }

    /// The inverse of [`into_legacy`](Self::into_legacy). An error without the legacy form is unchanged.
    fn undo_legacy(&self) -> Cow<'_, Self> {
        let (Some(Value::Object(data)), Some(phrase)) = (&self.data, code::phrase(self.code)) else {
            return Cow::Borrowed(self);
        };
        let (Some(Value::String(message)), true) = (data.get("details"), self.message == phrase) else {
            return Cow::Borrowed(self);
        };
        let mut data = data.clone();
        data.shift_remove("details");
        if let Some(details) = data.shift_remove("error_details") {
            data.insert("details".to_owned(), details);
        }
        Cow::Owned(Self { code: self.code, message: message.clone(), data: Some(data.into()) })
    }

    /// Converts the error, with or without the legacy form, to that of a flat result.
    pub fn to_detail(&self) -> ErrorDetail {
        self.undo_legacy().read_detail()
    }

    fn read_detail(&self) -> ErrorDetail {
        let mut detail = ErrorDetail::new(ErrorKind::from_code(self.code).error_type(), &self.message);
        match self.data.clone() {
            Some(Value::Object(mut data)) if data.get("error_type").is_some_and(Value::is_string) => {
                if let Some(Value::String(error_type)) = data.shift_remove("error_type") {
                    detail.error_type = error_type.into();
                }
                detail = detail.details(data.shift_remove("details").unwrap_or_default());
                data.retain(|key, _| !matches!(key.as_str(), "error_message" | "error_details"));
                detail.extra = data;
                detail
            }
            Some(Value::Object(data)) if data.len() == 1 && data.contains_key("details") => {
                detail.details(data["details"].clone())
            }
            Some(Value::Object(data)) if data.is_empty() => detail,
            data => detail.details(data.unwrap_or_default()),
        }
    }

    pub(super) fn read(raw: &RawValue) -> Result<Self, Self> {
        serde_json::from_str(raw.get())
            .map_err(|_| invalid("`error` must be an object with an integer `code` and a string `message`"))
    }
}

/// Rejects a message whose ID could not be read.
impl From<RpcError> for Box<RpcRejection> {
    fn from(error: RpcError) -> Self {
        Self::new(RpcRejection { id: None, error, is_notification: false })
    }
}

fn some_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    read_value(deserializer).map(Some)
}
