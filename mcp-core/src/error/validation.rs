//! `ValidationError`: an invalid message.

use std::fmt;

use crate::name::NameError;
use crate::util::text::{cut, shown};

/// The maximum nesting depth of a message.
pub const MAX_DEPTH: usize = 100;

/// Why a message is invalid. It lists all violations (the first 20 of them), each with the path of the field and what to
/// do.
///
/// ```
/// use mcp_core::ToolResult;
///
/// let error = ToolResult::parse(r#"{"status": "failure", "error": {"error_type": "TimeoutError"}}"#).unwrap_err();
/// assert_eq!(error.violations()[0].path, "error.error_message");
/// assert_eq!(error.to_string(), "`error.error_message` is missing; add a string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidationError {
    /// The bytes are not UTF-8.
    #[error("the message is not UTF-8 from byte {offset} on; encode it as UTF-8")]
    Encoding {
        /// The number of valid bytes before the first invalid one.
        offset: usize,
    },
    /// The text is not JSON.
    #[error("the message is not JSON: {reason} at line {line}, column {column}; send one JSON object")]
    Syntax {
        /// The error of the parser.
        reason: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// Fields that violate a rule; there is at least one.
    #[error("{}", listed(.0))]
    Fields(Vec<Violation>),
}

/// One rule that one field violates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The field, such as `error.error_message` or `content[0].text`; empty for the message itself.
    pub path: String,
    /// The rule. Its `Display` ends with what to do.
    pub rule: Rule,
}

/// The rules that a field can violate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// A required field is missing.
    #[error("is missing; add {expected}")]
    Missing {
        /// What is expected.
        expected: &'static str,
    },
    /// The value has the wrong type.
    #[error("must be {expected}, but is {got}; send {expected}")]
    Type {
        /// What is expected.
        expected: &'static str,
        /// What was received.
        got: &'static str,
    },
    /// The name of the tool is invalid.
    #[error("is not a tool name: {0}")]
    Name(#[from] NameError),
    /// The status is unknown, in strict mode.
    #[error("must be `success`, `failure`, `no_change_needed` or `partial_success`; use one of them")]
    Status,
    /// A failure has no error.
    #[error("is required when the status is a failure; add an object with `error_type` and `error_message`")]
    ErrorOnFailure,
    /// A failure has data.
    #[error("must be null when the status is a failure; move it into `error.error_details`")]
    DataOnFailure,
    /// A field is present in both spellings, with different values.
    #[error("differs from `{other}`, which means the same; send one of them")]
    Ambiguous {
        /// The field that it contradicts.
        other: &'static str,
    },
    /// Two fields are present that exclude each other.
    #[error("and `{other}` are both present; send one of them")]
    Both {
        /// The other field.
        other: &'static str,
    },
    /// A field has its other spelling, in strict mode.
    #[error("is not accepted in strict mode; rename it to `{canonical}`")]
    Alias {
        /// The name of the field.
        canonical: &'static str,
    },
    /// A field is unknown, in strict mode.
    #[error("is not a field of {message}; remove it, or read the message leniently")]
    Unknown {
        /// The kind of message.
        message: &'static str,
    },
    /// An extra field has the name of a field of the message.
    #[error("is set as an extra field, but {message} has a field of that name; set that one")]
    Reserved {
        /// The kind of message.
        message: &'static str,
    },
    /// An object has a duplicate key.
    #[error("is a duplicate key; keep one of the two")]
    Duplicate,
    /// The message is nested deeper than [`MAX_DEPTH`].
    #[error("is nested deeper than {MAX_DEPTH} levels; flatten it")]
    Depth,
}

impl ValidationError {
    /// Returns the fields that violate a rule; none if the message is not JSON.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Fields(violations) => violations,
            Self::Encoding { .. } | Self::Syntax { .. } => &[],
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, rule } = self;
        if path.is_empty() { write!(f, "the message {rule}") } else { write!(f, "`{path}` {rule}") }
    }
}

/// Joins the violations, as `first; and second`.
fn listed(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; and ")
}

/// The maximum number of violations that are reported.
const MAX_VIOLATIONS: usize = 20;

/// Collects the first violation of each field.
#[derive(Default)]
pub(crate) struct Violations(Vec<Violation>);

impl Violations {
    pub(crate) fn add(&mut self, path: impl Into<String>, rule: impl Into<Rule>) {
        let path = path.into();
        if self.0.len() < MAX_VIOLATIONS && self.0.iter().all(|known| known.path != path) {
            self.0.push(Violation { path, rule: rule.into() });
        }
    }

    /// Returns the value, or the violations.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, ValidationError> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(ValidationError::Fields(self.0)),
        }
    }
}

impl From<Violation> for ValidationError {
    fn from(violation: Violation) -> Self {
        Self::Fields(vec![violation])
    }
}

/// The maximum length of a path in an error, in bytes.
const MAX_PATH: usize = 160;

/// Joins paths, as `outer.inner` or `outer[0]`. A long key or path is truncated.
pub(crate) fn join(outer: &str, inner: &str) -> String {
    let (outer, inner) = (shown(outer), &*cut(inner, MAX_PATH));
    match inner {
        "" => outer.into_owned(),
        _ if outer.is_empty() || inner.starts_with('[') => format!("{outer}{inner}"),
        _ => format!("{outer}.{inner}"),
    }
}
