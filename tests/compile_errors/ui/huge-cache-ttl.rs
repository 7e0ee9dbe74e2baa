use mcp_core::mcp_tool;

#[mcp_tool(cache_ttl = 99999999999)]
fn tool() {}

fn main() {}
