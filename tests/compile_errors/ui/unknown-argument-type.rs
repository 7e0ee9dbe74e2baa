use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: Missing) {
    drop(a);
}

fn main() {}
