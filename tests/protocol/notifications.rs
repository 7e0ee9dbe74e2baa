//! Progress, log, cancellation, changes of the list.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mcp_registry::Tool;
use mcp_registry::context::ToolEvent;
use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::protocol::Peer;
use mcp_registry::testing::{Client, assert_progress};
use serde_json::{Value, json};

use crate::{LEGACY, block_on, client, meta, server};

#[test]
fn g6_progress_is_sent_to_clients_that_request_it_and_only_increases() {
    for version in ProtocolVersion::ALL.into_iter().filter(|version| *version >= ProtocolVersion::V2025_03_26) {
        let client = client(version);
        block_on(client.call_tool("served_steps", json!({}))).unwrap();
        let told = client.notifications();
        let progress: Vec<&Value> = told.iter().filter(|it| it["method"] == "notifications/progress").collect();
        assert_eq!(progress.len(), 2, "what does not go on is not told: {told:?}");
        assert_eq!(
            progress[0]["params"],
            json!({ "progressToken": "served_steps", "progress": 1, "total": 2, "message": "one" })
        );
        block_on(client.call_tool("served_steps", json!({}))).unwrap();
        assert_progress(&client.events(), &[(1.0, Some(2.0), "one"), (2.0, Some(2.0), "two")]);
        block_on(client.request("tools/call", json!({ "name": "served_steps" }))).unwrap();
        let told = client.notifications();
        assert!(told.iter().all(|it| it["method"] != "notifications/progress"), "nobody asked: {told:?}");
        for token in [json!(null), json!({}), json!(true)] {
            let params = json!({ "name": "served_steps", "_meta": { "progressToken": token } });
            let done = block_on(client.request("tools/call", params));
            assert!(token.is_null() || done.unwrap_err().code == -32602, "{token}");
        }
    }
}

#[test]
fn g7_log_messages_are_sent_to_clients_that_request_them() {
    let levels = |client: &Client| {
        let told = client.events().into_iter().filter_map(|event| match event {
            ToolEvent::Log { level, .. } => Some(level.to_string()),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    for version in LEGACY {
        let client = client(version);
        block_on(client.call_tool("served_steps", json!({}))).unwrap();
        assert_eq!(levels(&client), ["warning"], "info and above, unless the client says otherwise");
        for (level, seen) in [("debug", 2), ("error", 0)] {
            block_on(client.request("logging/setLevel", json!({ "level": level }))).unwrap();
            block_on(client.call_tool("served_steps", json!({}))).unwrap();
            assert_eq!(levels(&client).len(), seen);
        }
    }
    let newest = client(ProtocolVersion::V2026_07_28);
    block_on(newest.call_tool("served_steps", json!({}))).unwrap();
    assert_eq!(levels(&newest), ["debug", "warning"], "the client of tests asks for all");
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "served_steps", "_meta": meta() } });
    block_on(newest.send(message.to_string().as_bytes())).unwrap();
    assert!(levels(&newest).is_empty(), "who sets no level is told nothing");
    let mut loud = message;
    loud["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "loud".into();
    assert_eq!(block_on(newest.send(loud.to_string().as_bytes())).unwrap()["error"]["code"], -32602);
}

#[test]
fn a_cancelled_request_is_stopped_and_not_answered() {
    for version in ProtocolVersion::ALL {
        for (id, other) in [(json!(77), json!("77")), (json!("77"), json!(77))] {
            let client = client(version);
            let mut params = json!({ "name": "served_wait" });
            if version.is_stateless() {
                params["_meta"] = meta();
            }
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string();
            let started = Instant::now();
            let answer = thread::scope(|scope| {
                let waiting = scope.spawn(|| block_on(client.send(message.as_bytes())));
                while client.peer().in_flight() == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                for id in [other, json!(null), json!("unknown"), id.clone()] {
                    block_on(client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" })));
                }
                waiting.join().unwrap()
            });
            assert_eq!(answer, None);
            assert!(started.elapsed() < Duration::from_secs(9), "the tool was stopped");
            assert_eq!(client.peer().in_flight(), 0);
            block_on(client.notify("notifications/cancelled", json!({ "requestId": id })));
        }
    }
}

#[test]
fn an_id_that_is_in_flight_cannot_be_reused() {
    let client = client(ProtocolVersion::V2025_11_25);
    let message = br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"served_wait"}}"#;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(client.send(message)));
        while client.peer().in_flight() == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(block_on(client.send(message)).unwrap()["error"]["code"], -32600);
        client.peer().close();
        assert_eq!(waiting.join().unwrap(), None);
    });
}

