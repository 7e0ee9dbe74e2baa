use mcp_core::mcp_tool;

#[mcp_tool(timeout = "5 parsecs")]
fn tool() {}

fn main() {}
