//! Calls with their results, each checked before it is shown.

use std::time::Duration;

use mcp_core::entry::Timeout;
use mcp_core::error::{SchemaError, TimeoutError};
use mcp_core::message::JsonObject;
use mcp_core::support::Fence;
use mcp_core::{Error, ToolCall, ToolResult, TrustLevel};
use serde_json::{Value, json};

use super::{Examples, Specification, SpecificationError};
use crate::catalog::definition::DEFAULT_TIMEOUT;
use crate::catalog::notices::{add_notices, refused};
use crate::catalog::tool::RegisteredTool;
use crate::validate::Checks;

/// The time limit of a tool, as far as it is known without its registry; `None` if it cannot be stopped.
pub(super) fn time_limit(tool: &RegisteredTool) -> Option<Duration> {
    match tool.timeout() {
        Some(Timeout::Never) => None,
        _ if tool.is_inline() => None,
        Some(Timeout::After(limit)) => Some(limit),
        None => Some(DEFAULT_TIMEOUT),
    }
}

impl Examples {
    /// The examples, with the result that the tool's docs have, if it fits.
    pub(super) fn new(tool: &RegisteredTool, documented: Option<ToolResult>) -> Self {
        let checks = Checks::new(tool.clone());
        let call = arguments(tool, &checks).map(|arguments| ToolCall::new(tool.name(), arguments));
        let result = documented.or_else(|| tool.sample_result().map(ToolResult::data));
        let is_only_form = result.is_none();
        let mut success = result.unwrap_or_else(ToolResult::success);
        add_notices(&mut success.meta, &tool.notices(tool.name()));
        let rejected = tool
            .invalid_arguments()
            .filter(|arguments| arguments.is_object() && checks.check_call(&arguments.to_string()).is_err());
        let refusal = tool.refusal(TrustLevel::default());
        let failing = rejected.map(|arguments| ToolCall::new(tool.name(), arguments)).or_else(|| call.clone());
        let failure = |name: &str| {
            let arguments = failing.as_ref()?.arguments.to_string();
            let error = match checks.check_call(&arguments) {
                Err(Error::Schema(error)) => SchemaError::new(name, error.faults).omitted(error.omitted).into(),
                Err(error) => error,
                Ok(()) => match &refusal {
                    Some(reason) => refused(name, TrustLevel::default(), reason).into(),
                    None => TimeoutError::new(name, time_limit(tool)?).into(),
                },
            };
            Some(ToolResult::from(error))
        };
        // Errors have the name by which a tool was called.
        let (flat, wire_failure) = (failure(tool.name()), failure(tool.wire_name()));
        Self { call, success, is_only_form, failure: failing.zip(flat), wire_failure }
    }
}

/// Arguments that the tool accepts: the required ones, and those that have an example.
fn arguments(tool: &RegisteredTool, checks: &Checks<RegisteredTool>) -> Option<Value> {
    let fits = |arguments: &JsonObject| checks.check_call(&json!(arguments).to_string()).is_ok();
    let sample = tool.sample_arguments().and_then(|sample| sample.as_object().cloned());
    let mut left = sample.clone().unwrap_or_default();
    let properties = tool.input_schema().get("properties").and_then(Value::as_object);
    // In the order of the parameters.
    let mut ordered = JsonObject::new();
    for (name, schema) in properties.into_iter().flatten() {
        let sample = left.remove(name);
        let example = schema.get("examples").and_then(|examples| examples.get(0)).cloned();
        ordered.extend(example.or(sample).map(|value| (name.clone(), value)));
    }
    ordered.extend(left);
    // If the examples do not fit together, the sample fits by itself.
    [Some(ordered), sample].into_iter().flatten().find(fits).map(Value::from)
}

/// The result in the first `json` block under `# Examples`: the data, what the function returns, or a flat message.
pub(super) fn documented_result(tool: &RegisteredTool) -> Result<Option<ToolResult>, SpecificationError> {
    let Some(block) = tool.section("Examples").and_then(json_block) else { return Ok(None) };
    let wrong = |reason: String| {
        let (tool_name, origin) = (tool.name().to_owned(), tool.origin());
        SpecificationError { tool: tool_name, place: format!("{}:{}", origin.file, origin.line), reason }
    };
    let value: Value = serde_json::from_str(&block).map_err(|error| wrong(format!("is not JSON: {error}")))?;
    let has_schema = tool.output_schema().is_some();
    let faults = |data: &Value| tool.result_faults(&data.to_string());
    let fits = |data: &Value| has_schema && faults(data).is_empty();
    let wrapped = json!({ "result": value });
    let result = if fits(&value) {
        ToolResult::data(value)
    } else if tool.wraps_output() && fits(&wrapped) {
        ToolResult::data(wrapped)
    } else if value.get("status").is_some() {
        ToolResult::from_value(value).map_err(|error| wrong(format!("is not the result of a call: {error}")))?
    } else {
        ToolResult::data(value)
    };
    if result.is_failure() {
        return Err(wrong("is a failure; show a success".to_owned()));
    }
    let faults = faults(result.data.as_ref().unwrap_or(&Value::Null));
    if has_schema && !faults.is_empty() {
        let faults: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
        return Err(wrong(format!("does not fit the output schema: {}", faults.join("; "))));
    }
    Ok(Some(result))
}

/// The first `json` block of a text.
fn json_block(text: &str) -> Option<String> {
    let (mut fence, mut block) = (None, None::<Vec<&str>>);
    for line in text.lines() {
        let before = fence;
        fence = Fence::after(before, line.as_bytes());
        match &mut block {
            None if before.is_none() && line.trim().trim_start_matches(['`', '~']).trim() == "json" => {
                block = fence.map(|_| Vec::new());
            }
            None => {}
            Some(_) if fence.is_none() => break,
            Some(lines) => lines.push(line),
        }
    }
    block.map(|lines| lines.join("\n"))
}

impl Specification {
    /// The example call as the command line of a program that uses `mcp_registry::cli`, for a POSIX shell; `None` if there
    /// is no example call.
    pub fn command_line(&self, program: &str) -> Option<String> {
        let call = self.examples.call.as_ref()?;
        let arguments = call.arguments.as_object()?;
        let is_plain = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
        };
        let mut words = vec![quoted(program), "call".to_owned(), self.name.clone()];
        if arguments.keys().all(|name| is_plain(name)) {
            words.extend(arguments.iter().map(|(name, value)| self.pair(name, value)));
        } else {
            words.push(quoted(&call.arguments.to_string()));
        }
        if self.hints.destructive == Some(true) {
            words.push("--trust trusted".to_owned());
        }
        Some(words.join(" "))
    }

    /// An argument as `key=value`, if its only type says how the value is read; otherwise as `key:=json`.
    fn pair(&self, name: &str, value: &Value) -> String {
        let only_type = self.input_schema["properties"][name]["type"].as_str();
        match (only_type, value) {
            (Some("string"), Value::String(text)) if !text.contains(char::is_control) => {
                format!("{name}={}", quoted(text))
            }
            (Some("integer" | "number" | "boolean" | "array" | "object"), value) if !value.is_string() => {
                format!("{name}={}", quoted(&value.to_string()))
            }
            _ => format!("{name}:={}", quoted(&value.to_string())),
        }
    }
}

/// A word for a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@%+=:,./-".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
