use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(
    /// The first.
    #[arg(description = "the first")]
    a: i32,
) -> i32 {
    a
}

fn main() {}
