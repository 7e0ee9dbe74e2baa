use mcp_core::mcp_tool;

#[mcp_tool(name = "calc.add", module = "calc")]
fn tool() {}

fn main() {}
