//! `tools/list`: names, order, pages, and the differences between versions.

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::testing::{Client, block_on};
use mcp_registry::{Registry, Server, Tool};
use serde_json::{Value, json};

use crate::{STRUCTURED, answer, client, server};

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn e1_e19_a_tool_is_listed_as_each_version_requires() {
    for version in STRUCTURED {
        let tools = block_on(client(version).list_tools()).unwrap();
        let names = names(&tools);
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
        assert!(!names.contains(&"served_hidden") && names.len() == 10);
        let add = tools.iter().find(|tool| tool["name"] == "served_add").unwrap();
        assert_eq!((&add["title"], &add["description"]), (&json!("Add"), &json!("Adds two numbers.")));
        assert_eq!(add["inputSchema"]["required"], json!(["a"]));
        assert_eq!(add["outputSchema"]["properties"]["result"]["type"], "integer");
        assert_eq!(add["annotations"], json!({ "title": "Add", "readOnlyHint": true }));
        assert_eq!(add["_meta"], json!({ "owner": "math" }));
        for tool in &tools {
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert!(tool.get("outputSchema").is_none_or(|schema| schema["type"] == "object"));
        }
    }
}

#[test]
fn e5_the_newest_version_says_how_long_the_list_may_be_cached() {
    let result = block_on(client(ProtocolVersion::V2026_07_28).request("tools/list", json!({}))).unwrap();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(300_000), &json!("public")));
    assert_eq!(result["resultType"], "complete");
    let result = block_on(client(ProtocolVersion::V2025_11_25).request("tools/list", json!({}))).unwrap();
    assert_eq!(result.as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
}

#[test]
fn e4_pages_follow_each_other_by_cursor() {
    let server = server().page_size(3);
    for version in ProtocolVersion::ALL {
        let client = block_on(Client::connect(server.clone(), version)).unwrap();
        let all = block_on(client.list_tools()).unwrap();
        assert_eq!(names(&all).len(), 10);
        let first = block_on(client.request("tools/list", json!({ "cursor": "" }))).unwrap();
        assert_eq!(first["tools"].as_array().unwrap().len(), 3);
        let cursor = &first["nextCursor"];
        let second = block_on(client.request("tools/list", json!({ "cursor": cursor }))).unwrap();
        assert_eq!(second["tools"][0], all[3]);
        for cursor in [json!("no cursor!"), json!("\u{0}"), json!(7)] {
            let error = block_on(client.request("tools/list", json!({ "cursor": cursor }))).unwrap_err();
            assert_eq!(error.code, -32602, "{cursor}");
        }
    }
}

#[test]
fn a_cursor_stays_valid_when_a_tool_is_registered() {
    let registry = server().registry().clone();
    let server = Server::new(registry.clone()).page_size(5);
    let client = Client::new(server);
    let first = block_on(client.request("tools/list", json!({}))).unwrap();
    registry.register(Tool::new("a.first", json!({ "type": "object" }), |_, _| async {})).unwrap();
    let second = block_on(client.request("tools/list", json!({ "cursor": first["nextCursor"] }))).unwrap();
    let mut seen = names(first["tools"].as_array().unwrap());
    seen.extend(names(second["tools"].as_array().unwrap()));
    assert_eq!(seen.len(), 10, "none is missed and none comes twice: {seen:?}");
    assert_eq!(block_on(client.list_tools()).unwrap().len(), 11);
}

#[test]
fn s2_17_s2_18_c2_list_tools_returns_full_definitions_and_can_be_switched_off() {
    let result = answer(&server(), r#"{"jsonrpc":"2.0","id":"1","method":"list_tools","params":{}}"#).unwrap();
    let tools = result["result"]["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &result["id"]), (10, &json!("1")));
    for tool in tools {
        assert!(tool["name"].is_string() && tool["description"].is_string(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    let off = server().legacy_methods(false);
    for method in ["list_tools", "call_tool"] {
        let message = json!({ "jsonrpc": "2.0", "id": "1", "method": method, "params": { "tool_name": "served.add" } });
        assert_eq!(answer(&off, &message.to_string()).unwrap()["error"]["code"], -32601, "{method}");
    }
}

#[test]
fn boolean_schemas_are_objects_for_older_clients() {
    let schema = json!({ "type": "object", "properties": { "any": true, "deep": { "type": "object", "properties": { "none": false } } } });
    let registry = Registry::builder_of([]).tool(Tool::new("x.y", schema.clone(), |_, _| async {})).build().unwrap();
    let server = Server::new(registry);
    let listed = |version| {
        let client = block_on(Client::connect(server.clone(), version)).unwrap();
        block_on(client.list_tools()).unwrap()[0]["inputSchema"]["properties"].clone()
    };
    assert_eq!(listed(ProtocolVersion::V2026_07_28), schema["properties"]);
    assert_eq!(listed(ProtocolVersion::V2025_11_25)["any"], json!({}));
    assert_eq!(listed(ProtocolVersion::V2025_11_25)["deep"]["properties"]["none"], json!({ "not": {} }));
}

#[test]
fn an_empty_list_is_a_list() {
    let server = Server::new(Registry::builder_of([]).allow_empty().build().unwrap());
    assert!(block_on(Client::new(server).list_tools()).unwrap().is_empty());
}
