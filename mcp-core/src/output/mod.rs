//! The return values of tools.

pub(crate) mod probe;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::BoxError;
use crate::message::{Content, ToolResult};
use crate::schema::{self, Shape};

/// The size of most results as JSON, at most.
#[doc(hidden)]
pub const TYPICAL_RESULT_BYTES: usize = 128;

/// What a call returned.
#[derive(Debug)]
pub enum Returned {
    /// A value, as JSON at the end of the buffer.
    Json,
    /// Nothing.
    Nothing,
    /// Content blocks.
    Content(Vec<Content>),
    /// A complete result.
    Result(Box<ToolResult>),
}

/// The output schema of a tool; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSchema {
    json: Arc<str>,
    wraps: bool,
}

impl OutputSchema {
    /// Creates an explicit schema, which describes the data as it is.
    pub fn explicit(schema: impl Into<Value>) -> Self {
        Self { json: schema.into().to_string().into(), wraps: false }
    }

    /// The schema of a return type.
    pub(crate) fn of<T: JsonSchema>(shape: &Shape) -> Self {
        let (json, wraps) = schema::output_of::<T>(shape);
        Self { json, wraps }
    }

    /// Returns the schema of the data, as JSON.
    pub fn json(&self) -> &Arc<str> {
        &self.json
    }

    /// Returns the schema of the data.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// Returns whether the return value is wrapped as `{"result": …}`.
    pub fn wraps(&self) -> bool {
        self.wraps
    }
}

/// A return value without an output schema, for types that do not implement `JsonSchema`.
///
/// ```
/// use mcp_core::Json;
/// use mcp_core::serde_json::{Value, json};
///
/// fn anything() -> Json<Value> {
///     Json(json!({ "free": "form" }))
/// }
/// # assert_eq!(anything().0["free"], "form");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// A type that a tool can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a tool",
    label = "needs `Serialize` and `JsonSchema`",
    note = "derive both: `#[derive(serde::Serialize, schemars::JsonSchema)]`",
    note = "for a type of `chrono`, `uuid`, `url` or another crate that schemars supports: enable the feature of that name, as in `mcp-core = {{ features = [\"chrono\"] }}`, and `serde` of that crate",
    note = "or return `Json<T>` for a value without a schema, `Content`, `ToolResult` or `()`"
)]
pub trait ToolOutput: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> ToolOutput for T {}

/// A type that a tool can return as [`Json`].
#[diagnostic::on_unimplemented(
    message = "`Json<{Self}>` cannot be returned by a tool",
    label = "`{Self}` needs `Serialize`",
    note = "add `#[derive(serde::Serialize)]` to the type"
)]
pub trait JsonOutput: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> JsonOutput for T {}

/// A type that a tool can return as its error.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    label = "is neither `Into<ToolError>` nor an error that is `Send` and `Sync`",
    note = "for a type of your own: implement `std::error::Error` for it, or `From<YourError> for ToolError`; or return a `String` or a `ToolError`",
    note = "for `Box<dyn Error>`: write `Box<dyn Error + Send + Sync>`, or return `mcp_registry::Result<T>`"
)]
pub trait ToolFailure: Into<BoxError> {}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> ToolFailure for E {}
