use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[cfg(any())] a: i32, b: i32) -> i32 {
    b
}

fn main() {}
