//! What callers read of errors.

use crate::matrix::{Cell, Holds, Promise, World, check};
use crate::ways::Way;
use crate::world::{FOREIGN, PRINTED, Setting};

const SHOWN: &str =
    "in the same process, over stdio and on the command line, errors are shown unless the registry masks them";

fn is_shown(cell: &Cell) -> bool {
    !cell.is_http() && !cell.has(Setting::Masking)
}

/// What a tool fails with is replaced by an ID, and the observers get it under that ID.
fn is_masked(world: &World, members: &str) -> Holds {
    let reply = world.act(members)?;
    check(reply.error().is_some(), || format!("it fails: {reply}"))?;
    check(!["SECRETDB", "db-7"].iter().any(|word| reply.text.contains(word)), || format!("it is told: {reply}"))?;
    let details = reply.error().and_then(|error| error.error_details.as_ref());
    let id = details.and_then(|details| details["correlation_id"].as_str()).unwrap_or_default();
    check(!id.is_empty() && reply.message().contains(id), || format!("there is an ID: {reply}"))?;
    let is_kept = world.records().iter().any(|record| record.text.contains(FOREIGN) && record.text.contains(id));
    check(is_kept || !world.cell.has(Setting::Observer), || format!("the observers get it: {:?}", world.records()))
}

#[test]
fn an_error_that_was_not_written_for_callers_is_masked() {
    let promise = Promise::new("errors that were not written for callers are masked").except(SHOWN, is_shown);
    promise.holds(|world| is_masked(world, r#""how":"foreign""#));
}

#[test]
fn the_message_of_a_panic_is_masked() {
    let promise = Promise::new("the message of a panic is masked").except(SHOWN, is_shown);
    promise.holds(|world| is_masked(world, r#""how":"panic""#));
}

#[test]
fn an_error_that_a_layer_turns_into_a_result_is_masked() {
    let promise = Promise::new("errors are masked after `next.run(…).await.unwrap_or_else(ToolResult::from)`");
    let promise = promise.on(Setting::Layer).with(|setup| setup.swallows = true).except(SHOWN, is_shown);
    promise.holds(|world| is_masked(world, r#""how":"foreign""#));
}

#[test]
fn an_error_of_another_tool_that_a_tool_returns_is_masked() {
    let promise = Promise::new("errors are masked when a tool returns what `Registry::call` gave it");
    promise.except(SHOWN, is_shown).holds(|world| is_masked(world, r#""how":"relay""#));
}

#[test]
fn the_value_of_a_secret_argument_is_repeated_nowhere() {
    Promise::new("the library repeats the value of a `secret` argument nowhere")
        .with(|setup| setup.settings.retain(|setting| *setting != Setting::Secrets))
        .except("a schema that is written by hand marks no argument as secret", Cell::is_dynamic)
        .holds(|world| {
            for secret in [r#""hunter2""#, r#"["hunter2 and more"]"#, r#"{"hunter2":"hunter2"}"#] {
                let reply = world.act(&format!(r#""how":"answer","password":{secret}"#))?;
                let is_refused = reply.error_type() == "ValidationError" && reply.message().contains("/password");
                check(is_refused, || format!("{secret}: {reply}"))?;
            }
            // A panic and another fault beside it.
            for members in [r#""how":"panic""#, r#""how":"sing""#] {
                world.act(&format!(r#"{members},"password":"hunter2 and more""#))?;
            }
            Ok(())
        });
}

#[test]
fn the_message_and_the_details_of_an_error_have_at_most_64_kib() {
    Promise::new("the message and the details of an error have at most 64 KiB each").holds(|world| {
        for how in ["long_error", "long_result"] {
            let reply = world.act(&format!(r#""how":"{how}""#))?;
            let details = reply.error().and_then(|error| error.error_details.as_ref());
            let sizes = (reply.message().len(), details.map_or(0, |details| details.to_string().len()));
            check(reply.error().is_some() && sizes.0.max(sizes.1) < 66_000, || format!("{how}: {sizes:?}"))?;
        }
        Ok(())
    });
}

#[test]
fn what_a_tool_prints_does_not_reach_the_client() {
    Promise::new("what a tool prints to stdout does not reach the client over stdio")
        .except("`call` on the command line leaves stdout to the tool", |cell| cell.way == Way::CommandLine)
        .unless("stdout is not the way in", |cell| cell.way != Way::Stdio)
        .holds(|world| {
            let reply = world.act(r#""how":"print""#)?;
            check(reply.data().is_some() && !reply.text.contains(PRINTED), || reply.to_string())
        });
}
