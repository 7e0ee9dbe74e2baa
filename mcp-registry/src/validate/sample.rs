//! Values for a schema: a small one that fits, and ones that break a single keyword.

use mcp_core::JsonObject;
use serde_json::{Number, Value, json};

/// How deep values are made.
const DEPTH: usize = 16;
/// The longest texts and lists that are made.
const LONGEST: u64 = 1 << 16;

/// Texts of the formats that types have.
const FORMATS: [(&str, &str); 17] = [
    ("date-time", "2020-01-01T00:00:00Z"),
    ("date", "2020-01-01"),
    ("time", "00:00:00Z"),
    ("duration", "PT1S"),
    ("email", "a@example.com"),
    ("idn-email", "a@example.com"),
    ("hostname", "example.com"),
    ("idn-hostname", "example.com"),
    ("ipv4", "127.0.0.1"),
    ("ipv6", "::1"),
    ("uri", "https://example.com"),
    ("uri-reference", "https://example.com"),
    ("iri", "https://example.com"),
    ("iri-reference", "https://example.com"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
    ("json-pointer", "/a"),
    ("regex", "a"),
];

/// One value of each kind, with the types of JSON Schema that it has.
fn kinds() -> [(Value, &'static [&'static str]); 6] {
    [
        (json!(0), &["integer", "number"]),
        (json!(0.5), &["number"]),
        (json!("~"), &["string"]),
        (json!(true), &["boolean"]),
        (json!([]), &["array"]),
        (json!({}), &["object"]),
    ]
}

/// A schema document.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a>(pub(crate) &'a Value);

/// The values that break a keyword.
pub(super) enum Broken {
    /// No value does.
    None,
    /// Some of those that do.
    By(Vec<Value>),
    /// Nobody knows.
    Unknown,
}

