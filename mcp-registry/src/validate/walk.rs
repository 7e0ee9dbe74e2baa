//! Explains the faults of large values, in bounded time and memory.
//!
//! The validator lists every fault, at hundreds of bytes each. This module walks along the schema instead: it checks the
//! parts of the value one by one, explains the first faults and counts the others. If a schema has keywords about the
//! value as a whole (`anyOf`, `not`, …), the value is one part.

use std::collections::HashMap;

use jsonschema::Validator;
use mcp_core::error::Fault;
use mcp_core::message::JsonObject;
use mcp_core::support::faults::{Document, escaped};
use serde_json::Value;

use super::compile::{Checked, compile, each_reference, validator};
use super::explain::{Explainer, expected, is_large};
use super::{DEFINITIONS, Faults, INVALID_INSIDE, MAX_FAULTS};

/// The keywords that the walk handles.
const WALKED: [&str; 15] = [
    "type",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "title",
    "description",
    "default",
    "examples",
];

/// The keywords about the parts of a value; the others are about the value as a whole.
const PART_KEYWORDS: [&str; 4] = ["items", "properties", "required", "additionalProperties"];

/// Removes the nulls that stand for absent members.
pub(super) fn remove_nulls(checked: &Checked, value: &mut Value) {
    Walk::new(checked).remove_nulls(&checked.schema, value);
}

/// The faults of an invalid value. Null items in arguments are left to the types.
pub(super) fn faults(whole: &Explainer<'_>, value: &Value) -> Faults {
    let mut explainer = LargeExplainer { walk: Walk::new(whole.checked), whole, faults: Faults::default() };
    explainer.value(whole.root, value, &mut String::new());
    let Faults { mut faults, mut omitted } = explainer.faults;
    omitted += faults.len().saturating_sub(MAX_FAULTS);
    faults.truncate(MAX_FAULTS);
    Faults { faults, omitted }
}

/// The schema of a document, and the validators of its parts.
struct Walk<'a> {
    checked: &'a Checked,
    /// By the address of the schema; none if it cannot be compiled on its own.
    validators: HashMap<*const Value, Option<Validator>>,
    accepts_null: HashMap<*const Value, bool>,
}

impl<'a> Walk<'a> {
    fn new(checked: &'a Checked) -> Self {
        Self { checked, validators: HashMap::new(), accepts_null: HashMap::new() }
    }

    /// Follows references.
    fn target(&self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..16 {
            let Some(object) = schema.as_object().filter(|object| object.len() == 1) else { break };
            let reference = object.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
            let Some(target) = reference.and_then(|pointer| self.checked.schema.pointer(pointer)) else { break };
            schema = target;
        }
        schema
    }

    /// A part of the schema as a document of its own, if it refers to nothing but the definitions.
    fn document(&self, schema: &Value) -> Option<Value> {
        let root = &self.checked.schema;
        if std::ptr::eq(schema, root) {
            return Some(root.clone());
        }
        let mut is_complete = true;
        each_reference(schema, &mut |reference| {
            is_complete &= DEFINITIONS.iter().any(|key| reference.starts_with(&format!("#/{key}/")));
        });
        let has_names = |schema: &Value| schema.get("$id").is_some() || schema.get("$anchor").is_some();
        if !is_complete || has_names(root) || has_names(schema) {
            return None;
        }
        let mut document = schema.clone();
        if let Value::Object(document) = &mut document {
            self.add_definitions(document);
        }
        Some(document)
    }

    /// Adds what a part of the schema depends on: the draft, and the definitions.
    fn add_definitions(&self, part: &mut JsonObject) {
        for key in DEFINITIONS.into_iter().chain(["$schema"]) {
            if let Some(value) = self.checked.schema.get(key) {
                part.entry(key).or_insert_with(|| value.clone());
            }
        }
    }

    /// Whether a part of the schema accepts a value; none if it is unknown.
    fn accepts(&mut self, schema: &'a Value, value: &Value) -> Option<bool> {
        match schema {
            Value::Bool(accepts) => return Some(*accepts),
            Value::Object(keywords) if keywords.is_empty() => return Some(true),
            _ => {}
        }
        if !self.validators.contains_key(&std::ptr::from_ref(schema)) {
            let document = self.document(schema);
            let compiled = document.and_then(|document| validator(&document, self.checked.formats).ok());
            self.validators.insert(schema, compiled);
        }
        let validator = self.validators.get(&std::ptr::from_ref(schema))?.as_ref()?;
        Some(validator.is_valid(value))
    }

    fn accepts_null(&mut self, schema: &'a Value) -> bool {
        if let Some(accepts) = self.accepts_null.get(&std::ptr::from_ref(schema)) {
            return *accepts;
        }
        let accepts = self.accepts(schema, &Value::Null).unwrap_or(true);
        self.accepts_null.insert(schema, accepts);
        accepts
    }

    fn remove_nulls(&mut self, schema: &'a Value, value: &mut Value) {
        let schema = self.target(schema);
        let Some(keywords) = walked(schema) else {
            if self.accepts(schema, value) == Some(false) {
                remove_all_nulls(value);
            }
            return;
        };
        match value {
            Value::Array(items) => {
                let Some(schema) = keywords.get("items") else { return };
                items.iter_mut().filter(|item| may_hold_null(item)).for_each(|item| self.remove_nulls(schema, item));
            }
            Value::Object(members) => {
                members.retain(|name, member| match member_schema(keywords, name) {
                    Some(schema) if member.is_null() => self.accepts_null(schema),
                    Some(schema) => {
                        if may_hold_null(member) {
                            self.remove_nulls(schema, member);
                        }
                        true
                    }
                    // The schema does not know it, which must be reported.
                    None => true,
                });
            }
            _ => {}
        }
    }
}

