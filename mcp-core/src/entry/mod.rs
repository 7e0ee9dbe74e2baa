//! The definition of a tool, as the attribute creates it: a plain `static` that the linker collects.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use serde_json::Value;

use crate::context::{BoxFuture, CallOptions, Extensions, StateType, ToolContext};
use crate::error::{CallError, Fault, Origin};
use crate::output::{OutputSchema, Returned};
use crate::param::read::{Fields, read_arguments};
use crate::param::schema::{InputSchema, Signature, type_schemas};
use crate::param::slot::Slot;
use crate::param::{Param, plain};
use crate::schema::Shape;
use crate::schema::model::Model;
use crate::schema::read::ReadError;
use crate::util::panics::discard;

/// The definition of a tool: data and one function pointer.
///
/// `#[mcp_tool]` creates one; [`entries`] returns all that are linked into the program.
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
    /// The display name.
    pub title: Option<&'static str>,
    /// The description, which a model reads before it calls the tool.
    pub description: &'static str,
    /// The other sections of the function's documentation, by heading.
    pub sections: &'static [(&'static str, &'static str)],
    /// The tool's version.
    pub version: &'static str,
    /// The effects of the tool, as its author states them.
    pub hints: Hints,
    /// The version of the tool in which it was deprecated.
    pub deprecated_in: Option<&'static str>,
    /// The tool to use instead.
    pub replaced_by: Option<&'static str>,
    /// Older names that still work.
    pub aliases: &'static [&'static str],
    /// Labels to select tools by.
    pub tags: &'static [&'static str],
    /// Metadata for programs.
    pub meta: &'static [(&'static str, MetaValue)],
    /// Whether the tool can be called, but is not listed to clients.
    pub hidden: bool,
    /// How long a call may take, if the tool sets a limit.
    pub timeout: Option<Timeout>,
    /// How many bytes of JSON the tool may return, if it sets a limit.
    pub max_result: Option<usize>,
    /// For how many seconds clients may cache a listing of the tool.
    pub cache_ttl: u32,
    /// Whether the tool is quick and runs on the thread of its caller.
    pub inline: bool,
    /// Whether unknown arguments are ignored.
    pub allow_unknown_arguments: bool,
    /// The lint rules that are suppressed for the tool.
    pub allow: &'static [&'static str],
    /// The parameters.
    pub params: &'static [Param],
    /// Whether the only parameter is a struct whose fields are the arguments.
    pub flatten: bool,
    /// The explicit input schema, if there is one.
    pub input_schema: Option<fn() -> Value>,
    /// The explicit output schema, if there is one.
    pub output_schema: Option<fn() -> Value>,
    /// Returns the shape of the return type and, on request, its schema.
    pub output: fn(with_schema: bool) -> Output,
    /// The application state that the tool needs.
    pub needs: &'static [fn(&mut Vec<StateType>)],
}

/// The shape of a return type, which is empty unless it is `Deserialize`, and on request its schema.
pub type Output = (Shape, Option<OutputSchema>);

/// How a tool is called: the arguments are a JSON object, and the result is appended to a buffer as JSON.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// A plain function.
    Sync(fn(&ToolContext, Input<'_>, &mut Vec<u8>) -> Result<Returned, CallError>),
    /// An `async` function. The arguments are read before the future is created; `None` if the tool is not to run.
    Async(fn(ToolContext, Input<'_>) -> Result<Option<ToolFuture>, CallError>),
}

/// The future of an `async` function. Its output includes the returned value as JSON.
pub type ToolFuture = BoxFuture<'static, Result<(Returned, Vec<u8>), CallError>>;

/// The arguments of a call.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The arguments: a JSON object.
    pub json: &'a str,
    /// Whether the arguments are only read, and the tool does not run.
    pub check: bool,
    /// Called after the arguments are read; returns whether the tool is to run.
    on_read: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl<'a> Input<'a> {
    /// Arguments to run the tool with.
    pub const fn new(json: &'a str) -> Self {
        Self { json, check: false, on_read: None }
    }

    /// Calls this after the arguments are read. The tool runs only if it returns true.
    #[must_use]
    pub const fn on_read(mut self, call: &'a (dyn Fn() -> bool + Sync)) -> Self {
        self.on_read = Some(call);
        self
    }

    /// Reads the arguments into their slots, or as the fields of the struct that is the only parameter. Returns whether the
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

    /// As [`read`](Self::read), for arguments of which some are secret: what a type says when it panics may quote them, so
    /// that message is replaced.
    ///
    /// # Panics
    ///
    /// If a type panics.
    #[doc(hidden)]
    pub fn read_secret(
        &self,
        fields: Option<&Fields>,
        params: &[Param],
        allow_unknown: bool,
        slots: &mut [&mut dyn Slot],
    ) -> Result<bool, CallError> {
        // What is left half-read is dropped with the call.
        let read = catch_unwind(AssertUnwindSafe(|| self.read(fields, params, allow_unknown, slots)));
        read.unwrap_or_else(|payload| {
            discard(payload);
            resume_unwind(Box::new(SECRET_PANIC))
        })
    }
}

/// Stands for the message of a panic while secret arguments are read.
const SECRET_PANIC: &str = "its message is not shown, since it was reading secret arguments";

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments may hold secrets.
        f.debug_struct("Input").field("check", &self.check).finish_non_exhaustive()
    }
}

/// The effects of a tool. `None` means that its author did not state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may destroy something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// The tool interacts with the world outside this program.
    pub open_world: Option<bool>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// There is no limit.
    Never,
    /// This is the limit.
    After(Duration),
}

