use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(default, min_items = 1)] a: Vec<&str>) {
    let _ = a;
}

fn main() {}
