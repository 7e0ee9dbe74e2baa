//! Maps whose keys cannot be keys of a JSON object.
//!
//! The type itself reveals most of them. If serde buffers a value before it knows the type (`flatten`, `untagged`, tags),
//! integers and booleans cannot be keys either: to find these, a value with one key is parsed for each map of the schema.

use mcp_core::message::JsonObject;
use mcp_core::param::Param;
use mcp_core::schema::KeyFault;
use serde_json::{Value, json};

use crate::util::panic::guard;
use crate::validate::sample::{Document, list};

/// A key that is only a text.
const TEXT_KEY: &str = "a key of a JSON object";
/// A key that is an integer of any size.
const NUMBER_KEY: &str = "97";
/// The patterns that schemars generates for integer keys.
const INTEGERS: [&str; 2] = [r"^\d+$", r"^-?\d+$"];
/// How deep maps are searched.
const MAX_DEPTH: usize = 12;
/// How many schemas are searched.
const MAX_SCHEMAS: usize = 1024;

/// The maps in a parameter that no call can provide.
pub(crate) fn unreadable(param: &Param) -> Vec<KeyFault> {
    let shape = (param.ty.shape)();
    let (is_buffered, mut faults) = (shape.is_buffered(), shape.keys);
    if is_buffered && param.explicit_schema.is_none() {
        let schema = param.generate_schema();
        for map in (Search { document: Document(&schema), left: MAX_SCHEMAS }).maps(&schema, 0) {
            if faults.iter().all(|fault| fault.path != map.path) {
                faults.extend(map.fault(param));
            }
        }
    }
    faults
}

/// A map with one key, in a value that is otherwise minimal.
struct Map {
    path: String,
    key: &'static str,
    value: Value,
}

impl Map {
    fn fault(self, param: &Param) -> Option<KeyFault> {
        let expected_key = |value: &Value, key: &str| {
            // A type that panics reports nothing.
            let error = guard(|| (param.ty.reads)(&value.to_string())).ok()?.err()?.to_string();
            let expected = error.strip_prefix(&format!("invalid type: string {key:?}, expected "))?;
            Some(expected.split(" at line ").next().unwrap_or(expected).to_owned())
        };
        let mut key = expected_key(&self.value, self.key)?;
        if key == "a boolean" {
            // Unless the value is buffered, this only describes the key, which is valid then.
            let value = self.value.to_string().replace(&format!("{TEXT_KEY:?}"), "\"true\"");
            key = expected_key(&serde_json::from_str(&value).ok()?, "true")?;
        }
        if self.key == NUMBER_KEY || ["a boolean", "f32", "f64"].contains(&key.as_str()) {
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
        let (Value::Object(object), true) = (schema, depth <= MAX_DEPTH && self.left > 0) else { return Vec::new() };
        self.left -= 1;
        let mut maps = self.members(object, depth);
        if let Some(items) = object.get("items") {
            maps.extend(self.maps(items, depth + 1).into_iter().map(|map| map.within("/*", |value| json!([value]))));
        }
        for (index, item) in list(object, "prefixItems").iter().enumerate() {
            let sample = self.document.sample(schema).unwrap_or_default();
            maps.extend(self.maps(item, depth + 1).into_iter().map(|map| {
                map.within("/*", |value| {
                    let mut sample = sample.clone();
                    if let Some(item) = sample.get_mut(index) {
                        *item = value;
                    }
                    sample
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
        let sample = self.object(object);
        let with = |name: &str, value: Value| merged(&sample, json!({ name: value }));
        let mut maps = Vec::new();
        for (name, schema) in named(object, "properties") {
            let inner = self.maps(schema, depth + 1).into_iter();
            maps.extend(inner.map(|map| map.within(&format!("/{name}"), |value| with(name, value))));
        }
        let patterns = named(object, "patternProperties").filter(|(pattern, _)| INTEGERS.contains(&pattern.as_str()));
        let more = object.get("additionalProperties").filter(|more| **more != Value::Bool(false));
        let open = patterns.map(|(_, schema)| (NUMBER_KEY, schema)).chain(more.map(|schema| (TEXT_KEY, schema)));
        for (key, schema) in open {
            let value = self.document.sample(schema).map(|value| with(key, value));
            maps.extend(value.map(|value| Map { path: String::new(), key, value }));
            let inner = self.maps(schema, depth + 1).into_iter();
            maps.extend(
                inner.map(|map| map.within("/*", |value| with(if key == NUMBER_KEY { "1" } else { "a" }, value))),
            );
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

fn named<'a>(object: &'a JsonObject, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(key).and_then(Value::as_object).into_iter().flatten()
}

fn merged(object: &JsonObject, part: Value) -> Value {
    let Value::Object(part) = part else { return part };
    let mut object = object.clone();
    object.extend(part);
    object.into()
}
