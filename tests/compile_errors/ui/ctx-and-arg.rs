use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[ctx] #[arg(min = 1)] a: &i32) -> i32 {
    *a
}

fn main() {}
