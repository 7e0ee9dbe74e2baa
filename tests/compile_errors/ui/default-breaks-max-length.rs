use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(max_length = 2, default = "long")] a: &str) {
    let _ = a;
}

fn main() {}
