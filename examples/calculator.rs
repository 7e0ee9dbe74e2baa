//! Answers one call a line on standard input with one result a line on standard output.
//!
//! `echo '{"tool_name": "calc.add", "arguments": {"a": 2, "b": 3}}' | cargo run --example calculator`
use std::io;

use mcp_core::serde_json::json;
use mcp_core::{Error, ErrorType, ToolCall, ToolError, ToolNotFoundError, ToolResult};

fn answer(line: &str) -> Result<ToolResult, Error> {
    let call = ToolCall::parse(line)?;
    let number = |name: &str| {
        let value = call.arguments[name].as_f64();
        value.ok_or_else(|| ToolError::new(ErrorType::VALIDATION_ERROR, format!("`{name}` must be a number; send one")))
    };
    match call.tool_name.as_str() {
        "calc.add" => Ok(ToolResult::data(json!({ "sum": number("a")? + number("b")? }))),
        _ => Err(ToolNotFoundError { name: call.tool_name, did_you_mean: vec!["calc.add".into()] }.into()),
    }
}

fn main() -> mcp_core::Result<()> {
    for line in io::stdin().lines() {
        let result = answer(&line?).unwrap_or_else(ToolResult::failure);
        println!("{}", result.to_json());
    }
    Ok(())
}
