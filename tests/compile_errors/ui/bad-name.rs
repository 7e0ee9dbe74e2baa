use mcp_core::mcp_tool;

#[mcp_tool(name = "calc add")]
fn tool() {}

fn main() {
    tool();
}
