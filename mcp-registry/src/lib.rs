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
//! - [`Catalog`] holds every tool and its schemas, sorted by name and without conflicts. It needs no state.
//! - [`Registry`] adds the application's state and calls tools; tools can be added and removed at run time.
//! - [`Server`] answers MCP messages: `serve_stdio` (feature `stdio`) serves it over stdin and stdout, `serve_http` and
//!   `router` (feature `http`) over the network.
//! - [`link_tools!`] links crates of tools, and requires that each of them has a tool.
//! - `rmcp::merge` and `rmcp::Handler` (feature `rmcp`) add the tools to an rmcp server.
//! - `cli::main` (feature `cli`) turns the tools into a program: a command line for people, an MCP server for hosts.
//!
//! Tools are collected per program. Since edition 2024, the doctests of a crate share one program: mark a doctest that
//! defines tools as `standalone_crate`.
//!
//! The root exports the names that nearly every program uses; the modules export all others. `mcp-core` is re-exported,
//! so that a program can depend on this crate alone.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `tokio` | a runtime for tools that use tokio but are called outside of one; tokio's timers and threads in place of std's (`runtime::TokioRuntime`) |
//! | `stdio` | MCP over stdin and stdout, or any other stream of lines: `serve_stdio`, `stdio::serve_lines` |
//! | `http` | MCP over Streamable HTTP: `serve_http`, `router` for axum, `Http` for everything else |
//! | `cli` | a command line that lists, checks, calls and serves the tools of a program: `cli::main` |
//! | `rmcp` | the tools inside an rmcp server: `rmcp::merge`, `rmcp::Handler`; needs Rust 1.88 |
//! | `tracing` | a span for each call and an event for each outcome |
//!
//! To use types of `chrono`, `uuid`, `url` and other crates as parameters and results, enable features of `mcp-core`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
pub mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
pub mod contract;
#[cfg(any(doc, all(doctest, feature = "cli", feature = "http", feature = "rmcp")))]
pub mod guide;
pub mod protocol;
pub mod registry;
#[cfg(feature = "rmcp")]
pub mod rmcp;
pub mod runtime;
pub mod testing;
// The docs show each item with the feature of the module that exports it, without this condition.
#[cfg_attr(docsrs, doc(auto_cfg = false))]
#[cfg(any(feature = "stdio", feature = "http"))]
mod transport;
mod util;
mod validate;

#[doc(hidden)]
pub mod __private {
    pub use mcp_core::__private::*;

    pub use crate::catalog::link::Expected;
    pub use crate::validate::Judge;
}

pub use mcp_core::{
    CallOptions, CancelToken, Content, Error, ErrorDetail, ErrorType, FromContext, Json, LogLevel, NamePolicy,
    RegistrationError, Result, Status, ToolCall, ToolContext, ToolError, ToolResult, TrustLevel, schemars, serde_json,
    tools,
};
pub use mcp_core::{context, entry, error, mcp, message, name, output, param, rpc, schema};
#[doc = include_str!("mcp_tool.md")]
pub use mcp_macros::mcp_tool_of_registry as mcp_tool;

pub use self::call::{audit, gate, layer, limit, metrics, observe};
pub use self::catalog::lint;
#[cfg(feature = "http")]
pub use self::transport::http;
#[cfg(feature = "stdio")]
pub use self::transport::stdio;

#[doc(inline)]
pub use self::audit::AuditLog;
#[doc(inline)]
pub use self::catalog::{Catalog, RegisteredTool, Tool, get_tool_schema, list_registered_tools};
#[cfg(feature = "http")]
#[doc(inline)]
pub use self::http::{Http, router, serve_http};
#[doc(inline)]
pub use self::limit::RateLimit;
#[doc(inline)]
pub use self::protocol::Server;
#[doc(inline)]
pub use self::registry::{Registry, RegistryBuilder};
#[cfg(feature = "stdio")]
#[doc(inline)]
pub use self::stdio::serve_stdio;

/// Compiles the programs in the README of this crate as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// Compiles the programs in AGENTS.md as tests.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../AGENTS.md")]
struct Agents;

/// Compiles the program in the README of the repository as a test.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../README.md")]
struct Readme;
