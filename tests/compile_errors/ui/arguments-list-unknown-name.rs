use mcp_core::mcp_tool;

/// Adds.
///
/// # Arguments
/// - `first`: the first
#[mcp_tool]
fn tool(a: i32) -> i32 {
    a
}

fn main() {}
