//! Compiles schemas to validators.

use jsonschema::{Draft, Validator};
use mcp_core::message::JsonObject;
use mcp_core::param::{Constraint, Param};
use mcp_core::schema;
use mcp_core::support::cut;
use mcp_core::support::faults::listed;
use serde_json::{Value, json};

use super::sample::FORMATS;
use super::{DEFINITIONS, Subject};
use crate::util::panic::guard;

/// A schema with its validator, or why there is none.
pub(super) type Compiled = Result<Checked, String>;

/// A schema with its validator.
pub(super) struct Checked {
    pub(super) schema: Value,
    /// Whether formats are checked.
    pub(super) formats: bool,
    pub(super) validator: Validator,
    /// For a recursive schema: one that checks a single level, to explain faults. A validator reports the faults of all
    /// alternatives at every level, which doubles the time for each level that two of them share.
    shallow: Option<Validator>,
}

impl Checked {
    /// The validator that explains faults, and whether it checks everything.
    pub(super) fn explaining(&self) -> (&Validator, bool) {
        (self.shallow.as_ref().unwrap_or(&self.validator), self.shallow.is_none())
    }
}

/// The most bytes that are quoted from schemas and from errors of the validator.
const MAX_QUOTED: usize = 160;

/// The validator of a tool's arguments.
pub(super) fn input(subject: &dyn Subject) -> Compiled {
    let schema = match subject.entry() {
        Some(entry) if entry.input_schema.is_none() => with_explicit_formats(subject.input(), entry.params),
        _ => subject.input().clone(),
    };
    compile(schema, true)
}

/// The validator of a tool's results, if it has an output schema.
pub(super) fn output(subject: &dyn Subject) -> Option<Compiled> {
    let is_explicit = subject.entry().is_none_or(|entry| entry.output_schema.is_some());
    subject.output().map(|schema| compile(schema.clone(), is_explicit))
}

pub(super) fn compile(schema: Value, formats: bool) -> Compiled {
    let validator = validator(&schema, formats)?;
    let shallow = shallow(&schema).and_then(|schema| self::validator(&schema, formats).ok());
    Ok(Checked { schema, formats, validator, shallow })
}

/// The validator of a schema. The compiler panics on some invalid schemas.
pub(super) fn validator(schema: &Value, formats: bool) -> Result<Validator, String> {
    let built = guard(|| {
        jsonschema::options().should_validate_formats(formats).build(schema).map_err(|error| {
            let at = match error.instance_path().as_str() {
                "" => String::new(),
                path => format!(" at `{}`", cut(path, MAX_QUOTED)),
            };
            format!("{}{at}", cut(&error.to_string(), MAX_QUOTED))
        })
    });
    built.unwrap_or_else(|panicked| Err(format!("it cannot be compiled: {}", cut(panicked.message(), MAX_QUOTED))))
}

/// The keywords that hold references.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The schema without its recursive references, if it has any.
fn shallow(schema: &Value) -> Option<Value> {
    let mut references = Vec::new();
    each_reference(schema, &mut |reference| references.push(reference.to_owned()));
    references.retain(|reference| is_recursive(schema, reference));
    if references.is_empty() {
        return None;
    }
    let mut shallow = schema.clone();
    let at_root = |reference: &str| !DEFINITIONS.iter().any(|key| reference.starts_with(&format!("#/{key}/")));
    remove_references(&mut shallow, &|reference| at_root(reference) && references.iter().any(|it| it == reference));
    for definition in DEFINITIONS.iter().filter_map(|key| schema.get(key).map(|_| *key)) {
        let definitions = shallow.get_mut(definition).and_then(Value::as_object_mut);
        for definition in definitions.into_iter().flat_map(JsonObject::values_mut) {
            remove_references(definition, &|reference| references.iter().any(|it| it == reference));
        }
    }
    Some(shallow)
}

/// Whether the target of a reference leads back to it.
fn is_recursive(schema: &Value, reference: &str) -> bool {
    let mut found = vec![reference.to_owned()];
    let mut next = 0;
    while let Some(target) = found.get(next).and_then(|it| it.strip_prefix('#')).and_then(|it| schema.pointer(it)) {
        let mut is_back = false;
        each_reference(target, &mut |inner| {
            is_back |= inner == reference;
            if !found.iter().any(|it| it == inner) {
                found.push(inner.to_owned());
            }
        });
        if is_back {
            return true;
        }
        next += 1;
    }
    // A target outside of the schema may lead back.
    next < found.len()
}

