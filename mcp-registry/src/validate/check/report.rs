//! The faults that a check finds: where, what is expected, what was sent, what to do. Nothing of a secret.

use mcp_core::support::faults::{Document, escaped};
use mcp_core::support::prefix;
use mcp_core::support::schema::NodeId;

use super::scan::{Malformed, Scanner};
use super::{Schema, Secrets};
use crate::validate::{Faults, MAX_FAULTS};

/// The most bytes of a key in a path. Longer paths are shortened anyway.
const LONGEST_STEP: usize = 256;

/// A step from a value to a part of it.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// The member whose key is at this byte.
    Key(usize),
    /// The member that a schema names, whatever name it was sent under.
    Property(NodeId, u32),
    Index(usize),
}

/// What is wrong with a value.
pub(super) enum Found<'f> {
    /// This was expected.
    Wrong(String),
    /// Nothing was expected.
    Superfluous,
    /// The object lacks this member.
    Lacking(&'f str),
    /// The object has a member of this name; these are known.
    Unknown(&'f str, &'f [&'f str]),
    /// The object has this member twice.
    Duplicate(&'f str),
}

/// The faults that were found.
pub(super) struct Report<'a> {
    document: Document,
    secrets: Secrets<'a>,
    faults: Faults,
}

impl Step {
    /// The name that the schema has for it.
    pub(super) fn name(self, schema: &Schema) -> Option<&str> {
        match self {
            Self::Property(node, slot) => {
                schema.plans[node.index()].object.as_ref().map(|object| object.names[slot as usize].as_str())
            }
            Self::Key(_) | Self::Index(_) => None,
        }
    }

    fn text(self, schema: &Schema, json: &str) -> String {
        match self {
            Self::Index(index) => index.to_string(),
            Self::Property(..) => escaped(self.name(schema).unwrap_or_default()),
            Self::Key(start) => {
                let mut scan = Scanner::new(json);
                scan.pos = start;
                let key = scan.string().map(|key| key.decoded()).unwrap_or_default();
                escaped(prefix(&key, LONGEST_STEP))
            }
        }
    }
}

/// The path as a JSON pointer.
fn path(steps: &[Step], schema: &Schema, json: &str) -> String {
    let mut path = String::new();
    for step in steps {
        path.push('/');
        path += &step.text(schema, json);
        if path.len() > LONGEST_STEP {
            break;
        }
    }
    path
}

impl Found<'_> {
    /// What a value lacks to fit an alternative.
    pub(super) fn lack(self, steps: &[Step], schema: &Schema, json: &str) -> String {
        let place = path(steps, schema, json);
        let place = place.trim_start_matches('/');
        match self {
            Self::Wrong(expected) if place.is_empty() => expected,
            Self::Wrong(expected) => format!("one whose `{place}` is {expected}"),
            Self::Superfluous => format!("one without `{place}`"),
            Self::Lacking(name) if place.is_empty() => format!("an object with `{name}`"),
            Self::Lacking(name) => format!("one whose `{place}` has `{name}`"),
            Self::Unknown(name, _) | Self::Duplicate(name) if place.is_empty() => format!("an object without `{name}`"),
            Self::Unknown(name, _) | Self::Duplicate(name) => format!("one whose `{place}` has no `{name}`"),
        }
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(document: Document, secrets: Secrets<'a>) -> Self {
        Self { document, secrets, faults: Faults::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.faults.faults.is_empty()
    }

    pub(super) fn into_faults(self) -> Faults {
        self.faults
    }

    /// Whether other faults are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.faults.faults.len() >= MAX_FAULTS
    }

    /// Whether there is room for a fault; otherwise it is counted.
    pub(super) fn wants_fault(&mut self) -> bool {
        self.faults.omitted += usize::from(self.is_full());
        !self.is_full()
    }

    /// Whether the steps lead into a secret.
    fn is_secret(&self, steps: &[Step], schema: &Schema, json: &str) -> bool {
        match (self.secrets, steps.first()) {
            (Secrets::None, _) | (Secrets::Named(_), None) => false,
            (Secrets::All, _) => true,
            (Secrets::Named(names), Some(Step::Property(..))) => {
                steps[0].name(schema).is_some_and(|name| names.contains(&name))
            }
            (Secrets::Named(names), Some(step)) => {
                let first = step.text(schema, json);
                names.iter().any(|name| prefix(&escaped(name), LONGEST_STEP) == first)
            }
        }
    }

    /// Whether the value after the steps, which may have secrets in it, must not be shown.
    pub(super) fn hides_values(&self, steps: &[Step], schema: &Schema, json: &str) -> bool {
        let holds_secrets = matches!(self.secrets, Secrets::Named(names) if steps.is_empty() && !names.is_empty());
        holds_secrets || self.is_secret(steps, schema, json)
    }

    /// The path that may be shown.
    fn place(&self, steps: &[Step], schema: &Schema, json: &str) -> String {
        match (self.secrets, steps) {
            (Secrets::All, [first @ Step::Property(..), ..]) => path(&[*first], schema, json),
            (Secrets::All, _) => String::new(),
            (_, [first, ..]) if self.is_secret(steps, schema, json) => path(&[*first], schema, json),
            _ => path(steps, schema, json),
        }
    }

    /// Adds a fault of the value after the steps.
    pub(super) fn add(&mut self, steps: &[Step], schema: &Schema, json: &str, got: &str, found: Found<'_>) {
        if self.is_full() {
            self.faults.omitted += 1;
            return;
        }
        let at = self.place(steps, schema, json);
        let is_secret = self.is_secret(steps, schema, json);
        let got = Some(got).filter(|_| !self.hides_values(steps, schema, json));
        let document = self.document;
        let fault = match found {
            Found::Wrong(expected) => document.wrong(&at, &expected, got),
            Found::Superfluous => document.superfluous(&at),
            Found::Lacking(name) => document.lacking(&at, name),
            Found::Unknown(..) if is_secret => document.wrong(&at, "an object of known fields", None),
            Found::Unknown(name, known) => document.unknown(&at, name, known.iter().copied()),
            Found::Duplicate(name) => document.duplicate(&at, Some(name).filter(|_| !is_secret)),
        };
        self.faults.faults.push(fault);
    }

    /// Adds the fault of a value that takes too long to check.
    pub(super) fn add_ambiguous(&mut self, steps: &[Step], schema: &Schema, json: &str) {
        let fault = self.document.ambiguous(&self.place(steps, schema, json));
        self.faults.faults.truncate(MAX_FAULTS - 1);
        self.faults.faults.push(fault);
    }

    /// The fault of a text that is not JSON.
    pub(super) fn malformed(
        &self,
        malformed: Malformed,
        steps: &[Step],
        schema: &Schema,
        scan: &Scanner<'_>,
    ) -> Faults {
        let fault = match malformed {
            Malformed::Syntax => self.document.malformed(scan.expected, scan.pos),
            Malformed::Depth => {
                let levels = steps.len().min(4);
                self.document.too_deep(&self.place(&steps[..levels], schema, scan.text))
            }
        };
        Faults { faults: vec![fault], omitted: 0 }
    }
}
