//! What a transport knows about a message besides its content, such as HTTP headers.

use mcp_core::CallOptions;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::rpc::RpcError;
use serde_json::value::RawValue;

use super::decode::Params;
use crate::registry::Registry;

/// What a transport knows about a message.
pub(crate) trait TransportHeaders {
    /// The oldest version of MCP that the transport serves.
    fn oldest_version(&self) -> ProtocolVersion {
        ProtocolVersion::V2024_11_05
    }

    /// Whether the headers name a version of MCP in which each request carries its own version.
    fn is_stateless(&self) -> bool {
        false
    }

    /// Fails if the headers name a different version than the request. If the request names no version, fails if theirs
    /// is not supported.
    fn check_version(&self, _version: Option<&str>) -> Result<(), RpcError> {
        Ok(())
    }

    /// Counts a call of a batch, besides the first. Fails if that exceeds a limit of the transport.
    fn count_call(&self) -> Result<(), RpcError> {
        Ok(())
    }

    /// Fails if the headers differ from the request, which carries its own version.
    fn check_request(&self, _fields: &RepeatedFields<'_>) -> Result<(), RpcError> {
        Ok(())
    }
}

/// A transport without headers.
pub(crate) struct NoHeaders;

impl TransportHeaders for NoHeaders {}

/// The fields of a request that headers repeat.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has headers"))]
pub(crate) struct RepeatedFields<'a> {
    pub(crate) method: &'a str,
    pub(crate) tool: Option<&'a str>,
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) registry: &'a Registry,
    pub(crate) options: &'a CallOptions,
}

impl<'a> RepeatedFields<'a> {
    pub(super) fn new(
        method: &'a str,
        params: &'a Params<'_>,
        registry: &'a Registry,
        options: &'a CallOptions,
    ) -> Self {
        let tool = params.name.as_deref().or(params.tool_name.as_deref());
        Self { method, tool, arguments: params.arguments.or(params.args), registry, options }
    }
}
