//! No change that is reported as compatible rejects what was accepted, each witness breaks the rule that it is shown for, and
//! large schemas are decided.

use mcp_registry::contract::{Change, Contract, Diff, Verdict, Witness};
use mcp_registry::serde_json::{Value, json};

use crate::{input_diff, output_diff};

/// The tools of a server that is not ours, each with a schema of arguments.
fn tools_list(schemas: impl IntoIterator<Item = Value>) -> Contract {
    let tool = |(index, schema): (usize, Value)| json!({ "name": format!("tool{index}"), "inputSchema": schema });
    let tools: Vec<Value> = schemas.into_iter().enumerate().map(tool).collect();
    Contract::from_tools_list(&json!({ "tools": tools }).to_string()).unwrap()
}

/// The changes of a tool of another server.
fn other_diff(old: &Value, new: &Value) -> Diff {
    tools_list([old.clone()]).diff(&tools_list([new.clone()]))
}

fn object(mut rules: Value) -> Value {
    rules["type"] = json!("object");
    rules
}

fn breaking(diff: &Diff) -> Vec<&Change> {
    diff.changes.iter().filter(|change| change.breaking).collect()
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

#[test]
fn a_null_that_another_rule_counts_on_is_not_as_good_as_no_member() {
    let with = |rules: Value, member: Value| {
        let mut schema = object(rules);
        schema["properties"] = json!({ "a": {}, "b": member });
        schema
    };
    for rules in [
        json!({ "minProperties": 1 }),
        json!({ "dependentRequired": { "a": ["b"] } }),
        json!({ "allOf": [{ "required": ["b"] }] }),
        json!({ "allOf": [{ "dependentSchemas": { "a": { "required": ["b"] } } }] }),
        json!({ "not": { "maxProperties": 0 } }),
        json!({ "not": { "not": { "required": ["b"] } } }),
        json!({ "if": { "required": ["b"] }, "else": { "required": ["a"] } }),
        json!({ "oneOf": [{ "required": ["b"] }, { "minProperties": 7 }] }),
        json!({ "anyOf": [{ "required": ["b"] }, { "minProperties": 7 }] }),
    ] {
        let diff = input_diff(&with(rules.clone(), text_or_null()), &with(rules.clone(), text()));
        assert_ne!(diff.verdict(), Verdict::Compatible, "{rules}: {:#?}", diff.changes);
    }
    for rules in [
        json!({}),
        json!({ "maxProperties": 2 }),
        json!({ "required": ["a"], "minProperties": 1 }),
        json!({ "dependentRequired": { "b": ["a"] } }),
        json!({ "additionalProperties": false }),
    ] {
        let diff = input_diff(&with(rules.clone(), text_or_null()), &with(rules.clone(), text()));
        assert_eq!(diff.verdict(), Verdict::Compatible, "{rules}: {:#?}", diff.changes);
    }
}

#[test]
fn a_null_in_a_part_that_a_rule_compares_or_counts_is_not_as_good_as_no_member() {
    let list = |rules: Value, member: Value| {
        let mut list = rules;
        list["type"] = json!("array");
        list["items"] = object(json!({ "properties": { "b": member } }));
        object(json!({ "properties": { "list": list } }))
    };
    for rules in [json!({ "uniqueItems": true }), json!({ "contains": { "required": ["b"] } })] {
        let diff = input_diff(&list(rules.clone(), text_or_null()), &list(rules.clone(), text()));
        assert_ne!(diff.verdict(), Verdict::Compatible, "{rules}: {:#?}", diff.changes);
    }
    let diff = input_diff(&list(json!({}), text_or_null()), &list(json!({}), text()));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
}

#[test]
fn a_member_that_the_old_schema_names_in_an_alternative_is_not_new() {
    let member = |name: &str, schema: Value| json!({ "properties": { name: schema } });
    let new = object(json!({ "properties": { "a": text() } }));
    let alternatives = |key: &str| json!({ key: [member("a", text()), member("b", json!({ "type": "integer" }))] });
    let in_member = |schema: Value| object(json!({ "properties": { "part": schema } }));
    let in_items = |schema: Value| object(json!({ "properties": { "list": { "type": "array", "items": schema } } }));
    for (old, new) in [
        (object(alternatives("anyOf")), new.clone()),
        (object(alternatives("oneOf")), new.clone()),
        (object(json!({ "allOf": [alternatives("anyOf")] })), new.clone()),
        (object(json!({ "$ref": "#/$defs/A", "$defs": { "A": alternatives("anyOf") } })), new.clone()),
        (object(json!({ "if": { "required": ["b"] }, "else": member("a", text()) })), new.clone()),
        (object(json!({ "dependentSchemas": { "b": member("a", text()) } })), new.clone()),
        (in_member(object(alternatives("anyOf"))), in_member(new.clone())),
        (in_items(object(alternatives("anyOf"))), in_items(new.clone())),
        // The alternatives are further up.
        (
            object(
                json!({ "anyOf": [in_member(object(member("a", text()))), in_member(object(member("b", text())))] }),
            ),
            in_member(new.clone()),
        ),
        (object(json!({ "anyOf": [{ "additionalProperties": text() }, member("b", text())] })), new.clone()),
    ] {
        let diff = other_diff(&old, &new);
        assert_ne!(diff.verdict(), Verdict::Compatible, "{old} {new}: {:#?}", diff.changes);
    }
}

#[test]
fn a_member_that_is_named_elsewhere_may_be_new_in_a_variant() {
    let variant = |tag: &str, members: Value| {
        let mut members = members;
        members["kind"] = json!({ "const": tag });
        object(json!({ "properties": members, "required": ["kind"] }))
    };
    let shape = |square: Value| {
        let variants = json!([variant("circle", json!({ "size": { "type": "integer" } })), variant("square", square)]);
        object(json!({ "properties": { "shape": { "oneOf": variants } } }))
    };
    let diff = other_diff(&shape(json!({})), &shape(json!({ "size": text() })));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
    // A member of a part has nothing to do with one of the whole.
    let whole = |members: Value| object(json!({ "properties": members }));
    let old = whole(json!({ "name": text(), "part": whole(json!({ "x": text() })) }));
    let new = whole(json!({ "name": text(), "part": whole(json!({ "x": text(), "name": { "type": "integer" } })) }));
    let diff = other_diff(&old, &new);
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
}

#[test]
fn what_is_undecided_is_not_shown_by_a_witness_of_another_change() {
    // The two patterns match the same texts, which is not decided.
    let word = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let schema = |word: Value, max: u64, extra: Value| {
        let mut members = json!({ "word": word, "count": { "type": "integer", "maximum": max } });
        members["list"] = extra;
        object(json!({ "properties": members, "required": ["word", "count"] }))
    };
    let list = |word: Value| json!({ "type": "array", "items": word, "minItems": 1 });
    let (one, other) = (word("^[a-z]+$"), word("^[a-z]*[a-z]$"));
    for (old, new) in [
        (schema(one.clone(), 9, json!({})), schema(other.clone(), 5, json!({}))),
        (schema(one.clone(), 9, list(one.clone())), schema(one.clone(), 5, list(other.clone()))),
        (
            schema(one.clone(), 9, json!({ "anyOf": [one.clone(), { "type": "integer" }] })),
            schema(one.clone(), 5, json!({ "anyOf": [other.clone(), { "type": "integer" }] })),
        ),
        // At the same place.
        (
            schema(one.clone(), 9, json!({})),
            schema(json!({ "type": "string", "pattern": "^[a-z]*[a-z]$", "maxLength": 3 }), 9, json!({})),
        ),
    ] {
        for diff in [input_diff(&old, &new), other_diff(&old, &new)] {
            let broken = breaking(&diff);
            let (unknown, shown): (Vec<&Change>, Vec<&Change>) =
                broken.iter().copied().partition(|change| change.witness.is_none());
            assert!(
                unknown.iter().all(|change| change.rule == "pattern-changed" && change.unknown.is_some()),
                "{broken:#?}"
            );
            assert!(shown.iter().all(|change| change.rule == "bound-tightened"), "{broken:#?}");
            assert_eq!((unknown.len(), shown.len()), (1, 1), "{broken:#?}");
        }
    }
}

#[test]
fn each_of_several_changes_has_a_witness_of_its_own() {
    let old = object(json!({ "properties": {
        "a": { "type": "integer", "maximum": 9 }, "b": { "enum": ["x", "y"] }, "c": { "type": "array" },
    } }));
    let new = object(json!({ "properties": {
        "a": { "type": "integer", "maximum": 5 }, "b": { "enum": ["x"] }, "c": { "type": "array", "maxItems": 1 },
    } }));
    let diff = input_diff(&old, &new);
    for change in breaking(&diff) {
        let Some(Witness::Arguments(arguments)) = &change.witness else { panic!("{change:#?}") };
        assert!(arguments.pointer(&change.pointer).is_some(), "{change:#?}");
    }
    assert_eq!(breaking(&diff).len(), 3);
}

fn variants(count: usize, size: &str) -> Vec<Value> {
    let variant = |index: usize| {
        let kind = json!({ "const": format!("kind{index}") });
        let members = json!({ "kind": kind, "size": { "type": size }, "label": text_or_null() });
        object(json!({ "properties": members, "required": ["kind", "size"], "additionalProperties": false }))
    };
    (0..count).map(variant).collect()
}

fn union_of(key: &str, variants: Vec<Value>) -> Value {
    object(json!({ "properties": { "shape": { key: variants } }, "required": ["shape"] }))
}

#[test]
fn unions_of_many_variants_are_decided() {
    for key in ["oneOf", "anyOf"] {
        let union = |count: usize, size: &str| union_of(key, variants(count, size));
        for diff in [
            other_diff(&union(250, "integer"), &union(251, "integer")),
            input_diff(&union(250, "integer"), &union(251, "number")),
        ] {
            assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
        }
        let diff = other_diff(&union(251, "integer"), &union(250, "integer"));
        let broken = breaking(&diff);
        assert!(broken.iter().all(|change| change.witness.is_some()) && broken.len() == 1, "{broken:#?}");
        let (one, mut reversed) = (variants(400, "integer"), variants(400, "integer"));
        reversed.reverse();
        let diff = other_diff(&union_of(key, one), &union_of(key, reversed));
        assert_eq!(diff.changes.iter().map(|change| change.rule).collect::<Vec<_>>(), ["spelling"]);
    }
}

#[test]
fn definitions_that_are_used_twice_at_each_level_are_decided() {
    let levels = |leaf: Value| {
        let mut definitions = json!({ "L16": leaf });
        for level in 0..16 {
            let next = json!({ "$ref": format!("#/$defs/L{}", level + 1) });
            definitions[format!("L{level}")] = object(json!({ "properties": { "left": next, "right": next } }));
        }
        json!({ "type": "object", "$ref": "#/$defs/L0", "$defs": definitions })
    };
    let leaf = |max: u64| object(json!({ "properties": { "size": { "type": "integer", "maximum": max } } }));
    let diff = other_diff(&levels(leaf(5)), &levels(leaf(9)));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
    let diff = other_diff(&levels(leaf(9)), &levels(leaf(5)));
    assert_eq!(diff.verdict(), Verdict::Breaking, "{:#?}", diff.changes);
    let named = object(json!({ "properties": { "size": { "type": "integer" }, "color": text() } }));
    let diff = other_diff(&levels(leaf(9)), &levels(named));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
}

#[test]
fn alternatives_that_are_only_in_another_order_are_the_same() {
    let lists = |count: u64| -> Vec<Value> {
        let list = |max: u64| json!({ "type": "array", "items": { "type": "integer", "maximum": max } });
        (0..count).map(list).collect()
    };
    for key in ["anyOf", "oneOf"] {
        let (one, mut reversed) = (lists(800), lists(800));
        reversed.reverse();
        let diff = other_diff(&union_of(key, one), &union_of(key, reversed));
        assert_eq!(diff.changes.iter().map(|change| change.rule).collect::<Vec<_>>(), ["spelling"]);
    }
}

#[test]
fn many_members_at_shared_levels_are_decided() {
    let level = |next: &str| {
        let member = |index: usize| (format!("member{index}"), json!({ "$ref": format!("#/$defs/{next}") }));
        object(json!({ "properties": (0..300).map(member).collect::<Value>() }))
    };
    let levels = |leaf: &str| {
        let mut root = level("a");
        root["$defs"] = json!({ "a": level("b"), "b": level("c"), "c": { "type": leaf } });
        root
    };
    let diff = other_diff(&levels("integer"), &levels("number"));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
    let broken = other_diff(&levels("number"), &levels("integer"));
    let broken = breaking(&broken);
    assert!(!broken.is_empty());
    for change in broken {
        assert!(change.rule == "type-changed" && change.witness.is_some(), "{change:#?}");
    }
}

#[test]
fn exclusive_unions_in_exclusive_unions_are_decided() {
    let union = |member: &str| {
        let number = json!({ "type": "number" });
        let scalars = json!({ "oneOf": [{ "type": "integer" }, text()] });
        let scalars = json!({ "oneOf": [scalars, number] });
        union_of("oneOf", vec![scalars, number, object(json!({ "properties": { "c": { "type": member } } }))])
    };
    let diff = other_diff(&union("null"), &union("string"));
    let changes: Vec<_> = diff.changes.iter().map(|change| (change.rule, change.witness.is_some())).collect();
    assert_eq!(changes, [("null-removed", true)]);
}

#[test]
fn maps_with_many_patterns_are_decided() {
    let map = |max: &dyn Fn(usize) -> u64| {
        let rules = |index: usize| json!({ "type": "integer", "maximum": max(index) });
        let patterns: Value = (0..1_000).map(|index| (format!("^p{index}_"), rules(index))).collect();
        object(json!({ "patternProperties": patterns }))
    };
    let diff = other_diff(&map(&|_| 9), &map(&|_| 10));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
    let diff = other_diff(&map(&|_| 9), &map(&|index| if index == 500 { 8 } else { 9 }));
    let broken = breaking(&diff);
    assert!(broken.len() == 1 && broken[0].rule == "bound-tightened" && broken[0].witness.is_some(), "{broken:#?}");
}

#[test]
fn gaps_that_are_not_shown_are_counted() {
    let required: Vec<String> = (0..8_000).map(|index| format!("name{index}")).collect();
    let diff = other_diff(&object(json!({})), &object(json!({ "required": required })));
    let broken = breaking(&diff);
    assert_eq!((broken.len(), broken[256].message.as_str()), (257, "7744 more places are not shown"));
}

#[test]
fn long_lists_of_values_are_decided() {
    let values = |range: std::ops::Range<usize>| {
        let values: Vec<String> = range.map(|index| format!("value{index}")).collect();
        object(json!({ "properties": { "value": { "enum": values } } }))
    };
    let diff = other_diff(&values(0..100_000), &values(0..100_001));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{:#?}", diff.changes);
    let diff = other_diff(&values(0..100_000), &values(1..100_000));
    let broken = breaking(&diff);
    assert!(broken.len() == 1 && broken[0].rule == "enum-value-removed" && broken[0].witness.is_some(), "{broken:#?}");
}

#[test]
fn a_thousand_changed_tools_are_compared() {
    let tools = |max: u64| {
        tools_list((0..1_000).map(|index| {
            object(json!({
                "properties": {
                    "name": text(),
                    "count": { "type": "integer", "minimum": 0, "maximum": max },
                    "state": { "enum": ["open", format!("state{index}")] },
                    "node": { "$ref": "#/$defs/Node" },
                },
                "required": ["name"],
                "additionalProperties": false,
                "$defs": { "Node": object(json!({ "properties": { "next": { "$ref": "#/$defs/Node" }, "of": text() } })) },
            }))
        }))
    };
    let diff = tools(10).diff(&tools(9));
    assert_eq!(breaking(&diff).len(), 1_000);
    assert!(breaking(&diff).iter().all(|change| change.witness.is_some()));
}

/// A schema with a union in a member, and one with the union in the items of a list in it.
fn nested(key: &str, alternatives: &[Value]) -> [Value; 2] {
    let union = json!({ key: alternatives });
    let parts = [union.clone(), json!({ "type": "array", "items": union })];
    parts.map(|part| object(json!({ "properties": { "s": part }, "required": ["s"] })))
}

#[test]
fn what_is_narrowed_in_an_alternative_is_shown_wherever_it_stands() {
    let tagged = |tag: Value, rules: &Value| {
        let mut rules = object(rules.clone());
        rules["properties"]["kind"] = tag;
        let required = rules["required"].as_array().into_iter().flatten().cloned().chain([json!("kind")]).collect();
        rules["required"] = required;
        rules
    };
    let side = |rules: Value| json!({ "properties": { "side": rules }, "required": ["side"] });
    let number = || json!({ "type": "number" });
    let is_result = |rule: &str| rule.starts_with("result-");
    for (old, new, rule) in [
        (side(number()), side(json!({ "type": "number", "maximum": 5 })), "bound-tightened"),
        (json!({ "properties": { "side": number() } }), side(number()), "parameter-required"),
        (json!({ "properties": {} }), side(number()), "required-parameter-added"),
        (side(json!({ "enum": ["a", "b"] })), side(json!({ "enum": ["a"] })), "enum-value-removed"),
        (side(text_or_null()), side(text()), "null-removed"),
        (
            json!({ "properties": { "side": number() } }),
            json!({ "properties": { "side": { "type": "integer" } } }),
            "type-changed",
        ),
        (
            side(json!({ "anyOf": [text(), { "type": "array", "items": number() }] })),
            side(json!({ "anyOf": [text(), { "type": "array", "items": { "type": "number", "minimum": 1 } }] })),
            "bound-tightened",
        ),
        (side(number()), json!({ "properties": { "side": number() } }), "result-field-optional"),
    ] {
        for (key, place, count) in [("anyOf", 1, 2), ("oneOf", 0, 2), ("anyOf", 1, 3), ("oneOf", 2, 3), ("anyOf", 5, 6)]
        {
            let tag = |index: usize| {
                let tag = format!("k{index}");
                if key == "oneOf" { json!({ "const": tag }) } else { json!({ "enum": [tag] }) }
            };
            let union = |changed: &Value| {
                let other = json!({ "properties": { "radius": number() }, "required": ["radius"] });
                let rules = |index: usize| if index == place { changed } else { &other };
                let alternatives: Vec<Value> = (0..count).map(|index| tagged(tag(index), rules(index))).collect();
                nested(key, &alternatives)
            };
            for (old, new) in union(&old).into_iter().zip(union(&new)) {
                let diff = if is_result(rule) { output_diff(&old, &new) } else { input_diff(&old, &new) };
                let broken = breaking(&diff);
                assert!(
                    broken.len() == 1 && broken[0].rule == rule && broken[0].witness.is_some(),
                    "{old} {new}: {broken:#?}"
                );
            }
        }
    }
}

#[test]
fn what_is_narrowed_in_an_alternative_without_a_tag_is_shown() {
    let members = |names: &[&str], rules: Value| {
        let mut members = json!({ "path": rules });
        for name in names {
            members[name] = text();
        }
        let required: Vec<&str> = names.iter().copied().chain(["path"]).collect();
        object(json!({ "properties": members, "required": required, "additionalProperties": false }))
    };
    let first = || members(&["position", "body"], text());
    let short = || json!({ "type": "string", "maxLength": 9 });
    // What the first alternative accepts, too, is not broken.
    let open = |name: &str, rules: Value| object(json!({ "properties": { name: rules }, "required": [name] }));
    for (old, new) in [
        ([first(), members(&["line", "body"], text())], [first(), members(&["line", "body"], short())]),
        ([members(&["line"], text()), first()], [members(&["line"], short()), first()]),
        ([open("a", text()), open("b", text())], [open("a", text()), open("b", short())]),
    ] {
        for (old, new) in nested("anyOf", &old).into_iter().zip(nested("anyOf", &new)) {
            let diff = input_diff(&old, &new);
            let broken = breaking(&diff);
            assert!(broken.len() == 1 && broken[0].witness.is_some(), "{old} {new}: {broken:#?}");
        }
    }
}
