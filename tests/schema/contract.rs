//! The diff over the golden tools: each taken for a new version of another one.

use mcp_core::entry::{ToolEntry, entries};
use mcp_registry::contract::{Change, Verdict, Witness};
use mcp_registry::{Registry, ToolCall};

const NAME: &str = "golden.tool";

/// A registry in which the tool has the name that all of them have here.
fn registry(entry: &'static ToolEntry) -> Registry {
    Registry::builder_of([entry]).rename("mcp-tests", entry.name, NAME).build().unwrap()
}

fn golden() -> Vec<(&'static ToolEntry, Registry)> {
    let mut golden: Vec<_> = entries().filter(|entry| entry.name.starts_with("golden.")).collect();
    golden.sort_by_key(|entry| entry.name);
    let golden = golden.into_iter().map(|entry| (entry, registry(entry)));
    golden.filter(|(_, registry)| !says_less_than_its_type(registry)).collect()
}

/// Whether the schema of the tool accepts what its type rejects: that of a socket address, for example, is that of a string.
fn says_less_than_its_type(registry: &Registry) -> bool {
    let sample = registry.catalog().get(NAME).unwrap().sample_arguments().unwrap();
    registry.check(&ToolCall::new(NAME, sample)).is_err()
}

#[test]
fn nothing_has_changed_between_a_golden_tool_and_itself() {
    for (entry, registry) in golden() {
        let contract = registry.catalog().contract();
        let lock = mcp_registry::contract::Contract::read(&contract.to_string()).unwrap();
        assert!(lock.diff(&contract).is_empty(), "{}: {:#?}", entry.name, lock.diff(&contract).changes);
    }
}

/// How many of the following tools each one is compared with.
const FOLLOWING: usize = 12;

#[test]
fn witnesses_of_golden_tools_hold_in_the_registries_and_hardly_anything_is_unknown() {
    let golden = golden();
    let (mut diffs, mut unknown, mut calls, mut results, mut by_type) = (0, Vec::new(), 0, 0, 0);
    for (index, (old_entry, old)) in golden.iter().enumerate() {
        for offset in 1..=FOLLOWING {
            let (new_entry, new) = &golden[(index + offset) % golden.len()];
            let diff = old.catalog().contract().diff(&new.catalog().contract());
            diffs += 1;
            let pair = format!("{} → {}", old_entry.name, new_entry.name);
            if diff.changes.iter().any(|change| change.verdict() == Verdict::Unknown) {
                unknown.push(pair.clone());
            }
            for Change { witness, message, .. } in diff.changes.iter().filter(|change| change.breaking) {
                match witness {
                    Some(Witness::Arguments(arguments)) => {
                        let call = ToolCall::new(NAME, arguments.clone());
                        if let Err(error) = old.check(&call) {
                            // Some types refuse unknown fields, for example, which their schemas do not say.
                            assert!(error.to_string().contains("is rejected by its type"), "{pair}: {error}");
                            by_type += 1;
                        }
                        assert!(new.check(&call).is_err(), "{pair}: {message}: {arguments}");
                        calls += 1;
                    }
                    Some(Witness::Result(result)) => {
                        let accepts = |registry: &Registry| {
                            let catalog = registry.catalog();
                            let schema = catalog.get(NAME).unwrap().output_schema();
                            schema.is_none_or(|schema| {
                                let validator = jsonschema::options().should_validate_formats(true).build(schema);
                                validator.unwrap().is_valid(result)
                            })
                        };
                        assert!(accepts(new) && !accepts(old), "{pair}: {message}: {result}");
                        results += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    println!("{diffs} diffs, {calls} calls, {results} results, {by_type} rejected by types, unknown: {unknown:?}");
    assert!(unknown.len() * 100 < diffs, "{} of {diffs} are unknown: {unknown:#?}", unknown.len());
    assert!(diffs > 1000 && calls > 1000 && results > 1000, "{diffs} {calls} {results}");
    assert!(by_type * 50 < calls, "{by_type} of {calls}");
}
