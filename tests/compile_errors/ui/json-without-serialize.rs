use mcp_core::{Json, mcp_tool};

struct Plain;

#[mcp_tool]
fn tool() -> Json<Plain> {
    Json(Plain)
}

fn main() {}
