//! The lint rules for schemas.

use std::collections::HashSet;

use mcp_core::support::faults::escaped;
use mcp_core::support::schema::fragment;
use serde_json::Value;

use super::{Draft, Severity, Side, ToolFindings};
use crate::catalog::tool::RegisteredTool;
use crate::validate::{self, FORMATS};

/// The maximum size of a schema that leaves enough room for the conversation.
const GOOD_SCHEMA_SIZE: usize = 8 * 1024;

/// The hosts that do not follow `$ref`. Those that only fail at recursive types are not among them.
const FOLLOW_NO_REFERENCES: [&str; 4] = ["claude-desktop", "copilot", "cursor", "gemini"];

/// The keywords that restrict the type of a value.
const KINDS: [&str; 9] = ["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "not", "properties"];

pub(super) fn lint<'a>(tool: &'a RegisteredTool, found: &'a mut ToolFindings<'_>) {
    let schema = tool.input_schema();
    roots(schema, found);
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if property.get("description").is_none() {
            let draft = Draft::new("missing-parameter-description", "has a parameter without a description");
            let draft = draft.within(Side::Input, format!("/properties/{}", escaped(name)));
            let is_written = tool.definition().entry().is_none_or(|entry| entry.input_schema.is_some());
            found.add(if is_written { draft.fix("write `description` in its schema") } else { draft });
        }
    }
    let mut findings = PartFindings { side: Side::Input, seen: Vec::new(), found };
    for part in &parts(schema) {
        input_part(part, &mut findings);
        any_part(part, &mut findings);
    }
    findings.side = Side::Output;
    for part in tool.output_schema().into_iter().flat_map(|schema| parts(schema)) {
        any_part(&part, &mut findings);
    }
}

pub(super) fn slow_union(tool: &RegisteredTool, found: &mut ToolFindings<'_>) {
    if let Some(name) = validate::slow_type(tool) {
        found.add(Draft::new("slow-union", format!("takes the untagged enum `{name}`, which contains itself")));
    }
}

/// The rules for the root of an input schema.
fn roots(schema: &Value, found: &mut ToolFindings<'_>) {
    let size = schema.to_string().len();
    if size > GOOD_SCHEMA_SIZE {
        let draft = Draft::new("schema-size", format!("has an input schema of {size} bytes"));
        found.add(draft.at(Side::Input, ""));
    }
    if let Some(key) = ["oneOf", "anyOf", "allOf"].into_iter().find(|key| schema.get(key).is_some()) {
        found.add(Draft::new("root-union", format!("has `{key}`")).within(Side::Input, ""));
    }
    let definitions = ["/$defs", "/definitions"].into_iter().find(|pointer| schema.pointer(pointer).is_some());
    if let Some(name) = validate::recursive_type(schema) {
        let pointer = format!("{}/{}", definitions.unwrap_or_default(), escaped(&name));
        let pointer = if schema.pointer(&pointer).is_some() { pointer } else { String::new() };
        let draft = Draft::new("schema-references", format!("has the type `{name}`, which contains itself,"));
        found.add(draft.within(Side::Input, pointer).severity(Severity::Error));
    } else if let Some(pointer) = definitions {
        let draft = Draft::new("schema-references", "has types to refer to").within(Side::Input, pointer);
        let draft = draft.why("several hosts do not follow `$ref`").hosts(&FOLLOW_NO_REFERENCES);
        found.add(draft.fix("make the types smaller, or write them where they are used"));
    }
    if schema.get("properties").is_none() {
        found.add(Draft::new("missing-properties", "has no `properties`").within(Side::Input, ""));
    }
}

/// Collects the findings on the parts of schemas. What one value, or one type that is written out several times, breaks in
/// several parts is reported for the first of them.
struct PartFindings<'a, 'b> {
    side: Side,
    seen: Vec<Seen<'a>>,
    found: &'a mut ToolFindings<'b>,
}

/// A part that breaks a rule, and how.
struct Seen<'a> {
    rule: &'static str,
    what: String,
    side: Side,
    part: Part<'a>,
}

