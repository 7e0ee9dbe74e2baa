use mcp_core::mcp_tool;
use std::error::Error;

#[mcp_tool]
fn tool() -> Result<i32, Box<dyn Error>> {
    Ok(1)
}

fn main() {
    let _ = tool();
}
