use mcp_core::mcp_tool;

#[mcp_tool]
fn tool<T>(a: T) {
    drop(a);
}

fn main() {
    tool(1);
}
