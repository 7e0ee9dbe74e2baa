use mcp_core::mcp_tool;

struct Plain;

#[mcp_tool]
fn tool() -> Plain {
    Plain
}

fn main() {
    tool();
}
