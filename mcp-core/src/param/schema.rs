//! From parameters to the schema of what a tool takes.

use std::cmp::Ordering;

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::{Bound, Constraint, Param};
use crate::schema::profile::{Profile, Side, describe, host_safe, without_nulls};
use crate::schema::{Shape, finish, flat, host_safe_definitions, object, refs, settings, with_definitions};
use crate::util::JsonObject;

/// The schema of an object with these parameters, or of the struct that is the only one of them.
pub(crate) fn input_schema(params: &[Param], flatten: bool, allow_unknown: bool) -> Value {
    let shapes: Vec<Shape> = params.iter().map(|param| (param.ty.shape)()).collect();
    refs::inlined_if_small(|inline| assemble(params, flatten, allow_unknown, &shapes, inline))
}

/// The schemas of the types of parameters, whatever their author wrote in their place.
pub(crate) fn type_schemas(params: &[Param]) -> Value {
    let mut generator = settings(false).for_deserialize().into_generator();
    let types: Vec<Value> = params.iter().map(|param| (param.ty.schema)(&mut generator).to_value()).collect();
    json!({ "prefixItems": types, "$defs": generator.definitions() })
}

impl Param {
    /// The schema of this parameter alone, for checks.
    pub fn generate_schema(&self) -> Value {
        let shape = (self.ty.shape)();
        let explicit = explicit_schemas(std::slice::from_ref(self));
        let profile = Profile { side: Side::Input, enums: &shape.enums, explicit: &explicit, written: false };
        refs::inlined_if_small(|inline| {
            let mut generator = settings(inline).for_deserialize().into_generator();
            match param_schema(self, &mut generator, profile) {
                Value::Object(root) => with_definitions(root, generator, profile),
                other => other,
            }
        })
    }
}

/// The schemas that the author wrote for parameters.
fn explicit_schemas(params: &[Param]) -> Vec<Value> {
    params.iter().filter_map(|param| Some(param.explicit_schema?())).collect()
}

fn assemble(params: &[Param], flatten: bool, allow_unknown: bool, shapes: &[Shape], inline: bool) -> Value {
    let mut generator = settings(inline).for_deserialize().into_generator();
    let enums: Vec<&[&str]> = shapes.iter().flat_map(|shape| &shape.enums).copied().collect();
    let explicit = explicit_schemas(params);
    let profile = Profile { side: Side::Input, enums: &enums, explicit: &explicit, written: false };
    let mut root = match params {
        [only] if flatten => flattened(only, &mut generator, profile),
        params => listed(params, &mut generator, profile),
    };
    // schemars takes over what is said of a flattened struct where nothing is said of the one around it.
    if flatten && shapes.iter().any(|shape| shape.flattens) {
        root.shift_remove("description");
    }
    root.entry("properties").or_insert_with(|| json!({}));
    if !allow_unknown {
        root.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    finish(root, generator, profile)
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
    let definitions = host_safe_definitions(generator.definitions().clone(), Profile { explicit: &[], ..profile });
    flat::without_alternatives(root, &definitions)
}

/// The names that a struct whose fields are the arguments takes; none where it takes any.
pub(crate) fn fields_of(param: &Param) -> Option<Vec<String>> {
    let mut generator = settings(true).for_deserialize().into_generator();
    let profile = Profile { side: Side::Input, enums: &[], explicit: &[], written: false };
    let root = flattened(param, &mut generator, profile);
    if root.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
        return None;
    }
    let properties = root.get("properties").and_then(Value::as_object);
    Some(properties.into_iter().flat_map(JsonObject::keys).cloned().collect())
}

/// The schema of a parameter's type, or the one that its author wrote.
fn type_schema(param: &Param, generator: &mut SchemaGenerator) -> Value {
    let Some(explicit) = param.explicit_schema else {
        return (param.ty.schema)(generator).to_value();
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
    host_safe(&mut schema, Profile { written: param.explicit_schema.is_some(), ..profile });
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
