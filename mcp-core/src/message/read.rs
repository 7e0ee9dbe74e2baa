//! Reads JSON with rules that serde does not enforce: no duplicate keys, a maximum depth, a path in each error.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde_json::de::StrRead;
use serde_json::{Number, Value};

use super::{JsonObject, Strictness};
use crate::error::{MAX_DEPTH, Rule, ValidationError, Violation, Violations, join};
use crate::util::text::{Text, shown};

/// The fields of a message, without duplicates, in their original order.
pub(crate) type Entries = Vec<(Cow<'static, str>, Value)>;

/// Parses JSON text.
pub(crate) fn parse(input: &[u8]) -> Result<Value, ValidationError> {
    parse_with(utf8(input)?, MAX_DEPTH, |root, json| root.deserialize(json))
}

/// Parses the arguments of a call. Duplicate keys are rejected; only the parser limits the depth.
pub fn parse_arguments(text: &str) -> Result<Value, ValidationError> {
    parse_with(text, usize::MAX, |root, json| root.deserialize(json))
}

/// Parses the JSON text of a message. The names of its `fields` are not copied, and the keys are not hashed.
pub(crate) fn parse_entries(
    input: &[u8],
    fields: &'static [&'static str],
    limit: usize,
) -> Result<Entries, ValidationError> {
    let text = utf8(input)?;
    if !text.trim_start().starts_with('{') {
        return entries_of(parse(input)?);
    }
    parse_with(text, limit, |root, json| json.deserialize_any(Root { root, fields }))
}

fn parse_with<T>(
    text: &str,
    limit: usize,
    read: impl FnOnce(Node<'_>, &mut serde_json::Deserializer<StrRead<'_>>) -> Result<T, serde_json::Error>,
) -> Result<T, ValidationError> {
    let violation = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    read(Node { depth: 0, limit, violation: &violation }, &mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| violation.take().map_or_else(|| syntax(&error), ValidationError::from))
}

/// The fields of a message that is already a value.
pub(crate) fn entries_of(value: Value) -> Result<Entries, ValidationError> {
    let mut violations = Violations::default();
    let object = expect::object(value, "", &mut violations);
    violations.finish(object).map(owned_entries)
}

pub(crate) fn owned_entries(object: JsonObject) -> Entries {
    object.into_iter().map(|(key, value)| (Cow::Owned(key), value)).collect()
}

/// Takes the value of a field out of a message.
pub(crate) fn take(entries: &mut Entries, field: &str) -> Option<Value> {
    let index = entries.iter().position(|(key, _)| key == field)?;
    Some(entries.remove(index).1)
}

/// The remaining fields of a message.
pub(crate) fn rest(entries: Entries) -> JsonObject {
    entries.into_iter().map(|(key, value)| (key.into_owned(), value)).collect()
}

/// Reads a value from any deserializer.
pub(crate) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let violation = RefCell::new(None);
    Node { depth: 0, limit: MAX_DEPTH, violation: &violation }
        .deserialize(deserializer)
        .map_err(|error| violation.take().map_or(error, D::Error::custom))
}

pub(crate) fn utf8(input: &[u8]) -> Result<&str, ValidationError> {
    std::str::from_utf8(input).map_err(|error| ValidationError::Encoding { offset: error.valid_up_to() })
}

/// Converts an error of the parser.
pub(crate) fn syntax(error: &serde_json::Error) -> ValidationError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
    ValidationError::Syntax { reason, line, column }
}

/// The key that `serde_json` uses for a number if any crate of the program enables its feature `arbitrary_precision`.
const ARBITRARY_PRECISION: &str = "$serde_json::private::Number";

/// Deserializes a `Value`. Stores what it rejects in `violation`, since serde's errors are only text.
#[derive(Clone, Copy)]
struct Node<'a> {
    depth: usize,
    limit: usize,
    violation: &'a RefCell<Option<Violation>>,
}

impl Node<'_> {
    fn reject<E: serde::de::Error>(self, path: &str, rule: Rule) -> E {
        let violation = Violation { path: join(path, ""), rule };
        let error = E::custom(&violation);
        *self.violation.borrow_mut() = Some(violation);
        error
    }

    /// Adds a step to the front of the path of a violation.
    fn located<E>(self, step: impl FnOnce() -> String) -> impl FnOnce(E) -> E {
        move |error| {
            if let Some(violation) = &mut *self.violation.borrow_mut() {
                violation.path = join(&step(), &violation.path);
            }
            error
        }
    }

    fn child<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == self.limit {
            Err(self.reject("", Rule::Depth))
        } else {
            Ok(Self { depth: self.depth + 1, ..self })
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(child).map_err(self.located(|| format!("[{}]", array.len())))? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        let mut object = JsonObject::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.is_empty() && key == ARBITRARY_PRECISION {
                let number: Number = entries.next_value::<String>()?.parse().map_err(A::Error::custom)?;
                return Ok(Value::Number(number));
            }
            let value = entries.next_value_seed(child).map_err(self.located(|| key.clone()))?;
            match object.entry(key) {
                serde_json::map::Entry::Vacant(entry) => _ = entry.insert(value),
                serde_json::map::Entry::Occupied(entry) => return Err(self.reject(entry.key(), Rule::Duplicate)),
            }
        }
        Ok(Value::Object(object))
    }
}

