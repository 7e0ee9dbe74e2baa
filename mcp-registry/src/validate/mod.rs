//! Enforces schemas: checks JSON text against the model of a schema, explains what is wrong, makes samples.
//!
//! Arguments are checked before the types read them, unless the types are plain ones that enforce everything their schema
//! says ([`Param::is_enforced_by_type`](mcp_core::param::Param::is_enforced_by_type)); then the check only explains what they
//! reject. A schema is prepared when it is first needed.

pub(crate) mod check;
mod cycles;
mod formats;
pub(crate) mod include;
mod judge;
mod keys;
mod pattern;
mod sample;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::OnceLock;

use mcp_core::Error;
use mcp_core::entry::ToolEntry;
use mcp_core::error::{Fault, SchemaError};
use mcp_core::param::{Constraint, Param};
use mcp_core::support::cut;
use mcp_core::support::faults::{ARGUMENTS, RESULT, listed};
use mcp_core::support::schema::{Model, NodeId, ReadError};
use serde_json::Value;

pub(crate) use self::check::rounded_integer;
use self::check::{How, Schema, Secrets};
pub(crate) use self::formats::FORMATS;
use self::formats::format;
pub use self::judge::Judge;
pub(crate) use self::keys::unreadable;
use self::pattern::Pattern;
use self::sample::{Samples, contradiction};
use crate::util::panic::guard;

/// Schemas, and the types that enforce a part of them.
pub(crate) trait Subject {
    /// The name for errors.
    fn name(&self) -> &str;

    /// The entry with typed parameters; `None` where only schemas are known.
    fn entry(&self) -> Option<&'static ToolEntry>;

    /// The schema that decides which arguments fit.
    fn input_model(&self) -> Result<Model, ReadError>;

    /// The schema of the results.
    fn output_model(&self) -> Option<Result<Model, ReadError>>;
}

/// The checks of the arguments of a subject, each prepared once.
pub(crate) struct Checks<S> {
    subject: S,
    input: OnceLock<Prepared>,
    /// The schema of the arguments in which every format is a rule. It explains what only a type rejects.
    with_formats: OnceLock<Option<Schema>>,
    /// The schema of the types, if authors wrote schemas that may say less.
    of_types: OnceLock<Option<Schema>>,
}

/// The check of the results of a tool, prepared once.
#[derive(Default)]
pub(crate) struct ResultCheck(OnceLock<Option<Prepared>>);

impl ResultCheck {
    /// The faults of a result.
    pub(crate) fn check(&self, subject: &impl Subject, json: &str) -> Faults {
        let how = How { document: RESULT, lenient: false, secrets: Secrets::None };
        let checked = guarded("result", || match self.0.get_or_init(|| subject.output_model().map(prepare)) {
            None => Ok(None),
            Some(Ok(schema)) => schema.check(json, &how),
            Some(Err(reason)) => Err(unchecked("result", reason)),
        });
        checked.err().unwrap_or_default()
    }
}

/// What a check returns: the edited text, if the value was edited.
pub(crate) type Checked = Result<Option<String>, Faults>;

/// A schema that values can be checked against, or why there is none.
type Prepared = Result<Schema, String>;

/// How many faults are reported.
const MAX_FAULTS: usize = 20;

/// Messages of more bytes are large: they are read and checked on threads that may block.
pub(crate) const LARGE: usize = 64 * 1024;

/// The most bytes that are quoted from a schema.
const QUOTED: usize = 160;

fn prepare(model: Result<Model, ReadError>) -> Prepared {
    Schema::new(model.map_err(|error| error.to_string())?)
}

impl<S: Subject> Checks<S> {
    pub(crate) const fn new(subject: S) -> Self {
        Self { subject, input: OnceLock::new(), with_formats: OnceLock::new(), of_types: OnceLock::new() }
    }

    pub(crate) const fn subject(&self) -> &S {
        &self.subject
    }

