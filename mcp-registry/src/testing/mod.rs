//! Helpers for testing tools: calls in memory, and assertions that show where a result differs.
//!
//! A tool is a function and can be tested as one; [`ToolContext::for_test`](mcp_core::ToolContext::for_test) creates
//! its context. A [`Harness`] tests the whole call: names, arguments, state, result and output schema. A [`Client`]
//! speaks the real protocol with a server, in memory. [`assert_contract`] compares the tools with what they promised.
//!
//! ```standalone_crate
//! use mcp_registry::serde_json::json;
//! use mcp_registry::testing::{Harness, assert_data, assert_failure, assert_fault, assert_text};
//! use mcp_registry::{ToolError, mcp_tool, tools};
//!
//! /// Divides.
//! #[mcp_tool(module = "calc")]
//! fn divide(dividend: i64, divisor: i64) -> Result<i64, ToolError> {
//!     dividend.checked_div(divisor).ok_or_else(|| ToolError::new("DivisionError", "the divisor is zero"))
//! }
//!
//! assert_eq!(divide(6, 3).unwrap(), 2);
//!
//! let calc = Harness::for_tools(tools![divide], |builder| builder)?;
//! let result = calc.call("calc.divide", json!({ "dividend": 6, "divisor": 3 }));
//! assert_data(&result, json!({ "result": 2 }));
//! assert_text(&result, "2");
//!
//! let result = calc.call("calc.divide", json!({ "dividend": 6, "divisor": 0 }));
//! assert_eq!(assert_failure(&result, "DivisionError").error_message, "the divisor is zero");
//!
//! assert_fault(&calc.call("calc.divide", json!({ "dividend": 6, "divisor": "three" })), "/divisor");
//! # Ok::<(), mcp_registry::RegistrationError>(())
//! ```
//!
//! # Tools that need tokio
//!
//! With the feature `tokio`, such tools can be tested in a plain `#[test]` as well as in a `#[tokio::test]`:
//! [`Harness::call`] gives them a runtime that makes progress while the test waits, either the test's or one on a
//! background thread. A tool that depends on the test's runtime, such as on a connection that the test has opened,
//! needs [`Harness::call_async`] instead: in a `#[tokio::test]` of the default flavor, that runtime makes no progress
//! while [`Harness::call`] blocks its thread.
#![cfg_attr(
    feature = "tokio",
    doc = r#"
```standalone_crate
use std::time::Duration;

use mcp_registry::serde_json::json;
use mcp_registry::testing::{Harness, assert_data};
use mcp_registry::{mcp_tool, tools};

/// Sleeps.
#[mcp_tool(module = "slow")]
async fn nap(millis: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    millis
}

let slow = Harness::for_tools(tools![nap], |builder| builder)?;
assert_data(&slow.call("slow.nap", json!({ "millis": 5 })), 5);

# tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
// In a `#[tokio::test]`:
assert_data(&slow.call_async("slow.nap", json!({ "millis": 5 })).await, 5);
# });
# Ok::<(), Box<dyn std::error::Error>>(())
```
"#
)]

mod assertions;
mod client;
mod contract;
mod diff;
mod harness;
mod specification;

use std::future::Future;

pub use self::assertions::{assert_data, assert_failure, assert_fault, assert_json_eq, assert_progress, assert_text};
pub use self::client::Client;
pub use self::contract::{assert_contract, assert_contract_of};
pub use self::harness::{Harness, Recorder};
pub use self::specification::{assert_specification, assert_specification_of};
use crate::runtime::tokio_context;

/// Waits for a future on this thread, in a test without an async runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio_context::block_on(future)
}
