//! The place of the registry: entries → validated catalog → list, schema, call.
//!
//! For now it exports all of `mcp-core`, so that a program may depend on this crate alone.

pub use mcp_core::*;
