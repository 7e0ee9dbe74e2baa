use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(min_items = 1)] a: &str) {
    let _ = a;
}

fn main() {}
