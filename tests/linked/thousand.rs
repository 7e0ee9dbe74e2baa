//! A thousand tools in one crate: counted, all listed, all called.

use mcp_registry::serde_json::json;
use mcp_registry::{Registry, ToolCall};

mcp_registry::link_tools!(thousand);

#[test]
fn a_thousand_tools_are_linked_listed_and_called() {
    let registry = Registry::builder()
        .select(|tool| tool.package() == "thousand")
        .expect_tools([("thousand", 1000)])
        .build()
        .unwrap();
    let tools = registry.list_registered_tools();
    assert_eq!(tools.len(), 1000);
    assert!(tools.windows(2).all(|pair| pair[0].name() < pair[1].name()));
    for n in 0..1000 {
        let name = format!("thousand.add_{n}");
        assert_eq!(registry.get_tool_schema(&name).unwrap()["required"], json!(["a"]));
        assert_eq!(
            registry.call_blocking(&ToolCall::new(&name, json!({ "a": 1 }))).data,
            Some(json!({ "result": 1 + n }))
        );
        assert_eq!(
            registry.call_blocking(&ToolCall::new(&name, json!({ "a": 1, "b": 2 }))).data,
            Some(json!({ "result": 3 }))
        );
    }
}
