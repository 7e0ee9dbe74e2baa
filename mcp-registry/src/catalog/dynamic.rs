//! Tools that are defined at run time.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use mcp_core::entry::{Hints, Timeout};
use mcp_core::error::Origin;
use mcp_core::{Content, Json, ToolContext, ToolError, ToolResult};
use serde::ser::Serialize;
use serde_json::Value;

use super::definition::{Definition, Handler, Schemas};
use crate::util::panic::Contained;

/// A tool that is defined at run time.
///
/// ```standalone_crate
/// use mcp_registry::serde_json::{Value, json};
/// use mcp_registry::{Registry, Tool, ToolCall};
///
/// let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
/// let greet = Tool::new("hello.greet", schema, |_cx, args: Value| async move {
///     format!("hello, {}", args["name"].as_str().unwrap_or("you"))
/// });
/// let registry = Registry::builder().allow_empty().build()?;
/// registry.register(greet.description("Greets someone."))?;
/// let result = registry.call_blocking(&ToolCall::new("hello.greet", json!({ "name": "Ada" })));
/// assert_eq!(result.data.unwrap()["result"], "hello, Ada");
/// # Ok::<(), mcp_registry::RegistrationError>(())
/// ```
#[derive(Clone)]
pub struct Tool(pub(crate) Definition);

impl Tool {
    /// Creates a tool from a name, an input schema and a handler.
    #[track_caller]
    pub fn new<F, R>(
        name: impl Into<String>,
        input_schema: impl Into<Value>,
        handler: impl Fn(ToolContext, Value) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let (place, handler) = (Location::caller(), Contained::new(handler));
        Self(Definition {
            name: Cow::Owned(name.into()),
            origin: Origin::run_time(place.file(), place.line()),
            title: None,
            description: Cow::Borrowed(""),
            version: Cow::Borrowed("1.0.0"),
            hints: Hints::default(),
            aliases: Vec::new(),
            tags: Vec::new(),
            timeout: None,
            max_result: None,
            allow: Vec::new(),
            schemas: Schemas::Explicit { input: input_schema.into(), output: None },
            handler: Handler::Dynamic(Arc::new(move |cx, arguments| {
                let result = (*handler)(cx, arguments);
                Box::pin(async move { result.await.into_tool_result() })
            })),
        })
    }

    /// Sets the description, which a model reads before it calls the tool.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Cow::Owned(description.into());
        self
    }

    /// Sets the title: a name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(Cow::Owned(title.into()));
        self
    }

    /// Sets the version (default: `1.0.0`).
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.0.version = Cow::Owned(version.into());
        self
    }

    /// Sets the hints about the tool's effects (default: none).
    #[must_use]
    pub fn hints(mut self, hints: impl FnOnce(&mut Hints)) -> Self {
        hints(&mut self.0.hints);
        self
    }

    /// Adds a tag.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.0.tags.push(Cow::Owned(tag.into()));
        self
    }

    /// Adds an alias: an older name by which the tool can still be called.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.0.aliases.push(Cow::Owned(alias.into()));
        self
    }

    /// Allows the tool to break a lint rule.
    #[must_use]
    pub fn allow(mut self, rule: impl Into<String>) -> Self {
        self.0.allow.push(Cow::Owned(rule.into()));
        self
    }

    /// Sets the output schema (default: none).
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<Value>) -> Self {
        if let Schemas::Explicit { output, .. } = &mut self.0.schemas {
            *output = Some(schema.into());
        }
        self
    }

    /// Sets the time limit of a call (default: the registry's).
    #[must_use]
    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.0.timeout = Some(timeout);
        self
    }

    /// Sets how many bytes of JSON the tool may return, in place of
    /// [`RegistryBuilder::max_result`](crate::registry::builder::RegistryBuilder::max_result).
    #[must_use]
    pub fn max_result(mut self, bytes: usize) -> Self {
        self.0.max_result = Some(bytes);
        self
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.0.name).field("origin", &self.0.origin).finish_non_exhaustive()
    }
}

/// A type that the handler of a [`Tool`] can return.
pub trait IntoToolResult {
    /// Converts the value into a result, or into the tool's error.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

macro_rules! into_tool_result {
    ($($type:ty => |$value:pat_param| $result:expr;)*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolResult, ToolError> {
                let $value = self;
                Ok($result)
            }
        }
    )*};
}

into_tool_result! {
    ToolResult => |result| result;
    () => |()| ToolResult::success();
    Value => |value| ToolResult::data(value);
    String => |text| ToolResult::data(text);
    Content => |block| ToolResult::success().content([block]);
    Vec<Content> => |blocks| ToolResult::success().content(blocks);
}

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::data(self.0))
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}
