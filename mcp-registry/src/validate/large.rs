//! The faults of values of many parts, in bounded time and memory.
//!
//! The validator lists every fault that it finds, which takes hundreds of bytes for each. Here the value is walked along
//! its schema instead: parts are checked one by one, the first faults are explained, and the others are only counted.
//! Where a schema has keywords that concern the value as a whole (`anyOf`, `not`, …), the value is one part.

use std::collections::HashMap;

use jsonschema::Validator;
use mcp_core::__private::words::{Document, escaped};
use mcp_core::{Fault, JsonObject};
use serde_json::Value;

use super::DEFINITIONS;
use super::Subject;
use super::compile::{Checked, compile, each_reference, validator};
use super::explain::{Telling, expected, is_large};
use super::{DEEPER, Found, TOLD};

/// The keywords that the walk takes apart, besides those that say nothing.
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

/// The keywords of the parts of a value; the others are about the value as a whole.
const OF_PARTS: [&str; 4] = ["items", "properties", "required", "additionalProperties"];

/// Takes the nulls away that stand for absent members.
pub(super) fn remove_nulls(checked: &Checked, value: &mut Value) {
    Walk::new(checked).remove_nulls(&checked.schema, value);
}

/// The faults of a value that is not valid. Nulls in the arguments of a tool are left to its types where they are items.
pub(super) fn faults(checked: &Checked, document: Document, subject: Option<&dyn Subject>, value: &Value) -> Found {
    let mut explaining = Explaining { walk: Walk::new(checked), document, subject, found: Found::default() };
    explaining.value(&checked.schema, value, &mut String::new());
    let mut found = explaining.found;
    found.omitted += found.faults.len().saturating_sub(TOLD);
    found.faults.truncate(TOLD);
    found
}

/// The schema of a document, and what was compiled of its parts.
struct Walk<'a> {
    checked: &'a Checked,
    /// By the place of the schema; none where it cannot be checked on its own.
    validators: HashMap<*const Value, Option<Validator>>,
    takes_null: HashMap<*const Value, bool>,
}

impl<'a> Walk<'a> {
    fn new(checked: &'a Checked) -> Self {
        Self { checked, validators: HashMap::new(), takes_null: HashMap::new() }
    }

