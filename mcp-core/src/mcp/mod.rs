//! MCP's form of a result, the dialects of a call and the versions of the protocol.

mod call_result;
mod dialect;
mod protocol_version;

pub use self::call_result::CallToolResult;
#[doc(hidden)]
pub use self::call_result::repeated;
pub use self::dialect::{Dialect, Incoming};
pub use self::protocol_version::ProtocolVersion;
