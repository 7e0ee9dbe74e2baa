use mcp_core::mcp_tool;

#[mcp_tool(title = "A", title = "B")]
fn tool() {}

fn main() {
    tool();
}
