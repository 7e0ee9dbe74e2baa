use mcp_core::mcp_tool;

struct Calculator;

impl Calculator {
    #[mcp_tool]
    fn make(a: i64) -> Result<Self, String> {
        let _ = a;
        Ok(Self)
    }
}

fn main() {
    let _ = Calculator::make(1);
}
