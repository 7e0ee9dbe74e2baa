//! The error of a request, and the error of a result that it tells of.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::RpcRejection;
use super::read::invalid;
use crate::error::{CodeProfile, ErrorKind};
use crate::message::{ErrorDetail, read_value};

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, thiserror::Error)]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct RpcError {
    /// The number; see [`code`](crate::code).
    pub code: i64,
    /// What went wrong, in a sentence.
    pub message: String,
    /// More on it; `error_type` among it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_value")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// The error for a failed result: the code by its `error_type`, which also stands in `data`, beside the `details`
    /// and the extra fields.
    pub fn from_detail(detail: &ErrorDetail, profile: CodeProfile) -> Self {
        let mut data = detail.extra.clone();
        data.insert("error_type".to_owned(), detail.error_type.as_str().into());
        if let Some(details) = &detail.error_details {
            data.insert("details".to_owned(), details.clone());
        }
        Self::new(ErrorKind::of(&detail.error_type).code(profile), &detail.error_message).data(data)
    }

    /// The error of a result that this one tells of.
    pub fn to_detail(&self) -> ErrorDetail {
        let mut detail = ErrorDetail::new(ErrorKind::of_code(self.code).error_type(), &self.message);
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
            data => detail.details(data.unwrap_or_default()),
        }
    }

    pub(super) fn read(raw: &RawValue) -> Result<Self, Self> {
        serde_json::from_str(raw.get())
            .map_err(|_| invalid("`error` must be an object with an integer `code` and a string `message`"))
    }
}

/// The rejection of a message whose id could not be read.
impl From<RpcError> for Box<RpcRejection> {
    fn from(error: RpcError) -> Self {
        Self::new(RpcRejection { id: None, error, is_notification: false })
    }
}

fn some_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    read_value(deserializer).map(Some)
}
