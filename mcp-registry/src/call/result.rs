//! Turns what a tool returned into a result, as a value or as bytes.

use std::borrow::Cow;
use std::io;

use mcp_core::error::{ResultTooLargeError, SerializationError};
use mcp_core::message::JsonObject;
use mcp_core::output::Returned;
use mcp_core::support::shortened;
use mcp_core::{Error, ToolError, ToolResult};
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::request::CalledTool;
use crate::call::settings::Settings;
use crate::catalog::notices::{Notice, add_notices};
use crate::catalog::tool::RegisteredTool;
use crate::util::json::from_bytes;
use crate::util::panic::guard;

/// Common names of arguments that limit the size of a result.
const AMOUNTS: [&str; 14] = [
    "limit",
    "max_items",
    "max_results",
    "max_rows",
    "max_lines",
    "max_bytes",
    "max_length",
    "page_size",
    "per_page",
    "top_k",
    "count",
    "first",
    "num_results",
    "size",
];

/// Writes results in a message format. The tool itself writes its value to the buffer, as JSON.
pub(crate) trait ResultWriter {
    /// Writes what comes before the value. If `wraps` is set, the value becomes `{"result": value}`.
    fn before(&self, wraps: bool, out: &mut Vec<u8>);

    /// Writes what comes after the value, which begins at `value`. A value that is not an object is wrapped, too.
    fn after(&self, wraps: bool, value: usize, notices: &[Notice], out: &mut Vec<u8>);

    /// Whether results are returned as values instead of being written.
    fn makes_values(&self) -> bool {
        false
    }
}

/// The result of a call.
pub(crate) enum Answer {
    /// A value that was written to the buffer.
    Written,
    /// A result that was not written.
    Result(Box<ToolResult>),
}

impl Answer {
    /// The result of a call with a [`ValueWriter`], which writes nothing.
    pub(crate) fn into_result(self) -> ToolResult {
        match self {
            Self::Written => ToolResult::success(),
            Self::Result(result) => *result,
        }
    }

    /// The result, unless it was written.
    pub(crate) fn as_result(&mut self) -> Option<&mut ToolResult> {
        match self {
            Self::Written => None,
            Self::Result(result) => Some(result),
        }
    }
}

/// Checks what a tool returned against its size limit, and against the output schema if that is configured. A value is
/// already in the buffer, after what [`ResultWriter::before`] wrote; this writes what comes after it.
#[inline]
pub(crate) fn complete(
    settings: &Settings,
    called: CalledTool<'_>,
    returned: Returned,
    notices: &[Notice],
    writer: &impl ResultWriter,
    (value, out): (usize, &mut Vec<u8>),
) -> Result<Answer, Error> {
    let plan = called.tool.plan(settings);
    let mut result = match returned {
        Returned::Json => {
            let json = out.get(value..).unwrap_or_default();
            check_size(called, json.len(), plan.max_result)?;
            if called.tool.checks_output(plan) {
                called.tool.check_data(called.name, &data_text(plan.wraps, json))?;
            }
            if !writer.makes_values() {
                writer.after(plan.wraps, value, notices, out);
                return Ok(Answer::Written);
            }
            let mut result = Box::new(ToolResult::data(data(called, plan.wraps, json)?));
            add_notices(&mut result.meta, notices);
            return Ok(Answer::Result(result));
        }
        // Some clients reject a result without content.
        Returned::Content(blocks) if blocks.is_empty() => Box::new(ToolResult::success()),
        Returned::Content(blocks) => {
            check_size(called, json_size(&blocks)?, plan.max_result)?;
            Box::new(ToolResult::success().content(blocks))
        }
        Returned::Result(mut result) => {
            shorten_error(&mut result);
            check_size(called, result_size(&result, plan.wraps)?, plan.max_result)?;
            result
        }
        Returned::Nothing => Box::new(ToolResult::success()),
    };
    if !result.is_failure() && called.tool.checks_output(plan) {
        called.tool.check_result_as(called.name, &result)?;
    }
    add_notices(&mut result.meta, notices);
    Ok(Answer::Result(result))
}

/// Shortens the texts of a failure, as those of an error are, so that its size does not hide them.
fn shorten_error(result: &mut ToolResult) {
    result.error = result.error.take().map(|error| ToolError::from(error).shortened().into());
    let is_failure = result.is_failure();
    if let Some(text) = result.explanation.as_mut().filter(|_| is_failure) {
        if let Cow::Owned(short) = shortened(text, ToolError::MAX_TEXT) {
            *text = short;
        }
    }
}

/// Turns the value that a tool returned into the data of a result.
fn data(called: CalledTool<'_>, wraps: bool, json: &[u8]) -> Result<Value, Error> {
    let value: Value =
        from_bytes(json).map_err(|error| SerializationError::new(format!("what `{}` returned", called.name), error))?;
    Ok(if wraps || !value.is_object() { json!({ "result": value }) } else { value })
}

