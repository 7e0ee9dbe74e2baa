//! Types whose values take more than linear time to read or to check.
//!
//! serde reads a value of an untagged enum by trying one variant after the other, and the validator checks it so. Where two
//! variants of one JSON type hold the enum again in the same member, each level of nesting doubles the time: a few hundred
//! bytes can take years. A tag tells variants apart before either looks inside.

use std::collections::HashSet;

use mcp_core::schema;
use serde_json::Value;

use super::sample::Document;
use crate::tool::{RegisteredTool, Source};

/// The type of a tool's arguments whose values may take more than linear time to read or to check, if there is one.
pub(crate) fn slow_type(tool: &RegisteredTool) -> Option<String> {
    let types = match tool.source() {
        // What stands in the published schema is not what serde reads.
        Source::Linked(entry)
            if entry.input_schema.is_some() || entry.params.iter().any(|param| param.explicit_schema.is_some()) =>
        {
            Some(schema::types_of(entry))
        }
        Source::Linked(_) | Source::Made(_) => None,
    };
    let mut schemas = types.iter().chain([&**tool.input_schema()]);
    Some(type_name(schemas.find_map(recursive_union)?).to_owned())
}

/// The type that holds itself, if the schema has one.
pub(crate) fn recursive_type(schema: &Value) -> Option<&str> {
    let document = Document(schema);
    let mut seen = HashSet::new();
    let mut left = Vec::new();
    each_reference(schema, false, &mut |reference, _| left.push(reference));
    while let Some(reference) = left.pop() {
        let Some(target) = document.target(reference).filter(|_| seen.insert(reference)) else { continue };
        let mut inner = Vec::new();
        each_reference(target, false, &mut |reference, _| inner.push(reference));
        if inner.iter().any(|inner| leads_to(document, inner, reference)) {
            return Some(type_name(reference));
        }
        left.extend(inner);
    }
    None
}

/// The last step of a reference.
fn type_name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// The untagged enum that holds itself, as a reference into the schema, if there is one.
fn recursive_union(schema: &Value) -> Option<&str> {
    let document = Document(schema);
    let mut seen = HashSet::new();
    let mut left = Vec::new();
    each_reference(schema, false, &mut |reference, _| left.push(reference));
    while let Some(reference) = left.pop() {
        let Some(target) = document.target(reference).filter(|_| seen.insert(reference)) else { continue };
        let mut in_union = Vec::new();
        each_reference(target, false, &mut |inner, is_in_union| {
            left.push(inner);
            if is_in_union {
                in_union.push(inner);
            }
        });
        if in_union.into_iter().any(|inner| leads_to(document, inner, reference)) {
            return Some(reference);
        }
    }
    None
}

/// Whether one comes from a reference to another.
fn leads_to<'a>(document: Document<'a>, from: &'a str, to: &str) -> bool {
    let mut seen = HashSet::new();
    let mut left = vec![from];
    while let Some(reference) = left.pop() {
        if reference == to {
            return true;
        }
        if let Some(target) = document.target(reference).filter(|_| seen.insert(reference)) {
            each_reference(target, false, &mut |inner, _| left.push(inner));
        }
    }
    false
}

/// Sees every reference, and whether it is one of several alternatives that nothing tells apart.
fn each_reference<'a>(schema: &'a Value, in_union: bool, see: &mut dyn FnMut(&'a str, bool)) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$ref", Value::String(reference)) => see(reference, in_union),
                    // They are seen by reference.
                    ("$defs" | "definitions", _) => {}
                    ("anyOf", Value::Array(alternatives)) => {
                        for alternative in alternatives {
                            each_reference(alternative, in_union || has_rival(alternative, alternatives), see);
                        }
                    }
                    (_, inner) => each_reference(inner, in_union, see),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_reference(item, in_union, see)),
        _ => {}
    }
}

/// Whether a value that is tried as this alternative may be tried as another one that looks into it as well: nothing tells
/// the two apart.
fn has_rival(alternative: &Value, alternatives: &[Value]) -> bool {
    let mut others = alternatives.iter().filter(|other| !std::ptr::eq(*other, alternative));
    others.any(|other| may_meet(alternative, other) && refers(other))
}

fn refers(schema: &Value) -> bool {
    let mut has_reference = false;
    each_reference(schema, false, &mut |_, _| has_reference = true);
    has_reference
}

