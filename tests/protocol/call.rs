//! `tools/call` and its older forms.

use mcp_registry::mcp::{CallToolResult, ProtocolVersion};
use mcp_registry::testing::Client;
use mcp_registry::{Content, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::{STRUCTURED, answer, block_on, client, meta, options, server, short_server};

fn text(result: &CallToolResult) -> &str {
    result.content.iter().find_map(Content::as_text).unwrap_or_default()
}

#[test]
fn f1_f9_a_result_has_content_and_structured_content_in_each_version() {
    for version in STRUCTURED {
        for server in [server(), short_server()] {
            let client = block_on(Client::connect(server, version)).unwrap();
            let call = |name: &str, arguments: Value| block_on(client.call_tool(name, arguments)).unwrap();
            let sum = call("served_add", json!({ "a": 2, "b": 3 }));
            assert_eq!((text(&sum), sum.is_error), ("5", false));
            assert_eq!(sum.structured_content, Some(json!({ "result": 5 })));
            let point = call("served.point", json!({ "x": 1.5, "label": "a \"label\"\\\n" }));
            assert_eq!(point.structured_content, Some(json!({ "x": 1.5, "label": "a \"label\"\\\n" })));
            assert_eq!(serde_json::from_str::<Value>(text(&point)).unwrap(), point.structured_content.unwrap());
            for name in ["served_say", "served_say_slowly"] {
                let said = call(name, json!({ "text": "é \"quoted\" \\ and\nmore" }));
                assert_eq!(text(&said), "é \"quoted\" \\ and\nmore");
            }
            let picture = call("served_picture", json!({}));
            assert_eq!((picture.content.len(), picture.structured_content), (2, None));
            let unchanged = ToolResult::from(call("served_fail", json!({ "how": "nothing to do" })));
            assert_eq!(unchanged.explanation.as_deref(), Some("it was so before"));
            assert_eq!(text(&call("served_hidden", json!({}))), "found", "hidden, but callable");
            let raw = block_on(client.request("tools/call", json!({ "name": "served_add", "arguments": { "a": 1 } })))
                .unwrap();
            assert_eq!(raw.get("resultType").is_some(), version.is_stateless());
            assert!(raw["isError"] == false && raw["content"].is_array());
        }
    }
}

#[test]
fn the_fast_path_and_the_general_path_have_the_same_answers() {
    let calls = [
        ("served_add", json!({ "a": 1 })),
        ("served.add", json!({ "a": -1, "b": 9_007_199_254_740_993_i64 })),
        ("served_add", json!({ "a": "x" })),
        ("served_point", json!({ "x": 0.1 })),
        ("served_point", json!({ "x": 1e300, "label": "\u{1F600}\u{7f}" })),
        ("served_say", json!({ "text": "" })),
        ("served_maybe", json!({ "there": true })),
        ("served_maybe", json!({ "there": false })),
        ("served_named_result", json!({})),
        ("served_fail", json!({ "how": "none left" })),
        ("served_fail", json!({ "how": "nothing to do" })),
        ("served_fail", json!({ "how": "panic" })),
    ];
    let (short, long) = (short_server(), server());
    for version in ProtocolVersion::ALL {
        for (name, arguments) in &calls {
            let mut params = json!({ "name": name, "arguments": arguments });
            if version.is_stateless() {
                params["_meta"] = meta();
            }
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
            let mut out = Vec::new();
            let client = block_on(Client::connect(long.clone(), version)).unwrap();
            assert!(short.begin(message.as_bytes(), client.peer(), &mut out).is_none(), "it is answered at once");
            let answered: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(Some(answered), block_on(client.send(message.as_bytes())), "{version} {name} {arguments}");
        }
    }
}

#[test]
fn c14_f2_f3_f4_f5_each_failure_is_a_protocol_error_or_a_tool_error_as_specified() {
    for version in ProtocolVersion::ALL {
        for server in [server(), short_server()] {
            let client = block_on(Client::connect(server, version)).unwrap();
            let call = |params: Value| block_on(client.request("tools/call", params));
            let unknown = call(json!({ "name": "served_ad", "arguments": {} })).unwrap_err();
            assert_eq!((unknown.code, unknown.message.contains("did you mean `served_add`")), (-32602, true));
            for params in [
                json!({}),
                json!({ "name": 7 }),
                json!({ "name": "served_add", "arguments": [] }),
                json!({ "name": "served_add", "arguments": "{}" }),
                json!({ "name": "served_add", "tool_name": "served_say" }),
                json!({ "name": "served_add", "arguments": { "a": 1 }, "args": { "a": 2 } }),
            ] {
                assert_eq!(call(params.clone()).unwrap_err().code, -32602, "{params}");
            }
            let faults = call(json!({ "name": "served_add", "arguments": { "a": "x", "bb": 1 } })).unwrap();
            let shown = faults["content"][0]["text"].as_str().unwrap();
            assert_eq!(faults["isError"], true);
            assert!(shown.contains("`/a`") && shown.contains("did you mean `b`"), "{shown}");
            let failed = call(json!({ "name": "served_fail", "arguments": { "how": "none left" } })).unwrap();
            assert_eq!(
                (&failed["isError"], failed["content"][0]["text"].as_str()),
                (&json!(true), Some("OutOfStock: none left"))
            );
            let panicked = call(json!({ "name": "served_fail", "arguments": { "how": "panic" } })).unwrap();
            assert_eq!(panicked["isError"], true);
            let refused = call(json!({ "name": "served_delete" })).unwrap();
            assert!(refused["content"][0]["text"].as_str().unwrap().starts_with("PermissionError: `served_delete`"));
            assert_eq!(call(json!({ "name": "served_say", "arguments": null })).unwrap()["isError"], true);
        }
    }
    let strict = server().argument_errors_as_protocol_errors(true);
    let client = Client::new(strict);
    assert_eq!(block_on(client.call_tool("served_add", json!({ "a": "x" }))).unwrap_err().code, -32602);
}

#[test]
fn c3_both_spellings_are_accepted() {
    for params in [
        json!({ "tool_name": "served.add", "args": { "a": 1, "b": 1 } }),
        json!({ "name": "served.add", "tool_name": "served.add", "arguments": { "a": 1, "b": 1 }, "args": { "b": 1, "a": 1 } }),
    ] {
        for method in ["tools/call", "call_tool"] {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            assert!(answer(&server(), &message.to_string()).unwrap().get("result").is_some(), "{message}");
        }
    }
}

#[test]
fn s2_19_s2_20_call_tool_returns_the_bare_data() {
    let call = |params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": "req-1", "method": "call_tool", "params": params });
        answer(&server(), &message.to_string()).unwrap()
    };
    let point = call(json!({ "tool_name": "served.point", "args": { "x": 2.0 } }));
    assert_eq!(point, json!({ "jsonrpc": "2.0", "id": "req-1", "result": { "x": 2.0, "label": null } }));
    assert_eq!(call(json!({ "tool_name": "served.add", "args": { "a": 1 } }))["result"], json!({ "result": 2 }));
    let failed = call(json!({ "tool_name": "served.fail", "args": { "how": "none left" } }));
    assert_eq!(
        (&failed["error"]["code"], &failed["error"]["data"]["error_type"]),
        (&json!(40000), &json!("OutOfStock"))
    );
    let missing = call(json!({ "tool_name": "served.add", "args": {} }));
    assert_eq!(missing["error"]["code"], -32602);
    assert!(missing["error"]["data"]["details"].to_string().contains("/a"), "{missing}");
    assert_eq!(call(json!({ "tool_name": "served.delete" }))["error"]["code"], 40300);
    assert_eq!(call(json!({ "tool_name": "served.nothing" }))["error"]["code"], -32602);
}