fn may_hold_null(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn remove_all_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove_all_nulls),
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_all_nulls);
        }
        _ => {}
    }
}

/// The keywords of a schema, if the walk handles all of them.
fn walked(schema: &Value) -> Option<&JsonObject> {
    let is_walked = |key: &str| WALKED.contains(&key) || DEFINITIONS.contains(&key) || key == "$schema";
    schema.as_object().filter(|keywords| keywords.keys().all(|key| is_walked(key)))
}

/// The schema of a member, if there is one.
fn member_schema<'a>(keywords: &'a JsonObject, name: &str) -> Option<&'a Value> {
    let named = keywords.get("properties").and_then(|properties| properties.get(name));
    named.or_else(|| keywords.get("additionalProperties").filter(|schema| schema.is_object()))
}

/// Explains the first faults of a value, and counts the others.
struct LargeExplainer<'a> {
    walk: Walk<'a>,
    /// Of the whole document.
    whole: &'a Explainer<'a>,
    faults: Faults,
}

impl<'a> LargeExplainer<'a> {
    /// Explains why the schema rejects the value.
    fn value(&mut self, schema: &'a Value, value: &Value, path: &mut String) {
        let schema = self.walk.target(schema);
        match (walked(schema), value) {
            (Some(keywords), Value::Array(items)) if is_large(value) => {
                self.items(keywords, items, path);
                self.value_as_whole(keywords, value, path);
            }
            (Some(keywords), Value::Object(members)) if is_large(value) => {
                self.members(keywords, members, path);
                self.value_as_whole(keywords, value, path);
            }
            _ if is_large(value) => self.invalid_inside(path),
            _ => self.small(schema, value, path),
        }
    }

    fn items(&mut self, keywords: &'a JsonObject, items: &[Value], path: &mut String) {
        let Some(schema) = keywords.get("items") else { return };
        let types_accept_null = self.whole.is_read_by_type(&format!("{path}/0"));
        for (index, item) in items.iter().enumerate() {
            if !(item.is_null() && types_accept_null) {
                self.part(schema, item, path, || index.to_string());
            }
        }
    }

    fn members(&mut self, keywords: &'a JsonObject, members: &JsonObject, path: &mut String) {
        for (name, member) in members {
            match member_schema(keywords, name) {
                Some(schema) => self.part(schema, member, path, || escaped(name)),
                None if keywords.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    let known = keywords.get("properties").and_then(Value::as_object);
                    let known = known.into_iter().flatten().map(|(name, _)| name.as_str());
                    match self.whole.secret(path) {
                        Some(at) => self.add(|document| document.superfluous(&at)),
                        None => self.add(|document| document.unknown(path, name, known)),
                    }
                }
                None => {}
            }
        }
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name)) {
            let at = self.whole.secret(path);
            self.add(|document| document.lacking(at.as_deref().unwrap_or(path), name));
        }
    }

    /// Explains a part if it is invalid, or counts it once the limit is reached.
    fn part(&mut self, schema: &'a Value, value: &Value, path: &mut String, step: impl FnOnce() -> String) {
        if self.walk.accepts(schema, value) == Some(true) {
            return;
        }
        if self.faults.faults.len() >= MAX_FAULTS {
            self.faults.omitted += 1;
            return;
        }
        let length = path.len();
        path.push('/');
        path.push_str(&step());
        self.value(schema, value, path);
        path.truncate(length);
    }

    /// Explains the faults of a value as a whole.
    fn value_as_whole(&mut self, keywords: &JsonObject, value: &Value, path: &str) {
        let is_about_whole = |keyword: &str| !PART_KEYWORDS.contains(&keyword) && !DEFINITIONS.contains(&keyword);
        for (keyword, argument) in keywords.iter().filter(|(keyword, _)| is_about_whole(keyword)) {
            let mut alone = JsonObject::new();
            alone.insert(keyword.clone(), argument.clone());
            self.walk.add_definitions(&mut alone);
            let Ok(validator) = validator(&alone.into(), self.walk.checked.formats) else { continue };
            if let Err(error) = validator.validate(value) {
                let expected = expected(error.kind());
                let at = self.whole.secret(path);
                self.add(|document| document.wrong(at.as_deref().unwrap_or(path), &expected, None));
            }
        }
    }

    /// Explains a value with few parts.
    fn small(&mut self, schema: &'a Value, value: &Value, path: &str) {
        let part = self.walk.document(schema).and_then(|part| compile(part, self.walk.checked.formats).ok());
        let Some(part) = part else {
            return self.invalid_inside(path);
        };
        let explainer = Explainer { checked: &part, prefix: path, ..*self.whole };
        let faults = if explainer.subject.is_some() { explainer.fewest(value) } else { explainer.all(value) };
        self.faults.faults.extend(faults);
    }

    fn add(&mut self, fault: impl FnOnce(Document) -> Fault) {
        if self.faults.faults.len() < MAX_FAULTS {
            self.faults.faults.push(fault(self.whole.document));
        } else {
            self.faults.omitted += 1;
        }
    }

    /// Reports a value whose faults cannot be located.
    fn invalid_inside(&mut self, path: &str) {
        let at = self.whole.secret(path);
        self.add(|document| document.wrong(at.as_deref().unwrap_or(path), INVALID_INSIDE, None));
    }
}
