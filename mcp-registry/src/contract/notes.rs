//! What schemas say without a rule: descriptions, titles, examples, defaults.

use std::collections::HashSet;

use mcp_core::support::faults::escaped;
use mcp_core::support::schema::{ArrayRules, Model, NodeId, Notes, PatternId};
use serde_json::Value;

/// A note that differs.
pub(super) struct NoteChange {
    pub(super) keyword: &'static str,
    /// The names of the rule: about arguments, and about results.
    pub(super) rules: [&'static str; 2],
    /// Where in the value, as a JSON Pointer.
    pub(super) pointer: String,
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

/// How many notes are compared.
const MAX_NOTES: usize = 1 << 12;

/// The notes of members and items that both schemas have.
pub(super) fn changes(old: &Model, new: &Model) -> Vec<NoteChange> {
    let mut compared = HashSet::new();
    let mut found = Vec::new();
    let mut left = vec![(old.root(), new.root(), String::new(), false)];
    while let Some((one, other, pointer, was_required)) = left.pop() {
        if compared.len() > MAX_NOTES || !compared.insert((one, other)) {
            continue;
        }
        // The notes of a reference and of its target are read as one.
        for (keyword, rules, read) in READ {
            let (old, new) = (of(old, one, read), of(new, other, read));
            // The default of a required member meant nothing.
            if old != new && !(keyword == "default" && was_required) {
                found.push(NoteChange { keyword, rules, pointer: pointer.clone(), old, new });
            }
        }
        let mut parts = Vec::new();
        let (one, other) = (&old[old.resolved(one)], &new[new.resolved(other)]);
        if let (Some(one), Some(other)) = (&one.object, &other.object) {
            for property in &one.properties {
                if let Some(other) = other.property(&property.name) {
                    let pointer = format!("{pointer}/{}", escaped(&other.name));
                    parts.push((property.schema, other.schema, pointer, property.required));
                }
            }
            let additional = one.additional.zip(other.additional);
            parts.extend(additional.map(|(one, other)| (one, other, format!("{pointer}/*"), false)));
            for (pattern, schema) in &one.pattern_properties {
                let has_pattern = |(id, _): &&(PatternId, NodeId)| new.pattern(*id) == old.pattern(*pattern);
                let same = other.pattern_properties.iter().find(has_pattern);
                parts.extend(same.map(|(_, other)| (*schema, *other, format!("{pointer}/*"), false)));
            }
        }
        if let (Some(one), Some(other)) = (&one.array, &other.array) {
            let first = |rules: &ArrayRules| format!("{pointer}/{}", rules.prefix.len());
            parts.extend(one.items.zip(other.items).map(|(item, other)| (item, other, first(one), false)));
            let prefix = one.prefix.iter().zip(&other.prefix).enumerate();
            parts.extend(prefix.map(|(at, (one, other))| (*one, *other, format!("{pointer}/{at}"), false)));
        }
        let unions = one.any_of.iter().chain(&one.one_of).zip(other.any_of.iter().chain(&other.one_of));
        for (one, other) in unions.filter(|(one, other)| one.len() == other.len()) {
            parts.extend(one.iter().zip(other).map(|(one, other)| (*one, *other, pointer.clone(), was_required)));
        }
        left.extend(parts.into_iter().rev());
    }
    found
}

type Read = fn(&Notes) -> Option<Value>;

const READ: [(&str, [&str; 2], Read); 4] = [
    ("description", ["parameter-description", "result-description"], |notes| {
        notes.description.clone().map(Value::from)
    }),
    ("title", ["parameter-title", "result-title"], |notes| notes.title.clone().map(Value::from)),
    // Null is what an absent parameter is anyway.
    ("default", ["parameter-default", "result-default"], |notes| {
        notes.default.clone().filter(|default| !default.is_null())
    }),
    ("examples", ["parameter-examples", "result-examples"], |notes| {
        (!notes.examples.is_empty()).then(|| notes.examples.clone().into())
    }),
];

/// A note of a node, or of the one that it refers to.
fn of(model: &Model, id: NodeId, read: Read) -> Option<Value> {
    read(&model[id].notes).or_else(|| model[id].reference.and_then(|target| of(model, target, read)))
}