#[inline]
fn check_size(called: CalledTool<'_>, size: usize, limit: usize) -> Result<(), Error> {
    if size <= limit { Ok(()) } else { Err(too_large(called, size, limit)) }
}

fn too_large(called: CalledTool<'_>, size: usize, limit: usize) -> Error {
    let error = ResultTooLargeError::new(called.name, size, limit);
    match amount_argument(called.tool) {
        Some(argument) => error.argument(argument),
        None => error,
    }
    .into()
}

/// The argument that limits the size of a result, if there is one.
fn amount_argument(tool: &RegisteredTool) -> Option<&str> {
    // The schema of a user's type may panic.
    let properties = guard(|| tool.input_schema().get("properties")).ok().flatten()?.as_object()?;
    let is_amount = |name: &str, schema: &Value| AMOUNTS.contains(&name) && is_integer(schema);
    properties.iter().find(|(name, schema)| is_amount(name, schema)).map(|(name, _)| name.as_str())
}

fn is_integer(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == "integer"),
        kind => kind.is_some_and(|kind| kind == "integer"),
    }
}

/// The size of a result as JSON, in bytes. One that is only data counts as the value that the tool returned, so that a layer
/// makes no difference.
fn result_size(result: &ToolResult, wraps: bool) -> Result<usize, Error> {
    let ToolResult { data, error: None, explanation: None, content: None, meta, extra, .. } = result else {
        return json_size(result);
    };
    match data {
        Some(data) if meta.is_empty() && extra.is_empty() => {
            json_size(data.get("result").filter(|_| wraps || is_wrapped(data)).unwrap_or(data))
        }
        _ => json_size(result),
    }
}

/// Whether the data is `{"result": value}`, and the value is not an object.
fn is_wrapped(data: &Value) -> bool {
    data.as_object().is_some_and(|object| object.len() == 1 && object.get("result").is_some_and(|it| !it.is_object()))
}

/// The size of a value as JSON, in bytes.
fn json_size(value: &impl Serialize) -> Result<usize, Error> {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_err(|error| SerializationError::new("the result", error))?;
    Ok(count.0)
}

/// The data of a result, as JSON.
fn data_text(wraps: bool, json: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(json);
    if wraps || !text.starts_with('{') { format!("{{\"result\":{text}}}").into() } else { text }
}

/// Wraps a value that is not an object, unless [`ResultWriter::before`] has already done so. Returns whether the value
/// is wrapped.
pub(crate) fn wrap_value(wraps: bool, value: usize, out: &mut Vec<u8>) -> bool {
    let must_wrap = !wraps && out.get(value) != Some(&b'{');
    if must_wrap {
        out.splice(value..value, WRAPPER.iter().copied());
    }
    wraps || must_wrap
}

/// The beginning of `{"result": value}`.
pub(crate) const WRAPPER: &[u8] = br#"{"result":"#;

/// Writes the flat result.
pub(crate) struct FlatWriter;

impl ResultWriter for FlatWriter {
    #[inline]
    fn before(&self, wraps: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(if wraps {
            br#"{"status":"success","data":{"result":"#
        } else {
            br#"{"status":"success","data":"#
        });
    }

    #[inline]
    fn after(&self, wraps: bool, value: usize, notices: &[Notice], out: &mut Vec<u8>) {
        let is_wrapped = wrap_value(wraps, value, out);
        out.extend_from_slice(if is_wrapped {
            br#"},"error":null,"explanation":null"#
        } else {
            br#","error":null,"explanation":null"#
        });
        if !notices.is_empty() {
            let mut meta = JsonObject::new();
            add_notices(&mut meta, notices);
            append_meta(&meta, out);
        }
        out.push(b'}');
    }
}

/// Appends the member `_meta`.
pub(crate) fn append_meta(meta: &JsonObject, out: &mut Vec<u8>) {
    out.extend_from_slice(br#","_meta":"#);
    // A JSON object can always be written to a buffer.
    let _ = serde_json::to_writer(out, meta);
}

/// Writes only the data of a result.
pub(crate) struct DataWriter;

impl ResultWriter for DataWriter {
    fn before(&self, wraps: bool, out: &mut Vec<u8>) {
        if wraps {
            out.extend_from_slice(WRAPPER);
        }
    }

    fn after(&self, wraps: bool, value: usize, _: &[Notice], out: &mut Vec<u8>) {
        if wrap_value(wraps, value, out) {
            out.push(b'}');
        }
    }
}

/// Writes nothing: results are returned as values.
pub(crate) struct ValueWriter;

impl ResultWriter for ValueWriter {
    fn before(&self, _: bool, _: &mut Vec<u8>) {}

    fn after(&self, _: bool, _: usize, _: &[Notice], _: &mut Vec<u8>) {}

    fn makes_values(&self) -> bool {
        true
    }
}

/// Appends a result as JSON.
pub(crate) fn write_result(result: &ToolResult, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    serde_json::to_writer(&mut *out, result).map_err(|error| {
        out.truncate(start);
        SerializationError::new("the result", error).into()
    })
}
