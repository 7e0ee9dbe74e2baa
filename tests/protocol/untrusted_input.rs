//! Whatever it receives, the server answers as the protocol requires, and keeps working.

use std::time::{Duration, Instant};

use mcp_registry::Server;
use mcp_registry::protocol::Peer;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{answer, block_on, meta, server, short_server};

fn code(message: &str) -> Option<i64> {
    answer(&server(), message).map(|answer| answer["error"]["code"].as_i64().unwrap_or_default())
}

#[test]
fn s2_5_to_s2_8_each_mistake_has_its_code() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"served_add","arguments":{{"a":{deep}}}}}}}"#
    );
    for (message, expected) in [
        ("", Some(-32700)),
        ("{", Some(-32700)),
        ("nonsense", Some(-32700)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping""#, Some(-32700)),
        (deep.as_str(), Some(0)),
        ("[]", Some(-32600)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some(-32600)),
        ("17", Some(-32600)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nonsense"}"#, Some(-32601)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, Some(-32601)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, Some(-32602)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, Some(-32602)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, Some(-32602)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"served_add","_meta":7}}"#, Some(-32602)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":["2026-07-28",{}]}}"#, Some(-32602)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":null}}"#, Some(0)),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":[1]}}"#, None),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","method":"tools/call","params":7}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#, None),
    ] {
        let shown = &message[..message.len().min(80)];
        assert_eq!(code(message), expected, "{shown}");
    }
    assert_eq!(block_on(server().handle(b"\xff\xfe", &Peer::new())).map(|answer| answer.len() > 20), Some(true));
}

#[test]
fn an_invalid_request_is_answered_under_its_id() {
    for (members, id, message) in [
        (r#""id":1,"method":"ping","params":{},"params":{}"#, json!(1), "`params` is a duplicate key"),
        (r#""params":{"name":"served_add"},"id":[1],"method":"tools/call""#, json!(null), "`id` must be a string or"),
        (r#""params":{},"id":"\ud800","method":"ping""#, json!(null), "`id` is not a valid JSON string"),
        (r#""params":{"name":"served_add"},"id":1,"method":["tools/call"]"#, json!(1), "`method` must be a string"),
        (
            r#""id":1,"method":"ping","params":[null,null,null,null,null,null,null,null,null,null]"#,
            json!(1),
            "`params` must",
        ),
        (
            r#""id":"\u0061","method":"tools/list","params":{"name":5}"#,
            json!("a"),
            "`params`: invalid type: integer `5`",
        ),
        (
            r#""id":1,"method":"tools/list","params":{"name":"a","name":"b"}"#,
            json!(1),
            "`params`: duplicate field `name`",
        ),
    ] {
        let answer = answer(&server(), &format!(r#"{{"jsonrpc":"2.0",{members}}}"#)).unwrap();
        assert_eq!(answer["id"], id, "{members}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(message), "{members}: {answer}");
    }
}

#[test]
fn a_request_is_answered_whatever_the_order_and_escapes_of_its_members() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = format!(
        r#""deep":{deep},"method":"tools/call","params":{{"deep":{deep},"name":"served_add","args":{{"a":1}}}}"#
    );
    for members in [
        r#""params":{"arguments":{"a":1},"name":"served_add"},"method":"tools/call""#,
        r#""method":"tools\/c\u0061ll","params":{"name":"served\u005fadd","arguments":{"a":1}}"#,
        r#""name":7,"name":[],"method":"tools/call","params":{"name":"served_add","arguments":{"a":1}}"#,
        &deep,
    ] {
        for (id, told) in [("7", json!(7)), ("-0", json!(0)), (r#""a\n""#, json!("a\n"))] {
            for message in [
                format!(r#"{{{members},"id":{id},"jsonrpc":"2.0"}}"#),
                format!(r#" {{ "jsonrpc" : "2\u002e0", "id" : {id}, {members} }} "#),
            ] {
                let answer = answer(&server(), &message).unwrap();
                assert_eq!(
                    (&answer["id"], &answer["result"]["structuredContent"]["result"]),
                    (&told, &json!(2)),
                    "{answer}"
                );
            }
        }
    }
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let server = server().max_message_bytes(1000);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "served_say", "arguments": { "text": "x".repeat(2000) } } });
    let refused = answer(&server, &message.to_string()).unwrap();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &json!(null)));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (spaces, is_refused) in [(0, false), (1000 - ping.len(), false), (1001 - ping.len(), true)] {
        let answer = answer(&server, &format!("{ping}{}", " ".repeat(spaces))).unwrap();
        assert_eq!(answer.get("error").is_some(), is_refused, "{spaces}: {answer}");
    }
}

#[test]
fn a_long_name_or_method_is_not_echoed_whole() {
    let long = "n".repeat(1_000_000);
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": long }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": long } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "cursor": long } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": { "level": long } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": long, "io.modelcontextprotocol/clientCapabilities": {} } } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "served_add", "arguments": { long.as_str(): 1 } } }),
    ] {
        let answer = answer(&server(), &message.to_string()).unwrap().to_string();
        assert!(answer.len() < 4000, "{} bytes", answer.len());
    }
}

