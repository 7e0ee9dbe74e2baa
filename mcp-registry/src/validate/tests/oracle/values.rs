//! Random values that fit a schema, or nearly so, and texts that say them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::schemas::{NAMES, PATTERNS, any_value, number, text};
use super::{Dice, JsonObject};
use crate::validate::format;

/// How deeply values are nested.
const MAX_DEPTH: usize = 7;

/// The largest integer below which every one is a float too.
const EXACT: u64 = 1 << 53;

/// Makes values for a schema.
pub(super) struct Values<'a> {
    pub(super) dice: &'a mut Dice,
    pub(super) root: &'a Value,
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema.get(key).and_then(Value::as_object).into_iter().flatten()
}

fn count(schema: &Value, key: &str) -> Option<usize> {
    let count = schema.get(key).and_then(Value::as_f64)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    Some(count as usize)
}

impl<'a> Values<'a> {
    /// A value for the whole schema.
    pub(super) fn document(&mut self) -> Value {
        let mut value = self.value(self.root, 0);
        let changes = [0, 0, 0, 1, 1, 2][self.dice.below(6)];
        for _ in 0..changes {
            self.change(&mut value);
        }
        value
    }

    fn value(&mut self, schema: &'a Value, depth: usize) -> Value {
        if depth >= MAX_DEPTH || !schema.is_object() || self.dice.hits(16) {
            return any_value(self.dice, depth.min(2));
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let values = list(schema, "enum");
        if !values.is_empty() {
            return values[self.dice.below(values.len())].clone();
        }
        let mut made = Vec::new();
        made.extend(self.own(schema, depth));
        let in_place = self.in_place(schema);
        for inner in in_place {
            let value = self.value(inner, depth + 1);
            made.push(value);
        }
        if made.is_empty() {
            return any_value(self.dice, depth.min(2));
        }
        let mut value = made.swap_remove(self.dice.below(made.len()));
        if let Value::Object(members) = &mut value {
            for other in made {
                if let Value::Object(other) = other {
                    members.extend(other);
                }
            }
        }
        value
    }

    /// The schemas of the same value that it is made for.
    fn in_place(&mut self, schema: &'a Value) -> Vec<&'a Value> {
        let mut all: Vec<&Value> = list(schema, "allOf").iter().collect();
        for key in ["anyOf", "oneOf"] {
            let union = list(schema, key);
            if !union.is_empty() {
                all.push(&union[self.dice.below(union.len())]);
            }
        }
        let chosen: &[&str] = if self.dice.flips() { &["if", "then"] } else { &["else"] };
        all.extend(chosen.iter().filter_map(|key| schema.get(key)));
        if self.dice.hits(3) {
            all.extend(schema.get("not"));
        }
        all.extend(named(schema, "dependentSchemas").chain(named(schema, "dependencies")).map(|(_, inner)| inner));
        all.extend(schema.get("$ref").and_then(Value::as_str).and_then(|target| self.target(target)));
        all
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        let (_, local) = reference.split_once('#')?;
        let local = local.replace("%30", "0");
        match local.strip_prefix('d').filter(|_| !local.starts_with('/')) {
            Some(index) => self.root.pointer(&format!("/$defs/D{index}")),
            None => self.root.pointer(&local),
        }
    }

    /// A value by what the schema itself says; none if it says nothing about types.
    fn own(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            Value::String(name) => vec![name.as_str()],
            _ => implied(schema),
        };
        if types.is_empty() {
            return None;
        }
        Some(match self.dice.one(&types) {
            "null" => Value::Null,
            "boolean" => self.dice.flips().into(),
            "integer" => self.number(schema, true),
            "number" => self.number(schema, false),
            "string" => self.string(schema),
            "array" => self.array(schema, depth),
            _ => self.object(schema, depth),
        })
    }

    fn number(&mut self, schema: &Value, is_integer: bool) -> Value {
        let keys = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
        let bounds: Vec<&Value> = keys.iter().filter_map(|key| schema.get(key)).collect();
        if bounds.is_empty() {
            return if self.dice.hits(3) { number(self.dice) } else { json!(self.dice.below(12)) };
        }
        let bound = self.dice.one(&bounds);
        let Some(base) = bound.as_f64().filter(|base| base.abs() < 1e6) else { return bound.clone() };
        let factor = if self.dice.hits(3) { self.dice.one(&[2.0, 3.0, 6.0, 14.0, -1.0]) } else { 1.0 };
        let step = self.dice.one(if is_integer { &[0.0, 1.0, -1.0, 2.0] } else { &[0.0, 0.5, -0.5, 1.0, -1.0] });
        let value = base * factor + step;
        let value = if is_integer && !self.dice.hits(8) { value.floor() } else { value };
        as_number(value)
    }

    fn string(&mut self, schema: &Value) -> Value {
        let pattern = schema.get("pattern").and_then(Value::as_str);
        let known = PATTERNS.iter().find(|(known, ..)| Some(*known) == pattern);
        let format = schema.get("format").and_then(Value::as_str).and_then(format);
        let mut choices: Vec<&str> = known.map(|(_, matching, _)| *matching).into_iter().collect();
        choices.extend(format.map(|format| format.example));
        if !choices.is_empty() && !self.dice.hits(4) {
            return self.dice.one(&choices).into();
        }
        let lengths: Vec<usize> = ["minLength", "maxLength"].iter().filter_map(|key| count(schema, key)).collect();
        if lengths.is_empty() {
            return text(self.dice);
        }
        let length = self.dice.one(&lengths) + self.dice.below(3);
        self.dice.one(&["a", "é", "😀", "1"]).repeat(length.saturating_sub(1)).into()
    }

    fn length(&mut self, least: Option<usize>, most: Option<usize>) -> usize {
        let least = least.unwrap_or(0);
        let most = most.unwrap_or(least + 3).max(least);
        let length = least + self.dice.below(most - least + 1);
        match self.dice.below(10) {
            0 => length + 1,
            1 => length.saturating_sub(1),
            _ => length,
        }
    }

    fn array(&mut self, schema: &'a Value, depth: usize) -> Value {
        let mut prefix = list(schema, "prefixItems");
        let mut rest = schema.get("items");
        if let Some(Value::Array(items)) = rest {
            (prefix, rest) = (items, schema.get("additionalItems"));
        }
        let least = count(schema, "minItems").or(Some(prefix.len()).filter(|_| !self.dice.hits(3)));
        let length = self.length(least, count(schema, "maxItems"));
        let mut items: Vec<Value> = Vec::new();
        for index in 0..length {
            let item = match prefix.get(index).or(rest) {
                Some(inner) => self.value(inner, depth + 1),
                None => any_value(self.dice, depth.min(2)),
            };
            items.push(item);
        }
        if let Some(contains) = schema.get("contains") {
            let times = count(schema, "minContains").unwrap_or(1) + self.dice.below(2);
            for _ in 0..times {
                let item = self.value(contains, depth + 1);
                let at = self.dice.below(items.len() + 1);
                items.insert(at, item);
            }
        }
        if schema["uniqueItems"] == true && !items.is_empty() && self.dice.hits(3) {
            let again = items[self.dice.below(items.len())].clone();
            items.push(again);
        }
        items.into()
    }

    fn object(&mut self, schema: &'a Value, depth: usize) -> Value {
        let mut members = JsonObject::new();
        let required = list(schema, "required");
        for (name, inner) in named(schema, "properties") {
            let is_required = required.iter().any(|it| it == name);
            if if is_required { !self.dice.hits(16) } else { !self.dice.hits(3) } {
                let value = if self.dice.hits(12) { Value::Null } else { self.value(inner, depth + 1) };
                members.insert(name.clone(), value);
            }
        }
        for (pattern, inner) in named(schema, "patternProperties") {
            let known = PATTERNS.iter().find(|(known, ..)| known == pattern);
            if let Some((_, name, _)) = known.filter(|_| !self.dice.hits(3)) {
                let value = self.value(inner, depth + 1);
                members.insert((*name).to_owned(), value);
            }
        }
        let more = ["additionalProperties", "unevaluatedProperties"].iter().find_map(|key| schema.get(key));
        let mut names: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        for (name, others) in named(schema, "dependentRequired").chain(named(schema, "dependencies")) {
            if self.dice.flips() {
                names.push(name);
                names.extend(others.as_array().into_iter().flatten().filter_map(Value::as_str));
            }
        }
        names.extend(named(schema, "dependentSchemas").map(|(name, _)| name.as_str()).filter(|_| self.dice.flips()));
        let least = count(schema, "minProperties").unwrap_or(0);
        let others = least.saturating_sub(members.len() + names.len());
        let others = if self.dice.hits(4) { others + 1 } else { others };
        names.extend((0..others).map(|_| self.dice.one(&NAMES)));
        if let Some(Value::String(name)) = schema.get("propertyNames").and_then(|names| names.get("const")) {
            names.push(name);
        }
        for name in names {
            if members.contains_key(name) || self.dice.hits(16) {
                continue;
            }
            let value = match more {
                Some(inner) => self.value(inner, depth + 1),
                None => any_value(self.dice, depth.min(2)),
            };
            members.insert(name.to_owned(), value);
        }
        members.into()
    }

    /// Changes one part of a value.
    fn change(&mut self, value: &mut Value) {
        if !self.dice.hits(3) {
            match value {
                Value::Array(items) if !items.is_empty() => {
                    let at = self.dice.below(items.len());
                    return self.change(&mut items[at]);
                }
                Value::Object(members) if !members.is_empty() => {
                    let at = self.dice.below(members.len());
                    if let Some(value) = members.values_mut().nth(at) {
                        return self.change(value);
                    }
                }
                _ => {}
            }
        }
        match value {
            Value::Array(items) if self.dice.flips() => {
                let at = self.dice.below(items.len() + 1);
                if at == items.len() || self.dice.flips() {
                    items.insert(at, any_value(self.dice, 2));
                } else {
                    items.remove(at);
                }
            }
            Value::Object(members) if !self.dice.hits(3) => {
                let name = self.dice.one(&NAMES);
                let known = members.keys().nth(self.dice.below(members.len().max(1))).cloned();
                match (self.dice.below(3), known) {
                    (0, Some(known)) => drop(members.shift_remove(&known)),
                    (1, Some(known)) => drop(members.insert(known, Value::Null)),
                    _ => drop(members.insert(name.to_owned(), any_value(self.dice, 2))),
                }
            }
            Value::Number(number) if self.dice.flips() => {
                let number = number.as_f64().filter(|number| number.abs() < 1e6).unwrap_or(1.0);
                *value = as_number(number + self.dice.one(&[1.0, -1.0, 0.5, 0.25]));
            }
            Value::String(text) if self.dice.flips() => {
                if self.dice.flips() {
                    text.push_str(self.dice.one(&["a", "é", "0"]));
                } else {
                    text.pop();
                }
            }
            other => *other = if self.dice.hits(3) { Value::Null } else { any_value(self.dice, 1) },
        }
    }
}

/// The types that the keywords are about.
fn implied(schema: &Value) -> Vec<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    let mut types = Vec::new();
    if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        types.push("number");
    }
    if has(&["minLength", "maxLength", "pattern", "format"]) {
        types.push("string");
    }
    if has(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]) {
        types.push("array");
    }
    let objects = ["properties", "required", "additionalProperties", "patternProperties", "propertyNames"];
    let others = ["minProperties", "maxProperties", "dependentRequired", "unevaluatedProperties", "dependencies"];
    if has(&objects) || has(&others) {
        types.push("object");
    }
    types
}

