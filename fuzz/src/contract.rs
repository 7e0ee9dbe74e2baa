//! Two contracts: reading and comparing.
//!
//! If the first byte is odd, the text up to the first line break is the old contract, and the next line the new one; else
//! the schemas of a tool and values are made from the other bytes.
//!
//! - Reading and comparing never panic, and end soon. A contract is the same as itself, and as its lock.
//! - A witness is accepted by the old schema, and rejected by the new one.
//! - If nothing breaks, and no parameter is new, the new schema accepts what the old one accepts.

use std::time::{Duration, Instant};

use mcp_registry::__private::Judge;
use mcp_registry::contract::{Contract, Verdict, Witness};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::{explicit_schema, generate};

/// Longer than a comparison takes for inputs of this size, on a busy machine.
const LONG: Duration = Duration::from_secs(5);

/// The changes whose witness is a call that fails, whatever the schema says.
const OF_CALLS: [&str; 6] =
    ["tool-removed", "tool-renamed", "wire-name-changed", "alias-removed", "trust-raised", "task-support-narrowed"];

fn compare(old: &Contract, new: &Contract, values: &[String]) {
    let start = Instant::now();
    let diff = old.diff(new);
    assert!(start.elapsed() < LONG, "comparing takes {:?}: {old}{new}", start.elapsed());
    assert!(serde_json::to_string(&diff).is_ok());
    for tool in old.tools() {
        let Some(after) = new.get(&tool.name) else { continue };
        let (Ok(before), Ok(now)) = (Judge::new(&tool.input_schema), Judge::new(&after.input_schema)) else { continue };
        // A registry of this library takes null for an absent argument.
        let is_ours = after.version.is_some();
        let changes = || diff.changes.iter().filter(|change| change.tool == tool.name);
        for change in changes().filter(|change| !OF_CALLS.contains(&change.rule)) {
            let Some(Witness::Arguments(witness)) = &change.witness else { continue };
            let json = witness.to_string();
            assert!(before.accepts(&json), "{json} was not accepted: {change:?}");
            assert!(now.check(&json, is_ours).is_err(), "{json} is accepted: {change:?}");
        }
        let has_new = changes().any(|change| change.rule == "parameter-added");
        if changes().all(|change| change.verdict() == Verdict::Compatible) && !has_new {
            // Arguments are objects, whatever the schema says.
            for value in values.iter().filter(|value| value.starts_with('{') && before.accepts(value)) {
                assert!(now.check(value, is_ours).is_ok(), "{value} is not accepted, though nothing breaks: {diff:?}");
            }
        }
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let [mode, rest @ ..] = data else { return };
    let (old, new, values) = if mode % 2 == 1 {
        let Ok(text) = std::str::from_utf8(rest) else { return };
        let (old, new) = text.split_once('\n').unwrap_or((text, text));
        // Other names and values are read from contracts, and not by the judge.
        if text.contains("x-mcp") || text.contains("acceptedSchema") {
            return;
        }
        (Contract::read_any(old), Contract::read_any(new), Vec::new())
    } else {
        let mut dice = Dice::new(rest);
        let [old, new] = [(); 2].map(|()| explicit_schema::document(&mut dice));
        let values = (0..4).map(|at| generate::text(if at % 2 == 0 { &old } else { &new }, &mut dice)).collect();
        let contract = |schema: Value| Contract::read_any(&json!([{ "name": "a", "inputSchema": schema }]).to_string());
        (contract(old), contract(new), values)
    };
    let (Ok(old), Ok(new)) = (old, new) else { return };
    assert!(old.diff(&old).is_empty(), "it differs from itself: {old}");
    assert_eq!(Contract::read(&old.to_string()).as_ref(), Ok(&old));
    compare(&old, &new, &values);
    compare(&new, &old, &values);
}
