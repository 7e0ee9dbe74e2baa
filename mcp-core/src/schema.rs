//! The schemas of tools, in the one form that every host and model provider takes.
//!
//! Subschemas stand where they are used, without `$ref`; what may be left out is not required and has no null type;
//! numbers have bounds and no format; any JSON is `{}`; an enum of names is an `enum`.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::entry::ToolEntry;
use crate::message::JsonObject;
use crate::param::{Bound, Constraint, Param};

/// Where inlining makes a schema larger than this and more than twice as large, `$defs` are kept.
const INLINE_LIMIT: usize = 4096;

/// The schema of what a tool takes, before anything is checked of it.
pub fn input_of(entry: &ToolEntry) -> Value {
    if let Some(explicit) = entry.input_schema {
        return explicit();
    }
    let inlined = assemble(entry, true);
    if inlined.to_string().len() > INLINE_LIMIT {
        let referring = assemble(entry, false);
        if inlined.to_string().len() > 2 * referring.to_string().len() {
            return referring;
        }
    }
    inlined
}

fn settings(inline: bool) -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = inline;
    })
}

fn assemble(entry: &ToolEntry, inline: bool) -> Value {
    let mut generator = settings(inline).for_deserialize().into_generator();
    let mut root = match entry.params {
        [whole] if entry.flatten => flattened(whole, &mut generator),
        params => {
            let mut properties = JsonObject::new();
            let mut required = Vec::new();
            for param in params {
                properties.insert(param.name.to_owned(), param_schema(param, &mut generator));
                if param.is_required() {
                    required.push(Value::from(param.name));
                }
            }
            let mut root = JsonObject::new();
            root.insert("type".into(), "object".into());
            root.insert("properties".into(), properties.into());
            if !required.is_empty() {
                root.insert("required".into(), required.into());
            }
            root
        }
    };
    root.entry("properties").or_insert_with(|| json!({}));
    if !entry.allow_unknown_arguments {
        root.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        let definitions = definitions.into_iter().map(|(name, mut schema)| {
            host_safe(&mut schema, Side::Input);
            (name, schema)
        });
        root.insert("$defs".into(), Value::Object(definitions.collect()));
    }
    Value::Object(root)
}

/// The schema of a struct whose fields are the arguments.
fn flattened(param: &Param, generator: &mut SchemaGenerator) -> JsonObject {
    let mut schema = resolved((param.schema)(generator).to_value(), generator);
    host_safe(&mut schema, Side::Input);
    match schema {
        Value::Object(mut object) => {
            object.shift_remove("title");
            object
        }
        _ => JsonObject::new(),
    }
}

/// What a reference at the root of a schema refers to.
fn resolved(schema: Value, generator: &SchemaGenerator) -> Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    name.and_then(|name| generator.definitions().get(name)).cloned().unwrap_or(schema)
}

/// The schema of a parameter with all that its author says of it.
pub fn param_schema(param: &Param, generator: &mut SchemaGenerator) -> Value {
    let mut schema = match param.explicit_schema {
        Some(explicit) => explicit(),
        None => (param.schema)(generator).to_value(),
    };
    host_safe(&mut schema, Side::Input);
    let Value::Object(object) = &mut schema else { return schema };
    for constraint in param.constraints {
        let (key, value) = keyword(constraint);
        object.insert(key.to_owned(), value);
    }
    if !param.description.is_empty() {
        let description =
            match object.get("description").and_then(Value::as_str).filter(|_| object.contains_key("enum")) {
                // The variants' own words stay.
                Some(variants) => format!("{}\n{variants}", param.description),
                None => param.description.to_owned(),
            };
        object.insert("description".into(), description.into());
    }
    if let Some(default) = param.default {
        object.insert("default".into(), default());
    }
    if !param.examples.is_empty() {
        object.insert("examples".into(), param.examples.iter().map(|example| example()).collect());
    }
    if let Some(header) = param.header {
        object.insert("x-mcp-header".into(), header.into());
    }
    schema
}

/// The schema of a parameter alone, for checks.
pub fn lone_param_schema(param: &Param) -> Value {
    param_schema(param, &mut settings(true).for_deserialize().into_generator())
}

fn keyword(constraint: &Constraint) -> (&'static str, Value) {
    let number = |bound: &Bound| match bound {
        Bound::Int(bound) => i64::try_from(*bound).map(Value::from).or_else(|_| u64::try_from(*bound).map(Value::from)),
        Bound::Float(bound) => Ok((*bound).into()),
    };
    match constraint {
        Constraint::Min(bound) => ("minimum", number(bound).unwrap_or_default()),
        Constraint::Max(bound) => ("maximum", number(bound).unwrap_or_default()),
        Constraint::MinLength(length) => ("minLength", (*length).into()),
        Constraint::MaxLength(length) => ("maxLength", (*length).into()),
        Constraint::MinItems(count) => ("minItems", (*count).into()),
        Constraint::MaxItems(count) => ("maxItems", (*count).into()),
        Constraint::Pattern(pattern) => ("pattern", (*pattern).into()),
        Constraint::Format(format) => ("format", (*format).into()),
        Constraint::OneOf(values) => ("enum", json!(values)),
    }
}

