//! MCP 2025-03-26, whose clients send no version and may send batches; and several servers behind one address.

use serde_json::{Value, json};

use super::served::{Served, initialize, notification_in};
use super::wire::{Ask, OLDER, Reply, call, notification, older};

const OLD: &str = "2025-03-26";

/// A message as clients of 2025-03-26 send it: without a version.
fn old(message: &Value) -> Ask {
    Ask::post(message.to_string())
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn add(id: i64) -> Value {
    request(id, "tools/call", json!({ "name": "t_add", "arguments": { "a": id, "b": 1 } }))
}

/// The result of an addition, as 2025-03-26 has it.
fn sum(answer: &Value) -> (&Value, &str, bool) {
    let result = &answer["result"];
    (&answer["id"], result["content"][0]["text"].as_str().unwrap(), result.get("structuredContent").is_some())
}

#[test]
fn b2_d11_a_session_remembers_the_version() {
    let served = Served::start();
    let id = served.session(OLD);
    for ask in [old(&add(1)), old(&add(1)).with("MCP-Protocol-Version", OLD)] {
        let reply = served.ask(&ask.with("Mcp-Session-Id", &id));
        assert_eq!((reply.status, sum(&reply.json())), (200, (&json!(1), "2", false)));
    }
    let list = served.ask(&old(&request(1, "tools/list", json!({}))).with("Mcp-Session-Id", &id)).json();
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.iter().all(|tool| tool.get("outputSchema").is_none()));
    assert!(tools.iter().any(|tool| tool.get("annotations").is_some()));
    // A request outside of a session is one of the newest version that begins with `initialize`.
    assert_eq!(sum(&served.ask(&old(&add(1))).json()), (&json!(1), "2", true));
}

#[test]
fn d11_without_sessions_a_request_without_a_version_is_one_of_2025_03_26() {
    let served = Served::with(|http| http.sessions(false));
    let reply = served.ask(&initialize(OLD));
    assert_eq!((&reply.json()["result"]["protocolVersion"], reply.header("mcp-session-id")), (&json!(OLD), None));
    assert_eq!(sum(&served.ask(&old(&add(1))).json()), (&json!(1), "2", false));
    assert_eq!(served.ask(&old(&json!([add(1), add(2)]))).json().as_array().unwrap().len(), 2);
    assert_eq!(served.ask(&call("2025-11-25", "t_add", json!({ "a": 1, "b": 1 }))).result(), 2);
}

#[test]
fn a4_a_batch_is_answered_in_its_session() {
    let served = Served::start();
    let id = served.session(OLD);
    let ask = |batch: Value| served.ask(&old(&batch).with("Mcp-Session-Id", &id));
    let slow = request(2, "tools/call", json!({ "name": "t_echo", "arguments": { "text": "slow" } }));
    let reply = ask(json!([add(1), slow, { "jsonrpc": "2.0", "method": "notifications/other" }]));
    let answers = reply.json();
    assert_eq!((reply.status, answers.as_array().unwrap().len()), (200, 2));
    assert_eq!((sum(&answers[0]), sum(&answers[1])), ((&json!(1), "2", false), (&json!(2), "slow", false)));
    let events = served.ask(&old(&json!([add(1)])).with("Mcp-Session-Id", &id).with("Accept", "text/event-stream"));
    assert_eq!(events.messages()[0][0]["id"], 1);
    let told = request(
        1,
        "tools/call",
        json!({ "name": "t_steps", "arguments": { "count": 2 }, "_meta": { "progressToken": 7 } }),
    );
    let messages = ask(json!([told, add(2)])).messages();
    assert_eq!((messages.len(), &messages[0]["method"]), (3, &json!("notifications/progress")));
    assert_eq!(messages[2].as_array().unwrap().len(), 2);
    let reply = ask(
        json!([{ "jsonrpc": "2.0", "method": "notifications/other" }, { "jsonrpc": "2.0", "id": 1, "result": {} }]),
    );
    assert_eq!((reply.status, reply.body.len()), (202, 0));
    assert_eq!(ask(json!([])).refusal(), (400, -32600));
    assert_eq!(ask(json!(vec![add(1); 33])).refusal(), (400, -32600));
    let wrong = ask(json!([request(1, "initialize", json!({ "protocolVersion": OLD })), 7]));
    assert_eq!((wrong.status, &wrong.json()[0]["error"]["code"]), (200, &json!(-32600)));
    assert_eq!(wrong.header("mcp-session-id"), None);
}

#[test]
fn a_batch_cancels_a_request_of_its_session() {
    let served = Served::start();
    let id = served.session(OLD);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    for (batch, status) in [
        (json!([add(1), cancel]).to_string(), 200),
        (format!(" \n{}", json!([add(1), cancel])), 200),
        (json!([cancel]).to_string(), 202),
    ] {
        let mut wire = served.wire();
        let wait = old(&request(7, "tools/call", json!({ "name": "t_wait" })));
        wire.send(wait.with("Mcp-Session-Id", &id).bytes());
        served.log.wait_for("began", served.log.count("cancelled") + 1);
        assert_eq!(served.ask(&Ask::post(batch).with("Mcp-Session-Id", &id)).status, status);
        assert!(wire.reply().is_events(), "nothing is answered");
    }
    assert_eq!(served.log.count("cancelled"), 3);
}

