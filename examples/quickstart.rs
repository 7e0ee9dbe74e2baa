//! The README's program.
use mcp_registry::serde_json::json;
use mcp_registry::{Registry, ToolCall, mcp_tool};

/// Adds two numbers.
#[mcp_tool(module = "calc", read_only)]
fn add(
    /// The first number.
    a: i64,
    /// The second number.
    #[arg(default = 1, max = 1000)]
    b: i64,
) -> i64 {
    a + b
}

fn main() -> mcp_registry::Result<()> {
    let registry = Registry::linked()?;
    for tool in registry.list_registered_tools().iter() {
        println!("{}: {} {}", tool.name(), tool.description(), tool.input_schema());
    }
    let result = registry.call_blocking(&ToolCall::new("calc.add", json!({ "a": 2, "b": 3 })));
    println!("{}", result.to_json());
    Ok(())
}
