use mcp_core::mcp_tool;

#[mcp_tool]
extern "C" fn tool() {}

fn main() {
    tool();
}
