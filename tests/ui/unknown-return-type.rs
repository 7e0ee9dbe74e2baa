use mcp_core::mcp_tool;

#[mcp_tool]
fn tool() -> Missing {
    todo!()
}

#[mcp_tool]
async fn later() -> Missing {
    todo!()
}

fn main() {}
