//! Samples of schemas: a table, and random schemas. `jsonschema` has the last word.

use std::collections::BTreeSet;

use mcp_core::support::schema::{Decimal, Digits, Model, NodeId, Types, equal};
use serde_json::{Map, Value, json};

use super::{Samples, contradiction};
use crate::validate::formats::format;
use crate::validate::pattern::Pattern;

/// The checker, as plain as can be.
struct Judge<'a> {
    model: &'a Model,
    patterns: Vec<Pattern>,
}

impl<'a> Judge<'a> {
    fn new(model: &'a Model) -> Self {
        let patterns = model.patterns().iter().map(|pattern| Pattern::new(pattern).expect(pattern)).collect();
        Self { model, patterns }
    }

    fn fits(&self, id: NodeId, value: &Value) -> bool {
        self.evaluated(id, value).is_some()
    }

    #[allow(clippy::too_many_lines, reason = "one keyword after the other")]
    /// The names of the members that were evaluated; none if the value does not fit.
    fn evaluated(&self, id: NodeId, value: &Value) -> Option<BTreeSet<String>> {
        let node = &self.model[id];
        let mut names = BTreeSet::new();
        if node.nullable && value.is_null() {
            return Some(names);
        }
        let is_listed = |values: &Vec<Value>| values.iter().any(|known| equal(known, value));
        if !node.types.contains(Types::of(value)) || !node.values.as_ref().is_none_or(is_listed) {
            return None;
        }
        for inner in node.reference.iter().chain(&node.all_of) {
            names.append(&mut self.evaluated(*inner, value)?);
        }
        for (union, is_exclusive) in
            node.any_of.iter().map(|union| (union, false)).chain(node.one_of.iter().map(|union| (union, true)))
        {
            let fitting: Vec<_> = union.iter().filter_map(|one| self.evaluated(*one, value)).collect();
            if fitting.is_empty() || (is_exclusive && fitting.len() > 1) {
                return None;
            }
            names.extend(fitting.into_iter().flatten());
        }
        if node.not.iter().any(|not| self.fits(*not, value)) {
            return None;
        }
        for condition in &node.conditions {
            let branch = match self.evaluated(condition.condition, value) {
                Some(mut evaluated) => {
                    names.append(&mut evaluated);
                    condition.then
                }
                None => condition.otherwise,
            };
            if let Some(branch) = branch {
                names.append(&mut self.evaluated(branch, value)?);
            }
        }
        let is_within =
            |count: usize, min: u64, max: Option<u64>| count as u64 >= min && max.is_none_or(|max| count as u64 <= max);
        let fits = match value {
            Value::Number(number) => {
                let (text, rules) = (number.to_string(), &node.number);
                let (digits, value) = (Digits::parse(text.as_bytes())?, Decimal::of(number));
                rules.min.is_none_or(|min| value > min.value || (value == min.value && !min.exclusive))
                    && rules.max.is_none_or(|max| value < max.value || (value == max.value && !max.exclusive))
                    && rules.multiple_of.iter().all(|of| digits.is_multiple_of(*of))
            }
            Value::String(text) => {
                let rules = &node.string;
                let has_format = |name: &String| format(name).is_none_or(|format| (format.accepts)(text));
                is_within(text.chars().count(), rules.min_length, rules.max_length)
                    && rules.patterns.iter().all(|pattern| self.patterns[pattern.index()].is_match(text))
                    && (!rules.checks_format || rules.format.as_ref().is_none_or(has_format))
            }
            Value::Array(items) => node.array.as_ref().is_none_or(|rules| {
                let schema = |index: usize| rules.prefix.get(index).copied().or(rules.items);
                is_within(items.len(), rules.min_items, rules.max_items)
                    && !(rules.unique
                        && (0..items.len()).any(|one| items[..one].iter().any(|other| equal(&items[one], other))))
                    && (0..items.len()).all(|index| schema(index).is_none_or(|schema| self.fits(schema, &items[index])))
                    && rules.contains.iter().all(|contains| {
                        let count = items.iter().filter(|item| self.fits(contains.schema, item)).count();
                        is_within(count, contains.min, contains.max)
                    })
            }),
            Value::Object(members) => match &node.object {
                None => true,
                Some(rules) => {
                    if !rules.required_names().all(|name| members.contains_key(name))
                        || !is_within(members.len(), rules.min_properties, rules.max_properties)
                        || !rules.dependent_required.iter().all(|(name, others)| {
                            !members.contains_key(name) || others.iter().all(|other| members.contains_key(other))
                        })
                    {
                        return None;
                    }
                    for (name, schema) in &rules.dependent_schemas {
                        if members.contains_key(name) {
                            names.append(&mut self.evaluated(*schema, value)?);
                        }
                    }
                    for (name, value) in members {
                        let declared = rules.properties.iter().filter(|it| it.name == *name).map(|it| it.schema);
                        let patterns = rules.pattern_properties.iter();
                        let patterns = patterns.filter(|(pattern, _)| self.patterns[pattern.index()].is_match(name));
                        let mut schemas: Vec<NodeId> = declared.chain(patterns.map(|(_, schema)| *schema)).collect();
                        if schemas.is_empty() {
                            schemas.extend(rules.additional);
                        }
                        if !schemas.is_empty() {
                            names.insert(name.clone());
                        }
                        if schemas.iter().any(|schema| !self.fits(*schema, value))
                            || rules.names.is_some_and(|schema| !self.fits(schema, &Value::from(name.as_str())))
                        {
                            return None;
                        }
                    }
                    if let Some(unevaluated) = rules.unevaluated {
                        for (name, value) in members {
                            if names.insert(name.clone()) && !self.fits(unevaluated, value) {
                                return None;
                            }
                        }
                    }
                    true
                }
            },
            _ => true,
        };
        fits.then_some(names)
    }
}

