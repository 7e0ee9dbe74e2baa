use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: Option<impl Into<String>>) {
    let _: Option<String> = a.map(Into::into);
}

fn main() {
    tool(Some("a"));
}
