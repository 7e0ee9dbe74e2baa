use mcp_core::mcp_tool;

#[mcp_tool]
fn tool((a, b): (i32, i32), _: u8) -> i32 {
    a + b
}

fn main() {
    tool((1, 2), 3);
}
