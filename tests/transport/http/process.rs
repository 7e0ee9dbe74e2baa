//! A program that serves HTTP until it gets a signal.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use support::{LONG, wait_for_blocking};

use super::connection_limit::is_answered_soon;
use super::shutdown::asks_until_told_to_go;
use super::wire::{Ask, VERSIONS, Wire, call};

struct Program {
    child: Child,
    address: SocketAddr,
    errors: Receiver<String>,
}

impl Program {
    fn start() -> Self {
        Self::run(&mut Command::new(env!("CARGO_BIN_EXE_http-server")))
    }

    /// A program that may open this many files.
    fn with_files(files: u32) -> Self {
        let program = env!("CARGO_BIN_EXE_http-server");
        Self::run(Command::new("sh").args(["-c", &format!("ulimit -n {files} && exec \"$0\""), program]))
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (send, errors) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
        let first = errors.recv_timeout(LONG).unwrap();
        let address = first.strip_prefix("listens at ").unwrap().parse().unwrap();
        Self { child, address, errors }
    }

    fn wire(&self) -> Wire {
        Wire::open(self.address)
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn wait_for(&self, expected: &str) {
        while self.errors.recv_timeout(LONG).unwrap() != expected {}
    }

    fn wait(&mut self) -> ExitStatus {
        wait_for_blocking("the program ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn no_request_is_lost_at_a_signal_under_load() {
    for name in ["-TERM", "-INT"] {
        let mut program = Program::start();
        let stopped = Mutex::new(None);
        thread::scope(|scope| {
            for client in 0..12 {
                let (wire, stopped) = (program.wire(), &stopped);
                let tool = ["t_add", "t_slow", "t_block"][client % 3];
                scope.spawn(move || asks_until_told_to_go(wire, VERSIONS[client / 4], tool, stopped));
            }
            thread::sleep(Duration::from_millis(150));
            *stopped.lock().unwrap() = Some(Instant::now());
            program.signal(name);
        });
        program.wait_for("the end");
        assert!(program.wait().success());
    }
}

#[test]
fn a_long_call_is_answered_after_a_signal() {
    let mut program = Program::start();
    let mut wire = program.wire();
    wire.send(call("2026-07-28", "t_slow", json!({ "ms": 1000 })).bytes());
    program.wait_for("slow began");
    program.signal("-TERM");
    let reply = wire.reply();
    assert_eq!((reply.result(), reply.header("connection")), (json!(1000), Some("close")));
    program.wait_for("the end");
    assert!(program.wait().success());
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let mut program = Program::start();
    let mut wire = program.wire();
    wire.send(call("2025-11-25", "t_slow", json!({ "ms": 100_000 })).bytes());
    program.wait_for("slow began");
    program.signal("-TERM");
    // Two simultaneous signals may be merged into one.
    thread::sleep(Duration::from_millis(300));
    assert!(program.child.try_wait().unwrap().is_none(), "a call is in flight");
    program.signal("-TERM");
    program.wait_for("the end");
    assert!(program.wait().success());
    assert!(wire.is_over());
}

#[test]
fn a_signal_ends_an_idle_program() {
    let mut program = Program::start();
    let mut idle = program.wire();
    // From here on, it handles signals.
    assert_eq!(program.wire().ask(&Ask::new("GET").line("GET /health HTTP/1.1")).status, 200);
    program.signal("-TERM");
    program.wait_for("the end");
    assert!(program.wait().success() && idle.is_over());
}

#[test]
fn half_sent_requests_do_not_lock_others_out_when_few_files_may_be_open() {
    let program = Program::with_files(64);
    let half: Vec<Wire> = (0..80)
        .map(|_| {
            let mut wire = program.wire();
            wire.send("POST /mcp HTTP/1.1\r\nHost: local");
            wire
        })
        .collect();
    assert!(is_answered_soon(program.address));
    drop(half);
    assert!(is_answered_soon(program.address));
}
