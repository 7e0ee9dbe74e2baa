//! Two crates with conflicting tools in one program. The remedies in the report are applied, and work.

use mcp_registry::error::{Conflict, RegistrationProblem};
use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, RegistrationError, Registry, Tool, ToolCall, tools};

mcp_registry::link_tools!(dup_a, dup_b);

fn conflicts(error: &RegistrationError) -> Vec<&Conflict> {
    let conflicts = error.problems().iter().map(|problem| match problem {
        RegistrationProblem::Conflict(conflict) => conflict,
        other => panic!("{other}"),
    });
    conflicts.collect()
}

#[test]
fn p2_every_conflict_is_in_one_report_with_both_places() {
    let error = Catalog::linked().unwrap_err();
    let mut met = Vec::new();
    for conflict in conflicts(&error) {
        let (kind, name, tools) = match conflict {
            Conflict::Schema { name, tools } => ("schema", name, tools),
            Conflict::Duplicate { name, tools } => ("duplicate", name, tools),
            Conflict::WireName { wire, tools } => ("wire", wire, tools),
            other => panic!("{other}"),
        };
        met.push((kind, name.as_str()));
        assert_ne!(tools[0].origin.package, tools[1].origin.package);
        assert!(tools.iter().all(|tool| tool.origin.file.ends_with("lib.rs") && tool.origin.line > 1));
    }
    met.sort_unstable();
    let expected = [
        ("duplicate", "notes.echo"),
        ("schema", "notes.note"),
        ("wire", "alpha_beta_gamma"),
        ("wire", "old.alias"),
        ("wire", "old.name"),
    ];
    assert_eq!(met, expected);

    let page = error.to_string();
    for place in ["dup-a/src/lib.rs:", "dup-b/src/lib.rs:", "dup-a 0.1.0", "dup-b 0.2.0"] {
        assert!(page.contains(place), "{page}");
    }
}

#[test]
fn the_report_does_not_depend_on_the_order_of_the_linker() {
    let mut entries: Vec<_> = mcp_registry::entry::entries().collect();
    let page = Catalog::from_entries(entries.clone()).unwrap_err().to_string();
    for step in 1..entries.len() {
        entries.rotate_left(step);
        entries.swap(0, step);
        assert_eq!(Catalog::from_entries(entries.clone()).unwrap_err().to_string(), page);
    }
}

/// Every remedy in a report, such as `.rename("…", "…", "…")`.
fn offered(page: &str) -> Vec<(String, Vec<String>)> {
    let calls = page.split(" .").skip(1).filter_map(|rest| rest.split_once(')')).map(|(call, _)| call);
    let call = |call: &str| {
        let (verb, arguments) = call.split_once('(')?;
        let arguments = arguments.split(", ").map(|argument| argument.trim_matches('"').to_owned()).collect();
        Some((verb.to_owned(), arguments))
    };
    calls.filter_map(call).collect()
}

/// The registry with a remedy applied; a name that is left to the reader is a new one.
fn taken(verb: &str, arguments: &[String]) -> Result<Registry, RegistrationError> {
    let builder = Registry::builder();
    let argument = |at: usize| arguments[at].replace('…', "chosen.name");
    match verb {
        "rename" => builder.rename(argument(0), argument(1), argument(2)),
        "exclude" => builder.exclude(argument(0), argument(1)),
        "prefix" => builder.prefix(argument(0), argument(1)),
        "drop_alias" => builder.drop_alias(argument(0), argument(1), argument(2)),
        other => panic!("an unknown offer: {other}"),
    }
    .build()
}

#[test]
fn p2_each_remedy_in_the_report_resolves_its_conflict() {
    let error = Catalog::linked().unwrap_err();
    let mut tried = 0;
    for conflict in conflicts(&error) {
        let offers = offered(&conflict.to_string());
        assert!(offers.len() >= 2, "{conflict}");
        for (verb, arguments) in offers {
            let left = taken(&verb, &arguments).map_or_else(|left| left.problems().to_vec(), |_| Vec::new());
            let resolved = !left.contains(&RegistrationProblem::Conflict(conflict.clone()));
            assert!(resolved, "{verb}{arguments:?} does not resolve\n{conflict}\n{left:?}");
            assert!(left.iter().all(|problem| matches!(problem, RegistrationProblem::Conflict(_))), "{left:?}");
            tried += 1;
        }
    }
    assert_eq!(tried, 13);
}

#[test]
fn p2_all_remedies_together_leave_a_registry_that_works() {
    let registry = Registry::builder()
        .exclude("dup-b", "notes.note")
        .rename("dup-b", "notes.echo", "notes.other_echo")
        .exclude("dup-b", "alpha_beta.gamma")
        .exclude("dup-a", "old.name")
        .drop_alias("dup-b", "only.b", "old.alias")
        .build()
        .unwrap();
    let said = |name: &str| {
        registry.call_blocking(&ToolCall::new(name, json!({ "text": "x" }))).data.unwrap()["result"].clone()
    };
    assert_eq!((said("notes.echo"), said("notes.other_echo")), (json!("a: x"), json!("b: x")));
    for (name, result) in [("old.name", 2), ("old_name", 2), ("old.alias", 1), ("old_alias", 1)] {
        assert_eq!(
            registry.call_blocking(&ToolCall::new(name, json!({}))).data,
            Some(json!({ "result": result })),
            "{name}"
        );
    }
    let prefixed = Registry::builder().prefix("dup-b", "b").build().unwrap();
    assert_eq!(prefixed.list_registered_tools().len(), 10);
    assert_eq!(prefixed.get("b.old.name").unwrap().name(), "b.new.name");
}

#[test]
fn p2_the_remedy_for_a_conflict_caused_by_an_override_uses_the_name_in_the_source() {
    let error = Registry::builder().prefix("dup-b", "b").rename("dup-a", "only.a", "b.only.b").build().unwrap_err();
    assert!(error.to_string().contains(r#".rename("dup-b", "only.b", "…")"#), "{error}");
}

#[test]
fn p2_three_tools_with_one_name_are_three_conflicts() {
    let [a, b] = tools![dup_a::echo, dup_b::echo];
    let schema = a.input_schema.map_or_else(|| a.generate_input_schema(), |schema| schema());
    let made = Tool::new("notes.echo", schema, |_, _| async {});
    let error = Registry::builder_of([a, b]).tool(made).build().unwrap_err();
    assert_eq!(conflicts(&error).len(), 3, "{error}");
}

#[test]
fn p2_a_remedy_for_one_conflict_leaves_the_others_in_the_report() {
    let error = Registry::builder().exclude("dup-b", "notes.note").build().unwrap_err();
    assert_eq!(conflicts(&error).len(), 4);
}

#[test]
fn s3_44_c18_the_same_tool_twice_is_one_tool() {
    let twice = tools![dup_a::note, dup_a::note, dup_a::only].into_iter().chain(tools![dup_a::note]);
    let catalog = Catalog::from_entries(twice).unwrap();
    let names: Vec<&str> = catalog.list_registered_tools().iter().map(mcp_registry::RegisteredTool::name).collect();
    assert_eq!(names, ["notes.note", "only.a"]);
    // One of another crate is not the same.
    assert!(Catalog::from_entries(tools![dup_a::echo, dup_b::echo]).is_err());
}

#[test]
fn p3_the_tools_of_named_crates_are_linked() {
    let error = Registry::builder().expect_tools([("dup-a", 5), ("dup_b", 6)]).build().unwrap_err().to_string();
    assert!(error.contains("the package `dup_b` has 5 of at least 6 expected tools"), "{error}");
    assert!(!error.contains("the package `dup-a`"), "{error}");
}
