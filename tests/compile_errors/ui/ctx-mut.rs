use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[ctx] a: &mut i32) {
    *a = 1;
}

fn main() {}
