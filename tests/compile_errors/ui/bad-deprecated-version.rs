use mcp_core::mcp_tool;

#[mcp_tool(deprecated_in = "soon")]
fn tool() {}

fn main() {}
