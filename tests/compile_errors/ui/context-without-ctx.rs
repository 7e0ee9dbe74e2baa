use mcp_core::{ToolContext, mcp_tool};

#[mcp_tool]
fn tool(cx: &ToolContext) {
    let _ = cx;
}

fn main() {}
