use mcp_core::mcp_tool;

struct Plain;

#[mcp_tool]
fn tool(#[arg(flatten)] a: Plain) {
    drop(a);
}

fn main() {}
