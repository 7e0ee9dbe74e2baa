use mcp_core::mcp_tool;

#[mcp_tool(readonly)]
fn tool() {}

fn main() {
    tool();
}
