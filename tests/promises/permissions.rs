//! Who may call what, and how often.

use mcp_registry::{CallOptions, TrustLevel};
use serde_json::{Value, json};

use crate::matrix::{Cell, Promise, check};
use crate::ways::Way;
use crate::world::{Event, Registration, Setting, Which};

#[test]
fn a_destructive_tool_is_refused_unless_its_caller_is_trusted() {
    Promise::new("a tool marked `destructive` is refused unless the call has the trust level `trusted`").holds(
        |world| {
            let reply = world.call(Which::Destroys, r#""how":"answer""#)?;
            if world.cell.has(Setting::TrustTool) {
                return check(reply.data().is_some() && world.runs() == 1, || format!("it is trusted: {reply}"));
            }
            check(reply.error_type() == "PermissionError" && world.runs() == 0, || format!("it may not run: {reply}"))
        },
    );
}

#[test]
fn the_trust_level_of_a_request_comes_before_all_others_and_its_caller_is_recorded() {
    Promise::new("the trust level of a request overrides those of the tool and of the registry")
        .on(Setting::Observer)
        .unless("a program says nothing about single calls", |cell| cell.way.is_program())
        .holds(|world| {
            for (trust, error_type) in [(TrustLevel::Trusted, ""), (TrustLevel::Untrusted, "PermissionError")] {
                let target = world.with_options(CallOptions::new().trust(trust).caller("ada"));
                let reply = world.cell.way.call(&target, &world.called(Which::Destroys), r#"{"how":"answer"}"#);
                check(reply.error_type() == error_type && world.runs() == 1, || format!("{trust:?}: {reply}"))?;
            }
            let records = world.records();
            let are_hers =
                records.len() == 2 && records.iter().all(|record| record.text.contains(r#"caller: Some("ada")"#));
            check(are_hers, || format!("{records:?}"))
        });
}

#[test]
fn a_gate_sees_every_call_before_it_runs_and_its_refusals_are_recorded() {
    let promise =
        Promise::new("a gate sees every call before it runs, and its refusals are recorded").on(Setting::Gate);
    promise.holds(|world| {
        let allowed = world.act(r#""how":"answer","amount":7"#)?;
        check(allowed.data().is_some(), || format!("the gate allows it: {allowed}"))?;
        let refused = world.act(r#""how":"answer","note":"forbidden""#)?;
        let is_refused = refused.error_type() == "PermissionError" && refused.message().contains("it is forbidden");
        check(is_refused, || format!("the gate refuses it: {refused}"))?;
        let seen: Vec<&str> = world.events().iter().filter_map(step).collect();
        check(seen == ["gate", "tool", "gate"], || format!("the gate is asked first: {seen:?}"))?;
        let recorded = world.records().iter().filter(|record| record.outcome == "denied").count();
        check(!world.cell.has(Setting::Observer) || recorded == 1, || format!("{recorded} refusals are recorded"))
    });
}

fn step(event: &Event) -> Option<&'static str> {
    match event {
        Event::Gate(_) => Some("gate"),
        Event::Tool(_) => Some("tool"),
        Event::Layer(_) | Event::Record { .. } => None,
    }
}

#[test]
fn a_rate_limit_counts_each_call_once() {
    let promise = Promise::new("`rate_limit_tool` counts each call once, by whichever name").on(Setting::RateLimitTool);
    promise
        .with(|setup| setup.burst = 2)
        .unless("a setting names a tool that is there when the registry is built", |cell| {
            cell.setup.registration == Registration::RunTime
        })
        .unless("each run of a program has its own limits", |cell| cell.way == Way::CommandLine)
        .holds(|world| {
            let name = world.called(Which::Acts);
            let replies = world.calls(&[(&*name, r#""how":"answer""#); 3])?;
            let answered = replies.iter().filter(|reply| reply.data().is_some()).count();
            let refused = replies.iter().filter(|reply| reply.error_type() == "ApiLimitExceeded").count();
            check((answered, refused, world.runs()) == (2, 1, 2), || format!("two of three may run: {replies:?}"))
        });
}

#[test]
fn a_gate_and_a_layer_see_the_arguments_as_the_schema_names_them_and_in_one_form() {
    let promise = Promise::new("a gate and a layer see the arguments under the names and in the form of the schema");
    promise.unless("nobody looks", |cell| !cell.is_watched()).holds(|world| {
        let alias = if world.cell.is_dynamic() { "amount" } else { "sum" };
        for amount in [r#""amount":500"#, r#""amount":500.0"#, r#""amount":5e2"#, &format!(r#""{alias}":500.0"#)] {
            let before = world.events().len();
            let reply = world.act(&format!(r#""how":"answer","note":null,"inner":{{"count":3.0}},{amount}"#))?;
            check(reply.data().is_some_and(|data| data["amount"] == 500), || format!("{amount}: {reply}"))?;
            for event in &world.events()[before..] {
                let (Event::Gate(seen) | Event::Layer(seen)) = event else { continue };
                let mut seen = seen.clone();
                seen.as_object_mut().map(|seen| seen.remove("password"));
                let expected: Value =
                    serde_json::from_str(r#"{"how":"answer","inner":{"count":3},"amount":500}"#).unwrap();
                check(seen == expected, || format!("{amount} is seen as {seen}"))?;
            }
        }
        Ok(())
    });
}

#[test]
fn nothing_reaches_a_tool_under_a_name_that_a_gate_or_a_layer_does_not_know() {
    let promise = Promise::new("a gate and a layer see other names as those of the schema, or they are refused");
    promise
        .unless("nobody looks", |cell| !cell.is_watched())
        .unless("a `Tool` gets the value that the gate and the layers see", Cell::is_dynamic)
        .holds(|world| {
            let reply = world.act(r#""how":"answer","inner":{"count":1,"shade":2}"#)?;
            let is_refused = reply.error_type() == "ValidationError" && reply.message().contains("`/inner/shade`");
            check(is_refused && world.runs() == 0, || format!("no name of the schema: {reply}"))?;
            let before = world.events().len();
            let reply = world.act(r#""how":"answer","inner":{"size":1}"#)?;
            let shows_count = |event: &Event| match event {
                Event::Gate(seen) | Event::Layer(seen) | Event::Tool(seen) => seen["inner"] == json!({ "count": 1 }),
                Event::Record { .. } => true,
            };
            let are_same = world.events()[before..].iter().all(shows_count) && world.runs() == 1;
            check(are_same, || format!("`size` is another name of `count`: {reply} {:?}", world.events()))
        });
}
