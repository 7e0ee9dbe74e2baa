use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(secret, header = "Key")] a: String) {
    drop(a);
}

fn main() {}
