//! Which changes of schemas break callers, and which break readers.

use std::collections::BTreeSet;

use mcp_registry::contract::{Class, Verdict, Witness};
use mcp_registry::serde_json::{Map, Value, json};

use crate::{broken, contract, input_diff, output_diff, rules, tool};

/// The arguments of a tool: a customer, and another member.
fn with(member: Value) -> Value {
    json!({
        "type": "object",
        "properties": { "customer": { "type": "integer" }, "state": member },
        "required": ["customer"],
        "additionalProperties": false,
    })
}

fn list(items: Value) -> Value {
    with(json!({ "type": "array", "items": items }))
}

#[test]
fn s1_37_each_narrowed_schema_is_breaking_and_has_a_call_that_worked_before() {
    let string = json!({ "type": "string" });
    let point = |required: &[&str]| {
        with(json!({
            "type": "object",
            "properties": { "x": { "type": "integer" }, "y": { "type": "integer" } },
            "required": required,
        }))
    };
    let tagged = |tags: &[&str]| {
        let alternatives: Vec<Value> = tags
            .iter()
            .map(|tag| json!({ "type": "object", "properties": { "kind": { "enum": [tag] } }, "required": ["kind"] }))
            .collect();
        with(json!({ "anyOf": alternatives }))
    };
    let tree = |leaf: Value| {
        json!({
            "type": "object",
            "properties": { "state": { "$ref": "#/$defs/Tree" } },
            "$defs": {
                "Tree": {
                    "type": "object",
                    "properties": { "leaf": leaf, "children": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } },
                },
            },
        })
    };
    for (rule, pointer, old, new) in [
        (
            "enum-value-removed",
            "/state",
            with(json!({ "enum": ["open", "archived"] })),
            with(json!({ "enum": ["open"] })),
        ),
        ("type-changed", "/state", with(string.clone()), with(json!({ "type": "integer" }))),
        ("type-changed", "/state", with(json!({})), with(string.clone())),
        ("type-changed", "/state", with(json!({ "type": "number" })), with(json!({ "type": "integer" }))),
        ("values-restricted", "/state", with(string.clone()), with(json!({ "enum": ["open"] }))),
        (
            "bound-tightened",
            "/state",
            with(json!({ "type": "integer" })),
            with(json!({ "type": "integer", "minimum": 1 })),
        ),
        (
            "bound-tightened",
            "/state",
            with(json!({ "type": "number", "maximum": 10 })),
            with(json!({ "type": "number", "exclusiveMaximum": 10 })),
        ),
        (
            "bound-tightened",
            "/state",
            with(json!({ "type": "integer", "multipleOf": 2 })),
            with(json!({ "type": "integer", "multipleOf": 6 })),
        ),
        ("bound-tightened", "/state", with(string.clone()), with(json!({ "type": "string", "minLength": 1 }))),
        ("bound-tightened", "/state", with(string.clone()), with(json!({ "type": "string", "maxLength": 3 }))),
        ("bound-tightened", "/state", with(string.clone()), with(json!({ "type": "string", "maxLength": 10_000 }))),
        (
            "bound-tightened",
            "/state",
            list(string.clone()),
            with(json!({ "type": "array", "items": string, "maxItems": 2 })),
        ),
        (
            "rule-added",
            "/state",
            list(string.clone()),
            with(json!({ "type": "array", "items": string, "uniqueItems": true })),
        ),
        ("type-changed", "/state/0", list(string.clone()), list(json!({ "type": "integer" }))),
        ("pattern-changed", "/state", with(string.clone()), with(json!({ "type": "string", "pattern": "^[a-z]+$" }))),
        (
            "pattern-changed",
            "/state",
            with(json!({ "type": "string", "pattern": "^[a-z]+$" })),
            with(json!({ "type": "string", "pattern": "^[a-c]+$" })),
        ),
        ("format-changed", "/state", with(string.clone()), with(json!({ "type": "string", "format": "date" }))),
        ("parameter-required", "/state/y", point(&["x"]), point(&["x", "y"])),
        (
            "unknown-refused",
            "",
            json!({ "type": "object" }),
            json!({ "type": "object", "additionalProperties": false }),
        ),
        (
            "type-changed",
            "/state/key1",
            with(json!({ "type": "object", "additionalProperties": string })),
            with(json!({ "type": "object", "additionalProperties": { "type": "integer" } })),
        ),
        ("alternative-removed", "/state", tagged(&["a", "b", "c"]), tagged(&["a", "b"])),
        ("rule-added", "/state", with(string.clone()), with(json!({ "type": "string", "not": { "enum": ["open"] } }))),
        ("type-changed", "/state/leaf", tree(string.clone()), tree(json!({ "type": "boolean" }))),
    ] {
        let diff = input_diff(&old, &new);
        let change = broken(&diff);
        assert_eq!((change.rule, change.pointer.as_str(), change.class), (rule, pointer, Class::Caller), "{change:?}");
        assert!(matches!(change.witness, Some(Witness::Arguments(_))), "{change:?}");
        assert_eq!(diff.verdict(), Verdict::Breaking);
        // Types that differ exclude each other, and patterns are compared only by their text.
        if ["type-changed", "pattern-changed"].contains(&rule) {
            continue;
        }
        // The way back breaks nobody.
        assert_eq!(input_diff(&new, &old).verdict(), Verdict::Compatible, "{rule}: {new} → {old}");
    }
}

