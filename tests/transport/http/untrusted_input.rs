//! Whatever it receives, the server answers as HTTP requires, and keeps working.

use std::thread;

use mcp_registry::Server;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::served::{Log, Served, builder};
use super::wire::{Ask, VERSIONS, Wire, call, in_version, modern};

/// A server that accepts messages of up to this many bytes.
fn short(bytes: usize) -> Served {
    let log = Log::new();
    let server = Server::new(builder(&log).build().unwrap()).max_message_bytes(bytes);
    Served::new(server, log, |http| http)
}

fn echo(text: &str) -> Ask {
    call("2026-07-28", "t_echo", json!({ "text": text }))
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_connection_ends() {
    let served = short(2000);
    for version in VERSIONS {
        for length in [2_001, 10_000, 300_000] {
            let ask = call(version, "t_say", json!({ "text": "x".repeat(length) }));
            for bytes in [ask.bytes(), ask.in_chunks(100), ask.in_chunks(usize::MAX)] {
                let mut wire = served.wire();
                wire.try_send(bytes);
                let reply = wire.reply();
                assert_eq!(reply.refusal(), (413, -32600), "{version} {length}");
                assert_eq!(reply.header("connection"), Some("close"));
                assert!(wire.is_over());
            }
        }
    }
    let mut wire = served.wire();
    wire.send(echo("").with("Content-Length", "2001").with("Expect", "100-continue").head());
    assert_eq!(wire.head().status, 413, "it is not asked for");
    for length in ["18446744073709551616", "-1", "1,2", "x", "0x10", ""] {
        let mut wire = served.wire();
        wire.send(echo("").with("Content-Length", length).head());
        assert_eq!(wire.reply().status, 400, "{length}");
    }
    let exact = echo("");
    let exact = echo(&"x".repeat(2000 - exact.body.len()));
    assert_eq!(exact.body.len(), 2000);
    assert_eq!(served.ask(&exact).status, 200, "as long as it may be");
    served.is_well();
}

#[test]
fn chunks_may_end_anywhere() {
    let served = Served::start();
    let text = "é\u{10348}\"\\\n世界".repeat(20);
    let ask = echo(&text);
    let mut wire = served.wire();
    for size in [1, 2, 3, 5, 7, 13, 64, 1000, usize::MAX] {
        wire.send(ask.in_chunks(size));
        assert_eq!(wire.reply().result(), text, "{size}");
    }
    // Byte by byte, each in its own packet, with an extension and a trailer.
    let mut bytes = ask.clone().with("Transfer-Encoding", "chunked").head();
    for byte in &ask.body {
        bytes.extend_from_slice(b"1;a=b\r\n");
        bytes.push(*byte);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\nX-Trailer: a\r\n\r\n");
    for part in bytes.chunks(11) {
        wire.send(part);
    }
    assert_eq!(wire.reply().result(), text);
    for chunks in ["zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "5\r\nabc", "3\r\nabcd\r\n0\r\n\r\n", "\r\n"] {
        let mut wire = served.wire();
        wire.send(ask.clone().with("Transfer-Encoding", "chunked").head());
        wire.send(chunks);
        wire.try_send("never a chunk\r\n");
        assert_eq!(wire.reply().status, 400, "{chunks:?}");
    }
    served.is_well();
}

#[test]
fn a_truncated_message_is_refused() {
    let served = Served::start();
    let ask = call("2025-11-25", "t_wait", json!({}));
    let bytes = ask.bytes();
    let whole = bytes.len() - ask.body.len();
    for length in [0, 1, 10, whole - 3, whole, whole + 1, bytes.len() - 1] {
        let mut wire = served.wire();
        wire.send(&bytes[..length]);
        wire.shut();
        assert!(wire.try_reply().is_none_or(|reply| reply.status == 400), "{length}");
        let mut wire = served.wire();
        wire.send(&bytes[..length]);
        drop(wire);
    }
    served.is_well();
    assert_eq!(served.log.count("began"), 0);
}

#[test]
fn bodies_with_missing_or_contradictory_lengths_are_refused() {
    let served = Served::start();
    let mut wire = served.wire();
    wire.send(Ask::post("").bytes());
    assert_eq!(wire.reply().refusal(), (400, -32700));
    // Bytes beyond the announced length are another request, and an invalid one.
    let mut wire = served.wire();
    wire.send(modern("tools/list", json!({})).with("Content-Length", "2").bytes());
    assert_eq!(wire.reply().refusal(), (400, -32700));
    assert!(wire.try_reply().is_none_or(|reply| reply.status == 400));
    // Two lengths, or a length and chunks, can be used to smuggle a request.
    let list = modern("tools/list", json!({}));
    let mut wire = served.wire();
    wire.send(list.clone().and("Content-Length", "2").and("Content-Length", "3").bytes());
    assert_eq!(wire.reply().status, 400);
    let mut wire = served.wire();
    let mut both = list.clone().with("Transfer-Encoding", "chunked").and("Content-Length", "4");
    both.body = b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec();
    wire.try_send(both.bytes());
    let statuses: Vec<u16> = std::iter::from_fn(|| wire.try_reply()).take(1).map(|reply| reply.status).collect();
    assert!(statuses.iter().all(|status| *status == 400), "{statuses:?}");
    served.is_well();
}

#[test]
fn headers_and_request_targets_are_bounded_and_checked() {
    let served = Served::start();
    let list = modern("tools/list", json!({}));
    assert_eq!(served.ask(&list.clone().with("X-Long", "x".repeat(50_000))).status, 200);
    let mut wire = served.wire();
    wire.try_send(list.clone().with("X-Long", "x".repeat(10_000_000)).bytes());
    assert_eq!(wire.reply().status, 431);
    let many = (0..5000).fold(list.clone(), |ask, number| ask.and(&format!("X-{number}"), "x"));
    let mut wire = served.wire();
    wire.try_send(many.bytes());
    assert_eq!(wire.reply().status, 431);
    let mut wire = served.wire();
    wire.try_send(list.clone().line(&format!("POST /mcp?{} HTTP/1.1", "x".repeat(100_000))).bytes());
    assert_eq!(wire.reply().status, 414);
    for (name, value) in [
        ("Mcp-Name", "\u{0}"),
        ("Mcp-Name", "a\rb"),
        ("Mcp-Session-Id", "a\u{1}b"),
        ("Bad Name", "x"),
        ("", "x"),
        ("X", "a\n b"),
    ] {
        let mut wire = served.wire();
        wire.send(list.clone().with(name, value).bytes());
        assert_eq!(wire.reply().status, 400, "{name:?} {value:?}");
    }
    served.is_well();
}

/// A request with a bare line feed in its head, in place of each line break in turn.
fn with_bare_line_feeds(ask: &Ask) -> Vec<Vec<u8>> {
    let head = String::from_utf8(ask.head()).unwrap();
    let breaks = head.match_indices("\r\n").map(|(at, _)| [&head[..at], &head[at + 1..]].concat());
    let mut heads: Vec<String> = breaks.collect();
    heads.push(head.replace("\r\n", "\n"));
    heads.push(format!("\n{head}"));
    heads.into_iter().map(|head| [head.as_bytes(), &ask.body].concat()).collect()
}

#[test]
fn a_head_with_a_bare_line_feed_anywhere_is_refused() {
    let served = Served::start();
    // A body may contain them.
    let mut good = call("2026-07-28", "t_add", json!({ "a": 1, "b": 2 }));
    let message: Value = serde_json::from_slice(&good.body).unwrap();
    good.body = serde_json::to_vec_pretty(&message).unwrap();
    let bad = with_bare_line_feeds(&good);
    assert!(bad.len() > 6);
    let get = Ask::new("GET").line("GET /health HTTP/1.1").bytes();
    for before in [vec![], get, good.bytes(), good.in_chunks(7), good.in_chunks(usize::MAX)] {
        for bad in &bad {
            // One after the other, in one write, and split in the middle of the head.
            for cut in [0, before.len(), before.len() + 10, before.len() + bad.len()] {
                let bytes = [&before[..], bad].concat();
                let mut wire = served.wire();
                wire.send(&bytes[..cut]);
                if cut == before.len() && cut > 0 {
                    assert_eq!(wire.reply().status, 200);
                }
                wire.try_send(&bytes[cut..]);
                if cut != before.len() && !before.is_empty() {
                    assert_eq!(wire.reply().status, 200);
                }
                let text = String::from_utf8_lossy(&bytes);
                assert_eq!(wire.reply().status, 400, "{text:?} cut at {cut}");
                assert!(wire.is_over(), "{text:?} cut at {cut}");
            }
        }
    }
    served.is_well();
}

#[test]
fn line_feeds_in_bodies_are_accepted() {
    let served = Served::start();
    let mut wire = served.wire();
    let mut ask = call("2026-07-28", "t_add", json!({ "a": 1, "b": 2 }));
    let message: Value = serde_json::from_slice(&ask.body).unwrap();
    ask.body = serde_json::to_vec_pretty(&message).unwrap();
    let one = [ask.bytes(), ask.in_chunks(5), b"\r\n".to_vec(), ask.in_chunks(100), ask.bytes()].concat();
    for part in [1, 7, 100, 5000] {
        for bytes in one.chunks(part) {
            wire.send(bytes);
        }
        for _ in 0..4 {
            assert_eq!(wire.reply().result(), 3, "in parts of {part}");
        }
    }
}

#[test]
fn odd_requests_are_answered() {
    let served = Served::start();
    for (line, status) in [
        ("GET / HTTP/1.1", 404),
        ("OPTIONS * HTTP/1.1", 404),
        ("CONNECT localhost:80 HTTP/1.1", 404),
        ("POST //mcp HTTP/1.1", 404),
        ("POST /mcp/../mcp HTTP/1.1", 404),
        ("POST /%6dcp HTTP/1.1", 404),
        ("PUT /mcp#a HTTP/1.1", 405),
        ("GET /health?a HTTP/1.1", 200),
        ("POST /health HTTP/1.1", 405),
        ("POST /mcp HTTP/2.0", 400),
        ("POST /mcp HTTP/9.9", 400),
        ("POST /mcp", 400),
        ("POST  /mcp HTTP/1.1", 400),
        ("post /mcp HTTP/1.1", 405),
        ("PRI * HTTP/2.0", 400),
        ("GET http:// HTTP/1.1", 400),
        ("GET [::1 HTTP/1.1", 400),
    ] {
        let reply = served.ask(&Ask::new("GET").line(line));
        assert_eq!(reply.status, status, "{line}");
    }
    served.is_well();
}

#[test]
fn http_1_0_is_supported() {
    let served = Served::start();
    let mut wire = served.wire();
    let line = "POST /mcp HTTP/1.0";
    let reply = wire.ask(&call("2025-11-25", "t_add", json!({ "a": 1, "b": 2 })).line(line));
    assert_eq!((reply.result(), reply.version.as_str()), (json!(3), "HTTP/1.0"));
    assert!(wire.is_over(), "it is over with the answer");
    let mut wire = served.wire();
    let ask = super::wire::call_told("2025-11-25", "t_pool_steps", json!({ "count": 3 })).line(line);
    let reply = wire.ask(&ask);
    assert_eq!(reply.header("transfer-encoding"), None);
    assert_eq!(reply.messages().len(), 4);
    let mut wire = served.wire();
    let ask = call("2025-11-25", "t_add", json!({ "a": 1, "b": 2 })).line(line).with("Connection", "keep-alive");
    assert_eq!(wire.ask(&ask).result(), 3);
    assert_eq!(wire.ask(&ask).result(), 3);
}

#[test]
fn a_client_may_wait_before_it_sends_its_message() {
    let served = Served::start();
    let ask = echo("later").with("Expect", "100-continue");
    let mut wire = served.wire();
    for _ in 0..2 {
        wire.send(ask.head());
        assert_eq!(wire.head().status, 100);
        wire.send(&ask.body);
        assert_eq!(wire.reply().result(), "later");
    }
    wire.send(ask.clone().with("Content-Type", "text/plain").head());
    assert_eq!(wire.head().status, 415, "nobody wants to have it");
}

#[test]
fn requests_in_one_write_are_answered_in_order() {
    let served = Served::start();
    let mut bytes = Vec::new();
    let version = |number: usize| VERSIONS[number % 3];
    for number in 0..300 {
        let ask = match number % 4 {
            0 => call(version(number), "t_add", json!({ "a": number, "b": 0 })),
            1 => call(version(number), "t_echo", json!({ "text": number.to_string() })),
            2 => Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            _ => Ask::post("nonsense"),
        };
        bytes.extend_from_slice(&ask.bytes());
    }
    let mut wire = served.wire();
    wire.send(bytes);
    for number in 0..300 {
        let reply = wire.reply();
        match number % 4 {
            0 => assert_eq!(reply.result(), number),
            1 => assert_eq!(reply.result(), number.to_string()),
            2 => assert_eq!(reply.status, 202),
            _ => assert_eq!(reply.refusal(), (400, -32700)),
        }
    }
    wire.send(modern("tools/list", json!({})).with("Connection", "close").bytes());
    assert_eq!(wire.reply().status, 200);
    assert!(wire.is_over());
}

#[test]
fn a_refused_request_does_not_spoil_the_next() {
    let served = Served::start();
    let mut wire = served.wire();
    let good = call("2026-07-28", "t_add", json!({ "a": 1, "b": 2 }));
    for (bad, status) in [
        (good.clone().with("Host", "evil.example"), 403),
        (good.clone().with("Origin", "https://evil.example"), 403),
        (good.clone().with("Content-Type", "text/plain"), 415),
        (good.clone().with("Accept", "image/png"), 406),
        (good.clone().with("Mcp-Name", "t_echo"), 400),
        (good.clone().line("PUT /mcp HTTP/1.1"), 405),
        (good.clone().line("POST /nowhere HTTP/1.1"), 404),
    ] {
        assert_eq!(wire.ask(&bad).status, status);
        assert_eq!(wire.ask(&good).result(), 3, "after {status}");
    }
}

#[test]
fn the_server_survives_deep_nesting_and_long_names() {
    let served = Served::start();
    for depth in [100, 127, 128, 129, 10_000, 1_000_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for text in [
            deep.clone(),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t_add","arguments":{{"a":{deep}}}}}}}"#
            ),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{deep}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"tools/list"}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}{}"#,
                "{\"a\":".repeat(depth),
                "}".repeat(depth)
            ),
        ] {
            let reply = served.ask(&Ask::post(text));
            assert!(matches!(reply.status, 200 | 400), "{depth}: {}", reply.status);
        }
    }
    let long = "n".repeat(1_000_000);
    for version in VERSIONS {
        for ask in [in_version(version, &long, json!({})), call(version, &long, json!({}))] {
            let reply = served.ask(&ask.without("Mcp-Method").without("Mcp-Name"));
            assert!(reply.body.len() < 4000, "{} bytes", reply.body.len());
        }
    }
    served.is_well();
}

