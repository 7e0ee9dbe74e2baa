//! Enforces schemas: types do it where they can, and a validator does the rest.
//!
//! The validator runs for tools that need it ([`Need`]), and for every rejected call, to report every fault at once. It is
//! compiled when it is first needed. Without the feature `validate` there is none, and a tool that needs it is not
//! registered unless the builder allows it.

#[cfg(feature = "validate")]
mod compile;
mod conjunction;
mod cycles;
#[cfg(feature = "validate")]
mod explain;
mod formats;
mod keys;
pub(crate) mod map_keys;
mod numbers;
mod pattern;
mod recursion;
mod sample;
mod samples;
#[cfg(test)]
mod samples_tests;
#[cfg(test)]
mod tests;
mod texts;
mod unenforced;
mod variations;
#[cfg(feature = "validate")]
mod walk;

use std::sync::OnceLock;

use mcp_core::Error;
use mcp_core::entry::ToolEntry;
use mcp_core::error::{Fault, Origin, RegistrationProblem, SchemaError, ValidationError};
use mcp_core::support::parse_arguments;
use serde_json::Value;

pub(crate) use self::recursion::{recursive_type, slow_type};
pub(crate) use self::sample::{Document, FORMATS, types};
pub(crate) use self::unenforced::{Need, Unenforced};
use crate::util::panic::guard;

/// Schemas, and the types that enforce a part of them.
pub(crate) trait Subject {
    /// The name for errors.
    fn name(&self) -> &str;

    /// Where it is defined.
    fn origin(&self) -> &Origin;

    /// The entry whose parameters are types; none where the schemas are all that is known.
    fn entry(&self) -> Option<&'static ToolEntry>;

    /// The schema of the arguments.
    fn input(&self) -> &Value;

    /// The schema of the results.
    #[cfg(feature = "validate")]
    fn output(&self) -> Option<&Value>;
}

/// The checks of a subject, each prepared once.
pub(crate) struct Checks<S> {
    subject: S,
    need: OnceLock<Need>,
    #[cfg(feature = "validate")]
    input: OnceLock<compile::Compiled>,
    #[cfg(feature = "validate")]
    output: OnceLock<Option<compile::Compiled>>,
}

/// How many faults are reported.
const MAX_FAULTS: usize = 20;

/// Messages of more bytes are large: they are checked one at a time, on threads that may block.
pub(crate) const LARGE: usize = 64 * 1024;

/// The keywords that hold definitions.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// What is expected of a value with a fault that is too deeply nested to be explained.
const INVALID_INSIDE: &str = "as its schema says at every level";

impl<S: Subject> Checks<S> {
    pub(crate) const fn new(subject: S) -> Self {
        Self {
            subject,
            need: OnceLock::new(),
            #[cfg(feature = "validate")]
            input: OnceLock::new(),
            #[cfg(feature = "validate")]
            output: OnceLock::new(),
        }
    }

    pub(crate) const fn subject(&self) -> &S {
        &self.subject
    }

    /// When the validator has to run.
    pub(crate) fn need(&self) -> &Need {
        self.need.get_or_init(|| unenforced::need(&self.subject))
    }

    /// Whether the validator has to check these arguments.
    pub(crate) fn needs_validator(&self, json: &str) -> bool {
        if !cfg!(feature = "validate") {
            return false;
        }
        match self.need() {
            Need::Always(_) => true,
            Need::With { lists, objects } => {
                (*lists && json.contains('['))
                    || (*objects && json.bytes().filter(|byte| *byte == b'{').nth(1).is_some())
            }
        }
    }

    /// Whether there are arguments that the validator has to check.
    pub(crate) fn may_need_validator(&self) -> bool {
        cfg!(feature = "validate") && !matches!(self.need(), Need::With { lists: false, objects: false })
    }

    /// Rejects arguments if the validator has to check them and finds faults. The types find theirs when the tool runs;
    /// [`explain_rejection`](Self::explain_rejection) is for that.
    pub(crate) fn check_arguments(&self, json: &str) -> Result<(), Error> {
        // The schema of a user's type may panic.
        let needs_validator =
            guard(|| self.needs_validator(json)).map_err(|panicked| panicked.into_error(self.subject.name()))?;
        if !needs_validator {
            return Ok(());
        }
        let faults = match parse_arguments(json) {
            Ok(arguments) => self.faults(arguments),
            Err(error) => return Err(self.uncheckable(json, &error)),
        };
        if faults.faults.is_empty() { Ok(()) } else { Err(self.error(faults.with(self.typed_faults(json))).into()) }
    }

    /// The error of arguments that the types have rejected, with every fault: theirs, and those that the validator finds.
    pub(crate) fn explain_rejection(&self, json: &str, typed: Vec<Fault>) -> SchemaError {
        // Parsing a large message again is not worth it.
        let is_parsed = typed.len() < MAX_FAULTS && json.len() <= LARGE;
        let arguments = is_parsed.then(|| parse_arguments(json).ok()).flatten();
        let faults = arguments.map_or_else(Faults::default, |arguments| self.faults(arguments));
        self.error(faults.with(typed))
    }