#[test]
fn a_batch_that_is_too_long_cancels_nothing() {
    let served = Served::start();
    let id = served.session(OLD);
    let mut wire = served.wire();
    let wait = old(&request(7, "tools/call", json!({ "name": "t_wait" })));
    wire.send(wait.with("Mcp-Session-Id", &id).bytes());
    served.log.wait_for("began", 1);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    let long = served.ask(&old(&json!(vec![cancel; 33])).with("Mcp-Session-Id", &id));
    assert_eq!(long.refusal(), (400, -32600));
    served.log.release();
    assert_eq!(wire.reply().json()["result"]["content"][0]["text"], "released");
    assert_eq!(served.log.count("cancelled"), 0);
}

#[test]
fn g7_a_batch_sets_the_level_of_its_session() {
    let served = Served::start();
    let id = served.session(OLD);
    let set = json!([request(1, "logging/setLevel", json!({ "level": "debug" })), request(2, "ping", json!({}))]);
    assert_eq!(served.ask(&old(&set).with("Mcp-Session-Id", &id)).json().as_array().unwrap().len(), 2);
    let logs = old(&request(3, "tools/call", json!({ "name": "t_logs" }))).with("Mcp-Session-Id", &id);
    assert_eq!(served.ask(&logs).messages().len(), 3, "two lines and the answer");
}

/// One client that sends its requests to the servers in turn.
struct Balanced<'a> {
    servers: &'a [Served],
    next: std::cell::Cell<usize>,
}

impl Balanced<'_> {
    fn ask(&self, ask: &Ask) -> Reply {
        let next = self.next.get();
        self.next.set(next + 1);
        self.servers[next % self.servers.len()].ask(ask)
    }
}

#[test]
fn d8_without_sessions_several_servers_answer_one_client() {
    let servers = [Served::with(|http| http.sessions(false)), Served::with(|http| http.sessions(false))];
    for version in OLDER.into_iter().chain([OLD]) {
        let balanced = Balanced { servers: &servers, next: 0.into() };
        // Clients of 2025-03-26 send no version.
        let said = |ask: Ask| {
            if version == OLD { ask.without("MCP-Protocol-Version") } else { ask.with("MCP-Protocol-Version", version) }
        };
        let reply = balanced.ask(&initialize(version));
        assert_eq!(
            (&reply.json()["result"]["protocolVersion"], reply.header("mcp-session-id")),
            (&json!(version), None)
        );
        assert_eq!(balanced.ask(&said(notification("notifications/initialized", &json!({})))).status, 202);
        for _ in 0..3 {
            let list = balanced.ask(&said(older("tools/list", &json!({})))).json();
            assert!(list["result"]["tools"].as_array().unwrap().len() > 10);
            let called = balanced.ask(&said(call(version, "t_add", json!({ "a": 1, "b": 2 })))).json();
            assert_eq!(sum(&called), (&json!(1), "3", version != OLD));
            let failed = balanced.ask(&said(call(version, "t_fail", json!({})))).json();
            assert_eq!(failed["result"]["isError"], true);
        }
    }
}

#[test]
fn d9_with_sessions_another_server_does_not_know_the_session() {
    let (one, other) = (Served::start(), Served::start());
    let id = one.session("2025-11-25");
    let ping = older("ping", &json!({})).with("Mcp-Session-Id", &id);
    assert_eq!((one.ask(&ping).status, other.ask(&ping).status), (200, 404));
}

#[test]
fn without_sessions_a_call_is_not_cancelled_and_the_level_stays() {
    let served = Served::with(|http| http.sessions(false));
    let mut wire = served.wire();
    wire.send(call("2025-11-25", "t_wait", json!({})).bytes());
    served.log.wait_for("began", 1);
    let cancel = notification_in("any", "notifications/cancelled", &json!({ "requestId": 1 }));
    assert_eq!(served.ask(&cancel).status, 202);
    assert_eq!(served.ask(&older("logging/setLevel", &json!({ "level": "debug" }))).status, 200);
    let lines = served.ask(&call("2025-11-25", "t_logs", json!({}))).messages();
    assert_eq!((lines.len(), &lines[0]["params"]["level"]), (2, &json!("warning")));
    served.log.release();
    assert_eq!(wire.reply().result(), "released");
    assert_eq!(served.log.count("cancelled"), 0);
    let mut stream = served.wire();
    stream.send(Ask::new("GET").with("Accept", "text/event-stream").bytes());
    assert!(stream.head().is_events());
    served.registry.register(super::served::new_tool("t.new")).unwrap();
    assert_eq!(stream.message().unwrap()["method"], "notifications/tools/list_changed");
}
