//! What `mcp-registry` uses of this crate beside its public API. Not for others: it may change in any version.

pub use inventory;

pub use crate::mcp::repeated;
pub use crate::message::parse_arguments;
pub use crate::output::TYPICAL_RESULT_BYTES;
pub use crate::rpc::read::{Members, Message, RpcParams, Text};
pub use crate::util::block_on::block_on;
pub use crate::util::panics::discard;
pub use crate::util::text::{cut, nearest, prefix, shortened};

/// How the faults of arguments are worded, for those who find more of them.
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
    pub use crate::schema::read::{ReadError, equal};
}
