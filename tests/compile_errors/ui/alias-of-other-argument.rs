use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: i32, #[arg(alias = "a")] b: i32) -> i32 {
    a + b
}

fn main() {}
