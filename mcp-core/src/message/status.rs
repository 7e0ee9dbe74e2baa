//! How a call ended.

use std::hash::{Hash, Hasher};

use serde::Deserialize;

use crate::util::text::same_as;

/// How a call ended. Two statuses of the same text are equal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "String")]
#[non_exhaustive]
pub enum Status {
    /// The tool did what it was asked to.
    #[default]
    Success,
    /// It did not, and the result says why.
    Failure,
    /// There was nothing to do.
    NoChangeNeeded,
    /// It did a part.
    PartialSuccess,
    /// A status of the tool's own; not taken in strict mode.
    Other(String),
}

impl Status {
    /// The status as it stands in a message.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::NoChangeNeeded => "no_change_needed",
            Self::PartialSuccess => "partial_success",
            Self::Other(text) => text,
        }
    }

    /// Whether it tells of a failure: its text contains `fail`, in upper or lower case.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failure => true,
            Self::Success | Self::NoChangeNeeded | Self::PartialSuccess => false,
            Self::Other(text) => text.as_bytes().windows(4).any(|window| window.eq_ignore_ascii_case(b"fail")),
        }
    }

    /// Whether it is one of the four.
    pub fn is_standard(&self) -> bool {
        Self::standard(self.as_str()).is_some()
    }

    fn standard(text: &str) -> Option<Self> {
        let all = [Self::Success, Self::Failure, Self::NoChangeNeeded, Self::PartialSuccess];
        all.into_iter().find(|status| status.as_str() == text)
    }
}

impl From<&str> for Status {
    fn from(text: &str) -> Self {
        Self::standard(text).unwrap_or_else(|| Self::Other(text.to_owned()))
    }
}

impl From<String> for Status {
    fn from(text: String) -> Self {
        Self::standard(&text).unwrap_or(Self::Other(text))
    }
}

impl PartialEq for Status {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Status {}

impl Hash for Status {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

same_as!(Status, as_str);
