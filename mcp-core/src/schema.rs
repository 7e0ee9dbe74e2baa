//! The schemas of tools, in a form that most hosts and model providers take.
//!
//! Subschemas stand where they are used, without `$ref`; what may be left out is not required and has no null type;
//! numbers have bounds and no format; any JSON is `{}`; an enum of names is an `enum`; other enums are an `anyOf` whose
//! tags are an `enum` of one name.

mod flat;
mod profile;
mod refs;
mod shape;

use std::cmp::Ordering;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

#[doc(hidden)]
pub use self::profile::each_subschema;
use self::profile::{Profile, Side, describe, host_safe, without_nulls};
#[doc(hidden)]
pub use self::shape::{KeyFault, Shape, input_shape, output_shape};
use crate::entry::ToolEntry;
use crate::message::JsonObject;
use crate::param::{Bound, Constraint, Param, ToolParam};

/// The schema of what a tool takes, before anything is checked of it.
pub fn input_of(entry: &ToolEntry) -> Value {
    if let Some(explicit) = entry.input_schema {
        return explicit();
    }
    let shapes: Vec<Shape> = entry.params.iter().map(|param| (param.shape)()).collect();
    refs::inlined_if_small(|inline| assemble(entry, &shapes, inline))
}

/// The schema of a return type: an object, or `{"result": …}`.
pub fn output_of<T: JsonSchema>(shape: &Shape) -> Value {
    let profile = Profile { side: Side::Output, enums: &shape.enums, written: false };
    refs::inlined_if_small(|inline| {
        let mut generator = settings(inline).for_serialize().into_generator();
        let mut schema = refs::resolved(generator.subschema_for::<T>().to_value(), generator.definitions());
        let wraps = !is_object(&schema, generator.definitions(), 0);
        host_safe(&mut schema, profile);
        let root = match schema {
            Value::Object(object) if !wraps => object,
            schema => object([("properties", json!({ "result": schema })), ("required", json!(["result"]))]),
        };
        finish(root, generator, profile, &[])
    })
}

/// Whether a value of the type is no object and stands in a result as `{"result": …}`.
pub fn wraps<T: JsonSchema>() -> bool {
    let mut generator = settings(false).for_serialize().into_generator();
    let schema = generator.subschema_for::<T>().to_value();
    !is_object(&schema, generator.definitions(), 0)
}

/// The schemas of the types of a tool's parameters, whatever its author wrote in their place.
pub fn types_of(entry: &ToolEntry) -> Value {
    let mut generator = settings(false).for_deserialize().into_generator();
    let types: Vec<Value> = entry.params.iter().map(|param| (param.schema)(&mut generator).to_value()).collect();
    json!({ "prefixItems": types, "$defs": generator.definitions() })
}

/// The schema of a parameter alone, for checks.
pub fn lone_param_schema(param: &Param) -> Value {
    let shape = (param.shape)();
    let profile = Profile { side: Side::Input, enums: &shape.enums, written: false };
    refs::inlined_if_small(|inline| {
        let mut generator = settings(inline).for_deserialize().into_generator();
        match param_schema(param, &mut generator, profile) {
            Value::Object(root) => with_definitions(root, generator, profile, std::slice::from_ref(param)),
            other => other,
        }
    })
}

fn settings(inline: bool) -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = inline;
    })
}

