//! Too many connections, and clients that send slowly.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::served::Served;
use super::wire::{Ask, Wire, call, modern};

/// Longer than it takes to make room, and shorter than the timeout of idle connections.
const SOON: Duration = Duration::from_secs(30);

/// Whether a client on a new connection is answered soon.
pub(crate) fn is_answered_soon(address: std::net::SocketAddr) -> bool {
    let (send, answered) = channel();
    thread::spawn(move || {
        let reply = Wire::open(address).ask(&call("2026-07-28", "t_add", json!({ "a": 2, "b": 3 })));
        let _ = send.send(reply.result() == 5);
    });
    answered.recv_timeout(SOON).unwrap_or(false)
}

#[test]
fn connections_without_a_request_are_closed_to_make_room() {
    let served = Served::with(|http| http.max_connections(8));
    let bytes = modern("tools/list", json!({})).bytes();
    let mut oldest = served.wire();
    thread::sleep(Duration::from_millis(50));
    let waiting: Vec<Wire> = (0..7)
        .map(|number| {
            let mut wire = served.wire();
            match number % 3 {
                0 => {}
                1 => wire.send(&bytes[..30]),
                _ => assert_eq!(wire.ask(&modern("tools/list", json!({}))).status, 200),
            }
            wire
        })
        .collect();
    for _ in 0..3 {
        assert!(is_answered_soon(served.address));
    }
    assert!(oldest.is_over());
    drop(waiting);
}

#[test]
fn no_request_in_flight_is_dropped_to_make_room() {
    let served = Served::with(|http| http.max_connections(3));
    let (mut call_wire, mut stream, mut body) = (served.wire(), served.wire(), served.wire());
    call_wire.send(call("2026-07-28", "t_wait", json!({})).bytes());
    stream.send(Ask::new("GET").with("Accept", "text/event-stream").bytes());
    assert_eq!(stream.head().status, 200);
    let add = call("2026-07-28", "t_add", json!({ "a": 1, "b": 1 }));
    body.send(add.head());
    served.log.wait_for("began", 1);
    let address = served.address;
    let other = thread::spawn(move || is_answered_soon(address));
    thread::sleep(Duration::from_millis(1500));
    assert!(!other.is_finished(), "there is no room");
    body.send(&add.body);
    assert_eq!(body.reply().result(), 2);
    served.log.release();
    assert_eq!(call_wire.reply().result(), "released");
    drop(stream);
    assert!(other.join().unwrap());
}
