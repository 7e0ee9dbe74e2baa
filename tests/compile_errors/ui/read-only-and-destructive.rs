use mcp_core::mcp_tool;

#[mcp_tool(read_only, destructive)]
fn tool() {}

fn main() {}
