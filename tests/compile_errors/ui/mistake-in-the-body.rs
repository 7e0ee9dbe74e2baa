use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: i32) -> i32 {
    a + missing
}

fn main() {}
