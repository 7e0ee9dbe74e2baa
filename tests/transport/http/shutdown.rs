//! Shutdown: received requests are answered.

use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::served::Served;
use super::wire::{Ask, VERSIONS, Wire, call, call_told, modern};

/// How long after the stop a request must still be answered. The server keeps running a little longer.
const FAREWELL: Duration = Duration::from_millis(50);

/// A client that sends requests until it is told to stop. Everything it has sent must be answered.
pub(crate) fn asks_until_told_to_go(
    mut wire: Wire,
    version: &str,
    tool: &str,
    stopped: &Mutex<Option<Instant>>,
) -> u64 {
    for number in 0.. {
        let arguments = if tool == "t_add" { json!({ "a": number, "b": 0 }) } else { json!({ "ms": number % 5 }) };
        let ask = call(version, tool, arguments);
        let written = wire.try_send(ask.bytes());
        let at = Instant::now();
        let Some(reply) = wire.try_reply().filter(|_| written) else {
            // A client that is scheduled too late finds the port closed.
            let stopped = stopped.lock().unwrap().expect("the server has not been stopped");
            assert!(at.duration_since(stopped) > FAREWELL, "request {number} is lost");
            return number;
        };
        assert_eq!(reply.status, 200);
        assert_eq!(reply.result(), if tool == "t_add" { number } else { number % 5 });
        if reply.header("connection") == Some("close") {
            assert!(wire.is_over());
            return number + 1;
        }
    }
    unreachable!()
}

#[test]
fn under_load_every_request_is_answered() {
    for round in 0..3 {
        let mut served = Served::start();
        let stopped = Mutex::new(None);
        let answered: u64 = thread::scope(|scope| {
            let clients: Vec<_> = (0..12)
                .map(|client| {
                    let (wire, stopped) = (served.wire(), &stopped);
                    scope.spawn(move || asks_until_told_to_go(wire, VERSIONS[client % 3], "t_add", stopped))
                })
                .collect();
            thread::sleep(Duration::from_millis(100 + 37 * round));
            *stopped.lock().unwrap() = Some(Instant::now());
            served.stop();
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        });
        served.ended();
        assert!(answered >= 12, "{answered}");
    }
}

#[test]
fn requests_in_flight_are_answered() {
    let mut served = Served::start();
    let mut wires: Vec<(Wire, bool)> = Vec::new();
    for version in VERSIONS {
        for (tool, told) in [("t_wait", false), ("t_block", false), ("t_step", true), ("t_block_step", true)] {
            let mut wire = served.wire();
            let ask = if told { call_told } else { call }(version, tool, json!({}));
            wire.send(ask.bytes());
            wires.push((wire, told));
        }
    }
    served.log.wait_for("began", wires.len());
    served.stop();
    assert!(served.goes_on(Duration::from_millis(600)), "calls are in flight");
    served.log.release();
    for (mut wire, told) in wires {
        let reply = wire.reply();
        let answer = if told { reply.messages().pop().unwrap() } else { reply.json() };
        assert_eq!(answer["result"]["structuredContent"]["result"], "released");
        assert!(wire.is_over());
    }
    served.ended();
}

#[test]
fn the_probe_reports_that_the_server_is_stopping() {
    let mut served = Served::start();
    let health = Ask::new("GET").line("GET /health HTTP/1.1");
    let reply = served.ask(&health);
    assert_eq!((reply.status, reply.json()), (200, json!({ "status": "ok" })));
    // Keeps the server from ending.
    let mut busy = served.wire();
    busy.send(call("2026-07-28", "t_wait", json!({})).bytes());
    served.log.wait_for("began", 1);
    let mut wires: Vec<Wire> = (0..20).map(|_| served.wire()).collect();
    let stopped = Instant::now();
    served.stop();
    let mut seen = 0;
    for wire in &mut wires {
        let written = wire.try_send(health.bytes());
        let at = stopped.elapsed();
        match wire.try_reply().filter(|_| written) {
            Some(reply) if reply.status == 503 => {
                assert_eq!(reply.json(), json!({ "status": "stopping" }));
                seen += 1;
            }
            Some(reply) => assert_eq!(reply.status, 200),
            None => assert!(at > FAREWELL),
        }
    }
    assert!(seen > 0 || stopped.elapsed() > FAREWELL);
    served.log.release();
    assert_eq!(busy.reply().result(), "released");
    served.ended();
}

