//! What schemas say without a rule: descriptions, titles, defaults, examples.

use mcp_registry::contract::{Class, Verdict};
use mcp_registry::serde_json::{Map, Value, json};

use crate::{input_diff, output_diff, rules};

fn with(member: Value) -> Value {
    json!({ "type": "object", "properties": { "state": member }, "additionalProperties": false })
}

fn with_list(items: Value) -> Value {
    with(json!({ "type": "array", "items": items }))
}

#[test]
fn texts_about_items_and_about_members_without_a_name_are_compared() {
    let text = |text: &str| json!({ "type": "string", "description": text });
    let tuple =
        |first: &str, rest: &str| with(json!({ "type": "array", "prefixItems": [text(first)], "items": text(rest) }));
    for (pointer, old, new) in [
        ("/state/0", with_list(text("One.")), with_list(text("Two."))),
        ("/state/0", tuple("One.", "All."), tuple("Two.", "All.")),
        ("/state/1", tuple("One.", "All."), tuple("One.", "Others.")),
        (
            "/state/*",
            with(json!({ "type": "object", "additionalProperties": text("One.") })),
            with(json!({ "type": "object", "additionalProperties": text("Two.") })),
        ),
        (
            "/state/*",
            with(json!({ "type": "object", "patternProperties": { "^x": text("One.") } })),
            with(json!({ "type": "object", "patternProperties": { "^x": text("Two.") } })),
        ),
    ] {
        let diff = input_diff(&old, &new);
        assert_eq!(rules(&diff), ["parameter-description"], "{old} → {new}: {:#?}", diff.changes);
        assert_eq!((diff.changes[0].pointer.as_str(), diff.changes[0].class), (pointer, Class::Chooser));
    }
}

#[test]
fn texts_behind_references_and_in_parts_of_allof_are_compared() {
    let price = |text: &str| {
        let cents = json!({ "type": "integer", "description": text, "default": 1 });
        json!({ "type": "object", "properties": { "cents": cents } })
    };
    let defined = |part: Value, text: &str| {
        let mut schema = with(part);
        schema["$defs"] = json!({ "Price": price(text) });
        schema
    };
    let nullable = json!({ "anyOf": [{ "$ref": "#/$defs/Price" }, { "type": "null" }] });
    let with_sibling = json!({ "$ref": "#/$defs/Price", "minProperties": 0, "title": "Price" });
    let parts = |text: &str| with(json!({ "allOf": [price(text), { "type": "object", "minProperties": 1 }] }));
    let conditional = |text: &str| with(json!({ "if": { "type": "object" }, "then": price(text) }));
    for (old, new) in [
        (defined(nullable.clone(), "In cents."), defined(nullable, "In euros.")),
        (defined(with_sibling.clone(), "In cents."), defined(with_sibling, "In euros.")),
        (parts("In cents."), parts("In euros.")),
        (conditional("In cents."), conditional("In euros.")),
    ] {
        for (diff, rule) in
            [(input_diff(&old, &new), "parameter-description"), (output_diff(&old, &new), "result-description")]
        {
            assert_eq!(rules(&diff), [rule], "{old} → {new}: {:#?}", diff.changes);
            assert_eq!(diff.changes[0].pointer, "/state/cents");
        }
    }
}

#[test]
fn a_default_behind_an_optional_reference_is_compared() {
    let schema = |default: u8| {
        let mut schema = with(json!({ "anyOf": [{ "$ref": "#/$defs/Filter" }, { "type": "null" }] }));
        let limit = json!({ "type": "integer", "default": default });
        schema["$defs"] = json!({ "Filter": { "type": "object", "properties": { "limit": limit } } });
        schema
    };
    let diff = input_diff(&schema(1), &schema(2));
    assert_eq!((rules(&diff), diff.changes[0].class), (vec!["default-changed"], Class::Caller));
    assert_eq!(diff.changes[0].message, "the default is now 2 (was 1): calls that leave it out mean something else");
}

#[test]
fn alternatives_are_compared_with_those_that_are_alike_whatever_their_order() {
    let kind = |kind: &str, text: &str, default: u8| {
        json!({
            "type": "object",
            "description": text,
            "properties": { "kind": { "const": kind }, "size": { "type": "integer", "default": default } },
            "required": ["kind"],
        })
    };
    let (a, b, c) = (kind("a", "The first.", 1), kind("b", "The second.", 2), kind("c", "The third.", 3));
    let union = |alternatives: &[&Value]| with(json!({ "oneOf": alternatives }));
    for (diff, rule) in [
        (input_diff(&union(&[&a, &b]), &union(&[&b, &a])), "spelling"),
        (output_diff(&union(&[&a, &b]), &union(&[&b, &a])), "result-spelling"),
    ] {
        assert_eq!((rules(&diff), diff.verdict()), (vec![rule], Verdict::Compatible), "{:#?}", diff.changes);
    }
    // One is new, and another one has a new text.
    let diff = input_diff(&union(&[&a, &b]), &union(&[&c, &kind("b", "The other.", 2), &a]));
    assert_eq!(rules(&diff), ["input-widened", "parameter-description"], "{:#?}", diff.changes);
    // A new member is no other alternative.
    let mut grown = kind("a", "The one.", 1);
    grown["properties"]["color"] = json!({ "type": "string" });
    let diff = input_diff(&union(&[&a, &b]), &union(&[&b, &grown]));
    assert!(rules(&diff).contains(&"parameter-description"), "{:#?}", diff.changes);
}

#[test]
fn keywords_that_no_value_depends_on_are_told_and_not_called_spelling() {
    let text = |keyword: &str, value: Value| with(json!({ "type": "string", keyword: value }));
    let diff = input_diff(&text("deprecated", json!(false)), &text("deprecated", json!(true)));
    assert_eq!((rules(&diff), diff.changes[0].class), (vec!["parameter-annotations"], Class::Chooser));
    assert_eq!(diff.changes[0].pointer, "/state");
    // The descriptions of the values are gone.
    let described = with(json!({ "oneOf": [{ "const": "a", "description": "One." }, { "const": "b" }] }));
    let diff = output_diff(&described, &with(json!({ "enum": ["a", "b"] })));
    assert_eq!((rules(&diff), diff.verdict()), (vec!["result-annotations"], Verdict::Compatible));
    // A comment says nothing to a model.
    let diff = input_diff(&text("$comment", json!("a")), &text("$comment", json!("b")));
    assert_eq!(rules(&diff), ["spelling"]);
}

#[test]
fn the_text_of_the_last_of_many_members_is_compared() {
    let members = |last: &str| {
        let member =
            |index| (format!("p{index}"), json!({ "description": if index == 4_999 { last } else { "One." } }));
        json!({ "type": "object", "properties": (0..5_000).map(member).collect::<Map<_, _>>() })
    };
    let diff = input_diff(&members("One."), &members("Two."));
    assert_eq!((rules(&diff), diff.changes[0].pointer.as_str()), (vec!["parameter-description"], "/p4999"));
}
