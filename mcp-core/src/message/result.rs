//! The result of a call.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::content::{self, Content};
use super::{Entries, JsonObject, Status, Strictness, check_extra, expect, kind_of, serialize_with_extra};
use crate::error::{Error, ErrorDetail, MAX_DEPTH, Rule, SerializationError, ValidationError, Violations};

/// The fields of the flat message, then two extra fields.
const FIELDS: [&str; 6] = ["status", "data", "error", "explanation", "content", "_meta"];
const DEPTH: usize = MAX_DEPTH;
const MESSAGE: &str = "a tool result";

/// The result of a call: `{"status": …, "data": …, "error": …, "explanation": …}`.
///
/// The four fields are always written, as null if they are empty. A failure has an error and no data.
///
/// ```
/// use mcp_core::{ErrorType, ToolError, ToolResult};
/// use serde_json::json;
///
/// let done = ToolResult::data(json!({ "orders": [4, 8, 15] })).text("3 orders");
/// assert_eq!(done.data.unwrap()["orders"][1], 8);
///
/// let failed = ToolResult::failure(ToolError::new(ErrorType::TIMEOUT_ERROR, "the shop did not answer"));
/// assert!(failed.is_failure() && failed.validate().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// How the call ended.
    pub status: Status,
    /// What the tool returned: an object, as in the tool's output schema; `None` for a failure.
    pub data: Option<Value>,
    /// The error of a failure.
    pub error: Option<ErrorDetail>,
    /// An explanation for people.
    pub explanation: Option<String>,
    /// What the model sees instead of the data as JSON: text, images, resources. An extra field, `content`.
    pub content: Option<Vec<Content>>,
    /// Metadata for programs. An extra field, `_meta`, which is omitted if this is empty.
    pub meta: JsonObject,
    /// Unknown fields, which are kept.
    pub extra: JsonObject,
}

impl ToolResult {
    /// Creates a success without data.
    pub fn success() -> Self {
        Self::default()
    }

    /// Creates a success with data. A value that is not an object becomes `{"result": value}`. If the value cannot be
    /// serialized, the result is a failure.
    pub fn data(data: impl Serialize) -> Self {
        match serde_json::to_value(data) {
            Ok(data) => Self { data: Some(content::wrapped(data)), ..Self::default() },
            Err(error) => Self::failure(Error::from(SerializationError::new("the data of the result", error))),
        }
    }

    /// Creates a failure.
    pub fn failure(error: impl Into<ErrorDetail>) -> Self {
        Self { status: Status::Failure, error: Some(error.into()), ..Self::default() }
    }

    /// Creates a result for a call that had nothing to do.
    pub fn no_change_needed() -> Self {
        Self::success().status(Status::NoChangeNeeded)
    }

    /// Creates a result for a call that succeeded in part, with the data that there is.
    pub fn partial_success(data: impl Serialize) -> Self {
        let result = Self::data(data);
        if result.is_failure() { result } else { result.status(Status::PartialSuccess) }
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: impl Into<Status>) -> Self {
        self.status = status.into();
        self
    }

    /// Sets the explanation for people.
    #[must_use]
    pub fn explanation(mut self, explanation: impl Into<String>) -> Self {
        self.explanation = Some(explanation.into());
        self
    }

    /// Sets a text that the model sees instead of the data as JSON.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.content([Content::text(text)])
    }

    /// Sets content blocks that the model sees instead of the data as JSON.
    #[must_use]
    pub fn content(mut self, blocks: impl IntoIterator<Item = Content>) -> Self {
        self.content = Some(blocks.into_iter().collect());
        self
    }

    /// Adds metadata for programs.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Returns whether the status is a failure.
    pub fn is_failure(&self) -> bool {
        self.status.is_failure()
    }

    fn read_fields(entries: Entries, strictness: Strictness, violations: &mut Violations) -> Self {
        let mut result = Self::default();
        let mut status = None;
        for (key, value) in entries {
            match (&*key, value) {
                ("status", value) => status = Some(value),
                ("content" | "_meta", _) if strictness == Strictness::Strict => {
                    violations.add(key, Rule::Unknown { message: MESSAGE });
                }
                ("data" | "error" | "explanation" | "content" | "_meta", Value::Null) => {}
                ("data", value) => result.data = Some(value),
                ("error", value) => result.error = ErrorDetail::read_at("error", value, violations),
                ("explanation", value) => result.explanation = expect::string(value, "explanation", violations),
                ("content", value) => result.content = content::read_blocks(value, "content", violations),
                ("_meta", value) => result.meta = expect::object(value, "_meta", violations).unwrap_or_default(),
                (_, value) => _ = result.extra.insert(key.into_owned(), value),
            }
        }
        if let Some(status) = expect::required_string(status, "status", violations) {
            result.status = Status::from(status);
        }
        result
    }

    fn check(&self, strictness: Strictness, violations: &mut Violations) {
        if strictness == Strictness::Strict && !self.status.is_standard() {
            violations.add("status", Rule::Status);
        }
        match &self.data {
            None | Some(Value::Null) => {}
            Some(_) if self.is_failure() => violations.add("data", Rule::DataOnFailure),
            Some(data) if !data.is_object() => {
                violations.add("data", Rule::Type { expected: "an object or null", got: kind_of(data) });
            }
            _ => {}
        }
        match &self.error {
            Some(error) => error.check_at("error", strictness, violations),
            None if self.is_failure() => violations.add("error", Rule::ErrorOnFailure),
            None => {}
        }
        for (index, block) in self.content.iter().flatten().enumerate() {
            block.check(&format!("content[{index}]"), violations);
        }
        check_extra("", MESSAGE, &FIELDS, self.extra.keys(), strictness, violations);
        for (key, is_present) in [("content", self.content.is_some()), ("_meta", !self.meta.is_empty())] {
            if is_present && strictness == Strictness::Strict {
                violations.add(key, Rule::Unknown { message: MESSAGE });
            }
        }
    }
}

impl From<Error> for ToolResult {
    fn from(error: Error) -> Self {
        Self::failure(error)
    }
}

message_api!(ToolResult, "a tool result");
message_rules!(ToolResult);

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("data", &self.data)?;
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("explanation", &self.explanation)?;
        if let Some(content) = &self.content {
            map.serialize_entry("content", content)?;
        }
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        serialize_with_extra(map, &FIELDS, &self.extra)
    }
}
