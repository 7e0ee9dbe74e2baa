//! Whether a tool's input schema says more than its types enforce.
//!
//! A schema is taken at its word and each word is tried: a value that breaks just one keyword is read by the tool,
//! which is not run. What the tool refuses, its types enforce; what it takes, or what cannot be tried, needs the
//! validator. So `maximum: 255` of a `u8` costs nothing, and `maximum: 100` of a `#[schemars(range(max = 100))]` is
//! checked.

use std::collections::HashSet;

use mcp_core::__private::words::escaped;
use mcp_core::{Constraint, JsonObject, ToolEntry};
use serde_json::{Value, json};

use super::Subject;
use super::sample::{Broken, Document};
use crate::util::panic::guard;

/// When the validator has to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Always: this is what nothing else enforces.
    Always(Unenforced),
    /// When there are such values among the arguments: serde reads a struct from a list as well, and a variant from
    /// an object.
    With {
        /// Lists.
        lists: bool,
        /// Objects in the arguments.
        objects: bool,
    },
}

/// A keyword that the types do not enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unenforced {
    /// The keyword.
    pub(crate) keyword: String,
    /// Where it says something, as a JSON Pointer into the arguments; `*` is any item or member.
    pub(crate) path: String,
}

/// The keywords that say something and demand nothing, and those that only hold other schemas.
const SILENT: [&str; 16] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// The keywords that are tried, or that nobody can try.
const DEMANDS: [&str; 33] = [
    "type",
    "enum",
    "const",
    "required",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
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
    "$dynamicRef",
    "$recursiveRef",
];

/// The keywords that say what a type looks like: where a sample cannot be made, serde is trusted with them.
const SHAPE: [&str; 6] = ["type", "enum", "const", "required", "additionalProperties", "unevaluatedProperties"];

/// When the validator has to run for a tool.
pub(super) fn need(subject: &dyn Subject) -> Need {
    let entry = match subject.entry() {
        Some(entry) if entry.input_schema.is_none() => entry,
        _ => return explicit(subject.input()),
    };
    for param in entry.params {
        let path = format!("/{}", escaped(param.name));
        let said = param.constraints.iter().find_map(|constraint| match constraint {
            Constraint::Pattern(_) => Some("pattern"),
            Constraint::Format(_) => Some("format"),
            _ => None,
        });
        if let Some(keyword) = said.or_else(|| param.explicit_schema.and(Some("schema"))) {
            return Need::Always(Unenforced { keyword: keyword.to_owned(), path });
        }
    }
    let schema = subject.input();
    let mut trial = Trial {
        entry,
        document: Document(schema),
        seen: HashSet::new(),
        among: std::ptr::null(),
        lists: false,
        objects: false,
    };
    match trial.arguments() {
        Ok(()) => Need::With { lists: trial.lists, objects: trial.objects },
        Err(unenforced) => Need::Always(unenforced),
    }
}

/// What a schema that somebody wrote says, all of which is for the validator.
fn explicit(schema: &Value) -> Need {
    let says = |(key, said): &(&String, &Value)| match key.as_str() {
        // Arguments are always an object.
        "type" => **said != json!("object"),
        "properties" | "patternProperties" | "additionalProperties" | "unevaluatedProperties" => {
            **said != json!({}) && **said != Value::Bool(true)
        }
        "required" => **said != json!([]),
        keyword => !SILENT.contains(&keyword),
    };
    let said = schema.as_object().into_iter().flatten().find(says);
    said.map_or(Need::With { lists: false, objects: false }, |(key, _)| {
        Need::Always(Unenforced { keyword: key.clone(), path: String::new() })
    })
}

/// Puts a value where it is tried. None where the schema takes it for something else.
type Put<'p> = &'p dyn Fn(Value) -> Option<Value>;

struct Trial<'a> {
    entry: &'static ToolEntry,
    document: Document<'a>,
    /// The definitions that were tried, and as an alternative to what.
    seen: HashSet<(&'a str, *const Value)>,
    /// The alternatives that are tried.
    among: *const Value,
    lists: bool,
    objects: bool,
}

