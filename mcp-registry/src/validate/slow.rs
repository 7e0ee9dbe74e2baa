//! Types whose values take more than linear time to read or to check.
//!
//! serde reads a value of an untagged enum by trying one variant after the other, and the validator checks it so. Where two
//! variants of one JSON type hold the enum again, each level of nesting doubles the time: a few hundred bytes can take
//! years.

use std::collections::HashSet;

use serde_json::Value;

use super::sample::Document;
use super::{DEFINITIONS, Subject};

/// The type of a tool's arguments whose values may take more than linear time to read or to check, if there is one.
pub(crate) fn slow_type(subject: &dyn Subject) -> Option<String> {
    let published = subject.input();
    let schemas = match subject.entry() {
        None => vec![published.clone()],
        Some(entry) => {
            let mut written: Vec<Value> =
                entry.params.iter().filter_map(|param| Some(param.explicit_schema?())).collect();
            written.extend(entry.input_schema.map(|schema| schema()));
            if written.is_empty() && DEFINITIONS.iter().all(|key| published.get(key).is_none()) {
                // Nothing holds itself.
                return None;
            }
            // The published schema does not say which enums have a tag that serde looks at first.
            written.push(entry.generate_type_schemas());
            written
        }
    };
    Some(type_name(schemas.iter().find_map(recursive_union)?).to_owned())
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

/// Whether a value that is tried as this alternative may be tried as another one that looks into it as well. A member with
/// one value for each alternative does not tell them apart: serde and the validator may look at the others first.
fn has_rival(alternative: &Value, alternatives: &[Value]) -> bool {
    let may_meet = |other: &Value| match (&alternative["type"], &other["type"]) {
        (Value::String(own), Value::String(other)) => own == other,
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
    fn a_tag_tells_alternatives_apart_where_exactly_one_may_fit() {
        let node = json!({ "$ref": "#/$defs/Node" });
        let variant =
            |tag: &str| json!({ "properties": { "kind": { "const": tag }, "of": node }, "required": ["kind"] });
        assert_eq!(found(json!({ "oneOf": [variant("a"), variant("b")] })), None);
        assert!(found(json!({ "anyOf": [variant("a"), variant("b")] })).is_some(), "it may be looked at last");
    }
}
