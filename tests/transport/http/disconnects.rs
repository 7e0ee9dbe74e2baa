//! Clients that disconnect before they are answered (D18).

use serde_json::json;

use super::served::{Served, notification_in};
use super::wire::{Ask, OLDER, Wire, call, call_told, modern};

const TOOLS: [(&str, bool); 4] = [("t_wait", false), ("t_block", false), ("t_step", true), ("t_block_step", true)];

fn ask(version: &str, tool: &str, told: bool) -> Ask {
    if told { call_told(version, tool, json!({})) } else { call(version, tool, json!({})) }
}

/// A call in flight; its first event has arrived, if it has any.
fn begin(served: &Served, ask: &Ask, told: bool) -> Wire {
    let mut wire = served.wire();
    wire.send(ask.bytes());
    if told {
        assert!(wire.head().is_events());
        assert!(wire.message().is_some());
    }
    served.log.wait_for("began", 1);
    wire
}

#[test]
fn d18_in_the_newest_version_disconnecting_cancels_the_request() {
    for (tool, told) in TOOLS {
        let served = Served::start();
        let wire = begin(&served, &ask("2026-07-28", tool, told), told);
        drop(wire);
        served.log.wait_for("cancelled", 1);
        served.is_well();
        assert_eq!(served.log.count("ended"), 0, "{tool}");
    }
}

#[test]
fn d18_in_the_older_versions_disconnecting_does_not_cancel_the_request() {
    for version in OLDER {
        for (tool, told) in TOOLS {
            for in_session in [false, true] {
                let served = Served::start();
                let mut ask = ask(version, tool, told);
                if in_session {
                    ask = ask.with("Mcp-Session-Id", served.session(version));
                }
                drop(begin(&served, &ask, told));
                // By the time it has answered others, the server has noticed the disconnect.
                for _ in 0..20 {
                    served.is_well();
                }
                served.log.release();
                served.log.wait_for("ended", 1);
                assert_eq!(served.log.count("cancelled") + served.log.count("dropped"), 0, "{version} {tool}");
            }
        }
    }
}

#[test]
fn d18_a_client_that_disconnected_can_cancel_its_request_in_its_session() {
    let served = Served::start();
    let id = served.session("2025-11-25");
    for (number, (tool, told)) in TOOLS.into_iter().enumerate() {
        let mut wire = served.wire();
        wire.send(ask("2025-11-25", tool, told).with("Mcp-Session-Id", &id).bytes());
        served.log.wait_for("began", number + 1);
        drop(wire);
        served.is_well();
        let cancel = notification_in(&id, "notifications/cancelled", &json!({ "requestId": 1 }));
        assert_eq!(served.ask(&cancel).status, 202);
        served.log.wait_for("cancelled", number + 1);
    }
}

#[test]
fn d18_only_the_call_of_the_client_that_disconnects_is_cancelled() {
    let served = Served::start();
    let mut wires: Vec<Wire> = (0..10)
        .map(|number| {
            let mut wire = served.wire();
            wire.send(call("2026-07-28", TOOLS[number % 4].0, json!({})).bytes());
            wire
        })
        .collect();
    served.log.wait_for("began", 10);
    drop(wires.split_off(4));
    served.log.wait_for("cancelled", 6);
    served.log.release();
    for wire in &mut wires {
        assert_eq!(wire.reply().result(), "released");
    }
    assert_eq!(served.log.count("cancelled"), 6);
}

#[test]
fn a_client_that_disconnects_frees_its_place() {
    let served = Served::with(|http| http.max_in_flight(1).max_streams(1));
    for _ in 0..5 {
        for (tool, told) in TOOLS {
            let before = served.log.count("began");
            let mut wire = served.wire();
            wire.send(ask("2026-07-28", tool, told).bytes());
            served.log.wait_for("began", before + 1);
            drop(wire);
            support::wait_until_blocking("there is room", || {
                served.ask(&modern("tools/list", json!({}))).status == 200
            });
        }
        let listen = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
        support::wait_until_blocking("there is room to listen", || {
            let mut wire = served.wire();
            wire.send(listen.bytes());
            wire.head().status == 200
        });
    }
}

#[test]
fn a_client_that_never_reads_does_not_delay_others() {
    let served = Served::start();
    let text = "x".repeat(3_000_000);
    let mut wires: Vec<Wire> = (0..8).map(|_| served.wire()).collect();
    for wire in &mut wires {
        wire.send(call("2026-07-28", "t_echo", json!({ "text": text })).bytes());
        wire.send(call_told("2026-07-28", "t_steps", json!({ "count": 40_000 })).bytes());
    }
    for _ in 0..100 {
        served.is_well();
    }
}
