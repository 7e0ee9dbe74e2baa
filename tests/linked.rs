//! The crate that `unlinked.rs` forgets is named here.

use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, Registry, ToolCall, tools};

mcp_registry::link_tools!(unnamed_tools);

#[test]
fn k_4_k_6_p3_the_tools_of_a_named_crate_are_there() {
    let registry = Registry::builder().expect_tools([("unnamed-tools", 2)]).build().unwrap();
    let names: Vec<String> = registry.list_registered_tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["unnamed_tools.shout", "unnamed_tools.whisper"]);
}

#[test]
fn p3_tools_named_one_by_one_need_no_linked_set() {
    let registry = Registry::builder_of(tools![unnamed_tools::shout, unnamed_tools::nested::whisper]).build().unwrap();
    let shouted = registry.call_blocking(&ToolCall::new("unnamed_tools_shout", json!({ "text": "hey" })));
    assert_eq!(shouted.data, Some(json!({ "result": "HEY" })));
    assert_eq!(Catalog::linked().unwrap().len(), 2);
}

#[test]
fn p1_the_function_stays_a_function() {
    assert_eq!(unnamed_tools::shout("hey".to_owned()), "HEY");
}
