//! Schemas that are written differently and mean the same are compatible in both directions.

use mcp_registry::contract::Verdict;
use mcp_registry::serde_json::{Value, json};

use crate::{input_diff, output_diff, rules};

fn with(member: Value) -> Value {
    json!({ "type": "object", "properties": { "value": member }, "required": ["value"], "additionalProperties": false })
}

#[test]
fn equivalent_spellings_are_no_change_for_anybody() {
    let definitions = |member: Value| {
        let mut schema = with(member);
        schema["$defs"] = json!({ "Name": { "type": "string", "minLength": 1 } });
        schema
    };
    let name = json!({ "type": "string", "minLength": 1 });
    for (one, other) in [
        // A reference, and what it refers to.
        (definitions(json!({ "$ref": "#/$defs/Name" })), with(name.clone())),
        (with(json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] })), with(name)),
        // Constants, and an enum.
        (with(json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] })), with(json!({ "enum": ["a", "b"] }))),
        (
            with(json!({ "anyOf": [{ "const": "a" }, { "enum": ["b", "c"] }] })),
            with(json!({ "enum": ["c", "b", "a"] })),
        ),
        // Integers.
        (with(json!({ "type": "number", "multipleOf": 1 })), with(json!({ "type": "integer" }))),
        (with(json!({ "type": "integer", "exclusiveMinimum": 0 })), with(json!({ "type": "integer", "minimum": 1 }))),
        (with(json!({ "type": "integer", "minimum": 1.0 })), with(json!({ "type": "integer", "minimum": 1 }))),
        // Or null, in three ways.
        (
            with(json!({ "type": ["string", "null"] })),
            with(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })),
        ),
        (
            with(json!({ "type": ["string", "null"] })),
            with(json!({ "oneOf": [{ "type": "null" }, { "type": "string" }] })),
        ),
        (with(json!({ "enum": ["a", null] })), with(json!({ "anyOf": [{ "enum": ["a"] }, { "type": "null" }] }))),
        // Types, and a union of them.
        (
            with(json!({ "type": ["string", "integer"] })),
            with(json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] })),
        ),
        (with(json!({ "type": "boolean" })), with(json!({ "enum": [true, false] }))),
        // What does not matter.
        (with(json!({ "type": "string", "minLength": 0 })), with(json!({ "type": "string" }))),
        (with(json!({ "type": "integer", "maxLength": 3 })), with(json!({ "type": "integer" }))),
        (with(json!(true)), with(json!({}))),
        // A member that can never be there.
        (
            with(json!({ "type": "object", "properties": { "a": {}, "b": false }, "additionalProperties": false })),
            with(json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false })),
        ),
    ] {
        for (old, new) in [(&one, &other), (&other, &one)] {
            for (diff, rule) in [(input_diff(old, new), "spelling"), (output_diff(old, new), "result-spelling")] {
                assert_eq!(diff.verdict(), Verdict::Compatible, "{old} → {new}: {:#?}", diff.changes);
                assert_eq!(rules(&diff), [rule], "{old} → {new}: {:#?}", diff.changes);
                assert_eq!(diff.changes[0].required_version, None);
            }
        }
    }
}

#[test]
fn another_order_is_seen_only_on_the_wire() {
    let old = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "b": { "enum": ["x", "y"] } },
        "required": ["a", "b"],
    });
    let new = json!({
        "required": ["b", "a"],
        "properties": { "b": { "enum": ["y", "x"] }, "a": { "type": "string" } },
        "type": "object",
    });
    for (diff, rule) in [(input_diff(&old, &new), "spelling"), (output_diff(&old, &new), "result-spelling")] {
        assert_eq!(diff.verdict(), Verdict::Compatible);
        assert_eq!(rules(&diff), [rule], "{:#?}", diff.changes);
    }
}
