use mcp_core::mcp_tool;

#[mcp_tool(title = 3)]
fn tool() {}

fn main() {}