impl<'a> Document<'a> {
    /// What a `$ref` refers to.
    pub(crate) fn target(self, reference: &str) -> Option<&'a Value> {
        self.0.pointer(reference.strip_prefix('#')?)
    }

    /// A value that fits the schema, as small as can be.
    pub(crate) fn sample(self, schema: &Value) -> Option<Value> {
        self.sampled(schema, 0)
    }

    fn sampled(self, schema: &Value, depth: usize) -> Option<Value> {
        let Value::Object(object) = schema else { return (*schema == Value::Bool(true)).then(|| json!(1)) };
        if depth > DEPTH {
            return None;
        }
        let first = |key: &str| object.get(key).and_then(Value::as_array).and_then(|values| values.first());
        if let Some(value) = object.get("const").or_else(|| first("enum")) {
            return Some(value.clone());
        }
        let mut made = match types(object).first() {
            Some(kind) => Some(self.of_type(object, kind, depth)?),
            None if object.contains_key("properties") => Some(self.of_type(object, "object", depth)?),
            None => None,
        };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            made = Some(merged(made, self.sampled(self.target(reference)?, depth + 1)?));
        }
        for part in list(object, "allOf") {
            made = Some(merged(made, self.sampled(part, depth + 1)?));
        }
        for key in ["oneOf", "anyOf"].into_iter().filter(|key| object.contains_key(*key)) {
            let one = list(object, key).iter().find_map(|one| self.sampled(one, depth + 1))?;
            made = Some(merged(made, one));
        }
        Some(made.unwrap_or_else(|| json!(1)))
    }

    fn of_type(self, object: &JsonObject, kind: &str, depth: usize) -> Option<Value> {
        Some(match kind {
            "integer" | "number" => number(object)?,
            "string" => text(object)?.into(),
            "boolean" => true.into(),
            "array" => self.items(object, count(object, "minItems").unwrap_or(0), depth)?.into(),
            "object" => self.members(object, depth)?.into(),
            _ => Value::Null,
        })
    }

    /// So many items.
    pub(super) fn items(self, object: &JsonObject, wanted: u64, depth: usize) -> Option<Vec<Value>> {
        if wanted > LONGEST {
            return None;
        }
        let first = list(object, "prefixItems");
        let any = Value::Bool(true);
        let rest = object.get("items").unwrap_or(&any);
        let mut items = Vec::new();
        for index in 0..usize::try_from(wanted).ok()? {
            let item = match first.get(index) {
                None if index > first.len() => items.last().cloned()?,
                schema => self.sampled(schema.unwrap_or(rest), depth + 1)?,
            };
            items.push(item);
        }
        let repeats = object.get("uniqueItems") == Some(&Value::Bool(true)) && items.len() > 1;
        (!repeats).then_some(items)
    }

    fn members(self, object: &JsonObject, depth: usize) -> Option<JsonObject> {
        let any = Value::Bool(true);
        let properties = object.get("properties").and_then(Value::as_object);
        let schema = |name: &str| properties.and_then(|all| all.get(name));
        let mut members = JsonObject::new();
        for name in list(object, "required").iter().filter_map(Value::as_str) {
            members.insert(name.to_owned(), self.sampled(schema(name).unwrap_or(&any), depth + 1)?);
        }
        let more = object.get("additionalProperties").unwrap_or(&any);
        let least = count(object, "minProperties").unwrap_or(0);
        if least > LONGEST {
            return None;
        }
        for index in 0.. {
            if members.len() as u64 >= least {
                break;
            }
            members.insert(format!("key{index}"), self.sampled(more, depth + 1)?);
        }
        Some(members)
    }

    /// Values that break the keyword and, as far as can be, nothing else.
    pub(super) fn broken(self, object: &JsonObject, keyword: &str) -> Broken {
        let Some(said) = object.get(keyword) else { return Broken::None };
        match keyword {
            "type" => Broken::By(other_kinds(&types(object))),
            "enum" => Broken::By(outside(said.as_array().map_or(&[], Vec::as_slice))),
            "const" => Broken::By(outside(std::slice::from_ref(said))),
            "required" => self.without_each(object, said),
            "additionalProperties" | "unevaluatedProperties" => self.with_unknown(object, said),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                beyond(object, keyword, said).map_or(Broken::Unknown, |value| Broken::By(vec![value]))
            }
            "minLength" | "minItems" | "minProperties" if said == &json!(0) => Broken::None,
            "minLength" => repeated(said, -1),
            "maxLength" => repeated(said, 1),
            "minItems" => self.counted(object, said, -1),
            "maxItems" => self.counted(object, said, 1),
            "uniqueItems" if *said == Value::Bool(false) => Broken::None,
            "uniqueItems" => self.twice(object),
            "minProperties" => self.sized(object, said, -1),
            "maxProperties" => self.sized(object, said, 1),
            "not" => self.sample(said).map_or(Broken::Unknown, |value| Broken::By(vec![value])),
            _ => Broken::Unknown,
        }
    }

    fn without_each(self, object: &JsonObject, required: &Value) -> Broken {
        let names: Vec<&str> = required.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(members) = self.members(object, 0) else {
            // Nothing at all lacks them, too.
            return if names.is_empty() { Broken::None } else { Broken::By(vec![json!({})]) };
        };
        let without = |name: &&str| {
            let mut members = members.clone();
            members.shift_remove(*name);
            Value::Object(members)
        };
        Broken::By(names.iter().map(without).collect())
    }

    fn with_unknown(self, object: &JsonObject, said: &Value) -> Broken {
        if *said == Value::Bool(true) {
            return Broken::None;
        }
        let Some(mut members) = self.members(object, 0) else { return Broken::Unknown };
        members.shift_insert(0, "~".to_owned(), json!(1));
        Broken::By(vec![members.into()])
    }

    fn counted(self, object: &JsonObject, said: &Value, by: i64) -> Broken {
        let wanted = said.as_u64().and_then(|count| count.checked_add_signed(by));
        let plain: JsonObject = object.clone().into_iter().filter(|(key, _)| key != "uniqueItems").collect();
        let items = wanted.and_then(|wanted| self.items(&plain, wanted, 0));
        items.map_or(Broken::Unknown, |items| Broken::By(vec![items.into()]))
    }

    fn twice(self, object: &JsonObject) -> Broken {
        let most = count(object, "maxItems").unwrap_or(u64::MAX);
        let wanted = count(object, "minItems").unwrap_or(0).max(2);
        if most < 2 {
            return Broken::None;
        }
        self.counted(object, &wanted.into(), 0)
    }

    fn sized(self, object: &JsonObject, said: &Value, by: i64) -> Broken {
        let Some(wanted) = said.as_u64().and_then(|count| count.checked_add_signed(by)) else { return Broken::Unknown };
        let mut object = object.clone();
        object.insert("minProperties".into(), wanted.into());
        self.members(&object, 0).map_or(Broken::Unknown, |members| Broken::By(vec![members.into()]))
    }

    /// Whether a value fits the schema for certain. What is not looked at here does not fit.
    pub(super) fn fits(self, schema: &Value, value: &Value, depth: usize) -> bool {
        let Value::Object(object) = schema else { return *schema == Value::Bool(true) };
        if depth > DEPTH || object.keys().any(|key| UNSEEN.contains(&key.as_str())) {
            return false;
        }
        let fits = |schema: &Value, value: &Value| self.fits(schema, value, depth + 1);
        let kinds = types(object);
        let of_kind = kinds.is_empty() || kinds.iter().any(|kind| is_of(value, kind));
        let same = object.get("const").is_none_or(|wanted| wanted == value)
            && (!object.contains_key("enum") || list(object, "enum").contains(value));
        let target = object.get("$ref").and_then(Value::as_str).map(|reference| self.target(reference));
        let combined = target.is_none_or(|target| target.is_some_and(|target| fits(target, value)))
            && list(object, "allOf").iter().all(|part| fits(part, value))
            && ["oneOf", "anyOf"]
                .into_iter()
                .all(|key| !object.contains_key(key) || list(object, key).iter().any(|one| fits(one, value)));
        of_kind && same && combined && within_bounds(object, value) && self.members_fit(object, value, depth)
    }

    fn members_fit(self, object: &JsonObject, value: &Value, depth: usize) -> bool {
        let fits = |schema: &Value, value: &Value| self.fits(schema, value, depth + 1);
        match value {
            Value::Object(members) => {
                let properties = object.get("properties").and_then(Value::as_object);
                let known = |name: &str| properties.and_then(|all| all.get(name));
                let more = object.get("additionalProperties");
                list(object, "required").iter().filter_map(Value::as_str).all(|name| members.contains_key(name))
                    && members.iter().all(|(name, value)| known(name).or(more).is_none_or(|schema| fits(schema, value)))
            }
            Value::Array(items) => {
                let first = list(object, "prefixItems");
                let schema = |index: usize| first.get(index).or_else(|| object.get("items"));
                items.iter().enumerate().all(|(index, item)| schema(index).is_none_or(|schema| fits(schema, item)))
            }
            _ => true,
        }
    }
}

