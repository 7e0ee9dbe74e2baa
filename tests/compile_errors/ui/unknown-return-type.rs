use mcp_core::mcp_tool;

#[mcp_tool]
fn tool() -> Missing {
    panic!()
}

#[mcp_tool]
async fn later() -> Missing {
    panic!()
}

fn main() {}
