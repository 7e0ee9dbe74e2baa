//! Internals that `mcp-registry` uses. They are not part of the public API and may change in any version.

pub use inventory;

pub use crate::mcp::repeated;
pub use crate::message::call::FlatCall;
pub use crate::message::parse_arguments;
pub use crate::output::TYPICAL_RESULT_BYTES;
pub use crate::rpc::read::{Members, Message, RpcParams, Text};
pub use crate::util::block_on::block_on;
pub use crate::util::docs::Fence;
pub use crate::util::panics::{Contained, discard};
pub use crate::util::text::{cut, nearest, prefix, shortened};

/// Builds the messages of invalid arguments, for further validators.
pub mod faults {
    pub use crate::param::check::{counted, formatted, listed, matching};
    pub use crate::param::fault::{ALTERNATIVES, ARGUMENTS, Document, RESULT};
    pub use crate::util::text::escaped;
}

/// The model of schemas: read, normalised, written.
pub mod schema {
    pub use crate::schema::decimal::{Decimal, Digits};
    pub use crate::schema::model::{
        ArrayRules, Condition, Contains, Limit, Model, Node, NodeId, Notes, NumberRules, ObjectRules, PatternId,
        Property, StringRules, Types,
    };
    pub use crate::schema::read::{ReadError, equal, fragment};
}
