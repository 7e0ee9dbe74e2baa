use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(header = "Region")] a: String, #[arg(header = "region")] b: String) {
    drop((a, b));
}

fn main() {}
