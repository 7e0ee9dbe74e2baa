//! `ValidationError`: a message that breaks a rule of its form.

use std::fmt;

use crate::name::NameError;
use crate::util::text::{cut, shown};

/// How deep a message may nest.
pub const MAX_DEPTH: usize = 100;

/// Why a message was refused. All broken rules are listed (the first 20 of them), each with the path of its field and
/// what to do.
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
        /// How many bytes are good.
        offset: usize,
    },
    /// The text is not JSON.
    #[error("the message is not JSON: {reason} at line {line}, column {column}; send one JSON object")]
    Syntax {
        /// What the parser met.
        reason: String,
        /// Where, counted from 1.
        line: usize,
        /// Where, counted from 1.
        column: usize,
    },
    /// Fields that break a rule; at least one.
    #[error("{}", listed(.0))]
    Fields(Vec<Violation>),
}

/// One rule that one field breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The field, such as `error.error_message` or `content[0].text`; empty for the message itself.
    pub path: String,
    /// The rule, whose `Display` ends in the remedy.
    pub rule: Rule,
}

/// The rules that a field can break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// A required field is not there.
    #[error("is missing; add {expected}")]
    Missing {
        /// What belongs there.
        expected: &'static str,
    },
    /// A value of another type.
    #[error("must be {expected}, but is {got}; send {expected}")]
    Type {
        /// What belongs there.
        expected: &'static str,
        /// What came.
        got: &'static str,
    },
    /// Not a tool name.
    #[error("is not a tool name: {0}")]
    Name(#[from] NameError),
    /// A status outside the four, in strict mode.
    #[error("must be `success`, `failure`, `no_change_needed` or `partial_success`; use one of them")]
    Status,
    /// A failure without an error.
    #[error("is required when the status is a failure; add an object with `error_type` and `error_message`")]
    ErrorOnFailure,
    /// A failure with data.
    #[error("must be null when the status is a failure; move it into `error.error_details`")]
    DataOnFailure,
    /// Both a field and its other spelling, with different values.
    #[error("differs from `{other}`, which means the same; send one of them")]
    Ambiguous {
        /// The field that it contradicts.
        other: &'static str,
    },
    /// Two fields of which only one may be there.
    #[error("and `{other}` are both there; send one of them")]
    Both {
        /// The other one.
        other: &'static str,
    },
    /// The other spelling of a field, in strict mode.
    #[error("is not taken in strict mode; rename it to `{canonical}`")]
    Alias {
        /// The field's own name.
        canonical: &'static str,
    },
    /// A field that is not part of the message, in strict mode.
    #[error("is not a field of {message}; remove it, or read the message leniently")]
    Unknown {
        /// Which message.
        message: &'static str,
    },
    /// An extra field that has the name of a field of the message.
    #[error("is set as an extra field, but {message} has a field of that name; set that one")]
    Reserved {
        /// Which message.
        message: &'static str,
    },
    /// A duplicate key in one object.
    #[error("is a duplicate key; keep one of the two")]
    Duplicate,
    /// More than [`MAX_DEPTH`] levels.
    #[error("is nested deeper than {MAX_DEPTH} levels; flatten it")]
    Depth,
}

impl ValidationError {
    /// The fields that break a rule; none where the message is not JSON at all.
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

/// `first; and second`.
fn listed(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; and ")
}

/// How many violations are noted; a message of a million faults is not worth a million sentences.
const NOTED: usize = 20;

/// Collects violations; a field is blamed once, for the first rule that it breaks.
#[derive(Default)]
pub(crate) struct Violations(Vec<Violation>);

impl Violations {
    pub(crate) fn add(&mut self, path: impl Into<String>, rule: impl Into<Rule>) {
        let path = path.into();
        if self.0.len() < NOTED && self.0.iter().all(|known| known.path != path) {
            self.0.push(Violation { path, rule: rule.into() });
        }
    }

    /// What was read, if nothing is wrong with it.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, ValidationError> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => Err(ValidationError::Fields(self.0)),
        }
    }
}

impl From<Violation> for ValidationError {
    fn from(violation: Violation) -> Self {
        Self::Fields(vec![violation])
    }
}

/// The most bytes of a path that an error shows.
const PATH: usize = 160;

/// `outer` + `inner`, as `outer.inner` or `outer[0]`; a long key is cut, and a long path.
pub(crate) fn join(outer: &str, inner: &str) -> String {
    let (outer, inner) = (shown(outer), &*cut(inner, PATH));
    match inner {
        "" => outer.into_owned(),
        _ if outer.is_empty() || inner.starts_with('[') => format!("{outer}{inner}"),
        _ => format!("{outer}.{inner}"),
    }
}
