use mcp_core::mcp_tool;

struct NotJson;

#[mcp_tool(input_schema = NotJson)]
fn tool() {}

fn main() {}