#[test]
fn s1_37_parameters_that_are_removed_or_required_are_breaking() {
    let none = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let one = |required: Value| {
        json!({
            "type": "object",
            "properties": { "state": { "type": "string" } },
            "required": required,
            "additionalProperties": false,
        })
    };
    for (rule, old, new) in [
        ("parameter-removed", one(json!([])), none.clone()),
        ("required-parameter-added", none.clone(), one(json!(["state"]))),
        ("parameter-required", one(json!([])), one(json!(["state"]))),
    ] {
        let diff = input_diff(&old, &new);
        let change = broken(&diff);
        assert_eq!((change.rule, change.pointer.as_str()), (rule, "/state"));
        assert!(change.witness.is_some(), "{change:?}");
    }
}

#[test]
fn s1_37_a_parameter_that_is_removed_from_an_open_schema_breaks_callers_though_it_is_accepted() {
    let open = |properties: Value| json!({ "type": "object", "properties": properties });
    let old = open(json!({ "customer": { "type": "integer" }, "state": { "type": "string" } }));
    let new = open(json!({ "customer": { "type": "integer" } }));
    let any = open(json!({ "customer": { "type": "integer" }, "state": {} }));
    let explicit = |schema: &Value| {
        let mut schema = schema.clone();
        schema["additionalProperties"] = json!(true);
        schema
    };
    for (old, new) in
        [(&old, &new), (&any, &new), (&explicit(&old), &explicit(&new)), (&explicit(&any), &explicit(&new))]
    {
        let diff = input_diff(old, new);
        let change = broken(&diff);
        assert_eq!((change.rule, change.pointer.as_str(), &change.witness), ("parameter-removed", "/state", &None));
        assert_eq!(change.message, "`state` is accepted, but ignored: the schema no longer names it");
        assert_eq!((diff.verdict(), diff.changes.len()), (Verdict::Breaking, 1), "{:#?}", diff.changes);
    }
}

#[test]
fn s1_37_a_member_that_is_no_longer_named_in_a_closed_schema_is_refused_and_not_ignored() {
    let point = |names: &[&str]| {
        let properties: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
        with(json!({ "type": "object", "properties": properties, "additionalProperties": false }))
    };
    let diff = input_diff(&point(&["x", "y"]), &point(&["x"]));
    let change = broken(&diff);
    assert_eq!((change.rule, change.pointer.as_str()), ("parameter-removed", "/state/y"));
    assert_eq!(change.message, "`y` is no longer accepted");
    assert!(change.witness.is_some(), "{change:?}");
}

