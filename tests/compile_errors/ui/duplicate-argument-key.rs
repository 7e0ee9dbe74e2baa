use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(min = 1)] #[arg(min = 2)] a: i32) -> i32 {
    a
}

fn main() {}
