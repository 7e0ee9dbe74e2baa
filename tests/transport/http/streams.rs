//! Events: during a request, and for subscribers.

use mcp_registry::Server;
use mcp_registry::registry::OutputCheck;
use serde_json::{Value, json};

use super::served::{Log, Served, builder, new_tool};
use super::wire::{Ask, Event, OLDER, VERSIONS, Wire, call, call_told, in_version, modern};

fn steps(messages: &[Value]) -> Vec<u64> {
    let progress = messages.iter().filter(|message| message["method"] == "notifications/progress");
    progress.map(|message| message["params"]["progress"].as_u64().unwrap()).collect()
}

#[test]
fn d16_d17_g6_progress_arrives_as_events_and_the_answer_last() {
    let served = Served::start();
    for version in VERSIONS {
        for tool in ["t_steps", "t_pool_steps"] {
            let mut wire = served.wire();
            let reply = wire.ask(&call_told(version, tool, json!({ "count": 5 })));
            assert_eq!((reply.status, reply.header("x-accel-buffering")), (200, Some("no")));
            assert_eq!(reply.header("cache-control"), Some("no-cache"));
            assert!(reply.events().iter().all(|event| !matches!(event, Event::Named(name, _) if name != "message")));
            let messages = reply.messages();
            assert_eq!(steps(&messages), [1, 2, 3, 4, 5], "{version} {tool}");
            assert!(messages[..5].iter().all(|message| message["params"]["progressToken"] == "p"));
            assert_eq!(messages.len(), 6);
            assert_eq!((&messages[5]["id"], &messages[5]["result"]["isError"]), (&json!(1), &json!(false)));
            let reply = wire.ask(&call(version, tool, json!({ "count": 5 })));
            assert_eq!(reply.result(), 5, "nobody asked for progress, and the connection goes on");
        }
    }
}

#[test]
fn d16_events_arrive_while_the_call_is_running() {
    for version in VERSIONS {
        for tool in ["t_step", "t_block_step"] {
            let served = Served::start();
            let mut wire = served.wire();
            wire.send(call_told(version, tool, json!({})).bytes());
            let head = wire.head();
            assert!(head.is_events() && head.status == 200);
            assert_eq!(head.header("x-accel-buffering"), Some("no"));
            assert_eq!(wire.message().unwrap()["params"]["progress"], 1);
            served.log.release();
            let mut rest: Vec<Value> = std::iter::from_fn(|| wire.message()).collect();
            let answer = rest.pop().unwrap();
            assert_eq!(answer["result"]["structuredContent"]["result"], "released", "{version} {tool}");
            assert_eq!(wire.ask(&call(version, "t_add", json!({ "a": 1, "b": 1 }))).result(), 2);
        }
    }
}

#[test]
fn progress_that_is_not_read_in_time_is_dropped_and_the_answer_is_not() {
    let served = Served::start();
    for version in VERSIONS {
        for tool in ["t_steps", "t_pool_steps"] {
            let reply = served.ask(&call_told(version, tool, json!({ "count": 40_000 })));
            let messages = reply.messages();
            let told = steps(&messages);
            assert!(told.is_sorted() && told.len() <= 40_000);
            // The client cannot read events that are sent all at once.
            assert!(tool != "t_steps" || told.len() < 40_000);
            assert_eq!(messages.last().unwrap()["result"]["structuredContent"]["result"], 40_000);
        }
    }
}

/// Subscribes as in the newest version.
fn listen(served: &Served, id: &Value) -> Wire {
    let ask = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true, "other": true } }));
    let mut message: Value = serde_json::from_slice(&ask.body).unwrap();
    message["id"] = id.clone();
    let mut wire = served.wire();
    wire.send(Ask { body: message.to_string().into_bytes(), ..ask }.bytes());
    let head = wire.head();
    assert!(head.is_events() && head.status == 200, "{head:?}");
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    wire
}

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[test]
fn g2_g3_g4_a_subscription_is_acknowledged_notified_and_answered_at_the_end() {
    let mut served = Served::start();
    let (mut one, mut other) = (listen(&served, &json!("l")), listen(&served, &json!(7)));
    for (wire, id) in [(&mut one, json!("l")), (&mut other, json!(7))] {
        let first = wire.message().unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first["params"]["notifications"], json!({ "toolsListChanged": true }));
        assert_eq!(first["params"]["_meta"][SUBSCRIPTION], id);
    }
    for name in ["t.one", "t.two"] {
        served.registry.register(new_tool(name)).unwrap();
        for (wire, id) in [(&mut one, json!("l")), (&mut other, json!(7))] {
            let told = wire.message().unwrap();
            assert_eq!(told["method"], "notifications/tools/list_changed");
            assert_eq!(told["params"]["_meta"][SUBSCRIPTION], id);
        }
    }
    drop(other);
    served.registry.unregister("t.one");
    assert_eq!(one.message().unwrap()["method"], "notifications/tools/list_changed");
    served.stop();
    let last = one.message().unwrap();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!("l"), &json!("complete")));
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], "l");
    assert_eq!(one.message(), None, "nothing else is cancelled");
    assert!(one.is_over());
    served.ended();
}

#[test]
fn g3_an_empty_subscription_is_sent_nothing() {
    let mut served = Served::start();
    let mut wire = served.wire();
    wire.send(modern("subscriptions/listen", json!({ "notifications": {} })).bytes());
    assert!(wire.head().is_events());
    assert_eq!(wire.message().unwrap()["params"]["notifications"], json!({}));
    served.registry.register(new_tool("t.one")).unwrap();
    served.stop();
    assert_eq!(wire.message().unwrap()["id"], 1, "the answer is all that comes");
    for params in [json!({}), json!({ "notifications": 7 }), json!({ "notifications": { "toolsListChanged": 7 } })] {
        let served = Served::start();
        assert_eq!(served.ask(&modern("subscriptions/listen", params)).code(), -32602);
    }
}

