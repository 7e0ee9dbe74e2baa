use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: &mut String) {
    a.clear();
}

fn main() {
    tool(&mut String::new());
}
