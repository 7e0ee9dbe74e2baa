//! `tools/list`: names, order, pages, and the differences between versions.

use mcp_registry::entry::{MetaValue, ToolEntry};
use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::testing::Client;
use mcp_registry::{Registry, RegistryBuilder, Server, Tool, mcp_tool, tools};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{STRUCTURED, answer, block_on, client, server};

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
        assert_eq!(add["_meta"]["owner"], "math");
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

/// May be cached for a minute.
#[mcp_tool(module = "cached", cache_ttl = 60)]
fn minute() {}

/// May be cached for an hour.
#[mcp_tool(module = "cached", cache_ttl = 3600)]
fn hour() {}

#[test]
fn e5_the_list_may_be_cached_as_long_as_each_of_its_tools() {
    let ttl = |entries: &[&'static ToolEntry]| {
        let registry = Registry::builder_of(entries.iter().copied()).build().unwrap();
        let result = block_on(Client::new(Server::new(registry).page_size(1)).request("tools/list", json!({})));
        result.unwrap()["ttlMs"].as_u64()
    };
    assert_eq!(ttl(&tools![hour]), Some(3_600_000));
    assert_eq!(ttl(&tools![minute, hour]), Some(60_000));
    assert_eq!(ttl(&tools![crate::add, hour]), Some(300_000));
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
fn pages_are_in_the_order_of_the_names_on_the_wire_and_lose_no_tool() {
    // As canonical names, `a.z` is before `a_b.c`.
    let tools = ["a.z", "a_b.c", "a.a"].map(|name| Tool::new(name, json!({ "type": "object" }), |_, _| async {}));
    let registry = tools.into_iter().fold(Registry::builder_of([]), RegistryBuilder::tool).build().unwrap();
    for page_size in [1, 2, 3] {
        let server = Server::new(registry.clone()).page_size(page_size);
        for version in ProtocolVersion::ALL {
            let client = block_on(Client::connect(server.clone(), version)).unwrap();
            assert_eq!(
                names(&block_on(client.list_tools()).unwrap()),
                ["a_a", "a_b_c", "a_z"],
                "{page_size} {version}"
            );
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
    let meta = &result["result"]["_meta"];
    assert_eq!(meta["mcp-registry/contract"]["digest"], server().registry().catalog().digest());
    assert_eq!(meta["tools_count"], 10);
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

/// Looks up a word: "é", \u{1f600}.
///
/// # Migration
///
/// `word` was `text` in 1.x.
#[mcp_tool(
    module = "pinned",
    title = "Look up",
    version = "2.0.0",
    deprecated_in = "2.0.0",
    replaced_by = "served.say",
    read_only,
    meta(owner = "words", level = 3)
)]
fn look_up(#[arg(max_length = 40, example = "a\tb")] word: String, #[arg(min = 0.5)] weight: f64) -> Option<String> {
    (weight > 1.0).then_some(word)
}

#[test]
fn s1_39_s1_41_a_listed_tool_has_its_version_its_digest_and_what_became_of_it() {
    let server = Server::new(Registry::builder_of(tools![look_up, crate::add]).build().unwrap());
    let tool = server.registry().get("pinned.look_up").unwrap();
    let pinned = json!({
        "name": "pinned.look_up",
        "version": "2.0.0",
        "digest": tool.digest(),
        "deprecatedIn": "2.0.0",
        "replacedBy": "served.say",
        "migration": "`word` was `text` in 1.x.",
    });
    let meta = json!({ "owner": "words", "level": 3, "mcp-registry/tool": pinned });
    for version in STRUCTURED {
        let client = block_on(Client::connect(server.clone(), version)).unwrap();
        let tools = block_on(client.list_tools()).unwrap();
        assert_eq!(tools[0]["_meta"], meta);
        let add = server.registry().get("served.add").unwrap();
        let expected = json!({ "name": "served.add", "version": "1.0.0", "digest": add.digest() });
        assert_eq!(tools[1]["_meta"]["mcp-registry/tool"], expected, "what a tool does not have is left out");
    }
    let legacy = answer(&server, r#"{"jsonrpc":"2.0","id":1,"method":"list_tools"}"#).unwrap();
    assert_eq!(legacy["result"]["tools"][0]["_meta"], meta);
    let entry = json!(tool);
    assert_eq!((&entry["version"], &entry["digest"]), (&json!("2.0.0"), &json!(tool.digest())));
    assert_eq!(entry["metadata"]["migration"], "`word` was `text` in 1.x.");
}

/// RFC 8785, as far as the tools here need it.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
            let members: Vec<_> =
                members.iter().map(|(key, value)| format!("{}:{}", json!(key), canonical(value))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Number(number) => number.as_f64().unwrap().to_string(),
        value => value.to_string(),
    }
}

#[test]
fn s1_41_the_digest_of_a_tool_is_that_of_its_entry_in_the_newest_version() {
    let schema = json!({
        "type": "object",
        "properties": { "\u{fb33}": { "const": "\u{1f600}\n" }, "\u{1f600}": { "minimum": -1.50 }, "any": true },
    });
    let dynamic = Tool::new("x.dynamic", schema.clone(), |_, _| async {}).output_schema(schema);
    let registry = crate::builder().tools(tools![look_up]).tool(dynamic).build().unwrap();
    let client = block_on(Client::connect(Server::new(registry), ProtocolVersion::V2026_07_28)).unwrap();
    let tools = block_on(client.list_tools()).unwrap();
    assert_eq!(tools.len(), 12);
    for mut tool in tools {
        let meta = tool["_meta"]["mcp-registry/tool"].take();
        let pinned = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
        tool.as_object_mut().unwrap().retain(|key, _| pinned.contains(&key.as_str()));
        let digits: Vec<String> = Sha256::digest(canonical(&tool)).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(meta["digest"], format!("sha256:{}", digits.concat()), "{tool}");
    }
}

#[test]
fn metadata_cannot_replace_what_the_registry_says_of_a_tool() {
    let [like] = tools![crate::add];
    let meta: &'static [(&str, MetaValue)] = &[("mcp-registry/tool", MetaValue::Str("mine"))];
    let entry: &'static ToolEntry =
        Box::leak(Box::new(ToolEntry::new("x.y", like.origin.clone(), like.call).meta(meta)));
    let error = Registry::builder_of([entry]).build().unwrap_err().to_string();
    assert!(
        error.contains("`x.y` has the metadata key `mcp-registry/tool`, which the registry writes itself"),
        "{error}"
    );
}
