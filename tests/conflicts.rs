//! Two crates whose tools meet, in one program. The way out that the report names is taken, and works.

use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, Conflict, RegistrationError, RegistrationProblem, Registry, ToolCall, tools};

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
    let mut schema = 0;
    let mut duplicate = 0;
    let mut wires = Vec::new();
    for conflict in conflicts(&error) {
        let places = match conflict {
            Conflict::Schema { name, places } => {
                assert_eq!(name, "notes.note");
                schema += 1;
                places
            }
            Conflict::Duplicate { name, places } => {
                assert_eq!(name, "notes.echo");
                duplicate += 1;
                places
            }
            Conflict::WireName { wire, places, .. } => {
                wires.push(wire.as_str());
                places
            }
            other => panic!("{other}"),
        };
        assert_ne!(places[0].package, places[1].package);
        assert!(places.iter().all(|place| place.file.ends_with("lib.rs") && place.line > 1));
    }
    wires.sort_unstable();
    assert_eq!((schema, duplicate, wires), (1, 1, vec!["alpha_beta_gamma", "old.name"]));

    let page = error.to_string();
    for place in ["dup-a/src/lib.rs:", "dup-b/src/lib.rs:", "dup-a 0.1.0", "dup-b 0.2.0"] {
        assert!(page.contains(place), "{page}");
    }
    // The order is that of the names, never the linker's.
    assert_eq!(page, Catalog::linked().unwrap_err().to_string());
}

#[test]
fn p2_each_conflict_is_resolved_by_the_remedy_that_the_report_names() {
    let page = Catalog::linked().unwrap_err().to_string();
    for remedy in [
        r#".exclude("dup-b", "notes.note")"#,
        r#".rename("dup-b", "notes.echo", "…")"#,
        r#".exclude("dup-b", "alpha_beta.gamma")"#,
        r#".prefix("dup-b", "…")"#,
    ] {
        assert!(page.contains(remedy), "{remedy} is not in\n{page}");
    }
    let registry = Registry::builder()
        .exclude("dup-b", "notes.note")
        .rename("dup-b", "notes.echo", "notes.other_echo")
        .exclude("dup-b", "alpha_beta.gamma")
        .exclude("dup-a", "old.name")
        .build()
        .unwrap();
    let said = |name: &str| {
        registry.call_blocking(&ToolCall::new(name, json!({ "text": "x" }))).data.unwrap()["result"].clone()
    };
    assert_eq!((said("notes.echo"), said("notes.other_echo")), (json!("a: x"), json!("b: x")));
    assert_eq!(registry.call_blocking(&ToolCall::new("old.name", json!({}))).data, Some(json!({ "result": 2 })));

    let prefixed = Registry::builder().prefix("dup-b", "b").exclude("dup-a", "old.name").build().unwrap();
    assert_eq!(prefixed.list_registered_tools().len(), 9);
}

#[test]
fn p2_a_remedy_for_one_leaves_the_others_in_the_report() {
    let error = Registry::builder().exclude("dup-b", "notes.note").build().unwrap_err();
    assert_eq!(conflicts(&error).len(), 3);
}

#[test]
fn s3_44_c18_the_same_tool_twice_is_one_tool() {
    let twice = tools![dup_a::note, dup_a::note, dup_a::only].into_iter().chain(tools![dup_a::note]);
    assert_eq!(Catalog::from_entries(twice).unwrap().len(), 2);
}

#[test]
fn p3_crates_that_are_named_are_there() {
    let error = Registry::builder().expect_tools([("dup-a", 5), ("dup_b", 6)]).build().unwrap_err().to_string();
    assert!(error.contains("the package `dup_b` brought 5 of at least 6 tools"), "{error}");
    assert!(!error.contains("the package `dup-a`"), "{error}");
}
