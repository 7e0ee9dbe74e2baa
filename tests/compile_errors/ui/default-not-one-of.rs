use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(one_of("a", "b"), default = "c")] a: String) {
    drop(a);
}

fn main() {}