/// Whether two alternatives may look into the same part of a value.
fn may_meet(one: &Value, other: &Value) -> bool {
    if let (Value::String(one), Value::String(other)) = (&one["type"], &other["type"]) {
        if one != other {
            return false;
        }
    }
    let (Some(own), Some(others)) = (one["properties"].as_object(), other["properties"].as_object()) else {
        return true;
    };
    let is_required = |schema: &Value, name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|other| other == name))
    };
    let both = || own.iter().filter_map(|(name, own)| Some((name, own, others.get(name)?)));
    // A tag: only one of the two has it.
    let mut tags = both().filter(|(name, ..)| is_required(one, name) && is_required(other, name));
    if tags.any(|(_, one, other)| only_value(one).zip(only_value(other)).is_some_and(|(one, other)| one != other)) {
        return false;
    }
    // Members of different names, as in `{"Left": …}` and `{"Right": …}`.
    let looks_elsewhere = |schema: &Value| {
        let members = schema.as_object().into_iter().flatten().filter(|(key, _)| *key != "properties");
        members.into_iter().any(|(_, said)| refers(said)) || schema.get("$ref").is_some()
    };
    looks_elsewhere(one) || looks_elsewhere(other) || both().any(|(_, one, other)| refers(one) && refers(other))
}

/// The one value that a schema takes.
fn only_value(schema: &Value) -> Option<&Value> {
    schema.get("const").or_else(|| match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::recursive_union;

    #[allow(clippy::needless_pass_by_value, reason = "it is made for this")]
    fn found(node: Value) -> Option<String> {
        let schema = json!({
            "type": "object",
            "properties": { "node": { "$ref": "#/$defs/Node" } },
            "$defs": { "Node": node, "Other": { "type": "array", "items": { "$ref": "#/$defs/Node" } } },
        });
        recursive_union(&schema).map(str::to_owned)
    }

    #[test]
    fn an_untagged_enum_that_holds_itself_twice_is_found() {
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/Node" } });
        let pair = json!({ "type": "array", "prefixItems": [{ "$ref": "#/$defs/Node" }, { "type": "string" }] });
        assert!(found(json!({ "anyOf": [list, pair, { "type": "string" }] })).is_some());
        assert!(found(json!({ "anyOf": [list, { "$ref": "#/$defs/Other" }] })).is_some(), "by another type");
        let nested = json!({ "type": "object", "properties": { "in": { "anyOf": [list, pair] } } });
        assert!(found(nested).is_some(), "in a member");
    }

    #[test]
    fn other_recursion_reads_in_linear_time() {
        let node = json!({ "$ref": "#/$defs/Node" });
        assert_eq!(found(json!({ "type": "object", "properties": { "next": node } })), None);
        assert_eq!(found(json!({ "anyOf": [node, { "type": "null" }] })), None, "an option");
        let (list, map) =
            (json!({ "type": "array", "items": node }), json!({ "type": "object", "additionalProperties": node }));
        assert_eq!(found(json!({ "anyOf": [list, map, { "type": "string" }] })), None, "any JSON");
        assert_eq!(
            found(json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] })),
            None,
            "it holds itself not"
        );
    }

    #[test]
    fn a_tag_tells_alternatives_apart() {
        let node = json!({ "$ref": "#/$defs/Node" });
        let variant = |kind: Value, required: Value| {
            let properties = json!({ "kind": kind, "of": node });
            json!({ "type": "object", "properties": properties, "required": required })
        };
        let both = |a: Value, b: Value| json!({ "anyOf": [variant(a, json!(["kind"])), variant(b, json!(["kind"]))] });
        assert_eq!(found(both(json!({ "enum": ["a"] }), json!({ "enum": ["b"] }))), None);
        assert_eq!(found(both(json!({ "const": "a" }), json!({ "const": "b" }))), None);
        assert!(found(both(json!({ "enum": ["a"] }), json!({ "enum": ["a"] }))).is_some(), "the same tag");
        assert!(found(both(json!({ "enum": ["a"] }), json!({ "enum": ["a", "b"] }))).is_some(), "a common tag");
        let loose = |tag: &str| variant(json!({ "enum": [tag] }), json!(["of"]));
        assert!(found(json!({ "anyOf": [loose("a"), loose("b")] })).is_some(), "a tag that may be left out");
    }

    #[test]
    fn alternatives_that_look_into_different_members_read_in_linear_time() {
        let node = json!({ "$ref": "#/$defs/Node" });
        let of = |name: &str| json!({ "type": "object", "properties": { name: node }, "required": [name] });
        assert_eq!(found(json!({ "anyOf": [of("a"), of("b")] })), None);
        assert!(found(json!({ "anyOf": [of("a"), of("a")] })).is_some());
        let map = json!({ "type": "object", "properties": {}, "additionalProperties": node });
        assert!(found(json!({ "anyOf": [of("a"), map] })).is_some(), "one looks into all members");
    }
}
