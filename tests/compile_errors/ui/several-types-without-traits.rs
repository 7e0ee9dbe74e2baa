use mcp_core::mcp_tool;

struct First;
struct Second;
struct Third;

#[mcp_tool]
fn tool(a: First, b: Second) -> Third {
    drop((a, b));
    Third
}

fn main() {}
