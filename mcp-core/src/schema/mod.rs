//! The schemas of tools: one model, which is read from JSON Schema, brought into a form that most hosts and model providers
//! accept, and written as bytes.
//!
//! In that form, subschemas are written where they are used; what may be left out is not required and has no null type;
//! numbers have bounds and no format; any JSON is `{}`; an enum of names is an `enum`; other enums are an `anyOf` whose tags
//! are an `enum` of one name.

pub(crate) mod decimal;
pub(crate) mod model;
mod normalise;
pub(crate) mod profile;
pub(crate) mod read;
mod shape;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use self::model::{Model, Node, ObjectRules, Property, Types};
use self::profile::Side;
use self::read::ReadError;
#[doc(hidden)]
pub use self::shape::{KeyFault, Shape, expected_instead, input_shape, output_shape};

/// The schema of a return type as JSON: that of an object, or of `{"result": …}`.
pub(crate) fn output_of<T: JsonSchema>(shape: &Shape) -> (Arc<str>, bool) {
    // Functions that share an address make the same schema.
    let key = output_model::<T> as *const () as usize;
    let output = OUTPUTS.get(key, || {
        let Ok((model, wraps)) = output_model::<T>(shape) else {
            return (ANY_OBJECT.into(), wraps::<T>());
        };
        let mut json = Vec::new();
        model.write(model.root(), Side::Output, &mut json);
        (String::from_utf8_lossy(&json).into(), wraps)
    });
    (Arc::clone(&output.0), output.1)
}

/// What cannot be read as a schema promises nothing but an object.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

fn output_model<T: JsonSchema>(shape: &Shape) -> Result<(Model, bool), ReadError> {
    let mut model = typed::<T>()?;
    model.make_host_safe(Side::Output, &[shape]);
    let root = model.root();
    let wraps = !model.is_object(root);
    if wraps {
        let object = ObjectRules { properties: vec![Property::new("result", root, true)], ..ObjectRules::default() };
        model.root = model.add(Node { object: Some(Box::new(object)), ..Node::of(Types::OBJECT) });
    } else {
        // The root is the type itself, not a reference to it, and every host expects its type.
        let mut node = model[model.resolved(root)].clone();
        (node.types, node.notes.title) = (Types::OBJECT, None);
        model[root] = node;
    }
    Ok((model, wraps))
}

/// The schema of a type that is serialized.
fn typed<T: JsonSchema>() -> Result<Model, ReadError> {
    let mut generator = settings().for_serialize().into_generator();
    let mut schema = generator.subschema_for::<T>().to_value();
    if let Value::Object(object) = &mut schema {
        object.insert("$defs".to_owned(), generator.take_definitions(true).into());
    }
    Model::read(&schema, false)
}

/// The output schema of a tool that returns this type. Give it to a tool that returns the type in a
/// [`ToolResult`](crate::ToolResult), such as with an explanation: `#[mcp_tool(output_schema = output_schema::<Found>())]`.
///
/// ```
/// use mcp_core::schema::output_schema;
///
/// #[derive(schemars::JsonSchema)]
/// struct Found {
///     orders: Vec<u32>,
/// }
///
/// assert_eq!(output_schema::<Found>()["required"], serde_json::json!(["orders"]));
/// assert_eq!(output_schema::<u32>()["properties"]["result"]["type"], "integer");
/// ```
pub fn output_schema<T: JsonSchema>() -> Value {
    let mut json = Vec::new();
    match output_model::<T>(&Shape::default()) {
        Ok((model, _)) => model.write(model.root(), Side::Output, &mut json),
        Err(_) => json.extend_from_slice(ANY_OBJECT.as_bytes()),
    }
    serde_json::from_slice(&json).unwrap_or_default()
}

/// Whether a value of the type is no object, and is returned as `{"result": …}`.
pub fn wraps<T: JsonSchema>() -> bool {
    typed::<T>().map_or(true, |model| !model.is_object(model.root()))
}

pub(crate) fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

/// A value for each type, made once.
pub(crate) struct Cache<T>(Mutex<Option<HashMap<usize, Arc<T>>>>);

impl<T> Cache<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The value for a key. It is made without holding the lock: the schema of a user's type may panic.
    pub(crate) fn get(&self, key: usize, make: impl FnOnce() -> T) -> Arc<T> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().as_ref().and_then(|known| known.get(&key)) {
            return Arc::clone(known);
        }
        let value = Arc::new(make());
        lock().get_or_insert_default().entry(key).or_insert_with(|| Arc::clone(&value));
        value
    }
}

/// The output schemas of types, and whether their values are wrapped.
static OUTPUTS: Cache<(Arc<str>, bool)> = Cache::new();
