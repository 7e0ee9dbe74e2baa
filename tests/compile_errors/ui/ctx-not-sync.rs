use mcp_core::mcp_tool;
use std::cell::Cell;

#[mcp_tool]
fn tool(#[ctx] hits: &Cell<u32>) {
    hits.set(1);
}

fn main() {}
