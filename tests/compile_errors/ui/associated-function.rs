use mcp_core::mcp_tool;

struct Calculator;

impl Calculator {
    #[mcp_tool]
    fn add(a: i64) -> i64 {
        a
    }
}

fn main() {
    Calculator::add(1);
}
