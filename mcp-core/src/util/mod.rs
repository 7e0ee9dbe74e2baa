//! Helpers for several modules: text, panics, blocking on a future, doc comments.

pub(crate) mod block_on;
pub(crate) mod docs;
pub(crate) mod panics;
pub(crate) mod text;

/// A JSON object. Its keys keep their order.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