pub(super) fn each_reference<'a>(schema: &'a Value, visit: &mut impl FnMut(&'a str)) {
    match schema {
        Value::Object(members) => members.iter().for_each(|(key, value)| match value {
            Value::String(reference) if REFERENCES.contains(&key.as_str()) => visit(reference),
            inner => each_reference(inner, visit),
        }),
        Value::Array(items) => items.iter().for_each(|item| each_reference(item, visit)),
        _ => {}
    }
}

fn remove_references(schema: &mut Value, is_removed: &dyn Fn(&str) -> bool) {
    let Value::Object(object) = schema else { return };
    for key in REFERENCES {
        if object.get(key).and_then(Value::as_str).is_some_and(is_removed) {
            object.shift_remove(key);
        }
    }
    schema::each_subschema(object, &mut |_, inner| remove_references(inner, is_removed));
}

/// The input schema with only those formats that the tool's author gave to parameters. Types check their own formats, and
/// may accept more or less than the format allows.
fn with_explicit_formats(published: &Value, params: &[Param]) -> Value {
    let mut schema = published.clone();
    strip_formats(&mut schema);
    for param in params {
        let Some(property) = schema.pointer_mut("/properties").and_then(|all| all.get_mut(param.name)) else {
            continue;
        };
        if param.explicit_schema.is_some() {
            property.clone_from(&published["properties"][param.name]);
        }
        for constraint in param.constraints {
            if let (Constraint::Format(format), Value::Object(property)) = (constraint, &mut *property) {
                property.insert("format".to_owned(), (*format).into());
            }
        }
    }
    if let (true, Some(definitions)) =
        (params.iter().any(|param| param.explicit_schema.is_some()), published.get("$defs"))
    {
        schema["$defs"].clone_from(definitions);
    }
    schema
}

fn strip_formats(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.shift_remove("format");
    schema::each_subschema(object, &mut |_, inner| strip_formats(inner));
}

/// What is wrong with the explicit schemas of a tool: which one, and why.
pub(crate) fn schema_faults(subject: &dyn Subject) -> Vec<(&'static str, String)> {
    let entry = subject.entry();
    let input = entry.is_none_or(|entry| entry.input_schema.is_some()).then(|| input(subject));
    let output = entry.is_none_or(|entry| entry.output_schema.is_some()).then(|| output(subject)).flatten();
    let schemas = [("input", input), ("output", output)].into_iter();
    schemas.filter_map(|(which, compiled)| Some((which, invalid_schema(&compiled?.err()?)))).collect()
}

fn invalid_schema(reason: &str) -> String {
    format!("is not a JSON Schema: {reason}; correct it")
}

/// What is wrong with the explicit schema, `pattern` and `format` of a parameter.
pub(crate) fn param_faults(param: &Param) -> Vec<String> {
    let constraints = param.constraints.iter().filter_map(|constraint| match constraint {
        Constraint::Pattern(pattern) => pattern_fault(pattern),
        Constraint::Format(format) => format_fault(format),
        _ => None,
    });
    let schema = param.explicit_schema.map(|schema| schema()).filter(Value::is_object);
    let error = schema.and_then(|schema| compile(schema, true).err());
    let schema = error.map(|reason| format!("has a schema that {}", invalid_schema(&reason)));
    schema.into_iter().chain(constraints).collect()
}

fn pattern_fault(pattern: &str) -> Option<String> {
    compile(json!({ "pattern": pattern }), false).err()?;
    Some(format!("has the pattern `{}`, which is no regular expression; correct it", cut(pattern, MAX_QUOTED)))
}

fn format_fault(format: &str) -> Option<String> {
    let known = |format: &str| jsonschema::options().is_known_format(Draft::Draft202012, format);
    let names = FORMATS.iter().map(|(name, _)| name).filter(|name| known(name));
    (!known(format)).then(|| format!("has the format `{format}`, which is unknown; use {}", listed(names)))
}
