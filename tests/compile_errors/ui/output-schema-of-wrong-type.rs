use mcp_core::mcp_tool;

struct NotJson;

#[mcp_tool(output_schema = NotJson)]
fn tool() -> i32 {
    1
}

fn main() {}
