//! Invalid tools that compile: the registry reports all of them when it is built, each with its place.

#![allow(clippy::needless_pass_by_value, clippy::unused_async, reason = "tools have the form under test")]

mod map_keys;
mod state;

use std::collections::BTreeMap;

use mcp_registry::entry::{ToolEntry, entries};
use mcp_registry::error::RegistrationProblem;
use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, Registry, mcp_tool, tools};

const LOW: i64 = -3;

/// Has a default below its bound, which the tokens do not show.
#[mcp_tool(name = "broken.default")]
fn default(#[arg(min = 1, default = LOW)] n: i64) -> i64 {
    n
}

/// Has a bound of numbers on a map, which the compiler does not know.
#[mcp_tool(name = "broken.map")]
fn map(#[arg(min = 1)] map: BTreeMap<String, i32>) -> usize {
    map.len()
}

/// Has an empty schema.
#[mcp_tool(name = "broken.empty", input_schema = json!({}))]
fn empty() {}

/// Has a schema that is not an object's.
#[mcp_tool(name = "broken.array", input_schema = json!({ "type": "array" }))]
fn array() {}

/// Has an empty output schema.
#[mcp_tool(name = "broken.output", output_schema = json!({}))]
fn output() {}

/// Has a parameter whose schema is none.
#[mcp_tool(name = "broken.param")]
fn param(#[arg(schema = json!(5))] n: i64) -> i64 {
    n
}

/// A value that cannot become JSON.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("never"))
    }
}

/// Has a default and an example that cannot be shown.
#[mcp_tool(name = "broken.shown")]
fn shown(#[arg(default = Unwritable, example = Unwritable)] value: Unwritable) {
    let _ = value;
}

/// Shares its name with the next.
#[mcp_tool(name = "broken.twice")]
fn twice() {}

/// Shares its name with the one before.
#[mcp_tool(name = "broken.twice")]
fn twice_more() {}

/// Takes a number for its arguments.
#[mcp_tool(name = "broken.flat")]
fn flat(#[arg(flatten)] n: i32) -> i32 {
    n
}

/// Is published under too long a name.
#[mcp_tool(name = "broken.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
fn long() {}

/// The only problem of a tool.
fn problem(entry: &'static ToolEntry) -> RegistrationProblem {
    let error = Registry::builder_of([entry]).build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("macro/invalid_tools/mod.rs:"), "{text}");
    let [problem] = error.problems() else { panic!("{error}") };
    problem.clone()
}

#[test]
fn a_default_that_breaks_its_constraint_is_refused() {
    let [entry] = tools![default];
    let RegistrationProblem::Param { param, reason, .. } = problem(entry) else { panic!() };
    assert_eq!(
        (param.as_str(), reason.as_str()),
        ("n", "has the default -3, which breaks its own `min`; change one of them")
    );
}

#[test]
fn a_constraint_that_does_not_fit_the_type_is_refused() {
    let [entry] = tools![map];
    let RegistrationProblem::Param { param, reason, .. } = problem(entry) else { panic!() };
    assert_eq!(
        (param.as_str(), reason.as_str()),
        ("map", "has `min`, which does not fit its type (object); remove it")
    );
}

#[test]
fn s2_16_s3_41_a_schema_that_is_empty_or_not_of_an_object_is_refused() {
    for (entry, expected) in tools![empty, array, flat].into_iter().zip([
        "is empty; write an object schema",
        "does not have `\"type\": \"object\"` at its root",
        "does not have `\"type\": \"object\"` at its root",
    ]) {
        let RegistrationProblem::Schema { which: "input", reason, .. } = problem(entry) else { panic!() };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn s2_16_an_invalid_schema_of_an_output_or_a_parameter_is_refused() {
    let [output, param] = tools![output, param];
    assert!(
        matches!(problem(output), RegistrationProblem::Schema { which: "output", reason, .. } if reason.starts_with("is empty"))
    );
    assert!(
        matches!(problem(param), RegistrationProblem::Param { reason, .. } if reason.starts_with("has a schema that is not an object"))
    );
}

#[test]
fn a_default_or_an_example_that_cannot_become_json_is_refused() {
    let error = Registry::builder_of(tools![shown]).build().unwrap_err();
    let reasons: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(reasons.len(), 2, "{error}");
    assert!(
        reasons[0]
            .contains("the parameter `value` of `broken.shown` has an example that is null or cannot become JSON")
    );
    assert!(reasons[1].contains("has a default that cannot become JSON"));
}

#[test]
fn the_builder_cannot_resolve_a_conflict_within_one_package() {
    let twice = tools![twice, twice_more];
    let error = Registry::builder_of(twice).build().unwrap_err().to_string();
    assert!(error.contains("they are in the same package, so the builder cannot tell them apart"), "{error}");
    let error = Registry::builder_of(twice).exclude("mcp-tests", "broken.twice").allow_empty().build().unwrap_err();
    let [RegistrationProblem::Edit { reason, .. }] = error.problems() else { panic!("{error}") };
    assert!(reason.starts_with("matches several tools, at ") && reason.ends_with("rename one of them in the source"));
}

#[test]
fn a_name_that_hosts_refuse_is_refused() {
    let [entry] = tools![long];
    assert!(matches!(problem(entry), RegistrationProblem::Name { .. }));
}

#[test]
fn every_problem_is_in_one_report() {
    let here = |entry: &&ToolEntry| entry.origin.module_path.starts_with(module_path!());
    let error = Catalog::from_entries(entries().filter(here)).unwrap_err();
    assert_eq!(error.problems().len(), 25);
    assert!(error.to_string().starts_with("the tools cannot be registered, for 25 reasons:\n  - "));
}
