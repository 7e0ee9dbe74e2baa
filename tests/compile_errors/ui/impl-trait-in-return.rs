use mcp_core::mcp_tool;

#[mcp_tool]
fn tool() -> Option<impl Iterator<Item = i32>> {
    Some(0..3)
}

fn main() {
    tool();
}
