//! Defines tools for AI agents: the attribute, schemas, messages, names and errors. No I/O, no async runtime.
//!
//! - [`mcp_tool`] turns a function into a tool. It creates an [`entry::ToolEntry`]; [`entry::entries`] returns all that
//!   are linked.
//! - [`param`] and [`output`] describe what a tool takes and returns, [`schema`] generates the schemas, [`context`]
//!   gives a tool access to the current call.
//! - [`message`] has the flat messages ([`ToolCall`], [`ToolResult`], [`ErrorDetail`]) and, in [`message::schema`],
//!   their JSON Schemas.
//! - [`mcp`] has the versions of MCP and its form of a result, which converts to the flat one and back without loss;
//!   [`rpc`] reads JSON-RPC without copying it.
//! - [`name`] has the names and versions of tools.
//! - [`ToolError`] is the error of a tool; [`Error`] is any failure, mapped to the wire by one table,
//!   [`error::ErrorKind`].
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `http` | gives tools access to the headers and extensions of the HTTP request that called them |
//! | `arrayvec`, `bigdecimal`, `bytes`, `chrono`, `either`, `indexmap`, `jiff`, `rust_decimal`, `semver`, `smallvec`, `smol_str`, `url`, `uuid` | types of the crate of that name as parameters and results |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
pub mod message;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod context;
pub mod entry;
pub mod error;
pub mod mcp;
pub mod name;
pub mod output;
pub mod param;
pub mod rpc;
pub mod schema;
#[doc(hidden)]
pub mod support;
mod util;

#[doc = include_str!("mcp_tool.md")]
pub use mcp_macros::mcp_tool;
/// The entries of the named tools, as references that the linker cannot drop: `tools![module::function, other]`.
///
/// Name each function by the path of the module that defines it, as in `tools![calc::add]`: its entry is a separate
/// item in that module, which `use calc::add` does not import.
pub use mcp_macros::tools;
pub use schemars;
pub use serde_json;

pub use self::context::{CallOptions, CancelToken, FromContext, LogLevel, ToolContext, TrustLevel};
pub use self::error::{Error, RegistrationError, ToolError};
pub use self::message::{Content, ErrorDetail, ErrorType, Status, ToolCall, ToolResult};
pub use self::name::NamePolicy;
pub use self::output::Json;

/// The return type of a tool that uses `?` on any error.
pub type Result<T, E = error::BoxError> = std::result::Result<T, E>;

/// Compiles the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
