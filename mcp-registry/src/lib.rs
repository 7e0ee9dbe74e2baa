//! Lists, checks and calls the tools that are linked into a program.
//!
//! ```standalone_crate
//! use mcp_registry::serde_json::json;
//! use mcp_registry::{Registry, ToolCall, mcp_tool};
//!
//! /// Adds two numbers.
//! #[mcp_tool(module = "calc")]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! let registry = Registry::linked()?;
//! assert_eq!(registry.list_registered_tools()[0].name(), "calc.add");
//! let result = registry.call_blocking(&ToolCall::new("calc.add", json!({ "a": 2, "b": 3 })));
//! assert_eq!(result.data.unwrap()["result"], 5);
//! # Ok::<(), mcp_registry::RegistrationError>(())
//! ```
//!
//! - [`Catalog`] is every tool, sorted and free of conflicts: lists and schemas. It needs no state.
//! - [`Registry`] adds the application's state and calls tools; tools come and go at run time.
//! - [`Server`] answers the messages of MCP; `serve_stdio` (feature `stdio`) serves them to the program that started this,
//!   `serve_http` and `router` (feature `http`) to the network.
//! - [`link_tools!`] names the crates whose tools must be there.
//! - `rmcp::merge` and `rmcp::Handler` (feature `rmcp`) put the tools into an rmcp server.
//! - `cli::main` (feature `cli`) makes a program of them: a command line for people, an MCP server for hosts.
//!
//! Tools are gathered by program. Doctests of one crate share a program since edition 2024; a doctest that defines tools
//! wants to be marked `standalone_crate`.
//!
//! All of `mcp-core` is exported here too, so that a program may depend on this crate alone.

mod call;
pub mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
pub mod protocol;
pub mod registry;
#[cfg(feature = "rmcp")]
pub mod rmcp;
pub mod runtime;
pub mod testing;
#[cfg(any(feature = "stdio", feature = "http"))]
mod transport;
mod util;
mod validate;

#[doc(hidden)]
pub mod __private {
    pub use mcp_core::__private::*;

    pub use crate::catalog::link::{Expected, name_of};
}

pub use mcp_core::*;
#[doc = include_str!("mcp_tool.md")]
pub use mcp_macros::mcp_tool_of_registry as mcp_tool;

pub use self::call::{audit, gate, layer, limit, metrics, observe};
pub use self::catalog::lint;
#[cfg(feature = "http")]
pub use self::transport::http;
#[cfg(feature = "stdio")]
pub use self::transport::stdio;

pub use self::call::audit::{AuditLog, AuditLogBuilder, AuditRecord, RejectionRecord};
pub use self::call::gate::{Decision, Gate, GateCall, LevelGate};
pub use self::call::layer::{Layer, Next};
pub use self::call::limit::RateLimit;
pub use self::call::metrics::{Metrics, ToolMetrics};
pub use self::call::observe::{CallOutcome, CallRecord, Notice, Observer, Rejection, RejectionReason};
pub use self::call::settings::OutputCheck;
pub use self::catalog::dynamic::{IntoToolResult, Tool};
pub use self::catalog::lint::{Finding, LintPolicy, Severity};
pub use self::catalog::tool::{RegisteredTool, ToolSchema};
pub use self::catalog::{Catalog, get_tool_schema, list_registered_tools};
pub use self::protocol::{Peer, PeerBuilder, PendingReply, Server};
pub use self::registry::builder::RegistryBuilder;
pub use self::registry::{Registry, Watcher};
#[cfg(feature = "tokio")]
pub use self::runtime::TokioRuntime;
pub use self::runtime::{Job, Runtime, RuntimeError, ThreadRuntime};
#[cfg(feature = "http")]
pub use self::transport::http::{Http, HttpBody, HttpService, router, serve_http};
#[cfg(feature = "stdio")]
pub use self::transport::stdio::{serve_lines, serve_stdio};

/// The README's programs, compiled as tests.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../../README.md")]
struct Readme;
