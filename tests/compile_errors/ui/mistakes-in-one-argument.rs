use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(#[arg(minimum = 1, header = "")] (a, b): (&mut i32, i32)) {
    *a = b;
}

fn main() {
    tool((&mut 1, 2));
}
