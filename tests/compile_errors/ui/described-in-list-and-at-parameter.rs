use mcp_core::mcp_tool;

/// Adds.
///
/// # Arguments
/// - `a`: the first
#[mcp_tool]
fn tool(
    /// The first.
    a: i32,
) -> i32 {
    a
}

fn main() {}