#[test]
fn idle_connections_do_not_delay_the_shutdown() {
    let mut served = Served::start();
    let mut fresh: Vec<Wire> = (0..20).map(|_| served.wire()).collect();
    let mut used = served.wire();
    assert_eq!(used.ask(&modern("tools/list", json!({}))).status, 200);
    served.stop();
    served.ended();
    assert!(used.is_over() && fresh.iter_mut().all(Wire::is_over));
}

#[test]
fn clients_that_send_half_or_do_not_read_do_not_delay_the_shutdown() {
    let mut served = Served::start();
    let ask = call("2026-07-28", "t_echo", json!({ "text": "x".repeat(10_000_000) })).bytes();
    let (mut head, mut body, mut reader) = (served.wire(), served.wire(), served.wire());
    head.send(&ask[..30]);
    body.send(&ask[..5_000_000]);
    // Reads neither its answers nor its events.
    reader.send(&ask);
    reader.send(call_told("2026-07-28", "t_steps", json!({ "count": 40_000 })).bytes());
    served.is_well();
    served.stop();
    assert!(!served.goes_on(Duration::from_secs(40)), "a few seconds are enough");
}

#[test]
fn a_client_that_reads_slowly_gets_the_whole_answer() {
    let mut served = Served::start();
    let text = "x".repeat(10_000_000);
    let ask = call("2026-07-28", "t_echo", json!({ "text": text })).with("Connection", "close").bytes();
    let mut stream = std::net::TcpStream::connect(served.address).unwrap();
    stream.write_all(&ask).unwrap();
    let (mut part, mut read) = (vec![0; 32 * 1024], 0);
    read += stream.read(&mut part).unwrap();
    served.stop();
    // Longer than the server waits for a client that does not read.
    loop {
        match stream.read(&mut part).unwrap() {
            0 => break,
            bytes => read += bytes,
        }
        thread::sleep(Duration::from_millis(24));
    }
    assert!(read > text.len(), "{read} bytes");
    served.ended();
}

#[test]
fn a_server_that_has_stopped_releases_its_port() {
    let mut served = Served::start();
    served.is_well();
    served.stop();
    served.ended();
    assert!(std::net::TcpStream::connect(served.address).is_err());
}

#[test]
fn clients_that_connect_under_load_are_answered_too() {
    let mut served = Served::start();
    let stopped = Mutex::new(None);
    thread::scope(|scope| {
        for client in 0..8 {
            let (address, stopped) = (served.address, &stopped);
            scope.spawn(move || {
                while let Ok(stream) = std::net::TcpStream::connect(address) {
                    let mut wire = Wire::new(stream);
                    let written = wire.try_send(call(VERSIONS[client % 3], "t_add", json!({ "a": 1, "b": 1 })).bytes());
                    let at = Instant::now();
                    if let Some(reply) = wire.try_reply().filter(|_| written) {
                        assert_eq!(reply.result(), 2);
                    } else {
                        let stopped = stopped.lock().unwrap().expect("the server has not been stopped");
                        assert!(at.duration_since(stopped) > FAREWELL, "a request is lost");
                    }
                }
            });
        }
        thread::sleep(Duration::from_millis(150));
        *stopped.lock().unwrap() = Some(Instant::now());
        served.stop();
    });
    served.ended();
}

/// Whether a client is answered that connects after the stop and sends its request a little later.
fn a_late_client_is_heard() -> bool {
    let mut served = Served::start();
    served.is_well();
    served.stop();
    thread::sleep(Duration::from_millis(200));
    let Ok(stream) = std::net::TcpStream::connect(served.address) else { return false };
    let mut wire = Wire::new(stream);
    thread::sleep(Duration::from_millis(100));
    let written = wire.try_send(modern("tools/list", json!({})).bytes());
    let reply = wire.try_reply().filter(|_| written);
    served.ended();
    reply.is_some_and(|reply| reply.status == 200 && reply.header("connection") == Some("close"))
}

#[test]
fn a_connection_that_was_just_made_is_not_closed_before_its_request() {
    // On a busy machine, the request may be too late.
    assert!((0..10).any(|_| a_late_client_is_heard()));
}
