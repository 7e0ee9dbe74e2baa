use mcp_core::mcp_tool;

#[derive(serde::Serialize)]
struct Plain {}

#[mcp_tool]
fn tool() -> Result<Plain, String> {
    Ok(Plain {})
}

fn main() {}
