//! A tool's definition, from the attribute or from a [`Tool`](crate::catalog::dynamic::Tool). Later code does not ask which.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::context::{BoxFuture, StateType};
use mcp_core::entry::{Call, Hints, MetaValue, Timeout, ToolEntry};
use mcp_core::error::Origin;
use mcp_core::output::OutputSchema;
use mcp_core::param::Param;
use mcp_core::{ToolContext, ToolError, ToolResult};
use serde_json::Value;

/// Text from the program's binary, or built at run time.
pub(crate) type Text = Cow<'static, str>;

/// Everything that defines a tool, before it is renamed or prefixed.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) name: Text,
    pub(crate) origin: Origin,
    pub(crate) title: Option<Text>,
    pub(crate) description: Text,
    pub(crate) sections: &'static [(&'static str, &'static str)],
    pub(crate) version: Text,
    pub(crate) hints: Hints,
    pub(crate) deprecated_in: Option<&'static str>,
    pub(crate) replaced_by: Option<&'static str>,
    pub(crate) aliases: Vec<Text>,
    pub(crate) tags: Vec<Text>,
    pub(crate) meta: &'static [(&'static str, MetaValue)],
    pub(crate) hidden: bool,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) max_result: Option<usize>,
    pub(crate) cache_ttl: u32,
    pub(crate) allow: Vec<Text>,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) handler: Handler,
}

/// The schema of the arguments.
#[derive(Clone)]
pub(crate) enum Input {
    /// Derived from the typed parameters, or written by the author in its place.
    Typed(&'static ToolEntry),
    /// A schema alone.
    Schema(Value),
}

/// The schema of the results.
#[derive(Clone)]
pub(crate) enum Output {
    /// Derived from the return type, or written by the author in its place.
    Typed(&'static ToolEntry),
    /// A schema, if there is one.
    Schema(Option<Value>),
}

/// How a tool is run.
#[derive(Clone)]
pub(crate) enum Handler {
    /// A plain function that promises to be quick; it runs on the caller's thread.
    Inline(SyncHandler),
    /// A plain function that may block; it runs on the pool.
    Blocking(SyncHandler),
    /// An `async` function.
    Async(AsyncHandler),
    /// A function that takes its arguments as a value.
    Dynamic(Arc<DynamicHandler>),
}

/// A plain function: arguments as JSON, the result as JSON.
pub(crate) type SyncHandler = fn(
    &ToolContext,
    mcp_core::entry::Input<'_>,
    &mut Vec<u8>,
) -> Result<mcp_core::output::Returned, mcp_core::error::CallError>;

/// An `async` function: arguments as JSON, a future of the result as JSON.
pub(crate) type AsyncHandler = fn(
    ToolContext,
    mcp_core::entry::Input<'_>,
) -> Result<Option<mcp_core::entry::ToolFuture>, mcp_core::error::CallError>;

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
            sections: entry.sections,
            version: entry.version.into(),
            hints: entry.hints,
            deprecated_in: entry.deprecated_in,
            replaced_by: entry.replaced_by,
            aliases: texts(entry.aliases),
            tags: texts(entry.tags),
            meta: entry.meta,
            hidden: entry.hidden,
            timeout: entry.timeout,
            max_result: entry.max_result,
            cache_ttl: entry.cache_ttl,
            allow: texts(entry.allow),
            input: Input::Typed(entry),
            output: Output::Typed(entry),
            handler: match entry.call {
                Call::Sync(call) if entry.inline => Handler::Inline(call),
                Call::Sync(call) => Handler::Blocking(call),
                Call::Async(call) => Handler::Async(call),
            },
        }
    }
}

impl Definition {
    /// The entry with typed parameters; `None` where only a schema is known.
    pub(crate) fn entry(&self) -> Option<&'static ToolEntry> {
        match self.input {
            Input::Typed(entry) => Some(entry),
            Input::Schema(_) => None,
        }
    }

    /// The parameters, where they are known.
    pub(crate) fn params(&self) -> &'static [Param] {
        self.entry().map_or(&[], |entry| entry.params)
    }

    /// The types of application state that it needs.
    pub(crate) fn needs(&self) -> &'static [fn(&mut Vec<StateType>)] {
        self.entry().map_or(&[], |entry| entry.needs)
    }

    /// Makes the schema of the arguments.
    pub(crate) fn input_schema(&self) -> Value {
        match &self.input {
            Input::Typed(entry) => entry.generate_input_schema(),
            Input::Schema(schema) => schema.clone(),
        }
    }

    /// Makes the schema of the results.
    pub(crate) fn output_schema(&self) -> Option<OutputSchema> {
        match &self.output {
            Output::Typed(entry) => entry.generate_output_schema(),
            Output::Schema(schema) => schema.clone().map(OutputSchema::explicit),
        }
    }

    /// Whether the two are the same definition, or clones of one.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        match (&self.handler, &other.handler) {
            (Handler::Dynamic(one), Handler::Dynamic(two)) => Arc::ptr_eq(one, two) && self.facts() == other.facts(),
            _ => self.entry().zip(other.entry()).is_some_and(|(one, two)| std::ptr::eq(one, two)),
        }
    }

    /// Everything that [`Tool`](crate::catalog::dynamic::Tool) has a setter for, to compare.
    fn facts(&self) -> impl PartialEq + use<'_> {
        let schemas = (self.input_schema(), self.output_schema().map(|output| output.schema));
        let texts = (&self.name, &self.title, &self.description, &self.version);
        (schemas, texts, self.hints, self.timeout, self.max_result, &self.tags, &self.aliases, &self.allow)
    }
}
