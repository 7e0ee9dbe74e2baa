//! Protocol errors.

use std::borrow::Cow;

use mcp_core::error::{CodeProfile, ToolNotFoundError};
use mcp_core::mcp::ProtocolVersion;
use mcp_core::rpc::{RpcError, code};
use mcp_core::support::cut;
use mcp_core::{CallOptions, Error, ErrorType, LogLevel, ToolError};
use serde_json::json;

use crate::call::correlation_id::correlation_id;
use crate::call::run::CANCELLED;
use crate::call::trace;
use crate::registry::Registry;
use crate::util::panic::Panicked;

fn validation_error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError::new(code, message).data(json!({ "error_type": "ValidationError" }))
}

/// The message is not a valid request.
pub(super) fn invalid_request(message: impl Into<String>) -> RpcError {
    validation_error(code::INVALID_REQUEST, message)
}

/// The parameters are invalid.
pub(super) fn invalid_params(message: impl Into<String>) -> RpcError {
    validation_error(code::INVALID_PARAMS, message)
}

pub(super) fn missing(field: &str) -> RpcError {
    invalid_params(format!("`{field}` is missing; add it"))
}

pub(super) fn missing_capabilities() -> RpcError {
    invalid_params("`_meta` has no `io.modelcontextprotocol/clientCapabilities`; add them, `{}` if there are none")
}

pub(super) fn missing_version() -> RpcError {
    invalid_params("`_meta` has no `io.modelcontextprotocol/protocolVersion`; add the version of the request")
}

/// The headers do not match the message.
#[cfg(feature = "http")]
pub(crate) fn header_mismatch(message: impl Into<String>) -> RpcError {
    validation_error(code::HEADER_MISMATCH, message)
}

/// The supported versions, newest first.
pub(super) fn supported_versions(oldest: ProtocolVersion) -> Vec<&'static str> {
    ProtocolVersion::ALL.into_iter().filter(|version| *version >= oldest).map(ProtocolVersion::as_str).collect()
}

/// The version is not supported, or requires `initialize`.
pub(crate) fn unsupported_version(requested: &str, oldest: ProtocolVersion) -> RpcError {
    let supported = supported_versions(oldest);
    let message = match ProtocolVersion::from_name(requested).filter(|version| *version >= oldest) {
        Some(version) => {
            format!(
                "MCP {version} begins with `initialize` and has no version in `_meta`; call it, or use a newer version"
            )
        }
        None => format!("MCP {} is not supported; use one of {}", short(requested), supported.join(", ")),
    };
    let data = json!({ "supported": supported, "requested": short(requested), "error_type": "ValidationError" });
    RpcError::new(code::UNSUPPORTED_PROTOCOL_VERSION, message).data(data)
}

pub(super) fn unknown_level(name: &str) -> RpcError {
    let names = LogLevel::ALL.map(LogLevel::as_str).join(", ");
    invalid_params(format!("there is no log level `{}`; use one of {names}", short(name)))
}

pub(super) fn unknown_method(method: &str) -> RpcError {
    let message = format!("there is no method `{}`; ask for `tools/list` or `tools/call`", short(method));
    validation_error(code::METHOD_NOT_FOUND, message)
}

/// A call without an ID is a notification.
pub(super) fn call_without_id() -> RpcError {
    invalid_request("a call without an `id` is a notification, which is neither made nor answered; send an `id`")
}

/// Flat calls are switched off.
pub(super) fn flat_calls_are_off() -> RpcError {
    invalid_request("flat calls are switched off; send `tools/call` as a request of JSON-RPC 2.0")
}

/// Another request with this ID is in flight.
pub(super) fn id_in_use() -> RpcError {
    invalid_request("a request with this id is still in flight; give each request its own")
}

pub(super) fn token_in_use() -> RpcError {
    invalid_params("a request with this `progressToken` is still in flight; give each request its own")
}

/// The call was cancelled because the server is shutting down.
pub(super) fn shutting_down(tool: &str) -> ToolError {
    let message =
        format!("`{tool}` was cancelled because the server is shutting down; call it again once the server is back");
    ToolError::new(CANCELLED, message)
}

/// The connection has too many calls in flight.
pub(super) fn busy(in_flight: usize) -> ToolError {
    let message = format!("{in_flight} calls of this connection are in flight, which is the limit; wait for one");
    ToolError::new(ErrorType::API_LIMIT_EXCEEDED, message)
}

/// A panic while an answer was written. If errors are masked, the client gets an ID in place of the reason.
pub(crate) fn internal(registry: &Registry, options: &CallOptions, panicked: &Panicked) -> RpcError {
    let (what, reason) = ("the answer could not be made", panicked.message());
    let (message, data) = if registry.settings().masks(options) {
        let id = correlation_id();
        trace::warn(&format!("{what}: {reason} (the client saw only the ID {id})"));
        let message = format!("{what}; the operator of the server can find the reason under the ID {id}");
        (message, json!({ "error_type": "ToolExecutionError", "details": { "correlation_id": id } }))
    } else {
        let message = format!("{what}: {reason}; tell the operator of the server");
        (message, json!({ "error_type": "ToolExecutionError" }))
    };
    RpcError::new(code::INTERNAL_ERROR, message).data(data)
}

/// Converts the error of a call to a protocol error; `None` if the error is a result for the model. Suggested tools
/// have their names on the wire.
pub(crate) fn protocol_error(
    registry: &Registry,
    error: &Error,
    version: ProtocolVersion,
    reject_arguments: bool,
) -> Option<RpcError> {
    match error {
        Error::Tool(error) if version.is_stateless() => missing_client_capability(error),
        Error::ToolNotFound(error) => {
            let tools = registry.snapshot();
            let listed = |name: &String| tools.find(name).map_or(name.as_str(), |tool| tool.wire_name()).to_owned();
            let did_you_mean = error.did_you_mean.iter().map(listed).collect();
            let error = ToolNotFoundError::new(&error.name, did_you_mean);
            Some(Error::from(error).to_rpc(CodeProfile::Standard))
        }
        Error::Validation(_) => Some(error.to_rpc(CodeProfile::Standard)),
        Error::Schema(_) if reject_arguments => Some(error.to_rpc(CodeProfile::Standard)),
        _ => None,
    }
}

/// The tool needs a capability that the client lacks.
fn missing_client_capability(error: &ToolError) -> Option<RpcError> {
    if *error.error_type() != ErrorType::MISSING_CLIENT_CAPABILITY {
        return None;
    }
    let details = error.detail().error_details.clone().unwrap_or_default();
    Some(RpcError::new(code::MISSING_CLIENT_CAPABILITY, error.message()).data(details))
}

/// Truncates a text from the client, for an error message.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    cut(text, 64)
}
