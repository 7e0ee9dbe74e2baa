use mcp_core::mcp_tool;

#[mcp_tool(readonly, version = "1", timeout = "soon")]
unsafe fn tool<T>(_: i32, #[arg(min = 5, max = 1)] b: i32, c: Option<&str>, d: impl Into<String>) -> ! {
    let _ = (b, c, d.into());
    panic!()
}

fn main() {}
