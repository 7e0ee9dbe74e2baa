//! Tool names (what a name may be, and how it is written on the wire) and versions.

mod version;

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;

pub use self::version::{Version, VersionError};
use crate::util::text::{same_as, shown};

/// The longest canonical name, in characters.
pub const MAX_NAME_LENGTH: usize = 128;

/// The longest name that [`NamePolicy::HostSafe`] and [`NamePolicy::Bare`] publish; model providers refuse more.
pub const MAX_WIRE_NAME_LENGTH: usize = 64;

/// A tool's canonical name, such as `file_utility.read_file_content`.
///
/// One to 128 of `A-Z a-z 0-9 _ - .`, in segments that the dots part; no segment is empty.
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
/// A call may use the canonical or the published name. Several hosts refuse a tool, or the whole server, for a dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NamePolicy {
    /// `.` and `-` become `_`: every known host accepts the result. The default.
    #[default]
    HostSafe,
    /// The canonical name as it is.
    Dotted,
    /// The last segment alone.
    Bare,
}

/// Why a name cannot be a tool's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name has no characters.
    #[error("the name is empty; write `module.tool`")]
    Empty,
    /// The name has more than [`MAX_NAME_LENGTH`] characters.
    #[error("`{name}` has {length} characters; use at most {MAX_NAME_LENGTH}")]
    TooLong {
        /// The beginning of the name.
        name: String,
        /// How many characters it has.
        length: usize,
    },
    /// A character outside `A-Z a-z 0-9 _ - .`.
    #[error("`{name}` has the character {character:?} at position {position}; use letters, digits, `_`, `-` and `.`")]
    Character {
        /// The name, cut if it is long.
        name: String,
        /// The character.
        character: char,
        /// Its index, counted in characters.
        position: usize,
    },
    /// A dot at the beginning or the end, or two in a row.
    #[error("`{name}` has an empty segment; put something before and after each dot")]
    EmptySegment {
        /// The name.
        name: String,
    },
    /// Not of the strict form: two or more segments of `a-z 0-9 _`.
    #[error("`{name}` is not of the strict form; write `module.tool` in lower case letters, digits and `_`")]
    NotStrict {
        /// The name.
        name: String,
    },
    /// The name would be published with more than [`MAX_WIRE_NAME_LENGTH`] characters.
    #[error(
        "`{name}` is published as `{wire}`, which has {length} characters; hosts take at most {MAX_WIRE_NAME_LENGTH}: shorten it"
    )]
    WireTooLong {
        /// The canonical name.
        name: String,
        /// What it would be published as.
        wire: String,
        /// How long that is.
        length: usize,
    },
}

impl ToolName {
    /// Reads a canonical name.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check(name)?;
        Ok(Self(name.to_owned()))
    }

    /// The name as it is written in Rust code, documents and logs.
    pub fn canonical(&self) -> &str {
        &self.0
    }

    /// All before the last dot, if there is one.
    pub fn module(&self) -> Option<&str> {
        self.0.rsplit_once('.').map(|(module, _)| module)
    }

    /// What follows the last dot.
    pub fn last_segment(&self) -> &str {
        self.0.rsplit_once('.').map_or(self.canonical(), |(_, last)| last)
    }

    /// The name under which hosts see the tool. One that is too long for them is refused, never cut.
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

    /// The name with `.` and `-` as `_`. Two tools whose names fold to the same text cannot be told apart by a host
    /// that rewrites names: `a.b_c` and `a_b.c`.
    pub fn folded(&self) -> Cow<'_, str> {
        if self.0.contains(['.', '-']) { Cow::Owned(self.0.replace(['.', '-'], "_")) } else { Cow::Borrowed(&self.0) }
    }

    /// Whether the name is of the strict form: two or more segments of lower case letters, digits and `_`.
    pub fn is_strict(&self) -> bool {
        check_strict(&self.0).is_ok()
    }
}

/// Checks the grammar of [`ToolName`] without making one.
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
    let plain = name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'));
    if plain && name.contains('.') { Ok(()) } else { Err(NameError::NotStrict { name: name.to_owned() }) }
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

same_as!(ToolName, canonical);