struct Outcome {
    fitting: Option<Value>,
    violating: Option<Value>,
    contradiction: Option<String>,
}

/// The samples of a schema, verified.
fn outcome(schema: &Value) -> Outcome {
    let model = Model::read(schema, true).unwrap_or_else(|error| panic!("{error}: {schema}"));
    let judge = Judge::new(&model);
    let accepts = |node: NodeId, json: &str| judge.fits(node, &serde_json::from_str(json).expect("a sample is JSON"));
    let samples = Samples::new(&model, &accepts);
    let (fitting, violating) = (samples.fitting(model.root()), samples.violating(model.root()));
    let contradiction = contradiction(&model);
    if fitting.is_some() || violating.is_some() {
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
        for (value, expected) in fitting.iter().map(|it| (it, true)).chain(violating.iter().map(|it| (it, false))) {
            assert_eq!(validator.is_valid(value), expected, "{value} for {schema}");
        }
    }
    assert!(fitting.is_none() || contradiction.is_none(), "{fitting:?}, but {contradiction:?}: {schema}");
    Outcome { fitting, violating, contradiction }
}

/// A schema that both samples are found for.
#[track_caller]
fn both(schema: &Value) -> (Value, Value) {
    let found = outcome(schema);
    (
        found.fitting.unwrap_or_else(|| panic!("nothing fits {schema}")),
        found.violating.unwrap_or_else(|| panic!("everything fits {schema}")),
    )
}

