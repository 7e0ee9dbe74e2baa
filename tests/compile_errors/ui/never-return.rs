use mcp_core::mcp_tool;

#[mcp_tool]
fn tool() -> ! {
    loop {}
}

fn main() {}
