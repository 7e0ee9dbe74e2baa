//! The flat messages: a call, its result, and the error in a result.

#[macro_use]
mod api;
pub(crate) mod call;
mod content;
mod detail;
mod read;
mod result;
pub mod schema;
mod status;

pub use self::call::ToolCall;
pub use self::content::{Content, Resource, ResourceBody};
pub(crate) use self::content::{read_blocks, unwrapped, wrapped};
pub use self::read::parse_arguments;
pub(crate) use self::read::{
    Entries, Plain, check_extra, check_unique, entries_of, expect, kind_of, owned_entries, parse, parse_entries, rest,
    serialize_with_extra, syntax, take, utf8, value as read_value,
};
pub use self::result::ToolResult;
pub use self::status::Status;
pub use crate::error::{ErrorDetail, ErrorType};
pub use crate::util::JsonObject;

/// The version of the message format that [`ToolCall`], [`ToolResult`] and [`ErrorDetail`] follow.
pub const MESSAGE_FORMAT_VERSION: &str = "1.0.0";

/// The specification's name for [`ToolCall`].
pub type MCPToolCall = ToolCall;
/// The specification's name for [`ToolResult`].
pub type MCPToolResult = ToolResult;
/// The specification's name for [`ErrorDetail`].
pub type MCPErrorDetail = ErrorDetail;

/// How a message is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// Unknown fields are kept; custom statuses and every valid tool name are accepted. This is the default.
    #[default]
    Lenient,
    /// Only the specified form is accepted: no unknown field, one of the four statuses, `module.tool` in lower case.
    Strict,
}
