//! Values of many parts: the first faults are told, the others counted.

use mcp_registry::error::SchemaError;
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{self, Value, json};
use mcp_registry::{Error, Registry, Tool, ToolCall, mcp_tool, tools};
use serde::Deserialize;

/// Takes words.
#[mcp_tool(module = "large")]
fn words(
    #[arg(schema = json!({ "type": "array", "items": { "type": "string", "pattern": "^[a-z]+$" } }))] words: Vec<
        String,
    >,
) -> usize {
    words.len()
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Row {
    #[schemars(range(max = 10))]
    level: u8,
    note: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// Takes rows.
#[mcp_tool(module = "large")]
fn rows(rows: Vec<Row>, #[arg(pattern = "^a")] name: String) -> usize {
    rows.len() + name.len()
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Either {
    Rows(Vec<Row>),
    Name(String),
}

/// Takes rows or a name.
#[mcp_tool(module = "large")]
fn either(either: Either) -> usize {
    matches!(either, Either::Rows(_)).into()
}

fn registry() -> Registry {
    Registry::builder_of(tools![words, rows, either]).build().unwrap()
}

fn error(tool: &str, arguments: Value) -> SchemaError {
    match registry().check(&ToolCall::new(tool, arguments)) {
        Err(Error::Schema(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_faults_of_many_are_told_and_the_rest_is_counted() {
    let mut sent = vec![json!("fine"); 10_000];
    sent[7] = json!("NO");
    sent.extend(vec![json!("0"); 9_999]);
    let error = error("large.words", json!({ "words": sent }));
    assert_eq!((error.faults.len(), error.omitted), (20, 9_980));
    assert_eq!(error.faults[0].path, "/words/7");
    assert_eq!(error.faults[1].path, "/words/10000");
    assert!(error.to_string().ends_with("; and 9980 more"), "{error}");
    assert_eq!(mcp_registry::Error::from(error).to_detail().error_details.unwrap()["omitted"], 9_980);
}

#[test]
fn a_fault_deep_inside_is_told_with_its_place() {
    let row = json!({ "level": 3, "note": null, "tags": ["a"] });
    let mut sent = vec![row; 5_000];
    sent[4_321]["level"] = json!(11);
    sent[4_999]["level"] = json!(300);
    let error = error("large.rows", json!({ "rows": sent, "name": "b", "more": 1 }));
    let paths: Vec<&str> = error.faults.iter().map(|fault| fault.path.as_str()).collect();
    for path in ["/rows/4321/level", "/rows/4999/level", "/name", "/more"] {
        assert!(paths.contains(&path), "{path} is not among {paths:?}");
    }
    assert_eq!(error.omitted, 0);
    assert!(error.faults.iter().any(|fault| fault.message.contains("at most 10")), "{error}");
}

#[test]
fn nulls_stand_for_absent_fields_in_a_large_value_too() {
    let row = json!({ "level": 3, "note": null });
    let registry = registry();
    let call = |rows: Vec<Value>| registry.check(&ToolCall::new("large.rows", json!({ "rows": rows, "name": "a" })));
    call(vec![row.clone(); 5_000]).unwrap();
    let mut with_fault = vec![row; 5_000];
    with_fault[4_000]["level"] = Value::Null;
    let error = call(with_fault).unwrap_err().to_string();
    assert!(error.contains("/rows/4000"), "{error}");
}

#[test]
fn a_fault_deep_inside_of_the_only_alternative_that_may_fit_is_told_with_its_place() {
    let mut sent = vec![json!({ "level": 3 }); 5_000];
    let registry = registry();
    registry.check(&ToolCall::new("large.either", json!({ "either": sent }))).unwrap();
    sent[4_000]["level"] = json!(11);
    let error = error("large.either", json!({ "either": sent }));
    assert_eq!(error.faults[0].path, "/either/4000/level", "{error}");
    assert!(error.faults[0].message.contains("of at most 10, not 11"), "{error}");
    assert!(error.faults.len() == 1 && error.to_string().len() < 1_000, "{error}");
}

#[test]
fn names_of_members_and_references_are_enforced_in_a_large_value() {
    let call = |schema: Value, arguments: Value| {
        let registry = Registry::builder_of([]).allow_empty().build().unwrap();
        registry.register(Tool::new("large.made", schema, |_, _| async {}).description("Takes much.")).unwrap();
        registry.check(&ToolCall::new("large.made", arguments))
    };
    let padding = vec![json!(1); 5_000];
    let keys = json!({
        "type": "object",
        "properties": { "map": {
            "type": "object",
            "propertyNames": { "$ref": "#/$defs/Key" },
            "additionalProperties": { "type": "integer" },
        } },
        "$defs": { "Key": { "pattern": "^[a-z][0-9]*$" } },
    });
    let mut map: Value = (0..5_000).map(|n| (format!("a{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    call(keys.clone(), json!({ "map": map })).unwrap();
    map["; rm -rf /"] = json!(1);
    call(keys, json!({ "map": map })).unwrap_err();
    let older = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "n": { "$ref": "#/definitions/N" } },
        "definitions": { "N": { "type": "integer" } },
    });
    call(older.clone(), json!({ "n": 1.0, "padding": padding })).unwrap();
    call(older, json!({ "n": 1.5, "padding": padding })).unwrap_err();
    let named = json!({
        "$id": "urn:root",
        "type": "object",
        "properties": { "n": { "$ref": "urn:root#/$defs/N" } },
        "$defs": { "N": { "type": "integer" } },
    });
    call(named.clone(), json!({ "n": 1, "padding": padding })).unwrap();
    call(named, json!({ "n": "one", "padding": padding })).unwrap_err();
}
