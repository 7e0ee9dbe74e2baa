use mcp_core::mcp_tool;

#[mcp_tool(zzz)]
fn tool() {}

fn main() {}
