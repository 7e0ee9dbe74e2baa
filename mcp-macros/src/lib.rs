//! The place of `#[mcp_tool]`: signature → model → tokens.
//!
//! There is no attribute here yet; the messages that it will build on are in `mcp-core`.
