//! The lint rules for schemas.

use std::collections::HashSet;

use serde_json::Value;

use super::{Severity, ToolFindings};
use crate::catalog::tool::RegisteredTool;
use crate::validate::{self, FORMATS};

/// The maximum size of a schema that leaves enough room for the conversation.
const GOOD_SCHEMA_SIZE: usize = 8 * 1024;

/// The keywords that restrict the type of a value.
const KINDS: [&str; 9] = ["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "not", "properties"];

pub(super) fn lint(tool: &RegisteredTool, found: &mut ToolFindings<'_>) {
    let schema = tool.input_schema();
    roots(schema, found);
    if let Some(name) = validate::slow_type(tool) {
        found.warn(
            "slow-union",
            format!(
                "takes the untagged enum `{name}`, which contains itself: each level of nesting multiplies the time to read \
                 it, and calls wait for each other; give the enum a tag"
            ),
        );
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if property.get("description").is_none() {
            found.warn(
                "missing-parameter-description",
                format!("does not say what `{name}` is; write a doc comment on the parameter"),
            );
        }
    }
    let mut findings = PartFindings { side: "input", findings: Vec::new() };
    for part in parts(schema) {
        input_part(part, &mut findings);
        any_part(part, &mut findings);
    }
    findings.side = "output";
    for part in tool.output_schema().into_iter().flat_map(|schema| parts(schema)) {
        any_part(part, &mut findings);
    }
    for PartFinding { rule, severity, before, name, sides, after } in findings.findings {
        let place =
            if name.is_empty() { format!("the root of its {sides}") } else { format!("`{name}` of its {sides}") };
        found.add(rule, severity, format!("{before} {place}{after}"));
    }
}

/// The rules for the root of an input schema.
fn roots(schema: &Value, found: &mut ToolFindings<'_>) {
    let size = schema.to_string().len();
    if size > GOOD_SCHEMA_SIZE {
        found.warn(
            "schema-size",
            format!("has an input schema of {size} bytes, which takes tokens in every conversation; make it smaller"),
        );
    }
    if let Some(key) = ["oneOf", "anyOf", "allOf"].into_iter().find(|key| schema.get(key).is_some()) {
        found.error(
            "root-union",
            format!(
                "has `{key}` at the root of its input schema, which Anthropic and OpenAI refuse; put the enum into a field"
            ),
        );
    }
    if let Some(name) = validate::recursive_type(schema) {
        found.error(
            "schema-references",
            format!(
                "has an input schema in which `{name}` contains itself: llama-index and mcp-use for Python lose all tools of \
                 the server, and OpenAI's strict mode is off; use a type for each level, or a flat list that refers by id"
            ),
        );
    } else if ["$defs", "definitions"].iter().any(|key| schema.get(key).is_some()) {
        found.warn(
            "schema-references",
            "has an input schema with `$ref`, which several hosts do not follow; make the types smaller",
        );
    }
    if schema.get("properties").is_none() {
        found.warn(
            "missing-properties",
            "has an input schema without `properties`, which some hosts refuse; write `\"properties\": {}`",
        );
    }
}

/// A finding on a value. If the value is in both the input and the output, it is reported once.
struct PartFinding<'a> {
    rule: &'static str,
    severity: Severity,
    before: String,
    name: &'a str,
    /// `input`, `output`, or `input and output`.
    sides: String,
    after: &'static str,
}

struct PartFindings<'a> {
    /// The current side: `input`, then `output`.
    side: &'static str,
    findings: Vec<PartFinding<'a>>,
}

impl<'a> PartFindings<'a> {
    fn warn(&mut self, rule: &'static str, before: impl Into<String>, part: Part<'a>, after: &'static str) {
        self.add(rule, Severity::Warning, before.into(), part, after);
    }

    fn add(&mut self, rule: &'static str, severity: Severity, before: String, part: Part<'a>, after: &'static str) {
        let (side, name) = (self.side, part.name);
        let same = |seen: &&mut PartFinding<'_>| seen.rule == rule && seen.name == name && seen.before == before;
        match self.findings.iter_mut().find(same) {
            Some(seen) if seen.sides.ends_with(side) => {}
            Some(seen) => seen.sides = format!("{} and {side}", seen.sides),
            None => self.findings.push(PartFinding { rule, severity, before, name, sides: side.to_owned(), after }),
        }
    }
}

fn is_kind(schema: &Value, kind: &str) -> bool {
    schema.get("type").is_some_and(|known| known == kind)
}

