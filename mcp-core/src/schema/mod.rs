//! The schemas of tools, in a form that most hosts and model providers take.
//!
//! Subschemas stand where they are used, without `$ref`; what may be left out is not required and has no null type;
//! numbers have bounds and no format; any JSON is `{}`; an enum of names is an `enum`; other enums are an `anyOf` whose
//! tags are an `enum` of one name.

pub(crate) mod decimal;
pub(crate) mod flat;
pub(crate) mod model;
mod normalise;
pub(crate) mod profile;
pub(crate) mod read;
pub(crate) mod refs;
mod shape;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

#[doc(hidden)]
pub use self::profile::each_subschema;
use self::profile::{Profile, Side, host_safe};
#[doc(hidden)]
pub use self::shape::{KeyFault, Shape, expected_instead, input_shape, output_shape};
use crate::util::JsonObject;

/// The schema of a return type: an object, or `{"result": …}`.
pub fn output_of<T: JsonSchema>(shape: &Shape) -> Value {
    let profile = Profile { side: Side::Output, enums: &shape.enums, explicit: &[], written: false };
    refs::inlined_if_small(|inline| {
        let mut generator = settings(inline).for_serialize().into_generator();
        let mut schema = refs::resolved(generator.subschema_for::<T>().to_value(), generator.definitions());
        let wraps = !is_object(&schema, generator.definitions(), 0);
        host_safe(&mut schema, profile);
        let root = match schema {
            Value::Object(object) if !wraps => object,
            schema => object([("properties", json!({ "result": schema })), ("required", json!(["result"]))]),
        };
        finish(root, generator, profile)
    })
}

/// Whether a value of the type is no object and stands in a result as `{"result": …}`.
pub fn wraps<T: JsonSchema>() -> bool {
    let mut generator = settings(false).for_serialize().into_generator();
    let schema = generator.subschema_for::<T>().to_value();
    !is_object(&schema, generator.definitions(), 0)
}

pub(crate) fn settings(inline: bool) -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = inline;
    })
}

pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> JsonObject {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The root as an object, with what it refers to.
pub(crate) fn finish(mut root: JsonObject, generator: SchemaGenerator, profile: Profile<'_>) -> Value {
    root.shift_remove("title");
    if !root.contains_key("type") {
        root.shift_insert(0, "type".into(), "object".into());
    }
    with_definitions(root, generator, profile)
}

/// The root with the definitions that it refers to.
pub(crate) fn with_definitions(root: JsonObject, mut generator: SchemaGenerator, profile: Profile<'_>) -> Value {
    let mut definitions = host_safe_definitions(generator.take_definitions(true), profile);
    let mut root = Value::Object(root);
    refs::keep_used(&root, &mut definitions);
    if !definitions.is_empty() {
        root["$defs"] = definitions.into();
    }
    root
}

/// The definitions of types, and those of the schemas that authors wrote for parameters.
pub(crate) fn host_safe_definitions(mut definitions: JsonObject, profile: Profile<'_>) -> JsonObject {
    for (name, schema) in &mut definitions {
        let written = profile.explicit.iter().any(|schema| schema["$defs"].get(name).is_some());
        host_safe(schema, Profile { written, ..profile });
    }
    definitions
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
