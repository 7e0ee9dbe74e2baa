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
mod call_result;
mod content;
mod context;
mod dialect;
mod doc;
mod entry;
mod error;
mod name;
mod output;
mod panics;
mod param;
mod protocol_version;
mod rpc;
pub mod schema;
mod text;
mod trust;
mod version;

#[doc = include_str!("mcp_tool.md")]
pub use mcp_macros::mcp_tool;
/// The entries of the named tools, as references that the linker cannot drop: `tools![module::function, other]`.
///
/// Name each function by the path of the module that defines it, `tools![calc::add]`: its entry stands beside it, and is neither
/// imported by `use calc::add` nor exported by `pub use calc::add`.
pub use mcp_macros::tools;
pub use schemars;
pub use serde_json;

pub use self::call_result::CallToolResult;
pub use self::content::{Content, Resource, ResourceBody};
pub use self::context::{
    Amount, BoxFuture, CallOptions, CancelToken, Cancelled, Extensions, FromContext, LogLevel, Remark, ToolContext,
    ToolEvent, Total,
};
pub use self::dialect::{Dialect, Incoming};
pub use self::entry::{
    Call, CallError, Hints, Input, MetaValue, Pending, Registration, StateType, Timeout, ToolEntry, entries,
};
pub use self::error::{
    BoxError, CodeProfile, Conflict, Contender, Error, ErrorKind, Fault, MAX_DEPTH, Origin, RegistrationError,
    RegistrationProblem, ResultTooLargeError, Rule, SchemaError, SerializationError, TimeoutError, ToolError,
    ToolNotFoundError, TransportError, ValidationError, Violation,
};
pub use self::message::{ErrorDetail, ErrorType, JsonObject, Status, Strictness, ToolCall, ToolResult};
pub use self::name::{MAX_NAME_LENGTH, MAX_WIRE_NAME_LENGTH, NameError, NamePolicy, ToolName};
pub use self::output::{Json, OutputSchema, Returned, ToolFailure, ToolOutput};
pub use self::param::{Bound, Constraint, Param, ToolParam};
pub use self::protocol_version::ProtocolVersion;
pub use self::rpc::{Id, RpcError, RpcMessage, RpcNotification, RpcRejection, RpcRequest, RpcResponse, code};
pub use self::trust::TrustLevel;
pub use self::version::{MESSAGE_FORMAT_VERSION, Version, VersionError};

/// What a tool may return to use `?` on anything.
pub type Result<T, E = BoxError> = std::result::Result<T, E>;
