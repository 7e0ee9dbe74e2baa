use mcp_core::mcp_tool;

#[derive(serde::Deserialize)]
struct Plain {}

#[mcp_tool]
fn tool(a: Plain) {
    drop(a);
}

fn main() {}
