use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(min = 1)] a: String) {
    drop(a);
}

fn main() {
    tool(String::new());
}
