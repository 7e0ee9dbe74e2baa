//! The forms of calls and results on the wire.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call_result::{CallToolResult, error_from_text};
use crate::error::{CodeProfile, Error, SerializationError, TransportError, ValidationError};
use crate::message::{Strictness, ToolCall, ToolResult, parse};
use crate::rpc::read::Members;
use crate::rpc::{Id, RpcError, RpcMessage, RpcRejection, RpcRequest, RpcResponse};

/// The form of a call on the wire. The result has the same dialect as the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The flat messages themselves, without JSON-RPC.
    Flat,
    /// JSON-RPC with MCP's methods, `tools/list` and `tools/call`.
    Mcp,
    /// JSON-RPC with the older methods, `list_tools` and `call_tool`.
    Legacy,
}

impl Dialect {
    /// Returns the dialect of a JSON-RPC method that lists or calls tools.
    pub fn from_method(method: &str) -> Option<Self> {
        match method {
            "tools/list" | "tools/call" => Some(Self::Mcp),
            "list_tools" | "call_tool" => Some(Self::Legacy),
            _ => None,
        }
    }

    /// Returns the error codes that clients of the dialect expect.
    pub const fn code_profile(self) -> CodeProfile {
        match self {
            Self::Flat | Self::Mcp => CodeProfile::Standard,
            Self::Legacy => CodeProfile::Extended,
        }
    }

    /// Returns the JSON-RPC method that lists tools; the flat dialect has none.
    pub const fn list_method(self) -> Option<&'static str> {
        match self {
            Self::Flat => None,
            Self::Mcp => Some("tools/list"),
            Self::Legacy => Some("list_tools"),
        }
    }

    /// Returns the JSON-RPC method that calls a tool; the flat dialect has none.
    pub const fn call_method(self) -> Option<&'static str> {
        match self {
            Self::Flat => None,
            Self::Mcp => Some("tools/call"),
            Self::Legacy => Some("call_tool"),
        }
    }
}

/// A message from a client, in any dialect. A message without `jsonrpc` is a flat call.
///
/// ```
/// use mcp_core::mcp::Incoming;
///
/// let Incoming::Flat(call) = Incoming::parse(br#"{"tool_name": "calc.add", "arguments": {}}"#)? else { panic!() };
/// assert_eq!(call?.tool_name, "calc.add");
/// assert!(matches!(Incoming::parse(br#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#)?, Incoming::Rpc(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A flat call, or why it is invalid. The answer is a flat result.
    Flat(Result<ToolCall, ValidationError>),
    /// A JSON-RPC message.
    Rpc(RpcMessage<'a>),
}

impl<'a> Incoming<'a> {
    /// Parses a message; a flat call is parsed leniently.
    pub fn parse(message: &'a [u8]) -> Result<Self, Box<RpcRejection>> {
        Self::parse_with(message, Strictness::Lenient)
    }

    /// Parses a message; a flat call is parsed with this strictness.
    pub fn parse_with(message: &'a [u8], strictness: Strictness) -> Result<Self, Box<RpcRejection>> {
        let members = Members::parse_raw(message)?;
        Ok(if members.is_rpc() {
            Self::Rpc(RpcMessage::from_members(&members)?)
        } else {
            Self::Flat(ToolCall::parse_with(message, strictness))
        })
    }
}

impl ToolCall {
    /// Reads the `params` of `tools/call` and `call_tool`: the name from `name` or `tool_name`, the arguments from
    /// `arguments` or `args` (default: `{}`). Other members, such as `_meta`, are kept.
    ///
    /// ```
    /// use mcp_core::ToolCall;
    /// use mcp_core::mcp::Dialect;
    /// use mcp_core::rpc::RpcMessage;
    ///
    /// let line = br#"{"jsonrpc":"2.0","id":7,"method":"call_tool","params":{"tool_name":"weather","args":{"city":"Oslo"}}}"#;
    /// let RpcMessage::Request(request) = RpcMessage::parse(line)? else { panic!("not a request") };
    /// assert_eq!(Dialect::from_method(&request.method), Some(Dialect::Legacy));
    /// assert_eq!(ToolCall::from_params(request.params.as_deref())?.arguments["city"], "Oslo");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_params(params: Option<&RawValue>) -> Result<Self, ValidationError> {
        let mut params = match params {
            Some(params) => parse(params.get().as_bytes())?,
            None => json!({}),
        };
        if let Value::Object(params) = &mut params {
            // Some JSON-RPC clients send null for an absent value.
            params.retain(|key, value| !(value.is_null() && matches!(key.as_str(), "arguments" | "args")));
            if !params.contains_key("args") {
                params.entry("arguments").or_insert_with(|| json!({}));
            }
        }
        Self::from_value(params)
    }

    /// Converts the call to a JSON-RPC request; `None` for [`Dialect::Flat`], in which the call itself is the message.
    pub fn to_request<'a>(
        &self,
        id: impl Into<Id<'a>>,
        dialect: Dialect,
    ) -> Result<Option<RpcRequest<'a>>, SerializationError> {
        let Some(method) = dialect.call_method() else { return Ok(None) };
        let (name, arguments) = match dialect {
            Dialect::Legacy => ("tool_name", "args"),
            Dialect::Flat | Dialect::Mcp => ("name", "arguments"),
        };
        let mut params = self.extra.clone();
        params.insert(name.to_owned(), self.tool_name.as_str().into());
        params.insert(arguments.to_owned(), self.arguments.clone());
        RpcRequest::new(id, method).params(params).map(Some)
    }
}

impl ToolResult {
    /// Converts the result to the JSON-RPC response to a call. In MCP, that is a [`CallToolResult`]; in the legacy
    /// dialect, the bare data, or an error that has the standard phrase for its code as the message, and the original
    /// message in `data.details`. `None` for [`Dialect::Flat`], in which the result itself is the message.
    pub fn to_response<'a>(
        &self,
        id: impl Into<Id<'a>>,
        dialect: Dialect,
        profile: CodeProfile,
    ) -> Result<Option<RpcResponse<'a>>, SerializationError> {
        let id = id.into();
        match dialect {
            Dialect::Flat => Ok(None),
            Dialect::Mcp => RpcResponse::success(id, CallToolResult::from(self.clone())).map(Some),
            Dialect::Legacy if self.is_failure() => {
                let error = self.error.clone().unwrap_or_else(|| error_from_text(&[]));
                Ok(Some(RpcResponse::failure(Some(id), RpcError::from_detail(&error, profile).into_legacy())))
            }
            Dialect::Legacy => RpcResponse::success(id, self.data.as_ref().unwrap_or(&json!({}))).map(Some),
        }
    }

    /// Reads the JSON-RPC response to a call. A protocol error becomes a failure.
    pub fn from_response(response: &RpcResponse<'_>, dialect: Dialect) -> Result<Self, Error> {
        let result = match &response.outcome {
            Err(error) => return Ok(Self::failure(error.to_detail())),
            Ok(result) => result.get().as_bytes(),
        };
        let malformed = |error: ValidationError| TransportError::Malformed(error.to_string());
        Ok(match dialect {
            Dialect::Flat => Self::parse(result).map_err(malformed)?,
            Dialect::Mcp => CallToolResult::parse(result).map_err(malformed)?.into(),
            Dialect::Legacy => Self::data(parse(result).map_err(malformed)?),
        })
    }
}
