//! Recursive types, and those whose values take more than linear time to parse or to check.
//!
//! serde parses an untagged enum by trying one variant after the other, and the validator does the same. If two variants
//! of the same JSON type contain the enum, each level of nesting doubles the time: a few hundred bytes can take years.

use std::collections::HashSet;

use serde_json::Value;

use super::sample::Document;
use super::{DEFINITIONS, Subject};

/// The type of a tool's arguments whose values may take more than linear time to parse or to check, if there is one.
pub(crate) fn slow_type(subject: &dyn Subject) -> Option<String> {
    let published = subject.input();
    let schemas = match subject.entry() {
        None => vec![published.clone()],
        Some(entry) => {
            let mut schemas: Vec<Value> =
                entry.params.iter().filter_map(|param| Some(param.explicit_schema?())).collect();
            schemas.extend(entry.input_schema.map(|schema| schema()));
            if schemas.is_empty() && DEFINITIONS.iter().all(|key| published.get(key).is_none()) {
                // Without definitions, nothing is recursive.
                return None;
            }
            // The published schema does not show which enums have a tag that serde checks first.
            schemas.push(entry.generate_type_schemas());
            schemas
        }
    };
    Some(type_name(schemas.iter().find_map(recursive_union)?).to_owned())
}

/// The name of a recursive type, if the schema has one.
pub(crate) fn recursive_type(schema: &Value) -> Option<&str> {
    recursive_reference(schema, false).map(type_name)
}

/// A reference to a recursive type whose untagged variants contain it, if the schema has one.
fn recursive_union(schema: &Value) -> Option<&str> {
    recursive_reference(schema, true)
}

/// The last step of a reference.
fn type_name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// A reference whose target leads back to it; if `in_union` is set, by a reference in an ambiguous alternative.
fn recursive_reference(schema: &Value, in_union: bool) -> Option<&str> {
    let document = Document(schema);
    let mut seen = HashSet::new();
    let mut left = Vec::new();
    each_reference(schema, false, &mut |reference, _| left.push(reference));
    while let Some(reference) = left.pop() {
        let Some(target) = document.target(reference).filter(|_| seen.insert(reference)) else { continue };
        let mut candidates = Vec::new();
        each_reference(target, false, &mut |inner, is_in_union| {
            left.push(inner);
            if is_in_union || !in_union {
                candidates.push(inner);
            }
        });
        if candidates.into_iter().any(|inner| leads_to(document, inner, reference)) {
            return Some(reference);
        }
    }
    None
}

/// Whether a reference leads to another one.
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

/// Visits every reference, with whether it is in one of several ambiguous alternatives.
fn each_reference<'a>(schema: &'a Value, in_union: bool, visit: &mut dyn FnMut(&'a str, bool)) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$ref", Value::String(reference)) => visit(reference, in_union),
                    // Definitions are visited by reference.
                    ("$defs" | "definitions", _) => {}
                    ("anyOf", Value::Array(alternatives)) => {
                        for alternative in alternatives {
                            each_reference(alternative, in_union || is_ambiguous(alternative, alternatives), visit);
                        }
                    }
                    (_, inner) => each_reference(inner, in_union, visit),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_reference(item, in_union, visit)),
        _ => {}
    }
}

/// Whether a value may be tried both as this alternative and as another one that looks inside it. A member with one value
/// per alternative does not tell them apart: serde and the validator may check the other members first.
fn is_ambiguous(alternative: &Value, alternatives: &[Value]) -> bool {
    let may_meet = |other: &Value| match (&alternative["type"], &other["type"]) {
        (Value::String(this), Value::String(other)) => this == other,
        _ => true,
    };
    let looks_inside = |other: &Value| {
        let mut has_reference = false;
        each_reference(other, false, &mut |_, _| has_reference = true);
        has_reference
    };
    let mut others = alternatives.iter().filter(|other| !std::ptr::eq(*other, alternative));
    others.any(|other| may_meet(other) && looks_inside(other))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::recursive_union;

    #[allow(clippy::needless_pass_by_value, reason = "it is made for this")]
    fn union_in(node: Value) -> Option<String> {
        let schema = json!({
            "type": "object",
            "properties": { "node": { "$ref": "#/$defs/Node" } },
            "$defs": { "Node": node, "Other": { "type": "array", "items": { "$ref": "#/$defs/Node" } } },
        });
        recursive_union(&schema).map(str::to_owned)
    }

    #[test]
    fn an_untagged_enum_that_contains_itself_twice_takes_more() {
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/Node" } });
        let pair = json!({ "type": "array", "prefixItems": [{ "$ref": "#/$defs/Node" }, { "type": "string" }] });
        assert!(union_in(json!({ "anyOf": [list, pair, { "type": "string" }] })).is_some());
        assert!(union_in(json!({ "anyOf": [list, { "$ref": "#/$defs/Other" }] })).is_some(), "by another type");
        let nested = json!({ "type": "object", "properties": { "in": { "anyOf": [list, pair] } } });
        assert!(union_in(nested).is_some(), "in a member");
    }

    #[test]
    fn other_recursion_takes_linear_time() {
        let node = json!({ "$ref": "#/$defs/Node" });
        assert_eq!(union_in(json!({ "type": "object", "properties": { "next": node } })), None);
        assert_eq!(union_in(json!({ "anyOf": [node, { "type": "null" }] })), None, "an option");
        let (list, map) =
            (json!({ "type": "array", "items": node }), json!({ "type": "object", "additionalProperties": node }));
        assert_eq!(union_in(json!({ "anyOf": [list, map, { "type": "string" }] })), None, "any JSON");
        assert_eq!(
            union_in(json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] })),
            None,
            "it holds itself not"
        );
    }

    #[test]
    fn a_tag_tells_alternatives_apart_where_exactly_one_may_fit() {
        let node = json!({ "$ref": "#/$defs/Node" });
        let variant =
            |tag: &str| json!({ "properties": { "kind": { "const": tag }, "of": node }, "required": ["kind"] });
        assert_eq!(union_in(json!({ "oneOf": [variant("a"), variant("b")] })), None);
        assert!(union_in(json!({ "anyOf": [variant("a"), variant("b")] })).is_some(), "it may be looked at last");
    }
}
