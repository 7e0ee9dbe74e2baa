//! Maps whose keys cannot be keys of a JSON object.
//!
//! The type itself reveals most of them. If serde buffers a value before it knows the type (`flatten`, `untagged`, tags),
//! integers and booleans cannot be keys either: to find these, a value with one key is read for each map of the schema.

use mcp_core::message::JsonObject;
use mcp_core::param::Param;
use mcp_core::schema::KeyFault;
use mcp_core::support::faults::escaped;
use mcp_core::support::schema::{Model, NodeId, ObjectRules, Types};
use serde_json::{Value, json};

use super::formats::format;
use crate::util::panic::guard;

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
    if param.is_enforced_by_type() {
        return Vec::new();
    }
    let shape = (param.ty.shape)();
    let (is_buffered, mut faults) = (shape.is_buffered(), shape.keys);
    // A schema that cannot be read is reported elsewhere.
    let model = (is_buffered && param.explicit_schema.is_none()).then(|| param.generate_model().ok()).flatten();
    if let Some(model) = model {
        for map in (Search { model: &model, left: MAX_SCHEMAS }).maps(model.root(), 0) {
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
        // A type that panics reports nothing.
        let expected_key = |value: &Value, key: &str| guard(|| (param.ty.expected_instead)(value, key)).ok()?;
        let mut key = expected_key(&self.value, self.key)?;
        if key == "a boolean" {
            // Without a buffer, another key than this would be valid.
            let mut value = self.value;
            rename(&mut value, self.key, "true");
            key = expected_key(&value, "true")?;
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

/// Renames a member, wherever it is.
fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| rename(member, from, to));
            if let Some(member) = members.shift_remove(from) {
                members.insert(to.to_owned(), member);
            }
        }
        _ => {}
    }
}

/// A small value for a schema, which its type is likely to read. It need not fit: the type is the judge.
fn minimal(model: &Model, id: NodeId, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let node = &model[id];
    if let Some(value) = node.values.as_ref().and_then(|values| values.first()) {
        return Some(value.clone());
    }
    let inner = |id: NodeId| minimal(model, id, depth);
    let of_union = |union: &Vec<NodeId>| union.iter().copied().find_map(inner);
    let conjuncts = node.reference.iter().chain(&node.all_of).map(|id| inner(*id));
    let parts = conjuncts.chain(node.any_of.iter().chain(&node.one_of).map(of_union));
    let parts: Vec<Value> = parts.collect::<Option<_>>()?;
    let types = [Types::OBJECT, Types::ARRAY, Types::STRING, Types::INTEGER, Types::FRACTION, Types::BOOLEAN];
    let own = types.into_iter().find(|one| node.types != Types::ALL && node.types.contains(*one));
    let own = match own {
        Some(Types::OBJECT) => {
            let required =
                node.object.iter().flat_map(|object| &object.properties).filter(|property| property.required);
            let members = required.map(|property| Some((property.name.clone(), inner(property.schema)?)));
            members.collect::<Option<JsonObject>>()?.into()
        }
        Some(Types::ARRAY) => {
            let array = node.array.as_deref();
            let count = usize::try_from(array.map_or(0, |array| array.min_items)).ok().filter(|count| *count < 64)?;
            let schema = |index: usize| array.and_then(|array| array.prefix.get(index).copied().or(array.items));
            (0..count).map(|index| schema(index).map_or(Some(Value::Null), inner)).collect::<Option<Value>>()?
        }
        Some(Types::STRING) => {
            let known = node.string.format.as_deref().and_then(format);
            known
                .map_or_else(|| "a".repeat(node.string.min_length.clamp(1, 64) as usize), |it| it.example.to_owned())
                .into()
        }
        Some(Types::INTEGER | Types::FRACTION) => {
            let least = node.number.min.map_or(Some(1), |limit| limit.value.to_i128().map(|least| least + 1))?;
            i64::try_from(least).ok()?.into()
        }
        Some(Types::BOOLEAN) => true.into(),
        _ => Value::Null,
    };
    Some(parts.into_iter().fold(own, |own, part| match own {
        Value::Object(own) => merged(&own, part),
        Value::Null => part,
        own => own,
    }))
}

struct Search<'a> {
    model: &'a Model,
    left: usize,
}

