use mcp_core::mcp_tool;

#[mcp_tool(tags("a", 2))]
fn tool() {}

fn main() {}
