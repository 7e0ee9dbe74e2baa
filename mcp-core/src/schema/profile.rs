//! From what schemars makes of a type to what most hosts take.

use serde_json::{Value, json};

use crate::util::JsonObject;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// What a schema is for, and what is known about its types.
#[derive(Clone, Copy)]
pub(crate) struct Profile<'a> {
    pub(crate) side: Side,
    /// The variants of the enums, as they are declared.
    pub(crate) enums: &'a [&'static [&'static str]],
    /// The schemas that authors wrote for parameters.
    pub(crate) explicit: &'a [Value],
    /// The schema was written by hand: its unions and constants stay as they are.
    pub(crate) written: bool,
}

/// The keywords under which one schema stands.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
/// The keywords under which a list of schemas stands.
const LIST: [&str; 4] = ["prefixItems", "oneOf", "anyOf", "allOf"];
/// The keywords under which schemas stand by name.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "dependentSchemas"];
/// The keywords that say something and demand nothing.
const NOTES: [&str; 7] = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Brings a schema into the form that most hosts take.
pub(crate) fn host_safe(schema: &mut Value, profile: Profile<'_>) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        _ => {}
    }
    let Value::Object(object) = schema else { return };
    inner(object, profile);
    object.shift_remove("$schema");
    if profile.side == Side::Input {
        drop_null(object);
        for key in ["default", "examples"] {
            if let Some(value) = object.get_mut(key) {
                *value = without_nulls(value.take());
            }
        }
    }
    plain_format(object);
    if !profile.written {
        plain_constant(object);
        fold_constants(object, profile.enums);
        plain_union(object);
    }
}

/// Turns `const` into an `enum` of one value: several converters drop a `const`, and with it the tag of a union.
fn plain_constant(object: &mut JsonObject) {
    // Both at once are not what a type becomes, and mean what both say.
    let Some(place) = object.keys().position(|key| key == "const").filter(|_| !object.contains_key("enum")) else {
        return;
    };
    let Some(value) = object.shift_remove("const") else { return };
    if let (Some(kind), false) = (kind_of(std::slice::from_ref(&value)), object.contains_key("type")) {
        object.shift_insert(place, "type".into(), kind.into());
    }
    object.insert("enum".into(), json!([value]));
}

/// Turns `oneOf` into `anyOf` where that means the same: several converters drop a `oneOf`.
fn plain_union(object: &mut JsonObject) {
    let is_plain = |alternatives: &[Value]| excludes_itself(alternatives) || is_variants(object, alternatives);
    if !object.get("oneOf").and_then(Value::as_array).is_some_and(|alternatives| is_plain(alternatives)) {
        return;
    }
    let Some(place) = object.keys().position(|key| key == "oneOf") else { return };
    let Some(alternatives) = object.shift_remove("oneOf") else { return };
    if !object.contains_key("anyOf") {
        object.shift_insert(place, "anyOf".into(), alternatives);
    } else if let Value::Array(parts) = object.entry("allOf").or_insert_with(|| json!([])) {
        parts.push(json!({ "anyOf": alternatives }));
    }
}

/// Whether no value fits two of the alternatives.
fn excludes_itself(alternatives: &[Value]) -> bool {
    let others = |position: usize| alternatives[position + 1..].iter();
    alternatives.iter().enumerate().all(|(position, one)| others(position).all(|other| are_disjoint(one, other)))
}