/// Opens a stream as in the older versions.
fn get(served: &Served, version: &str, session: Option<&str>) -> Wire {
    let ask = Ask::new("GET").with("Accept", "text/event-stream").with("MCP-Protocol-Version", version);
    let ask = match session {
        Some(id) => ask.with("Mcp-Session-Id", id),
        None => ask,
    };
    let mut wire = served.wire();
    wire.send(ask.bytes());
    let head = wire.head();
    assert!(head.is_events() && head.status == 200, "{head:?}");
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert_eq!(wire.event(), Some(Event::Comment), "it is heard");
    wire
}

#[test]
fn g1_d7_a_client_of_an_older_version_is_notified_of_changes_on_its_stream() {
    for version in OLDER {
        let mut served = Served::start();
        let id = served.session(version);
        let mut wires = [get(&served, version, Some(&id)), get(&served, version, None), get(&served, version, None)];
        served.registry.register(new_tool("t.one")).unwrap();
        for wire in &mut wires {
            let told = wire.message().unwrap();
            assert_eq!(told["method"], "notifications/tools/list_changed");
            assert!(told["params"].get("_meta").is_none() && told.get("id").is_none());
        }
        // Nothing that belongs to a request arrives here.
        let reply = served.ask(&call_told(version, "t_steps", json!({ "count": 2 })).with("Mcp-Session-Id", &id));
        assert_eq!(reply.messages().len(), 3);
        served.registry.unregister("t.one");
        assert_eq!(wires[0].message().unwrap()["method"], "notifications/tools/list_changed");
        served.stop();
        let [mut first, ..] = wires;
        assert_eq!(first.message(), None, "it ends when the server does");
        served.ended();
    }
}

#[test]
fn d7_a_second_stream_of_a_session_ends_the_first() {
    let served = Served::start();
    let (id, other) = (served.session("2025-11-25"), served.session("2025-11-25"));
    let mut elsewhere = get(&served, "2025-11-25", Some(&other));
    let mut first = get(&served, "2025-11-25", Some(&id));
    let mut second = get(&served, "2025-11-25", Some(&id));
    assert_eq!(first.message(), None);
    served.registry.register(new_tool("t.one")).unwrap();
    for wire in [&mut second, &mut elsewhere] {
        assert_eq!(wire.message().unwrap()["method"], "notifications/tools/list_changed");
    }
    assert_eq!(served.ask(&Ask::new("DELETE").with("Mcp-Session-Id", &id)).status, 204);
    assert_eq!(second.message(), None, "the session is over, and so is its stream");
    served.registry.unregister("t.one");
    assert_eq!(elsewhere.message().unwrap()["method"], "notifications/tools/list_changed");
}

#[test]
fn the_number_of_streams_is_bounded() {
    let served = Served::with(|http| http.max_streams(2));
    let ask = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let mut first = listen(&served, &json!(1));
    assert!(first.message().is_some());
    let second = get(&served, "2025-11-25", None);
    for ask in [ask.clone(), Ask::new("GET").with("Accept", "text/event-stream")] {
        let reply = served.ask(&ask);
        assert_eq!((reply.refusal(), reply.header("retry-after")), ((503, -32603), Some("1")));
    }
    served.is_well();
    drop(second);
    support::wait_until_blocking("a place is free again", || {
        let mut wire = served.wire();
        wire.send(ask.bytes());
        wire.head().status == 200
    });
}

#[test]
fn the_number_of_requests_in_flight_is_bounded() {
    for version in VERSIONS {
        let served = Served::with(|http| http.max_in_flight(2));
        let (mut one, mut other) = (served.wire(), served.wire());
        one.send(call(version, "t_wait", json!({})).bytes());
        other.send(call_told(version, "t_block_step", json!({})).bytes());
        served.log.wait_for("began", 2);
        let reply = served.ask(&in_version(version, "tools/list", json!({})));
        assert_eq!((reply.refusal(), reply.header("retry-after")), ((503, -32603), Some("1")), "{version}");
        served.log.release();
        assert_eq!(one.reply().result(), "released");
        assert_eq!(other.reply().status, 200);
        support::wait_until_blocking("there is room again", || {
            served.ask(&in_version(version, "tools/list", json!({}))).status == 200
        });
    }
    let served = Served::with(|http| http.max_in_flight(0));
    assert_eq!(served.ask(&modern("tools/list", json!({}))).status, 503);
}

#[test]
fn streams_do_not_count_as_requests_in_flight() {
    let served = Served::with(|http| http.max_in_flight(1));
    let mut one = listen(&served, &json!(1));
    assert!(one.message().is_some());
    let _stream = get(&served, "2025-11-25", None);
    support::wait_until_blocking("there is room", || served.ask(&modern("tools/list", json!({}))).status == 200);
}

#[test]
fn a_message_with_line_breaks_is_one_event() {
    let log = Log::new();
    let quick = Server::new(builder(&log).check_output(OutputCheck::Never).build().unwrap());
    for served in [Served::start(), Served::new(quick, log, |http| http)] {
        for version in VERSIONS {
            let ask = call(version, "t_lines", json!({}));
            assert_eq!(served.ask(&ask).json()["result"]["structuredContent"], json!({ "a": [1, 2] }));
            let messages = served.ask(&ask.with("Accept", "text/event-stream")).messages();
            assert_eq!(messages.len(), 1);
            assert_eq!(messages[0]["result"]["structuredContent"], json!({ "a": [1, 2] }));
        }
    }
}
