//! Sessions of the older versions (D8 to D11); the newest version has none.

use std::thread;

use mcp_registry::CallOptions;
use serde_json::{Value, json};

use super::served::{Served, initialize, new_tool, notification_in};
use super::wire::{Ask, OLDER, Reply, call, call_told, in_version, modern, older};

#[test]
fn d8_a_session_begins_with_initialize() {
    let served = Served::start();
    let mut ids = Vec::new();
    for version in OLDER {
        for accept in ["application/json, text/event-stream", "application/json", "text/event-stream"] {
            let reply = served.ask(&initialize(version).with("Accept", accept));
            let id = reply.header("mcp-session-id").unwrap().to_owned();
            assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
            ids.push(id);
        }
        for method in ["ping", "tools/list", "nonsense", "initialize"] {
            let reply = served.ask(&in_version(version, method, json!({})));
            assert_eq!(reply.header("mcp-session-id"), None, "{method}");
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "no two are alike");
}

#[test]
fn d9_an_unknown_session_is_not_found() {
    let served = Served::start();
    let id = served.session("2025-11-25");
    for session in [
        "unknown",
        "",
        "0",
        &id.to_uppercase().replace(|letter: char| letter.is_ascii_digit(), "A"),
        &id[1..],
        &format!("{id}0"),
        "a b",
        "../../etc/passwd",
        "{\"a\":1}",
        "\u{e9}",
        &"f".repeat(5000),
    ] {
        let ask = older("tools/list", &json!({})).with("Mcp-Session-Id", session);
        let reply = served.ask(&ask);
        assert_eq!(reply.refusal(), (404, -32600), "{session}");
        assert_eq!(reply.header("mcp-session-id"), None);
        let note = notification_in(session, "notifications/initialized", &json!({}));
        assert_eq!(served.ask(&note).status, 404, "{session}");
        for method in ["GET", "DELETE"] {
            let ask = Ask::new(method).with("Mcp-Session-Id", session).with("Accept", "text/event-stream");
            assert_eq!(served.ask(&ask).status, 404, "{method} {session}");
        }
    }
    let reply = served.ask(&older("tools/list", &json!({})).with("Mcp-Session-Id", format!("  {id}\t")));
    assert_eq!(reply.status, 200, "blanks are nothing");
    let twice = older("tools/list", &json!({})).and("Mcp-Session-Id", "unknown").and("Mcp-Session-Id", &id);
    assert_eq!(served.ask(&twice).status, 404);
}

#[test]
fn d9_a_client_can_end_its_session() {
    let served = Served::start();
    for version in OLDER {
        let (id, other) = (served.session(version), served.session(version));
        let end = Ask::new("DELETE").with("Mcp-Session-Id", &id).with("MCP-Protocol-Version", version);
        let ping = |id: &str| served.ask(&in_version(version, "ping", json!({})).with("Mcp-Session-Id", id)).status;
        assert_eq!(ping(&id), 200);
        let reply = served.ask(&end);
        assert_eq!((reply.status, reply.body.len()), (204, 0));
        assert_eq!((ping(&id), ping(&other)), (404, 200));
        assert_eq!(served.ask(&end).status, 404);
    }
    let none = Ask::new("DELETE");
    assert_eq!(served.ask(&none).refusal(), (400, -32600));
}

#[test]
fn d9_the_session_id_is_optional() {
    let served = Served::start();
    served.session("2025-11-25");
    for version in OLDER {
        assert_eq!(served.ask(&call(version, "t_add", json!({ "a": 1, "b": 2 }))).result(), 3);
    }
}

#[test]
fn d10_the_newest_version_has_no_sessions() {
    let served = Served::start();
    let id = served.session("2025-11-25");
    for session in ["unknown", &id, ""] {
        for ask in [
            modern("tools/list", json!({})),
            modern("server/discover", json!({})),
            call("2026-07-28", "t_add", json!({ "a": 1, "b": 2 })),
        ] {
            let reply = served.ask(&ask.with("Mcp-Session-Id", session).with("Last-Event-ID", "7"));
            assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None), "{session}");
        }
    }
    let reply = served.ask(&modern("initialize", json!({ "protocolVersion": "2025-11-25" })));
    assert_eq!((reply.status, reply.header("mcp-session-id")), (404, None));
}