/// Whether it is plain that no value fits both schemas.
fn are_disjoint(one: &Value, other: &Value) -> bool {
    if let (Some(one), Some(other)) = (one["type"].as_str(), other["type"].as_str()) {
        let is_number = |kind: &str| matches!(kind, "integer" | "number");
        if one != other && !(is_number(one) && is_number(other)) {
            return true;
        }
    }
    if let (Some(one), Some(other)) = (one["enum"].as_array(), other["enum"].as_array()) {
        return !one.iter().any(|value| other.contains(value));
    }
    let lacks = |schema: &Value, name: &str| {
        schema["additionalProperties"] == false
            && schema.get("patternProperties").is_none()
            && schema["properties"].get(name).is_none()
    };
    let differ = |name: &str| are_disjoint(&one["properties"][name], &other["properties"][name]);
    let is_other_required = |name: &str| required(other).any(|required| required == name);
    let are_objects = one["type"] == "object" && other["type"] == "object";
    are_objects
        && (required(one).any(|name| lacks(other, name) || is_other_required(name) && differ(name))
            || required(other).any(|name| lacks(one, name)))
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Whether the alternatives are all that the schema says, and each is the name of a variant or an object of one member, such
/// as `Ok` and `Err`: serde takes one member and no more, whatever the schema says.
fn is_variants(object: &JsonObject, alternatives: &[Value]) -> bool {
    let is_note = |key: &String| matches!(key.as_str(), "oneOf" | "title" | "description" | "default" | "examples");
    let name_of = |alternative: &Value| match alternative["type"].as_str()? {
        "string" => Some(alternative["enum"].to_string()),
        "object" => {
            let properties = alternative["properties"].as_object().filter(|properties| properties.len() == 1)?;
            let name = properties.keys().next()?;
            (alternative["required"] == json!([name])).then(|| name.clone())
        }
        _ => None,
    };
    let names: Option<Vec<String>> = alternatives.iter().map(name_of).collect();
    let is_distinct = |names: &Vec<String>| names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    object.keys().all(is_note) && names.is_some_and(|names| is_distinct(&names))
}

fn inner(object: &mut JsonObject, profile: Profile<'_>) {
    // That anything may follow goes without saying.
    if object.get("unevaluatedProperties") == Some(&Value::Bool(true)) {
        object.shift_remove("unevaluatedProperties");
    }
    each_subschema(object, &mut |key, inner| {
        // As a boolean it means the same to every reader.
        if !(key == "additionalProperties" && inner.is_boolean()) {
            host_safe(inner, profile);
        }
    });
}

/// Every schema that stands in a schema, with the keyword under which it stands.
pub fn each_subschema(object: &mut JsonObject, see: &mut impl FnMut(&str, &mut Value)) {
    for key in ONE {
        if let Some(inner) = object.get_mut(key) {
            see(key, inner);
        }
    }
    for key in LIST {
        let list = object.get_mut(key).and_then(Value::as_array_mut);
        list.into_iter().flatten().for_each(|inner| see(key, inner));
    }
    for key in NAMED {
        let named = object.get_mut(key).and_then(Value::as_object_mut);
        named.into_iter().flat_map(JsonObject::values_mut).for_each(|inner| see(key, inner));
    }
}

/// `format: int32` and its like are bounds that few readers know, and other formats are known to schemars alone.
fn plain_format(object: &mut JsonObject) {
    let Some(format) = object.get("format").and_then(Value::as_str) else { return };
    let bounds = match format {
        "int8" => (Some(i8::MIN.into()), Some(i8::MAX.into())),
        "int16" => (Some(i16::MIN.into()), Some(i16::MAX.into())),
        "int32" => (Some(i32::MIN.into()), Some(i32::MAX.into())),
        "uint8" => (Some(0), Some(u8::MAX.into())),
        "uint16" => (Some(0), Some(u16::MAX.into())),
        "uint32" => (Some(0), Some(i64::from(u32::MAX))),
        "uint" | "uint64" | "uint128" => (Some(0), None),
        "int" | "int64" | "int128" | "float" | "double" => (None, None),
        "ip" => return in_words(object, "An IPv4 or IPv6 address."),
        "partial-date-time" => return in_words(object, "A date and time without a zone, such as 2001-12-31T23:59:59."),
        "partial-time" => return in_words(object, "A time of day, such as 23:59:59."),
        _ => return,
    };
    object.shift_remove("format");
    for (key, bound) in [("minimum", bounds.0), ("maximum", bounds.1)] {
        if let Some(bound) = bound {
            object.entry(key).or_insert_with(|| bound.into());
        }
    }
}

fn in_words(object: &mut JsonObject, format: &str) {
    object.shift_remove("format");
    object.entry("description").or_insert_with(|| format.into());
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
        || schema.get("const").is_some_and(Value::is_null)
        || schema.get("enum").is_some_and(|values| *values == json!([null]))
}

/// What may be null may as well be left out.
fn drop_null(object: &mut JsonObject) {
    match object.get_mut("type") {
        Some(Value::Array(kinds)) => {
            kinds.retain(|kind| kind != "null");
            if let [only] = kinds.as_slice() {
                let only = only.clone();
                object.insert("type".into(), only);
            }
        }
        // Where nothing but null fits, it is a constant like any other.
        Some(Value::String(kind)) if kind == "null" => {
            object.shift_remove("type");
            object.insert("const".into(), Value::Null);
        }
        _ => {}
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        if values.len() > 1 {
            values.retain(|value| !value.is_null());
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(schemas)) = object.get_mut(key) else { continue };
        if schemas.len() > 1 && schemas.iter().any(is_null) && !schemas.iter().all(is_null) {
            schemas.retain(|schema| !is_null(schema));
            hoist_only(object, key);
        }
    }
    if object.get("default") == Some(&Value::Null) {
        object.shift_remove("default");
    }
}

/// A single alternative is no alternative.
fn hoist_only(object: &mut JsonObject, key: &str) {
    let Some([Value::Object(only)]) = object.get(key).and_then(Value::as_array).map(Vec::as_slice) else { return };
    let contradicts = |own: &String| own != key && !NOTES.contains(&own.as_str()) && only.contains_key(own);
    if object.keys().any(contradicts) {
        return;
    }
    let mut hoisted = only.clone();
    object.shift_remove(key);
    let description = object.shift_remove("description");
    hoisted.extend(std::mem::take(object));
    *object = hoisted;
    if let Some(Value::String(description)) = description {
        describe(object, &description);
    }
}

/// The value without the members that are null, which are left out where they are optional.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let members = object.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// `oneOf` of constants, which is what documented variants become, is an `enum` with the documents in its description.
fn fold_constants(object: &mut JsonObject, enums: &[&[&str]]) {
    let Some(alternatives) = object.get("oneOf").and_then(Value::as_array) else { return };
    let mut folded = Vec::new();
    for alternative in alternatives {
        let Some(Value::Array(values)) = alternative.get("enum") else { return };
        let document = if let [value] = values.as_slice() { document(value, alternative) } else { None };
        folded.extend(values.iter().map(|value| (value.clone(), document.clone())));
    }
    // schemars puts the variants without words before the others.
    if let Some(order) = declared(&folded, enums) {
        folded.sort_by_key(|(value, _)| order.iter().position(|name| value == name));
    }
    let (constants, documents): (Vec<Value>, Vec<Option<String>>) = folded.into_iter().unzip();
    let documents: Vec<String> = documents.into_iter().flatten().collect();
    object.shift_remove("oneOf");
    if let Some(kind) = kind_of(&constants) {
        object.insert("type".into(), kind.into());
    }
    object.insert("enum".into(), constants.into());
    if !documents.is_empty() {
        let own = object.get("description").and_then(Value::as_str).map(str::to_owned);
        let lines: Vec<String> = own.into_iter().chain(documents).collect();
        object.insert("description".into(), lines.join("\n").into());
    }
}

/// The type of all the constants, where it is one that schemas of enums name.
fn kind_of(constants: &[Value]) -> Option<&'static str> {
    if constants.iter().all(Value::is_string) {
        Some("string")
    } else if constants.iter().all(|constant| constant.is_i64() || constant.is_u64()) {
        Some("integer")
    } else {
        None
    }
}

