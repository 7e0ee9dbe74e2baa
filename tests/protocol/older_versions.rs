//! The versions before 2025-06-18: what they see of tools and results, and the batches of 2025-03-26.

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::protocol::Peer;
use mcp_registry::testing::Client;
use mcp_registry::{Content, Registry, Server, ToolResult, mcp_tool, tools};
use serde_json::{Value, json};

use crate::{block_on, client, server, short_server};

const OLDEST: [ProtocolVersion; 2] = [ProtocolVersion::V2025_03_26, ProtocolVersion::V2024_11_05];

#[test]
fn e7_e10_e16_e19_a_tool_is_listed_without_fields_that_the_version_does_not_know() {
    for version in OLDEST {
        let tools = block_on(client(version).list_tools()).unwrap();
        let add = tools.iter().find(|tool| tool["name"] == "served_add").unwrap();
        let keys: Vec<&String> = add.as_object().unwrap().keys().collect();
        if version == ProtocolVersion::V2024_11_05 {
            assert_eq!(keys, ["name", "description", "inputSchema"]);
        } else {
            assert_eq!(keys, ["name", "description", "inputSchema", "annotations"]);
            assert_eq!(add["annotations"], json!({ "title": "Add", "readOnlyHint": true }));
        }
        for tool in &tools {
            assert!(tool.get("outputSchema").is_none() && tool.get("_meta").is_none(), "{tool}");
        }
    }
}

