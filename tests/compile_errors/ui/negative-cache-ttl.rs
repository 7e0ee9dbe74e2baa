use mcp_core::mcp_tool;

#[mcp_tool(cache_ttl = -1)]
fn tool() {}

fn main() {}
