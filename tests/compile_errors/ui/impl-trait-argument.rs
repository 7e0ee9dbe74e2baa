use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: impl Into<String>) {
    let _: String = a.into();
}

fn main() {
    tool("a");
}
