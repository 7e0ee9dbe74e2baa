//! The errors that a registry can return for a tool, whatever the tool does.

use mcp_core::entry::Timeout;
use mcp_core::error::{ErrorKind, ResultTooLargeError, TimeoutError};
use mcp_core::{Error, ErrorDetail, ErrorType, TrustLevel};
use serde_json::{Value, json};

use super::examples::time_limit;
use super::{Examples, RegistryError};
use crate::catalog::definition::DEFAULT_MAX_RESULT;
use crate::catalog::notices::refused;
use crate::catalog::tool::RegisteredTool;

/// The errors of a tool, in the order in which a call can run into them.
pub(super) fn of(tool: &RegisteredTool, examples: &Examples) -> Vec<RegistryError> {
    let name = tool.name();
    let mut errors = Vec::new();
    let mut add = |error_type: ErrorType, condition: &str, details: Option<Value>| {
        errors.push(RegistryError { error_type, condition: condition.to_owned(), details });
    };
    let trust = TrustLevel::default();
    if let Some(reason) = tool.refusal(trust) {
        let detail = ErrorDetail::from(Error::from(refused(name, trust, &reason)));
        let condition = "The caller is not trusted, and the tool is destructive.";
        add(detail.error_type, condition, detail.error_details);
    }
    let condition =
        "Too many calls: the program limits their rate, or earlier ones are still running past their time limit.";
    let details = json!({ "tool": name, "retry_after_seconds": 1.5 });
    add(ErrorType::API_LIMIT_EXCEEDED, condition, Some(details));
    let rejection = examples.failure.as_ref().and_then(|(_, result)| result.error.clone());
    let rejection = rejection.filter(|error| error.error_type == ErrorType::VALIDATION_ERROR);
    let details = rejection.and_then(|error| error.error_details).unwrap_or_else(
        || json!({ "kind": "SchemaError", "tool": name, "faults": [{ "path": "", "expected": "an object" }] }),
    );
    let condition = "The arguments do not match the schema. `faults` has one entry for each argument that does not.";
    add(ErrorType::VALIDATION_ERROR, condition, Some(details));
    if let Some(limit) = time_limit(tool) {
        let condition = match tool.timeout() {
            Some(Timeout::After(limit)) => format!("The tool does not answer within {limit:?}."),
            _ => format!("The tool does not answer within the time limit of the program ({limit:?} by default)."),
        };
        let detail = ErrorDetail::from(TimeoutError::new(name, limit));
        add(detail.error_type, &condition, detail.error_details);
    }
    let faults = tool.invalid_result().map(|result| tool.result_faults(&result.to_string()));
    let (condition, details) = match faults {
        Some(faults) => (
            "The tool fails for a reason that is not listed, or panics, or its result does not match the output schema. The \
             first two come without details.",
            Some(json!({ "tool": name, "faults": faults })),
        ),
        None => ("The tool fails for a reason that is not listed, or panics.", None),
    };
    add(ErrorType::TOOL_EXECUTION_ERROR, condition, details);
    let limit = tool.max_result().unwrap_or(DEFAULT_MAX_RESULT);
    // No result is larger than the largest limit.
    if let Some(size) = limit.checked_add(1) {
        let detail = ErrorDetail::from(ResultTooLargeError::new(name, size, limit));
        let condition = match tool.max_result() {
            Some(limit) => format!("The result has more than {limit} bytes."),
            None => format!("The result is larger than the program allows ({} MiB by default).", limit >> 20),
        };
        add(detail.error_type, &condition, detail.error_details);
    }
    add(ErrorKind::Serialization.error_type(), "The result cannot be serialized as JSON.", None);
    errors
}
