//! Pairs of schemas: what is included in what, and what shows that it is not.

use mcp_core::support::schema::Model;
use serde_json::{Value, json};

use super::{Comparison, Gap, Kind, gaps};

fn compare(of: &Value, within: &Value, may_name_members: bool) -> Vec<Gap> {
    let [of, within] = [of, within].map(|schema| {
        let mut model = Model::read(schema, true).unwrap();
        model.read_aliases();
        model
    });
    gaps(&of, &within, Comparison { null_is_absent: false, may_name_members, with_witness: true })
}

/// A schema of objects.
fn object(mut rules: Value) -> Value {
    rules["type"] = json!("object");
    rules
}

#[test]
fn what_is_included_is_proved() {
    let text = || json!({ "type": "string" });
    let pairs = [
        // Types and numbers.
        (json!({ "type": "integer" }), json!({ "type": "number", "multipleOf": 1 })),
        (json!({ "type": "number", "multipleOf": 3 }), json!({ "type": "integer", "multipleOf": 1.5 })),
        (json!({ "type": "integer", "exclusiveMinimum": 0 }), json!({ "minimum": 1 })),
        (json!({ "type": "integer", "minimum": 0.5 }), json!({ "exclusiveMinimum": 0.9 })),
        (json!({ "type": "integer", "maximum": 1e300 }), json!({ "maximum": 1e300 })),
        (json!({ "multipleOf": 5, "minimum": 1 }), json!({ "minimum": 5 })),
        (json!({ "const": 1 }), json!({ "const": 1.0 })),
        (json!({ "const": { "a": 1, "b": [2] } }), json!({ "const": { "b": [2.0], "a": 1 } })),
        (json!({ "enum": [true, false] }), json!({ "type": "boolean" })),
        (json!({ "type": "boolean" }), json!({ "enum": [false, true, null] })),
        (json!({ "type": "string", "format": "made-up" }), text()),
        // Null.
        (json!({ "anyOf": [text(), { "type": "null" }] }), json!({ "type": ["null", "string"] })),
        (
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
            json!({ "oneOf": [{ "const": "a" }, { "type": "null" }] }),
        ),
        // Lists.
        (json!({ "prefixItems": [text()], "items": false }), json!({ "items": text(), "maxItems": 1 })),
        (
            json!({ "type": "array", "prefixItems": [text()], "items": false, "minItems": 1 }),
            json!({ "contains": text(), "maxContains": 1 }),
        ),
        (
            json!({ "type": "array", "contains": { "const": 1 }, "minContains": 2 }),
            json!({ "contains": { "type": "integer" } }),
        ),
        (json!({ "maxItems": 1 }), json!({ "uniqueItems": true })),
        // Objects.
        (object(json!({ "required": ["a"] })), object(json!({ "minProperties": 1 }))),
        (
            object(json!({ "properties": { "a": {} }, "additionalProperties": false })),
            object(json!({ "maxProperties": 1 })),
        ),
        (
            object(json!({ "patternProperties": { "^x": text() }, "additionalProperties": false })),
            object(json!({ "additionalProperties": text() })),
        ),
        (
            object(json!({ "properties": { "a": text() }, "additionalProperties": false })),
            object(json!({ "propertyNames": { "maxLength": 1 } })),
        ),
        (
            object(json!({ "propertyNames": { "enum": ["a"] }, "properties": { "a": text() } })),
            object(json!({ "properties": { "a": text() }, "additionalProperties": false })),
        ),
        (
            object(json!({ "required": ["a"], "dependentRequired": { "a": ["b"] } })),
            object(json!({ "required": ["b"] })),
        ),
        (
            object(json!({ "properties": { "a": text() }, "unevaluatedProperties": false })),
            object(json!({ "properties": { "a": text() }, "additionalProperties": false })),
        ),
        (
            object(json!({ "properties": { "a": text() }, "additionalProperties": false })),
            object(json!({ "allOf": [{ "properties": { "a": {} } }], "unevaluatedProperties": false })),
        ),
        (
            object(json!({
                "oneOf": [
                    { "properties": { "k": { "const": 1 }, "a": text() }, "required": ["k"] },
                    { "properties": { "k": { "const": 2 }, "b": text() }, "required": ["k"] },
                ],
                "unevaluatedProperties": false,
            })),
            object(json!({ "properties": { "k": {}, "a": text(), "b": text() }, "additionalProperties": false })),
        ),
        // Unions, conditions and exclusions.
        (
            json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "integer", "maximum": -1 }] }),
            json!({ "type": "integer", "not": { "const": 0 } }),
        ),
        (json!({ "type": ["string", "integer"] }), json!({ "oneOf": [{ "type": "integer" }, text()] })),
        (json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }), json!({ "enum": ["b", "a"] })),
        (
            json!({ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "type": "integer" } }),
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "number" }] }),
        ),
        (text(), json!({ "if": { "type": "integer" }, "then": false, "else": text() })),
        // Recursion.
        (
            json!({ "$ref": "#/$defs/a", "$defs": {
                "a": object(json!({ "properties": { "next": { "$ref": "#/$defs/b" } }, "additionalProperties": false })),
                "b": object(json!({ "properties": { "next": { "$ref": "#/$defs/a" } }, "additionalProperties": false })),
            } }),
            object(json!({ "properties": { "next": { "$ref": "#" } }, "additionalProperties": false })),
        ),
        // Draft 7.
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [text()], "additionalItems": false }),
            json!({ "prefixItems": [text()], "items": false }),
        ),
        (
            json!({ "type": "array", "$schema": "http://json-schema.org/draft-07/schema#",
                "items": { "$ref": "#/definitions/a", "minLength": 9 }, "definitions": { "a": text() } }),
            json!({ "items": text() }),
        ),
    ];
    let wrong = pairs.iter().map(|(of, within)| (of, within, compare(of, within, false)));
    let wrong: Vec<_> = wrong.filter(|(.., found)| !found.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_not_included_has_a_witness() {
    let text = || json!({ "type": "string" });
    let part = || object(json!({ "properties": { "x": text() }, "required": ["x"], "additionalProperties": false }));
    let alternatives =
        |rules: Value| json!({ "anyOf": [{ "properties": { "a": rules } }, { "properties": { "b": {} } }] });
    let pairs = [
        // Types and numbers.
        (json!({ "type": "number", "multipleOf": 0.5 }), json!({ "type": "integer" })),
        (json!({ "exclusiveMinimum": 0 }), json!({ "minimum": 1 })),
        (
            json!({ "type": "integer", "minimum": 9_007_199_254_740_993_i64 }),
            json!({ "minimum": 9_007_199_254_740_994_i64 }),
        ),
        (json!({ "type": "integer", "maximum": u64::MAX }), json!({ "maximum": i64::MAX })),
        (json!({ "multipleOf": 4 }), json!({ "multipleOf": 8 })),
        (json!({ "const": { "a": 1 } }), json!({ "const": { "a": 1, "b": 1 } })),
        (text(), json!({ "type": "string", "format": "date" })),
        // Null.
        (json!({ "type": ["string", "null"] }), text()),
        (json!({ "type": ["string", "null"] }), json!({ "type": ["string", "null"], "not": { "type": "null" } })),
        (json!({ "enum": ["a", null] }), json!({ "enum": ["a"] })),
        // Other names and values.
        (json!({ "enum": ["a"], "x-mcp-enum": ["b"] }), json!({ "enum": ["a"] })),
        // Lists.
        (json!({ "type": "array", "prefixItems": [text()] }), json!({ "items": text() })),
        (
            json!({ "type": "array", "prefixItems": [text()], "items": text() }),
            json!({ "prefixItems": [text()], "items": false }),
        ),
        (json!({ "type": "array", "contains": text() }), json!({ "contains": text(), "maxContains": 1 })),
        (json!({ "type": "array", "contains": text(), "minContains": 0 }), json!({ "contains": text() })),
        // Objects.
        (
            object(json!({ "patternProperties": { "^a": text() } })),
            object(json!({ "patternProperties": { "a$": text() } })),
        ),
        (
            object(json!({ "dependentSchemas": { "a": { "required": ["b"] } } })),
            object(json!({ "dependentSchemas": { "b": { "required": ["a"] } } })),
        ),
        (
            object(json!({ "allOf": [{ "properties": { "a": {} } }], "unevaluatedProperties": false })),
            object(json!({ "additionalProperties": false })),
        ),
        (
            object(json!({ "properties": { "a": {}, "b": {} }, "additionalProperties": false })),
            object(json!({ "anyOf": alternatives(text())["anyOf"], "unevaluatedProperties": false })),
        ),
        // Unions, conditions and exclusions.
        (json!({ "type": ["string", "integer"] }), json!({ "oneOf": [{ "type": ["string", "integer"] }, text()] })),
        (json!({ "type": "integer" }), json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 1 }] })),
        (
            object(
                json!({ "properties": { "a": part(), "b": part(), "k": { "enum": ["a", "b"] } }, "additionalProperties": false }),
            ),
            json!({ "anyOf": [
                object(json!({ "properties": { "a": part(), "k": { "enum": ["a"] } }, "additionalProperties": false })),
                object(json!({ "properties": { "b": part(), "k": { "enum": ["b"] } }, "additionalProperties": false })),
            ] }),
        ),
        (json!({ "type": "integer" }), json!({ "not": { "multipleOf": 7 } })),
        (text(), json!({ "if": { "minLength": 3 }, "then": { "maxLength": 5 } })),
        // Recursion.
        (
            json!({ "$ref": "#/$defs/a", "$defs": {
                "a": object(json!({ "properties": { "next": { "$ref": "#/$defs/b" } }, "additionalProperties": false })),
                "b": object(json!({ "properties": { "next": { "$ref": "#/$defs/a" }, "x": {} }, "additionalProperties": false })),
            } }),
            object(json!({ "properties": { "next": { "$ref": "#" } }, "additionalProperties": false })),
        ),
        // Draft 7 ignores what stands beside a reference.
        (
            json!({ "type": "array", "$schema": "http://json-schema.org/draft-07/schema#",
                "items": { "$ref": "#/definitions/a", "minLength": 9 }, "definitions": { "a": text() } }),
            json!({ "items": { "type": "string", "minLength": 9 } }),
        ),
    ];
    for may_name_members in [false, true] {
        let is_shown = |gap: &Gap| gap.witness.is_some() && !matches!(gap.kind, Kind::Unnamed(_));
        let wrong = pairs.iter().map(|(of, within)| (of, within, compare(of, within, may_name_members)));
        let wrong: Vec<_> = wrong.filter(|(.., found)| !found.iter().any(is_shown)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn what_is_not_included_is_not_claimed_without_a_witness() {
    let text = || json!({ "type": "string" });
    let pairs = [
        // Names match both patterns.
        (
            object(json!({ "patternProperties": { "^a": {} }, "additionalProperties": text() })),
            object(json!({ "patternProperties": { "b$": text() } })),
        ),
        (
            json!({ "type": "array", "contains": object(json!({ "properties": { "a": {}, "b": text() } })), "minContains": 0, "maxContains": 1 }),
            json!({ "contains": object(json!({ "properties": { "a": {} } })), "minContains": 0, "maxContains": 1 }),
        ),
        (
            object(json!({ "propertyNames": { "enum": ["a", "b"] }, "properties": { "a": {} } })),
            object(json!({ "properties": { "a": {} }, "additionalProperties": false })),
        ),
        // A value may fit several alternatives, and each evaluates members.
        (
            object(
                json!({ "anyOf": [{ "properties": { "a": {} } }, { "properties": { "b": {} } }], "unevaluatedProperties": false }),
            ),
            object(json!({ "maxProperties": 1 })),
        ),
        (
            object(
                json!({ "anyOf": [{ "properties": { "a": {} } }, { "properties": { "b": {} } }], "unevaluatedProperties": false }),
            ),
            object(json!({ "anyOf": [
                { "properties": { "a": {} }, "additionalProperties": false },
                { "properties": { "b": {} }, "additionalProperties": false },
            ] })),
        ),
    ];
    for may_name_members in [false, true] {
        let wrong = pairs.iter().filter(|(of, within)| {
            let found = compare(of, within, may_name_members);
            found.iter().all(|gap| matches!(gap.kind, Kind::Unnamed(_)))
        });
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn only_new_optional_members_of_an_open_object_may_reject_what_was_accepted() {
    let old = object(json!({ "properties": { "a": {} }, "required": ["b"] }));
    for (new, is_kept) in [
        (json!({ "properties": { "a": {}, "c": { "type": "string" } } }), true),
        // A member that must be there is not new.
        (json!({ "properties": { "a": {}, "b": { "type": "string" } } }), false),
        (json!({ "properties": { "a": {}, "c": false } }), false),
        (json!({ "properties": { "a": {}, "c": { "type": "string" } }, "required": ["c"] }), false),
        (json!({ "properties": { "a": {} }, "additionalProperties": { "type": "string" } }), false),
        (json!({ "properties": { "a": {} }, "patternProperties": { "^c": { "type": "string" } } }), false),
    ] {
        let found = compare(&old, &object(new.clone()), true);
        let is_new = |gap: &Gap| matches!(gap.kind, Kind::Unnamed(_));
        assert!(!found.is_empty() && found.iter().all(is_new) == is_kept, "{new}: {found:?}");
    }
    // Many new members hide no other gap.
    let mut members: serde_json::Map<String, Value> =
        (0..100).map(|index| (format!("m{index}"), json!({ "type": "string" }))).collect();
    members.insert("a".to_owned(), json!({ "type": "string" }));
    let found = compare(&old, &object(json!({ "properties": members })), true);
    assert!(found.iter().any(|gap| gap.pointer == "/a" && gap.witness.is_some()), "{found:?}");
}

/// Found by random schemas.
#[test]
fn members_that_depend_on_others_and_members_that_are_evaluated_are_not_confused() {
    let text = json!({ "type": "string" });
    let with_names = |max: u64| {
        object(json!({
            "additionalProperties": text,
            "unevaluatedProperties": { "type": "boolean", "enum": ["a"] },
            "propertyNames": { "maxLength": max },
        }))
    };
    for (of, within) in [
        (object(json!({})), object(json!({ "dependentRequired": { "a": ["b"] } }))),
        (with_names(2), with_names(1)),
        // An inner keyword evaluates members for an outer one.
        (
            object(json!({ "unevaluatedProperties": false, "allOf": [{ "unevaluatedProperties": {} }] })),
            object(json!({ "maxProperties": 0 })),
        ),
        // Texts have no members.
        (json!({ "required": ["a"], "dependentSchemas": { "a": { "type": "array" } } }), json!({ "type": "integer" })),
    ] {
        let found = compare(&of, &within, false);
        assert!(found.iter().any(|gap| gap.witness.is_some()), "{of} {within}: {found:?}");
    }
}

#[test]
fn long_chains_of_references_overflow_no_stack() {
    let chain = |link: &dyn Fn(Value) -> Value, end: &str| {
        let mut definitions = serde_json::Map::from_iter([("a5000".to_owned(), json!({ "type": end }))]);
        definitions
            .extend((0..5_000).map(|n| (format!("a{n}"), link(json!({ "$ref": format!("#/$defs/a{}", n + 1) })))));
        json!({ "$ref": "#/$defs/a0", "$defs": definitions })
    };
    let part = |next: Value| json!({ "type": "object", "properties": { "next": next } });
    let found = compare(&chain(&part, "string"), &chain(&part, "integer"), false);
    assert!(found.iter().any(|gap| gap.kind == Kind::Budget), "{found:?}");
    let error =
        Model::read(&chain(&|next| json!({ "allOf": [next, { "minLength": 1 }] }), "string"), true).unwrap_err();
    assert!(error.reason.contains("schemas apply to one another"), "{error}");
}

#[test]
fn a_member_that_is_required_may_be_there_under_an_alias_that_other_schemas_do_not_know() {
    let rules =
        json!({ "properties": { "a": { "type": "string" } }, "required": ["a"], "x-mcp-aliases": { "a": ["b"] } });
    let old = object(rules);
    for (keyword, rule) in [
        ("not", object(json!({ "properties": { "a": { "type": "integer" } } }))),
        ("anyOf", json!([{ "required": ["a"] }, { "required": ["c"] }])),
        ("dependentSchemas", json!({ "b": { "required": ["c"] } })),
        ("propertyNames", json!({ "const": "a" })),
    ] {
        let mut new = old.clone();
        new[keyword] = rule;
        for may_name_members in [false, true] {
            let found = compare(&old, &new, may_name_members);
            assert!(!found.is_empty(), "{new}");
        }
    }
}

#[test]
fn a_member_may_be_there_under_two_names_that_an_open_object_does_not_name() {
    let old = object(json!({ "properties": { "c": {} } }));
    let new = object(json!({ "properties": { "c": {}, "a": {} }, "x-mcp-aliases": { "a": ["b"] } }));
    let found = compare(&old, &new, false);
    assert!(found.iter().any(|gap| gap.kind == Kind::Forbidden("b".to_owned())), "{found:?}");
    let found = compare(&old, &new, true);
    assert!(!found.is_empty() && found.iter().all(|gap| matches!(gap.kind, Kind::Unnamed(_))), "{found:?}");
}

#[test]
fn a_pattern_that_excludes_a_name_does_not_exclude_its_alias() {
    let schema = |member: Value| {
        object(json!({
            "properties": { "a": member }, "patternProperties": { "^a$": { "type": "array" } },
            "required": ["a"], "x-mcp-aliases": { "a": ["b"] },
        }))
    };
    let found = compare(&schema(json!({ "const": "x" })), &schema(json!({ "type": "integer" })), false);
    assert!(!found.is_empty());
}