    /// Whether arguments are checked before they are read.
    pub(crate) fn is_checked_first(&self) -> bool {
        let is_enforced = |entry: &ToolEntry| {
            entry.input_schema.is_none() && !entry.flatten && entry.params.iter().all(Param::is_enforced_by_type)
        };
        !self.subject.entry().is_some_and(is_enforced)
    }

    /// Whether types can reject arguments that fit the schema until these are edited.
    pub(crate) fn may_need_edits(&self) -> bool {
        !self.is_checked_first()
            && self.subject.entry().is_some_and(|entry| entry.params.iter().any(Param::may_need_edits))
    }

    /// Checks arguments, if the types do not do it. Returns them as the types read them.
    pub(crate) fn check<'a>(&self, json: &'a str) -> Result<Cow<'a, str>, Error> {
        if !self.is_checked_first() {
            return Ok(json.into());
        }
        match self.check_input(json) {
            Ok(None) => Ok(json.into()),
            Ok(Some(edited)) => Ok(edited.into()),
            Err(faults) => Err(self.rejection(json, faults)),
        }
    }

    /// The error of arguments with these faults, and with those of formats that only types enforce.
    pub(crate) fn rejection(&self, json: &str, faults: Faults) -> Error {
        self.error(self.with_formats(json, faults)).into()
    }

    /// Checks arguments that a gate or a layer looks at. Returns them under the names and in the form that the schema
    /// publishes, if they differ. What types could read under a name that the schema does not have is a fault.
    pub(crate) fn publish(&self, json: &str) -> Checked {
        // Parameters have their names, whatever the schema says; a struct whose fields are the arguments may have others.
        let opens_root = self.subject.entry().is_some_and(|entry| !entry.flatten);
        let published = self.checked_input(|schema, how| schema.publish(json, how, opens_root))?;
        let types = self.of_types.get_or_init(|| {
            let has_schema = |entry: &&ToolEntry| {
                entry.input_schema.is_some() || entry.params.iter().any(|param| param.explicit_schema.is_some())
            };
            let entry = self.subject.entry().filter(has_schema)?;
            guard(|| Schema::new(entry.generate_type_model().ok()?).ok()).ok().flatten()
        });
        let Some(types) = types else { return Ok(published) };
        // Faults are those of the author's schema, or of the types when they read the arguments.
        let how = How { document: ARGUMENTS, lenient: true, secrets: Secrets::All };
        let edited = guard(|| types.publish(published.as_deref().unwrap_or(json), &how, opens_root).ok().flatten());
        Ok(edited.ok().flatten().or(published))
    }

    /// Checks arguments as a call does, without running the tool. The error lists every fault.
    pub(crate) fn check_call(&self, json: &str) -> Result<(), Error> {
        self.check_types(&self.check(json)?)
    }

    /// Checks that the types accept arguments that fit the schema.
    pub(crate) fn check_types(&self, arguments: &str) -> Result<(), Error> {
        let Some(entry) = self.subject.entry() else { return Ok(()) };
        let checked = guard(|| match entry.check(arguments) {
            Err(faults) if self.may_need_edits() => match self.edited(arguments) {
                Some(edited) => entry.check(&edited),
                None => Err(faults),
            },
            checked => checked,
        });
        let checked = checked.map_err(|panicked| panicked.into_error(self.subject.name()))?;
        checked.map_err(|faults| self.explain_rejection(arguments, faults).into())
    }

    /// The faults of arguments, and those of formats that only types enforce.
    fn with_formats(&self, json: &str, faults: Faults) -> Faults {
        // A type that panics reports nothing; reading a large message again is not worth it.
        let read = |entry: &'static ToolEntry| guard(|| entry.check(json).err()).ok().flatten();
        let typed = self.subject.entry().filter(|_| json.len() <= LARGE).and_then(read).unwrap_or_default();
        let is_kept = |fault: &Fault| {
            // A type may accept more than its format.
            typed.iter().any(|typed| covers(typed, fault)) || faults.faults.iter().any(|known| known.path == fault.path)
        };
        let mut all = if typed.is_empty() { Faults::default() } else { self.format_faults(json) };
        all.faults.retain(is_kept);
        if all.faults.len() > faults.faults.len() { all } else { faults }
    }

    /// The faults of arguments if every format is a rule.
    fn format_faults(&self, json: &str) -> Faults {
        let faults = guard(|| {
            let schema = self.with_formats.get_or_init(|| {
                let mut model = self.subject.input_model().ok()?;
                model.check_formats();
                Schema::new(model).ok()
            });
            self.check_by(schema.as_ref()?, |schema, how| schema.check(json, how)).err()
        });
        faults.ok().flatten().unwrap_or_default()
    }

    /// The arguments as the types accept them, if they fit the schema and have to be edited for that.
    pub(crate) fn edited(&self, json: &str) -> Option<String> {
        self.check_input(json).ok().flatten()
    }

    /// The error of arguments that the types have rejected, with every fault that the schema explains, and what the types
    /// say about the other arguments.
    pub(crate) fn explain_rejection(&self, json: &str, typed: Vec<Fault>) -> SchemaError {
        let faults = self.check_input(json).err().unwrap_or_default();
        // Formats explain only what the schema does not: a type may accept more than its format.
        if typed.iter().all(|typed| faults.faults.iter().any(|fault| covers(fault, typed))) {
            return self.error(faults);
        }
        let by_format = self.format_faults(json).faults.into_iter();
        let by_format = by_format.filter(|fault| typed.iter().any(|typed| covers(typed, fault))).collect();
        self.error(faults.with(by_format).with(typed))
    }

    fn check_input(&self, json: &str) -> Checked {
        self.checked_input(|schema, how| schema.check(json, how))
    }

    fn checked_input(&self, check: impl FnOnce(&Schema, &How<'_>) -> Checked) -> Checked {
        guarded("arguments", || match self.input.get_or_init(|| prepare(self.subject.input_model())) {
            Ok(schema) => self.check_by(schema, check),
            Err(reason) => Err(unchecked("arguments", reason)),
        })
    }

    fn check_by(&self, schema: &Schema, check: impl FnOnce(&Schema, &How<'_>) -> Checked) -> Checked {
        let entry = self.subject.entry();
        let secrets = || entry.iter().flat_map(|entry| entry.params).filter(|param| param.secret);
        let names: Vec<&str> = secrets().map(|param| param.name).collect();
        let secrets = match names[..] {
            [] => Secrets::None,
            _ if entry.is_some_and(|entry| entry.flatten) => Secrets::All,
            _ => Secrets::Named(&names),
        };
        check(schema, &How { document: ARGUMENTS, lenient: true, secrets })
    }

    fn error(&self, Faults { faults, omitted }: Faults) -> SchemaError {
        SchemaError::new(self.subject.name(), faults).omitted(omitted)
    }
}

/// The first faults of a value, and how many more there are.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) faults: Vec<Fault>,
    pub(crate) omitted: usize,
}

