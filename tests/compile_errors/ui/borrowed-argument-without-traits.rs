use mcp_core::mcp_tool;

struct Plain;

#[mcp_tool]
fn tool(a: &Plain) {
    let _ = a;
}

fn main() {}
