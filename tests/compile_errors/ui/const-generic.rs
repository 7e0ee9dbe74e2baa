use mcp_core::mcp_tool;

#[mcp_tool]
fn tool<const N: usize>(a: [u8; N]) {
    let _ = a;
}

fn main() {
    tool([1, 2]);
}
