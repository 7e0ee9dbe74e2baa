use mcp_core::mcp_tool;

trait Calculator {
    #[mcp_tool]
    fn add(a: i64) -> i64;
}

fn main() {}
