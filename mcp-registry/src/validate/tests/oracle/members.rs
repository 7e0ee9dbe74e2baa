//! Random schemas of objects whose rules depend on which members are present, and changes of their members.

use serde_json::{Value, json};

use super::{Dice, JsonObject};

/// The names of members: few, so that several rules are about the same one.
const NAMES: [&str; 4] = ["a", "b", "c", "kind"];
/// The other names of members. No schema names them otherwise.
const ALIASES: [&str; 2] = ["old1", "old2"];

/// A schema of a member.
fn member(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth < 2 { 13 } else { 10 }) {
        0 | 1 => json!({ "type": "string" }),
        2 | 3 => json!({ "type": ["string", "null"] }),
        4 => json!({ "type": "integer" }),
        5 => json!({ "type": ["integer", "null"], "minimum": 1 }),
        6 => json!({}),
        7 => json!({ "type": "null" }),
        8 => json!({ "const": dice.one(&["x", "y"]) }),
        9 if dice.flips() => json!({ "enum": ["x", dice.one(&["y", "z"])], "x-mcp-enum": ["text"] }),
        9 => json!({ "enum": ["x", dice.one(&["y", "z"])] }),
        10 => json!({ "type": "array", "items": object(dice, depth + 1) }),
        _ => object(dice, depth + 1),
    }
}

fn members(dice: &mut Dice, depth: usize) -> Value {
    let all: JsonObject = (0..=dice.below(3)).map(|_| (dice.one(&NAMES).to_owned(), member(dice, depth))).collect();
    all.into()
}

/// A schema of objects.
pub(super) fn object(dice: &mut Dice, depth: usize) -> Value {
    let mut schema = json!({ "properties": members(dice, depth) });
    if dice.flips() {
        schema["type"] = "object".into();
    }
    if dice.flips() {
        schema["required"] = json!([dice.one(&NAMES)]);
    }
    for _ in 0..dice.below(if depth < 3 { 3 } else { 1 }) {
        add_rule(&mut schema, dice, depth);
    }
    if dice.hits(6) {
        if let Some(first) = schema["properties"].as_object().and_then(|members| members.keys().next()).cloned() {
            schema["x-mcp-aliases"] = json!({ first: ALIASES[..=dice.below(2)] });
        }
    }
    schema
}

fn add_rule(schema: &mut Value, dice: &mut Dice, depth: usize) {
    let (one, other) = (dice.one(&NAMES), dice.one(&NAMES));
    let depth = depth + 1;
    let (key, rule) = match dice.below(18) {
        0 => ("minProperties", json!(1 + dice.below(3))),
        1 => ("maxProperties", json!(1 + dice.below(3))),
        2 => ("dependentRequired", json!({ one: [other] })),
        3 => ("dependentSchemas", json!({ one: object(dice, depth) })),
        4 => ("not", object(dice, depth)),
        5 => ("not", json!({ "required": [one] })),
        6 => {
            schema["then"] = object(dice, depth);
            ("if", json!({ "required": [one] }))
        }
        7 => {
            schema["else"] = object(dice, depth);
            ("if", object(dice, depth))
        }
        8 | 9 => ("anyOf", json!([object(dice, depth), object(dice, depth)])),
        10 | 11 => ("oneOf", json!([object(dice, depth), object(dice, depth)])),
        12 => ("allOf", json!([object(dice, depth), object(dice, depth)])),
        13 => ("additionalProperties", json!(false)),
        14 => ("additionalProperties", member(dice, depth)),
        15 => ("unevaluatedProperties", if dice.flips() { json!(false) } else { member(dice, depth) }),
        16 => ("patternProperties", json!({ "^[ab]$": member(dice, depth) })),
        _ => ("propertyNames", json!({ "maxLength": 1 })),
    };
    schema[key] = rule;
}

/// Adds, removes or changes a member, or adds a rule.
pub(super) fn change(schema: &mut Value, dice: &mut Dice) {
    let (name, member) = (dice.one(&NAMES), member(dice, 1));
    match (schema, dice.below(6)) {
        (Value::Object(schema), 0..=2) => {
            for value in schema.values_mut().filter(|value| value.is_object() || value.is_array()) {
                if dice.flips() {
                    return change(value, dice);
                }
            }
            if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
                match dice.below(4) {
                    0 => _ = members.shift_remove(name),
                    1 => _ = members.insert(name.to_owned(), member),
                    _ => _ = members.entry(name).or_insert(member),
                }
            }
        }
        (Value::Object(members), 3) => _ = members.shift_remove("required"),
        (schema @ Value::Object(_), 4 | 5) if schema.get("properties").is_some() => add_rule(schema, dice, 1),
        (Value::Array(items), _) if !items.is_empty() => {
            let at = dice.below(items.len());
            change(&mut items[at], dice);
        }
        _ => {}
    }
}

/// A value of such schemas.
pub(super) fn value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth < 3 { 9 } else { 6 }) {
        0 | 1 => Value::Null,
        2 => json!(dice.below(3)),
        3..=5 => dice.one(&["x", "y", "text"]).into(),
        6 => (0..dice.below(3)).map(|_| value(dice, depth + 1)).collect(),
        _ => arguments(dice, depth + 1),
    }
}

/// An object of such schemas.
pub(super) fn arguments(dice: &mut Dice, depth: usize) -> Value {
    let mut members = JsonObject::new();
    for name in NAMES.iter().chain(&ALIASES) {
        if dice.hits(if name.starts_with("old") { 8 } else { 2 }) {
            members.insert((*name).to_owned(), value(dice, depth));
        }
    }
    members.into()
}