    /// The error of arguments that the validator cannot check: no `Value` can represent them, or only a different one.
    /// Nothing is known about them, so they are rejected.
    fn uncheckable(&self, json: &str, error: &ValidationError) -> Error {
        let typed = self.typed_faults(json);
        if !typed.is_empty() {
            return self.error(Faults::default().with(typed)).into();
        }
        let is_secret = self.subject.entry().is_some_and(|entry| entry.params.iter().any(|param| param.secret));
        let reason = match error {
            ValidationError::Syntax { reason, line, column } => {
                format!("{reason} at line {line}, column {column}; send text and numbers that JSON Schema can describe")
            }
            // A path inside a secret is part of the secret.
            _ if is_secret => "a key occurs twice in one object; keep one of the two".to_owned(),
            error => error.to_string(),
        };
        let message = format!("the arguments cannot be checked: {reason}");
        let expected = "arguments that can be checked".to_owned();
        let fault = Fault::new("", expected, message);
        SchemaError::new(self.subject.name(), vec![fault]).into()
    }

    /// The faults that the types find.
    fn typed_faults(&self, json: &str) -> Vec<Fault> {
        // A type that panics reports nothing.
        let find = |entry: &ToolEntry| guard(|| entry.check(json).err().unwrap_or_default()).unwrap_or_default();
        self.subject.entry().map(find).unwrap_or_default()
    }

    fn error(&self, Faults { faults, omitted }: Faults) -> SchemaError {
        SchemaError::new(self.subject.name(), faults).omitted(omitted)
    }

    /// The faults that the validator finds in arguments. A null counts as absent where absence is valid.
    #[cfg(feature = "validate")]
    pub(crate) fn faults(&self, arguments: Value) -> Faults {
        guarded("arguments", || match self.input.get_or_init(|| compile::input(&self.subject)) {
            Ok(compiled) => explain::arguments(&self.subject, compiled, arguments),
            Err(reason) => explain::unchecked("arguments", reason),
        })
    }

    /// There is no validator.
    #[cfg(not(feature = "validate"))]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn faults(&self, _: Value) -> Faults {
        Faults::default()
    }

    /// The faults of a result by the output schema.
    #[cfg(feature = "validate")]
    pub(crate) fn output_faults(&self, data: &Value) -> Faults {
        guarded("result", || match self.output.get_or_init(|| compile::output(&self.subject)) {
            None => Faults::default(),
            Some(Ok(compiled)) => explain::result(compiled, data),
            Some(Err(reason)) => explain::unchecked("result", reason),
        })
    }

    /// There is no validator.
    #[cfg(not(feature = "validate"))]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn output_faults(&self, _: &Value) -> Faults {
        Faults::default()
    }
}

/// The first faults of a value, and how many more there are.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) faults: Vec<Fault>,
    pub(crate) omitted: usize,
}

impl Faults {
    /// The first faults, and those of these that are at other places.
    fn with(self, first: Vec<Fault>) -> Self {
        let is_covered = |fault: &Fault| {
            first.iter().any(|first| covers(first, fault)) || (fault.expected == INVALID_INSIDE && !first.is_empty())
        };
        let others: Vec<Fault> = self.faults.into_iter().filter(|fault| !is_covered(fault)).collect();
        let mut faults = first;
        faults.extend(others);
        let omitted = self.omitted + faults.len().saturating_sub(MAX_FAULTS);
        faults.truncate(MAX_FAULTS);
        Self { faults, omitted }
    }
}

/// Whether a fault is about the same value as another one, a part of it, or a value that contains it.
fn covers(first: &Fault, fault: &Fault) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (first.path.as_str(), fault.path.as_str()) {
        ("", "") => true,
        // For a struct of all arguments, serde names the first missing field.
        ("", path) => first.expected == format!("the field `{}`", path.trim_start_matches('/')),
        (_, "") => false,
        (first, path) => within(path, first) || within(first, path),
    }
}

/// The faults that the validator finds; a panic counts as a fault.
#[cfg(feature = "validate")]
fn guarded(what: &str, check: impl FnOnce() -> Faults) -> Faults {
    guard(check).unwrap_or_else(|panicked| explain::unchecked(what, panicked.message()))
}

#[cfg(feature = "validate")]
pub(crate) use self::compile::{param_faults, schema_faults};

/// There is no validator.
#[cfg(not(feature = "validate"))]
pub(crate) fn schema_faults(_: &impl Subject) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// There is no validator.
#[cfg(not(feature = "validate"))]
pub(crate) fn param_faults(_: &mcp_core::param::Param) -> Vec<String> {
    Vec::new()
}

/// Why a tool cannot be called without a validator, if there is none.
pub(crate) fn unchecked(subject: &impl Subject) -> Option<RegistrationProblem> {
    if cfg!(feature = "validate") {
        return None;
    }
    let Need::Always(Unenforced { keyword, path }) = unenforced::need(subject) else { return None };
    let origin = Box::new(subject.origin().clone());
    Some(RegistrationProblem::Unchecked { tool: subject.name().to_owned(), keyword, path, origin })
}
