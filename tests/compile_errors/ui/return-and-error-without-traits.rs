use mcp_core::mcp_tool;

struct Plain;
struct Failure;

#[mcp_tool]
fn tool() -> Result<Plain, Failure> {
    Ok(Plain)
}

fn main() {}