#[test]
fn every_keyword_has_both_samples() {
    let definitions = json!({ "Leaf": { "type": "integer", "minimum": 3 } });
    for schema in [
        json!({ "type": "null" }),
        json!({ "type": "boolean" }),
        json!({ "type": ["string", "null"] }),
        json!({ "type": "integer", "minimum": 5, "maximum": 5 }),
        json!({ "type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 7 }),
        json!({ "type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.2 }),
        json!({ "type": "number", "exclusiveMinimum": 1e300 }),
        json!({ "type": "number", "minimum": -1e308, "maximum": -1e307 }),
        json!({ "type": "integer", "minimum": 18_446_744_073_709_551_615_u64 }),
        json!({ "type": "integer", "maximum": i64::MIN }),
        json!({ "minimum": 3 }),
        json!({ "type": "integer", "multipleOf": 7, "minimum": 50 }),
        json!({ "type": "number", "multipleOf": 0.01, "minimum": 0.005, "maximum": 0.015 }),
        json!({ "type": "integer", "multipleOf": 2.5, "exclusiveMinimum": 5 }),
        json!({ "allOf": [{ "multipleOf": 4 }, { "multipleOf": 6 }], "type": "integer", "minimum": 13 }),
        json!({ "type": "string", "minLength": 10, "maxLength": 12 }),
        json!({ "type": "string", "maxLength": 0 }),
        json!({ "type": "string", "pattern": "^[a-z]+-\\d{3}$", "minLength": 12 }),
        json!({ "type": "string", "pattern": "b", "minLength": 5, "maxLength": 5 }),
        json!({ "type": "string", "allOf": [{ "pattern": "^a" }, { "pattern": "z$" }] }),
        json!({ "type": "string", "format": "date-time" }),
        json!({ "type": "string", "format": "uuid" }),
        json!({ "type": "string", "format": "ipv4" }),
        json!({ "enum": ["red", "green", 3] }),
        json!({ "const": { "a": [1] } }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 }),
        json!({ "type": "array", "items": { "type": "integer" }, "minItems": 5, "uniqueItems": true }),
        json!({ "type": "array", "items": { "enum": ["a", "b"] }, "minItems": 2, "uniqueItems": true }),
        json!({ "type": "array", "items": { "type": "object" }, "minItems": 3, "uniqueItems": true }),
        json!({ "type": "array", "items": { "type": "string", "format": "date" }, "minItems": 3, "uniqueItems": true }),
        json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "null" }], "items": false, "minItems": 2 }),
        json!({ "type": "array", "prefixItems": [{ "const": 1 }], "items": { "type": "string" }, "minItems": 3 }),
        json!({ "type": "array", "contains": { "const": 7 } }),
        json!({ "type": "array", "contains": { "type": "string" }, "minContains": 2, "maxContains": 2, "items": { "type": ["integer", "string"] } }),
        json!({ "type": "array", "contains": { "type": "string" }, "minContains": 0, "maxContains": 1, "minItems": 3 }),
        json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": {} }, "required": ["a", "c"] }),
        json!({ "required": ["a"] }),
        json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false }),
        json!({ "type": "object", "additionalProperties": { "type": "string" }, "minProperties": 2, "maxProperties": 3 }),
        json!({ "type": "object", "properties": { "a": { "const": 1 }, "b": { "const": 2 } }, "additionalProperties": false, "minProperties": 2 }),
        json!({ "type": "object", "patternProperties": { "^x-": { "type": "integer" } }, "additionalProperties": false, "minProperties": 1 }),
        json!({ "type": "object", "propertyNames": { "pattern": "^[A-Z]{3}$" }, "minProperties": 2 }),
        json!({ "type": "object", "propertyNames": { "enum": ["a", "b"] }, "minProperties": 2 }),
        json!({ "type": "object", "required": ["a"], "dependentRequired": { "a": ["b"], "b": ["c"] } }),
        json!({ "type": "object", "required": ["a"], "dependentSchemas": { "a": { "required": ["b"], "properties": { "b": { "const": 1 } } } } }),
        json!({ "type": "object", "properties": { "a": {} }, "required": ["a"], "unevaluatedProperties": false }),
        json!({ "type": "object", "allOf": [{ "properties": { "a": { "const": 1 } } }], "required": ["a"], "unevaluatedProperties": { "type": "string" }, "minProperties": 2 }),
        json!({ "anyOf": [{ "type": "string", "minLength": 3 }, { "type": "integer" }] }),
        json!({ "oneOf": [{ "type": "integer" }, { "minimum": 2, "type": "number" }] }),
        json!({ "oneOf": [{ "required": ["a"] }, { "required": ["b"] }], "type": "object" }),
        json!({ "allOf": [{ "required": ["a"] }, { "properties": { "a": { "type": "integer" } } }], "type": "object" }),
        json!({ "not": { "type": "string" } }),
        json!({ "not": { "const": 1 }, "type": "integer" }),
        json!({ "type": "string", "not": { "minLength": 3 } }),
        json!({ "type": "integer", "not": { "const": 0 }, "minimum": -128, "maximum": 127 }),
        json!({ "type": "object", "not": { "required": ["a"] }, "minProperties": 1 }),
        json!({ "type": "object", "not": { "properties": { "kind": { "const": "a" } } } }),
        json!({ "not": { "anyOf": [{ "type": "string" }, { "type": "object" }] } }),
        json!({ "type": "object", "properties": { "kind": { "enum": ["a", "b"] } }, "required": ["kind"],
            "if": { "properties": { "kind": { "const": "a" } } }, "then": { "required": ["x"] }, "else": { "required": ["y"] } }),
        json!({ "type": "integer", "if": { "minimum": 10 }, "then": { "multipleOf": 10 }, "else": false }),
        json!({ "type": "object", "properties": { "leaf": { "$ref": "#/$defs/Leaf" } }, "required": ["leaf"], "$defs": definitions }),
        json!({ "$ref": "#/$defs/Leaf", "maximum": 3, "$defs": definitions }),
        json!({ "$ref": "#/$defs/Tree", "$defs": { "Tree": { "type": "object", "required": ["sons"],
            "properties": { "sons": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } } } } }),
        json!({ "$ref": "#/$defs/List", "$defs": { "List": { "anyOf": [
            { "type": "object", "properties": { "next": { "$ref": "#/$defs/List" } }, "required": ["next"] },
            { "type": "string" } ] } } }),
    ] {
        both(&schema);
    }
}

