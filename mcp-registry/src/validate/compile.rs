//! Schemas, made ready to check values by.

use jsonschema::{Draft, Validator};
use mcp_core::__private::cut;
use mcp_core::__private::words::listed;
use mcp_core::{Constraint, JsonObject, Param, RegistrationProblem, schema};
use serde_json::{Value, json};

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
    /// Where the schema refers to itself: one that looks no deeper than a level, to tell faults by. The validator tells
    /// those of all alternatives at every level, which takes twice as long for each level that two of them share.
    shallow: Option<Validator>,
}

impl Checked {
    /// What tells faults, and whether it looks at everything.
    pub(super) fn telling(&self) -> (&Validator, bool) {
        (self.shallow.as_ref().unwrap_or(&self.validator), self.shallow.is_none())
    }
}

/// The most bytes of somebody else's words.
const WORDS: usize = 160;

/// The formats that are checked.
const FORMATS: [&str; 18] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uri-template",
    "iri",
    "iri-reference",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "idn-email",
];

/// The validator of a tool's arguments.
pub(super) fn input(subject: &dyn Subject) -> Compiled {
    let schema = match subject.entry() {
        Some(entry) if entry.input_schema.is_none() => with_own_formats(subject.input(), entry.params),
        _ => subject.input().clone(),
    };
    compile(schema, true)
}

/// The validator of a tool's results, if it says what they are.
pub(super) fn output(subject: &dyn Subject) -> Option<Compiled> {
    let written = subject.entry().is_none_or(|entry| entry.explicit_output);
    subject.output().map(|schema| compile(schema.clone(), written))
}

pub(super) fn compile(schema: Value, formats: bool) -> Compiled {
    let validator = validator(&schema, formats)?;
    let shallow = shallow(&schema).and_then(|schema| self::validator(&schema, formats).ok());
    Ok(Checked { schema, formats, validator, shallow })
}

/// The validator of a schema. The compiler panics at some schemas; those are none either.
pub(super) fn validator(schema: &Value, formats: bool) -> Result<Validator, String> {
    let built = guard(|| {
        jsonschema::options().should_validate_formats(formats).build(schema).map_err(|error| {
            let at = match error.instance_path().as_str() {
                "" => String::new(),
                path => format!(" at `{}`", cut(path, WORDS)),
            };
            format!("{}{at}", cut(&error.to_string(), WORDS))
        })
    });
    built.unwrap_or_else(|panicked| Err(format!("it cannot be compiled: {}", cut(panicked.message(), WORDS))))
}

/// The keywords that refer to other places.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The schema without the references by which it refers to itself, if it does.
fn shallow(schema: &Value) -> Option<Value> {
    let mut references = Vec::new();
    each_reference(schema, &mut |reference| references.push(reference.to_owned()));
    references.retain(|reference| refers_to_itself(schema, reference));
    if references.is_empty() {
        return None;
    }
    let mut shallow = schema.clone();
    let at_root = |reference: &str| !DEFINITIONS.iter().any(|key| reference.starts_with(&format!("#/{key}/")));
    cut_references(&mut shallow, &|reference| at_root(reference) && references.iter().any(|it| it == reference));
    for definition in DEFINITIONS.iter().filter_map(|key| schema.get(key).map(|_| *key)) {
        let definitions = shallow.get_mut(definition).and_then(Value::as_object_mut);
        for definition in definitions.into_iter().flat_map(JsonObject::values_mut) {
            cut_references(definition, &|reference| references.iter().any(|it| it == reference));
        }
    }
    Some(shallow)
}

/// Whether one comes back to where a reference leads.
fn refers_to_itself(schema: &Value, reference: &str) -> bool {
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
    // What leads elsewhere may lead back.
    next < found.len()
}

pub(super) fn each_reference<'a>(schema: &'a Value, see: &mut impl FnMut(&'a str)) {
    match schema {
        Value::Object(members) => members.iter().for_each(|(key, value)| match value {
            Value::String(reference) if REFERENCES.contains(&key.as_str()) => see(reference),
            inner => each_reference(inner, see),
        }),
        Value::Array(items) => items.iter().for_each(|item| each_reference(item, see)),
        _ => {}
    }
}

fn cut_references(schema: &mut Value, is_cut: &dyn Fn(&str) -> bool) {
    let Value::Object(object) = schema else { return };
    for key in REFERENCES {
        if object.get(key).and_then(Value::as_str).is_some_and(is_cut) {
            object.shift_remove(key);
        }
    }
    schema::each_subschema(object, &mut |_, inner| cut_references(inner, is_cut));
}

/// The input schema with the formats that the tool's author gave to the parameters. Those of types are the types' own
/// affair: they may read more than the format says, or less.
fn with_own_formats(published: &Value, params: &[Param]) -> Value {
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
    strip_inner(object);
}

fn strip_inner(object: &mut JsonObject) {
    schema::each_subschema(object, &mut |_, inner| strip_formats(inner));
}

/// What is wrong with what the author of a tool wrote. Schemas are looked at only where nothing is known against them.
pub(crate) fn problems(subject: &dyn Subject, sound: bool) -> Vec<RegistrationProblem> {
    let (name, origin) = (|| subject.name().to_owned(), || Box::new(subject.origin().clone()));
    let entry = subject.entry();
    let wrote_input = sound && entry.is_none_or(|entry| entry.input_schema.is_some());
    let wrote_output = sound && entry.is_none_or(|entry| entry.explicit_output);
    let input = wrote_input.then(|| ("input", input(subject).err()));
    let output = wrote_output.then(|| ("output", output(subject).and_then(Result::err)));
    let schemas = input.into_iter().chain(output).filter_map(|(which, error)| {
        let reason = no_schema(&error?);
        Some(RegistrationProblem::Schema { tool: name(), which, reason, origin: origin() })
    });
    let params = entry.map_or(&[][..], |entry| entry.params).iter().flat_map(|param| {
        let faults = param_faults(param).into_iter();
        faults.map(|reason| (param.name.to_owned(), reason))
    });
    let params =
        params.map(|(param, reason)| RegistrationProblem::Param { tool: name(), param, reason, origin: origin() });
    schemas.chain(params).collect()
}

fn no_schema(reason: &str) -> String {
    format!("is no JSON Schema: {reason}; correct it")
}

fn param_faults(param: &Param) -> Vec<String> {
    let constraints = param.constraints.iter().filter_map(|constraint| match constraint {
        Constraint::Pattern(pattern) => pattern_fault(pattern),
        Constraint::Format(format) => format_fault(format),
        _ => None,
    });
    let schema = param.explicit_schema.map(|schema| schema()).filter(Value::is_object);
    let error = schema.and_then(|schema| compile(schema, true).err());
    let schema = error.map(|reason| format!("has a schema that {}", no_schema(&reason)));
    schema.into_iter().chain(constraints).collect()
}

fn pattern_fault(pattern: &str) -> Option<String> {
    compile(json!({ "pattern": pattern }), false).err()?;
    Some(format!("has the pattern `{}`, which is no regular expression; correct it", cut(pattern, WORDS)))
}

fn format_fault(format: &str) -> Option<String> {
    let known = |format: &str| jsonschema::options().is_known_format(Draft::Draft202012, format);
    let names = FORMATS.iter().filter(|name| known(name));
    (!known(format)).then(|| format!("has the format `{format}`, which nobody knows; use {}", listed(names)))
}