fn object<const N: usize>(members: [(&str, Value); N]) -> JsonObject {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn assemble(entry: &ToolEntry, shapes: &[Shape], inline: bool) -> Value {
    let mut generator = settings(inline).for_deserialize().into_generator();
    let enums: Vec<&[&str]> = shapes.iter().flat_map(|shape| &shape.enums).copied().collect();
    let profile = Profile { side: Side::Input, enums: &enums, written: false };
    let mut root = match entry.params {
        [whole] if entry.flatten => flattened(whole, &mut generator, profile),
        params => listed(params, &mut generator, profile),
    };
    // schemars takes over what is said of a flattened struct where nothing is said of the one around it.
    if entry.flatten && shapes.iter().any(|shape| shape.flattens) {
        root.shift_remove("description");
    }
    root.entry("properties").or_insert_with(|| json!({}));
    if !entry.allow_unknown_arguments {
        root.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    finish(root, generator, profile, entry.params)
}

fn listed(params: &[Param], generator: &mut SchemaGenerator, profile: Profile<'_>) -> JsonObject {
    let mut properties = JsonObject::new();
    let mut required = Vec::new();
    for param in params {
        let mut schema = param_schema(param, generator, profile);
        if param.explicit_schema.is_some() {
            refs::move_under(&mut schema, param.name);
        }
        properties.insert(param.name.to_owned(), schema);
        if param.is_required() {
            required.push(Value::from(param.name));
        }
    }
    let mut root = object([("properties", properties.into())]);
    if !required.is_empty() {
        root.insert("required".into(), required.into());
    }
    root
}

/// The schema of a struct whose fields are the arguments.
fn flattened(param: &Param, generator: &mut SchemaGenerator, profile: Profile<'_>) -> JsonObject {
    let mut schema = refs::resolved(type_schema(param, generator), generator.definitions());
    host_safe(&mut schema, profile);
    let Value::Object(root) = schema else { return JsonObject::new() };
    let definitions = host_safe_definitions(generator.definitions().clone(), profile, &[]);
    flat::without_alternatives(root, &definitions)
}

/// The names that a struct whose fields are the arguments takes; none where it takes any.
pub(crate) fn fields_of<T: ToolParam>() -> Option<Vec<String>> {
    let mut generator = settings(true).for_deserialize().into_generator();
    let profile = Profile { side: Side::Input, enums: &[], written: false };
    let root = flattened(&Param::of::<T>(""), &mut generator, profile);
    if root.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
        return None;
    }
    let properties = root.get("properties").and_then(Value::as_object);
    Some(properties.into_iter().flat_map(JsonObject::keys).cloned().collect())
}

/// The root as an object, with what it refers to.
fn finish(mut root: JsonObject, generator: SchemaGenerator, profile: Profile<'_>, params: &[Param]) -> Value {
    root.shift_remove("title");
    if !root.contains_key("type") {
        root.shift_insert(0, "type".into(), "object".into());
    }
    with_definitions(root, generator, profile, params)
}

fn with_definitions(
    mut root: JsonObject,
    mut generator: SchemaGenerator,
    profile: Profile<'_>,
    params: &[Param],
) -> Value {
    let mut definitions = host_safe_definitions(generator.take_definitions(true), profile, params);
    refs::keep_used(&root, &mut definitions);
    if !definitions.is_empty() {
        root.insert("$defs".into(), definitions.into());
    }
    Value::Object(root)
}

/// The definitions of types, and those of the schemas that were written for parameters.
fn host_safe_definitions(mut definitions: JsonObject, profile: Profile<'_>, params: &[Param]) -> JsonObject {
    let written: Vec<Value> = params.iter().filter_map(|param| Some(param.explicit_schema?())).collect();
    for (name, schema) in &mut definitions {
        let written = written.iter().any(|schema| schema["$defs"].get(name).is_some());
        host_safe(schema, Profile { written, ..profile });
    }
    definitions
}

/// The schema of a parameter's type, or the one that its author wrote.
fn type_schema(param: &Param, generator: &mut SchemaGenerator) -> Value {
    let Some(explicit) = param.explicit_schema else {
        return (param.schema)(generator).to_value();
    };
    let mut schema = explicit();
    if let Value::Object(object) = &mut schema {
        // schemars names the type here, as it does for the root of a document.
        object.shift_remove("title");
        // References are resolved from the root, so what they refer to has to stand there.
        if let Some(Value::Object(definitions)) = object.shift_remove("$defs") {
            generator.definitions_mut().extend(definitions);
        }
    }
    schema
}

/// The schema of a parameter with all that its author says of it.
fn param_schema(param: &Param, generator: &mut SchemaGenerator, profile: Profile<'_>) -> Value {
    let mut schema = type_schema(param, generator);
    host_safe(&mut schema, profile.of(param));
    let Value::Object(object) = &mut schema else { return schema };
    for constraint in param.constraints {
        constrain(object, constraint);
    }
    if !param.description.is_empty() {
        describe(object, param.description);
    }
    if let Some(default) = param.default.map(|default| without_nulls(default())).filter(|default| !default.is_null()) {
        object.insert("default".into(), default);
    }
    if !param.examples.is_empty() {
        object.insert("examples".into(), param.examples.iter().map(|example| without_nulls(example())).collect());
    }
    if let Some(header) = param.header {
        object.insert("x-mcp-header".into(), header.into());
    }
    schema
}

/// Adds a constraint, unless the type keeps to a stricter one.
fn constrain(object: &mut JsonObject, constraint: &Constraint) {
    let (key, value, looser) = match constraint {
        Constraint::Min(bound) => ("minimum", number(*bound), Ordering::Less),
        Constraint::Max(bound) => ("maximum", number(*bound), Ordering::Greater),
        Constraint::MinLength(length) => ("minLength", (*length).into(), Ordering::Less),
        Constraint::MaxLength(length) => ("maxLength", (*length).into(), Ordering::Greater),
        Constraint::MinItems(count) => ("minItems", (*count).into(), Ordering::Less),
        Constraint::MaxItems(count) => ("maxItems", (*count).into(), Ordering::Greater),
        Constraint::Pattern(pattern) => ("pattern", (*pattern).into(), Ordering::Equal),
        Constraint::Format(format) => ("format", (*format).into(), Ordering::Equal),
        Constraint::OneOf(values) => ("enum", json!(values), Ordering::Equal),
    };
    let own = object.get(key).and_then(Value::as_f64);
    let compared = own.zip(value.as_f64()).and_then(|(own, value)| value.partial_cmp(&own));
    if compared != Some(looser) || looser == Ordering::Equal {
        object.insert(key.to_owned(), value);
    }
}

fn number(bound: Bound) -> Value {
    #[allow(clippy::cast_precision_loss, reason = "JSON has no larger integers that every reader takes")]
    match bound {
        Bound::Int(bound) => i64::try_from(bound)
            .map(Value::from)
            .or_else(|_| u64::try_from(bound).map(Value::from))
            .unwrap_or_else(|_| Value::from(bound as f64)),
        Bound::Float(bound) => bound.into(),
    }
}

/// How deep alternatives are looked at; a type can be an alternative of itself.
const ALTERNATIVES: usize = 16;

/// Whether every value that the schema accepts is an object.
fn is_object(schema: &Value, definitions: &JsonObject, depth: usize) -> bool {
    if depth > ALTERNATIVES {
        return false;
    }
    if let Some(referred) = refs::target(schema, definitions) {
        return is_object(referred, definitions, depth + 1);
    }
    let alternatives = |key: &str| {
        let schemas = schema.get(key).and_then(Value::as_array);
        schemas.is_some_and(|schemas| {
            !schemas.is_empty() && schemas.iter().all(|schema| is_object(schema, definitions, depth + 1))
        })
    };
    schema.get("type").is_some_and(|kind| kind == "object") || alternatives("oneOf") || alternatives("anyOf")
}
