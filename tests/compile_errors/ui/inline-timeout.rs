use mcp_core::mcp_tool;

#[mcp_tool(inline, timeout = "5s")]
fn tool() {}

fn main() {}
