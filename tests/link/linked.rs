//! The crate that `unlinked.rs` forgets is named here, beside one that depends on `mcp-registry` alone and one that calls
//! `mcp-core` by another name.

use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, Registry, ToolCall, tools};

mcp_registry::link_tools!(unnamed_tools, only_registry, renamed);

#[test]
fn k_4_k_6_p3_the_tools_of_a_named_crate_are_linked() {
    let registry =
        Registry::builder().expect_tools([("unnamed-tools", 2), ("only-registry", 2), ("renamed", 1)]).build().unwrap();
    let names: Vec<String> = registry.list_registered_tools().iter().map(|tool| tool.name().to_owned()).collect();
    let expected = [
        "only_registry.double",
        "only_registry.half",
        "renamed.triple",
        "unnamed_tools.shout",
        "unnamed_tools.whisper",
    ];
    assert_eq!(names, expected);
    for (name, result) in [("only_registry.double", 8), ("only_registry.half", 2), ("renamed.triple", 12)] {
        assert_eq!(
            registry.call_blocking(&ToolCall::new(name, json!({ "n": 4 }))).data,
            Some(json!({ "result": result }))
        );
    }
}

#[test]
fn p3_tools_named_one_by_one_need_no_linked_set() {
    let registry = Registry::builder_of(tools![unnamed_tools::shout, unnamed_tools::nested::whisper]).build().unwrap();
    let shouted = registry.call_blocking(&ToolCall::new("unnamed_tools_shout", json!({ "text": "hey" })));
    assert_eq!(shouted.data, Some(json!({ "result": "HEY" })));
    assert_eq!(Catalog::linked().unwrap().len(), 5);
}

#[test]
fn p1_a_tool_can_still_be_called_as_a_function() {
    assert_eq!(unnamed_tools::shout("hey"), "HEY");
}