#[test]
fn samples_are_small_and_readable() {
    let fitting = |schema: Value| outcome(&schema).fitting.unwrap().to_string();
    assert_eq!(fitting(json!({ "type": "integer", "default": 30 })), "30");
    assert_eq!(fitting(json!({ "type": "integer", "default": 30, "maximum": 9, "examples": ["x", 7] })), "7");
    assert_eq!(fitting(json!({ "type": "string" })), r#""text""#);
    assert_eq!(fitting(json!({ "type": "string", "maxLength": 2 })), r#""te""#);
    assert_eq!(fitting(json!({ "type": "integer" })), "1");
    assert_eq!(fitting(json!({ "type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.2 })), "0.15");
    assert_eq!(fitting(json!({ "type": ["string", "null"], "default": null })), r#""text""#);
    assert_eq!(fitting(json!({ "type": "array", "items": { "type": "string" } })), "[]");
    let optional =
        json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": {} }, "required": ["a"] });
    assert_eq!(fitting(optional), r#"{"a":1}"#);
    assert_eq!(fitting(json!({ "required": ["a"] })), r#"{"a":"text"}"#);
}

#[test]
fn a_violating_value_breaks_one_rule() {
    let violating = |schema: Value| outcome(&schema).violating.unwrap().to_string();
    assert_eq!(violating(json!({ "type": "integer", "minimum": 3 })), "2");
    assert_eq!(violating(json!({ "type": "integer", "maximum": 3 })), "4");
    assert_eq!(violating(json!({ "type": "string", "minLength": 3 })), r#""te""#);
    assert_eq!(violating(json!({ "type": "string", "format": "date" })), r#""2020-02-30""#);
    assert_eq!(violating(json!({ "enum": ["red", "green"] })), r#""red~""#);
    assert_eq!(violating(json!({ "type": "array", "items": { "type": "integer" } })), "[1.5]");
    let object =
        json!({ "type": "object", "properties": { "a": { "type": "string", "maxLength": 4 } }, "required": ["a"] });
    assert_eq!(violating(object), "{}");
    let optional = json!({ "type": "object", "properties": { "a": { "type": "string", "maxLength": 4 } } });
    assert_eq!(violating(optional), r#"{"a":"textt"}"#);
    assert!(outcome(&json!({})).violating.is_none(), "every value fits");
    assert!(outcome(&json!({ "anyOf": [{ "type": "string" }, { "not": { "type": "string" } }] })).violating.is_none());
}

#[test]
fn contradictions_are_explained() {
    for (schema, expected) in [
        (json!(false), "its schema excludes every value"),
        (json!({ "not": {} }), "its schema excludes every value"),
        (
            json!({ "type": "object", "properties": { "a": false }, "required": ["a"] }),
            "at `/a`, its schema excludes every value",
        ),
        (
            json!({ "allOf": [{ "type": "string" }, { "type": "integer" }] }),
            "the type must be `string`, and also `integer`",
        ),
        (
            json!({ "type": "array", "minItems": 1, "items": { "allOf": [{ "const": null }, { "type": "string" }] } }),
            "at `/0`, the type must be `null`, and also `string`",
        ),
        (
            json!({ "allOf": [{ "type": ["string", "null"] }, { "const": null }, { "type": "integer" }] }),
            "the type must be `null`, and also `integer`",
        ),
        (json!({ "allOf": [false, { "type": "string" }] }), "its schema excludes every value"),
        (json!({ "type": "string", "enum": [1, 2] }), "no value of its `enum` fits its other rules"),
        (json!({ "enum": [1, 2], "minimum": 3 }), "no value of its `enum` fits its other rules"),
        (json!({ "enum": [] }), "no value of its `enum` fits its other rules"),
        (json!({ "type": "integer", "minimum": 5, "maximum": 3 }), "the minimum of 5 is above the maximum of 3"),
        (
            json!({ "type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 6 }),
            "there is no integer between the exclusive minimum of 5 and the exclusive maximum of 6",
        ),
        (
            json!({ "type": "number", "exclusiveMinimum": 5, "maximum": 5 }),
            "there is no number between the exclusive minimum of 5 and the maximum of 5",
        ),
        (
            json!({ "type": "integer", "minimum": 1, "maximum": 6, "multipleOf": 7 }),
            "there is no multiple of 7 between the minimum of 1 and the maximum of 6",
        ),
        (
            json!({ "type": "string", "minLength": 3, "maxLength": 2 }),
            "the minimum of 3 characters is above the maximum of 2",
        ),
        (json!({ "type": "array", "minItems": 3, "maxItems": 2 }), "the minimum of 3 items is above the maximum of 2"),
        (
            json!({ "type": "array", "contains": {}, "minContains": 3, "maxItems": 2 }),
            "the minimum of 3 items that `contains` describes is above the maximum of 2",
        ),
        (
            json!({ "type": "object", "minProperties": 3, "maxProperties": 2 }),
            "the minimum of 3 members is above the maximum of 2",
        ),
        (
            json!({ "type": "object", "required": ["a", "b"], "maxProperties": 1 }),
            "2 members are required, and at most 1 may be present",
        ),
        (
            json!({ "type": "object", "properties": { "b": {} }, "required": ["a"], "additionalProperties": false }),
            "`a` is required, and `additionalProperties` excludes it",
        ),
        (
            json!({ "type": "object", "required": ["a"], "propertyNames": { "enum": ["b"] } }),
            "`a` is required, and `propertyNames` excludes that name",
        ),
        (
            json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false, "minProperties": 2 }),
            "at least 2 members must be present, and only 1 are possible",
        ),
        (
            json!({ "type": "array", "prefixItems": [{}, false], "minItems": 2 }),
            "at `/1`, its schema excludes every value",
        ),
        (
            json!({ "anyOf": [{ "type": "string", "minLength": 1, "maxLength": 0 }, false] }),
            "all 2 alternatives are impossible; the minimum of 1 characters is above the maximum of 0",
        ),
        (
            json!({ "type": "integer", "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            "all 2 alternatives are impossible; the type must be `integer`, and also `string`",
        ),
        (
            json!({ "$ref": "#/$defs/Node", "$defs": { "Node": {
                "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" } }, "required": ["next"] } } }),
            "at `/next`, each `Node` must contain another one, without end",
        ),
        (
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } },
                "allOf": [{ "properties": { "a": { "type": "integer" } } }] }),
            "at `/a`, the type must be `string`, and also `integer`",
        ),
    ] {
        let outcome = outcome(&schema);
        assert_eq!(outcome.contradiction.as_deref(), Some(expected), "{schema}");
    }
    for schema in [
        json!({ "type": "object", "properties": { "a": false } }),
        json!({ "type": "array", "items": false }),
        json!({ "anyOf": [false, { "type": "null" }] }),
        json!({ "minimum": 5, "maximum": 3 }),
        json!({ "type": ["object", "null"], "properties": { "a": false }, "required": ["a"] }),
    ] {
        assert_eq!(outcome(&schema).contradiction, None, "{schema}");
    }
}

/// Random schemas of the model's keywords.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    fn number(&mut self) -> Value {
        let numbers = [
            json!(0),
            json!(1),
            json!(-1),
            json!(2),
            json!(5),
            json!(10),
            json!(-7),
            json!(100),
            json!(0.5),
            json!(1.5),
            json!(-0.25),
            json!(1e10),
        ];
        self.one(&numbers)
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => (self.below(2) == 0).into(),
            2 => self.number(),
            3 | 4 => self.one(&["", "a", "ab", "x-1", "text", "2020-01-01"]).into(),
            5 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let count = self.below(3);
                (0..count).map(|_| (self.name(), self.value(depth - 1))).collect::<Map<_, _>>().into()
            }
        }
    }

    fn name(&mut self) -> String {
        self.one(&["a", "b", "c", "x-1"]).to_owned()
    }

    fn names(&mut self) -> Value {
        let mut names: Vec<String> = (0..=self.below(2)).map(|_| self.name()).collect();
        names.sort();
        names.dedup();
        names.into()
    }

    fn pattern(&mut self) -> String {
        self.one(&["^x-", "^[a-z]+$", "\\d", "^.{2,4}$", "^(a|b|text)$", "^[^a]*$", "b$"]).to_owned()
    }

    fn schemas(&mut self, depth: u64) -> Value {
        (0..=1 + self.below(2)).map(|_| self.schema(depth)).collect()
    }

    #[allow(clippy::too_many_lines, reason = "one keyword after the other")]
    fn schema(&mut self, depth: u64) -> Value {
        if depth == 0 && self.below(4) == 0 {
            return self.one(&[json!(true), json!({}), json!({ "$ref": "#/$defs/A" }), json!({ "$ref": "#/$defs/B" })]);
        }
        if self.below(40) == 0 {
            return false.into();
        }
        let mut schema = Map::new();
        let mut put = |key: &str, value: Value| drop(schema.insert(key.to_owned(), value));
        let inner = depth.saturating_sub(1);
        let kind = self.below(6);
        let has_type = self.below(8) != 0;
        match kind {
            0 => {
                if has_type {
                    put("type", self.one(&["integer", "number"]).into());
                }
                for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
                    if self.below(4) == 0 {
                        put(key, self.number());
                    }
                }
                if self.below(4) == 0 {
                    put("multipleOf", self.one(&[json!(2), json!(3), json!(0.5), json!(0.1), json!(10)]));
                }
            }
            1 | 2 => {
                if has_type {
                    put("type", self.one(&[json!("string"), json!(["string", "null"]), json!(["string", "integer"])]));
                }
                match self.below(5) {
                    0 => put("pattern", self.pattern().into()),
                    1 => put("format", self.one(&["date", "date-time", "uuid", "ipv4", "email"]).into()),
                    2 => put("minLength", self.below(6).into()),
                    3 => put("maxLength", self.below(6).into()),
                    _ => {}
                }
                if self.below(4) == 0 {
                    put("minLength", self.below(4).into());
                }
            }
            3 => {
                if has_type {
                    put("type", "array".into());
                }
                if depth > 0 {
                    if self.below(2) == 0 {
                        put("items", self.schema(inner));
                    }
                    if self.below(4) == 0 {
                        put("prefixItems", self.schemas(inner));
                    }
                    if self.below(4) == 0 {
                        put("contains", self.schema(inner));
                        if self.below(2) == 0 {
                            put("minContains", self.below(3).into());
                        }
                        if self.below(3) == 0 {
                            put("maxContains", (1 + self.below(3)).into());
                        }
                    }
                }
                for key in ["minItems", "maxItems"] {
                    if self.below(3) == 0 {
                        put(key, self.below(4).into());
                    }
                }
                if self.below(4) == 0 {
                    put("uniqueItems", true.into());
                }
            }
            4 => {
                if has_type {
                    put("type", "object".into());
                }
                if depth > 0 {
                    let properties: Map<_, _> = (0..self.below(4)).map(|_| (self.name(), self.schema(inner))).collect();
                    put("properties", properties.into());
                    for key in ["additionalProperties", "unevaluatedProperties"] {
                        if self.below(6) == 0 {
                            put(key, if self.below(2) == 0 { false.into() } else { self.schema(inner) });
                        }
                    }
                    if self.below(6) == 0 {
                        put("patternProperties", json!({ self.pattern(): self.schema(inner) }));
                    }
                    if self.below(8) == 0 {
                        put("dependentSchemas", json!({ self.name(): self.schema(inner) }));
                    }
                }
                if self.below(2) == 0 {
                    put("required", self.names());
                }
                if self.below(8) == 0 {
                    put(
                        "propertyNames",
                        self.one(&[
                            json!({ "pattern": "^[a-z]" }),
                            json!({ "maxLength": 3 }),
                            json!({ "enum": ["a", "b", "d"] }),
                        ]),
                    );
                }
                if self.below(8) == 0 {
                    put("dependentRequired", json!({ self.name(): self.names() }));
                }
                for key in ["minProperties", "maxProperties"] {
                    if self.below(5) == 0 {
                        put(key, self.below(4).into());
                    }
                }
            }
            _ if depth > 0 => match self.below(8) {
                0 | 1 => put("anyOf", self.schemas(inner)),
                2 | 3 => put("oneOf", self.schemas(inner)),
                4 | 5 => put("allOf", self.schemas(inner)),
                6 => put("not", self.schema(inner)),
                _ => {
                    put("if", self.schema(inner));
                    put("then", self.schema(inner));
                    put("else", self.schema(inner));
                }
            },
            _ => match self.below(3) {
                0 => put("const", self.value(2)),
                1 => put("enum", (0..=self.below(3)).map(|_| self.value(1)).collect()),
                _ => put("type", self.one(&["boolean", "null", "string", "integer"]).into()),
            },
        }
        if depth > 0 && self.below(8) == 0 {
            put(self.one(&["anyOf", "oneOf", "allOf"]), self.schemas(inner));
        }
        if depth > 0 && self.below(16) == 0 {
            put("not", self.schema(inner));
        }
        if self.below(12) == 0 {
            put("default", self.value(1));
        }
        schema.into()
    }

    fn document(&mut self) -> Value {
        let depth = 1 + self.below(3);
        let mut schema = self.schema(depth);
        if let Value::Object(members) = &mut schema {
            members.insert("$defs".to_owned(), json!({ "A": self.schema(1), "B": self.schema(2) }));
        }
        schema
    }
}

#[test]
fn samples_of_random_schemas_are_right() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let [mut read, mut possible, mut found, mut broken, mut missed] = [0_u32; 5];
    while read < 20_000 {
        let schema = random.document();
        // Some references lead back to themselves at once.
        if Model::read(&schema, true).is_err() {
            continue;
        }
        read += 1;
        let Outcome { fitting, violating, contradiction } = outcome(&schema);
        possible += u32::from(contradiction.is_none());
        found += u32::from(fitting.is_some());
        broken += u32::from(violating.is_some());
        if fitting.is_none() && contradiction.is_none() {
            // What a random search finds, a sample should have been found for.
            let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            let fits = (0..300).map(|_| random.value(2)).find(|value| validator.is_valid(value));
            missed += u32::from(fits.is_some());
            if let Some(fits) = fits {
                println!("missed {fits} for {schema}");
            }
        }
    }
    println!(
        "{read} schemas, {possible} not known to be impossible, {found} with a sample, {broken} with a violation, {missed} missed"
    );
    assert!(missed < 10, "{missed}");
    assert!(f64::from(found) > 0.95 * f64::from(possible), "{found} of {possible}");
}

/// What would take exponential time or space if it were tried to the end is given up.
#[test]
fn work_is_bounded() {
    let levels = |level: &dyn Fn(Value) -> Value| {
        let definition =
            |index: u32| (format!("L{index}"), level(json!({ "$ref": format!("#/$defs/L{}", index + 1) })));
        let mut definitions: Map<String, Value> = (0..60).map(definition).collect();
        definitions.insert("L60".to_owned(), json!({ "type": "string", "pattern": "^(?:(?:(?:a{9}){9}){9}){9}$" }));
        json!({ "$ref": "#/$defs/L0", "$defs": definitions })
    };
    let many: Vec<Value> = (0..400)
        .map(|kind| json!({ "properties": { "kind": { "const": kind }, "x": { "$ref": "#" } }, "required": ["kind", "x"] }))
        .collect();
    for schema in [
        levels(&|next| json!({ "properties": { "a": next, "b": next }, "required": ["a", "b"] })),
        levels(&|next| json!({ "oneOf": [{ "allOf": [next], "minLength": 3 }, next, { "not": next }] })),
        levels(&|next| {
            let list = json!({ "type": "array", "items": next, "minItems": 2 });
            json!({ "type": "object", "properties": { "a": { "anyOf": [next, list] } }, "required": ["a"] })
        }),
        json!({ "oneOf": many }),
        json!({ "type": "array", "minItems": 4000, "uniqueItems": true, "items": { "type": "string", "minLength": 4000 } }),
        json!({ "type": "array", "minItems": 1_u64 << 60 }),
        json!({ "type": "object", "minProperties": 4000, "propertyNames": { "pattern": "^[a-c]{1,3}$" } }),
        json!({ "type": "object", "minProperties": 1_u64 << 60, "not": { "type": "object" } }),
        json!({ "type": "string", "minLength": 1_u64 << 60, "pattern": "^(a*)*$" }),
    ] {
        let start = std::time::Instant::now();
        let model = Model::read(&schema, true).unwrap();
        // It is not the checker that is measured.
        let accepts = |_: NodeId, json: &str| json.len() % 3 == 0;
        let samples = Samples::new(&model, &accepts);
        drop((samples.fitting(model.root()), samples.violating(model.root()), contradiction(&model)));
        println!("{:?}", start.elapsed());
        assert!(start.elapsed().as_secs() < 60, "{}", schema.to_string().get(..200).unwrap_or_default());
    }
}
