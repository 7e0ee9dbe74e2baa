//! What the attribute writes down of a tool: a plain `static`, gathered by the linker.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::context::{BoxFuture, CallOptions, Extensions, StateType, ToolContext};
use crate::error::{CallError, Fault, Origin};
use crate::output::{OutputSchema, Returned};
use crate::param::Param;
use crate::param::read::{Fields, read_arguments};
use crate::param::schema::{input_schema, type_schemas};
use crate::param::slot::Slot;
use crate::schema::Shape;

/// A tool as it was defined: data and one function pointer.
///
/// `#[mcp_tool]` makes one; [`entries`] gives all that are linked into the program.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "each is a key of the attribute")]
pub struct ToolEntry {
    /// The canonical name.
    pub name: &'static str,
    /// Where the tool is defined.
    pub origin: Origin,
    /// How the tool is called.
    pub call: Call,
    /// The name for people.
    pub title: Option<&'static str>,
    /// What a model reads before it calls the tool.
    pub description: &'static str,
    /// The other sections of the function's documentation, by heading.
    pub sections: &'static [(&'static str, &'static str)],
    /// The tool's version.
    pub version: &'static str,
    /// What the tool does to the world, as far as its author says.
    pub hints: Hints,
    /// The version of the tool in which it was deprecated.
    pub deprecated_in: Option<&'static str>,
    /// The tool to use instead.
    pub replaced_by: Option<&'static str>,
    /// Older names by which it can still be called.
    pub aliases: &'static [&'static str],
    /// Words to select tools by.
    pub tags: &'static [&'static str],
    /// Remarks for programs.
    pub meta: &'static [(&'static str, MetaValue)],
    /// Whether it can be called but is not listed on the wire.
    pub hidden: bool,
    /// How long a call may take, where the tool says.
    pub timeout: Option<Timeout>,
    /// How many bytes of JSON it may return, where the tool says.
    pub max_result: Option<usize>,
    /// For how many seconds a listing of the tool may be kept.
    pub cache_ttl: u32,
    /// Whether it promises to be quick and runs where it is called.
    pub inline: bool,
    /// Whether arguments that it does not know are passed over.
    pub allow_unknown_arguments: bool,
    /// The lint rules that its author has set aside.
    pub allow: &'static [&'static str],
    /// What it takes.
    pub params: &'static [Param],
    /// Whether its one parameter is a struct whose fields are the arguments.
    pub flatten: bool,
    /// The input schema, where the author wrote it out.
    pub input_schema: Option<fn() -> Value>,
    /// The output schema, where the author wrote it out.
    pub output_schema: Option<fn() -> Value>,
    /// What the compiler knows about the return type.
    pub output: fn(with_schema: bool) -> Output,
    /// The application state that it needs.
    pub needs: &'static [fn(&mut Vec<StateType>)],
}

/// What the compiler knows about a return type: what serde tells about it, where it can also be read; and its schema, on
/// request.
pub type Output = (Shape, Option<OutputSchema>);

