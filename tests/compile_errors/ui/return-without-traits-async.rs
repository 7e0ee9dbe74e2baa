use mcp_core::mcp_tool;

struct Plain;

#[mcp_tool]
async fn tool() -> Plain {
    Plain
}

fn main() {}
