use mcp_core::mcp_tool;

#[mcp_tool(read_only = "yes")]
fn tool() {}

fn main() {}
