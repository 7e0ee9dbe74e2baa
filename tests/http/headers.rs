//! The headers that repeat what a message says (D12 to D14, E18).

use serde_json::{Value, json};

use crate::served::{Served, builder};
use crate::wire::{Ask, OLDER, call, modern};

fn add() -> Ask {
    call("2026-07-28", "t_add", json!({ "a": 2, "b": 3 }))
}

#[test]
fn d13_the_method_is_repeated() {
    let served = Served::start();
    for (header, status) in [
        ("tools/call", 200),
        ("  tools/call\t", 200),
        ("tools/list", 400),
        ("Tools/Call", 400),
        ("TOOLS/CALL", 400),
        ("tools/call,tools/list", 400),
        ("=?base64?dG9vbHMvY2FsbA==?=", 400),
        ("", 400),
        ("\u{e9}", 400),
    ] {
        let reply = served.ask(&add().with("Mcp-Method", header));
        assert_eq!(reply.status, status, "{header}");
        assert!(status == 200 || reply.code() == -32020, "{header}");
    }
    assert_eq!(served.ask(&add().without("Mcp-Method")).refusal(), (400, -32020));
    assert_eq!(served.ask(&add().and("Mcp-Method", "tools/call")).refusal(), (400, -32020), "twice");
    assert_eq!(served.ask(&add().without("Mcp-Method").with("mCP-mETHOD", "tools/call")).status, 200);
    for method in ["tools/list", "server/discover", "nonsense"] {
        let reply = served.ask(&modern(method, json!({})).without("Mcp-Method"));
        assert_eq!(reply.refusal(), (400, -32020), "{method}");
    }
}

#[test]
fn d13_the_name_is_repeated() {
    let served = Served::start();
    for (header, status) in [
        ("t_add", 200),
        ("\t t_add ", 200),
        ("T_ADD", 400),
        ("t.add", 400),
        ("t_echo", 400),
        ("", 400),
        ("t_add\u{e9}", 400),
    ] {
        let reply = served.ask(&add().with("Mcp-Name", header));
        assert_eq!(reply.status, status, "{header}");
        assert!(status == 200 || reply.code() == -32020, "{header}");
    }
    assert_eq!(served.ask(&add().without("Mcp-Name")).refusal(), (400, -32020));
    assert_eq!(served.ask(&add().and("Mcp-Name", "t_add")).refusal(), (400, -32020), "twice");
    assert_eq!(served.ask(&call("2026-07-28", "t.add", json!({ "a": 2, "b": 3 }))).result(), 5, "another name of it");
    let unknown = call("2026-07-28", "t_ad", json!({})).with("Mcp-Name", "t_add");
    assert_eq!(served.ask(&unknown).refusal(), (400, -32020), "before it is looked for");
}

#[test]
fn d14_a_value_may_be_encoded() {
    let served = Served::start();
    for (header, status) in [
        ("=?base64?dF9hZGQ=?=", 200),
        (" =?base64?dF9hZGQ=?= ", 200),
        ("=?base64?dF9hZGQ?=", 400),
        ("=?base64?dF9hZGQ==?=", 400),
        ("=?base64?dF9h*ZGQ=?=", 400),
        ("=?base64?dF9h ZGQ=?=", 400),
        ("=?base64?/w==?=", 400),
        ("=?base64??=", 400),
        ("=?base64?dF9hZGQ=", 400),
        ("dF9hZGQ=?=", 400),
        ("=?BASE64?dF9hZGQ=?=", 400),
        ("=?base64?dF9lY2hv?=", 400),
    ] {
        let reply = served.ask(&add().with("Mcp-Name", header));
        assert_eq!(reply.status, status, "{header}");
        assert!(status == 200 || reply.code() == -32020, "{header}");
    }
    // Half a marker is no marker.
    for name in ["=?base64?dF9hZGQ=", "dF9hZGQ=?=", "=?base64?="] {
        let reply = served.ask(&call("2026-07-28", name, json!({})));
        assert_eq!(reply.refusal(), (200, -32602), "the header fits, and there is no such tool: {name}");
    }
    let name = "é\r\nSet-Cookie: a=b";
    let reply =
        served.ask(&call("2026-07-28", name, json!({})).with("Mcp-Name", "=?base64?w6kNClNldC1Db29raWU6IGE9Yg==?="));
    assert_eq!(reply.refusal(), (200, -32602));
    assert_eq!(reply.header("set-cookie"), None, "it is told in the body alone");
}

fn mirrored(arguments: Value, headers: &[(&str, &str)]) -> Ask {
    let ask = call("2026-07-28", "t_mirrored", arguments);
    headers.iter().fold(ask, |ask, (name, value)| ask.and(&format!("Mcp-Param-{name}"), value))
}

#[test]
fn d13_the_older_versions_have_no_such_headers() {
    let served = Served::start();
    for version in OLDER {
        let ask = call(version, "t_mirrored", json!({ "region": "eu" }));
        let ask = ask.with("Mcp-Method", "nonsense").with("Mcp-Name", "=?base64?!?=").with("Mcp-Param-Region", "us");
        assert_eq!(served.ask(&ask).status, 200);
    }
}

#[test]
fn e18_a_header_is_checked_for_a_tool_that_is_registered_later() {
    let served = Served::start();
    let schema = json!({ "type": "object", "properties": { "key": { "type": "string", "x-mcp-header": "Key" } } });
    let tool = mcp_registry::Tool::new("t.late", schema, |_, _| async { "new".to_owned() }).description("Is late.");
    served.registry.register(tool).unwrap();
    let ask = call("2026-07-28", "t_late", json!({ "key": "a" }));
    assert_eq!(served.ask(&ask).refusal(), (400, -32020));
    assert_eq!(served.ask(&ask.with("Mcp-Param-Key", "a")).status, 200);
    let list = builder(&served.log).build().unwrap().list_registered_tools();
    assert!(list.iter().any(|tool| tool.name() == "t.mirrored"));
}
