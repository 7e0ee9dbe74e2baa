//! MCP's result of a call, and its conversion to and from the flat result.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::error::{ErrorDetail, ErrorType, MAX_DEPTH, Rule, ValidationError, Violations};
use crate::message::{
    Content, Entries, Status, Strictness, ToolResult, expect, read_blocks, serialize_with_extra, unwrapped, wrapped,
};
use crate::util::JsonObject;
use crate::util::text::prefix;

const FIELDS: [&str; 4] = ["content", "structuredContent", "isError", "_meta"];
/// A little more than for a flat result, since this one may contain a flat result.
const DEPTH: usize = MAX_DEPTH + 8;

/// MCP's result of `tools/call`: `{"content": […], "structuredContent": …, "isError": …}`.
///
/// It converts to and from [`ToolResult`] without loss: a field that the other type does not have is kept in `_meta` or
/// in the extra fields.
///
/// Unless the tool chose its own content, the conversion from [`ToolResult`] writes one text block:
///
/// - The data as JSON, or a string without quotes. MCP asks servers to repeat `structuredContent` as text. A text of
///   more than [`MAX_REPEATED`](Self::MAX_REPEATED) bytes is truncated, since it would double the size of a large
///   message; a note says that `structuredContent` is complete, and to ask for less.
///   [`without_structure`](Self::without_structure) does not truncate it.
/// - The type, message and details of an error. `_meta.error` has the `error_type` and `error_details` for programs,
///   but not the message. The text omits details that are already in the message: the faults of invalid arguments, and
///   the ID of a masked error.
/// - The explanation if there is no data, or else `done`: some clients reject a result without content.
///
/// ```
/// use mcp_core::ToolResult;
/// use mcp_core::mcp::CallToolResult;
/// use serde_json::json;
///
/// let flat = ToolResult::data(json!({ "sum": 3 })).explanation("added");
/// let mcp = CallToolResult::from(flat.clone());
/// assert_eq!(
///     mcp.to_value(),
///     json!({
///         "content": [{ "type": "text", "text": "{\"sum\":3}" }],
///         "structuredContent": { "sum": 3 },
///         "isError": false,
///         "_meta": { "explanation": "added" },
///     }),
/// );
/// assert_eq!(ToolResult::from(mcp), flat);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallToolResult {
    /// What the model sees.
    pub content: Vec<Content>,
    /// The data that the tool returned, for programs. In versions before 2026-07-28 it is an object.
    pub structured_content: Option<Value>,
    /// Whether the call failed; always written.
    pub is_error: bool,
    /// Metadata for programs.
    pub meta: JsonObject,
    /// Unknown fields, which are kept.
    pub extra: JsonObject,
}

impl CallToolResult {
    /// The maximum size of a text that repeats the structured content: 256 KiB.
    pub const MAX_REPEATED: usize = 256 * 1024;

    /// Creates the result for clients that do not know `structuredContent`, which MCP 2025-06-18 introduced. The text
    /// has all of the data, however large.
    pub fn without_structure(flat: ToolResult) -> Self {
        let has_none = flat.content.as_ref().is_none_or(Vec::is_empty);
        let full_content = has_none.then(|| default_content(&flat, usize::MAX));
        let result = Self::from(flat);
        Self { structured_content: None, content: full_content.unwrap_or(result.content), ..result }
    }

    fn read(entries: Entries, _: Strictness) -> Result<Self, ValidationError> {
        let (mut result, mut violations) = (Self::default(), Violations::default());
        let mut content = None;
        for (key, value) in entries {
            match (&*key, value) {
                ("content", value) => content = Some(value),
                ("structuredContent", value) => result.structured_content = Some(value),
                ("isError" | "_meta", Value::Null) => {}
                ("isError", value) => {
                    result.is_error = expect::boolean(value, "isError", &mut violations).unwrap_or_default();
                }
                ("_meta", value) => {
                    result.meta = expect::object(value, "_meta", &mut violations).unwrap_or_default();
                }
                (_, value) => _ = result.extra.insert(key.into_owned(), value),
            }
        }
        match content {
            Some(content) => result.content = read_blocks(content, "content", &mut violations).unwrap_or_default(),
            None => violations.add("content", Rule::Missing { expected: "an array of content blocks" }),
        }
        violations.finish(Some(result))
    }
}

