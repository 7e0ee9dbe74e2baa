//! How far a caller is trusted.

use crate::util::text::shown_as;

/// How far a caller, or everyone who reaches a registry, is trusted.
///
/// Tools that may destroy something ask for [`Trusted`](Self::Trusted); what else a level means is for a gate to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TrustLevel {
    /// Nobody has vouched for it.
    Untrusted,
    /// It is known, and may do what destroys nothing.
    #[default]
    Verified,
    /// It may do anything.
    Trusted,
}

impl TrustLevel {
    /// The level's name: `untrusted`, `verified`, `trusted`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Verified => "verified",
            Self::Trusted => "trusted",
        }
    }

    /// The level of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Untrusted, Self::Verified, Self::Trusted].into_iter().find(|level| level.as_str() == name)
    }
}

shown_as!(TrustLevel, as_str);