#[test]
fn half_open_connections_do_not_delay_others() {
    let served = Served::start();
    let ask = call("2026-07-28", "t_echo", json!({ "text": "x".repeat(100) }));
    let (head, all) = (ask.head(), ask.bytes());
    let half: Vec<Wire> = (0..200)
        .map(|number| {
            let mut wire = served.wire();
            let length = match number % 4 {
                0 => 0,
                1 => 1 + number % head.len(),
                2 => head.len() - 1,
                _ => head.len() + number % ask.body.len(),
            };
            wire.send(&all[..length]);
            wire
        })
        .collect();
    let mut wire = served.wire();
    for number in 0..1000 {
        let reply = wire.ask(&call("2026-07-28", "t_add", json!({ "a": number, "b": 1 })));
        assert_eq!(reply.result(), number + 1);
    }
    // Those that continue are still answered.
    for (number, mut wire) in half.into_iter().enumerate().filter(|(number, _)| number % 4 == 2) {
        wire.send(&all[head.len() - 1..]);
        assert_eq!(wire.reply().status, 200, "{number}");
    }
}

/// Sends bytes, and then something that is certainly not a request: the server answers, and then closes the connection.
fn survives(served: &Served, bytes: &[u8]) {
    let mut wire = served.wire();
    wire.try_send(bytes);
    let mut end = vec![0; 4096];
    // An incomplete head is not parsed.
    end.extend_from_slice(b"\r\n\r\n");
    wire.try_send(end);
    while let Some(reply) = wire.try_head() {
        assert!((100..600).contains(&reply.status) && reply.status != 500, "{reply:?}");
        if reply.is_events() {
            // It may be a stream.
            break;
        }
        while wire.part().is_some() {}
    }
}