message_api!(CallToolResult, "a result of `tools/call`");

impl Serialize for CallToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("content", &self.content)?;
        if let Some(structured) = &self.structured_content {
            map.serialize_entry("structuredContent", structured)?;
        }
        map.serialize_entry("isError", &self.is_error)?;
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        serialize_with_extra(map, &FIELDS, &self.extra)
    }
}

// The plain conversion, which applies to nearly every result:
//
//   data                        <->  structuredContent
//   content                     <->  content; absent in the flat form if it is the default text
//   status, error, explanation  <->  `_meta` of the same names, unless they follow from `isError` and `content`
//   everything else             <->  the same
//
// If it would not be reversible (for example, if an extra field has the name of a field of the other type), the
// complete result is put into `_meta`, under one of these keys.

/// In MCP's `_meta`: the original flat result.
const FLAT: &str = "toolResult";
/// In a flat `_meta`: the original MCP result.
const MCP: &str = "callToolResult";

impl From<ToolResult> for CallToolResult {
    fn from(flat: ToolResult) -> Self {
        if is_plain(&flat) {
            return from_plain(flat);
        }
        let original = |value: &Value| Self::from_value(value.clone()).ok();
        match flat.meta.get(MCP).and_then(original) {
            Some(mcp) if ToolResult::from(mcp.clone()) == flat => mcp,
            _ => {
                let meta = JsonObject::from_iter([(FLAT.to_owned(), json!(flat))]);
                Self { meta, extra: JsonObject::new(), ..from_plain(flat) }
            }
        }
    }
}

impl From<CallToolResult> for ToolResult {
    fn from(mcp: CallToolResult) -> Self {
        let original = |value: &Value| Self::from_value(value.clone()).ok();
        if let Some(flat) = mcp.meta.get(FLAT).and_then(original) {
            if !is_plain(&flat) && CallToolResult::from(flat.clone()) == mcp {
                return flat;
            }
        }
        if let Some(flat) = to_plain(mcp.clone()).filter(|flat| is_plain(flat) && from_plain(flat.clone()) == mcp) {
            return flat;
        }
        let meta = JsonObject::from_iter([(MCP.to_owned(), json!(mcp))]);
        let CallToolResult { content, structured_content, is_error, .. } = mcp;
        let (data, error) =
            if is_error { (None, Some(error_from_text(&content))) } else { (structured_content.map(wrapped), None) };
        Self { status: status_of(is_error), data, error, content: Some(content), meta, ..Self::default() }
    }
}

/// Whether no key of the result has a name that the plain conversion uses for something else.
fn is_plain(flat: &ToolResult) -> bool {
    let meta_is_free = |key: &String| !matches!(key.as_str(), "status" | "error" | "explanation" | FLAT | MCP);
    let extra_is_free = |key: &String| !FIELDS.contains(&key.as_str());
    flat.meta.keys().all(meta_is_free) && flat.extra.keys().all(extra_is_free)
}

fn from_plain(mut flat: ToolResult) -> CallToolResult {
    let is_error = flat.is_failure();
    let (content, is_default) = match flat.content.take() {
        Some(content) => {
            let is_default = is_error && content == default_content(&flat, CallToolResult::MAX_REPEATED);
            (content, is_default)
        }
        None => (default_content(&flat, CallToolResult::MAX_REPEATED), true),
    };
    let mut meta = flat.meta;
    if flat.status != status_of(is_error) {
        meta.insert("status".into(), flat.status.as_str().into());
    }
    if let Some(error) = flat.error.filter(|error| !is_error || *error != error_from_text(&content)) {
        let mut error = json!(error);
        if let Value::Object(fields) = &mut error {
            fields.retain(|key, value| match key.as_str() {
                "error_message" => !(is_error && is_default),
                "error_details" => !value.is_null(),
                _ => true,
            });
        }
        meta.insert("error".into(), error);
    }
    if let Some(explanation) = flat.explanation {
        meta.insert("explanation".into(), explanation.into());
    }
    CallToolResult { content, structured_content: flat.data, is_error, meta, extra: flat.extra }
}

