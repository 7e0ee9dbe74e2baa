use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: &[&str]) {
    let _ = a;
}

fn main() {}
