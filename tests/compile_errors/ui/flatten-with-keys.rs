use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(flatten, default)] a: Vec<i32>) -> i32 {
    a[0]
}

fn main() {}
