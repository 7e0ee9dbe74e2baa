use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[serde(rename = "A")] a: i32) -> i32 {
    a
}

fn main() {
    tool(1);
}