impl<'a> PartFindings<'a, '_> {
    fn add(&mut self, part: &Part<'a>, draft: Draft) {
        let (rule, side) = (draft.rule, self.side);
        let is_same = |Seen { what, part: seen, .. }: &Seen<'_>| {
            let is_same_value = seen.value() == part.value();
            let is_same_type = (seen.name, seen.schema) == (part.name, part.schema);
            seen.pointer == part.pointer || (*what == draft.what && (is_same_value || is_same_type))
        };
        let is_known = self.seen.iter().any(|seen| (seen.rule, seen.side) == (rule, side) && is_same(seen));
        self.seen.push(Seen { rule, what: draft.what.clone(), side, part: part.clone() });
        if !is_known {
            self.found.add(draft.within(side, &part.pointer));
        }
    }
}

fn is_kind(schema: &Value, kind: &str) -> bool {
    schema.get("type").is_some_and(|known| known == kind)
}

/// The rules for schemas in the input.
fn input_part<'a>(part: &Part<'a>, found: &mut PartFindings<'a, '_>) {
    let schema = part.schema;
    if is_nullable(schema) {
        found.add(part, Draft::new("null-type", "takes null"));
    }
    let is_value = matches!(part.place, Place::Property | Place::Part);
    if is_value && ["oneOf", "const"].iter().any(|key| schema.get(key).is_some()) {
        found.add(part, Draft::new("one-of", "has `oneOf` or `const`"));
    }
    let is_open = |key: &str| schema.get(key).is_some_and(|more| *more != Value::Bool(false));
    if is_value && (is_open("additionalProperties") || is_open("patternProperties")) {
        found.add(part, Draft::new("map", "takes a map"));
    }
    if is_value && !KINDS.iter().any(|key| schema.get(key).is_some()) {
        let severity = if part.place == Place::Property { Severity::Error } else { Severity::Warning };
        found.add(part, Draft::new("any-value", "takes any JSON").severity(severity));
    }
}

/// The rules for schemas in the input and in the output.
fn any_part<'a>(part: &Part<'a>, found: &mut PartFindings<'a, '_>) {
    let Part { name, schema, .. } = *part;
    if schema.get("prefixItems").is_some() {
        let draft = Draft::new("tuple", "has a tuple");
        let is_input = found.side == Side::Input;
        // No converter reads what a tool returns.
        found.add(part, if is_input { draft } else { draft.why("few clients understand it").hosts(&[]) });
    }
    let bound = |schema: &Value, key: &str, value: i64| schema.get(key).is_some_and(|bound| *bound == value);
    let is_byte =
        |items: &Value| is_kind(items, "integer") && bound(items, "minimum", 0) && bound(items, "maximum", 255);
    if is_kind(schema, "array") && schema.get("items").is_some_and(is_byte) {
        found.add(part, Draft::new("bytes", "has a list of bytes"));
    }
    let is_known = |format: &str| FORMATS.iter().any(|known| known.name == format);
    if let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| !is_known(format)) {
        found.add(part, Draft::new("unknown-format", format!("uses the format `{format}`")));
    }
    let lower = name.to_ascii_lowercase();
    let is_id =
        lower == "id" || name.ends_with("_id") || name.ends_with("Id") || lower == "ids" || name.ends_with("_ids");
    if is_id && is_kind(schema, "integer") && schema.get("maximum").is_none() {
        found.add(part, Draft::new("wide-integer-id", "has a 64-bit integer as ID"));
    }
}

fn is_nullable(schema: &Value) -> bool {
    let null = |schema: &Value| is_kind(schema, "null");
    let listed =
        schema.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
    let alternative = |key: &str| schema.get(key).and_then(Value::as_array).is_some_and(|all| all.iter().any(null));
    listed || alternative("anyOf") || alternative("oneOf")
}

/// Whether an object in the input rejects unknown members.
pub(super) fn is_closed(tool: &RegisteredTool) -> bool {
    values(tool).any(|part| part.schema.get("additionalProperties") == Some(&Value::Bool(false)))
}

