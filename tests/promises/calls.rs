//! How calls begin and end.

use std::thread;
use std::time::Duration;

use mcp_registry::{CallOptions, CancelToken, Tool};
use serde_json::{Value, json};
use support::wait_until_blocking;

use crate::matrix::{Cell, Promise, check};
use crate::world::{Kind, Which};

#[test]
fn a_tool_is_found_by_each_of_its_names() {
    Promise::new("a tool is called by its canonical name, its name on the wire, or an alias").holds(|world| {
        let reply = world.act(r#""how":"answer","amount":7"#)?;
        check(reply.data().is_some_and(|data| data["amount"] == 7), || reply.to_string())
    });
}

#[test]
fn no_tool_silently_replaces_another() {
    Promise::new("no tool silently replaces another of the same name")
        .unless("the registry of a program is out of reach", |cell| cell.way.is_program())
        .holds(|world| {
            let name = world.cell.setup.canonical(Which::Acts);
            let other = Tool::new(name, json!({ "type": "object" }), |_, _: Value| async { "another".to_owned() });
            check(world.target.registry.register(other).is_err(), || "it is registered".to_owned())?;
            let reply = world.act(r#""how":"answer","amount":7"#)?;
            check(reply.data().is_some_and(|data| data["amount"] == 7), || reply.to_string())
        });
}

#[test]
fn a_panic_fails_only_its_own_call() {
    Promise::new("a panic fails only its own call").holds(|world| {
        let name = world.called(Which::Acts);
        let replies = world.calls(&[(&*name, r#""how":"panic""#), (&*name, r#""how":"answer""#)])?;
        check(replies[0].error_type() == "ToolExecutionError", || format!("it fails: {}", replies[0]))?;
        check(replies[1].data().is_some(), || format!("the next one succeeds: {}", replies[1]))
    });
}

fn is_inline(cell: &Cell) -> bool {
    cell.setup.kind == Kind::Inline
}

#[test]
fn a_caller_is_answered_at_the_deadline() {
    Promise::new("a caller is answered at the deadline, even if the tool does not return")
        .with(|setup| setup.timeout = Some(Duration::from_millis(150)))
        .except("a tool marked `inline` has no deadline", is_inline)
        .holds(|world| {
            let reply = world.act(r#""how":"wait""#)?;
            check(reply.error_type() == "TimeoutError", || reply.to_string())
        });
}

#[test]
fn a_cancelled_call_ends() {
    Promise::new("a call ends when its token is cancelled")
        .except("a tool marked `inline` runs to its end", is_inline)
        .unless("calls of a program have no token of ours", |cell| cell.way.is_program())
        .holds(|world| {
            let token = CancelToken::new();
            let target = world.with_options(CallOptions::new().cancel(token.clone()));
            let (way, name) = (world.cell.way, world.called(Which::Acts));
            let call = thread::spawn(move || way.call(&target, &name, r#"{"how":"wait"}"#));
            wait_until_blocking("the tool begins", || world.runs() > 0 || call.is_finished());
            token.cancel();
            let reply = call.join().expect("a way in does not panic");
            check(world.runs() == 1 && reply.error_type() == "CancelledError", || reply.to_string())
        });
}