/// The inverse of [`from_plain`]; `None` if there is none.
fn to_plain(mcp: CallToolResult) -> Option<ToolResult> {
    let CallToolResult { content, structured_content: data, is_error, mut meta, extra } = mcp;
    if data.as_ref().is_some_and(|data| !data.is_object()) {
        return None;
    }
    let text = |value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    let status = match meta.shift_remove("status") {
        Some(status) => Status::from(text(status)?),
        None => status_of(is_error),
    };
    let error = match meta.shift_remove("error") {
        Some(mut error) => {
            if let Value::Object(fields) = &mut error {
                if !fields.contains_key("error_message") {
                    let message = message_from_text(&content, fields)?;
                    fields.insert("error_message".into(), message.into());
                }
            }
            Some(ErrorDetail::from_value(error).ok()?)
        }
        None if is_error => Some(error_from_text(&content)),
        None => None,
    };
    let explanation = match meta.shift_remove("explanation") {
        Some(explanation) => Some(text(explanation)?),
        None => None,
    };
    let mut flat = ToolResult { status, data, error, explanation, content: None, meta, extra };
    if content != default_content(&flat, CallToolResult::MAX_REPEATED) {
        flat.content = Some(content);
    }
    flat.validate().is_ok().then_some(flat)
}

fn status_of(is_error: bool) -> Status {
    if is_error { Status::Failure } else { Status::Success }
}

/// The content if the tool does not set it: the error, the data (up to `limit` bytes), or the explanation.
fn default_content(flat: &ToolResult, limit: usize) -> Vec<Content> {
    let text = match flat {
        ToolResult { error: Some(error), .. } if flat.is_failure() => Some(error_text(error)),
        ToolResult { data: Some(data), .. } => Some(match unwrapped(data) {
            Some(Value::String(text)) => repeated(text, limit),
            Some(value) => repeated(&value.to_string(), limit),
            None => repeated(&data.to_string(), limit),
        }),
        ToolResult { explanation: Some(explanation), .. } => Some(explanation.clone()),
        ToolResult { status, .. } if !status.is_failure() => {
            Some(if *status == Status::Success { "done" } else { status.as_str() }.to_owned())
        }
        _ => None,
    };
    text.map(Content::text).into_iter().collect()
}

/// The text that repeats the structured content. A long one is truncated, with a note.
pub fn repeated(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (start, size) = (prefix(text, limit), text.len());
    format!(
        "{start}…\n(shortened from {size} bytes: the whole result is in structuredContent; to read all of it here, ask for \
         less)"
    )
}

fn error_text(error: &ErrorDetail) -> String {
    let ErrorDetail { error_type, error_message, error_details, .. } = error;
    format!("{error_type}: {error_message}{}", details_text(error_message, error_details.as_ref()))
}

/// The details of an error, which follow its message in the text; empty if the message includes them.
fn details_text(message: &str, details: Option<&Value>) -> String {
    // With other characters in the ID, `message_from_text` could not separate the message from the details.
    let is_plain = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_in_message = |id: &Value| id.as_str().is_some_and(|id| is_plain(id) && message.ends_with(id));
    match details {
        None | Some(Value::Null) => String::new(),
        Some(Value::Object(details)) if details.get("kind").is_some_and(|kind| kind == "SchemaError") => String::new(),
        Some(Value::Object(details))
            if details.len() == 1 && details.get("correlation_id").is_some_and(is_in_message) =>
        {
            String::new()
        }
        Some(Value::String(details)) => format!("\n{details}"),
        Some(details) => format!("\n{details}"),
    }
}

/// Extracts the message from the text that [`error_text`] created, given the other fields of the error.
fn message_from_text(content: &[Content], error: &JsonObject) -> Option<String> {
    let [Content::Text { text, .. }] = content else { return None };
    let error_type = error.get("error_type")?.as_str()?;
    let message = text.strip_prefix(error_type)?.strip_prefix(": ")?;
    message.strip_suffix(&details_text(message, error.get("error_details"))).map(str::to_owned)
}

/// Creates the error of a failed result from its text blocks.
pub(super) fn error_from_text(content: &[Content]) -> ErrorDetail {
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    let message = if texts.is_empty() { "the tool failed and did not say why".to_owned() } else { texts.join("\n") };
    ErrorDetail::new(ErrorType::TOOL_EXECUTION_ERROR, message)
}