impl Faults {
    /// Adds faults of other values.
    fn with(self, others: Vec<Fault>) -> Self {
        let Self { mut faults, omitted } = self;
        let others: Vec<Fault> =
            others.into_iter().filter(|other| !faults.iter().any(|fault| covers(fault, other))).collect();
        faults.extend(others);
        let omitted = omitted + faults.len().saturating_sub(MAX_FAULTS);
        faults.truncate(MAX_FAULTS);
        Self { faults, omitted }
    }
}

/// Whether a fault is about the same argument as another one, or about all of them.
fn covers(fault: &Fault, other: &Fault) -> bool {
    let argument = |path: &str| path.split('/').nth(1).map(str::to_owned);
    fault.path.is_empty() || other.path.is_empty() || argument(&fault.path) == argument(&other.path)
}

/// The result of a check; a panic, such as one of a user's schema, is a fault.
fn guarded(what: &str, check: impl FnOnce() -> Checked) -> Checked {
    guard(check).unwrap_or_else(|panicked| Err(unchecked(what, panicked.message())))
}

/// The fault of arguments or results that cannot be checked, since their schema is invalid.
fn unchecked(what: &str, reason: &str) -> Faults {
    let message =
        format!("the {what} cannot be checked, because the tool's schema is invalid: {reason}; tell its author");
    Faults { faults: vec![Fault::new("", "a schema", message)], omitted: 0 }
}

