use mcp_core::{ToolError, mcp_tool};

#[mcp_tool]
fn tool() -> Resutl<i32, ToolError> {
    Ok(1)
}

fn main() {}
