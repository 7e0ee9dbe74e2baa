//! The hooks that no call reaches, or that need a process of their own.

use std::future::Future as _;
use std::panic::panic_any;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake};

use mcp_registry::protocol::Peer;
use mcp_registry::testing::block_on;
use mcp_registry::{CancelToken, Registry, Server, Tool};
use serde_json::json;
use support::hooks::{Hook, Moment};

use super::{Served, WRAPPED, Way, is_success, post, rows};

#[test]
fn what_panics_when_the_registry_is_dropped_changes_no_answer_and_no_exit_code() {
    for hook in Hook::ALL.iter().copied().filter(|hook| hook.moments().contains(&Moment::DroppedAtTheEnd)) {
        for (way, bomb) in Way::ALL.into_iter().flat_map(|way| [(way, false), (way, true)]) {
            let mut served = Served::start(way, &format!("+end+gate+layer {hook:?} DroppedAtTheEnd {bomb}"));
            let (id, call) = served.call("subject.plain", &json!({ "value": 5 }), false);
            served.ask(&call, false);
            let answer = served.answer(id);
            assert!(answer.as_ref().is_some_and(is_success), "{hook:?} {way:?}: {answer:?}");
            let status = served.end();
            assert!(status.success(), "{hook:?} {way:?} {bomb}: {status}");
        }
    }
}

#[test]
fn an_observer_that_panics_when_asked_what_it_keeps_is_still_an_observer() {
    for bomb in [false, true] {
        let mut served = Served::start(Way::Stdio, &format!(" KeepsMessages Called {bomb}"));
        let (id, call) = served.call("subject.plain", &json!({ "value": 5 }), false);
        served.ask(&call, false);
        assert!(served.answer(id).as_ref().is_some_and(is_success));
        assert_eq!(served.records(&[id].into())[&id], ["success"]);
        assert!(served.end().success());
    }
}

#[test]
fn an_observer_that_panics_over_a_rejected_request_keeps_others_from_nothing() {
    for bomb in [false, true] {
        let mut served = Served::start(Way::Http, &format!(" Rejected Called {bomb}"));
        let (address, _) = served.http.clone().unwrap();
        let reply = post(&address, "evil.example", "", &json!({})).unwrap()();
        assert!(reply.0.starts_with("HTTP/1.1 403"), "{reply:?}");
        let records = served.value("t.records", &json!({})).unwrap();
        assert!(records.as_array().unwrap().contains(&json!({ "rejected": "host" })), "{records}");
        assert!(served.end().success());
    }
}

#[test]
fn a_program_whose_setup_panics_never_ends_with_success() {
    for moment in Hook::MainWith.moments() {
        for (bomb, arguments) in [
            (false, &["call", "t.add", "a=1", "b=2"][..]),
            (true, &["call", "t.add", "a=1", "b=2"]),
            (false, &["serve"]),
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_user-code"))
                .args(arguments)
                .env("USER_CODE", format!("cli MainWith {moment:?} {bomb}"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(!output.status.success(), "{moment:?} {bomb} {arguments:?}: {output:?}");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_user-code"))
        .args(["call", "t.add", "a=1", "b=2"])
        .env("USER_CODE", "cli")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_connection_whose_transport_panics_keeps_no_other_from_being_notified() {
    struct Bomb(Arc<AtomicUsize>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic_any(7);
        }
    }

    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    let (server, dropped, notified) =
        (Server::new(registry.clone()), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (bomb, counter) = (Bomb(Arc::clone(&dropped)), Arc::clone(&notified));
    let panics = Peer::builder().on_notification(move |_| panic!("{:p}", &bomb)).build();
    let counts = Peer::builder().on_notification(move |_| _ = counter.fetch_add(1, Ordering::SeqCst)).build();
    for peer in [&panics, &counts] {
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        block_on(server.handle(hello.to_string().as_bytes(), peer)).unwrap();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(block_on(server.handle(ready.to_string().as_bytes(), peer)), None);
    }
    let tool = Tool::new("made.one", json!({ "type": "object" }), |_, _| async { "one".to_owned() });
    registry.register(tool).unwrap();
    assert_eq!(notified.load(Ordering::SeqCst), 1);
    drop(panics);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[test]
fn a_waker_that_panics_keeps_no_other_from_being_woken() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic_any(7);
        }
    }

    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    let (token, counts) = (CancelToken::new(), Arc::new(Counts(AtomicUsize::new(0))));
    let (mut one, mut other) = (token.cancelled(), token.cancelled());
    assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&Arc::new(Panics).into())).is_pending());
    assert!(Pin::new(&mut other).poll(&mut Context::from_waker(&Arc::clone(&counts).into())).is_pending());
    token.cancel();
    assert_eq!(counts.0.load(Ordering::SeqCst), 1);
}

#[test]
fn every_hook_has_rows_or_a_test_of_its_own() {
    let own = [Hook::Rejected, Hook::KeepsMessages, Hook::OnNotification, Hook::Waker, Hook::MainWith, Hook::State];
    for hook in Hook::ALL.iter().copied() {
        let has_rows = Way::ALL.into_iter().any(|way| rows(way, WRAPPED).iter().any(|row| row.hook == hook));
        assert!(has_rows != own.contains(&hook), "{hook:?}");
    }
}