impl Search<'_> {
    /// Every map in the values of a schema.
    fn maps(&mut self, id: NodeId, depth: usize) -> Vec<Map> {
        if depth > MAX_DEPTH || self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let model = self.model;
        let node = &model[id];
        let sample = minimal(self.model, id, MAX_DEPTH);
        let members = sample.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        let mut maps = self.members(id, &members, depth);
        if let Some(array) = &node.array {
            for (index, item) in array.prefix.iter().enumerate() {
                maps.extend(self.maps(*item, depth + 1).into_iter().map(|map| {
                    map.within("/*", |value| {
                        let mut items = sample.clone().unwrap_or_default();
                        if let Some(item) = items.get_mut(index) {
                            *item = value;
                        }
                        items
                    })
                }));
            }
            let items = array.items.into_iter().flat_map(|items| self.maps(items, depth + 1));
            maps.extend(items.map(|map| map.within("/*", |value| json!([value]))));
        }
        for inner in node.reference.iter().chain(&node.all_of) {
            maps.extend(self.maps(*inner, depth + 1).into_iter().map(|map| map.within("", |it| merged(&members, it))));
        }
        // The sample is of one alternative: the others have only what is beside the union in common with it.
        let mut common = members.clone();
        common.retain(|name, _| names_beside_unions(model, id, name, 0));
        for alternative in node.any_of.iter().chain(&node.one_of).flatten() {
            let inner = self.maps(*alternative, depth + 1).into_iter();
            maps.extend(inner.map(|map| map.within("", |it| merged(&common, it))));
        }
        maps
    }

    /// The maps in the members of an object, and the object if it is one.
    fn members(&mut self, id: NodeId, sample: &JsonObject, depth: usize) -> Vec<Map> {
        let model = self.model;
        let Some(object) = &model[id].object else { return Vec::new() };
        let with = |name: &str, value: Value| merged(sample, json!({ name: value }));
        let mut maps = Vec::new();
        for property in &object.properties {
            let inner = self.maps(property.schema, depth + 1).into_iter();
            let name = &property.name;
            maps.extend(inner.map(|map| map.within(&format!("/{}", escaped(name)), |value| with(name, value))));
        }
        let is_integer = |pattern: &str| INTEGERS.contains(&pattern);
        let patterns = object.pattern_properties.iter().filter(|(pattern, _)| is_integer(model.pattern(*pattern)));
        let more = object.additional.filter(|more| !model[*more].is_never());
        let open = patterns.map(|(_, schema)| (NUMBER_KEY, *schema)).chain(more.map(|schema| (TEXT_KEY, schema)));
        for (key, schema) in open {
            let value = minimal(self.model, schema, MAX_DEPTH).map(|value| with(key, value));
            maps.extend(value.map(|value| Map { path: String::new(), key, value }));
            let inner = self.maps(schema, depth + 1).into_iter();
            let name = if key == NUMBER_KEY { "1" } else { "a" };
            maps.extend(inner.map(|map| map.within("/*", |value| with(name, value))));
        }
        maps
    }
}

/// Whether a schema names a member outside of its unions.
fn names_beside_unions(model: &Model, id: NodeId, name: &str, depth: usize) -> bool {
    let node = &model[id];
    let is_own = |object: &ObjectRules| {
        object.property(name).is_some() || object.required.iter().any(|required| required == name)
    };
    let mut inner = node.reference.iter().chain(&node.all_of);
    node.object.as_deref().is_some_and(is_own)
        || (depth < MAX_DEPTH && inner.any(|inner| names_beside_unions(model, *inner, name, depth + 1)))
}

fn merged(object: &JsonObject, part: Value) -> Value {
    let Value::Object(part) = part else { return part };
    let mut object = object.clone();
    object.extend(part);
    object.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mcp_core::param::{Param, ToolParam};
    use mcp_core::schemars::{self, JsonSchema};
    use serde::Deserialize;

    use super::unreadable;

    type Pairs = BTreeMap<(u32, u32), String>;

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "only read")]
    enum Edit {
        Clear,
        Set { id: u8, values: BTreeMap<u32, String> },
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "t", content = "c")]
    #[allow(dead_code, reason = "only read")]
    enum Adjacent {
        Cells(Vec<Pairs>),
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Outer {
        day: String,
        own: Option<Pairs>,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Inner {
        flags: Option<BTreeMap<bool, u8>>,
        numbers: BTreeMap<String, BTreeMap<i8, u8>>,
    }

    /// Beside what serde buffers, keys are read as ever.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Beside {
        flags: BTreeMap<bool, u8>,
        numbers: BTreeMap<i8, BTreeMap<char, u8>>,
        pair: (u8, Vec<Plain>),
        plain: Plain,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only read")]
    enum Plain {
        Number(f64),
        Map(BTreeMap<String, Option<bool>>),
    }

    fn faults<T: ToolParam>() -> Vec<String> {
        unreadable(&Param::of::<T>("it")).into_iter().map(|fault| format!("{}: {}", fault.path, fault.key)).collect()
    }

    #[test]
    fn keys_that_serde_cannot_read_are_found() {
        let buffered = "inside of `flatten`, `untagged` or a tagged enum";
        assert_eq!(faults::<Vec<Edit>>(), [format!("/*/values: u32 {buffered}")]);
        assert_eq!(faults::<Adjacent>(), ["/c/*: a tuple of size 2"]);
        let mut found = faults::<Outer>();
        found.sort();
        let numbers = format!("/numbers/*: i8 {buffered}");
        assert_eq!(found, [format!("/flags: a boolean {buffered}"), numbers, "/own: a tuple of size 2".to_owned()]);
    }

    #[test]
    fn other_keys_are_fine() {
        assert_eq!(faults::<Beside>(), <[String; 0]>::default());
        assert_eq!(faults::<BTreeMap<u8, Plain>>(), <[String; 0]>::default());
    }
}
