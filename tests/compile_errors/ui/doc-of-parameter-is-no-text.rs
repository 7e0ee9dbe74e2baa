use mcp_core::mcp_tool;

const WORDS: &str = "The first.";

#[mcp_tool]
fn tool(#[doc = WORDS] a: i32) -> i32 {
    a
}

fn main() {}
