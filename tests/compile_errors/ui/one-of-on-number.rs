use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(one_of("1", "2"))] a: u8) -> u8 {
    a
}

fn main() {}
