//! Each kind of message, in each version.

use mcp_registry::stdio::serve_lines;
use mcp_registry::{CallOptions, Server};
use serde_json::{Value, json};

use super::served::{Log, Served, builder, initialize, new_tool};
use super::wire::{Ask, Event, OLDER, VERSIONS, call, in_version, meta, modern, notification, older};

#[test]
fn d1_d6_a_request_is_answered_as_json() {
    let served = Served::start();
    for version in VERSIONS {
        for (tool, arguments, result) in [
            ("t_add", json!({ "a": 2, "b": 3 }), json!(5)),
            ("t_echo", json!({ "text": "é\u{2028}\r\n" }), json!("é\u{2028}\r\n")),
            ("t_say", json!({ "text": "" }), json!("")),
        ] {
            let reply = served.ask(&call(version, tool, arguments));
            assert_eq!((reply.status, reply.result()), (200, result), "{version} {tool}");
            let answer = reply.json();
            assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)));
            assert_eq!(answer["result"].get("resultType").is_some(), version == "2026-07-28", "A5");
            assert_eq!(reply.header("mcp-session-id"), None);
        }
        let reply = served.ask(&in_version(version, "tools/list", json!({})));
        assert!(reply.json()["result"]["tools"].as_array().unwrap().len() > 10);
    }
    let reply = served.ask(&Ask::post(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#));
    assert_eq!((reply.status, &reply.json()["id"]), (200, &json!("a")), "A9: without params, without a header");
}

#[test]
fn d1_there_is_one_path_and_other_methods_are_not_allowed() {
    let served = Served::start();
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE", "FOO"] {
        let reply = served.ask(&Ask::new(method));
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, GET, DELETE")), "{method}");
    }
    let mut wire = served.wire();
    wire.send(Ask::new("HEAD").bytes());
    assert_eq!(wire.head().status, 405);
    wire.no_body();
    assert_eq!(wire.ask(&Ask::new("PUT")).status, 405, "the connection goes on");
    for line in ["POST / HTTP/1.1", "POST /mcp/ HTTP/1.1", "POST /mcp/x HTTP/1.1", "GET /MCP HTTP/1.1"] {
        let reply = served.ask(&in_version("2026-07-28", "tools/list", json!({})).line(line));
        assert_eq!(reply.status, 404, "{line}");
    }
    let query = in_version("2026-07-28", "tools/list", json!({})).line("POST /mcp?a=b HTTP/1.1");
    assert_eq!(served.ask(&query).status, 200);
    let elsewhere = Served::with(|http| http.path("/tools/v1"));
    let ask = in_version("2026-07-28", "tools/list", json!({}));
    assert_eq!(elsewhere.ask(&ask).status, 404);
    assert_eq!(elsewhere.ask(&ask.line("POST /tools/v1 HTTP/1.1")).status, 200);
}

#[test]
fn a_message_must_be_sent_as_json() {
    let served = Served::start();
    for version in VERSIONS {
        let list = in_version(version, "tools/list", json!({}));
        for kind in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=\"UTF-8\""] {
            assert_eq!(served.ask(&list.clone().with("Content-Type", kind)).status, 200, "{kind}");
        }
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin1",
            "json",
            "",
            "\u{e9}",
        ] {
            let reply = served.ask(&list.clone().with("Content-Type", kind));
            assert_eq!(reply.refusal(), (415, -32600), "{kind}");
        }
        assert_eq!(served.ask(&list.clone().without("Content-Type")).status, 415);
    }
}

#[test]
fn d6_an_answer_has_a_form_that_the_client_accepts() {
    let served = Served::start();
    for version in VERSIONS {
        let add = call(version, "t_add", json!({ "a": 2, "b": 3 }));
        for accept in [
            "application/json",
            "application/json, text/event-stream",
            "text/event-stream, application/json",
            "*/*",
            "application/*;q=0.1",
            "APPLICATION/json;q=1.0,text/event-stream;q=0",
        ] {
            assert_eq!(served.ask(&add.clone().with("Accept", accept)).result(), 5, "{accept}");
        }
        assert_eq!(served.ask(&add.clone().without("Accept")).result(), 5);
        for accept in ["text/event-stream", "text/*", "text/event-stream, application/json;q=0"] {
            let reply = served.ask(&add.clone().with("Accept", accept));
            assert_eq!(reply.status, 200);
            assert_eq!(reply.header("x-accel-buffering"), Some("no"), "D17");
            let [Event::Named(name, answer)] = &reply.events()[..] else { panic!("{reply:?}") };
            assert_eq!((name.as_str(), &answer["result"]["structuredContent"]["result"]), ("message", &json!(5)));
        }
        for accept in ["text/html", "image/*, text/plain", "application/json;q=0", "json"] {
            let reply = served.ask(&add.clone().with("Accept", accept));
            assert_eq!(reply.refusal(), (406, -32600), "{accept}");
        }
    }
    // A stream has no other form.
    assert_eq!(served.ask(&Ask::new("GET").with("Accept", "application/json")).refusal(), (406, -32600));
    // A progress token has no effect if events are not accepted.
    for version in VERSIONS {
        let steps =
            super::wire::call_told(version, "t_steps", json!({ "count": 3 })).with("Accept", "application/json");
        assert_eq!(served.ask(&steps).result(), 3);
    }
}

