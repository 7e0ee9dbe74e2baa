use mcp_core::mcp_tool;

#[mcp_tool(tags())]
fn tool() {}

fn main() {}
