use mcp_core::mcp_tool;

#[mcp_tool(aliases("old.name", "old name"))]
fn tool() {}

fn main() {}