/// JSON in the shape of a message, with arbitrary values.
fn near_message() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_./]{0,12}".prop_map(Value::from),
        Just(json!("served_add")),
        Just(json!("2026-07-28")),
        Just(meta()),
    ];
    let key = prop_oneof![
        Just("name".to_owned()),
        Just("tool_name".to_owned()),
        Just("arguments".to_owned()),
        Just("args".to_owned()),
        Just("_meta".to_owned()),
        Just("cursor".to_owned()),
        Just("a".to_owned()),
        Just("notifications".to_owned()),
        Just("requestId".to_owned()),
        Just("progressToken".to_owned()),
        Just("io.modelcontextprotocol/protocolVersion".to_owned()),
        Just("io.modelcontextprotocol/clientCapabilities".to_owned()),
        "[a-z]{0,6}",
    ];
    let value = leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    });
    let method = prop_oneof![
        Just("tools/call"),
        Just("tools/list"),
        Just("call_tool"),
        Just("list_tools"),
        Just("initialize"),
        Just("ping"),
        Just("server/discover"),
        Just("subscriptions/listen"),
        Just("logging/setLevel"),
        Just("notifications/cancelled"),
        Just("nonsense"),
    ];
    (prop::option::of(value.clone()), method, prop::option::of(value), any::<bool>()).prop_map(
        |(id, method, params, rpc)| {
            let mut message = json!({ "method": method });
            let object = message.as_object_mut().unwrap();
            if rpc {
                object.insert("jsonrpc".into(), "2.0".into());
            }
            id.map(|id| object.insert("id".into(), id));
            params.map(|params| object.insert("params".into(), params));
            message
        },
    )
}

/// The answer, which must come soon.
fn answered(server: &Server, message: &[u8]) -> Option<Vec<u8>> {
    let peer = Peer::builder().on_notification(|message| {
        assert!(serde_json::from_slice::<Value>(&message).unwrap()["method"].is_string());
    });
    let peer = peer.build();
    let started = Instant::now();
    let mut out = Vec::new();
    let answer = match server.begin(message, &peer, &mut out) {
        None => (!out.is_empty()).then_some(out),
        Some(rest) => {
            assert!(out.is_empty());
            peer.finish();
            block_on(rest)
        }
    };
    assert!(started.elapsed() < Duration::from_secs(20));
    answer
}

/// Checks that the answer is one line of JSON of the right form, and comes soon.
fn survives(message: &[u8]) {
    for server in [server(), short_server()] {
        let answer = answered(&server, message);
        if let Some(answer) = &answer {
            assert!(!answer.contains(&b'\n'));
            let answer: Value = serde_json::from_slice(answer).expect("an answer is JSON");
            let is_flat = answer.get("status").is_some();
            let is_rpc =
                answer["jsonrpc"] == "2.0" && (answer.get("result").is_some() != answer.get("error").is_some());
            assert!(is_flat != is_rpc, "{answer}");
        }
        if serde_json::from_slice::<Value>(message).is_ok() {
            // A leading space takes a message off the fast path; the answer must be the same.
            assert_eq!(answer, answered(&server, &[b" ", message].concat()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_server_survives_any_bytes(message in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&message);
    }

    #[test]
    fn the_server_survives_anything_like_a_message(message in near_message()) {
        survives(message.to_string().as_bytes());
    }

    #[test]
    fn the_server_survives_a_message_with_a_few_wrong_bytes(at in 0_usize..150, byte in any::<u8>(), cut in 0_usize..150) {
        let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "served_add", "arguments": { "a": 1 }, "_meta": meta() } }).to_string().into_bytes();
        let length = message.len();
        message[at % length] = byte;
        message.truncate(length - cut % 20);
        survives(&message);
    }

    #[test]
    fn the_server_survives_a_request_with_other_members(
        members in prop::collection::vec((0_usize..9, 0_usize..12), 0..7),
    ) {
        let keys = ["jsonrpc", "id", "method", "params", "result", "error", "other", "\\u0069d", "params"];
        let meta = meta().to_string();
        let call = format!(r#"{{"name":"served_add","arguments":{{"a":1}},"_meta":{meta}}}"#);
        let twice = format!(r#"{{"name":"served_add","name":"served_add","_meta":{meta}}}"#);
        let values = [
            "\"2.0\"", "1", "\"tools/call\"", &call, "null", "[]", "-0", "1.0", "\"tools\\/call\"", &twice, "\"a\"",
            "[\"served_add\"]",
        ];
        let members: Vec<String> =
            members.into_iter().map(|(key, value)| format!("\"{}\":{}", keys[key], values[value])).collect();
        survives(format!("{{{}}}", members.join(",")).as_bytes());
        let whole = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{call},{}}}"#, members.join(","));
        survives(whole.as_bytes());
        survives(format!(r#"["2.0",1,"tools/call",{call}]"#).as_bytes());
        survives(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[{meta},"served_add"]}}"#).as_bytes());
    }
}
