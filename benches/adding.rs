//! The tools that are measured.

use mcp_registry::mcp_tool;

/// Adds two numbers where it is called.
#[mcp_tool(module = "calc", inline)]
pub(crate) fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers on the pool.
#[mcp_tool(module = "calc")]
fn add_on_pool(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers in a future.
#[mcp_tool(module = "calc")]
#[allow(clippy::unused_async, reason = "it is measured")]
async fn add_in_future(a: i64, b: i64) -> i64 {
    a + b
}