#[test]
fn an_output_schema_that_is_gone_breaks_readers_and_a_new_one_breaks_nobody() {
    let input = json!({ "type": "object" });
    let output = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let (without, with) = (contract(tool(&input)), contract(tool(&input).output_schema(output.clone())));
    let diff = with.diff(&without);
    let change = broken(&diff);
    assert_eq!((rules(&diff), change.class), (vec!["output-schema-removed"], Class::Reader));
    assert_eq!((diff.verdict(), change.verdict()), (Verdict::Breaking, Verdict::Breaking));
    let Some(Witness::Result(result)) = &change.witness else { panic!("{change:#?}") };
    assert!(!result["n"].is_i64(), "the old schema rejects {result}");
    assert!(!change.is_announced(), "a major version announces it");
    let with = tool(&input).output_schema(output).version("1.0.0");
    for (version, is_announced) in [("1.0.1", false), ("1.1.0", false), ("2.0.0", true)] {
        let diff = contract(with.clone()).diff(&contract(tool(&input).version(version)));
        assert_eq!(broken(&diff).is_announced(), is_announced, "{version}");
    }
    let diff = without.diff(&contract(with));
    assert!(rules(&diff).contains(&"output-schema-added"), "{:#?}", diff.changes);
    assert_eq!(diff.verdict(), Verdict::Compatible);
}

#[test]
fn a_tag_tells_alternatives_apart_only_for_objects() {
    let tagged = |kind: &str, types: Value| {
        let mut alternative = json!({ "properties": { "kind": { "const": kind } }, "required": ["kind"] });
        if !types.is_null() {
            alternative["type"] = types;
        }
        alternative
    };
    // A text fits all four alternatives, so none of them exclusively.
    for types in [json!(null), json!(["object", "string"])] {
        let union: Vec<Value> = ["a", "b", "c", "d"].map(|kind| tagged(kind, types.clone())).into();
        let old = with(tagged("a", json!(["object", "string"])));
        let new = with(json!({ "oneOf": union }));
        assert_eq!(input_diff(&old, &new).verdict(), Verdict::Breaking);
        assert_eq!(output_diff(&new, &old).verdict(), Verdict::Breaking);
        assert_eq!(input_diff(&with(tagged("a", json!("object"))), &new).verdict(), Verdict::Compatible);
    }
}

#[test]
fn what_is_allowed_now_is_told_beside_what_is_not() {
    let number = |min, max| with(json!({ "type": "integer", "minimum": min, "maximum": max }));
    let values = |values: [&str; 2]| with(json!({ "enum": values }));
    for (old, new, expected) in [
        (values(["open", "archived"]), values(["open", "closed"]), ["enum-value-removed", "enum-value-added"]),
        (number(1, 10), number(0, 5), ["bound-tightened", "bound-loosened"]),
    ] {
        let diff = input_diff(&old, &new);
        assert_eq!((rules(&diff), diff.verdict()), (expected.to_vec(), Verdict::Breaking), "{:#?}", diff.changes);
    }
    let diff = output_diff(&values(["x", "y"]), &values(["x", "z"]));
    assert_eq!(rules(&diff), ["result-enum-value-added", "result-enum-value-removed"]);
}

#[test]
fn all_that_a_rule_finds_at_one_place_is_in_its_message() {
    let number = |max: u32| json!({ "type": "integer", "maximum": max });
    let union = with(json!({ "anyOf": [number(300), number(30)] }));
    let diff = input_diff(&union, &with(number(10)));
    let message = &broken(&diff).message;
    assert!(message.contains("(was 300)") && message.contains("(was 30)"), "{message}");
}

