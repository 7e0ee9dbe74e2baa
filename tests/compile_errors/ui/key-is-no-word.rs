use mcp_core::mcp_tool;

#[mcp_tool("calc.add")]
fn tool() {}

fn main() {
    tool();
}
