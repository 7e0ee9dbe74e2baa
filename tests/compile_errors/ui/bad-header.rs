use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(header = "My Region")] a: String) {
    drop(a);
}

fn main() {}
