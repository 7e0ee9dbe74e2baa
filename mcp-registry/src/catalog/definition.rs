//! A tool as it was defined, by the attribute or at run time. Nothing after this asks which of the two it was.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::{
    BoxFuture, Call, Hints, MetaValue, Origin, OutputSchema, Param, StateType, Timeout, ToolContext, ToolEntry,
    ToolError, ToolResult, schema,
};
use serde_json::Value;

/// Text that the program holds, or that was made at run time.
pub(crate) type Text = Cow<'static, str>;

/// A tool as it was defined.
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
    /// That of typed parameters, or what their author wrote in its place.
    Typed(&'static ToolEntry),
    /// A schema, and nothing else.
    Schema(Value),
}

/// The schema of the results.
#[derive(Clone)]
pub(crate) enum Output {
    /// That of the return type, or what the author wrote in its place.
    Typed(&'static ToolEntry),
    /// A schema, if there is one.
    Schema(Option<Value>),
}

/// How a tool is run.
#[derive(Clone)]
pub(crate) enum Handler {
    /// A plain function, which promises to be quick and runs where it is called.
    Inline(Sync),
    /// A plain function, which may block and runs on the pool.
    Blocking(Sync),
    /// An `async` function.
    Async(Async),
    /// A function that takes its arguments as a value.
    Dynamic(Arc<Dynamic>),
}

/// A plain function: arguments as JSON, the result as JSON.
pub(crate) type Sync =
    fn(&ToolContext, mcp_core::Input<'_>, &mut Vec<u8>) -> Result<mcp_core::Returned, mcp_core::CallError>;

/// An `async` function of the same form.
pub(crate) type Async = for<'a> fn(&'a ToolContext, mcp_core::Input<'a>, &'a mut Vec<u8>) -> mcp_core::Pending<'a>;

/// A function that takes its arguments as a value.
pub(crate) type Dynamic =
    dyn Fn(ToolContext, Value) -> BoxFuture<'static, Result<ToolResult, ToolError>> + Send + std::marker::Sync;

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
    /// The entry whose parameters are types; none where a schema is all that is known.
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
            Output::Typed(entry) => (entry.output_schema)(),
            Output::Schema(schema) => schema.clone().map(OutputSchema::explicit),
        }
    }

    /// Whether the two are one definition, or one is a clone of the other.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.input, &other.input, &self.handler, &other.handler) {
            (Input::Typed(one), Input::Typed(other), ..) => std::ptr::eq(*one, *other),
            (Input::Schema(input), Input::Schema(other_input), Handler::Dynamic(one), Handler::Dynamic(two)) => {
                let facts = |it: &Self| {
                    let Self { name, title, description, version, hints, timeout, max_result, .. } = it.clone();
                    (name, title, description, version, hints, timeout, max_result)
                };
                let lists = |it: &Self| (it.tags.clone(), it.aliases.clone(), it.allow.clone());
                Arc::ptr_eq(one, two)
                    && input == other_input
                    && self.output_schema().map(|it| it.schema) == other.output_schema().map(|it| it.schema)
                    && facts(self) == facts(other)
                    && lists(self) == lists(other)
            }
            _ => false,
        }
    }
}