#[test]
fn sessions_can_be_switched_off() {
    let served = Served::with(|http| http.sessions(false));
    for version in OLDER {
        let reply = served.ask(&initialize(version));
        assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
        assert_eq!(reply.json()["result"]["protocolVersion"], version);
        let list = in_version(version, "tools/list", json!({})).with("Mcp-Session-Id", "whatever");
        assert_eq!(served.ask(&list).status, 200, "whatever it says");
    }
    let reply = served.ask(&Ask::new("DELETE").with("Mcp-Session-Id", "whatever"));
    assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, GET")));
}

/// The levels of the log messages that come with an answer.
fn levels(served: &Served, ask: &Ask) -> Vec<String> {
    let reply = served.ask(ask);
    if !reply.is_events() {
        assert!(reply.json()["result"].is_object());
        return Vec::new();
    }
    let messages = reply.messages();
    let (answer, lines) = messages.split_last().unwrap();
    assert!(answer["result"].is_object(), "the answer is last: {messages:?}");
    let level = |line: &Value| {
        assert_eq!(line["method"], "notifications/message");
        line["params"]["level"].as_str().unwrap().to_owned()
    };
    lines.iter().map(level).collect()
}

#[test]
fn g7_each_session_has_its_own_log_level() {
    let served = Served::start();
    for version in OLDER {
        let (one, other) = (served.session(version), served.session(version));
        let logs = |id: &str| levels(&served, &call(version, "t_logs", json!({})).with("Mcp-Session-Id", id));
        let set = |id: &str, level: &str| {
            let ask = in_version(version, "logging/setLevel", json!({ "level": level })).with("Mcp-Session-Id", id);
            served.ask(&ask).code()
        };
        assert_eq!(logs(&one), ["warning"], "info and above, unless the client says otherwise");
        assert_eq!(set(&one, "debug"), 0);
        assert_eq!(logs(&one), ["debug", "warning"]);
        assert_eq!(logs(&other), ["warning"]);
        assert_eq!(set(&other, "error"), 0);
        assert_eq!((logs(&one).len(), logs(&other).len()), (2, 0));
        assert_eq!(set(&one, "loud"), -32602);
        assert_eq!(logs(&one).len(), 2);
        assert_eq!(levels(&served, &call(version, "t_logs", json!({}))), ["warning"], "without a session");
    }
}

#[test]
fn g7_in_the_newest_version_each_request_sets_its_log_level() {
    let served = Served::start();
    let logs = |level: Option<&str>| {
        let mut params = json!({ "name": "t_logs" });
        if let Some(level) = level {
            params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": level });
        }
        modern("tools/call", params)
    };
    assert_eq!(levels(&served, &logs(None)).len(), 0);
    assert_eq!(levels(&served, &logs(Some("debug"))), ["debug", "warning"]);
    assert_eq!(levels(&served, &logs(Some("warning"))), ["warning"]);
    assert_eq!(levels(&served, &logs(Some("error"))).len(), 0);
    assert_eq!(served.ask(&logs(Some("loud"))).code(), -32602);
}

