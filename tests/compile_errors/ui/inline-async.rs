use mcp_core::mcp_tool;

#[mcp_tool(inline)]
async fn tool() {}

fn main() {}
