use mcp_core::mcp_tool;

#[mcp_tool(deprecated_in = "1.0.0", replaced_by = "new name")]
fn tool() {}

fn main() {}
