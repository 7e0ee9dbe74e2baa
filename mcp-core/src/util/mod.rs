//! What several folders need and no crate provides: text, panics, waiting for a future, doc comments.

pub(crate) mod block_on;
pub(crate) mod docs;
pub(crate) mod panics;
pub(crate) mod text;

/// A JSON object; its keys stay in the order in which they came.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
