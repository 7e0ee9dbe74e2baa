use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(_: i32) {}

fn main() {
    tool(1);
}