    /// The schema that a schema stands for.
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
        let mut is_whole = true;
        each_reference(schema, &mut |reference| {
            is_whole &= DEFINITIONS.iter().any(|key| reference.starts_with(&format!("#/{key}/")));
        });
        let has_names = |schema: &Value| schema.get("$id").is_some() || schema.get("$anchor").is_some();
        if !is_whole || has_names(root) || has_names(schema) {
            return None;
        }
        let mut document = schema.clone();
        if let Value::Object(document) = &mut document {
            self.add_definitions(document);
        }
        Some(document)
    }

    /// Adds what a part of the schema takes its meaning from: the draft, and the definitions.
    fn add_definitions(&self, part: &mut JsonObject) {
        for key in DEFINITIONS.into_iter().chain(["$schema"]) {
            if let Some(said) = self.checked.schema.get(key) {
                part.entry(key).or_insert_with(|| said.clone());
            }
        }
    }

    /// Whether a part of the schema takes a value; none if that cannot be told.
    fn takes(&mut self, schema: &'a Value, value: &Value) -> Option<bool> {
        match schema {
            Value::Bool(takes) => return Some(*takes),
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

    fn takes_null(&mut self, schema: &'a Value) -> bool {
        if let Some(takes) = self.takes_null.get(&std::ptr::from_ref(schema)) {
            return *takes;
        }
        let takes = self.takes(schema, &Value::Null).unwrap_or(true);
        self.takes_null.insert(schema, takes);
        takes
    }

    fn remove_nulls(&mut self, schema: &'a Value, value: &mut Value) {
        let schema = self.target(schema);
        let Some(keywords) = walked(schema) else {
            if self.takes(schema, value) == Some(false) {
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
                    Some(schema) if member.is_null() => self.takes_null(schema),
                    Some(schema) => {
                        if may_hold_null(member) {
                            self.remove_nulls(schema, member);
                        }
                        true
                    }
                    // It is unknown, which must not be hidden.
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

/// The keywords of a schema, if the walk can take all of them apart.
fn walked(schema: &Value) -> Option<&JsonObject> {
    let is_walked = |key: &str| WALKED.contains(&key) || DEFINITIONS.contains(&key) || key == "$schema";
    schema.as_object().filter(|keywords| keywords.keys().all(|key| is_walked(key)))
}

/// The schema of a member that the schema knows.
fn member_schema<'a>(keywords: &'a JsonObject, name: &str) -> Option<&'a Value> {
    let named = keywords.get("properties").and_then(|properties| properties.get(name));
    named.or_else(|| keywords.get("additionalProperties").filter(|schema| schema.is_object()))
}

/// The first faults of a value, and the count of the others.
struct Explaining<'a> {
    walk: Walk<'a>,
    document: Document,
    subject: Option<&'a dyn Subject>,
    found: Found,
}

impl<'a> Explaining<'a> {
    /// Explains why the schema does not take the value.
    fn value(&mut self, schema: &'a Value, value: &Value, path: &mut String) {
        let schema = self.walk.target(schema);
        match (walked(schema), value) {
            (Some(keywords), Value::Array(items)) if is_large(value) => {
                self.items(keywords, items, path);
                self.whole(keywords, value, path);
            }
            (Some(keywords), Value::Object(members)) if is_large(value) => {
                self.members(keywords, members, path);
                self.whole(keywords, value, path);
            }
            _ if is_large(value) => self.deeper(path),
            _ => self.small(schema, value, path),
        }
    }

    fn items(&mut self, keywords: &'a JsonObject, items: &[Value], path: &mut String) {
        let Some(schema) = keywords.get("items") else { return };
        let nulls_are_read = self.telling(|telling| telling.is_read_by_type(&format!("{path}/0")));
        for (index, item) in items.iter().enumerate() {
            if !(item.is_null() && nulls_are_read) {
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
                    match self.secret(path) {
                        Some(at) => self.add(|document| document.superfluous(&at)),
                        None => self.add(|document| document.unknown(path, name, known)),
                    }
                }
                None => {}
            }
        }
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name)) {
            let at = self.secret(path);
            self.add(|document| document.lacking(at.as_deref().unwrap_or(path), name));
        }
    }

    /// Explains one part, if there is room to tell of it; otherwise it counts if it is wrong.
    fn part(&mut self, schema: &'a Value, value: &Value, path: &mut String, step: impl FnOnce() -> String) {
        if self.walk.takes(schema, value) == Some(true) {
            return;
        }
        if self.found.faults.len() >= TOLD {
            self.found.omitted += 1;
            return;
        }
        let length = path.len();
        path.push('/');
        path.push_str(&step());
        self.value(schema, value, path);
        path.truncate(length);
    }

    /// Explains what the schema says of a value beside its parts.
    fn whole(&mut self, keywords: &JsonObject, value: &Value, path: &str) {
        let is_whole = |keyword: &str| !OF_PARTS.contains(&keyword) && !DEFINITIONS.contains(&keyword);
        for (keyword, said) in keywords.iter().filter(|(keyword, _)| is_whole(keyword)) {
            let mut alone = JsonObject::new();
            alone.insert(keyword.clone(), said.clone());
            self.walk.add_definitions(&mut alone);
            let Ok(validator) = validator(&alone.into(), self.walk.checked.formats) else { continue };
            if let Err(error) = validator.validate(value) {
                let expected = expected(error.kind());
                let at = self.secret(path);
                self.add(|document| document.wrong(at.as_deref().unwrap_or(path), &expected, None));
            }
        }
    }

    /// Explains a value of few parts.
    fn small(&mut self, schema: &'a Value, value: &Value, path: &str) {
        let part = self.walk.document(schema).and_then(|part| compile(part, self.walk.checked.formats).ok());
        let Some(part) = part else {
            return self.deeper(path);
        };
        let (document, subject) = (self.document, self.subject);
        let telling = Telling { checked: &part, root: &self.walk.checked.schema, prefix: path, document, subject };
        let faults = if subject.is_some() { telling.fewest(value) } else { telling.all(value) };
        self.found.faults.extend(faults);
    }

    fn add(&mut self, fault: impl FnOnce(Document) -> Fault) {
        if self.found.faults.len() < TOLD {
            self.found.faults.push(fault(self.document));
        } else {
            self.found.omitted += 1;
        }
    }

    /// Tells in general of a value that cannot be taken apart.
    fn deeper(&mut self, path: &str) {
        let at = self.secret(path);
        self.add(|document| document.wrong(at.as_deref().unwrap_or(path), DEEPER, None));
    }

    fn secret(&self, path: &str) -> Option<String> {
        self.telling(|telling| telling.secret(path))
    }

    fn telling<T>(&self, ask: impl FnOnce(&Telling<'_>) -> T) -> T {
        let checked = self.walk.checked;
        ask(&Telling { checked, root: &checked.schema, prefix: "", document: self.document, subject: self.subject })
    }
}