#[test]
fn s2_33_call_tool_fails_with_the_phrase_of_the_code_and_the_sentence_in_details() {
    let error = |params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "call_tool", "params": params });
        answer(&server(), &message.to_string()).unwrap()["error"].clone()
    };
    for (params, code, phrase, sentence) in [
        (json!({ "tool_name": "served.add", "args": {} }), -32602, "Invalid params", "`a`"),
        (json!({ "tool_name": "served.nothing" }), -32602, "Invalid params", "no tool is named `served.nothing`"),
        (json!({}), -32602, "Invalid params", "`name` is missing"),
        (json!({ "tool_name": 7 }), -32602, "Invalid params", "`params`"),
        (
            json!({ "tool_name": "served.add", "_meta": { "progressToken": [] } }),
            -32602,
            "Invalid params",
            "`progressToken`",
        ),
        (
            json!({ "tool_name": "served.fail", "args": { "how": "none left" } }),
            40000,
            "Tool execution error",
            "none left",
        ),
        (json!({ "tool_name": "served.delete" }), 40300, "Permission denied", "trust level"),
    ] {
        let error = error(params.clone());
        assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(phrase)), "{params}");
        let details = error["data"]["details"].as_str().unwrap_or_else(|| panic!("{params}: {error}"));
        assert!(details.contains(sentence), "{params}: {details}");
        assert!(error["data"]["error_type"].is_string(), "{params}");
    }
    let newer = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"served_nothing"}}"#;
    let error = answer(&server(), newer).unwrap()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("no tool is named"), "{error}");
}

