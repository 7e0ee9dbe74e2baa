use mcp_core::mcp_tool;

#[mcp_tool(meta(owner = "a", owner = "b"))]
fn tool() {}

fn main() {}
