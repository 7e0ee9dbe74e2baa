use mcp_core::{ToolContext, mcp_tool};

#[mcp_tool(inline)]
fn tool(#[ctx] cx: ToolContext) {
    drop(cx);
}

fn main() {}