#[test]
fn s3_55_a_server_can_read_flat_calls_strictly() {
    let large = "x".repeat(200_000);
    for (call, field) in [
        (json!({ "tool_name": "served.say", "arguments": { "text": "a" }, "trace": 1 }), "trace"),
        (json!({ "tool_name": "served.say", "arguments": { "text": large }, "trace": 1 }), "trace"),
        (json!({ "tool_name": "served_say", "arguments": { "text": "a" } }), "tool_name"),
        (json!({ "name": "served.say", "arguments": { "text": "a" } }), "name"),
        (json!({ "tool_name": "served.say", "args": { "text": "a" } }), "args"),
    ] {
        let call = call.to_string();
        assert_eq!(answer(&server(), &call).unwrap()["status"], "success", "lenient: {field}");
        assert_eq!(answer(&server().strict_flat_calls(false), &call).unwrap()["status"], "success");
        let refused = answer(&server().strict_flat_calls(true), &call).unwrap();
        let refused = ToolResult::from_value(refused).unwrap().error.unwrap();
        assert_eq!(refused.error_type, "ValidationError");
        assert!(refused.error_message.contains(&format!("`{field}`")), "{}", refused.error_message);
    }
    for text in ["a", &large] {
        let exact = ToolCall::new("served.say", json!({ "text": text })).to_json();
        assert_eq!(answer(&server().strict_flat_calls(true), &exact).unwrap()["data"]["result"], text);
    }
}

#[test]
fn c1_a_flat_call_is_answered_with_a_flat_result() {
    let flat = |message: Value| ToolResult::from_value(answer(&server(), &message.to_string()).unwrap()).unwrap();
    assert_eq!(flat(json!({ "tool_name": "served.add", "arguments": { "a": 1 } })).data, Some(json!({ "result": 2 })));
    for message in [
        json!({ "tool_name": "served.add" }),
        json!({ "tool_name": "served.add", "arguments": { "a": "x" } }),
        json!({ "arguments": {} }),
    ] {
        assert_eq!(flat(message).error.unwrap().error_type, "ValidationError");
    }
    assert_eq!(flat(json!({ "tool_name": "no.tool", "arguments": {} })).error.unwrap().error_type, "ToolNotFoundError");
    let call = ToolCall::new("served.say_slowly", json!({ "text": "a" }));
    assert_eq!(answer(&server(), &call.to_json()).unwrap()["data"]["result"], "a");
}

#[test]
fn a_call_by_an_alias_has_a_notice_in_its_result() {
    for version in ProtocolVersion::ALL {
        let result = block_on(client(version).call_tool("served.shout", json!({ "text": "a" }))).unwrap();
        assert_eq!(result.meta["mcp-registry/notices"][0]["name"], "served.say_slowly");
    }
}

#[test]
fn g13_a_tool_can_read_the_request_and_the_connection() {
    for version in STRUCTURED {
        let client = block_on(Client::connect_with(server(), version, options())).unwrap();
        let params = json!({ "name": "served_know", "_meta": { "traceparent": "00-1-2-01" } });
        let known = block_on(client.request("tools/call", params)).unwrap()["structuredContent"].clone();
        assert_eq!(
            (&known["caller"], &known["trace"], &known["extension"]),
            (&json!("ada"), &json!("00-1-2-01"), &json!(7))
        );
        assert!(known["request"].is_string());
    }
}

#[test]
fn c23_ids_are_returned_unchanged() {
    for id in [json!(0), json!(-7), json!("seven"), json!(""), json!(u64::MAX)] {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "served_add", "arguments": { "a": 1 } } });
        for server in [server(), short_server()] {
            assert_eq!(answer(&server, &message.to_string()).unwrap()["id"], id);
        }
    }
}