#[test]
fn a_request_is_cancelled_within_its_session_alone() {
    for (tool, told) in [("t_wait", false), ("t_block", false), ("t_step", true), ("t_block_step", true)] {
        let served = Served::start();
        let (one, other) = (served.session("2025-11-25"), served.session("2025-11-25"));
        let ask = if told { call_told } else { call }("2025-11-25", tool, json!({}));
        let mut wires = [served.wire(), served.wire(), served.wire()];
        wires[0].send(ask.clone().with("Mcp-Session-Id", &one).bytes());
        wires[1].send(ask.clone().with("Mcp-Session-Id", &other).bytes());
        wires[2].send(ask.bytes());
        served.log.wait_for("began", 3);
        let cancel = |id: &str, request: Value| {
            let params = json!({ "requestId": request, "reason": "no longer wanted" });
            assert_eq!(served.ask(&notification_in(id, "notifications/cancelled", &params)).status, 202);
        };
        cancel(&one, json!("1"));
        cancel(&one, json!(2));
        let without = super::wire::notification("notifications/cancelled", &json!({ "requestId": 1 }));
        assert_eq!(served.ask(&without).status, 202, "it speaks of nothing");
        cancel(&one, json!(1));
        served.log.wait_for("cancelled", 1);
        cancel(&one, json!(1));
        let reply = wires[0].reply();
        assert!(reply.status == 200 && reply.is_events(), "{reply:?}");
        let messages = reply.messages();
        assert!(messages.iter().all(|message| message["method"] == "notifications/progress"), "{messages:?}");
        served.log.release();
        for wire in &mut wires[1..] {
            let reply = wire.reply();
            let answer = if told { reply.messages().pop().unwrap() } else { reply.json() };
            assert_eq!(answer["result"]["structuredContent"]["result"], "released", "{tool}");
        }
        served.log.wait_for("ended", 2);
        assert_eq!(served.log.count("cancelled"), 1);
        served.is_well();
    }
}

#[test]
fn d18_calls_continue_after_their_session_has_ended() {
    let served = Served::start();
    let id = served.session("2025-11-25");
    let mut wire = served.wire();
    wire.send(call("2025-11-25", "t_wait", json!({})).with("Mcp-Session-Id", &id).bytes());
    served.log.wait_for("began", 1);
    assert_eq!(served.ask(&Ask::new("DELETE").with("Mcp-Session-Id", &id)).status, 204);
    served.log.release();
    assert_eq!(wire.reply().result(), "released");
}

#[test]
fn concurrent_sessions_do_not_mix() {
    let served = Served::start();
    thread::scope(|scope| {
        for number in 0..8 {
            let served = &served;
            scope.spawn(move || {
                let version = OLDER[number % 2];
                let id = served.session(version);
                let mut wire = served.wire();
                for call_number in 0..50 {
                    let ask = call(version, "t_echo", json!({ "text": format!("{number}.{call_number}") }));
                    let reply = wire.ask(&ask.with("Mcp-Session-Id", &id));
                    assert_eq!(reply.result(), format!("{number}.{call_number}"));
                }
            });
        }
    });
}

#[test]
fn d11_a_session_cannot_be_ended_in_an_unsupported_version() {
    let served = Served::start();
    let id = served.session("2025-11-25");
    let end = Ask::new("DELETE").with("Mcp-Session-Id", &id).with("MCP-Protocol-Version", "1999-01-01");
    assert_eq!(served.ask(&end).refusal(), (400, -32022));
    assert_eq!(served.ask(&older("ping", &json!({})).with("Mcp-Session-Id", &id)).status, 200);
}

/// A server that identifies its callers by a header.
fn with_callers() -> Served {
    Served::with(|http| {
        http.call_options(|request| {
            let caller = request.headers.get("x-caller").and_then(|name| name.to_str().ok());
            caller.map_or_else(CallOptions::new, |name| CallOptions::new().caller(name))
        })
    })
}

/// One request of every kind that names a session.
fn named_in(id: &str) -> Vec<Ask> {
    let level = older("logging/setLevel", &json!({ "level": "debug" }));
    let requests = vec![
        older("ping", &json!({})),
        level,
        notification_in(id, "notifications/cancelled", &json!({ "requestId": 1 })),
        Ask::new("GET").with("Accept", "text/event-stream"),
        Ask::new("DELETE"),
    ];
    requests.into_iter().map(|ask| ask.with("Mcp-Session-Id", id)).collect()
}

