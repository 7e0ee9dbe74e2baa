use mcp_core::mcp_tool;
use mcp_core::schemars::{self, JsonSchema};

#[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
enum State {
    Open,
    Closed,
}

#[mcp_tool]
fn tool(#[arg(default = "Open")] a: State) {
    drop(a);
}

fn main() {
    tool(State::Open);
    tool(State::Closed);
}
