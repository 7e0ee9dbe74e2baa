use mcp_core::mcp_tool;

#[mcp_tool]
struct Tool;

fn main() {
    let _ = Tool;
}