/// Deserializes the message itself, whose fields are not put into a map.
struct Root<'a> {
    root: Node<'a>,
    fields: &'static [&'static str],
}

impl<'de> Visitor<'de> for Root<'_> {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Entries, A::Error> {
        let Self { root, fields } = self;
        let child = root.child()?;
        let mut entries = Entries::new();
        while let Some(Text(key)) = object.next_key()? {
            let known = fields.iter().find(|known| **known == key);
            let key = known.map_or_else(|| Cow::Owned(key.into_owned()), |known| Cow::Borrowed(*known));
            let value = object.next_value_seed(child).map_err(root.located(|| key.to_string()))?;
            entries.push((key, value));
        }
        match duplicate_key(&entries.iter().map(|(key, _)| &**key)) {
            Some(key) => Err(root.reject(key, Rule::Duplicate)),
            None => Ok(entries),
        }
    }
}

/// Finds a duplicate key. Most messages have few keys, for which comparing is faster than hashing.
fn duplicate_key<'k>(keys: &(impl ExactSizeIterator<Item = &'k str> + Clone)) -> Option<&'k str> {
    let mut all = keys.clone();
    if all.len() <= 16 {
        let is_duplicate = |(index, key): &(usize, &str)| keys.clone().take(*index).any(|before| before == *key);
        all.enumerate().find(is_duplicate).map(|(_, key)| key)
    } else {
        let mut seen = HashSet::new();
        all.find(|key| !seen.insert(*key))
    }
}

/// Whether a value below the message itself has no duplicate key and is not nested too deep. This reads it as [`Node`] does,
/// but creates nothing.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    depth: usize,
}

impl Plain {
    /// The value of a field of the message.
    pub(crate) const FIELD: Self = Self { depth: 1 };

    /// Whether the JSON text is such a value.
    pub(crate) fn accepts(self, json: &str) -> bool {
        self.deserialize(&mut serde_json::Deserializer::from_str(json)).is_ok()
    }

    fn child<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH { Err(E::custom(Rule::Depth)) } else { Ok(Self { depth: self.depth + 1 }) }
    }
}

impl<'de> DeserializeSeed<'de> for Plain {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let child = self.child()?;
        while items.next_element_seed(child)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let child = self.child()?;
        let mut keys: Vec<Text<'de>> = Vec::new();
        while let Some(key) = object.next_key()? {
            keys.push(key);
            object.next_value_seed(child)?;
        }
        check_unique(&keys)
    }
}

/// Fails if a key is there twice.
pub(crate) fn check_unique<E: serde::de::Error>(keys: &[Text<'_>]) -> Result<(), E> {
    duplicate_key(&keys.iter().map(|key| &**key)).map_or(Ok(()), |_| Err(E::custom(Rule::Duplicate)))
}

/// The type of a value, for errors.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Converts a value to the expected type, or reports a violation.
pub(crate) mod expect {
    use super::{JsonObject, Rule, Value, Violations, kind_of};

    fn wrong<T>(violations: &mut Violations, path: &str, expected: &'static str, value: &Value) -> Option<T> {
        violations.add(path, Rule::Type { expected, got: kind_of(value) });
        None
    }

    macro_rules! of_type {
        ($($name:ident: $kind:ident($type:ty), $expected:literal;)*) => {$(
            pub(crate) fn $name(value: Value, path: &str, violations: &mut Violations) -> Option<$type> {
                match value {
                    Value::$kind(value) => Some(value),
                    other => wrong(violations, path, $expected, &other),
                }
            }
        )*};
    }

    of_type! {
        object: Object(JsonObject), "an object";
        array: Array(Vec<Value>), "an array";
        boolean: Bool(bool), "a boolean";
        string: String(String), "a string";
    }

    pub(crate) fn required_string(value: Option<Value>, path: &str, violations: &mut Violations) -> Option<String> {
        let Some(value) = value else {
            violations.add(path, Rule::Missing { expected: "a string" });
            return None;
        };
        string(value, path, violations)
    }
}

/// Writes the extra fields of a message after its other fields. One that has the name of another field is omitted,
/// since the key would be duplicate; `validate` rejects it.
pub(crate) fn serialize_with_extra<M: SerializeMap>(
    mut map: M,
    fields: &[&str],
    extra: &JsonObject,
) -> Result<M::Ok, M::Error> {
    for (key, value) in extra.iter().filter(|(key, _)| !fields.contains(&key.as_str())) {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// Checks the extra fields of a message: none may have the name of another field, and strict mode accepts none at all.
pub(crate) fn check_extra<'a>(
    path: &str,
    message: &'static str,
    fields: &[&str],
    extra: impl Iterator<Item = &'a String>,
    strictness: Strictness,
    violations: &mut Violations,
) {
    for key in extra {
        if fields.contains(&key.as_str()) {
            violations.add(join(path, &shown(key)), Rule::Reserved { message });
        } else if strictness == Strictness::Strict {
            violations.add(join(path, &shown(key)), Rule::Unknown { message });
        }
    }
}
