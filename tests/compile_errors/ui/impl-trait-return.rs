use mcp_core::mcp_tool;

#[mcp_tool]
fn tool() -> impl Iterator<Item = i32> {
    0..3
}

fn main() {
    tool();
}
