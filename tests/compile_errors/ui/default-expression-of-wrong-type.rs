use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(default = 5)] a: String) {
    drop(a);
}

fn main() {}
