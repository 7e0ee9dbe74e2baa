use mcp_core::mcp_tool;

#[mcp_tool]
fn größe() {}

fn main() {}
