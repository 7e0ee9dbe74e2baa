//! Maps whose keys cannot be read or written as keys of a JSON object.
//!
//! Most are found by looking at the type. Where serde buffers a value before it looks at the type (`flatten`, `untagged`,
//! tags), integers and booleans cannot be keys either: there a value with one key is read for each map of the schema.

use mcp_core::schema::KeyFault;
use mcp_core::{JsonObject, Param};
use serde_json::{Value, json};

use crate::util::panic::guard;
use crate::validate::Document;

/// A key that is nothing but a text.
const WORD: &str = "a key of a JSON object";
/// A key that is an integer of every size.
const NUMBER: &str = "97";
/// The patterns by which schemars says that keys are integers.
const INTEGERS: [&str; 2] = [r"^\d+$", r"^-?\d+$"];
/// How deep maps are looked for.
const DEPTH: usize = 12;
/// How many schemas are looked at.
const SCHEMAS: usize = 1024;

/// The maps in a parameter that no call can fill.
pub(crate) fn unreadable(param: &Param) -> Vec<KeyFault> {
    let shape = (param.shape)();
    let (is_buffered, mut faults) = (shape.is_buffered(), shape.keys);
    if is_buffered && param.explicit_schema.is_none() {
        let schema = param.generate_schema();
        for map in (Search { document: Document(&schema), left: SCHEMAS }).maps(&schema, 0) {
            if faults.iter().all(|fault| fault.path != map.path) {
                faults.extend(map.refused(param));
            }
        }
    }
    faults
}

/// A map with one key, in a value that is as small as can be.
struct Map {
    path: String,
    key: &'static str,
    value: Value,
}

impl Map {
    fn refused(self, param: &Param) -> Option<KeyFault> {
        let refused = |value: &Value, key: &str| {
            // A type that panics tells nothing.
            let error = guard(|| (param.reads)(&value.to_string())).ok()?.err()?.to_string();
            let expected = error.strip_prefix(&format!("invalid type: string {key:?}, expected "))?;
            Some(expected.split(" at line ").next().unwrap_or(expected).to_owned())
        };
        let mut key = refused(&self.value, self.key)?;
        if key == "a boolean" {
            // Outside of a buffer that says what the key is, and not that it cannot be one.
            let value = self.value.to_string().replace(&format!("{WORD:?}"), "\"true\"");
            key = refused(&serde_json::from_str(&value).ok()?, "true")?;
        }
        if self.key == NUMBER || ["a boolean", "f32", "f64"].contains(&key.as_str()) {
            key.push_str(" inside of `flatten`, `untagged` or a tagged enum");
        }
        Some(KeyFault { path: self.path, key })
    }

    /// The map inside of a larger value.
    fn within(self, step: &str, value: impl FnOnce(Value) -> Value) -> Self {
        Self { path: format!("{step}{}", self.path), value: value(self.value), ..self }
    }
}

struct Search<'a> {
    document: Document<'a>,
    left: usize,
}

impl Search<'_> {
    /// Every map in a schema.
    fn maps(&mut self, schema: &Value, depth: usize) -> Vec<Map> {
        let (Value::Object(object), true) = (schema, depth <= DEPTH && self.left > 0) else { return Vec::new() };
        self.left -= 1;
        let mut maps = self.members(object, depth);
        if let Some(items) = object.get("items") {
            maps.extend(self.maps(items, depth + 1).into_iter().map(|map| map.within("/*", |value| json!([value]))));
        }
        for (index, item) in list(object, "prefixItems").iter().enumerate() {
            let whole = self.document.sample(schema).unwrap_or_default();
            maps.extend(self.maps(item, depth + 1).into_iter().map(|map| {
                map.within("/*", |value| {
                    let mut whole = whole.clone();
                    if let Some(place) = whole.get_mut(index) {
                        *place = value;
                    }
                    whole
                })
            }));
        }
        if let Some(target) = object.get("$ref").and_then(Value::as_str).and_then(|path| self.document.target(path)) {
            maps.extend(self.maps(target, depth + 1));
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            let mut rest = object.clone();
            if key != "allOf" {
                rest.shift_remove(key);
            }
            let rest = self.object(&rest);
            for alternative in list(object, key) {
                let inner = self.maps(alternative, depth + 1);
                maps.extend(inner.into_iter().map(|map| map.within("", |value| merged(&rest, value))));
            }
        }
        maps
    }

    /// The maps in the members of an object, and the object if it is one.
    fn members(&mut self, object: &JsonObject, depth: usize) -> Vec<Map> {
        let whole = self.object(object);
        let with = |name: &str, value: Value| merged(&whole, json!({ name: value }));
        let mut maps = Vec::new();
        for (name, schema) in named(object, "properties") {
            let inner = self.maps(schema, depth + 1).into_iter();
            maps.extend(inner.map(|map| map.within(&format!("/{name}"), |value| with(name, value))));
        }
        let patterns = named(object, "patternProperties").filter(|(pattern, _)| INTEGERS.contains(&pattern.as_str()));
        let more = object.get("additionalProperties").filter(|more| **more != Value::Bool(false));
        let open = patterns.map(|(_, schema)| (NUMBER, schema)).chain(more.map(|schema| (WORD, schema)));
        for (key, schema) in open {
            let value = self.document.sample(schema).map(|value| with(key, value));
            maps.extend(value.map(|value| Map { path: String::new(), key, value }));
            let inner = self.maps(schema, depth + 1).into_iter();
            maps.extend(inner.map(|map| map.within("/*", |value| with(if key == NUMBER { "1" } else { "a" }, value))));
        }
        maps
    }

    /// A small object that fits the schema.
    fn object(&self, schema: &JsonObject) -> JsonObject {
        match self.document.sample(&Value::Object(schema.clone())) {
            Some(Value::Object(object)) => object,
            _ => JsonObject::new(),
        }
    }
}

fn list<'a>(object: &'a JsonObject, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named<'a>(object: &'a JsonObject, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(key).and_then(Value::as_object).into_iter().flatten()
}

fn merged(whole: &JsonObject, part: Value) -> Value {
    let Value::Object(part) = part else { return part };
    let mut whole = whole.clone();
    whole.extend(part);
    whole.into()
}
