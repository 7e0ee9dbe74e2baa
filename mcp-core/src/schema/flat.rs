//! Alternatives at the root of an input schema make providers refuse the tool, or the whole list: one set of properties
//! stands for all of them. It says less than the alternatives; what it leaves open, the call refuses.

use serde_json::{Value, json};

use super::profile::document;
use super::refs;
use crate::util::JsonObject;

/// How deep alternatives are looked at; a type can be an alternative of itself.
const DEPTH: usize = 16;

const ALTERNATIVES: [&str; 2] = ["oneOf", "anyOf"];

#[derive(Default)]
struct Flat {
    properties: JsonObject,
    required: Vec<Value>,
    open: bool,
}

/// Replaces alternatives by the properties of all of them.
pub(crate) fn without_alternatives(root: JsonObject, definitions: &JsonObject) -> JsonObject {
    let combines = ["allOf", "$ref"].iter().chain(&ALTERNATIVES).any(|key| root.contains_key(*key));
    if !combines {
        return root;
    }
    let mut root = Value::Object(root);
    let Flat { properties, required, open } = flat(&root, definitions, 0);
    let mut flattened = super::object([("type", "object".into()), ("properties", properties.into())]);
    if !required.is_empty() {
        flattened.insert("required".into(), required.into());
    }
    if open {
        flattened.insert("additionalProperties".into(), Value::Bool(true));
    }
    if let Some(description) = root.get_mut("description") {
        flattened.insert("description".into(), description.take());
    }
    flattened
}

fn flat(schema: &Value, definitions: &JsonObject, depth: usize) -> Flat {
    if depth > DEPTH {
        return Flat::default();
    }
    let open = |key: &str| schema.get(key).is_some_and(|more| *more != Value::Bool(false));
    let mut merged = Flat {
        properties: schema["properties"].as_object().cloned().unwrap_or_default(),
        required: schema["required"].as_array().cloned().unwrap_or_default(),
        open: open("additionalProperties") || open("patternProperties"),
    };
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    for part in parts.chain(refs::target(schema, definitions)) {
        let part = flat(part, definitions, depth + 1);
        add_required(&mut merged.required, part.required.clone());
        merged.add(part);
    }
    for alternatives in ALTERNATIVES.iter().filter_map(|key| schema.get(key)?.as_array()) {
        let mut common: Option<Vec<Value>> = None;
        let is_tag = |name: &str| alternatives.iter().all(|one| tag_value(&one["properties"][name]).is_some());
        for alternative in alternatives {
            let mut part = flat(alternative, definitions, depth + 1);
            for (_, property) in part.properties.iter_mut().filter(|(name, _)| is_tag(name)) {
                describe_tag(property, alternative);
            }
            match &mut common {
                Some(common) => common.retain(|name| part.required.contains(name)),
                None => common = Some(part.required.clone()),
            }
            merged.add(part);
        }
        add_required(&mut merged.required, common.unwrap_or_default());
    }
    merged
}

fn add_required(required: &mut Vec<Value>, more: Vec<Value>) {
    for name in more {
        if !required.contains(&name) {
            required.push(name);
        }
    }
}

/// The only value that a property takes.
fn tag_value(property: &Value) -> Option<&Value> {
    match property["enum"].as_array().map(Vec::as_slice) {
        Some([value]) => Some(value),
        _ => None,
    }
}

/// The name of an alternative becomes one of several names, with what was descriptions of the alternative.
fn describe_tag(property: &mut Value, alternative: &Value) {
    let line = tag_value(property).and_then(|name| document(name, alternative));
    if let (Value::Object(property), Some(line)) = (property, line) {
        property.entry("description").or_insert_with(|| line.into());
    }
}

impl Flat {
    fn add(&mut self, part: Self) {
        self.open |= part.open;
        for (name, schema) in part.properties {
            match self.properties.get_mut(&name) {
                Some(own) if *own != schema => either(own, schema),
                Some(_) => {}
                None => _ = self.properties.insert(name, schema),
            }
        }
    }
}

/// What fits one of two schemas.
fn either(own: &mut Value, other: Value) {
    let names = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
    if let (Some(mut all), Some(more), Value::Object(own)) = (names(own), names(&other), &mut *own) {
        all.extend(more.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
        own.insert("enum".into(), all.into());
        let descriptions = [own.get("description"), other.get("description")];
        let lines: Vec<&str> = descriptions.into_iter().flatten().filter_map(Value::as_str).collect();
        if !lines.is_empty() {
            own.insert("description".into(), lines.join("\n").into());
        }
        return;
    }
    match own.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(schemas) => schemas.push(other),
        None => *own = json!({ "anyOf": [own.take(), other] }),
    }
}
