//! What a tool left behind → a result, as a value or as bytes.

use std::io;

use mcp_core::error::{ResultTooLargeError, SerializationError};
use mcp_core::message::JsonObject;
use mcp_core::output::Returned;
use mcp_core::{Error, ErrorType, ToolError, ToolResult};
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::CalledTool;
use crate::call::observe::Notice;
use crate::call::settings::Settings;
use crate::catalog::tool::RegisteredTool;
use crate::util::panic::guard;

/// The key of the notices in a result's `_meta`.
pub(crate) const NOTICES: &str = "mcp-registry/notices";

/// Names of arguments that limit how much is returned.
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

/// What a tool returned, as a result; checked against its size limit, and against the output schema if that is configured.
pub(crate) fn to_result(
    settings: &Settings,
    called: CalledTool<'_>,
    returned: Returned,
    json: &[u8],
) -> Result<ToolResult, Error> {
    let tool = called.tool;
    check_size(settings, called, &returned, json)?;
    let result = match returned {
        Returned::Json => {
            let value: Value = serde_json::from_slice(json)
                .map_err(|error| SerializationError::new(format!("what `{}` returned", called.name), error))?;
            if tool.wraps_output() { ToolResult::data(json!({ "result": value })) } else { ToolResult::data(value) }
        }
        // Some clients reject a result without content.
        Returned::Content(blocks) if blocks.is_empty() => ToolResult::success(),
        Returned::Content(blocks) => ToolResult::success().content(blocks),
        Returned::Result(result) => *result,
        Returned::Nothing => ToolResult::success(),
    };
    check_output(settings, called, &result)?;
    Ok(result)
}

fn check_size(settings: &Settings, called: CalledTool<'_>, returned: &Returned, json: &[u8]) -> Result<(), Error> {
    let size = match returned {
        Returned::Json => json.len(),
        Returned::Nothing => 0,
        Returned::Content(blocks) => json_size(blocks)?,
        Returned::Result(result) => json_size(result)?,
    };
    let limit = settings.max_result(called.tool);
    if size <= limit {
        return Ok(());
    }
    let error = ResultTooLargeError::new(called.name, size, limit);
    Err(match amount_argument(called.tool) {
        Some(argument) => error.argument(argument),
        None => error,
    }
    .into())
}

/// The argument that limits how much is returned, if there is one.
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

fn check_output(settings: &Settings, called: CalledTool<'_>, result: &ToolResult) -> Result<(), Error> {
    let CalledTool { tool, name } = called;
    if result.is_failure() || !settings.output_check.applies() || tool.output_schema().is_none() {
        return Ok(());
    }
    let faults = tool.checks().output_faults(result.data.as_ref().unwrap_or(&Value::Null)).faults;
    if faults.is_empty() {
        return Ok(());
    }
    let faults_text: Vec<String> = faults.iter().map(|fault| format!("`{}`: {}", fault.path, fault.message)).collect();
    let message = format!(
        "`{name}` returned what its output schema does not allow: {}; this is a mistake in the tool, tell its author",
        faults_text.join("; ")
    );
    let details = json!({ "tool": name, "faults": faults });
    Err(ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).details(details).into())
}

/// Adds the notices to the `_meta` of a result.
pub(crate) fn add_notices(meta: &mut JsonObject, notices: &[Notice]) {
    if !notices.is_empty() {
        meta.insert(NOTICES.to_owned(), notices.iter().map(Notice::to_json).collect());
    }
}

/// The flat result before the value.
pub(crate) const fn flat_prefix(wraps: bool) -> &'static [u8] {
    if wraps { br#"{"status":"success","data":{"result":"# } else { br#"{"status":"success","data":"# }
}

/// The flat result after the value.
pub(crate) const fn flat_suffix(wraps: bool) -> &'static [u8] {
    if wraps { br#"},"error":null,"explanation":null}"# } else { br#","error":null,"explanation":null}"# }
}

/// Turns what a tool returned, which is in the buffer from `start` on, into the flat result.
pub(crate) fn write_flat(
    settings: &Settings,
    called: CalledTool<'_>,
    returned: Returned,
    notices: &[Notice],
    out: &mut Vec<u8>,
    start: usize,
) -> Result<(), Error> {
    let wraps = called.tool.wraps_output() || out.get(start) != Some(&b'{');
    let fits = out.len().saturating_sub(start) <= settings.max_result(called.tool);
    if matches!(returned, Returned::Json) && fits && notices.is_empty() && !settings.output_check.applies() {
        out.splice(start..start, flat_prefix(wraps).iter().copied());
        out.extend_from_slice(flat_suffix(wraps));
        return Ok(());
    }
    let json = out.split_off(start);
    let mut result = to_result(settings, called, returned, &json)?;
    add_notices(&mut result.meta, notices);
    write_result(&result, out)
}

/// Appends a result as JSON.
pub(crate) fn write_result(result: &ToolResult, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    serde_json::to_writer(&mut *out, result).map_err(|error| {
        out.truncate(start);
        SerializationError::new("the result", error).into()
    })
}
