//! What observers, the audit log and the metrics are told.

use crate::matrix::{Holds, Promise, World, check};
use crate::ways::Way;
use crate::world::{Setting, Which};

/// Asks for a tool, which is recorded once.
fn is_recorded(world: &World, name: &str, arguments: &str, outcome: &str, error_type: &str) -> Holds {
    let (records, audited, metrics) = (world.records().len(), world.shared.audit.records().len(), counts(world));
    let reply = world.ask(name, arguments);
    let new = &world.records()[records..];
    let [record] = new else { return Err(format!("{name} {arguments} has {} records: {reply}", new.len())) };
    let is_right = record.called_as == name && record.outcome == outcome;
    let is_right = is_right && record.error_type.as_deref().unwrap_or_default() == error_type;
    check(is_right, || format!("{name} {arguments} is recorded as {record:?}: {reply}"))?;
    if world.cell.way.is_program() {
        return Ok(());
    }
    check(world.shared.audit.records().len() == audited + 1, || format!("{name} {arguments} is audited once"))?;
    let Ok(tool) = world.target.registry.get(name) else { return Ok(()) };
    check(record.tool == tool.name(), || format!("{name} is recorded as a call of {}", record.tool))?;
    let expected = (metrics.0 + 1, metrics.1 + u64::from(outcome != "success"));
    check(counts(world) == expected, || {
        format!("{name} {arguments} is counted as {:?} after {metrics:?}", counts(world))
    })
}

/// The number of calls and of errors that the metrics have.
fn counts(world: &World) -> (u64, u64) {
    let total = world.target.registry.metrics().total();
    (total.calls, total.errors)
}

#[test]
fn every_call_is_recorded_once_with_its_outcome() {
    Promise::new("every call is recorded once, however it ends").on(Setting::Observer).holds(|world| {
        let (acts, destroys) = (world.called(Which::Acts), world.called(Which::Destroys));
        is_recorded(world, &acts, r#"{"how":"answer"}"#, "success", "")?;
        is_recorded(world, &acts, r#"{"how":"foreign"}"#, "failure", "ToolExecutionError")?;
        is_recorded(world, &acts, r#"{"how":"panic"}"#, "failure", "ToolExecutionError")?;
        is_recorded(
            world,
            &acts,
            r#"{"how":"long_result"}"#,
            "failure",
            if world.cell.has(Setting::MaxResult) { "ResultTooLargeError" } else { "Long" },
        )?;
        is_recorded(world, &acts, r#"{"how":"sing"}"#, "failure", "ValidationError")?;
        if world.cell.has(Setting::Gate) {
            is_recorded(world, &acts, r#"{"how":"answer","note":"forbidden"}"#, "denied", "PermissionError")?;
        }
        let (outcome, error_type) =
            if world.cell.has(Setting::TrustTool) { ("success", "") } else { ("denied", "PermissionError") };
        is_recorded(world, &destroys, r#"{"how":"answer"}"#, outcome, error_type)
    });
}

#[test]
fn a_call_of_an_unknown_tool_is_recorded_once() {
    Promise::new("a call of an unknown tool is recorded once")
        .on(Setting::Observer)
        .except("the command line looks tools up before it calls them", |cell| cell.way == Way::CommandLine)
        .except("rmcp's router answers for names that it does not have", |cell| cell.way == Way::RmcpMerge)
        .holds(|world| {
            let unknown = format!("{}x", world.called(Which::Acts));
            is_recorded(world, &unknown, r#"{"how":"answer"}"#, "failure", "ToolNotFoundError")
        });
}

#[test]
fn a_call_whose_arguments_are_no_object_is_recorded_once() {
    Promise::new("what asks for a tool and is refused is recorded once")
        .on(Setting::Observer)
        .except("the command line takes an object or pairs, and else makes no call", |cell| {
            cell.way == Way::CommandLine
        })
        .unless("rmcp's client sends objects only", |cell| matches!(cell.way, Way::RmcpMerge | Way::RmcpHandler))
        .holds(|world| is_recorded(world, &world.called(Which::Acts), "[1]", "failure", "ValidationError"));
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_one() {
    Promise::new("an unknown name is answered with the nearest one")
        .except("rmcp's router answers for names that it does not have", |cell| cell.way == Way::RmcpMerge)
        .holds(|world| {
            let known = world.called(Which::Acts);
            let reply = world.ask(&format!("{known}x"), r#"{"how":"answer"}"#);
            let tool = world.target.registry.get(&known).unwrap();
            let names = [tool.name(), tool.wire_name(), &known].map(|name| format!("`{name}`"));
            let suggests =
                reply.message().contains("did you mean") && names.iter().any(|name| reply.message().contains(name));
            check(suggests && world.runs() == 0, || reply.to_string())
        });
}
