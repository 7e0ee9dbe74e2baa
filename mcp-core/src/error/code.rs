//! The codes of JSON-RPC errors.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is JSON, but not a valid request.
pub const INVALID_REQUEST: i64 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are invalid.
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// The first code of the range for server errors.
pub const SERVER_ERROR: i64 = -32000;
/// The last code of the range for server errors.
pub const SERVER_ERROR_LAST: i64 = -32099;
/// [`AUTHENTICATION_ERROR`] within the range for server errors.
pub const SERVER_AUTHENTICATION_ERROR: i64 = -32001;
/// [`PERMISSION_DENIED`] within the range for server errors.
pub const SERVER_PERMISSION_DENIED: i64 = -32003;
/// MCP: a header does not match the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// MCP: the client has not declared a capability that the call needs.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// MCP: the server does not support this version of the protocol.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// A tool failed.
pub const TOOL_EXECUTION_ERROR: i64 = 40000;
/// The caller is not authenticated.
pub const AUTHENTICATION_ERROR: i64 = 40100;
/// The caller lacks permission.
pub const PERMISSION_DENIED: i64 = 40300;

/// Returns the standard message for a code, such as `"Invalid params"`; `None` for codes that neither JSON-RPC nor this crate
/// defines.
pub const fn phrase(code: i64) -> Option<&'static str> {
    Some(match code {
        PARSE_ERROR => "Parse error",
        INVALID_REQUEST => "Invalid Request",
        METHOD_NOT_FOUND => "Method not found",
        INVALID_PARAMS => "Invalid params",
        INTERNAL_ERROR => "Internal error",
        SERVER_ERROR_LAST..=SERVER_ERROR => "Server error",
        TOOL_EXECUTION_ERROR => "Tool execution error",
        AUTHENTICATION_ERROR => "Authentication error",
        PERMISSION_DENIED => "Permission denied",
        _ => return None,
    })
}
