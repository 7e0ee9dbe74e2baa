use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(alias = "a")] a: i32) -> i32 {
    a
}

fn main() {}
