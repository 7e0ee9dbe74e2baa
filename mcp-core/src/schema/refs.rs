//! `$ref` and `$defs`: kept for what refers to itself, and where a schema without them would be much larger.

use std::borrow::Cow;

use serde_json::Value;

use crate::util::JsonObject;

/// Where inlining makes a schema larger than this and more than twice as large, `$defs` are kept.
const INLINE_LIMIT: usize = 4096;

const PREFIX: &str = "#/$defs/";

/// The schema with its subschemas in place, unless that is too large.
pub(crate) fn inlined_if_small(build: impl Fn(bool) -> Value) -> Value {
    let referring = build(false);
    let Some(definitions) = referring.get("$defs").and_then(Value::as_object) else { return referring };
    // Types that refer to each other can be inlined into exponentially many places: count before it is done.
    let limit = INLINE_LIMIT.max(2 * length(&referring));
    let mut size = Size { definitions, pending: Vec::new(), left: limit };
    if size.spend(&referring).is_some() { build(true) } else { referring }
}

struct Size<'a> {
    definitions: &'a JsonObject,
    pending: Vec<Cow<'a, str>>,
    left: usize,
}

impl<'a> Size<'a> {
    /// Takes the inlined length of the schema from what is left, if it suffices.
    fn spend(&mut self, schema: &'a Value) -> Option<()> {
        self.left = self.left.checked_sub(length(schema))?;
        let mut names = Vec::new();
        references(schema, &mut |name| names.push(name));
        for name in names {
            let Some(definition) = self.definitions.get(&*name) else { continue };
            if !self.pending.contains(&name) {
                self.pending.push(name);
                self.spend(definition)?;
                self.pending.pop();
            }
        }
        Some(())
    }
}

fn length(schema: &Value) -> usize {
    let json_size = |schema: &Value| schema.to_string().len();
    match schema {
        Value::Object(object) => {
            object.iter().filter(|(key, _)| *key != "$defs").map(|(_, value)| json_size(value)).sum()
        }
        other => json_size(other),
    }
}

/// Every definition that the schema refers to, without those that its own `$defs` refer to.
fn references<'a>(schema: &'a Value, found: &mut impl FnMut(Cow<'a, str>)) {
    match schema {
        Value::Object(object) => {
            if let Some(name) = reference(schema) {
                found(name);
            }
            object.iter().filter(|(key, _)| *key != "$defs").for_each(|(_, value)| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// The name of the definition that the schema refers to.
fn reference(schema: &Value) -> Option<Cow<'_, str>> {
    let name = schema.get("$ref")?.as_str()?.strip_prefix(PREFIX)?;
    Some(if name.contains(['%', '~']) { Cow::Owned(decoded(name)) } else { Cow::Borrowed(name) })
}

/// A part of a pointer in a URI, as it was before.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

/// What a reference refers to.
pub(crate) fn target<'a>(schema: &Value, definitions: &'a JsonObject) -> Option<&'a Value> {
    definitions.get(&*reference(schema)?)
}

/// What a reference at the root of a schema refers to, or the schema.
pub(crate) fn resolved(schema: Value, definitions: &JsonObject) -> Value {
    target(&schema, definitions).cloned().unwrap_or(schema)
}

/// Lets the references of a schema that was a document lead to the property that it becomes.
pub(crate) fn move_under(schema: &mut Value, property: &str) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(path)) = object.get_mut("$ref") {
                if let Some(rest) = path.strip_prefix('#').filter(|_| !path.starts_with(PREFIX)) {
                    let property = property.replace('~', "~0").replace('/', "~1").replace('%', "%25");
                    *path = format!("#/properties/{property}{rest}");
                }
            }
            object.values_mut().for_each(|value| move_under(value, property));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| move_under(value, property)),
        _ => {}
    }
}

/// Removes the definitions that nothing refers to.
pub(crate) fn keep_used(root: &Value, definitions: &mut JsonObject) {
    let mut used: Vec<String> = Vec::new();
    let mut next: Vec<String> = Vec::new();
    references(root, &mut |name| next.push(name.into_owned()));
    while let Some(name) = next.pop() {
        if let Some(definition) = definitions.get(&name).filter(|_| !used.contains(&name)) {
            references(definition, &mut |name| next.push(name.into_owned()));
            used.push(name);
        }
    }
    definitions.retain(|name, _| used.contains(name));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{reference, resolved};

    #[test]
    fn a_reference_is_decoded() {
        assert_eq!(reference(&json!({ "$ref": "#/$defs/a%20b~1c~0%C3%A9" })).unwrap(), "a b/c~é");
        assert_eq!(reference(&json!({ "$ref": "#/$defs/100%" })).unwrap(), "100%");
        assert_eq!(reference(&json!({ "$ref": "#" })), None);
    }

    #[test]
    fn what_is_not_defined_stays() {
        let schema = json!({ "$ref": "#/$defs/None" });
        assert_eq!(resolved(schema.clone(), &serde_json::Map::new()), schema);
    }
}
