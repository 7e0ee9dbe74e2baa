use mcp_core::mcp_tool;

#[mcp_tool]
unsafe fn tool() {}

fn main() {
    unsafe { tool() };
}
