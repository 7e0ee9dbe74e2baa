use mcp_core::mcp_tool;
use mcp_core::schemars::{self, JsonSchema};

#[derive(serde::Deserialize, serde::Serialize, JsonSchema)]
struct Plain {}

#[mcp_tool]
fn tool(#[arg(default)] a: Plain) {
    drop(a);
}

fn main() {}