/// Whether an object in the input has optional members without a default.
pub(super) fn has_options(tool: &RegisteredTool) -> bool {
    values(tool).any(|part| optional(part.schema).any(|member| member.get("default").is_none()))
}

/// The optional members.
fn optional(schema: &Value) -> impl Iterator<Item = &Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = move |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    members.filter(move |(name, _)| !is_required(name)).map(|(_, member)| member)
}

/// The schemas in the input that define a value.
fn values(tool: &RegisteredTool) -> impl Iterator<Item = Part<'_>> {
    parts(tool.input_schema()).into_iter().filter(|part| part.place != Place::Restriction)
}

/// The position of a schema in its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Root,
    /// A named member of an object.
    Property,
    /// An array item, a value of a map, or an alternative.
    Part,
    /// A restriction of a value that another schema defines.
    Restriction,
}

/// A schema within a schema.
#[derive(Clone)]
struct Part<'a> {
    /// The name of its value.
    name: &'a str,
    schema: &'a Value,
    place: Place,
    pointer: String,
    /// Where the pointer to the value ends: the named member or the definition that the schema is a part of.
    value_end: usize,
}

impl Part<'_> {
    /// The pointer to the value.
    fn value(&self) -> &str {
        &self.pointer[..self.value_end]
    }
}

/// Every schema within a schema. The target of a `$ref` is visited for each name of its value.
fn parts(schema: &Value) -> Vec<Part<'_>> {
    let mut walk = Walk { document: schema, visited: HashSet::new(), parts: Vec::new() };
    walk.add(&Part { name: "", schema, place: Place::Root, pointer: String::new(), value_end: 0 });
    walk.parts
}

struct Walk<'a> {
    document: &'a Value,
    visited: HashSet<(String, &'a str, Place)>,
    parts: Vec<Part<'a>>,
}

impl<'a> Walk<'a> {
    fn add(&mut self, part: &Part<'a>) {
        let (name, place) = (part.name, part.place);
        let Value::Object(object) = part.schema else { return };
        if !self.visited.insert((part.pointer.clone(), name, place)) {
            return;
        }
        self.parts.push(part.clone());
        let has_kind = object.contains_key("type") || place == Place::Restriction;
        for (key, inner) in object {
            let place = match (key.as_str(), inner) {
                ("$ref", Value::String(reference)) => {
                    let pointer = fragment(self.document, reference);
                    let target = pointer.and_then(|pointer| Some((self.document.pointer(&pointer)?, pointer)));
                    if let Some((schema, pointer)) = target {
                        let value_end = pointer.len();
                        self.add(&Part { name, schema, place, pointer, value_end });
                    }
                    continue;
                }
                ("properties", Value::Object(named)) => {
                    let place = if place == Place::Restriction { place } else { Place::Property };
                    for (name, schema) in named {
                        let pointer = format!("{}/properties/{}", part.pointer, escaped(name));
                        let value_end = pointer.len();
                        self.add(&Part { name, schema, place, pointer, value_end });
                    }
                    continue;
                }
                ("patternProperties" | "items" | "additionalProperties" | "prefixItems", _) => Place::Part,
                ("oneOf" | "anyOf", _) if !has_kind => Place::Part,
                ("oneOf" | "anyOf" | "allOf" | "not" | "if" | "then" | "else" | "contains", _) => Place::Restriction,
                _ => continue,
            };
            self.add_all(part, key, inner, place);
        }
    }

    /// Adds the schemas of a keyword: one, a list, or an object of patterns.
    fn add_all(&mut self, part: &Part<'a>, key: &str, schemas: &'a Value, place: Place) {
        let pointer = format!("{}/{key}", part.pointer);
        let mut add = |pointer, schema| self.add(&Part { schema, place, pointer, ..part.clone() });
        match schemas {
            Value::Array(all) => {
                (0..).zip(all).for_each(|(index, schema)| add(format!("{pointer}/{index}"), schema));
            }
            Value::Object(named) if key == "patternProperties" => {
                named.iter().for_each(|(pattern, schema)| add(format!("{pointer}/{}", escaped(pattern)), schema));
            }
            schema => add(pointer, schema),
        }
    }
}