/// The rules for schemas in the input.
fn input_part<'a>(part: Part<'a>, found: &mut PartFindings<'a>) {
    let Part { schema, .. } = part;
    let mut warn = |rule, before: &str, after| found.warn(rule, before, part, after);
    if is_nullable(schema) {
        warn("null-type", "takes null in", ", which Gemini refuses; leave it out of `required` instead");
    }
    let is_value = matches!(part.place, Place::Property | Place::Part);
    if is_value && ["oneOf", "const"].iter().any(|key| schema.get(key).is_some()) {
        let after = ", which converters for Gemini drop; write `anyOf`, and an `enum` of one value";
        warn("one-of", "has `oneOf` or `const` in", after);
    }
    let is_open = |key: &str| schema.get(key).is_some_and(|more| *more != Value::Bool(false));
    if is_value && (is_open("additionalProperties") || is_open("patternProperties")) {
        let after = ", for which OpenAI's strict mode is off; use a list of structs with a key, if you need it";
        warn("map", "takes a map in", after);
    }
    if KINDS.iter().any(|key| schema.get(key).is_some()) {
        return;
    }
    match part.place {
        Place::Property => {
            let after = ": autogen loses all tools of the server, Anthropic's `transform_schema` fails, Gemini and \
                         smolagents treat it as a string; use a more specific type, or `allow(\"any-value\")` if any \
                         JSON is meant";
            found.add("any-value", Severity::Error, "takes any JSON in".to_owned(), part, after);
        }
        Place::Part => {
            let after = ", which Anthropic's `transform_schema` refuses and Gemini treats as a string; use a more \
                         specific type";
            warn("any-value", "takes any JSON within", after);
        }
        Place::Root | Place::Restriction => {}
    }
}

/// The rules for schemas in the input and in the output.
fn any_part<'a>(part: Part<'a>, found: &mut PartFindings<'a>) {
    let Part { name, schema, .. } = part;
    if schema.get("prefixItems").is_some() {
        let after = match found.side {
            "input" => ": Gemini gets a list without items, and OpenAI's strict mode refuses it; use a struct",
            _ => ", which few clients understand; use a struct",
        };
        found.warn("tuple", "has a tuple in", part, after);
    }
    let bound = |schema: &Value, key: &str, value: i64| schema.get(key).is_some_and(|bound| *bound == value);
    let is_byte =
        |items: &Value| is_kind(items, "integer") && bound(items, "minimum", 0) && bound(items, "maximum", 255);
    if is_kind(schema, "array") && schema.get("items").is_some_and(is_byte) {
        found.warn(
            "bytes",
            "has a list of bytes in",
            part,
            ", which takes a model many tokens; use base64 in a string",
        );
    }
    let is_known = |format: &str| FORMATS.iter().any(|known| known.name == format);
    if let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| !is_known(format)) {
        let before = format!("uses the format `{format}` in");
        found.warn("unknown-format", before, part, ", which JSON Schema does not define; use `pattern`");
    }
    let lower = name.to_ascii_lowercase();
    let is_id =
        lower == "id" || name.ends_with("_id") || name.ends_with("Id") || lower == "ids" || name.ends_with("_ids");
    if is_id && is_kind(schema, "integer") && schema.get("maximum").is_none() {
        let after = ", of which clients in TypeScript lose digits beyond 2^53; use a string";
        found.warn("wide-integer-id", "has the 64-bit integer", part, after);
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    /// A named member of an object.
    Property,
    /// An array item, a value of a map, or an alternative.
    Part,
    /// A restriction of a value that another schema defines.
    Restriction,
}

/// A schema within a schema, with the name of its value.
#[derive(Clone, Copy)]
struct Part<'a> {
    name: &'a str,
    schema: &'a Value,
    place: Place,
}

/// Every schema within a schema. The target of a `$ref` is visited once, at its first use.
fn parts(schema: &Value) -> Vec<Part<'_>> {
    let mut walk = Walk { document: schema, followed: HashSet::new(), parts: Vec::new() };
    walk.add(Part { name: "", schema, place: Place::Root });
    walk.parts
}

struct Walk<'a> {
    document: &'a Value,
    followed: HashSet<&'a str>,
    parts: Vec<Part<'a>>,
}

impl<'a> Walk<'a> {
    fn add(&mut self, part: Part<'a>) {
        let Part { name, schema, place } = part;
        let Value::Object(object) = schema else { return };
        self.parts.push(part);
        let has_kind = object.contains_key("type") || place == Place::Restriction;
        for (key, inner) in object {
            match (key.as_str(), inner) {
                ("$ref", Value::String(reference)) => {
                    let target = reference.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer));
                    let target = target.filter(|_| self.followed.insert(reference));
                    self.add_all(target, place, name);
                }
                ("properties", Value::Object(named)) => {
                    let place = if place == Place::Restriction { place } else { Place::Property };
                    named.iter().for_each(|(name, schema)| self.add(Part { name, schema, place }));
                }
                ("patternProperties", Value::Object(named)) => self.add_all(named.values(), Place::Part, name),
                ("items" | "additionalProperties", schema) => self.add_all([schema], Place::Part, name),
                ("not" | "if" | "then" | "else" | "contains", schema) => {
                    self.add_all([schema], Place::Restriction, name);
                }
                ("prefixItems", Value::Array(all)) => self.add_all(all, Place::Part, name),
                ("oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                    let place = if has_kind || key == "allOf" { Place::Restriction } else { Place::Part };
                    self.add_all(all, place, name);
                }
                _ => {}
            }
        }
    }

    /// Adds several schemas of one value, all in the same position.
    fn add_all(&mut self, schemas: impl IntoIterator<Item = &'a Value>, place: Place, name: &'a str) {
        schemas.into_iter().for_each(|schema| self.add(Part { name, schema, place }));
    }
}
