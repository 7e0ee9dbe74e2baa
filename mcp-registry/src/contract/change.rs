//! What has changed between two contracts.

use std::fmt;

use mcp_core::name::Version;
use serde::ser::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::util::canonical;

/// Every change from one contract to another.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// The changes, sorted by tool; those that break something come first.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The tool's canonical name; the old one if it was renamed.
    pub tool: String,
    /// The name that the witness calls: the tool's, or another one that the change is about, such as an alias.
    pub called: String,
    /// The rule, such as `enum-value-removed`.
    pub rule: &'static str,
    /// Who is affected.
    pub class: Class,
    /// Whether it breaks a promise. If that cannot be decided, it counts as broken.
    pub breaking: bool,
    /// Why it could not be decided, if it could not.
    pub unknown: Option<String>,
    /// Where in the arguments or in the result, as a JSON Pointer.
    pub pointer: String,
    /// What has changed, in one sentence.
    pub message: String,
    /// What worked before and fails now.
    pub witness: Option<Witness>,
    /// Where the tool is defined now, as `file:line`, if that is known.
    pub source: Option<String>,
    /// The tool's version before and now, if they are known.
    pub versions: (Option<Version>, Option<Version>),
    /// The version that the tool must at least have because of this change; `None` if it needs no new version, or has none.
    pub required_version: Option<Version>,
}

/// Who is affected by a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Callers: a call that used to be accepted may be rejected, or mean something else.
    Caller,
    /// Readers of results: a result that was promised may no longer arrive.
    Reader,
    /// Models that choose between tools: names, descriptions, examples, hints.
    Chooser,
    /// Nobody: the bytes differ, and nothing else.
    Wire,
}

/// A value that shows what a change breaks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Witness {
    /// Arguments that were accepted and are rejected now.
    Arguments(Value),
    /// A result that may arrive now and was ruled out.
    Result(Value),
}

/// Whether one contract keeps the promises of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Every promise is kept.
    Compatible,
    /// It could not be decided whether every promise is kept.
    Unknown,
    /// A promise is broken.
    Breaking,
}

impl Diff {
    /// Whether every promise is kept, whatever the versions say.
    pub fn verdict(&self) -> Verdict {
        self.changes.iter().map(Change::verdict).max().unwrap_or(Verdict::Compatible)
    }

    /// Whether every promise is kept, or the versions announce that it is not.
    pub fn is_acceptable(&self) -> bool {
        self.changes.iter().all(|change| !change.breaking || change.is_announced())
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The version that a tool must at least have, if it has to have a new one: the largest that its changes require.
    pub fn required_version(&self, tool: &str) -> Option<&Version> {
        self.changes
            .iter()
            .filter(|change| change.tool == tool)
            .filter_map(|change| change.required_version.as_ref())
            .max()
    }
}

impl Change {
    /// Whether the promises are kept, as far as this change is concerned.
    pub fn verdict(&self) -> Verdict {
        match (self.breaking, &self.unknown) {
            (false, _) => Verdict::Compatible,
            (true, None) => Verdict::Breaking,
            (true, Some(_)) => Verdict::Unknown,
        }
    }

    /// Whether the tool's new version is large enough for the change. A pre-release announces what its release announces.
    pub fn is_announced(&self) -> bool {
        match (&self.required_version, &self.versions) {
            (Some(required), (Some(old), Some(new))) => {
                new > old && Version::new(new.major(), new.minor(), new.patch()) >= *required
            }
            _ => false,
        }
    }

    /// An identifier of the change that stays the same as long as its tool, rule, pointer and the name that is called do. No
    /// two changes of a diff have the same.
    pub fn fingerprint(&self) -> String {
        let facts = json!([self.tool, self.rule, self.pointer, self.called]);
        canonical::digest(&facts.to_string())["sha256:".len()..][..16].to_owned()
    }

    /// Adds what the same rule has found at the same place.
    pub(super) fn merge(&mut self, other: Self) {
        let is_known = format!("; {};", self.message).contains(&format!("; {};", other.message));
        if !is_known {
            self.message = format!("{}; {}", self.message, other.message);
        }
        // What is known to break is known, whatever else is not.
        if self.verdict() < other.verdict() {
            self.unknown = other.unknown;
        }
        self.breaking |= other.breaking;
        self.witness = self.witness.take().or(other.witness);
        self.required_version = self.required_version.take().max(other.required_version);
    }
}

impl Class {
    /// The name: `caller`, `reader`, `chooser` or `wire`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Reader => "reader",
            Self::Chooser => "chooser",
            Self::Wire => "wire",
        }
    }
}

impl Verdict {
    /// The name: `compatible`, `breaking` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
            Self::Unknown => "unknown",
        }
    }
}

impl Witness {
    /// The arguments or the result.
    pub const fn value(&self) -> &Value {
        match self {
            Self::Arguments(value) | Self::Result(value) => value,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Diff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({ "verdict": self.verdict().as_str(), "findings": self.changes }).serialize(serializer)
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let change = json!({
            "tool": self.tool,
            "rule": self.rule,
            "class": self.class.as_str(),
            "breaking": self.breaking,
            "unknown": self.unknown,
            "pointer": self.pointer,
            "message": self.message,
            "called": self.called,
            "witness": self.witness.as_ref().map(Witness::value),
            "version": self.versions.1,
            "required_version": self.required_version,
            "source": self.source,
            "fingerprint": self.fingerprint(),
        });
        change.serialize(serializer)
    }
}
