//! Trust levels.

use crate::util::text::display_as;

/// How far a caller, or every client of a registry, is trusted.
///
/// Destructive tools require [`Trusted`](Self::Trusted). A gate can give the levels further meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TrustLevel {
    /// Nothing is known about the caller.
    Untrusted,
    /// The caller is known, and may call tools that are not destructive.
    #[default]
    Verified,
    /// The caller may call any tool.
    Trusted,
}

impl TrustLevel {
    /// Returns the name of the level: `untrusted`, `verified` or `trusted`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Verified => "verified",
            Self::Trusted => "trusted",
        }
    }

    /// Returns the level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Untrusted, Self::Verified, Self::Trusted].into_iter().find(|level| level.as_str() == name)
    }
}

display_as!(TrustLevel, as_str);