/// The variants of the enum that the constants are of, unless several enums put them in different orders.
fn declared<'a>(constants: &[(Value, Option<String>)], enums: &[&'a [&'a str]]) -> Option<Vec<&'a str>> {
    let is_constant = |name: &str| constants.iter().any(|(value, _)| value == name);
    // An enum's names include the aliases of its variants.
    let names = |variants: &&'a [&'a str]| variants.iter().copied().filter(|name| is_constant(name)).collect();
    let mut orders = enums.iter().map(names).filter(|names: &Vec<&str>| names.len() == constants.len());
    let first = orders.next()?;
    orders.all(|order| order == first).then_some(first)
}

const DOCUMENT: &str = "- `";

/// The line that describes one constant.
pub(crate) fn document(value: &Value, alternative: &Value) -> Option<String> {
    let words: Vec<&str> = alternative.get("description")?.as_str()?.split_whitespace().collect();
    let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(format!("{DOCUMENT}{name}`: {}", words.join(" ")))
}

/// Describes what has a description already: what was said of an enum's constants stays.
pub(crate) fn describe(object: &mut JsonObject, description: &str) {
    let own = object.get("description").and_then(Value::as_str).filter(|_| object.contains_key("enum"));
    let documents = own.into_iter().flat_map(str::lines).filter(|line| line.starts_with(DOCUMENT));
    let lines: Vec<&str> = std::iter::once(description).chain(documents).collect();
    let text = lines.join("\n");
    object.shift_remove("description");
    // Where a reader looks for it: behind the type.
    let place = object.keys().position(|key| key == "type").map_or(0, |place| place + 1);
    object.shift_insert(place, "description".into(), text.into());
}