#[test]
fn the_number_of_calls_in_flight_on_a_connection_is_bounded() {
    let server = server().max_in_flight(2);
    let peer = Peer::new();
    let message =
        |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"served_wait"}}}}"#);
    let mut out = Vec::new();
    let one = server.begin(message(1).as_bytes(), &peer, &mut out).unwrap();
    let two = server.begin(message(2).as_bytes(), &peer, &mut out).unwrap();
    assert!(out.is_empty());
    assert!(server.begin(message(3).as_bytes(), &peer, &mut out).is_none());
    let answer: Value = serde_json::from_slice(&out).unwrap();
    assert!(answer["result"]["isError"] == true && out.windows(16).any(|text| text == b"ApiLimitExceeded"), "{answer}");
    peer.close();
    assert_eq!((block_on(one), block_on(two)), (None, None));
}

#[test]
fn b3_no_notification_is_sent_before_the_client_is_initialized() {
    let told: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let of_sink = Arc::clone(&told);
    let peer = Peer::builder().on_notification(move |message| of_sink.lock().unwrap().push(message)).build();
    let server = server();
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    assert!(block_on(server.handle(initialize.to_string().as_bytes(), &peer)).is_some());
    server.registry().register(another()).unwrap();
    assert!(told.lock().unwrap().is_empty());
    let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert!(block_on(server.handle(initialized, &peer)).is_none());
    server.registry().unregister("served.another");
    assert_eq!(told.lock().unwrap().len(), 1);
}

/// A tool that is registered meanwhile.
fn another() -> Tool {
    Tool::new("served.another", json!({ "type": "object" }), |_, _| async {})
}

#[test]
fn g1_clients_of_the_older_versions_are_notified_of_changes() {
    for version in LEGACY {
        let client = client(version);
        let silent = block_on(Client::connect(server(), version)).unwrap();
        let registry = client.server().registry().clone();
        registry.register(another()).unwrap();
        registry.register(another()).unwrap_err();
        let told = client.notifications();
        assert_eq!(
            told.iter().map(|it| it["method"].as_str().unwrap()).collect::<Vec<_>>(),
            ["notifications/tools/list_changed"]
        );
        assert!(registry.unregister("served.another") && !registry.unregister("served.another"));
        assert_eq!((client.notifications().len(), silent.notifications().len()), (1, 0));
    }
}

