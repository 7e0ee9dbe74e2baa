use mcp_core::{ToolError, mcp_tool};

#[mcp_tool]
fn value() -> Result<Missing, ToolError> {
    panic!()
}

#[mcp_tool]
async fn error() -> Result<i32, Missing> {
    panic!()
}

fn main() {}
