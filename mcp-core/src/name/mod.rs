//! The names and versions of tools.

mod version;

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;

pub use self::version::{Version, VersionError};
use crate::util::text::{shown, string_like};

/// The maximum length of a canonical name, in characters.
pub const MAX_NAME_LENGTH: usize = 128;

/// The maximum length of a name on the wire; model providers reject longer ones.
pub const MAX_WIRE_NAME_LENGTH: usize = 64;

/// The canonical name of a tool, such as `file_utility.read_file_content`.
///
/// A name has 1 to 128 characters, each one of `A-Z a-z 0-9 _ - .`. Dots separate segments, which must not be empty.
///
/// ```
/// use mcp_core::NamePolicy;
/// use mcp_core::name::ToolName;
///
/// let name = ToolName::parse("file_utility.read_file_content")?;
/// assert_eq!(name.module(), Some("file_utility"));
/// assert_eq!(name.last_segment(), "read_file_content");
/// assert_eq!(name.wire(NamePolicy::HostSafe)?, "file_utility_read_file_content");
/// # Ok::<(), mcp_core::name::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolName(String);

/// How a canonical name is published to hosts.
///
/// A call may use the canonical or the published name. Several hosts reject a tool, or the whole server, if a name has a dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NamePolicy {
    /// `.` and `-` become `_`, which every known host accepts. This is the default.
    #[default]
    HostSafe,
    /// The canonical name, unchanged.
    Dotted,
    /// Only the last segment.
    Bare,
}

/// Why a name is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("the name is empty; write `module.tool`")]
    Empty,
    /// The name has more than [`MAX_NAME_LENGTH`] characters.
    #[error("`{name}` has {length} characters; use at most {MAX_NAME_LENGTH}")]
    TooLong {
        /// The beginning of the name.
        name: String,
        /// The number of characters.
        length: usize,
    },
    /// The name has a character that is not one of `A-Z a-z 0-9 _ - .`.
    #[error("`{name}` has the character {character:?} at position {position}; use letters, digits, `_`, `-` and `.`")]
    Character {
        /// The name, truncated if it is long.
        name: String,
        /// The character.
        character: char,
        /// The index of the character, in characters.
        position: usize,
    },
    /// The name starts or ends with a dot, or has two dots in a row.
    #[error("`{name}` has an empty segment; put something before and after each dot")]
    EmptySegment {
        /// The name.
        name: String,
    },
    /// The name does not have the strict form: two or more segments of `a-z 0-9 _`.
    #[error("`{name}` does not have the strict form; write `module.tool` in lower case letters, digits and `_`")]
    NotStrict {
        /// The name.
        name: String,
    },
    /// The name on the wire would have more than [`MAX_WIRE_NAME_LENGTH`] characters.
    #[error(
        "`{name}` is published as `{wire}`, which has {length} characters; hosts accept at most {MAX_WIRE_NAME_LENGTH}: shorten it"
    )]
    WireTooLong {
        /// The canonical name.
        name: String,
        /// The name on the wire.
        wire: String,
        /// The length of the name on the wire.
        length: usize,
    },
}

impl ToolName {
    /// Parses a canonical name.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check(name)?;
        Ok(Self(name.to_owned()))
    }

    /// Returns the canonical name.
    pub fn canonical(&self) -> &str {
        &self.0
    }

    /// Returns the part before the last dot, if there is one.
    pub fn module(&self) -> Option<&str> {
        self.0.rsplit_once('.').map(|(module, _)| module)
    }

    /// Returns the part after the last dot.
    pub fn last_segment(&self) -> &str {
        self.0.rsplit_once('.').map_or(self.canonical(), |(_, last)| last)
    }

    /// Returns the name that hosts see. A name that is too long for them is an error; it is never truncated.
    pub fn wire(&self, policy: NamePolicy) -> Result<Cow<'_, str>, NameError> {
        let wire = match policy {
            NamePolicy::HostSafe => self.folded(),
            NamePolicy::Dotted => return Ok(Cow::Borrowed(&self.0)),
            NamePolicy::Bare => Cow::Borrowed(self.last_segment()),
        };
        if wire.len() > MAX_WIRE_NAME_LENGTH {
            return Err(NameError::WireTooLong { name: self.to_string(), length: wire.len(), wire: wire.into_owned() });
        }
        Ok(wire)
    }

    /// Returns the name with `_` for `.` and `-`. A host that rewrites names cannot distinguish two tools whose names become
    /// the same text, such as `a.b_c` and `a_b.c`.
    pub fn folded(&self) -> Cow<'_, str> {
        if self.0.contains(['.', '-']) { Cow::Owned(self.0.replace(['.', '-'], "_")) } else { Cow::Borrowed(&self.0) }
    }

    /// Returns whether the name has the strict form: two or more segments of lower-case letters, digits and `_`.
    pub fn is_strict(&self) -> bool {
        check_strict(&self.0).is_ok()
    }
}

/// Checks whether a string is a valid [`ToolName`], without creating one.
pub(crate) fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if let Some((position, character)) =
        name.chars().enumerate().find(|(_, c)| !matches!(c, 'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' | '.'))
    {
        return Err(NameError::Character { name: shown(name).into_owned(), character, position });
    }
    if name.len() > MAX_NAME_LENGTH {
        return Err(NameError::TooLong { name: shown(name).into_owned(), length: name.len() });
    }
    if name.split('.').any(str::is_empty) {
        return Err(NameError::EmptySegment { name: name.to_owned() });
    }
    Ok(())
}

/// Checks the strict grammar, `^[a-z0-9_]+(\.[a-z0-9_]+)+$`.
pub(crate) fn check_strict(name: &str) -> Result<(), NameError> {
    check(name)?;
    let has_strict_characters = name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'));
    if has_strict_characters && name.contains('.') {
        Ok(())
    } else {
        Err(NameError::NotStrict { name: name.to_owned() })
    }
}

impl TryFrom<String> for ToolName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        check(&name)?;
        Ok(Self(name))
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0
    }
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::parse(name)
    }
}

string_like!(ToolName, canonical);
