use mcp_core::error::Fault;
use mcp_core::support::faults::{ARGUMENTS, RESULT};
use mcp_core::support::schema::Model;
use serde_json::{Value, json};

use super::super::Faults;
use super::{How, Schema, Secrets};

fn schema(schema: &Value) -> Schema {
    Schema::new(Model::read(schema, true).unwrap_or_else(|error| panic!("{schema}: {error}"))).unwrap()
}

fn arguments() -> How<'static> {
    How { document: ARGUMENTS, lenient: true, secrets: Secrets::None }
}

/// Whether our strict verdict on every value is that of `jsonschema`, and that of a check which reports faults.
fn agree(described: Value, values: &[Value]) -> usize {
    let oracle = jsonschema::options().should_validate_formats(true).build(&described).unwrap();
    let schema = schema(&described);
    let root = schema.model().root();
    let strict = How { document: RESULT, lenient: false, secrets: Secrets::None };
    for value in values {
        let text = value.to_string();
        let expected = oracle.is_valid(value);
        assert_eq!(schema.accepts(root, &text), expected, "{described} and {text}");
        let checked = schema.check(&text, &strict).map_err(|faults| faults.faults);
        assert_eq!(checked.is_ok(), expected, "{described} and {text}: {checked:?}");
        assert!(!matches!(checked, Ok(Some(_))), "nothing to edit");
        if expected {
            assert!(schema.check(&text, &arguments()).is_ok(), "{described} and {text}");
        }
    }
    values.len()
}

