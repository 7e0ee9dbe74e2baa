//! The version of a tool.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::util::text::shown;

/// The version of a tool, `major.minor.patch`, as in [semantic versioning](https://semver.org).
///
/// ```
/// use mcp_core::name::Version;
///
/// let required: Version = "1.2.0".parse()?;
/// assert!("1.4.1".parse::<Version>()?.is_compatible_with(&required));
/// assert!(!"2.0.0".parse::<Version>()?.is_compatible_with(&required));
/// # Ok::<(), mcp_core::name::VersionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

/// Why a string is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version ({reason}); write `major.minor.patch`, such as `1.0.0`")]
pub struct VersionError {
    text: String,
    reason: String,
}

impl Version {
    /// Creates the version `major.minor.patch`.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }

    /// Parses a version.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        semver::Version::parse(text)
            .map(Self)
            .map_err(|error| VersionError { text: shown(text).into_owned(), reason: error.to_string() })
    }

    /// Returns the major version, which a breaking change increases.
    pub const fn major(&self) -> u64 {
        self.0.major
    }

    /// Returns the minor version, which an addition increases.
    pub const fn minor(&self) -> u64 {
        self.0.minor
    }

    /// Returns the patch version, which a fix increases.
    pub const fn patch(&self) -> u64 {
        self.0.patch
    }

    /// Returns whether a caller that was written for the required version works with this one: it is not older, and there is no
    /// breaking change between them. (As `^required` in Cargo: before `1.0.0`, the minor version counts as the major one.)
    pub fn is_compatible_with(&self, required: &Self) -> bool {
        let semver::Version { major, minor, patch, pre, .. } = required.0.clone();
        let caret = semver::Comparator { op: semver::Op::Caret, major, minor: Some(minor), patch: Some(patch), pre };
        caret.matches(&self.0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

impl From<semver::Version> for Version {
    fn from(version: semver::Version) -> Self {
        Self(version)
    }
}

impl From<Version> for semver::Version {
    fn from(version: Version) -> Self {
        version.0
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