#[test]
fn g2_g3_g4_clients_of_the_newest_version_can_subscribe_to_changes() {
    let told: Arc<Mutex<Vec<Value>>> = Arc::default();
    let of_sink = Arc::clone(&told);
    let sink = move |message: Vec<u8>| of_sink.lock().unwrap().push(serde_json::from_slice(&message).unwrap());
    let peer = Peer::builder().on_notification(sink).build();
    let take = || std::mem::take(&mut *told.lock().unwrap());
    let server = server();
    let listen = |id: Value, filter: Value| {
        let params = json!({ "_meta": meta(), "notifications": filter });
        json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params }).to_string()
    };
    let mut out = Vec::new();
    let first =
        server.begin(listen(json!("a"), json!({ "toolsListChanged": true })).as_bytes(), &peer, &mut out).unwrap();
    let other =
        server.begin(listen(json!(7), json!({ "promptsListChanged": true })).as_bytes(), &peer, &mut out).unwrap();
    let acknowledged = take();
    assert_eq!(acknowledged[0]["method"], "notifications/subscriptions/acknowledged");
    let key = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(
        acknowledged[0]["params"],
        json!({ "notifications": { "toolsListChanged": true }, "_meta": { key: "a" } })
    );
    assert_eq!(
        acknowledged[1]["params"],
        json!({ "notifications": {}, "_meta": { key: 7 } }),
        "what is not offered is not accepted"
    );

    server.registry().register(another()).unwrap();
    let told = take();
    assert_eq!(told.len(), 1, "only who asked is told: {told:?}");
    assert_eq!(
        (&told[0]["method"], &told[0]["params"]["_meta"][key]),
        (&json!("notifications/tools/list_changed"), &json!("a"))
    );

    assert!(
        server.begin(listen(json!("a"), json!({ "toolsListChanged": true })).as_bytes(), &peer, &mut out).is_none()
    );
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["error"]["code"], -32600);
    out.clear();
    // Capabilities that the request lacks do not matter here.
    let params = json!({ "requestId": "a", "name": 5 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert!(server.begin(cancel.to_string().as_bytes(), &peer, &mut out).is_none() && out.is_empty());
    assert_eq!(block_on(first), None, "who ends it is not answered");
    server.registry().unregister("served.another");
    assert!(take().is_empty());

    let dropped =
        server.begin(listen(json!(8), json!({ "toolsListChanged": true })).as_bytes(), &peer, &mut out).unwrap();
    drop(dropped);
    take();
    server.registry().register(another()).unwrap();
    assert!(take().is_empty(), "who does not wait any more is not told");

    peer.finish();
    let answer: Value = serde_json::from_slice(&block_on(other).unwrap()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["_meta"][key]), (&json!(7), &json!(7)));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(take(), [] as [Value; 0], "the result is all that ends it");
    for filter in [json!(null), json!([]), json!({ "toolsListChanged": "yes" })] {
        out.clear();
        assert!(server.begin(listen(json!(9), filter.clone()).as_bytes(), &peer, &mut out).is_none());
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["error"]["code"], -32602, "{filter}");
    }
}

#[test]
fn the_number_of_subscriptions_of_a_connection_is_bounded() {
    let server = server().max_in_flight(2);
    let peer = Peer::builder().on_notification(|_| {}).build();
    let begin = |id: u32, out: &mut Vec<u8>| {
        let params = json!({ "_meta": meta(), "notifications": { "toolsListChanged": true } });
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params });
        server.begin(message.to_string().as_bytes(), &peer, out)
    };
    let mut out = Vec::new();
    let (first, second) = (begin(1, &mut out).unwrap(), begin(2, &mut out).unwrap());
    assert!(begin(3, &mut out).is_none());
    let answer: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32600)));
    drop(first);
    let third = begin(3, &mut Vec::new());
    assert!(third.is_some(), "there is room again");
    peer.close();
    assert_eq!((block_on(second), block_on(third.unwrap())), (None, None));
}

#[test]
fn no_call_may_use_the_id_of_a_subscription() {
    let (server, peer) = (server(), Peer::builder().on_notification(|_| {}).build());
    let request = |method: &str, params: &Value| {
        json!({ "jsonrpc": "2.0", "id": "l", "method": method, "params": params }).to_string().into_bytes()
    };
    let params = json!({ "_meta": meta(), "notifications": {} });
    let mut out = Vec::new();
    let subscription = server.begin(&request("subscriptions/listen", &params), &peer, &mut out).unwrap();
    for (name, arguments) in [("served_say_slowly", json!({ "text": "a" })), ("served_add", json!({ "a": 1 }))] {
        out.clear();
        let call = request("tools/call", &json!({ "name": name, "arguments": arguments }));
        assert!(server.begin(&call, &peer, &mut out).is_none(), "{name}");
        let answer: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{name}");
    }
    peer.close();
    assert_eq!(block_on(subscription), None);
}
