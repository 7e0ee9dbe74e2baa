//! Values for a schema: a small valid one, and ones that violate a single keyword.

use mcp_core::message::JsonObject;
use serde_json::{Number, Value, json};

/// How deeply values are nested.
const MAX_DEPTH: usize = 16;
/// The longest texts and lists that are generated.
const MAX_LENGTH: u64 = 1 << 16;

/// The formats that JSON Schema defines, with a text of each.
pub(crate) const FORMATS: [(&str, &str); 19] = [
    ("date-time", "2020-01-01T00:00:00Z"),
    ("date", "2020-01-01"),
    ("time", "00:00:00Z"),
    ("duration", "PT1S"),
    ("email", "a@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "127.0.0.1"),
    ("ipv6", "::1"),
    ("uri", "https://example.com"),
    ("uri-reference", "https://example.com"),
    ("uri-template", "https://example.com"),
    ("iri", "https://example.com"),
    ("iri-reference", "https://example.com"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
    ("json-pointer", "/a"),
    ("relative-json-pointer", "0"),
    ("regex", "a"),
    ("idn-email", "a@example.com"),
    ("idn-hostname", "example.com"),
];

/// A schema document.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a>(pub(crate) &'a Value);

impl<'a> Document<'a> {
    /// The target of a `$ref`.
    pub(crate) fn target(self, reference: &str) -> Option<&'a Value> {
        self.0.pointer(reference.strip_prefix('#')?)
    }

    /// A minimal value that fits the schema.
    pub(crate) fn sample(self, schema: &Value) -> Option<Value> {
        self.sample_at(schema, 0)
    }

    fn sample_at(self, schema: &Value, depth: usize) -> Option<Value> {
        let Value::Object(object) = schema else { return (*schema == Value::Bool(true)).then(|| json!(1)) };
        if depth > MAX_DEPTH {
            return None;
        }
        let first = |key: &str| object.get(key).and_then(Value::as_array).and_then(|values| values.first());
        if let Some(value) = object.get("const").or_else(|| first("enum")) {
            return Some(value.clone());
        }
        let mut sample = match types(object).first() {
            Some(kind) => Some(self.sample_of_type(object, kind, depth)?),
            None if object.contains_key("properties") => Some(self.sample_of_type(object, "object", depth)?),
            None => None,
        };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            sample = Some(merged(sample, self.sample_at(self.target(reference)?, depth + 1)?));
        }
        for part in list(object, "allOf") {
            sample = Some(merged(sample, self.sample_at(part, depth + 1)?));
        }
        for key in ["oneOf", "anyOf"].into_iter().filter(|key| object.contains_key(*key)) {
            let one = list(object, key).iter().find_map(|one| self.sample_at(one, depth + 1))?;
            sample = Some(merged(sample, one));
        }
        Some(sample.unwrap_or_else(|| json!(1)))
    }

    fn sample_of_type(self, object: &JsonObject, kind: &str, depth: usize) -> Option<Value> {
        Some(match kind {
            "integer" | "number" => number(object)?,
            "string" => text(object)?.into(),
            "boolean" => true.into(),
            "array" => self.items(object, count(object, "minItems").unwrap_or(0), depth)?.into(),
            "object" => self.members(object, depth)?.into(),
            _ => Value::Null,
        })
    }

    /// A list of this many items.
    pub(super) fn items(self, object: &JsonObject, amount: u64, depth: usize) -> Option<Vec<Value>> {
        if amount > MAX_LENGTH {
            return None;
        }
        let first = list(object, "prefixItems");
        let any = Value::Bool(true);
        let rest = object.get("items").unwrap_or(&any);
        let mut items = Vec::new();
        for index in 0..usize::try_from(amount).ok()? {
            let item = match first.get(index) {
                None if index > first.len() => items.last().cloned()?,
                schema => self.sample_at(schema.unwrap_or(rest), depth + 1)?,
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
            members.insert(name.to_owned(), self.sample_at(schema(name).unwrap_or(&any), depth + 1)?);
        }
        let more = object.get("additionalProperties").unwrap_or(&any);
        let least = count(object, "minProperties").unwrap_or(0);
        if least > MAX_LENGTH {
            return None;
        }
        for index in 0.. {
            if members.len() as u64 >= least {
                break;
            }
            members.insert(format!("key{index}"), self.sample_at(more, depth + 1)?);
        }
        Some(members)
    }

    /// Values that violate the keyword and, if possible, nothing else; `None` if they cannot be generated.
    pub(super) fn violations(self, object: &JsonObject, keyword: &str) -> Option<Vec<Value>> {
        let Some(operand) = object.get(keyword) else { return Some(Vec::new()) };
        let value = match keyword {
            "type" => return Some(values_of_other_types(&types(object))),
            "enum" => return Some(other_values(operand.as_array().map_or(&[], Vec::as_slice))),
            "const" => return Some(other_values(std::slice::from_ref(operand))),
            "required" => return Some(self.without_each(object, operand)),
            "minLength" | "minItems" | "minProperties" if *operand == 0 => return Some(Vec::new()),
            "uniqueItems" if *operand == false || count(object, "maxItems").is_some_and(|most| most < 2) => {
                return Some(Vec::new());
            }
            "additionalProperties" | "unevaluatedProperties" if *operand == true => return Some(Vec::new()),
            "additionalProperties" | "unevaluatedProperties" => {
                let mut members = self.members(object, 0)?;
                members.shift_insert(0, "~".to_owned(), json!(1));
                members.into()
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                beyond(object, keyword, operand)?
            }
            "minLength" => of_length(changed(operand, -1)?)?.into(),
            "maxLength" => of_length(changed(operand, 1)?)?.into(),
            "minItems" => self.with_length(object, changed(operand, -1)?)?,
            "maxItems" => self.with_length(object, changed(operand, 1)?)?,
            "uniqueItems" => self.with_length(object, count(object, "minItems").unwrap_or(0).max(2))?,
            "minProperties" => self.with_size(object, changed(operand, -1)?)?,
            "maxProperties" => self.with_size(object, changed(operand, 1)?)?,
            "not" => self.sample(operand)?,
            _ => return None,
        };
        Some(vec![value])
    }

    fn without_each(self, object: &JsonObject, required: &Value) -> Vec<Value> {
        let names: Vec<&str> = required.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(members) = self.members(object, 0) else {
            // An empty object lacks them, too.
            return if names.is_empty() { Vec::new() } else { vec![json!({})] };
        };
        let without = |name: &&str| {
            let mut members = members.clone();
            members.shift_remove(*name);
            Value::Object(members)
        };
        names.iter().map(without).collect()
    }

    fn with_length(self, object: &JsonObject, amount: u64) -> Option<Value> {
        let mut object = object.clone();
        object.shift_remove("uniqueItems");
        self.items(&object, amount, 0).map(Value::from)
    }

    fn with_size(self, object: &JsonObject, amount: u64) -> Option<Value> {
        let mut object = object.clone();
        object.insert("minProperties".into(), amount.into());
        self.members(&object, 0).map(Value::from)
    }

    /// Whether a value certainly fits the schema. Keywords that are not checked here count as violated.
    pub(super) fn fits(self, schema: &Value, value: &Value, depth: usize) -> bool {
        let Value::Object(object) = schema else { return *schema == Value::Bool(true) };
        if depth > MAX_DEPTH || object.keys().any(|key| UNCHECKED.contains(&key.as_str())) {
            return false;
        }
        let fits = |schema: &Value, value: &Value| self.fits(schema, value, depth + 1);
        let kinds = types(object);
        let of_kind = kinds.is_empty() || kinds.iter().any(|kind| has_type(value, kind));
        let same = object.get("const").is_none_or(|constant| constant == value)
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

/// The keywords that `fits` does not check.
pub(super) const UNCHECKED: [&str; 22] = [
    "multipleOf",
    "pattern",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "additionalItems",
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

pub(super) fn list<'a>(object: &'a JsonObject, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The types that the schema names.
pub(crate) fn types(object: &JsonObject) -> Vec<&str> {
    match object.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(value: &Value, kind: &str) -> bool {
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

fn values_of_other_types(types: &[&str]) -> Vec<Value> {
    let values_by_type: [(Value, &[&str]); 6] = [
        (json!(0), &["integer", "number"]),
        (json!(0.5), &["number"]),
        (json!("~"), &["string"]),
        (json!(true), &["boolean"]),
        (json!([]), &["array"]),
        (json!({}), &["object"]),
    ];
    let others = values_by_type.into_iter().filter(|(_, kinds)| !kinds.iter().any(|kind| types.contains(kind)));
    others.map(|(value, _)| value).collect()
}

/// Other values of the same type than these; and a name as an object, which serde accepts as the name.
fn other_values(values: &[Value]) -> Vec<Value> {
    let mut others = match values.first() {
        Some(Value::Bool(_)) => [true, false].map(Value::from).to_vec(),
        Some(Value::Number(_)) => {
            (0..=values.len()).map(Value::from).find(|value| !values.contains(value)).into_iter().collect()
        }
        Some(Value::String(first)) => vec![json!("~"), json!({ first.as_str(): null })],
        _ => vec![json!("~")],
    };
    others.retain(|value| !values.contains(value));
    others
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
    (length <= MAX_LENGTH).then(|| "a".repeat(usize::try_from(length).unwrap_or_default()))
}

/// A limit, changed by one.
fn changed(limit: &Value, by: i64) -> Option<u64> {
    limit.as_u64()?.checked_add_signed(by)
}

/// The number of a keyword, if it is an integer that a float represents exactly.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "it is checked to be a small integer")]
fn integer(object: &JsonObject, key: &str) -> Option<i64> {
    const EXACT: f64 = (1_i64 << 53) as f64;
    let number = object.get(key)?;
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
    number.as_i64().or_else(|| float.map(|float| float as i64))
}

fn number(object: &JsonObject) -> Option<Value> {
    let float = |key: &str| object.get(key).and_then(Value::as_f64);
    let bounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
    let is_whole = bounds.iter().all(|key| !object.contains_key(*key) || integer(object, key).is_some());
    if is_whole {
        let least =
            integer(object, "minimum").max(integer(object, "exclusiveMinimum").map(|bound| bound.saturating_add(1)));
        let most =
            [integer(object, "maximum"), integer(object, "exclusiveMaximum").map(|bound| bound.saturating_sub(1))];
        let most = most.into_iter().flatten().min();
        let step = integer(object, "multipleOf").filter(|step| *step > 0).unwrap_or(1);
        let start = 1.max(least.unwrap_or(1)).min(most.unwrap_or(i64::MAX));
        let value = if start % step == 0 { start } else { start.checked_add(step - start.rem_euclid(step))? };
        return Some(value.into());
    }
    let least = float("minimum").or_else(|| float("exclusiveMinimum").map(|bound| bound + 1.0));
    let value = least.or_else(|| float("maximum")).or_else(|| float("exclusiveMaximum").map(|bound| bound - 1.0))?;
    Number::from_f64(value).map(Value::Number)
}

/// A number just beyond a bound.
fn beyond(object: &JsonObject, keyword: &str, limit: &Value) -> Option<Value> {
    if keyword.starts_with("exclusive") {
        return Some(limit.clone());
    }
    let step = integer(object, "multipleOf").filter(|step| *step > 0).unwrap_or(1);
    if keyword == "multipleOf" {
        // 1 is not a multiple of a larger number, and half a step is not a multiple of the step.
        let step = limit.as_f64()?;
        return if step > 1.0 { Some(json!(1)) } else { Number::from_f64(step / 2.0).map(Value::Number) };
    }
    let direction = if keyword == "minimum" { -1 } else { 1 };
    if let Some(bound) = integer(object, keyword) {
        return bound.checked_add(direction * step).map(Value::from);
    }
    let bound = limit.as_f64()?;
    let beyond = if direction < 0 { bound - 1.0 } else { bound + 1.0 };
    // Some bounds are too large for a float to exceed by one.
    let differs = beyond.to_bits() != bound.to_bits();
    Number::from_f64(beyond).filter(|_| differs).map(Value::Number)
}