#[test]
fn f6_f8_a_result_has_no_structured_content() {
    for version in OLDEST {
        for server in [server(), short_server()] {
            let client = block_on(Client::connect(server, version)).unwrap();
            for (tool, arguments, text) in [
                ("served_add", json!({ "a": 2, "b": 3 }), "5"),
                ("served_point", json!({ "x": 1.5, "label": "\"a\"" }), r#"{"x":1.5,"label":"\"a\""}"#),
                ("served_say", json!({ "text": "é \"quoted\"\n" }), "é \"quoted\"\n"),
                ("served_say_slowly", json!({ "text": "slowly" }), "slowly"),
            ] {
                let params = json!({ "name": tool, "arguments": arguments });
                let result = block_on(client.request("tools/call", params)).unwrap();
                let content = json!([{ "type": "text", "text": text }]);
                assert_eq!(result, json!({ "content": content, "isError": false }), "{version} {tool}");
            }
            let params = json!({ "name": "served_fail", "arguments": { "how": "none left" } });
            let failed = block_on(client.request("tools/call", params)).unwrap();
            assert_eq!(
                (&failed["isError"], &failed["content"][0]["text"], failed.get("structuredContent")),
                (&json!(true), &json!("OutOfStock: none left"), None)
            );
        }
    }
}

/// Blocks of every kind.
#[mcp_tool(module = "blocks", inline)]
fn all() -> Vec<Content> {
    vec![
        Content::text("a text"),
        Content::image(b"png", "image/png"),
        Content::resource("file:///a.txt", "text/plain", "a"),
        Content::audio(b"a sound", "audio/wav").with("annotations", json!({ "audience": ["user"] })),
        Content::link("file:///b.txt", "b.txt").with("description", "the other file"),
        Content::Other { kind: "hologram".to_owned(), extra: [("depth".to_owned(), json!(3))].into_iter().collect() },
    ]
}

/// Data without a text.
#[mcp_tool(module = "blocks", inline)]
fn bare() -> ToolResult {
    ToolResult::data(json!({ "a": 1 })).content([] as [Content; 0])
}

fn blocks(version: ProtocolVersion, tool: &str) -> Vec<Value> {
    let server = Server::new(Registry::builder_of(tools![all, bare]).build().unwrap());
    let client = block_on(Client::connect(server, version)).unwrap();
    let mut result = block_on(client.request("tools/call", json!({ "name": tool }))).unwrap();
    assert_eq!(result["isError"], false);
    result["content"].as_array_mut().map(std::mem::take).unwrap()
}

#[test]
fn f6_a_block_that_the_version_does_not_know_becomes_a_text() {
    let newer = blocks(ProtocolVersion::V2025_06_18, "blocks_all");
    for version in OLDEST {
        let mut expected = newer.clone();
        expected[4] = json!({ "type": "text", "text": "b.txt: file:///b.txt (the other file)" });
        expected[5] = json!({ "type": "text", "text": r#"{"type":"hologram","depth":3}"# });
        if version == ProtocolVersion::V2024_11_05 {
            let text = "[audio of type audio/wav, 7 bytes: MCP 2024-11-05 has no audio; use a newer client]";
            expected[3] = json!({ "type": "text", "text": text, "annotations": { "audience": ["user"] } });
        }
        assert_eq!(blocks(version, "blocks_all"), expected, "{version}");
    }
}

#[test]
fn f9_data_without_content_becomes_a_text() {
    assert_eq!(blocks(ProtocolVersion::V2025_06_18, "blocks_bare"), [] as [Value; 0]);
    for version in OLDEST {
        assert_eq!(blocks(version, "blocks_bare"), [json!({ "type": "text", "text": r#"{"a":1}"# })]);
    }
}

#[test]
fn g6_the_oldest_version_has_progress_without_a_message() {
    let client = client(ProtocolVersion::V2024_11_05);
    block_on(client.call_tool("served_steps", json!({}))).unwrap();
    let told = client.notifications();
    let progress = told.iter().find(|it| it["method"] == "notifications/progress").unwrap();
    assert_eq!(progress["params"], json!({ "progressToken": "served_steps", "progress": 1, "total": 2 }));
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn add(id: i64) -> Value {
    request(id, "tools/call", json!({ "name": "served_add", "arguments": { "a": id } }))
}

/// The answers to a batch, sorted by id.
fn batch(client: &Client, batch: &Value) -> Option<Vec<Value>> {
    let Value::Array(mut answers) = block_on(client.send(batch.to_string().as_bytes()))? else {
        panic!("{batch} is not answered with an array")
    };
    answers.sort_by_key(|answer| answer["id"].to_string());
    Some(answers)
}

#[test]
fn a4_a_batch_is_answered_with_an_array() {
    let client = client(ProtocolVersion::V2025_03_26);
    let slow = request(4, "tools/call", json!({ "name": "served_say_slowly", "arguments": { "text": "4" } }));
    let answers = batch(
        &client,
        &json!([
            add(1),
            { "jsonrpc": "2.0", "method": "notifications/initialized" },
            slow,
            request(2, "nonsense", json!({})),
            request(3, "ping", json!({})),
            { "jsonrpc": "2.0", "id": 9, "result": {} },
        ]),
    )
    .unwrap();
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!(answers[0]["result"]["content"][0]["text"], "2");
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!(2), &json!(-32601)));
    assert_eq!(answers[2]["result"], json!({}));
    assert_eq!(answers[3]["result"]["content"][0]["text"], "4");
    assert_eq!(client.peer().in_flight(), 0);
    let one = batch(&client, &json!([slow_call(5)])).unwrap();
    assert_eq!((one.len(), &one[0]["id"]), (1, &json!(5)));
}

fn slow_call(id: i64) -> Value {
    request(id, "tools/call", json!({ "name": "served_say_slowly", "arguments": { "text": "a" } }))
}

#[test]
fn a3_a4_a_batch_without_requests_is_not_answered() {
    let client = client(ProtocolVersion::V2025_03_26);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(batch(&client, &json!([notification, { "jsonrpc": "2.0", "id": 9, "result": {} }])), None);
    // The notification that follows cancels the call.
    let wait = request(1, "tools/call", json!({ "name": "served_wait" }));
    assert_eq!(batch(&client, &json!([wait, notification])), None);
    assert_eq!(client.peer().in_flight(), 0);
}

#[test]
fn a4_an_error_in_a_batch_is_answered_in_its_place() {
    let client = client(ProtocolVersion::V2025_03_26);
    let initialize = request("i", "initialize", json!({ "protocolVersion": "2025-03-26", "capabilities": {} }));
    let flat = json!({ "tool_name": "served.add", "arguments": { "a": 1 } });
    let answers = batch(&client, &json!([initialize, 1, [], flat, add(1)])).unwrap();
    assert_eq!(answers.len(), 5, "{answers:?}");
    for answer in answers.iter().filter(|answer| answer["id"] != 1) {
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
    let error = |message: &str| block_on(client.send(message.as_bytes())).unwrap()["error"]["code"].clone();
    assert_eq!((error("[]"), error("[1,")), (json!(-32600), json!(-32700)));
    assert_eq!(batch(&client, &json!(vec![add(1); 32])).unwrap().len(), 32);
    assert_eq!(error(&json!(vec![add(1); 33]).to_string()), -32600, "as many as may be");
}

/// Letters.
#[mcp_tool(module = "long")]
fn letters(n: usize) -> String {
    "a".repeat(n)
}

/// Letters, at once.
#[mcp_tool(module = "long", inline)]
fn letters_now(n: usize) -> String {
    "a".repeat(n)
}

#[test]
fn the_answers_to_a_batch_have_at_most_8_mib() {
    const MIB: usize = 1 << 20;
    let registry = Registry::builder_of(tools![letters, letters_now]).max_result(16 * MIB).build().unwrap();
    let client = block_on(Client::connect(Server::new(registry), ProtocolVersion::V2025_03_26)).unwrap();
    let call = |id: usize, tool: &str, n: usize| {
        request(i64::try_from(id).unwrap(), "tools/call", json!({ "name": tool, "arguments": { "n": n } }))
    };
    for tools in [["long_letters"; 2], ["long_letters_now"; 2], ["long_letters", "long_letters_now"]] {
        let calls: Vec<Value> = (10..30).map(|id| call(id, tools[id % 2], MIB)).collect();
        let line = block_on(client.server().handle(json!(calls).to_string().as_bytes(), client.peer())).unwrap();
        assert!((7 * MIB..8 * MIB + 10_000).contains(&line.len()), "{tools:?}: {} bytes", line.len());
        let answers = batch(&client, &json!(calls)).unwrap();
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (10..30).collect::<Vec<_>>(), "{tools:?}");
        let refused: Vec<&Value> = answers.iter().filter_map(|answer| answer.get("error")).collect();
        assert_eq!(refused.len(), 13, "{tools:?}");
        for error in refused {
            assert!(error["message"].as_str().unwrap().ends_with("send fewer requests at a time"), "{error}");
        }
        // A single answer may be as long as outside of a batch.
        let one = batch(&client, &json!([call(1, tools[0], 10 * MIB)])).unwrap();
        assert!(one[0].get("result").is_some());
    }
}

#[test]
fn a_subscription_cannot_be_part_of_a_batch() {
    let client = client(ProtocolVersion::V2025_03_26);
    let listen = request(2, "subscriptions/listen", json!({ "notifications": {}, "_meta": crate::meta() }));
    let answers = batch(&client, &json!([add(1), listen])).unwrap();
    assert_eq!(answers[0]["result"]["content"][0]["text"], "2");
    let error = &answers[1]["error"];
    assert_eq!(error["code"], -32600);
    assert!(error["message"].as_str().unwrap().starts_with("`subscriptions/listen` cannot be part"), "{error}");
}

#[test]
fn a4_other_versions_have_no_batches() {
    for version in ProtocolVersion::ALL.into_iter().filter(|version| *version != ProtocolVersion::V2025_03_26) {
        let answer = block_on(client(version).send(json!([add(1)]).to_string().as_bytes())).unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{version}");
    }
    let answer = block_on(server().handle(json!([add(1)]).to_string().as_bytes(), &Peer::new())).unwrap();
    assert!(answer.starts_with(b"{"), "nothing is agreed on yet");
}

#[test]
fn a_batch_is_answered_on_one_line() {
    let client = client(ProtocolVersion::V2025_03_26);
    for message in [json!([add(1), add(2)]), json!([slow_call(1), add(2)])] {
        let answer = block_on(client.server().handle(message.to_string().as_bytes(), client.peer())).unwrap();
        assert!(!answer.contains(&b'\n'), "{message}");
    }
}
