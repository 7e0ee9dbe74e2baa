use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[ctx(clone)] a: &i32) -> i32 {
    *a
}

fn main() {}