/// A value that fits the schema of arguments or of a result.
pub(crate) fn sample(model: Model) -> Option<Value> {
    let schema = Schema::new(model).ok()?;
    Samples::new(schema.model(), &|node, json| schema.accepts(node, json)).fitting(schema.model().root())
}

/// A value that does not fit the schema of arguments or of a result, even if nulls may stand for absent members.
pub(crate) fn counterexample(model: Model) -> Option<Value> {
    let schema = Schema::new(model).ok()?;
    let (root, lenient) = (schema.model().root(), How { document: ARGUMENTS, lenient: true, secrets: Secrets::None });
    let accepts =
        |node: NodeId, json: &str| schema.accepts(node, json) || (node == root && schema.check(json, &lenient).is_ok());
    Samples::new(schema.model(), &accepts).violating(root)
}

/// The type of a tool's arguments whose values may take more than linear time to read, if there is one.
pub(crate) fn slow_type(subject: &impl Subject) -> Option<String> {
    let models = match subject.entry() {
        None => vec![subject.input_model()],
        Some(entry) if entry.params.iter().all(Param::is_enforced_by_type) && entry.input_schema.is_none() => {
            return None;
        }
        // Types are read even if there is an explicit schema.
        Some(entry) => vec![subject.input_model(), Model::read(&entry.generate_type_schemas(), false)],
    };
    models.iter().flatten().find_map(|model| cycles::slow_union(model).map(str::to_owned))
}

/// The name of a type that contains itself, if the schema has one.
pub(crate) fn recursive_type(schema: &Value) -> Option<String> {
    let model = Model::read(schema, false).ok()?;
    cycles::recursive_type(&model).map(str::to_owned)
}

/// What is wrong with the explicit schemas of a tool: which one, and why.
pub(crate) fn schema_faults(subject: &impl Subject) -> Vec<(&'static str, String)> {
    let entry = subject.entry();
    let input = entry.is_none_or(|entry| entry.input_schema.is_some()).then(|| subject.input_model());
    let output = entry.is_none_or(|entry| entry.output_schema.is_some()).then(|| subject.output_model()).flatten();
    let schemas = [("input", input), ("output", output)].into_iter();
    schemas.filter_map(|(which, model)| Some((which, schema_fault(model?)?))).collect()
}

/// Why no value can be checked against a schema, or why none fits.
fn schema_fault(model: Result<Model, ReadError>) -> Option<String> {
    let schema = match prepare(model) {
        Ok(schema) => schema,
        Err(reason) => return Some(invalid_schema(reason)),
    };
    contradiction(schema.model()).map(|reason| format!("accepts no value: {reason}; correct it"))
}

fn invalid_schema(reason: impl std::fmt::Display) -> String {
    format!("is not a JSON Schema: {reason}; correct it")
}

/// What is wrong with the explicit schema, `pattern` and `format` of a parameter.
pub(crate) fn param_faults(param: &Param) -> Vec<String> {
    let constraints = param.constraints.iter().filter_map(|constraint| match constraint {
        Constraint::Pattern(pattern) => pattern_fault(pattern),
        Constraint::Format(name) if format(name).is_none() => {
            let names = FORMATS.iter().map(|format| format.name);
            Some(format!("has the format `{name}`, which is unknown; use {}", listed(names)))
        }
        _ => None,
    });
    let schema = param.explicit_schema.map(|schema| schema()).filter(Value::is_object);
    let fault = schema.and_then(|schema| schema_fault(Model::read(&schema, true)));
    let schema = fault.map(|fault| format!("has a schema that {fault}"));
    schema.into_iter().chain(constraints).collect()
}

fn pattern_fault(pattern: &str) -> Option<String> {
    let reason = Pattern::new(pattern).err()?;
    let remedy = if reason.contains("; ") { "" } else { "; correct it" };
    Some(format!("has the pattern `{}`, which {reason}{remedy}", cut(pattern, QUOTED)))
}