/// What the tool makes of some arguments.
enum Read {
    Taken,
    Refused,
    /// Refused at the place that is tried.
    RefusedHere,
}

impl<'a> Trial<'a> {
    fn arguments(&mut self) -> Result<(), Unenforced> {
        let root = self.document.0;
        if self.entry.flatten {
            return self.schema(root, "", &Some);
        }
        // What stands at the root besides, generated code enforces.
        for (name, schema) in root.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.schema(schema, &format!("/{}", escaped(name)), &|value| Some(json!({ name.as_str(): value })))?;
        }
        Ok(())
    }

    fn schema(&mut self, schema: &'a Value, at: &str, put: Put<'_>) -> Result<(), Unenforced> {
        let Value::Object(object) = schema else { return Ok(()) };
        for (keyword, said) in object {
            match (keyword.as_str(), said) {
                ("$ref", Value::String(reference)) => self.reference(reference, at, put)?,
                ("properties", Value::Object(properties)) => self.properties(object, properties, at, put)?,
                ("additionalProperties" | "unevaluatedProperties", Value::Object(_)) => {
                    let document = self.document;
                    self.schema(said, &format!("{at}/*"), &|value| put(with(document, object, "key", value)))?;
                }
                ("additionalProperties" | "unevaluatedProperties", _) => self.keyword(object, keyword, at, put)?,
                ("items", _) => self.items(object, said, at, put)?,
                ("prefixItems", Value::Array(items)) => self.first_items(object, items, at, put)?,
                ("oneOf" | "anyOf", Value::Array(alternatives)) => self.alternatives(keyword, alternatives, at, put)?,
                ("allOf", Value::Array(parts)) => {
                    parts.iter().try_for_each(|part| self.schema(part, at, put))?;
                }
                // Arguments are an object always.
                ("type", _) if at.is_empty() => {}
                (known, _) if DEMANDS.contains(&known) => self.keyword(object, keyword, at, put)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn reference(&mut self, reference: &'a str, at: &str, put: Put<'_>) -> Result<(), Unenforced> {
        // One type is one type wherever it stands.
        if !self.seen.insert((reference, self.among)) {
            return Ok(());
        }
        match self.document.target(reference) {
            Some(target) => self.schema(target, at, put),
            None => Err(Unenforced { keyword: "$ref".to_owned(), path: at.to_owned() }),
        }
    }

    fn properties(
        &mut self,
        object: &'a JsonObject,
        properties: &'a JsonObject,
        at: &str,
        put: Put<'_>,
    ) -> Result<(), Unenforced> {
        self.lists |= !at.is_empty();
        let document = self.document;
        properties.iter().try_for_each(|(name, schema)| {
            self.schema(schema, &format!("{at}/{}", escaped(name)), &|value| put(with(document, object, name, value)))
        })
    }

    fn items(&mut self, object: &JsonObject, schema: &'a Value, at: &str, put: Put<'_>) -> Result<(), Unenforced> {
        let first = object.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        let least = object.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let wanted = least.max(first as u64 + 1);
        let items = self.document.items(object, wanted, 0).unwrap_or_else(|| vec![Value::Null; first + 1]);
        self.schema(schema, &format!("{at}/*"), &|value| put(replaced(&items, first, value)))
    }

    fn first_items(
        &mut self,
        object: &JsonObject,
        schemas: &'a [Value],
        at: &str,
        put: Put<'_>,
    ) -> Result<(), Unenforced> {
        let items = self.document.items(object, schemas.len() as u64, 0);
        let items = items.unwrap_or_else(|| vec![Value::Null; schemas.len()]);
        schemas.iter().enumerate().try_for_each(|(index, schema)| {
            self.schema(schema, &format!("{at}/{index}"), &|value| put(replaced(&items, index, value)))
        })
    }

    /// A value that breaks one alternative breaks nothing if it fits another.
    fn alternatives(
        &mut self,
        keyword: &str,
        alternatives: &'a [Value],
        at: &str,
        put: Put<'_>,
    ) -> Result<(), Unenforced> {
        let document = self.document;
        let outer = std::mem::replace(&mut self.among, alternatives.as_ptr());
        for (own, alternative) in alternatives.iter().enumerate() {
            let fits_other = |value: &Value| {
                let mut others = alternatives.iter().enumerate().filter(|(index, _)| *index != own);
                others.any(|(_, other)| document.fits(other, value, 0))
            };
            // serde takes the first that fits, and does not ask whether there is another.
            if keyword == "oneOf" && document.sample(alternative).is_some_and(|sample| fits_other(&sample)) {
                return Err(Unenforced { keyword: keyword.to_owned(), path: at.to_owned() });
            }
            self.schema(alternative, at, &|value| if fits_other(&value) { None } else { put(value) })?;
        }
        self.among = outer;
        Ok(())
    }

    /// Tries one keyword.
    fn keyword(&mut self, object: &JsonObject, keyword: &str, at: &str, put: Put<'_>) -> Result<(), Unenforced> {
        let unenforced = || Unenforced { keyword: keyword.to_owned(), path: at.to_owned() };
        let values = match self.document.broken(object, keyword) {
            Broken::None => return Ok(()),
            Broken::By(values) => values,
            Broken::Unknown => return Err(unenforced()),
        };
        for value in values {
            let (is_list, is_object) = (value.is_array(), value.is_object());
            let Some(arguments) = put(value) else { continue };
            let enforced = match self.read(&arguments, at) {
                Read::RefusedHere => true,
                Read::Refused => SHAPE.contains(&keyword) || self.takes_sample(object, at, put),
                Read::Taken => false,
            };
            match keyword {
                _ if enforced => {}
                "type" if is_list => self.lists = true,
                "type" | "enum" | "const" if is_object => self.objects = true,
                _ => return Err(unenforced()),
            }
        }
        Ok(())
    }

    /// Whether the tool takes what fits, so that it is the break that it refuses.
    fn takes_sample(&self, object: &JsonObject, at: &str, put: Put<'_>) -> bool {
        let sample = self.document.sample(&Value::Object(object.clone())).and_then(put);
        sample.is_some_and(|arguments| matches!(self.read(&arguments, at), Read::Taken))
    }

    fn read(&self, arguments: &Value, at: &str) -> Read {
        let json = arguments.to_string();
        // A type of the user's may panic at what nobody would send.
        let read = guard(|| self.entry.check(&json));
        let Ok(Err(faults)) = read else { return Read::Taken };
        // Other arguments are missing, which is not what is tried.
        let argument = at.split('/').nth(1).filter(|_| !self.entry.flatten);
        let within = |path: &str| argument.is_none_or(|name| path.split('/').nth(1) == Some(name));
        if faults.iter().any(|fault| is_at(&fault.path, at)) {
            return Read::RefusedHere;
        }
        if faults.iter().any(|fault| within(&fault.path)) { Read::Refused } else { Read::Taken }
    }
}

/// Whether a path is the one with `*` for any step.
fn is_at(path: &str, at: &str) -> bool {
    let (path, at) = (path.split('/'), at.split('/'));
    path.clone().count() == at.clone().count() && path.zip(at).all(|(step, wanted)| wanted == "*" || step == wanted)
}

/// An object of the schema with one member as it is tried. It comes first, so that it is read before any other.
fn with(document: Document<'_>, object: &JsonObject, name: &str, value: Value) -> Value {
    let sample = document.sample(&Value::Object(object.clone()));
    let mut members = JsonObject::new();
    members.insert(name.to_owned(), value);
    if let Some(Value::Object(others)) = sample {
        for (other, value) in others {
            members.entry(other).or_insert(value);
        }
    }
    members.into()
}

fn replaced(items: &[Value], index: usize, value: Value) -> Value {
    let mut items = items.to_vec();
    items[index] = value;
    items.into()
}