#[test]
fn d5_a_notification_is_accepted_without_a_body() {
    let served = Served::start();
    for version in VERSIONS {
        for message in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":[]}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t_panic"}}"#,
            // Responses to requests of a server are accepted, too.
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#,
        ] {
            let ask = Ask::post(message).with("MCP-Protocol-Version", version);
            let ask = ask.with("Mcp-Method", "notifications/initialized");
            let reply = served.ask(&ask);
            assert_eq!((reply.status, reply.body.len()), (202, 0), "{version} {message}");
            assert_eq!(reply.header("content-type"), None);
        }
    }
    for message in [r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#, r#"{"jsonrpc":"2.0","method":7}"#] {
        let reply = served.ask(&Ask::post(message));
        assert_eq!(reply.refusal(), (400, -32600), "{message}");
        assert_eq!(reply.json()["id"], json!(null));
    }
    let odd = notification("notifications/initialized", &json!({})).with("MCP-Protocol-Version", "1999-01-01");
    assert_eq!(served.ask(&odd).refusal(), (400, -32022));
}

#[test]
fn a1_a2_a4_a_body_that_is_not_a_message_is_refused() {
    let served = Served::start();
    for version in VERSIONS {
        for (message, code) in [
            (&b"{"[..], -32700),
            (b"nonsense", -32700),
            (b"\xef\xbb\xbf{}", -32700),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
            (b"\xff\xfe\x00", -32700),
            (b"[]", -32600),
            (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            (b"17", -32600),
            (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
            (br#"{"jsonrpc":"2.0","id":1}"#, -32600),
        ] {
            let reply = served.ask(&Ask::post(message).with("MCP-Protocol-Version", version));
            let shown = String::from_utf8_lossy(message);
            assert_eq!(reply.refusal(), (400, code), "{version} {shown}");
        }
        let empty = Ask::post("").with("Content-Length", "0").with("MCP-Protocol-Version", version);
        assert_eq!(served.ask(&empty).refusal(), (400, -32700), "nothing at all");
    }
}

#[test]
fn d15_b12_an_unknown_method_is_not_found_in_the_newest_version_alone() {
    let served = Served::start();
    for method in ["ping", "initialize", "logging/setLevel", "list_tools", "call_tool", "resources/list", "nonsense"] {
        let reply = served.ask(&modern(method, json!({ "protocolVersion": "2025-11-25" })));
        assert_eq!(reply.refusal(), (404, -32601), "{method}");
        assert_eq!(reply.json()["id"], 1);
    }
    for version in OLDER {
        for method in ["resources/list", "nonsense", "subscriptions/listen", ""] {
            let reply = served.ask(&in_version(version, method, json!({})));
            assert_eq!(reply.refusal(), (200, -32601), "{method}");
        }
        assert_eq!(served.ask(&in_version(version, "ping", json!({}))).json()["result"], json!({}));
    }
}

#[test]
fn f2_f3_f4_f5_a_failed_call_is_an_answer_with_status_200() {
    let served = Served::start();
    for version in VERSIONS {
        let unknown = served.ask(&call(version, "t_ad", json!({})));
        assert_eq!(unknown.refusal(), (200, -32602));
        let nameless = in_version(version, "tools/call", json!({}));
        assert_eq!(served.ask(&nameless).refusal(), (200, -32602));
        assert_eq!(served.ask(&call(version, "t_add", json!([]))).refusal(), (200, -32602));
        for (tool, arguments) in [
            ("t_add", json!({ "a": "x" })),
            ("t_fail", json!({})),
            ("t_panic", json!({})),
            ("t_panic_inline", json!({})),
            ("t_panic_async", json!({})),
            ("t_delete", json!({})),
        ] {
            let reply = served.ask(&call(version, tool, arguments));
            assert_eq!((reply.status, &reply.json()["result"]["isError"]), (200, &json!(true)), "{version} {tool}");
        }
    }
    served.is_well();
}

#[test]
fn b9_d15_a_capability_that_the_client_lacks_is_refused() {
    let served = Served::start();
    let reply = served.ask(&call("2026-07-28", "t_needs", json!({})));
    assert_eq!(reply.refusal(), (400, -32021));
    assert!(reply.json()["error"]["data"]["requiredCapabilities"]["sampling"].is_object());
    for version in OLDER {
        let reply = served.ask(&call(version, "t_needs", json!({})));
        assert_eq!((reply.status, &reply.json()["result"]["isError"]), (200, &json!(true)));
    }
}

#[test]
fn b6_b7_d12_d15_each_request_of_the_newest_version_carries_its_version_and_capabilities() {
    let served = Served::start();
    let ask = |meta: Value, header: Option<&str>| {
        let params = json!({ "_meta": meta });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
        let ask = Ask::post(message.to_string()).with("Mcp-Method", "tools/list");
        served.ask(&match header {
            Some(header) => ask.with("MCP-Protocol-Version", header),
            None => ask,
        })
    };
    let newest = Some("2026-07-28");
    let (version, capabilities) =
        ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities");
    assert_eq!(ask(meta(), newest).status, 200);
    assert_eq!(ask(meta(), Some(" 2026-07-28\t ")).status, 200, "blanks are nothing");
    for header in [newest, None, Some("2025-11-25"), Some("nonsense")] {
        let reply = ask(json!({ version: "2026-07-28" }), header);
        assert_eq!(reply.refusal(), (400, -32602), "no capabilities, with {header:?}");
        let reply = ask(json!({ capabilities: {} }), header);
        assert_eq!(reply.refusal(), (400, -32602), "no version, with {header:?}");
    }
    assert_eq!(ask(json!({}), newest).refusal(), (400, -32602), "neither");
    assert_eq!(ask(json!(null), newest).refusal(), (400, -32602), "no `_meta`");
    assert_eq!(ask(json!({ version: "2026-07-28", capabilities: [] }), newest).refusal(), (400, -32602));
    assert_eq!(ask(json!({ version: 7, capabilities: {} }), newest).refusal(), (400, -32602));
    for header in [None, Some("2025-11-25"), Some("2026-07-29"), Some("nonsense"), Some("")] {
        assert_eq!(ask(meta(), header).refusal(), (400, -32020), "{header:?}");
    }
    for other in ["2027-01-01", "2025-11-25", "nonsense", ""] {
        let mut meta = meta();
        meta[version] = other.into();
        let reply = ask(meta.clone(), Some(other));
        assert_eq!(reply.refusal(), (400, -32022), "{other}");
        let data = &reply.json()["error"]["data"];
        assert_eq!((&data["requested"], &data["supported"][0]), (&json!(other), &json!("2026-07-28")));
        assert_eq!(ask(meta, newest).refusal(), (400, -32020), "the header is held against it first");
    }
    let twice = modern("tools/list", json!({})).and("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(served.ask(&twice).refusal(), (400, -32020));
    let reply = served.ask(&modern("server/discover", json!({})));
    assert_eq!(
        reply.json()["result"]["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"])
    );
}

#[test]
fn d11_an_older_version_that_is_not_supported_is_refused() {
    let served = Served::start();
    for header in ["2024-11-05", "1999-01-01", "nonsense", "", "2025-11-25, 2025-06-18"] {
        let list = older("tools/list", &json!({})).with("MCP-Protocol-Version", header);
        let reply = served.ask(&list);
        assert_eq!(reply.refusal(), (400, -32022), "{header}");
        assert!(!reply.json()["error"]["data"]["supported"].to_string().contains("2024-11-05"));
        let listen = Ask::new("GET").with("MCP-Protocol-Version", header).with("Accept", "text/event-stream");
        assert_eq!(served.ask(&listen).refusal(), (400, -32022), "{header}");
    }
    for bytes in [&b"\xff"[..], b"\xe9"] {
        let list = older("tools/list", &json!({})).with("MCP-Protocol-Version", bytes);
        assert_eq!(served.ask(&list).refusal(), (400, -32020));
    }
    let none = older("tools/list", &json!({})).without("MCP-Protocol-Version");
    assert_eq!(served.ask(&none).status, 200);
}

#[test]
fn b2_initialize_agrees_on_an_older_version() {
    let served = Served::start();
    for (wanted, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let reply = served.ask(&initialize(wanted));
        assert_eq!(reply.json()["result"]["protocolVersion"], given, "{wanted}");
    }
}

#[test]
fn a_tool_that_is_registered_later_is_served() {
    let served = Served::start();
    for version in VERSIONS {
        assert_eq!(served.ask(&call(version, "t_later", json!({}))).code(), -32602);
    }
    served.registry.register(new_tool("t.later")).unwrap();
    for version in VERSIONS {
        assert_eq!(served.ask(&call(version, "t_later", json!({}))).result(), "new");
        let list = served.ask(&in_version(version, "tools/list", json!({}))).json();
        assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "t_later"));
    }
}

#[test]
fn d15_a_client_that_accepts_no_events_cannot_listen() {
    let listen = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let reply = Served::start().ask(&listen.with("Accept", "application/json"));
    assert_eq!(reply.refusal(), (404, -32601));
}

#[test]
fn d7_the_newest_version_has_neither_get_nor_delete() {
    let served = Served::start();
    let id = served.session("2025-11-25");
    for method in ["GET", "DELETE"] {
        let ask = Ask::new(method).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Session-Id", &id);
        let reply = served.ask(&ask.with("Accept", "text/event-stream"));
        assert_eq!(reply.status, 405, "{method}");
        assert!(reply.header("allow").unwrap().contains("POST"));
    }
    let ping = older("ping", &json!({})).with("Mcp-Session-Id", &id);
    assert_eq!(served.ask(&ping).status, 200, "the session is still there");
}

#[test]
fn a_flat_call_is_answered_unless_its_headers_contradict_it() {
    let served = Served::start();
    let flat = Ask::post(r#"{"tool_name":"t.add","arguments":{"a":1,"b":2}}"#);
    assert_eq!(served.ask(&flat).json()["data"]["result"], 3);
    assert_eq!(served.ask(&flat.clone().with("MCP-Protocol-Version", "2025-06-18")).json()["data"]["result"], 3);
    // A proxy may have let the request pass because of these headers, which a flat call does not have.
    let hidden = flat.clone().with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "tools/list");
    assert_eq!(served.ask(&hidden).status, 400);
    assert_eq!(served.ask(&flat.with("MCP-Protocol-Version", "nonsense")).status, 400);
}

#[test]
fn s2_28_the_older_methods_answer_with_named_events_if_only_events_are_accepted() {
    let served = Served::start();
    let call = |tool: &str| older("call_tool", &json!({ "tool_name": tool, "args": { "a": 1, "b": 2 } }));
    let list = older("list_tools", &json!({}));
    let named = |ask: &Ask| {
        let reply = served.ask(&ask.clone().with("Accept", "text/event-stream"));
        let [Event::Named(name, answer)] = &reply.events()[..] else { panic!("{reply:?}") };
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)));
        (name.clone(), answer.clone())
    };
    for version in OLDER {
        let version = |ask: &Ask| ask.clone().with("MCP-Protocol-Version", version);
        let (name, answer) = named(&version(&call("t.add")));
        assert_eq!((name.as_str(), &answer["result"]), ("result", &json!({ "result": 3 })));
        let (name, answer) = named(&version(&list));
        assert_eq!(name, "result");
        assert!(answer["result"]["tools"].is_array());
        for wrong in [
            call("t.nothing"),
            call("t.panic"),
            call("t.echo"),
            older("call_tool", &json!({})),
            older("call_tool", &json!({ "tool_name": 7 })),
        ] {
            let (name, answer) = named(&version(&wrong));
            assert_eq!((name.as_str(), answer["error"].is_object()), ("error", true), "{answer}");
        }
        for accept in ["application/json, text/event-stream", "application/json", "*/*"] {
            let ask = |ask: Ask| served.ask(&version(&ask).with("Accept", accept)).json();
            assert_eq!(ask(call("t.add"))["result"], json!({ "result": 3 }));
            assert!(ask(call("t.nothing"))["error"].is_object());
            assert!(ask(list.clone())["result"]["tools"].is_array());
        }
    }
    let without = older("list_tools", &json!({})).without("MCP-Protocol-Version");
    assert_eq!(named(&without).0, "result");
}

#[test]
fn s3_42_s3_49_a_server_gives_the_same_answers_over_stdio_and_http() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let log = Log::new();
    let server = Server::new(builder(&log).build().unwrap());
    let http = Served::new(server.clone(), log, |settings| settings);
    for arguments in [json!({ "a": 1, "b": 2 }), json!({ "a": "x", "b": 2 })] {
        let over_http = http.ask(&call("2025-11-25", "t_add", arguments.clone())).json();
        let params = json!({ "name": "t_add", "arguments": arguments });
        let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let mut output = Vec::new();
        runtime.block_on(serve_lines(server.clone(), CallOptions::new(), line.as_bytes(), &mut output)).unwrap();
        let over_stdio: Value = serde_json::from_slice(&output).unwrap();
        assert!(over_stdio["result"]["isError"].is_boolean(), "{over_stdio}");
        assert_eq!(over_stdio["result"], over_http["result"]);
    }
}