#[test]
fn verdicts_are_those_of_jsonschema() {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(2.5),
        json!(3.0),
        json!(7),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("abc"),
        json!("é😀"),
        json!("2020-01-31"),
        json!([]),
        json!([1]),
        json!([1, 1.0]),
        json!([1, "a", null]),
        json!([[1], [1]]),
        json!([{ "a": 1 }, { "a": 1.0 }]),
        json!({}),
        json!({ "a": 1 }),
        json!({ "a": "x" }),
        json!({ "a": null, "b": 2 }),
        json!({ "b": 1, "c": 2 }),
        json!({ "a": { "a": { "a": 1 } } }),
        json!({ "kind": "x", "v": 1 }),
        json!({ "kind": "y", "w": "s" }),
        json!({ "kind": "x", "w": "s" }),
        json!({ "x1": 5, "x2": "t" }),
        json!({ "foo": 1, "bar": 2, "baz": 3 }),
    ];
    let schemas = [
        json!({}),
        json!(true),
        json!(false),
        json!({ "type": "null" }),
        json!({ "type": "boolean" }),
        json!({ "type": "integer" }),
        json!({ "type": "number" }),
        json!({ "type": "string" }),
        json!({ "type": "array" }),
        json!({ "type": "object" }),
        json!({ "type": ["integer", "null"] }),
        json!({ "type": ["string", "object"] }),
        json!({ "minimum": 1 }),
        json!({ "maximum": 1 }),
        json!({ "exclusiveMinimum": 1 }),
        json!({ "exclusiveMaximum": 3 }),
        json!({ "multipleOf": 0.5 }),
        json!({ "multipleOf": 7 }),
        json!({ "type": "integer", "minimum": 0, "maximum": 7 }),
        json!({ "minimum": 0.5, "maximum": 2.5 }),
        json!({ "minLength": 1 }),
        json!({ "maxLength": 2 }),
        json!({ "pattern": "^[a-c]+$" }),
        json!({ "format": "date" }),
        json!({ "type": "string", "format": "email" }),
        json!({ "enum": [1, "a", null] }),
        json!({ "enum": [[1, 1], { "a": 1 }, 2.5] }),
        json!({ "const": 3 }),
        json!({ "const": { "b": 1.0, "c": 2 } }),
        json!({ "const": [{ "a": 1 }, { "a": 1 }] }),
        json!({ "const": false }),
        json!({ "items": { "type": "integer" } }),
        json!({ "prefixItems": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "prefixItems": [true], "items": false }),
        json!({ "items": false }),
        json!({ "prefixItems": [{ "const": 1 }], "items": { "const": "a" } }),
        json!({ "minItems": 1 }),
        json!({ "maxItems": 1 }),
        json!({ "uniqueItems": true }),
        json!({ "contains": { "type": "string" } }),
        json!({ "contains": { "const": 1 }, "minContains": 2 }),
        json!({ "contains": { "type": "integer" }, "minContains": 0, "maxContains": 1 }),
        json!({ "properties": { "a": { "type": "integer" } } }),
        json!({ "required": ["a"] }),
        json!({ "properties": { "a": true }, "required": ["a", "b"] }),
        json!({ "properties": { "a": false } }),
        json!({ "properties": { "a": true }, "additionalProperties": false }),
        json!({ "properties": { "a": true }, "additionalProperties": { "type": "integer" } }),
        json!({ "patternProperties": { "^x": { "type": "integer" } } }),
        json!({ "patternProperties": { "^[a-z]$": true }, "additionalProperties": false }),
        json!({ "propertyNames": { "maxLength": 1 } }),
        json!({ "minProperties": 1 }),
        json!({ "maxProperties": 1 }),
        json!({ "dependentRequired": { "a": ["b"] } }),
        json!({ "dependentSchemas": { "a": { "properties": { "a": { "type": "string" } } } } }),
        json!({ "dependentSchemas": { "foo": { "properties": { "bar": true } } }, "unevaluatedProperties": false }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "anyOf": [{ "minimum": 2 }, { "type": "integer" }] }),
        json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
        json!({ "oneOf": [{ "type": "integer" }, { "minimum": 2 }] }),
        json!({ "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
        json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }, { "type": "null" }] }),
        json!({ "allOf": [{ "type": "object" }, { "properties": { "a": { "type": "integer" } } }] }),
        json!({ "allOf": [{ "minimum": 0 }, { "maximum": 2 }], "type": "number" }),
        json!({ "not": { "type": "integer" } }),
        json!({ "not": { "required": ["a"] } }),
        json!({ "not": {} }),
        json!({ "if": { "type": "integer" }, "then": { "minimum": 1 }, "else": { "type": "string" } }),
        json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] } }),
        json!({ "if": false, "else": { "maxLength": 1 } }),
        json!({ "$ref": "#/$defs/N", "$defs": { "N": { "type": "object", "properties": { "a": { "$ref": "#/$defs/M" } } }, "M": { "anyOf": [{ "type": "integer" }, { "$ref": "#/$defs/N" }] } } }),
        json!({ "$ref": "#/$defs/N", "minimum": 1, "$defs": { "N": { "maximum": 3 } } }),
        json!({ "$ref": "#n", "$defs": { "N": { "$anchor": "n", "type": "string" } } }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "x" }, "v": { "type": "integer" } }, "required": ["kind", "v"] },
            { "type": "object", "properties": { "kind": { "const": "y" }, "w": { "type": "string" } }, "required": ["kind"] },
        ] }),
        json!({ "anyOf": [
            { "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false },
            { "type": "object", "properties": { "b": true, "c": true }, "required": ["b"], "additionalProperties": false },
        ] }),
        json!({ "properties": { "foo": true }, "allOf": [{ "properties": { "bar": true } }], "unevaluatedProperties": false }),
        json!({ "properties": { "foo": true }, "anyOf": [{ "properties": { "bar": true }, "required": ["bar"] }, { "properties": { "baz": true }, "required": ["baz"] }], "unevaluatedProperties": false }),
        json!({ "anyOf": [{ "properties": { "bar": true, "foo": true } }, { "properties": { "baz": { "type": "string" } } }], "unevaluatedProperties": { "type": "string" } }),
        json!({ "if": { "properties": { "a": { "const": 1 } }, "required": ["a"] }, "then": { "properties": { "b": true } }, "unevaluatedProperties": false }),
        json!({ "if": { "required": ["kind"], "properties": { "kind": { "const": "x" } } }, "then": { "properties": { "v": true } }, "else": { "properties": { "kind": true, "w": true } }, "unevaluatedProperties": false }),
        json!({ "$ref": "#/$defs/A", "unevaluatedProperties": false, "$defs": { "A": { "properties": { "a": true }, "patternProperties": { "^x": true } } } }),
        json!({ "allOf": [{ "properties": { "a": true }, "unevaluatedProperties": false }], "properties": { "b": true } }),
        json!({ "allOf": [{ "unevaluatedProperties": true }], "unevaluatedProperties": false }),
        json!({ "oneOf": [{ "properties": { "foo": true }, "required": ["foo"] }, { "properties": { "a": true }, "required": ["a"] }], "unevaluatedProperties": false }),
        json!({ "not": { "properties": { "a": true }, "required": ["a", "b"] }, "unevaluatedProperties": false }),
        json!({ "additionalProperties": { "type": "integer" }, "unevaluatedProperties": false }),
        json!({ "type": ["object", "null"], "properties": { "a": { "type": ["integer", "null"] } }, "required": ["a"] }),
        json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }], "$defs": { "A": { "type": "object", "required": ["a"] } } }),
        json!({ "anyOf": [{ "enum": ["a", "abc"] }, { "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false }] }),
        json!({ "items": { "anyOf": [{ "type": "object", "properties": { "a": { "maximum": 1 } } }, { "type": "integer" }] } }),
        json!({ "properties": { "a": { "not": { "type": "null" } } } }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "integer" }], "additionalItems": { "type": "string" } }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "dependencies": { "a": ["b"], "foo": { "required": ["bar"] } } }),
    ];
    let pairs: usize = schemas.into_iter().map(|schema| agree(schema, &values)).sum();
    assert!(pairs > 2_500, "{pairs}");
}

fn faults(described: Value, json: &str, how: &How<'_>) -> Vec<Fault> {
    match schema(&described).check(json, how) {
        Err(Faults { faults, omitted: 0 }) => faults,
        Err(Faults { omitted, .. }) => panic!("{omitted} omitted"),
        Ok(_) => panic!("{json} fits"),
    }
}

/// The faults of arguments: path and message.
#[track_caller]
fn expect(described: Value, sent: Value, expected: &[(&str, &str)]) {
    let found = faults(described, &sent.to_string(), &arguments());
    let found: Vec<(&str, &str)> = found.iter().map(|fault| (fault.path.as_str(), fault.message.as_str())).collect();
    assert_eq!(found, expected);
}

/// The edited arguments.
#[track_caller]
fn edited(described: Value, json: &str, expected: Option<&str>) {
    match schema(&described).check(json, &arguments()) {
        Ok(text) => assert_eq!(text.as_deref(), expected, "{json}"),
        Err(faults) => panic!("{json}: {:?}", faults.faults),
    }
}