#[test]
fn many_changes_are_counted_though_not_all_are_shown() {
    let members = |values: &[&str]| {
        let member = |index| (format!("p{index}"), json!({ "enum": values }));
        let properties: Map<String, Value> = (0..300).map(member).collect();
        json!({ "type": "object", "properties": properties })
    };
    let (all, fewer) = (members(&["a", "b"]), members(&["a"]));
    for (diff, rule, last) in [
        (input_diff(&all, &fewer), "enum-value-removed", "more-changes"),
        (output_diff(&fewer, &all), "result-enum-value-added", "result-more-changes"),
    ] {
        let count = |rule| diff.changes.iter().filter(|change| change.rule == rule).count();
        assert_eq!((count(rule), count(last), diff.changes.len()), (256, 1, 257));
        let omitted = diff.changes.iter().find(|change| change.rule == last).unwrap();
        assert_eq!((omitted.message.as_str(), omitted.breaking), ("44 more places are not shown", true));
        assert_eq!(diff.verdict(), Verdict::Breaking);
    }
}

#[test]
fn many_new_names_are_new_parameters_and_no_renamed_ones() {
    let members = |prefix: &str| {
        let member = |index| (format!("{prefix}{index}"), json!({ "type": "string", "minLength": index }));
        let properties: Map<String, Value> = (0..2_000).map(member).collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    };
    let diff = input_diff(&members("a"), &members("b"));
    let found: BTreeSet<&str> = rules(&diff).into_iter().collect();
    assert_eq!(found, BTreeSet::from(["input-widened", "more-changes", "parameter-added", "parameter-removed"]));
    let widened = diff.changes.iter().find(|change| change.rule == "input-widened").unwrap();
    assert_eq!(widened.message, "more values are accepted now at 1744 more places, which are not shown");
}

#[test]
fn s1_38_new_optional_parameters_and_wider_schemas_are_compatible_and_named() {
    let none = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let open = json!({ "type": "object", "properties": { "customer": { "type": "integer" } } });
    for (rule, old, new) in [
        (
            "parameter-added",
            none.clone(),
            json!({ "type": "object", "properties": { "state": {} }, "additionalProperties": false }),
        ),
        // Nothing was promised about members that the schema did not name.
        (
            "parameter-added",
            open.clone(),
            json!({ "type": "object", "properties": { "customer": { "type": "integer" }, "state": { "type": "string" } } }),
        ),
        ("enum-value-added", with(json!({ "enum": ["open"] })), with(json!({ "enum": ["open", "closed"] }))),
        (
            "bound-loosened",
            with(json!({ "type": "integer", "maximum": 5 })),
            with(json!({ "type": "integer", "maximum": 9 })),
        ),
        ("input-widened", with(json!({ "type": "integer" })), with(json!({ "type": "number" }))),
    ] {
        let diff = input_diff(&old, &new);
        assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
        assert!(rules(&diff).contains(&rule), "{rule}: {:?}", diff.changes);
        assert!(diff.is_acceptable());
        assert_eq!(diff.required_version("shop.search").unwrap().to_string(), "1.1.0");
    }
}

#[test]
fn a_schema_that_accepts_anything_promises_nothing_about_members_without_a_name() {
    let point = |open: (&str, &Value), names: &[&str]| {
        let properties: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        schema[open.0] = open.1.clone();
        schema
    };
    for open in [
        ("additionalProperties", json!(true)),
        ("additionalProperties", json!({})),
        ("unevaluatedProperties", json!(true)),
        ("patternProperties", json!({ "": {} })),
    ] {
        let open = (open.0, &open.1);
        let diff = input_diff(&point(open, &["a"]), &point(open, &["a", "b"]));
        assert_eq!((rules(&diff), diff.verdict()), (vec!["parameter-added"], Verdict::Compatible), "{open:?}");
        let nested = input_diff(&with(point(open, &["a"])), &with(point(open, &["a", "b"])));
        assert_eq!(nested.verdict(), Verdict::Compatible, "{open:?}: {:#?}", nested.changes);
    }
    let texts = ("additionalProperties", &json!({ "type": ["string", "integer"] }));
    assert_eq!(input_diff(&point(texts, &["a"]), &point(texts, &["a", "b"])).verdict(), Verdict::Breaking);
    let listed = ("propertyNames", &json!({ "enum": ["a", "b"] }));
    assert_eq!(input_diff(&point(listed, &["a"]), &point(listed, &["a", "b"])).verdict(), Verdict::Breaking);
}

