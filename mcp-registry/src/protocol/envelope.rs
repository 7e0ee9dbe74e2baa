//! What a message comes in, where that says something of the message too: the headers of HTTP.

#[cfg(feature = "http")]
use mcp_core::code;
use mcp_core::{ProtocolVersion, RpcError};
#[cfg(feature = "http")]
use serde_json::json;
use serde_json::value::RawValue;

use super::request::Params;
use crate::registry::Registry;

/// What a message came in.
pub(crate) trait Envelope {
    /// The oldest version of MCP that is served in it.
    fn oldest(&self) -> ProtocolVersion {
        ProtocolVersion::V2024_11_05
    }

    /// Whether it speaks of a version of MCP in which each request carries its own.
    fn is_stateless(&self) -> bool {
        false
    }

    /// Fails if it speaks of another version than the request; of one that is not spoken, if the request has none.
    fn agrees(&self, _version: Option<&str>) -> Result<(), RpcError> {
        Ok(())
    }

    /// Fails if it speaks of another request than this one, which carries its own version.
    fn fits(&self, _letter: &Letter<'_>) -> Result<(), RpcError> {
        Ok(())
    }
}

/// No envelope.
pub(crate) struct Bare;

impl Envelope for Bare {}

/// What an envelope may speak of.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has envelopes"))]
pub(crate) struct Letter<'a> {
    pub(crate) method: &'a str,
    /// The tool that is to be called.
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) registry: &'a Registry,
}

impl<'a> Letter<'a> {
    pub(super) fn of(method: &'a str, params: &'a Params<'_>, registry: &'a Registry) -> Self {
        let name = params.name.as_deref().or(params.tool_name.as_deref());
        Self { method, name, arguments: params.arguments.or(params.args), registry }
    }
}

/// The error of an envelope that speaks of another message.
#[cfg(feature = "http")]
pub(crate) fn mismatch(message: impl Into<String>) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, message).data(json!({ "error_type": "ValidationError" }))
}
