//! What a schema says is enforced, by types where they do it and by a validator where they do not.
//!
//! The validator runs for the tools that need it ([`Need`]), and for every call that was refused, to tell all faults at
//! once. It is made when it is first needed. Without the feature `validate` there is none, and a tool that needs it is
//! not registered unless the builder allows it.

#[cfg(feature = "validate")]
mod compile;
#[cfg(feature = "validate")]
mod explain;
pub(crate) mod keys;
#[cfg(feature = "validate")]
mod large;
mod need;
mod sample;
mod slow;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use mcp_core::__private::parse_arguments;
use mcp_core::{Error, Fault, Origin, RegistrationProblem, SchemaError, ToolEntry, ValidationError};
use serde_json::Value;

pub(crate) use self::need::{Need, Unenforced};
pub(crate) use self::sample::Document;
pub(crate) use self::slow::{recursive_type, slow_type};
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

/// What is found out once about the schemas of a subject.
pub(crate) struct Checks<S> {
    subject: S,
    need: OnceLock<Need>,
    #[cfg(feature = "validate")]
    input: OnceLock<compile::Compiled>,
    #[cfg(feature = "validate")]
    output: OnceLock<Option<compile::Compiled>>,
}

/// How many faults are told.
const TOLD: usize = 20;

/// Messages of more bytes are large: they are checked one at a time, where nobody waits for the thread.
pub(crate) const LARGE: usize = 64 * 1024;

/// Where definitions stand.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// What is told of a fault that lies deeper than anyone looks.
const DEEPER: &str = "as its schema says at every level";

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
        self.need.get_or_init(|| need::need(&self.subject))
    }

    /// Whether the validator has to see these arguments, which the types may take.
    pub(crate) fn wants(&self, json: &str) -> bool {
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

    /// Whether there are arguments that the types may take and the validator has to see.
    pub(crate) fn may_want(&self) -> bool {
        cfg!(feature = "validate") && !matches!(self.need(), Need::With { lists: false, objects: false })
    }

    /// Rejects arguments if the validator has to see them and finds faults. What only the types see is found when the tool
    /// runs; [`complete`](Self::complete) is for that.
    pub(crate) fn admit(&self, json: &str) -> Result<(), Error> {
        // The schema of a user's type may panic.
        let wants = guard(|| self.wants(json)).map_err(|panicked| panicked.of(self.subject.name()))?;
        if !wants {
            return Ok(());
        }
        let found = match parse_arguments(json) {
            Ok(arguments) => self.faults(arguments),
            Err(error) => return Err(self.uncheckable(json, &error)),
        };
        if found.faults.is_empty() { Ok(()) } else { Err(self.error(found.with(self.typed_faults(json))).into()) }
    }

    /// The error of arguments that the types have rejected, with all faults: theirs, and what the validator finds besides.
    pub(crate) fn complete(&self, json: &str, typed: Vec<Fault>) -> SchemaError {
        // To read a large message once more is worth no further fault.
        let is_read = typed.len() < TOLD && json.len() <= LARGE;
        let arguments = is_read.then(|| parse_arguments(json).ok()).flatten();
        let found = arguments.map_or_else(Found::default, |arguments| self.faults(arguments));
        self.error(found.with(typed))
    }

    /// The error of arguments that the validator cannot look at: a text that no `Value` can hold, or that it would hold as
    /// another one. Nothing is known of them, so they are rejected.
    fn uncheckable(&self, json: &str, error: &ValidationError) -> Error {
        let typed = self.typed_faults(json);
        if !typed.is_empty() {
            return self.error(Found::default().with(typed)).into();
        }
        let is_secret = self.subject.entry().is_some_and(|entry| entry.params.iter().any(|param| param.secret));
        let reason = match error {
            ValidationError::Syntax { reason, line, column } => {
                format!("{reason} at line {line}, column {column}; send text and numbers that JSON Schema can describe")
            }
            // A path inside of a secret is part of it.
            _ if is_secret => "a key occurs twice in one object; keep one of the two".to_owned(),
            error => error.to_string(),
        };
        let message = format!("the arguments cannot be checked: {reason}");
        let expected = "arguments that can be checked".to_owned();
        let fault = Fault { path: String::new(), expected, got: None, message };
        SchemaError::new(self.subject.name(), vec![fault]).into()
    }

    /// The faults that the types find.
    fn typed_faults(&self, json: &str) -> Vec<Fault> {
        // A type that panics has told nothing.
        let find = |entry: &ToolEntry| guard(|| entry.check(json).err().unwrap_or_default()).unwrap_or_default();
        self.subject.entry().map(find).unwrap_or_default()
    }

    fn error(&self, Found { faults, omitted }: Found) -> SchemaError {
        SchemaError::new(self.subject.name(), faults).omitted(omitted)
    }

    /// What the validator finds in the arguments of a call. A null means absence, where absence fits.
    #[cfg(feature = "validate")]
    pub(crate) fn faults(&self, arguments: Value) -> Found {
        guarded("arguments", || match self.input.get_or_init(|| compile::input(&self.subject)) {
            Ok(compiled) => explain::arguments(&self.subject, compiled, arguments),
            Err(reason) => explain::unchecked("arguments", reason),
        })
    }

    /// There is no validator.
    #[cfg(not(feature = "validate"))]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn faults(&self, _: Value) -> Found {
        Found::default()
    }

    /// Where a result's data is not as the output schema says.
    #[cfg(feature = "validate")]
    pub(crate) fn output_faults(&self, data: &Value) -> Found {
        guarded("result", || match self.output.get_or_init(|| compile::output(&self.subject)) {
            None => Found::default(),
            Some(Ok(compiled)) => explain::result(compiled, data),
            Some(Err(reason)) => explain::unchecked("result", reason),
        })
    }

    /// There is no validator.
    #[cfg(not(feature = "validate"))]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn output_faults(&self, _: &Value) -> Found {
        Found::default()
    }
}

