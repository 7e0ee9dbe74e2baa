use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: Option<&str>) {
    let _ = a;
}

fn main() {
    tool(Some("a"));
}
