//! What a tool left behind → a result, as a value or as bytes.

use mcp_core::{Error, ErrorType, JsonObject, Returned, SerializationError, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::observe::Notice;
use crate::settings::Settings;
use crate::tool::RegisteredTool;
use crate::validate;

/// The key under which a result's `_meta` has what is worth knowing of how the tool was called.
pub(crate) const NOTICES: &str = "mcp-registry/notices";

/// What a tool left behind, as a result; held against the output schema if the registry does so.
pub(crate) fn result_of(
    settings: &Settings,
    tool: &RegisteredTool,
    returned: Returned,
    json: &[u8],
) -> Result<ToolResult, Error> {
    let result = match returned {
        Returned::Json => {
            let value: Value = serde_json::from_slice(json)
                .map_err(|error| SerializationError::new(format!("what `{}` returned", tool.name()), error))?;
            if tool.wraps_output() { ToolResult::data(json!({ "result": value })) } else { ToolResult::data(value) }
        }
        Returned::Content(blocks) => ToolResult::success().content(blocks),
        Returned::Result(result) => *result,
        Returned::Nothing => ToolResult::success(),
    };
    check_output(settings, tool, &result)?;
    Ok(result)
}

fn check_output(settings: &Settings, tool: &RegisteredTool, result: &ToolResult) -> Result<(), Error> {
    if result.is_failure() || !settings.output_check.applies() || tool.output_schema().is_none() {
        return Ok(());
    }
    let faults = validate::output_faults(tool, result.data.as_ref().unwrap_or(&Value::Null)).faults;
    if faults.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = faults.iter().map(|fault| format!("`{}`: {}", fault.path, fault.message)).collect();
    let message = format!(
        "`{}` returned what its output schema does not allow: {}; this is a mistake in the tool, tell its author",
        tool.name(),
        told.join("; ")
    );
    let details = json!({ "tool": tool.name(), "faults": faults });
    Err(ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).details(details).into())
}

/// Says in a result what is worth knowing of how the tool was called.
pub(crate) fn add_notices(meta: &mut JsonObject, notices: &[Notice]) {
    if !notices.is_empty() {
        meta.insert(NOTICES.to_owned(), notices.iter().map(Notice::to_json).collect());
    }
}

/// Before a value that is an object, or one that is wrapped into one.
pub(crate) const fn flat_prefix(wraps: bool) -> &'static [u8] {
    if wraps { br#"{"status":"success","data":{"result":"# } else { br#"{"status":"success","data":"# }
}

/// Behind such a value.
pub(crate) const fn flat_suffix(wraps: bool) -> &'static [u8] {
    if wraps { br#"},"error":null,"explanation":null}"# } else { br#","error":null,"explanation":null}"# }
}

/// Makes the flat result of what a tool left behind the start of the buffer.
pub(crate) fn write_flat(
    settings: &Settings,
    tool: &RegisteredTool,
    returned: Returned,
    notices: &[Notice],
    out: &mut Vec<u8>,
    start: usize,
) -> Result<(), Error> {
    let wraps = tool.wraps_output() || out.get(start) != Some(&b'{');
    if matches!(returned, Returned::Json) && notices.is_empty() && !settings.output_check.applies() {
        out.splice(start..start, flat_prefix(wraps).iter().copied());
        out.extend_from_slice(flat_suffix(wraps));
        return Ok(());
    }
    let json = out.split_off(start);
    let mut result = result_of(settings, tool, returned, &json)?;
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