/// The reply to a request whose session is unknown. Only its first part is read, because a stream never ends.
fn refused(served: &Served, ask: &Ask) -> Reply {
    let mut wire = served.wire();
    wire.send(ask.bytes());
    let mut reply = wire.head();
    assert_eq!(reply.status, 404, "{}", ask.line);
    reply.body = wire.part().unwrap();
    reply
}

/// Begins a session with the first headers, and checks that requests with the other headers cannot use it.
fn only_its_caller_uses_a_session(served: &Served, own: (&str, &str), others: &[Option<(&str, &str)>]) {
    let reply = served.ask(&initialize("2025-11-25").with(own.0, own.1));
    let id = reply.header("mcp-session-id").expect("a session").to_owned();
    let mut wire = served.wire();
    wire.send(call("2025-11-25", "t_wait", json!({})).with("Mcp-Session-Id", &id).with(own.0, own.1).bytes());
    served.log.wait_for("began", 1);
    let mut stream = served.wire();
    let listen = Ask::new("GET").with("Accept", "text/event-stream").with("Mcp-Session-Id", &id);
    stream.send(listen.with(own.0, own.1).bytes());
    assert!(stream.head().is_events());
    for other in others {
        for (known, unknown) in named_in(&id).into_iter().zip(named_in("00000000000000000000000000000000")) {
            let with = |ask: Ask| match other {
                Some((name, value)) => ask.with(name, value),
                None => ask,
            };
            let [known, unknown] = [known, unknown].map(|ask| refused(served, &with(ask)));
            assert_eq!(known.body, unknown.body, "{other:?}");
            let names = |reply: &Reply| reply.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&known), names(&unknown), "{other:?}");
        }
    }
    served.registry.register(new_tool("t.one")).unwrap();
    assert_eq!(stream.message().unwrap()["method"], "notifications/tools/list_changed", "the stream is its own");
    let logs = call("2025-11-25", "t_logs", json!({})).with("Mcp-Session-Id", &id).with(own.0, own.1);
    assert_eq!(levels(served, &logs), ["warning"], "so is the level");
    served.log.release();
    assert_eq!(wire.reply().result(), "released", "nobody has cancelled the call");
    let end = Ask::new("DELETE").with("Mcp-Session-Id", &id).with(own.0, own.1);
    assert_eq!(served.ask(&end).status, 204);
}

#[test]
fn a_session_is_unknown_to_every_other_caller() {
    let others = [Some(("X-Caller", "eve")), Some(("X-Caller", "Ada")), Some(("X-Caller", "")), None];
    only_its_caller_uses_a_session(&with_callers(), ("X-Caller", "ada"), &others);
}

#[test]
fn a_session_is_unknown_to_holders_of_another_token() {
    let served = Served::with(|http| http.token("one").token("two"));
    only_its_caller_uses_a_session(
        &served,
        ("Authorization", "Bearer one"),
        &[Some(("Authorization", "Bearer two")), Some(("Authorization", "bearer  two"))],
    );
}

#[test]
fn a_session_cannot_be_used_if_the_caller_cannot_be_determined() {
    let options = |request: &axum::http::request::Parts| {
        assert!(!request.headers.contains_key("x-panic"), "on purpose");
        CallOptions::new()
    };
    let served = Served::with(|http| http.call_options(options));
    let id = served.session("2025-11-25");
    for method in ["GET", "DELETE"] {
        let ask = Ask::new(method).with("Accept", "text/event-stream").with("Mcp-Session-Id", &id);
        let mut wire = served.wire();
        wire.send(ask.with("X-Panic", "yes").bytes());
        assert_eq!(wire.head().status, 500, "{method}");
    }
    assert_eq!(served.ask(&older("ping", &json!({})).with("Mcp-Session-Id", &id)).status, 200);
}
