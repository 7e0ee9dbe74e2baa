use mcp_core::mcp_tool;

#[mcp_tool(version = "1.0")]
fn tool() {}

fn main() {}