/// An integer if it is one.
fn as_number(value: f64) -> Value {
    #[allow(clippy::cast_possible_truncation, reason = "it has no fraction and is small")]
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}

/// Writes a value in one of the ways that JSON has for it.
pub(super) fn write(value: &Value, dice: &mut Dice, out: &mut String) {
    let space = |dice: &mut Dice, out: &mut String| out.push_str(if dice.hits(24) { " \n" } else { "" });
    space(dice, out);
    match value {
        Value::Number(number) => write_number(number, dice, out),
        Value::String(text) => write_string(text, dice, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(item, dice, out);
            }
            space(dice, out);
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if dice.hits(3) {
                for index in (1..members.len()).rev() {
                    members.swap(index, dice.below(index + 1));
                }
            }
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                space(dice, out);
                write_string(name, dice, out);
                space(dice, out);
                out.push(':');
                write(value, dice, out);
            }
            space(dice, out);
            out.push('}');
        }
        other => _ = write!(out, "{other}"),
    }
    space(dice, out);
}

fn write_number(number: &serde_json::Number, dice: &mut Dice, out: &mut String) {
    let _ = match (number.as_i64().filter(|value| value.unsigned_abs() < EXACT / 10), dice.below(12)) {
        (Some(0), 0) => write!(out, "-0"),
        (Some(0), 1) => write!(out, "0e7"),
        (Some(0), 2) => write!(out, "0.0e-1"),
        (Some(value), 0) => write!(out, "{value}.0"),
        (Some(value), 1) => write!(out, "{value}e0"),
        (Some(value), 2) => write!(out, "{value}0e-1"),
        (Some(value), 3) if value % 10 == 0 => write!(out, "{}E+1", value / 10),
        (Some(value), 4) => write!(out, "{value}.000"),
        (None, 0) if number.is_f64() && !number.to_string().contains('e') => write!(out, "{number}0"),
        (None, 1) if number.is_f64() && !number.to_string().contains('e') => write!(out, "{number}e0"),
        _ => write!(out, "{number}"),
    };
}

fn write_string(text: &str, dice: &mut Dice, out: &mut String) {
    if !dice.hits(10) {
        let _ = write!(out, "{}", Value::from(text));
        return;
    }
    out.push('"');
    for unit in text.encode_utf16() {
        let _ = write!(out, "\\u{unit:04x}");
    }
    out.push('"');
}
