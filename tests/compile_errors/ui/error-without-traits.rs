use mcp_core::mcp_tool;

struct Failure;

#[mcp_tool]
fn tool() -> Result<i32, Failure> {
    Err(Failure)
}

fn main() {
    let _ = tool();
}