/// The faults of a value: the first of them, and how many more there are.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) faults: Vec<Fault>,
    pub(crate) omitted: usize,
}

impl Found {
    /// These faults, and those of the others that are at other places.
    fn with(self, first: Vec<Fault>) -> Self {
        let mut faults = merged(first, self.faults);
        let omitted = self.omitted + faults.len().saturating_sub(TOLD);
        faults.truncate(TOLD);
        Self { faults, omitted }
    }
}

/// The faults, and those of the others that are at other places.
fn merged(mut faults: Vec<Fault>, others: Vec<Fault>) -> Vec<Fault> {
    let told: Vec<Fault> = faults.clone();
    let is_told =
        |fault: &Fault| told.iter().any(|told| says_of(told, fault)) || (fault.expected == DEEPER && !told.is_empty());
    faults.extend(others.into_iter().filter(|fault| !is_told(fault)));
    faults
}

/// Whether one fault is about the same value as another, a part of it, or what it is part of.
fn says_of(told: &Fault, fault: &Fault) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (told.path.as_str(), fault.path.as_str()) {
        ("", "") => true,
        // Of a struct that is all arguments, serde names the first field that is missing.
        ("", path) => told.expected == format!("the field `{}`", path.trim_start_matches('/')),
        (_, "") => false,
        (told, path) => within(path, told) || within(told, path),
    }
}

/// What the validator finds; a validator that panics has not let the value pass.
#[cfg(feature = "validate")]
fn guarded(what: &str, check: impl FnOnce() -> Found) -> Found {
    guard(check).unwrap_or_else(|panicked| explain::unchecked(what, panicked.message()))
}

/// What is wrong with the schemas that the author of a tool wrote, and with `pattern` and `format` of its parameters.
#[cfg(feature = "validate")]
pub(crate) use self::compile::problems;

/// There is no validator.
#[cfg(not(feature = "validate"))]
pub(crate) fn problems(_: &impl Subject, _: bool) -> Vec<RegistrationProblem> {
    Vec::new()
}

/// Why a tool cannot be called without a validator, if there is none.
pub(crate) fn unchecked(subject: &impl Subject) -> Option<RegistrationProblem> {
    if cfg!(feature = "validate") {
        return None;
    }
    let Need::Always(Unenforced { keyword, path }) = need::need(subject) else { return None };
    let origin = Box::new(subject.origin().clone());
    Some(RegistrationProblem::Unchecked { tool: subject.name().to_owned(), keyword, path, origin })
}
