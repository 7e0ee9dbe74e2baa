//! The messages of `mcp-core`: parsing, writing, errors and schemas.

mod conversions;
mod errors;
mod flat;
mod names;
mod rpc;
mod schemas;
mod untrusted_input;
