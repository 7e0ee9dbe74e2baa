use mcp_core::mcp_tool;

#[doc = concat!("Adds", ".")]
#[mcp_tool(description = "adds")]
fn tool(
    #[doc = concat!("The ", "first.")]
    #[arg(description = "the first")]
    a: i32,
) -> i32 {
    a
}

fn main() {}
