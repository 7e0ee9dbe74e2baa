use mcp_core::mcp_tool;

struct Plain;

#[mcp_tool]
fn tool(a: Option<Plain>) {
    drop(a);
}

fn main() {}
