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
fn agree(described: &Value, values: &[Value]) -> usize {
    let oracle = jsonschema::options().should_validate_formats(true).build(described).unwrap();
    let schema = schema(described);
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

/// Values of every type.
const VALUES: &str = r#"[
    null, true, false, 0, 1, -1, 2.5, 3.0, 7, 1e300, 18446744073709551615, "", "a", "abc", "é😀", "2020-01-31", [],
    [1], [1, 1.0], [1, "a", null], [[1], [1]], [{ "a": 1 }, { "a": 1.0 }], {}, { "a": 1 }, { "a": "x" },
    { "a": null, "b": 2 }, { "b": 1, "c": 2 }, { "a": { "a": { "a": 1 } } }, { "kind": "x", "v": 1 },
    { "kind": "y", "w": "s" }, { "kind": "x", "w": "s" }, { "x1": 5, "x2": "t" }, { "foo": 1, "bar": 2, "baz": 3 }
]"#;

/// Schemas with every keyword of the model, one in a line.
const SCHEMAS: &str = r##"
    {}
    true
    false
    { "type": "null" }
    { "type": "boolean" }
    { "type": "integer" }
    { "type": "number" }
    { "type": "string" }
    { "type": "array" }
    { "type": "object" }
    { "type": ["integer", "null"] }
    { "type": ["string", "object"] }
    { "minimum": 1 }
    { "maximum": 1 }
    { "exclusiveMinimum": 1 }
    { "exclusiveMaximum": 3 }
    { "multipleOf": 0.5 }
    { "multipleOf": 7 }
    { "type": "integer", "minimum": 0, "maximum": 7 }
    { "minimum": 0.5, "maximum": 2.5 }
    { "minLength": 1 }
    { "maxLength": 2 }
    { "pattern": "^[a-c]+$" }
    { "format": "date" }
    { "type": "string", "format": "email" }
    { "enum": [1, "a", null] }
    { "enum": [[1, 1], { "a": 1 }, 2.5] }
    { "const": 3 }
    { "const": { "b": 1.0, "c": 2 } }
    { "const": [{ "a": 1 }, { "a": 1 }] }
    { "const": false }
    { "items": { "type": "integer" } }
    { "prefixItems": [{ "type": "integer" }, { "type": "string" }] }
    { "prefixItems": [true], "items": false }
    { "items": false }
    { "prefixItems": [{ "const": 1 }], "items": { "const": "a" } }
    { "minItems": 1 }
    { "maxItems": 1 }
    { "uniqueItems": true }
    { "contains": { "type": "string" } }
    { "contains": { "const": 1 }, "minContains": 2 }
    { "contains": { "type": "integer" }, "minContains": 0, "maxContains": 1 }
    { "properties": { "a": { "type": "integer" } } }
    { "required": ["a"] }
    { "properties": { "a": true }, "required": ["a", "b"] }
    { "properties": { "a": false } }
    { "properties": { "a": true }, "additionalProperties": false }
    { "properties": { "a": true }, "additionalProperties": { "type": "integer" } }
    { "patternProperties": { "^x": { "type": "integer" } } }
    { "patternProperties": { "^[a-z]$": true }, "additionalProperties": false }
    { "propertyNames": { "maxLength": 1 } }
    { "minProperties": 1 }
    { "maxProperties": 1 }
    { "dependentRequired": { "a": ["b"] } }
    { "dependentSchemas": { "a": { "properties": { "a": { "type": "string" } } } } }
    { "dependentSchemas": { "foo": { "properties": { "bar": true } } }, "unevaluatedProperties": false }
    { "anyOf": [{ "type": "integer" }, { "type": "string" }] }
    { "anyOf": [{ "minimum": 2 }, { "type": "integer" }] }
    { "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }
    { "oneOf": [{ "type": "integer" }, { "minimum": 2 }] }
    { "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }
    { "oneOf": [{ "type": "number" }, { "type": "integer" }, { "type": "null" }] }
    { "allOf": [{ "type": "object" }, { "properties": { "a": { "type": "integer" } } }] }
    { "allOf": [{ "minimum": 0 }, { "maximum": 2 }], "type": "number" }
    { "not": { "type": "integer" } }
    { "not": { "required": ["a"] } }
    { "not": {} }
    { "if": { "type": "integer" }, "then": { "minimum": 1 }, "else": { "type": "string" } }
    { "if": { "required": ["a"] }, "then": { "required": ["b"] } }
    { "if": false, "else": { "maxLength": 1 } }
    { "$ref": "#/$defs/N", "$defs": { "N": { "type": "object", "properties": { "a": { "$ref": "#/$defs/M" } } }, "M": { "anyOf": [{ "type": "integer" }, { "$ref": "#/$defs/N" }] } } }
    { "$ref": "#/$defs/N", "minimum": 1, "$defs": { "N": { "maximum": 3 } } }
    { "$ref": "#n", "$defs": { "N": { "$anchor": "n", "type": "string" } } }
    { "oneOf": [ { "type": "object", "properties": { "kind": { "const": "x" }, "v": { "type": "integer" } }, "required": ["kind", "v"] }, { "type": "object", "properties": { "kind": { "const": "y" }, "w": { "type": "string" } }, "required": ["kind"] } ] }
    { "anyOf": [ { "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false }, { "type": "object", "properties": { "b": true, "c": true }, "required": ["b"], "additionalProperties": false } ] }
    { "properties": { "foo": true }, "allOf": [{ "properties": { "bar": true } }], "unevaluatedProperties": false }
    { "properties": { "foo": true }, "anyOf": [{ "properties": { "bar": true }, "required": ["bar"] }, { "properties": { "baz": true }, "required": ["baz"] }], "unevaluatedProperties": false }
    { "anyOf": [{ "properties": { "bar": true, "foo": true } }, { "properties": { "baz": { "type": "string" } } }], "unevaluatedProperties": { "type": "string" } }
    { "if": { "properties": { "a": { "const": 1 } }, "required": ["a"] }, "then": { "properties": { "b": true } }, "unevaluatedProperties": false }
    { "if": { "required": ["kind"], "properties": { "kind": { "const": "x" } } }, "then": { "properties": { "v": true } }, "else": { "properties": { "kind": true, "w": true } }, "unevaluatedProperties": false }
    { "$ref": "#/$defs/A", "unevaluatedProperties": false, "$defs": { "A": { "properties": { "a": true }, "patternProperties": { "^x": true } } } }
    { "allOf": [{ "properties": { "a": true }, "unevaluatedProperties": false }], "properties": { "b": true } }
    { "allOf": [{ "unevaluatedProperties": true }], "unevaluatedProperties": false }
    { "oneOf": [{ "properties": { "foo": true }, "required": ["foo"] }, { "properties": { "a": true }, "required": ["a"] }], "unevaluatedProperties": false }
    { "not": { "properties": { "a": true }, "required": ["a", "b"] }, "unevaluatedProperties": false }
    { "additionalProperties": { "type": "integer" }, "unevaluatedProperties": false }
    { "type": ["object", "null"], "properties": { "a": { "type": ["integer", "null"] } }, "required": ["a"] }
    { "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }], "$defs": { "A": { "type": "object", "required": ["a"] } } }
    { "anyOf": [{ "enum": ["a", "abc"] }, { "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false }] }
    { "items": { "anyOf": [{ "type": "object", "properties": { "a": { "maximum": 1 } } }, { "type": "integer" }] } }
    { "properties": { "a": { "not": { "type": "null" } } } }
    { "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "integer" }], "additionalItems": { "type": "string" } }
    { "$schema": "http://json-schema.org/draft-07/schema#", "dependencies": { "a": ["b"], "foo": { "required": ["bar"] } } }
"##;

#[test]
fn verdicts_are_those_of_jsonschema() {
    let values: Vec<Value> = serde_json::from_str(VALUES).unwrap();
    let schemas = SCHEMAS.trim().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pairs: usize = schemas.map(|schema| agree(&schema, &values)).sum();
    assert!(pairs > 2_500, "{pairs}");
}

fn faults(described: &Value, json: &str, how: &How<'_>) -> Vec<Fault> {
    match schema(described).check(json, how) {
        Err(Faults { faults, omitted: 0 }) => faults,
        Err(Faults { omitted, .. }) => panic!("{omitted} omitted"),
        Ok(_) => panic!("{json} fits"),
    }
}

/// The faults of arguments: path and message.
#[track_caller]
fn expect(described: &Value, sent: &Value, expected: &[(&str, &str)]) {
    let found = faults(described, &sent.to_string(), &arguments());
    let found: Vec<(&str, &str)> = found.iter().map(|fault| (fault.path.as_str(), fault.message.as_str())).collect();
    assert_eq!(found, expected);
}

/// The edited arguments.
#[track_caller]
fn edited(described: &Value, json: &str, expected: Option<&str>) {
    match schema(described).check(json, &arguments()) {
        Ok(text) => assert_eq!(text.as_deref(), expected, "{json}"),
        Err(faults) => panic!("{json}: {:?}", faults.faults),
    }
}

#[test]
fn integers_are_edited_where_only_integers_fit() {
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "integer" },
        "f": { "type": "number" },
        "list": { "type": "array", "items": { "$ref": "#/$defs/N" } },
        "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
        "both": { "anyOf": [{ "type": "integer" }, { "type": "number" }] },
        "some": { "enum": [1, 2] },
        "any": {},
    }, "$defs": { "N": { "type": "integer", "minimum": 0 } } });
    edited(&schema, r#"{"n":2}"#, None);
    edited(&schema, r#"{"n": 2.0 }"#, Some(r#"{"n": 2 }"#));
    edited(&schema, r#"{"f":2.0,"any":2.0,"both":2.0}"#, None);
    edited(&schema, r#"{"list":[1,1e3, 2.50e1,0],"n":-0.0}"#, Some(r#"{"list":[1,1000, 25,0],"n":0}"#));
    edited(&schema, r#"{"n":-0,"f":-0,"list":[-0]}"#, Some(r#"{"n":0,"f":-0,"list":[0]}"#));
    edited(&schema, r#"{"either":7.0,"some":1.0}"#, Some(r#"{"either":7,"some":1}"#));
    edited(&schema, r#"{"n":1e400}"#, None);
    edited(&schema, r#"{"n":123456789012345678901234567890.0}"#, Some(r#"{"n":123456789012345678901234567890}"#));
    expect(&schema, &json!({ "n": 2.5 }), &[("/n", "`n` must be an integer, not 2.5; correct the value")]);
    let strict = How { lenient: false, ..arguments() };
    assert!(matches!(super::super::check::tests::schema(&schema).check(r#"{"n":2.0}"#, &strict), Ok(None)));
}

#[test]
fn nulls_of_absent_members_are_dropped() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "integer" }, "b": { "type": "string" }, "n": { "type": ["integer", "null"] }, "r": { "type": "integer" },
        "inner": { "$ref": "#" }, "list": { "items": { "$ref": "#" } },
    }, "required": ["r"], "additionalProperties": { "type": ["null", "boolean"] } });
    for (sent, expected) in [
        (r#"{"r":1,"a":null}"#, r#"{"r":1}"#),
        (r#"{"a":null,"r":1}"#, r#"{"r":1}"#),
        (r#"{ "a" : null , "r" : 1 }"#, r#"{ "r" : 1 }"#),
        (r#"{"a":null , "b":null,"r":1}"#, r#"{"r":1}"#),
        (r#"{"r":1 , "a":null , "b":null }"#, r#"{"r":1 }"#),
        (r#"{"r":1,"a":null,"n":2}"#, r#"{"r":1,"n":2}"#),
        (r#"{"a":null,"r":1,"b":null}"#, r#"{"r":1}"#),
        (r#"{"a":null,"r":2.0,"b":null,"n":3.0}"#, r#"{"r":2,"n":3}"#),
        (
            r#"{"r":1,"inner":{"a":null,"r":2},"list":[{"r":3,"b":null}]}"#,
            r#"{"r":1,"inner":{"r":2},"list":[{"r":3}]}"#,
        ),
        (r#"{"r":1,"\u0061":null}"#, r#"{"r":1}"#),
    ] {
        edited(&schema, sent, Some(expected));
    }
    edited(&schema, r#"{"r":1,"n":null,"other":null}"#, None);
    let only = json!({ "properties": { "a": { "type": "integer" } } });
    edited(&only, r#"{"a":null}"#, Some("{}"));
    edited(&only, r#"{ "a" : null }"#, Some("{  }"));
    expect(&schema, &json!({ "r": null }), &[("/r", "`r` is missing; add it")]);
    expect(&schema, &json!({ "r": 1, "inner": { "r": null } }), &[("/inner", "`inner` has no field `r`; add it")]);
    expect(
        &schema,
        &json!({ "r": 1, "list": [null, 5] }),
        &[
            ("/list/0", "`list/0` must be an object, not null; correct the value"),
            ("/list/1", "`list/1` must be an object, not 5; correct the value"),
        ],
    );
    // Members that were dropped do not count.
    let counted = json!({ "properties": { "a": { "type": "integer" }, "b": true }, "minProperties": 1, "dependentRequired": { "a": ["b"] } });
    assert_eq!(faults(&counted, r#"{"a":null}"#, &arguments()).len(), 1);
    edited(&counted, r#"{"a":null,"c":1}"#, Some(r#"{"c":1}"#));
}

#[test]
fn edits_reach_flattened_members_and_alternatives() {
    let flat = json!({ "type": "object",
        "properties": { "id": { "type": "integer" } },
        "allOf": [{ "$ref": "#/$defs/Paging" }],
        "oneOf": [
            { "properties": { "kind": { "const": "a" }, "x": { "type": "integer" } }, "required": ["kind"] },
            { "properties": { "kind": { "const": "b" }, "y": { "type": "string" } }, "required": ["kind"] },
        ],
        "unevaluatedProperties": false,
        "$defs": { "Paging": { "type": "object", "properties": { "limit": { "type": "integer" }, "after": { "type": "string" } } } },
    });
    edited(
        &flat,
        r#"{"id":1.0,"limit":2.0,"after":null,"kind":"a","x":3.0}"#,
        Some(r#"{"id":1,"limit":2,"kind":"a","x":3}"#),
    );
    edited(&flat, r#"{"x":null,"limit":null,"kind":"a"}"#, Some(r#"{"kind":"a"}"#));
    expect(
        &flat,
        &json!({ "kind": "b", "limit": "x", "x": 1 }),
        &[
            ("/limit", "`limit` must be an integer, not \"x\"; correct the value"),
            ("/x", "there is no argument `x`; remove it, or use one of `id`, `limit`, `after`, `kind`, `y`"),
        ],
    );
    let untagged = json!({ "anyOf": [
        { "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "string" } }, "required": ["a"] },
        { "type": "object", "properties": { "a": { "type": "number" }, "c": { "type": "integer" } }, "required": ["a"] },
    ] });
    edited(&untagged, r#"{"a":1,"b":null}"#, None);
    edited(&untagged, r#"{"a":1.5,"c":2.0}"#, Some(r#"{"a":1.5,"c":2}"#));
    edited(&untagged, r#"{"a":1.0,"b":"x"}"#, None);
}

#[test]
fn faults_say_what_is_expected() {
    let described = json!({ "type": "object", "properties": {
        "count": { "type": "integer", "minimum": 1, "maximum": 99 },
        "ratio": { "type": "number", "exclusiveMinimum": 0 },
        "five": { "type": "integer", "multipleOf": 5 },
        "date": { "type": "string", "format": "date" },
        "code": { "type": "string", "pattern": "^[A-Z]{3}$", "minLength": 3 },
        "color": { "enum": ["red", "green"] },
        "empty": { "const": "" },
        "only": { "const": 1 },
        "tags": { "type": "array", "items": { "type": "string" }, "uniqueItems": true, "minItems": 2 },
        "pair": { "prefixItems": [true, true], "items": false },
        "some": { "contains": { "type": "integer", "minimum": 3 } },
        "never": false,
        "not": { "not": { "const": 0 } },
        "maybe": { "type": ["integer", "null"], "minimum": 0 },
    } });
    for (sent, expected) in [
        (json!({ "count": "x" }), "`count` must be an integer from 1 to 99, not \"x\"; correct the value"),
        (json!({ "count": 0 }), "`count` must be a number of at least 1, not 0; correct the value"),
        (json!({ "count": 100 }), "`count` must be a number of at most 99, not 100; correct the value"),
        (json!({ "ratio": 0 }), "`ratio` must be a number above 0, not 0; correct the value"),
        (json!({ "ratio": "0" }), "`ratio` must be a number above 0, not \"0\"; correct the value"),
        (json!({ "five": 6 }), "`five` must be a multiple of 5, not 6; correct the value"),
        (json!({ "five": [] }), "`five` must be an integer that is a multiple of 5, not []; correct the value"),
        (
            json!({ "date": "today" }),
            "`date` must be a text of the format `date`, such as `2020-01-01`, not \"today\"; correct the value",
        ),
        (
            json!({ "date": 1 }),
            "`date` must be a text of the format `date`, such as `2020-01-01`, not 1; correct the value",
        ),
        (json!({ "code": "abc" }), "`code` must be a text that matches `^[A-Z]{3}$`, not \"abc\"; correct the value"),
        (
            json!({ "code": 1 }),
            "`code` must be a text of at least 3 characters that matches `^[A-Z]{3}$`, not 1; correct the value",
        ),
        (json!({ "color": "blue" }), "`color` must be one of `red`, `green`, not \"blue\"; correct the value"),
        (json!({ "color": 1 }), "`color` must be one of `red`, `green`, not 1; correct the value"),
        (json!({ "only": 2 }), "`only` must be `1`, not 2; correct the value"),
        (json!({ "empty": "x" }), "`empty` must be `\"\"`, not \"x\"; correct the value"),
        (json!({ "tags": ["a"] }), "`tags` must be a list of at least 2 items, not [\"a\"]; correct the value"),
        (
            json!({ "tags": ["a", "a"] }),
            "`tags` must be a list without the same item twice, not [\"a\",\"a\"]; correct the value",
        ),
        (json!({ "pair": [1, 2, 3] }), "`pair` must be a list of at most 2 items, not [1,2,3]; correct the value"),
        (
            json!({ "some": [1] }),
            "`some` must be a list with an item that is an integer of at least 3, not [1]; correct the value",
        ),
        (json!({ "never": 1 }), "`never` must be left out; remove it"),
        (json!({ "not": 0 }), "`not` must be other than `0`, not 0; correct the value"),
        (json!({ "maybe": "x" }), "`maybe` must be an integer of at least 0, not \"x\"; correct the value"),
    ] {
        let found = faults(&described, &sent.to_string(), &arguments());
        let [fault] = &found[..] else { panic!("{sent}: {found:?}") };
        assert_eq!(fault.message, expected);
    }
}

/// Tagged, with content of its own.
fn shapes() -> Value {
    json!({ "type": "object", "properties": { "shape": { "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "circle" }, "radius": { "type": "integer", "maximum": 9 } }, "required": ["kind", "radius"] },
        { "type": "object", "properties": { "kind": { "const": "square" }, "side": { "type": "integer", "maximum": 5 } }, "required": ["kind", "side"] },
    ] } } })
}

#[test]
fn the_faults_of_the_intended_alternative_are_reported() {
    let by_tag = shapes();
    expect(
        &by_tag,
        &json!({ "shape": { "side": 6, "kind": "square" } }),
        &[("/shape/side", "`shape/side` must be a number of at most 5, not 6; correct the value")],
    );
    expect(
        &by_tag,
        &json!({ "shape": { "kind": "circle", "side": 1 } }),
        &[("/shape", "`shape` has no field `radius`; add it")],
    );
    expect(
        &by_tag,
        &json!({ "shape": { "kind": "oval" } }),
        &[("/shape/kind", "`shape/kind` must be one of `circle`, `square`, not \"oval\"; correct the value")],
    );
    expect(&by_tag, &json!({ "shape": { "side": 1 } }), &[("/shape", "`shape` has no field `kind`; add it")]);
    // A member with few values is not the tag.
    for (keyword, open) in [("anyOf", true), ("anyOf", false), ("oneOf", true), ("oneOf", false)] {
        let part = |properties: Value| json!({ "type": "object", "properties": properties, "required": ["kind"], "additionalProperties": open });
        let image = part(json!({ "kind": { "const": "image" }, "size": { "enum": ["low", "mid"] } }));
        let text = part(json!({ "kind": { "const": "text" } }));
        let parts = json!({ "properties": { "part": { keyword: [image, text] } } });
        let fault = [("/part/size", "`part/size` must be one of `low`, `mid`, not \"high\"; correct the value")];
        expect(&parts, &json!({ "part": { "kind": "image", "size": "high" } }), &fault);
        expect(&parts, &json!({ "part": { "size": "high", "kind": "image" } }), &fault);
    }
    expect(&by_tag, &json!({ "shape": 5 }), &[("/shape", "`shape` must be an object, not 5; correct the value")]);
    // A tag that is known is never at fault, whatever other members list values.
    let part = |tag: &str| json!({ "properties": { "kind": { "const": tag }, "side": { "enum": ["a"] } }, "required": ["kind"] });
    expect(
        &json!({ "properties": { "shape": { "anyOf": [part("one"), part("two"), part("three")] } } }),
        &json!({ "shape": { "side": "b", "kind": "two" } }),
        &[("/shape/side", "`shape/side` must be `a`, not \"b\"; correct the value")],
    );
    let by_type = json!({ "properties": { "v": { "anyOf": [
        { "type": "integer", "minimum": 3 },
        { "type": "string" },
        { "type": "object", "properties": { "x": { "type": "integer" }, "y": { "type": "integer" } }, "required": ["x", "y"] },
    ] } } });
    expect(&by_type, &json!({ "v": 2 }), &[("/v", "`v` must be a number of at least 3, not 2; correct the value")]);
    expect(&by_type, &json!({ "v": { "x": 1 } }), &[("/v", "`v` has no field `y`; add it")]);
    expect(
        &by_type,
        &json!({ "v": true }),
        &[("/v", "`v` must be an integer of at least 3, a string or an object, not true; correct the value")],
    );
    let by_name = json!({ "properties": { "v": { "anyOf": [
        { "enum": ["Nothing"] },
        { "type": "object", "properties": { "One": { "type": "integer" } }, "required": ["One"], "additionalProperties": false },
        { "type": "object", "properties": { "Two": { "type": "string" } }, "required": ["Two"], "additionalProperties": false },
    ] } } });
    expect(
        &by_name,
        &json!({ "v": { "Two": 5 } }),
        &[("/v/Two", "`v/Two` must be a string, not 5; correct the value")],
    );
    expect(
        &by_name,
        &json!({ "v": { "Two": "a", "more": 1 } }),
        &[("/v/more", "`v` has no field `more`; remove it, or use `Two`")],
    );
    expect(
        &by_name,
        &json!({ "v": { "Tow": "a" } }),
        &[("/v", "`v` must be an object with `One` or an object with `Two`, not {\"Tow\":\"a\"}; correct the value")],
    );
    expect(&by_name, &json!({ "v": "No" }), &[("/v", "`v` must be `Nothing`, not \"No\"; correct the value")]);
}

#[test]
fn what_each_alternative_lacks_is_reported_if_none_is_intended() {
    let gap = json!({ "properties": { "v": { "anyOf": [
        { "type": "object", "properties": { "size": { "type": "integer", "maximum": 9 } }, "required": ["size"] },
        { "type": "object", "properties": { "size": { "type": "integer", "minimum": 20 } }, "required": ["size"] },
    ] } } });
    expect(
        &gap,
        &json!({ "v": { "size": 15 } }),
        &[(
            "/v",
            "`v` must be one whose `size` is a number of at most 9 or one whose `size` is a number of at least 20, not {\"size\":15}; correct the value",
        )],
    );
    expect(&gap, &json!({ "v": {} }), &[("/v", "`v` must be an object with `size`, not {}; correct the value")]);
    let either = json!({ "oneOf": [{ "required": ["id"] }, { "required": ["name"] }] });
    expect(
        &either,
        &json!({}),
        &[("", "`arguments` must be an object with `id` or an object with `name`, not {}; correct the value")],
    );
    expect(
        &either,
        &json!({ "id": 1, "name": 2 }),
        &[(
            "",
            "`arguments` must be one of the alternatives of its schema, and no other, not {\"id\":1,\"name\":2}; correct the value",
        )],
    );
}

#[test]
fn faults_are_reported_in_the_order_of_the_text() {
    let described = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "minLength": 2 },
            "limit": { "type": "integer", "exclusiveMinimum": 0, "multipleOf": 5 },
            "only": { "const": "x" },
            "by": { "type": "object", "propertyNames": { "maxLength": 2 }, "maxProperties": 1 },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    expect(
        &described,
        &json!({ "limit": 0, "only": "y", "by": { "abc": 1, "b": 2 }, "qeury": "ab", "x": 1 }),
        &[
            ("/limit", "`limit` must be a number above 0, not 0; correct the value"),
            ("/only", "`only` must be `x`, not \"y\"; correct the value"),
            ("/by", "`by` must be an object of at most 1 member, not {\"abc\":1,\"b\":2}; correct the value"),
            (
                "/by",
                "`by` must be an object of which each name is a text of at most 2 characters, not {\"abc\":1,\"b\":2}; correct the value",
            ),
            ("/qeury", "there is no argument `qeury`; did you mean `query`?"),
            ("/x", "there is no argument `x`; remove it, or use one of `query`, `limit`, `only`, `by`"),
            ("/query", "`query` is missing; add it"),
        ],
    );
}

#[test]
fn twenty_faults_are_kept_and_the_others_are_counted() {
    let schema = schema(&json!({ "items": { "type": "string" } }));
    let Err(Faults { faults, omitted }) = schema.check(&json!(vec![1; 1_000]).to_string(), &arguments()) else {
        panic!()
    };
    assert_eq!((faults.len(), omitted), (20, 980));
    assert_eq!(faults[19].path, "/19");
}

#[test]
fn paths_are_pointers_and_bounded() {
    let schema = json!({ "additionalProperties": { "additionalProperties": { "type": "integer" } } });
    expect(
        &schema,
        &json!({ "a/b~c": { "é\"": "x" } }),
        &[("/a~1b~0c/é\"", "`a~1b~0c/é\"` must be an integer, not \"x\"; correct the value")],
    );
    let long = "k".repeat(100_000);
    let found = faults(&schema, &json!({ "a": { long.as_str(): "x" }, long.as_str(): 5 }).to_string(), &arguments());
    assert!(format!("{found:?}").len() < 2_000);
}

#[test]
fn keys_that_occur_twice_are_faults() {
    let described = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "o": {} } });
    let strict = How { document: RESULT, lenient: false, secrets: Secrets::None };
    for (sent, path, message) in [
        (r#"{"a":1,"a":2}"#, "/a", "`a` is given twice; keep one of the two"),
        (r#"{"a":1,"\u0061":2}"#, "/a", "`a` is given twice; keep one of the two"),
        (r#"{"b":1,"c":0,"b":2}"#, "/b", "`b` is given twice; keep one of the two"),
        (r#"{"o":{"x":[{"y":1,"z":2,"y":1}]}}"#, "/o/x/0/y", "`o/x/0` has the field `y` twice; keep one of the two"),
    ] {
        for how in [&arguments(), &strict] {
            let found = faults(&described, sent, how);
            assert_eq!((found[0].path.as_str(), found[0].message.as_str()), (path, message), "{sent}");
            assert_eq!(found.len(), 1);
        }
    }
    assert_eq!(faults(&described, r#"{"a":null,"a":1}"#, &arguments())[0].path, "/a", "also if one is dropped");
    let many = (0..10_000).map(|n| format!("\"k{n}\":1,")).collect::<Vec<_>>().concat();
    assert!(schema(&described).check(&format!("{{{many}\"k\":1}}"), &strict).is_ok());
    assert_eq!(faults(&described, &format!("{{{many}\"k77\":1}}"), &strict)[0].path, "/k77");
}

#[test]
fn aliases_count_as_the_property() {
    let described = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"], "additionalProperties": false });
    let mut model = Model::read(&described, true).unwrap();
    let root = model.root();
    model[root].object.as_mut().unwrap().properties[0].aliases.push("word".to_owned());
    let schema = Schema::new(model).unwrap();
    let check = |json: &str| schema.check(json, &arguments()).map_err(|faults| faults.faults[0].message.clone());
    assert_eq!(check(r#"{"word":"a"}"#), Ok(None));
    assert_eq!(check(r#"{"word":1}"#).unwrap_err(), "`name` must be a string, not 1; correct the value");
    assert_eq!(check(r#"{"word":null}"#).unwrap_err(), "`name` is missing; add it");
    assert_eq!(check(r#"{"word":"a","name":"b"}"#).unwrap_err(), "`name` is given twice; keep one of the two");
}

#[test]
fn a_null_is_absent_where_the_property_says_so() {
    let described = json!({ "properties": { "a": { "type": ["string", "null"] }, "b": true } });
    let mut model = Model::read(&described, true).unwrap();
    let root = model.root();
    model[root].object.as_mut().unwrap().properties[0].null_is_absent = true;
    let schema = Schema::new(model).unwrap();
    assert_eq!(schema.check(r#"{"a":null,"b":null}"#, &arguments()).ok().unwrap().as_deref(), Some(r#"{"b":null}"#));
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let described = json!({
        "type": "object",
        "properties": {
            "login": { "type": "object", "properties": { "user": { "type": "string" }, "pass": { "minLength": 4 } },
                "additionalProperties": false, "maxProperties": 2, "propertyNames": { "maxLength": 6 } },
            "open": { "maxLength": 3 },
            "map": { "additionalProperties": { "anyOf": [{ "type": "object", "required": ["x"] }, { "type": "object", "required": ["y"] }] } },
        },
        "maxProperties": 3,
        "anyOf": [{ "required": ["login", "open"] }, { "required": ["login"] }, { "required": ["map"] }],
        "additionalProperties": false,
    });
    let all = How { secrets: Secrets::All, ..arguments() };
    let named = How { secrets: Secrets::Named(&["login", "map"]), ..arguments() };
    for sent in [
        r#"{"login":"hunter2"}"#,
        r#"{"login":{"hunter2":1}}"#,
        r#"{"login":{"user":["hunter2"],"pass":"hun"}}"#,
        r#"{"login":{"user":{"hunter2":1,"hunter2":2}}}"#,
        r#"{"login":{"user":"hunter2","pass":"hunter2","hunter2":"hunter2"}}"#,
        r#"{"map":{"hunter2":{"hunter2":1}}}"#,
        r#"{"map":{"a":"hunter2"}}"#,
        r#"{"login":{},"map":{},"open":"hunter2","x":"hunter2"}"#,
    ] {
        let text = format!("{:?}", faults(&described, sent, &all));
        assert!(!text.contains("hunter2"), "{text}");
        if !sent.contains("\"open\"") {
            let text = format!("{:?}", faults(&described, sent, &named));
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("\"/login\"") || text.contains("\"/map\""), "{text}");
        }
    }
    let found = faults(&described, r#"{"hunter2":1,"hunter2":2}"#, &all);
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    let found = faults(&described, r#"{"login":{"pass":"abc"},"open":"long"}"#, &named);
    let messages: Vec<&str> = found.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`login` must be a text of at least 4 characters; correct the value",
            "`open` must be a text of at most 3 characters, not \"long\"; correct the value",
        ]
    );
}

#[test]
fn text_that_is_not_json_has_one_fault() {
    let described = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    let found = faults(&described, r#"{"a":"x", b}"#, &arguments());
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].path.as_str(), found[0].message.as_str()),
        ("", "the arguments are not a JSON object: byte 10 should be a key in quotes; send one JSON object")
    );
    let strict = How { document: RESULT, lenient: false, secrets: Secrets::None };
    let found = faults(&described, "{} {}", &strict);
    assert_eq!(found[0].message, "the result is not JSON: byte 3 should be the end; return valid JSON");
    let deep = format!(r#"{{"b":{}{}}}"#, "[".repeat(130), "]".repeat(130));
    assert_eq!(faults(&described, &deep, &arguments())[0].message, "`b/0/0/0` is nested too deep; flatten it");
}

#[test]
fn trials_have_a_budget() {
    // Every level has two alternatives that differ only at the end.
    let described = json!({ "$ref": "#/$defs/T", "$defs": { "T": { "anyOf": [
        { "type": "object", "properties": { "n": { "$ref": "#/$defs/T" }, "z": { "type": "integer" } } },
        { "type": "object", "properties": { "n": { "$ref": "#/$defs/T" }, "z": { "type": "string" } } },
        { "type": "null" },
    ] } } });
    let nested =
        |levels: usize, last: &str| (0..levels).fold(last.to_owned(), |inner, _| format!(r#"{{"n":{inner},"z":"s"}}"#));
    let schema = schema(&described);
    let strict = How { document: RESULT, lenient: false, secrets: Secrets::None };
    assert!(schema.check(&nested(8, "null"), &strict).is_ok());
    let Err(Faults { faults, .. }) = schema.check(&nested(120, "1"), &strict) else { panic!("it fits") };
    assert_eq!(faults.len(), 1);
    assert!(faults[0].message.contains("is too ambiguous to check within its limits; "), "{}", faults[0].message);
    assert!(!schema.accepts(schema.model().root(), &nested(120, "1")));
}

#[test]
fn a_schema_that_applies_too_often_is_given_up() {
    // Each level applies the next one twice.
    let nested = |levels: usize| {
        let level = |n: usize| json!({ "$ref": format!("#/$defs/{}", n + 1) });
        let levels = (0..levels).map(|n| (n.to_string(), json!({ "allOf": [level(n), level(n)] })));
        let mut definitions: serde_json::Map<String, Value> = levels.collect();
        definitions.insert(definitions.len().to_string(), json!({ "type": "string" }));
        schema(&json!({ "$ref": "#/$defs/0", "$defs": definitions }))
    };
    let strict = How { document: RESULT, lenient: false, secrets: Secrets::None };
    assert!(nested(8).check("\"text\"", &strict).is_ok());
    let Err(Faults { faults, .. }) = nested(40).check("\"text\"", &strict) else { panic!("it was checked") };
    assert!(faults[0].message.contains("is too ambiguous to check within its limits; "), "{}", faults[0].message);
}

#[test]
fn hostile_texts_need_little_memory() {
    let described = json!({ "type": "object", "properties": { "a": { "items": { "type": "integer", "maximum": 5 } } }, "additionalProperties": true });
    let schema = schema(&described);
    let strict = How { document: ARGUMENTS, lenient: true, secrets: Secrets::None };
    let deep = "[".repeat(1 << 20);
    let numbers = format!(r#"{{"a":[{}9]}}"#, "9,".repeat(1 << 18));
    let members = (0..1 << 16).map(|n| format!(r#""{n:x}":{{}},"#)).collect::<Vec<_>>().concat();
    let digits = format!(r#"{{"a":[{}]}}"#, "9".repeat(1 << 20));
    let exponents = format!(r#"{{"a":[{}]}}"#, "1e999999999,".repeat(1 << 14) + "0");
    for text in [deep, numbers, format!("{{{members}\"0\":1}}"), digits, exponents] {
        let Err(Faults { faults, .. }) = schema.check(&text, &strict) else { panic!("{}", &text[..20]) };
        assert!(faults.len() <= 20 && format!("{faults:?}").len() < 10_000);
    }
}

#[test]
fn big_numbers_are_compared_exactly() {
    let schema = schema(&json!({ "maximum": 9_007_199_254_740_993_u64, "not": { "const": 0.1 } }));
    let root = schema.model().root();
    for (text, fits) in [
        ("9007199254740993", true),
        ("9007199254740993.0", true),
        ("9007199254740993.00000000000000000001", false),
        ("9007199254740994", false),
        ("90071992547409930000e-4", true),
        ("1e999999999999999999999999", false),
        ("-1e999999999999999999999999", true),
        ("0.1", false),
        ("0.10", false),
        ("1e-1", false),
        ("0.1000000000000000055511151231257827", true),
    ] {
        assert_eq!(schema.accepts(root, text), fits, "{text}");
    }
}

#[test]
fn a_pattern_that_is_none_is_named() {
    let model = Model::read(&json!({ "pattern": "(" }), true).unwrap();
    let error = Schema::new(model).err().unwrap();
    assert!(error.starts_with("the pattern `(` "), "{error}");
}

#[test]
fn edited_text_that_does_not_fit_is_rejected() {
    let schemas = [
        json!({ "properties": { "a": { "type": "integer" } }, "not": { "maxProperties": 0 } }),
        json!({ "properties": { "a": { "type": "integer" } }, "if": { "maxProperties": 0 }, "then": false }),
        json!({ "properties": { "a": { "type": "integer" } }, "oneOf": [{ "maxProperties": 0 }, { "maxProperties": 2 }] }),
    ];
    for described in schemas {
        assert!(!faults(&described, r#"{"a":null}"#, &arguments()).is_empty(), "{described}");
        assert!(schema(&described).check(r#"{"a":1.0}"#, &arguments()).is_ok(), "{described}");
    }
    let items = json!({ "items": { "properties": { "a": { "type": "integer" } } }, "uniqueItems": true });
    assert!(!faults(&items, r#"[{},{"a":null}]"#, &arguments()).is_empty());
}

#[test]
fn references_stay_in_their_document() {
    let draft7 = "http://json-schema.org/draft-07/schema#";
    let anchored = json!({ "$schema": draft7, "allOf": [{ "$ref": "#n" }], "definitions": { "N": { "$id": "#n", "maximum": 3 } } });
    let dynamic = json!({ "$ref": "#n", "$defs": { "N": { "$dynamicAnchor": "n", "maximum": 3 } } });
    let labelled = json!({ "$id": "urn:a", "properties": { "a": { "$id": "urn:b", "maximum": 3 } } });
    for (described, value) in [(&anchored, "4"), (&dynamic, "4"), (&labelled, r#"{"a":4}"#)] {
        assert_eq!(faults(described, value, &arguments()).len(), 1, "{described}");
    }
    let error = |described: Value| Model::read(&described, true).unwrap_err().to_string();
    let embedded =
        json!({ "properties": { "a": { "$id": "urn:b", "items": { "$ref": "#/$defs/N" } } }, "$defs": { "N": {} } });
    assert_eq!(
        error(embedded),
        "`$ref` in a schema that has an `$id` of its own is not supported at `/properties/a/items/$ref`"
    );
    let anchor = json!({ "$ref": "#n", "$defs": { "N": { "$id": "urn:b", "$defs": { "M": { "$anchor": "n" } } } } });
    assert_eq!(error(anchor), "`$ref` leads to `#n`, and there is no such `$anchor` at `/$ref`");
    let twice = json!({ "$ref": "#n", "$defs": { "A": { "$anchor": "n" }, "B": { "$dynamicAnchor": "n" } } });
    assert_eq!(error(twice), "two schemas have the anchor `n` at `/$defs/B/$dynamicAnchor`");
    let unknown = "`$schema` is \"urn:x\", which is not supported, use 2020-12 at `/$schema`";
    assert_eq!(error(json!({ "$schema": "urn:x" })), unknown);
}
