//! What a tool gets.

use crate::matrix::{Cell, Promise, check};
use crate::ways::Way;
use crate::world::Setting;

#[test]
fn a_tool_sees_only_arguments_that_its_schema_accepts_and_others_are_answered_with_their_pointer() {
    const INVALID: [(&str, &str); 7] = [
        (r#""how":"answer","amount":-1"#, "/amount"),
        (r#""how":"answer","amount":10000001"#, "/amount"),
        (r#""how":"answer","amount":"many""#, "/amount"),
        (r#""how":"answer","inner":{"count":300}"#, "/inner/count"),
        (r#""how":"sing""#, "/how"),
        (r#""amount":1"#, "/how"),
        (r#""how":"answer","colour":1"#, "/colour"),
    ];
    Promise::new("a tool sees only arguments that its published schema accepts").holds(|world| {
        for (members, pointer) in INVALID {
            let reply = world.act(members)?;
            check(reply.error_type() == "ValidationError" && world.runs() == 0, || format!("{members}: {reply}"))?;
            let faults = reply.error().and_then(|error| error.error_details.as_ref()).map(|details| &details["faults"]);
            let is_named = faults.is_some_and(|faults| faults[0]["path"] == pointer);
            check(is_named && reply.message().contains(pointer), || format!("{members} names {pointer}: {reply}"))?;
        }
        Ok(())
    });
}

/// One more than two to the power of 65.
const LARGE: &str = "36893488147419103233";

/// Whether the caller gives a `Value`, which has no such number; rmcp reads arguments into one.
fn begins_as_value(cell: &Cell) -> bool {
    match cell.way {
        Way::Call
        | Way::TryCall
        | Way::CallBlocking
        | Way::CallMany
        | Way::TestingClient
        | Way::RmcpMerge
        | Way::RmcpHandler => true,
        Way::Bytes
        | Way::Handle
        | Way::Lines
        | Way::Stdio
        | Way::HttpSession
        | Way::HttpStateless
        | Way::Batch
        | Way::Legacy
        | Way::Flat
        | Way::CommandLine => false,
    }
}

#[test]
fn a_large_integer_keeps_every_digit() {
    Promise::new("an integer that a `Value` cannot hold keeps every digit")
        .off(Setting::Gate)
        .off(Setting::Layer)
        .unless("a `Tool` sees its arguments as a `Value`", Cell::is_dynamic)
        .unless("the arguments are a `Value` before they come in", begins_as_value)
        .holds(|world| {
            let reply = world.act(&format!(r#""how":"answer","big":{LARGE}"#))?;
            check(reply.data().is_some_and(|data| data["big"] == LARGE), || reply.to_string())
        });
}

#[test]
fn a_large_integer_is_refused_where_somebody_has_to_see_it_as_a_value() {
    Promise::new("an integer that a `Value` cannot hold is refused where somebody has to see it as a `Value`")
        .unless("nobody looks, and it keeps every digit", |cell| !cell.is_watched() && !cell.is_dynamic())
        .unless("the arguments are a `Value` before they come in", begins_as_value)
        .holds(|world| {
            let reply = world.act(&format!(r#""how":"answer","big":{LARGE}"#))?;
            check(reply.error_type() == "ValidationError" && world.runs() == 0, || reply.to_string())
        });
}

#[test]
fn an_integer_of_64_bits_keeps_every_digit() {
    Promise::new("an integer that a `Value` can hold keeps every digit, with every setting").holds(|world| {
        for digits in ["9007199254740993", "18446744073709551615", "-9223372036854775808"] {
            let reply = world.act(&format!(r#""how":"answer","big":{digits}"#))?;
            check(reply.data().is_some_and(|data| data["big"] == digits), || reply.to_string())?;
        }
        Ok(())
    });
}

#[test]
fn no_result_is_larger_than_the_limit() {
    Promise::new("a result of more than `max_result` (4 MiB) is an error").holds(|world| {
        let (fits, is_too_large) =
            if world.cell.has(Setting::MaxResult) { (19_000, 20_001) } else { (20_001, 4_194_305) };
        let reply = world.act(&format!(r#""how":"large","amount":{fits}"#))?;
        check(reply.data().is_some(), || format!("it fits: {reply}"))?;
        let reply = world.act(&format!(r#""how":"large","amount":{is_too_large}"#))?;
        check(reply.error_type() == "ResultTooLargeError" && reply.text.len() < 10_000, || reply.to_string())
    });
}
