use mcp_core::mcp_tool;

struct Plain;

#[mcp_tool]
fn tool(a: Plain) {
    drop(a);
}

fn main() {
    tool(Plain);
}
