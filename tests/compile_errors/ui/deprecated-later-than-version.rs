use mcp_core::mcp_tool;

#[mcp_tool(version = "1.2.0", deprecated_in = "2.0.0")]
fn tool() {}

fn main() {}