#[test]
fn a_call_that_sent_what_an_open_schema_did_not_name_is_shown_with_the_new_parameter() {
    let open = json!({ "type": "object", "properties": { "customer": { "type": "integer" } } });
    let named = json!({
        "type": "object",
        "properties": { "customer": { "type": "integer" }, "state": { "type": "string" } },
    });
    let diff = input_diff(&open, &named);
    let change = diff.changes.iter().find(|change| change.rule == "parameter-added").unwrap();
    let Some(Witness::Arguments(arguments)) = &change.witness else { panic!("{change:?}") };
    assert!(!arguments["state"].is_string(), "{arguments}");
    // A map is not a struct: its members are promised.
    let map = with(json!({ "type": "object" }));
    let named = with(json!({ "type": "object", "properties": { "x": { "type": "string" } } }));
    assert_eq!(input_diff(&map, &named).verdict(), Verdict::Breaking);
}

#[test]
fn s1_37_each_widened_result_is_breaking_and_has_a_result_that_was_ruled_out() {
    let result = |member: Value, required: Value| json!({ "type": "object", "properties": { "state": member }, "required": required });
    let string = json!({ "type": "string" });
    let all = json!(["state"]);
    for (rule, old, new) in [
        ("result-field-removed", result(string.clone(), all.clone()), json!({ "type": "object" })),
        ("result-field-removed", result(string.clone(), json!([])), json!({ "type": "object" })),
        ("result-field-optional", result(string.clone(), all.clone()), result(string.clone(), json!([]))),
        ("result-type-changed", result(string.clone(), all.clone()), result(json!({ "type": "integer" }), all.clone())),
        (
            "result-null-added",
            result(string.clone(), all.clone()),
            result(json!({ "type": ["string", "null"] }), all.clone()),
        ),
        (
            "result-enum-value-added",
            result(json!({ "enum": ["a"] }), all.clone()),
            result(json!({ "enum": ["a", "b"] }), all.clone()),
        ),
        ("result-values-widened", result(json!({ "enum": ["a"] }), all.clone()), result(string.clone(), all.clone())),
        (
            "result-bound-loosened",
            result(json!({ "type": "integer", "minimum": 0 }), all.clone()),
            result(json!({ "type": "integer" }), all.clone()),
        ),
        (
            "result-field-added",
            json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            json!({ "type": "object", "properties": { "state": {} }, "additionalProperties": false }),
        ),
    ] {
        let diff = output_diff(&old, &new);
        let change = broken(&diff);
        assert_eq!((change.rule, change.class), (rule, Class::Reader), "{change:?}");
        assert!(matches!(change.witness, Some(Witness::Result(_))), "{change:?}");
        assert_eq!(change.required_version.as_ref().unwrap().to_string(), "2.0.0");
    }
}

#[test]
fn s1_38_a_new_field_in_a_result_is_compatible() {
    let old = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] });
    let new = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "string" } },
        "required": ["a", "b"],
    });
    let diff = output_diff(&old, &new);
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
    assert_eq!(rules(&diff), ["result-field-added"]);
    assert_eq!(diff.changes[0].required_version.as_ref().unwrap().to_string(), "1.1.0");
}

#[test]
fn what_cannot_be_decided_is_unknown_counts_as_breaking_and_says_why() {
    let pattern = |pattern: &str| with(json!({ "type": "string", "pattern": pattern }));
    // The same texts match, but nobody shows it.
    let diff = input_diff(&pattern("^(a|b)$"), &pattern("^[ab]$"));
    let change = broken(&diff);
    assert_eq!((change.rule, diff.verdict()), ("pattern-changed", Verdict::Unknown));
    assert!(change.unknown.as_ref().unwrap().contains("regular expression"), "{change:?}");
    assert!(change.witness.is_none() && !diff.is_acceptable());
    // A format that nobody knows.
    let diff = input_diff(&with(json!({ "type": "string" })), &with(json!({ "type": "string", "format": "iban" })));
    assert_eq!((broken(&diff).rule, diff.verdict()), ("format-changed", Verdict::Unknown));
}

