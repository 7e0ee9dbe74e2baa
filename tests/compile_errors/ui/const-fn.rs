use mcp_core::mcp_tool;

#[mcp_tool]
const fn tool() {}

const _: () = tool();

fn main() {}
