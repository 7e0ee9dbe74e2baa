//! Arguments as the gate and the layers of a call see them.

use mcp_core::Error;
use mcp_core::error::{Fault, SchemaError};
use mcp_core::message::JsonObject;
use mcp_core::param::Param;
use serde_json::Value;

use super::callable::Callable;
use crate::util::panic::guard;
use crate::validate::{Faults, rounded_integer};

/// The arguments that the gate and the layers see, and those that the tool gets if no layer changes them.
pub(crate) struct Seen {
    /// Under the names and in the form that the schema publishes, with default values. As they were sent, if they do not
    /// fit the schema.
    pub(crate) value: Value,
    /// As JSON, if they differ from those that were sent.
    pub(crate) edited: Option<String>,
    /// Why the arguments do not fit. The gate is asked first, so that the caller learns nothing from it.
    faults: Option<Faults>,
}

impl Seen {
    /// Reads arguments, and checks them against the schema. Fails if there is no value that the gate and the layers could see.
    pub(crate) fn read(tool: &Callable, arguments: &str) -> Result<Self, Error> {
        let mut value = parsed(tool, arguments)?;
        let params = tool.definition().entry().map(|entry| entry.params).unwrap_or_default();
        let mut edited = None;
        if tool.checks().is_checked_first() || !is_published(params, &value) {
            match tool.checks().publish(arguments) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    value = parsed(tool, &text)?;
                    edited = Some(text);
                }
                Err(faults) => return Ok(Self { value, edited: None, faults: Some(faults) }),
            }
        }
        if let Value::Object(object) = &mut value {
            // An explicit schema may not name them, and be open.
            for (name, alias) in params.iter().flat_map(|param| param.aliases.iter().map(|alias| (param.name, *alias)))
            {
                if let Some(value) = object.shift_remove(alias) {
                    object.entry(name).or_insert(value);
                }
            }
            // A null for an argument that may be absent means the same.
            let is_absent = |name: &str| params.iter().any(|param| param.name == name && !param.is_required());
            object.retain(|name, value| !(value.is_null() && is_absent(name)));
            guard(|| add_defaults(params, object)).map_err(|panicked| panicked.into_error(tool.name()))?;
        }
        Ok(Self { value, edited, faults: None })
    }

    /// Fails if the arguments do not fit.
    pub(crate) fn check(&mut self, tool: &Callable, arguments: &str) -> Result<(), Error> {
        self.faults.take().map_or(Ok(()), |faults| Err(tool.checks().rejection(arguments, faults)))
    }
}

/// Whether arguments of types that enforce their schema have its form without being edited.
fn is_published(params: &[Param], arguments: &Value) -> bool {
    let is_known = |name: &String| params.iter().any(|param| param.name == name);
    arguments.as_object().is_some_and(|object| object.iter().all(|(name, value)| is_known(name) && is_plain(value)))
}

/// Whether a value is the same for every type: an integer that is written as a fraction is not, nor a null.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|it| it.fract() != 0.0)
        }
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(members) => members.values().all(is_plain),
        Value::Bool(_) | Value::String(_) => true,
    }
}

fn add_defaults(params: &[Param], arguments: &mut JsonObject) {
    for param in params {
        let Some(default) = param.default.filter(|_| !arguments.contains_key(param.name)) else { continue };
        let default = default();
        if !default.is_null() {
            arguments.insert(param.name.to_owned(), default);
        }
    }
}

/// The arguments as a value.
pub(crate) fn parsed(tool: &Callable, arguments: &str) -> Result<Value, Error> {
    let refused = |fault: Fault| SchemaError::new(tool.name(), vec![fault]).into();
    let reason = match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => {
            let Some(integer) = rounded_integer(arguments) else { return Ok(value) };
            let message = "it is an integer of more than 64 bits, which a gate, a layer or a tool that takes any JSON would see \
                           rounded; send a smaller one, or a string if the tool accepts that";
            let entry = tool.definition().entry().filter(|entry| entry.params.iter().any(|param| param.secret));
            return Err(refused(match entry {
                None => Fault::new(integer.path, "an integer of 64 bits", message).got(integer.text),
                Some(entry) => {
                    // Nothing of a secret is shown, nor where in it the integer is.
                    let first = integer.path.split_inclusive('/').take(2).collect::<String>();
                    let path = if entry.flatten { "" } else { first.trim_end_matches('/') };
                    Fault::new(path, "an integer of 64 bits", message)
                }
            }));
        }
        Ok(_) => "they are JSON, but not an object".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("the arguments are not a JSON object: {reason}; send one JSON object");
    Err(refused(Fault::new("", "a JSON object", message)))
}