/// A value of metadata.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetaValue {
    /// A string.
    Str(&'static str),
    /// A boolean.
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
    /// A tool with default settings.
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
    /// Generates the input schema: the explicit one, or one from the parameters. It is not checked.
    pub fn generate_input_schema(&self) -> Value {
        if let Some(explicit) = self.input_schema {
            return explicit();
        }
        let mut json = Vec::new();
        self.write_input_schema(&mut json);
        serde_json::from_slice(&json).unwrap_or_default()
    }

    /// Appends the input schema as JSON.
    #[doc(hidden)]
    pub fn write_input_schema(&self, out: &mut Vec<u8>) {
        if let Some(explicit) = self.input_schema {
            out.extend_from_slice(explicit().to_string().as_bytes());
            return;
        }
        if !self.flatten && plain::write_schema(self.params, self.allow_unknown_arguments, out) {
            return;
        }
        match InputSchema::new(self.signature()) {
            Ok(schema) => schema.write(out),
            // What cannot be read as a schema is not registered.
            Err(_) => out.extend_from_slice(br#"{"type":"object","properties":{}}"#),
        }
    }

    /// Generates the schema of everything that is accepted, with the other names of arguments and values; `None` if the
    /// schema is explicit.
    #[doc(hidden)]
    pub fn generate_accepted_schema(&self) -> Option<Value> {
        if self.input_schema.is_some() {
            return None;
        }
        let mut json = Vec::new();
        InputSchema::new(self.signature()).ok()?.write_accepted(&mut json);
        serde_json::from_slice(&json).ok()
    }

    /// Generates the model that decides which arguments fit.
    #[doc(hidden)]
    pub fn generate_input_model(&self) -> Result<Model, ReadError> {
        match self.input_schema {
            Some(explicit) => Model::read(&explicit(), true),
            None => InputSchema::new(self.signature()).map(|schema| schema.model),
        }
    }

    fn signature(&self) -> Signature<'_> {
        Signature { params: self.params, flatten: self.flatten, allow_unknown: self.allow_unknown_arguments }
    }

    /// Generates the output schema: the explicit one, or that of the return type.
    pub fn generate_output_schema(&self) -> Option<OutputSchema> {
        match self.output_schema {
            Some(explicit) => Some(OutputSchema::explicit(explicit())),
            None => (self.output)(true).1,
        }
    }

    /// Returns whether the function can return data: it returns neither `()` nor only content.
    pub fn returns_data(&self) -> bool {
        !(self.output)(false).0.without_data
    }

    /// Generates the schema that the types of the parameters would have without explicit schemas and constraints.
    #[doc(hidden)]
    pub fn generate_type_model(&self) -> Result<Model, ReadError> {
        let param = |param: &Param| Param { constraints: &[], explicit_schema: None, ..*param };
        let params: Vec<Param> = self.params.iter().map(param).collect();
        InputSchema::new(Signature { params: &params, ..self.signature() }).map(|schema| schema.model)
    }

    /// Generates the schemas of the types of the parameters, even if there is an explicit schema.
    pub fn generate_type_schemas(&self) -> Value {
        type_schemas(self.params)
    }

    /// Checks arguments against the types and `#[arg]`, and returns every fault. The tool does not run.
    pub fn check(&self, json: &str) -> Result<(), Vec<Fault>> {
        let cx = ToolContext::new(self.name, Extensions::new(), CallOptions::new());
        let input = Input { check: true, ..Input::new(json) };
        let read = match self.call {
            Call::Sync(call) => call(&cx, input, &mut Vec::new()).map(drop),
            Call::Async(call) => call(cx, input).map(drop),
        };
        match read {
            Err(CallError::Arguments(faults)) => Err(faults),
            // No other step can fail, since the tool does not run.
            _ => Ok(()),
        }
    }
}

/// The setters with which the attribute builds an entry in a `static`.
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

/// The registration of a tool with the linker.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registration(pub &'static ToolEntry);

inventory::collect!(Registration);

/// Returns every tool that is linked into this program, in no particular order.
pub fn entries() -> impl Iterator<Item = &'static ToolEntry> {
    inventory::iter::<Registration>.into_iter().map(|registration| registration.0)
}
