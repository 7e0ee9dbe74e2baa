use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(max = 5, example = 6)] a: i32) -> i32 {
    a
}

fn main() {}