#[test]
fn null_stands_for_an_absent_argument_only_in_our_own_registries() {
    use mcp_registry::contract::Contract;
    let nullable = with(json!({ "type": ["string", "null"] }));
    let string = with(json!({ "type": "string" }));
    assert_eq!(input_diff(&nullable, &string).verdict(), Verdict::Compatible);
    let foreign = |schema: &Value| {
        let list = json!({ "tools": [{ "name": "search", "inputSchema": schema }] });
        Contract::from_tools_list(&list.to_string()).unwrap()
    };
    let diff = foreign(&nullable).diff(&foreign(&string));
    let change = broken(&diff);
    assert_eq!((change.rule, change.required_version.as_ref()), ("null-removed", None));
    assert_eq!(change.witness, Some(Witness::Arguments(json!({ "customer": 1, "state": null }))));
}

#[test]
fn one_change_is_one_finding() {
    use mcp_registry::contract::Contract;
    let foreign = |schema: &Value| {
        let list = json!([{ "name": "search", "inputSchema": schema }]);
        Contract::from_tools_list(&list.to_string()).unwrap()
    };
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    let closed =
        |properties: Value| json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let text = json!({ "type": "string" });
    let described = |text: &str| json!({ "type": "integer", "description": text });
    let tagged = |tag: &str| json!({ "type": "object", "properties": { (tag): text }, "required": [tag] });
    for (old, new, expected) in [
        (object(json!({}), json!([])), object(json!({ "a": text }), json!(["a"])), &["required-parameter-added"][..]),
        (
            object(json!({ "a": { "type": ["object", "null"] } }), json!([])),
            object(json!({ "a": text }), json!([])),
            &["type-changed"],
        ),
        (closed(json!({ "a": text })), object(json!({ "a": text }), json!([])), &["unknown-accepted"]),
        // Without it, calls were rejected before.
        (
            object(json!({ "a": text }), json!(["a"])),
            object(json!({ "a": { "type": "string", "default": "x" } }), json!([])),
            &["parameter-optional"],
        ),
        // Optional parameters of the same type are not the same parameter.
        (
            closed(json!({ "timeout": described("In seconds.") })),
            closed(json!({ "limit": described("How many.") })),
            &["parameter-removed", "parameter-added"],
        ),
        (
            closed(json!({ "limit": described("How many.") })),
            closed(json!({ "count": described("How many.") })),
            &["parameter-renamed"],
        ),
        (
            object(json!({ "a": tagged("x") }), json!([])),
            object(json!({ "a": { "oneOf": [tagged("x"), tagged("y")] } }), json!([])),
            &["alternative-removed"],
        ),
        (
            object(json!({ "a": tagged("x") }), json!([])),
            object(json!({ "a": { "anyOf": [tagged("x"), tagged("y")] } }), json!([])),
            &["input-widened"],
        ),
    ] {
        let diff = foreign(&old).diff(&foreign(&new));
        assert_eq!(rules(&diff), expected, "{:#?}", diff.changes);
        assert!(diff.changes.iter().all(|change| change.unknown.is_none() && !change.message.contains("#[arg")));
    }
}

#[test]
fn a_default_of_the_result_is_told_although_a_parameter_of_that_name_is_required_now() {
    let with_default = |required: Value, default: u8| {
        let schema = |required: &Value, default: Value| {
            let limit = json!({ "type": "integer", "default": default });
            json!({ "type": "object", "properties": { "limit": limit }, "required": required })
        };
        contract(tool(&schema(&required, json!(1))).output_schema(schema(&json!([]), json!(default))))
    };
    let diff = with_default(json!([]), 1).diff(&with_default(json!(["limit"]), 2));
    assert_eq!(rules(&diff), ["parameter-required", "result-default"], "{diff}");
}
