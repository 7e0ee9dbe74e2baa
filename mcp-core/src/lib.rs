//! What a tool for an AI agent is: its attribute, schemas, messages, names and errors. No I/O, no async runtime.
//!
//! - [`mcp_tool`] makes a function a tool; [`ToolEntry`] is what it writes down, and [`entries`] all that is linked.
//! - [`ToolParam`] and [`ToolOutput`] are what a tool takes and returns; [`schema`] makes their schemas, [`ToolContext`] is
//!   what a tool can learn of the call.
//! - [`ToolCall`], [`ToolResult`] and [`ErrorDetail`] are the flat messages; [`message::schema`] has their JSON Schemas.
//! - [`CallToolResult`] and [`Content`] are MCP's own form of a result; the two convert without loss.
//! - [`RpcMessage`] reads JSON-RPC without copying it; [`Dialect`] tells how a call is put on the wire.
//! - [`ToolName`] and [`Version`] say what a tool is called, and which one it is.
//! - [`ToolError`] is what a tool fails with; [`Error`] is any failure, mapped to the wire by one table, [`ErrorKind`].

#[macro_use]
pub mod message;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod context;
pub mod entry;
pub mod error;
pub mod mcp;
pub mod name;
pub mod output;
pub mod param;
pub mod rpc;
pub mod schema;
#[doc(hidden)]
pub mod support;
mod util;

#[doc = include_str!("mcp_tool.md")]
pub use mcp_macros::mcp_tool;
/// The entries of the named tools, as references that the linker cannot drop: `tools![module::function, other]`.
///
/// Name each function by the path of the module that defines it, `tools![calc::add]`: its entry stands beside it, and is neither
/// imported by `use calc::add` nor exported by `pub use calc::add`.
pub use mcp_macros::tools;
pub use schemars;
pub use serde_json;

pub use self::context::{
    Amount, BoxFuture, CallOptions, CancelToken, Cancelled, Extensions, FromContext, LogLevel, Remark, StateType,
    ToolContext, ToolEvent, Total, TrustLevel,
};
pub use self::entry::{Call, Hints, Input, MetaValue, Pending, Registration, Timeout, ToolEntry, entries};
pub use self::error::{
    BoxError, CallError, CodeProfile, Conflict, Contender, Error, ErrorKind, Fault, MAX_DEPTH, Origin,
    RegistrationError, RegistrationProblem, ResultTooLargeError, Rule, SchemaError, SerializationError, TimeoutError,
    ToolError, ToolNotFoundError, TransportError, ValidationError, Violation,
};
pub use self::mcp::{CallToolResult, Dialect, Incoming, ProtocolVersion};
pub use self::message::{
    Content, ErrorDetail, ErrorType, JsonObject, MESSAGE_FORMAT_VERSION, Resource, ResourceBody, Status, Strictness,
    ToolCall, ToolResult,
};
pub use self::name::{MAX_NAME_LENGTH, MAX_WIRE_NAME_LENGTH, NameError, NamePolicy, ToolName, Version, VersionError};
pub use self::output::{Json, OutputSchema, Returned, ToolFailure, ToolOutput};
pub use self::param::{Bound, Constraint, Param, ToolParam};
pub use self::rpc::{Id, RpcError, RpcMessage, RpcNotification, RpcRejection, RpcRequest, RpcResponse, code};

/// What a tool may return to use `?` on anything.
pub type Result<T, E = BoxError> = std::result::Result<T, E>;
