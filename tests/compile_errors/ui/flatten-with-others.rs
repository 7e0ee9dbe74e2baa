use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(flatten)] a: Vec<i32>, b: i32) -> i32 {
    a[0] + b
}

fn main() {}
