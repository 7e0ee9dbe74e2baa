use mcp_core::mcp_tool;

#[mcp_tool]
const LIMIT: u8 = 1;

fn main() {
    let _ = LIMIT;
}