/// A request with arbitrary parts.
fn near_request() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => Just("POST /mcp HTTP/1.1".to_owned()),
        1 => Just("DELETE /mcp HTTP/1.1".to_owned()),
        1 => Just("PUT /mcp HTTP/1.0".to_owned()),
        1 => "(GET|POST|[A-Z]{1,5}) [ -~]{0,8} HTTP/1\\.[019]",
    ];
    let name = prop::sample::select(vec![
        "Content-Type",
        "Accept",
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Session-Id",
        "Mcp-Param-Region",
        "Content-Length",
        "Transfer-Encoding",
        "Origin",
        "Host",
        "Connection",
        "Expect",
        "Authorization",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "application/json",
            "text/event-stream",
            "2026-07-28",
            "2025-11-25",
            "tools/call",
            "tools/list",
            "t_add",
            "=?base64?dF9hZGQ=?=",
            "=?base64?!?=",
            "chunked",
            "gzip, chunked",
            "localhost",
            "close",
            "keep-alive",
            "upgrade",
            "100-continue",
            "0",
            "10",
            "99999999999",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    let body = prop_oneof![
        2 => Just(modern("tools/call", json!({ "name": "t_add", "arguments": { "a": 1, "b": 2 } })).body),
        1 => Just(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".to_vec()),
        1 => Just(b"4\r\nnull\r\n0\r\n\r\n".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    (line, prop::collection::vec((name, value), 0..6), body, any::<bool>(), any::<u16>()).prop_map(
        |(line, headers, body, usual, cut)| {
            let mut ask = if usual { Ask::post(body) } else { Ask { body, ..Ask::new("POST") } }.line(&line);
            for (name, value) in headers {
                ask = ask.with(name, value);
            }
            let mut bytes = ask.bytes();
            if cut % 4 == 0 {
                bytes.truncate(usize::from(cut) % (bytes.len() + 1));
            }
            bytes
        },
    )
}

#[test]
fn the_server_survives_anything_like_a_request() {
    let served = Served::start();
    let config = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config.clone());
    runner
        .run(&near_request(), |bytes| {
            survives(&served, &bytes);
            Ok(())
        })
        .unwrap();
    served.is_well();
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&prop::collection::vec(any::<u8>(), 0..300), |bytes| {
            survives(&served, &bytes);
            Ok(())
        })
        .unwrap();
    served.is_well();
    let bytes = call("2026-07-28", "t_add", json!({ "a": 1, "b": 2 })).bytes();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&(any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>()), |(at, byte, cut)| {
            let mut bytes = bytes.clone();
            *at.get_mut(&mut bytes) = byte;
            let length = bytes.len();
            bytes.truncate(length - cut.index(length) % 30);
            survives(&served, &bytes);
            Ok(())
        })
        .unwrap();
    served.is_well();
}

#[test]
fn concurrent_clients_get_their_own_answers() {
    let served = Served::start();
    thread::scope(|scope| {
        for client in 0..16 {
            let served = &served;
            scope.spawn(move || {
                let mut wire = served.wire();
                for number in 0..60 {
                    let version = VERSIONS[number % 3];
                    let text = format!("{client}/{number}");
                    let tool = ["t_echo", "t_say", "t_panic"][number % 3];
                    let reply = wire.ask(&call(version, tool, json!({ "text": text })));
                    let answer: Value = reply.json();
                    if tool == "t_panic" {
                        assert_eq!(answer["result"]["isError"], true);
                    } else {
                        assert_eq!(reply.result(), text);
                    }
                }
            });
        }
    });
}
