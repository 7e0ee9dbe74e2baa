use mcp_core::mcp_tool;
use mcp_core::schemars::{self, JsonSchema};

#[derive(Default, serde::Deserialize, JsonSchema)]
struct Plain {}

#[mcp_tool]
fn tool(#[arg(default)] a: Plain) {
    drop(a);
}

fn main() {}
