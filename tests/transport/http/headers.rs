//! The headers that repeat parts of the message (D12 to D14, E18).

use serde_json::{Value, json};

use super::served::{Served, builder};
use super::wire::{Ask, OLDER, call, modern};

fn add() -> Ask {
    call("2026-07-28", "t_add", json!({ "a": 2, "b": 3 }))
}

#[test]
fn d13_the_method_header_must_repeat_the_method() {
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
fn d13_the_name_header_must_repeat_the_name() {
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
fn d14_a_header_value_may_be_encoded_as_base64() {
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
    // Half a marker is not a marker.
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

#[test]
fn d14_e18_parameter_headers_must_repeat_the_arguments() {
    let served = Served::start();
    for (arguments, headers) in [
        (json!({}), &[][..]),
        (json!({ "region": null, "count": null, "place": null }), &[]),
        (json!({ "region": "eu" }), &[("Region", "eu")]),
        (json!({ "region": "eu" }), &[("rEGION", " eu\t")]),
        (json!({ "region": "eu" }), &[("Region", "=?base64?ZXU=?=")]),
        (json!({ "region": " é\n" }), &[("Region", "=?base64?IMOpCg==?=")]),
        (json!({ "region": "" }), &[("Region", "")]),
        (json!({ "region": "=?base64?" }), &[("Region", "=?base64?")]),
        (json!({ "region": "42" }), &[("Region", "42")]),
        (json!({ "count": 42 }), &[("Count", "42")]),
        (json!({ "count": 42 }), &[("Count", "42.0")]),
        (json!({ "count": 42.0 }), &[("Count", "42")]),
        (json!({ "count": -7 }), &[("Count", "-7")]),
        (json!({ "count": i64::MAX }), &[("Count", "9223372036854775807")]),
        (json!({ "dry": true }), &[("Dry", "true")]),
        (json!({ "dry": false }), &[("Dry", "false")]),
        (json!({ "place": { "zip": 99 } }), &[("Zip", "99")]),
        (json!({ "place": {} }), &[]),
        (json!({ "region": "eu", "count": 1, "dry": true }), &[("Dry", "true"), ("Count", "1"), ("Region", "eu")]),
        (json!({}), &[("Unknown", "eu")]),
    ] {
        let reply = served.ask(&mirrored(arguments.clone(), headers));
        assert_eq!(reply.refusal(), (200, 0), "{arguments} {headers:?}");
    }
    for (arguments, headers) in [
        (json!({ "region": "eu" }), &[][..]),
        (json!({ "region": "eu" }), &[("Region", "us")]),
        (json!({ "region": "eu" }), &[("Region", "EU")]),
        (json!({ "region": "eu" }), &[("Region", "")]),
        (json!({ "region": "eu" }), &[("Region", "eu"), ("Region", "eu")]),
        (json!({ "region": "eu" }), &[("Region", "=?base64?ZXU?=")]),
        (json!({ "region": "eu" }), &[("Region", "=?base64?Z!XU=?=")]),
        (json!({ "region": "é" }), &[("Region", "é")]),
        (json!({ "region": "" }), &[]),
        (json!({ "region": "4.2e1" }), &[("Region", "42")]),
        (json!({}), &[("Region", "eu")]),
        (json!({ "region": null }), &[("Region", "null")]),
        (json!({ "region": null }), &[("Region", "")]),
        (json!({ "count": 42 }), &[("Count", "43")]),
        (json!({ "count": 42 }), &[("Count", "x42")]),
        (json!({ "count": 42 }), &[("Count", "NaN")]),
        (json!({ "count": 9_007_199_254_740_993_i64 }), &[("Count", "9007199254740992")]),
        (json!({ "count": i64::MAX }), &[("Count", "9223372036854775806")]),
        (json!({ "dry": true }), &[("Dry", "false")]),
        (json!({ "dry": true }), &[("Dry", "1")]),
        (json!({ "place": { "zip": 99 } }), &[]),
        (json!({ "place": { "zip": 99 } }), &[("Zip", "98")]),
        (json!({}), &[("Zip", "98")]),
    ] {
        let reply = served.ask(&mirrored(arguments.clone(), headers));
        assert_eq!(reply.refusal(), (400, -32020), "{arguments} {headers:?}");
        assert_eq!(reply.json()["id"], 1);
    }
}

#[test]
fn e18_no_spelling_of_an_argument_bypasses_its_header() {
    let served = Served::start();
    let raw = |arguments: &str, header: Option<&str>| {
        let ask = call("2026-07-28", "t_mirrored", json!("ARGUMENTS"));
        let body = String::from_utf8(ask.body.clone()).unwrap().replace("\"ARGUMENTS\"", arguments);
        let mut ask = ask;
        ask.body = body.into_bytes();
        served.ask(&match header {
            Some(header) => ask.with("Mcp-Param-Region", header),
            None => ask,
        })
    };
    let seen = |arguments: &str, header: Option<&str>| {
        let reply = raw(arguments, header);
        // Refused, or not called.
        (reply.status == 200 && reply.json()["result"]["isError"] == false).then(|| reply.result().to_string())
    };
    assert!(seen(r#"{"region":"eu"}"#, Some("eu")).is_some());
    assert!(seen(r#"{"\u0072egion":"eu"}"#, Some("eu")).is_some());
    assert_eq!(seen(r#"{"\u0072egion":"eu"}"#, None), None, "an escaped name");
    for header in [None, Some("us"), Some("eu")] {
        let both = seen(r#"{"region":"eu","region":"us"}"#, header);
        assert_eq!(both, None, "twice, with {header:?}");
    }
    assert_eq!(seen(r#"{"area":"eu"}"#, None), None, "an alias");
    assert_eq!(seen(r#"{"area":"eu"}"#, Some("us")), None, "an alias");
    // Messages that cannot be parsed as a whole, but perhaps in parts.
    for depth in 120..140 {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(seen(&format!(r#"{{"region":"eu","anything":{deep}}}"#), None), None, "{depth} levels");
    }
    for anything in ["1e999", r#""\ud800""#, "-0", "1E400"] {
        assert_eq!(seen(&format!(r#"{{"region":"eu","anything":{anything}}}"#), None), None, "{anything}");
    }
}
