use mcp_core::mcp_tool;

#[mcp_tool(timeout = "0s")]
fn tool() {}

fn main() {}