/// How a tool is called: the arguments are a JSON object, and the result is appended to a buffer as JSON.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// A plain function.
    Sync(fn(&ToolContext, Input<'_>, &mut Vec<u8>) -> Result<Returned, CallError>),
    /// An `async` function. Its arguments are read at once; `None` if the tool is not to run.
    Async(fn(ToolContext, Input<'_>) -> Result<Option<ToolFuture>, CallError>),
}

/// A call of an `async` function while it runs. Its output has the value that the function returned, as JSON.
pub type ToolFuture = BoxFuture<'static, Result<(Returned, Vec<u8>), CallError>>;

/// The arguments of a call, on their way into a tool.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The arguments: a JSON object.
    pub json: &'a str,
    /// Whether they are only read: the tool does not run.
    pub check: bool,
    /// Called when they are read; says whether the tool is to run.
    on_read: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl<'a> Input<'a> {
    /// Arguments to run the tool with.
    pub const fn new(json: &'a str) -> Self {
        Self { json, check: false, on_read: None }
    }

    /// Calls this when the arguments are read. The tool runs only if it returns true.
    #[must_use]
    pub const fn on_read(mut self, call: &'a (dyn Fn() -> bool + Sync)) -> Self {
        self.on_read = Some(call);
        self
    }

    /// Reads the arguments into their places, or as the fields of a struct that is the one parameter. Returns whether the
    /// tool is to run.
    #[doc(hidden)]
    pub fn read(
        &self,
        fields: Option<&Fields>,
        params: &[Param],
        allow_unknown: bool,
        slots: &mut [&mut dyn Slot],
    ) -> Result<bool, CallError> {
        match fields {
            Some(fields) => fields.read_arguments(self.json, params, allow_unknown, slots)?,
            None => read_arguments(self.json, params, allow_unknown, slots)?,
        }
        let should_run = self.on_read.is_none_or(|on_read| on_read());
        Ok(should_run && !self.check)
    }
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments may hold secrets.
        f.debug_struct("Input").field("check", &self.check).finish_non_exhaustive()
    }
}

/// What a tool does to the world; none of it is said unless its author says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It deals with things outside this program.
    pub open_world: Option<bool>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// As long as it likes.
    Never,
    /// This long.
    After(Duration),
}

/// A remark for programs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetaValue {
    /// A text.
    Str(&'static str),
    /// Yes or no.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Another number.
    Float(f64),
}

impl From<MetaValue> for Value {
    fn from(value: MetaValue) -> Self {
        match value {
            MetaValue::Str(text) => text.into(),
            MetaValue::Bool(yes) => yes.into(),
            MetaValue::Int(number) => number.into(),
            MetaValue::Float(number) => number.into(),
        }
    }
}

impl ToolEntry {
    /// A tool of a name, with nothing else said of it.
    pub const fn new(name: &'static str, origin: Origin, call: Call) -> Self {
        Self {
            name,
            origin,
            call,
            title: None,
            description: "",
            sections: &[],
            version: "1.0.0",
            hints: Hints { read_only: None, destructive: None, idempotent: None, open_world: None },
            deprecated_in: None,
            replaced_by: None,
            aliases: &[],
            tags: &[],
            meta: &[],
            hidden: false,
            timeout: None,
            max_result: None,
            cache_ttl: 300,
            inline: false,
            allow_unknown_arguments: false,
            allow: &[],
            params: &[],
            flatten: false,
            input_schema: None,
            output_schema: None,
            output: |_| Output::default(),
            needs: &[],
        }
    }
}

impl ToolEntry {
    /// The schema of what the tool takes, before it is checked: the one that the author wrote, or one made of the parameters.
    pub fn generate_input_schema(&self) -> Value {
        match self.input_schema {
            Some(explicit) => explicit(),
            None => input_schema(self.params, self.flatten, self.allow_unknown_arguments),
        }
    }

    /// The schema of what the tool returns: the one that the author wrote, or that of the return type.
    pub fn generate_output_schema(&self) -> Option<OutputSchema> {
        match self.output_schema {
            Some(explicit) => Some(OutputSchema::explicit(explicit())),
            None => (self.output)(true).1,
        }
    }

    /// The schemas of the types of the parameters, whatever the author wrote in their place.
    pub fn generate_type_schemas(&self) -> Value {
        type_schemas(self.params)
    }

    /// Every fault of some arguments, as far as the types and `#[arg]` see them. The tool is not run.
    pub fn check(&self, json: &str) -> Result<(), Vec<Fault>> {
        let cx = ToolContext::new(self.name, Extensions::new(), CallOptions::new());
        let input = Input { check: true, ..Input::new(json) };
        let read = match self.call {
            Call::Sync(call) => call(&cx, input, &mut Vec::new()).map(drop),
            Call::Async(call) => call(cx, input).map(drop),
        };
        match read {
            Err(CallError::Arguments(faults)) => Err(faults),
            // Nothing else is done that could fail.
            _ => Ok(()),
        }
    }
}

/// Builds an entry in a `static`, one fact a call.
macro_rules! entry_setters {
    ($($setter:ident($argument:ident: $type:ty) => $($field:ident).+ = $value:expr;)*) => {
        impl ToolEntry {
            $(#[doc(hidden)] #[must_use] pub const fn $setter(mut self, $argument: $type) -> Self {
                self.$($field).+ = $value;
                self
            })*
        }
    };
}

entry_setters! {
    title(title: &'static str) => title = Some(title);
    description(description: &'static str) => description = description;
    sections(sections: &'static [(&'static str, &'static str)]) => sections = sections;
    version(version: &'static str) => version = version;
    read_only(read_only: bool) => hints.read_only = Some(read_only);
    destructive(destructive: bool) => hints.destructive = Some(destructive);
    idempotent(idempotent: bool) => hints.idempotent = Some(idempotent);
    open_world(open_world: bool) => hints.open_world = Some(open_world);
    deprecated_in(version: &'static str) => deprecated_in = Some(version);
    replaced_by(tool: &'static str) => replaced_by = Some(tool);
    aliases(aliases: &'static [&'static str]) => aliases = aliases;
    tags(tags: &'static [&'static str]) => tags = tags;
    meta(meta: &'static [(&'static str, MetaValue)]) => meta = meta;
    hidden(hidden: bool) => hidden = hidden;
    timeout(timeout: Timeout) => timeout = Some(timeout);
    max_result(bytes: usize) => max_result = Some(bytes);
    cache_ttl(seconds: u32) => cache_ttl = seconds;
    inline(inline: bool) => inline = inline;
    allow_unknown_arguments(allow: bool) => allow_unknown_arguments = allow;
    allow(rules: &'static [&'static str]) => allow = rules;
    params(params: &'static [Param]) => params = params;
    flatten(flatten: bool) => flatten = flatten;
    input_schema(schema: fn() -> Value) => input_schema = Some(schema);
    output_schema(schema: fn() -> Value) => output_schema = Some(schema);
    output(output: fn(bool) -> Output) => output = output;
    needs(needs: &'static [fn(&mut Vec<StateType>)]) => needs = needs;
}

/// A tool, handed to the linker.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registration(pub &'static ToolEntry);

inventory::collect!(Registration);

/// Every tool that is linked into this program, in no particular order.
pub fn entries() -> impl Iterator<Item = &'static ToolEntry> {
    inventory::iter::<Registration>.into_iter().map(|registration| registration.0)
}
