use mcp_core::mcp_tool;

#[mcp_tool(module = "calc.")]
fn tool() {}

fn main() {}
