use mcp_core::mcp_tool;

#[mcp_tool(name = "")]
fn tool() {}

fn main() {}
