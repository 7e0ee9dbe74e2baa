//! The status of a result.

use std::hash::{Hash, Hasher};

use serde::Deserialize;

use crate::util::text::string_like;

/// The status of a result. Two statuses with the same text are equal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "String")]
#[non_exhaustive]
pub enum Status {
    /// The call succeeded.
    #[default]
    Success,
    /// The call failed; the result has the error.
    Failure,
    /// There was nothing to do.
    NoChangeNeeded,
    /// The call succeeded in part.
    PartialSuccess,
    /// A custom status, which strict mode rejects.
    Other(String),
}

impl Status {
    /// Returns the text of the status.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::NoChangeNeeded => "no_change_needed",
            Self::PartialSuccess => "partial_success",
            Self::Other(text) => text,
        }
    }

    /// Returns whether this is a failure: the text contains `fail`, in upper or lower case.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failure => true,
            Self::Success | Self::NoChangeNeeded | Self::PartialSuccess => false,
            Self::Other(text) => text.as_bytes().windows(4).any(|window| window.eq_ignore_ascii_case(b"fail")),
        }
    }

    /// Returns whether this is one of the four known statuses.
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

string_like!(Status, as_str);