/// The keywords of which nobody here says whether a value keeps to them.
const UNSEEN: [&str; 19] = [
    "multipleOf",
    "pattern",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "not",
    "if",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
];

#[allow(clippy::cast_precision_loss, reason = "no text or list is so long")]
fn within_bounds(object: &JsonObject, value: &Value) -> bool {
    let bound = |key: &str| object.get(key).and_then(Value::as_f64);
    let between = |size: f64, least: &str, most: &str| {
        bound(least).is_none_or(|least| size >= least) && bound(most).is_none_or(|most| size <= most)
    };
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| {
            between(number, "minimum", "maximum")
                && bound("exclusiveMinimum").is_none_or(|least| number > least)
                && bound("exclusiveMaximum").is_none_or(|most| number < most)
        }),
        Value::String(text) => between(text.chars().count() as f64, "minLength", "maxLength"),
        Value::Array(items) => between(items.len() as f64, "minItems", "maxItems"),
        _ => true,
    }
}

fn list<'a>(object: &'a JsonObject, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The types that the schema names.
pub(super) fn types(object: &JsonObject) -> Vec<&str> {
    match object.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => kind == "number" || (kind == "integer" && !number.is_f64()),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

fn merged(one: Option<Value>, other: Value) -> Value {
    match (one, other) {
        (Some(Value::Object(mut one)), Value::Object(other)) => {
            one.extend(other);
            one.into()
        }
        (one, other) => one.unwrap_or(other),
    }
}

fn count(object: &JsonObject, key: &str) -> Option<u64> {
    object.get(key).and_then(Value::as_u64)
}

fn other_kinds(types: &[&str]) -> Vec<Value> {
    let others = kinds().into_iter().filter(|(_, kinds)| !kinds.iter().any(|kind| types.contains(kind)));
    others.map(|(value, _)| value).collect()
}

/// Values that are none of these, of the same kind; and a name as an object, which serde takes for the name.
fn outside(values: &[Value]) -> Vec<Value> {
    let mut outside = match values.first() {
        Some(Value::Bool(_)) => [true, false].map(Value::from).to_vec(),
        Some(Value::Number(_)) => {
            (0..=values.len()).map(Value::from).find(|value| !values.contains(value)).into_iter().collect()
        }
        Some(Value::String(first)) => vec![json!("~"), json!({ first.as_str(): null })],
        _ => vec![json!("~")],
    };
    outside.retain(|value| !values.contains(value));
    outside
}

fn text(object: &JsonObject) -> Option<String> {
    let format = object.get("format").and_then(Value::as_str);
    if let Some((_, text)) = FORMATS.iter().find(|(name, _)| Some(*name) == format) {
        return Some((*text).to_owned());
    }
    let most = count(object, "maxLength").unwrap_or(u64::MAX);
    of_length(count(object, "minLength").unwrap_or(0).max(1).min(most))
}

fn of_length(length: u64) -> Option<String> {
    (length <= LONGEST).then(|| "a".repeat(usize::try_from(length).unwrap_or_default()))
}

fn repeated(said: &Value, by: i64) -> Broken {
    let text = said.as_u64().and_then(|length| length.checked_add_signed(by)).and_then(of_length);
    text.map_or(Broken::Unknown, |text| Broken::By(vec![text.into()]))
}

/// The number of a keyword, where it is a whole one that floats hold exactly.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "it is checked to be small and whole")]
fn whole(object: &JsonObject, key: &str) -> Option<i64> {
    const EXACT: f64 = (1_i64 << 53) as f64;
    let number = object.get(key)?;
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
    number.as_i64().or_else(|| float.map(|float| float as i64))
}

fn number(object: &JsonObject) -> Option<Value> {
    let float = |key: &str| object.get(key).and_then(Value::as_f64);
    let bounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
    let is_whole = bounds.iter().all(|key| !object.contains_key(*key) || whole(object, key).is_some());
    if is_whole {
        let least =
            whole(object, "minimum").max(whole(object, "exclusiveMinimum").map(|bound| bound.saturating_add(1)));
        let most = [whole(object, "maximum"), whole(object, "exclusiveMaximum").map(|bound| bound.saturating_sub(1))];
        let most = most.into_iter().flatten().min();
        let step = whole(object, "multipleOf").filter(|step| *step > 0).unwrap_or(1);
        let start = 1.max(least.unwrap_or(1)).min(most.unwrap_or(i64::MAX));
        let value = if start % step == 0 { start } else { start.checked_add(step - start.rem_euclid(step))? };
        return Some(value.into());
    }
    let least = float("minimum").or_else(|| float("exclusiveMinimum").map(|bound| bound + 1.0));
    let value = least.or_else(|| float("maximum")).or_else(|| float("exclusiveMaximum").map(|bound| bound - 1.0))?;
    Number::from_f64(value).map(Value::Number)
}

/// A number that is just beyond a bound.
fn beyond(object: &JsonObject, keyword: &str, said: &Value) -> Option<Value> {
    if keyword.starts_with("exclusive") {
        return Some(said.clone());
    }
    let step = whole(object, "multipleOf").filter(|step| *step > 0).unwrap_or(1);
    if keyword == "multipleOf" {
        // One is no multiple of what is larger, and half of a step is none of the step.
        let step = said.as_f64()?;
        return if step > 1.0 { Some(json!(1)) } else { Number::from_f64(step / 2.0).map(Value::Number) };
    }
    let direction = if keyword == "minimum" { -1 } else { 1 };
    if let Some(bound) = whole(object, keyword) {
        return bound.checked_add(direction * step).map(Value::from);
    }
    let bound = said.as_f64()?;
    let beyond = if direction < 0 { bound - 1.0 } else { bound + 1.0 };
    // There are bounds that a float cannot step over.
    let differs = beyond.to_bits() != bound.to_bits();
    Number::from_f64(beyond).filter(|_| differs).map(Value::Number)
}