/// The schema of a return type: an object, or `{"result": …}`.
pub fn output_of<T: JsonSchema>() -> Value {
    let mut generator = settings(true).for_serialize().into_generator();
    let mut schema = resolved(generator.subschema_for::<T>().to_value(), &generator);
    host_safe(&mut schema, Side::Output);
    if !is_object(&schema) {
        schema = json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
    }
    let definitions = generator.take_definitions(true);
    if let Value::Object(root) = &mut schema {
        if root.get("type").is_none() {
            // Every alternative is an object.
            root.shift_insert(0, "type".into(), "object".into());
        }
        root.shift_remove("title");
        if !definitions.is_empty() {
            let definitions = definitions.into_iter().map(|(name, mut schema)| {
                host_safe(&mut schema, Side::Output);
                (name, schema)
            });
            root.insert("$defs".into(), Value::Object(definitions.collect()));
        }
    }
    schema
}

/// Whether every value that the schema accepts is an object.
fn is_object(schema: &Value) -> bool {
    let alternatives = |key: &str| {
        let schemas = schema.get(key).and_then(Value::as_array);
        schemas.is_some_and(|schemas| !schemas.is_empty() && schemas.iter().all(is_object))
    };
    schema.get("type").is_some_and(|kind| kind == "object") || alternatives("oneOf") || alternatives("anyOf")
}

/// Whether a result is wrapped as `{"result": …}`, by its schema.
pub fn is_wrapped(output: &Value) -> bool {
    let only = output.get("properties").and_then(Value::as_object).filter(|properties| properties.len() == 1);
    only.is_some_and(|properties| properties.contains_key("result")) && output.get("title").is_none()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

/// The keywords under which one schema stands.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
/// The keywords under which a list of schemas stands.
const LIST: [&str; 4] = ["prefixItems", "oneOf", "anyOf", "allOf"];
/// The keywords under which schemas stand by name.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "dependentSchemas"];

/// Brings a schema into the form that every host takes.
fn host_safe(schema: &mut Value, side: Side) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Value::Object(object) = schema else { return };
    for key in ONE {
        match object.get_mut(key) {
            // These two mean the same to every reader.
            Some(Value::Bool(_)) if key == "additionalProperties" => {}
            Some(inner) => host_safe(inner, side),
            None => {}
        }
    }
    for key in LIST {
        object
            .get_mut(key)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .for_each(|inner| host_safe(inner, side));
    }
    for key in NAMED {
        let named = object.get_mut(key).and_then(Value::as_object_mut);
        named.into_iter().flat_map(|named| named.values_mut()).for_each(|inner| host_safe(inner, side));
    }
    if side == Side::Input {
        drop_null(object);
    }
    bound_integer(object);
    fold_names(object);
}

/// `format: int32` and its like are bounds that few readers know.
fn bound_integer(object: &mut JsonObject) {
    let Some(format) = object.get("format").and_then(Value::as_str) else { return };
    let (minimum, maximum) = match format {
        "int8" => (i64::from(i8::MIN), Some(i64::from(i8::MAX))),
        "int16" => (i64::from(i16::MIN), Some(i64::from(i16::MAX))),
        "int32" => (i64::from(i32::MIN), Some(i64::from(i32::MAX))),
        "uint8" => (0, Some(i64::from(u8::MAX))),
        "uint16" => (0, Some(i64::from(u16::MAX))),
        "uint32" => (0, Some(i64::from(u32::MAX))),
        "uint" | "uint64" | "uint128" => (0, None),
        "int" | "int64" | "int128" | "float" | "double" => {
            object.shift_remove("format");
            return;
        }
        _ => return,
    };
    object.shift_remove("format");
    object.entry("minimum").or_insert_with(|| minimum.into());
    if let Some(maximum) = maximum {
        object.entry("maximum").or_insert_with(|| maximum.into());
    }
}

/// What may be null may as well be left out.
fn drop_null(object: &mut JsonObject) {
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        if values.len() > 1 {
            values.retain(|value| !value.is_null());
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(schemas)) = object.get_mut(key) else { continue };
        let is_null = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "null");
        if schemas.len() < 2 || !schemas.iter().any(is_null) {
            continue;
        }
        schemas.retain(|schema| !is_null(schema));
        if let [Value::Object(only)] = schemas.as_slice() {
            let only = only.clone();
            object.shift_remove(key);
            for (inner_key, value) in only {
                object.entry(inner_key).or_insert(value);
            }
        }
    }
    if object.get("default") == Some(&Value::Null) {
        object.shift_remove("default");
    }
}

/// `oneOf` of constants, which is what documented variants become, is an `enum` with the documents in its description.
fn fold_names(object: &mut JsonObject) {
    let Some(alternatives) = object.get("oneOf").and_then(Value::as_array) else { return };
    let (mut names, mut documents) = (Vec::new(), Vec::new());
    for alternative in alternatives {
        let values = match (alternative.get("const"), alternative.get("enum")) {
            (Some(value), None) => vec![value.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            _ => return,
        };
        if !values.iter().all(Value::is_string) {
            return;
        }
        let document = alternative.get("description").and_then(Value::as_str);
        if let (Some(document), [Value::String(name)]) = (document, values.as_slice()) {
            documents.push(format!("- `{name}`: {}", document.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        names.extend(values);
    }
    object.shift_remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), names.into());
    if !documents.is_empty() {
        let own = object.get("description").and_then(Value::as_str);
        let lines: Vec<String> = own.map(str::to_owned).into_iter().chain(documents).collect();
        object.insert("description".into(), lines.join("\n").into());
    }
}
