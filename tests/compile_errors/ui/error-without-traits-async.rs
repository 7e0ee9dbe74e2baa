use mcp_core::mcp_tool;

struct Failure;

#[mcp_tool]
async fn tool() -> Result<i32, Failure> {
    Err(Failure)
}

fn main() {}
