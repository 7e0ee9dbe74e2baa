use mcp_core::mcp_tool;

#[derive(Default)]
struct Plain;

#[mcp_tool]
fn tool(#[arg(default)] a: Plain) {
    drop(a);
}

fn main() {}
