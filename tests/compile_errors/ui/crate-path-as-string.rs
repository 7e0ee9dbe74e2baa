use mcp_core::mcp_tool;

#[mcp_tool(crate = "mcp_core")]
fn tool() {}

fn main() {}
