use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: &dyn Fn()) {
    a();
}

fn main() {}
