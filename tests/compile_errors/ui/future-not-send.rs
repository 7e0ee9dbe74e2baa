use mcp_core::mcp_tool;
use std::rc::Rc;

#[mcp_tool]
async fn tool() {
    let held = Rc::new(1);
    std::future::ready(()).await;
    drop(held);
}

fn main() {}
