//! A tool's definition, from the attribute or from a [`Tool`](crate::catalog::dynamic::Tool): the same type for both.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::{BoxFuture, StateType};
use mcp_core::entry::{Call, Hints, Input, Timeout, ToolEntry, ToolFuture};
use mcp_core::error::{CallError, Origin};
use mcp_core::output::{OutputSchema, Returned};
use mcp_core::support::schema::{Model, ReadError};
use mcp_core::{ToolContext, ToolError, ToolResult};
use serde_json::Value;

/// The time limit of a call, unless the tool or the builder sets another one.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The limit on the bytes of a result, unless the tool or the builder sets another one. Some hosts close the connection at a
/// message of 10 MiB; a result of this size stays below that, even if every byte of it is escaped in a text block.
pub(crate) const DEFAULT_MAX_RESULT: usize = 4 << 20;

/// Text in the program's binary, or text created at run time.
pub(crate) type Text = Cow<'static, str>;

/// Everything that defines a tool, before it is renamed or prefixed.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) name: Text,
    pub(crate) origin: Origin,
    pub(crate) title: Option<Text>,
    pub(crate) description: Text,
    pub(crate) version: Text,
    pub(crate) hints: Hints,
    pub(crate) aliases: Vec<Text>,
    pub(crate) tags: Vec<Text>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) max_result: Option<usize>,
    pub(crate) allow: Vec<Text>,
    pub(crate) schemas: Schemas,
    pub(crate) handler: Handler,
}

/// The schemas of the arguments and of the results.
#[derive(Clone)]
pub(crate) enum Schemas {
    /// Derived from the parameters and the return type, unless the attribute gives explicit schemas.
    Typed(&'static ToolEntry),
    /// Explicit schemas, without Rust types.
    Explicit { input: Value, output: Option<Value> },
}

/// The function behind a tool.
#[derive(Clone)]
pub(crate) enum Handler {
    /// A sync function with `inline`; it runs on the caller's thread.
    Inline(SyncHandler),
    /// A sync function that may block; it runs on the pool.
    Blocking(SyncHandler),
    /// An `async` function.
    Async(AsyncHandler),
    /// A function that takes its arguments as a value.
    Dynamic(Arc<DynamicHandler>),
}

/// A sync function: arguments as JSON, the result as JSON.
pub(crate) type SyncHandler = fn(&ToolContext, Input<'_>, &mut Vec<u8>) -> Result<Returned, CallError>;

/// An `async` function: arguments as JSON, a future of the result as JSON.
pub(crate) type AsyncHandler = fn(ToolContext, Input<'_>) -> Result<Option<ToolFuture>, CallError>;

/// A function that takes its arguments as a value.
pub(crate) type DynamicHandler =
    dyn Fn(ToolContext, Value) -> BoxFuture<'static, Result<ToolResult, ToolError>> + Send + Sync;

impl From<&'static ToolEntry> for Definition {
    fn from(entry: &'static ToolEntry) -> Self {
        let texts = |texts: &'static [&'static str]| texts.iter().map(|text| Cow::Borrowed(*text)).collect();
        Self {
            name: entry.name.into(),
            origin: entry.origin.clone(),
            title: entry.title.map(Cow::Borrowed),
            description: entry.description.into(),
            version: entry.version.into(),
            hints: entry.hints,
            aliases: texts(entry.aliases),
            tags: texts(entry.tags),
            timeout: entry.timeout,
            max_result: entry.max_result,
            allow: texts(entry.allow),
            schemas: Schemas::Typed(entry),
            handler: match entry.call {
                Call::Sync(call) if entry.inline => Handler::Inline(call),
                Call::Sync(call) => Handler::Blocking(call),
                Call::Async(call) => Handler::Async(call),
            },
        }
    }
}

impl Definition {
    /// The entry that the attribute generated; `None` for a [`Tool`](crate::catalog::dynamic::Tool).
    pub(crate) fn entry(&self) -> Option<&'static ToolEntry> {
        match self.schemas {
            Schemas::Typed(entry) => Some(entry),
            Schemas::Explicit { .. } => None,
        }
    }

    /// Functions that add the types of application state that the tool needs.
    pub(crate) fn needs(&self) -> &'static [fn(&mut Vec<StateType>)] {
        self.entry().map_or(&[], |entry| entry.needs)
    }

    /// Generates the schema of the arguments, as JSON.
    pub(crate) fn input_schema(&self) -> Arc<str> {
        let mut json = Vec::new();
        match &self.schemas {
            Schemas::Typed(entry) => entry.write_input_schema(&mut json),
            Schemas::Explicit { input, .. } => return input.to_string().into(),
        }
        String::from_utf8_lossy(&json).into()
    }

    /// Generates the schema of everything that is accepted, with the other names of arguments and values; `None` if it is
    /// explicit.
    pub(crate) fn accepted_schema(&self) -> Option<Value> {
        self.entry()?.generate_accepted_schema()
    }

    /// Generates the schema that decides which arguments fit.
    pub(crate) fn input_model(&self) -> Result<Model, ReadError> {
        match &self.schemas {
            Schemas::Typed(entry) => entry.generate_input_model(),
            Schemas::Explicit { input, .. } => Model::read(input, true),
        }
    }

    /// Whether the author wrote a schema for the arguments or for one of them.
    pub(crate) fn has_explicit_input(&self) -> bool {
        self.entry().is_none_or(|entry| {
            entry.input_schema.is_some() || entry.params.iter().any(|param| param.explicit_schema.is_some())
        })
    }

    /// Whether the author wrote a schema for the results.
    pub(crate) fn has_explicit_output(&self) -> bool {
        self.entry().is_none_or(|entry| entry.output_schema.is_some())
    }

    /// Generates the schema of the results.
    pub(crate) fn output_schema(&self) -> Option<OutputSchema> {
        match &self.schemas {
            Schemas::Typed(entry) => entry.generate_output_schema(),
            Schemas::Explicit { output, .. } => output.clone().map(OutputSchema::explicit),
        }
    }

    /// Whether the two are the same definition, or clones of one.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        match (&self.handler, &other.handler) {
            (Handler::Dynamic(one), Handler::Dynamic(two)) => Arc::ptr_eq(one, two) && self.facts() == other.facts(),
            _ => self.entry().zip(other.entry()).is_some_and(|(one, two)| std::ptr::eq(one, two)),
        }
    }

    /// Everything that a [`Tool`](crate::catalog::dynamic::Tool) can set, for comparison.
    fn facts(&self) -> impl PartialEq + use<'_> {
        let schemas = (self.input_schema(), self.output_schema());
        let texts = (&self.name, &self.title, &self.description, &self.version);
        (schemas, texts, self.hints, self.timeout, self.max_result, &self.tags, &self.aliases, &self.allow)
    }
}
