use mcp_core::mcp_tool;

#[mcp_tool]
async fn tool(a: Missing) {
    drop(a);
}

fn main() {}
