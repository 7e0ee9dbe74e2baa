use mcp_core::mcp_tool;

#[mcp_tool(meta(owner = compute()))]
fn tool() {}

fn main() {}
