use mcp_core::mcp_tool;

/// Adds.
#[mcp_tool(description = "adds")]
fn tool() {}

fn main() {}
