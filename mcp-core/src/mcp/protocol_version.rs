//! The supported versions of MCP.

use crate::util::text::display_as;

/// A version of MCP. Up to 2025-11-25, a connection begins with `initialize`; since 2026-07-28, each request carries
/// its version. Versions are ordered by date: compare `version >= ProtocolVersion::V2025_06_18` to find out whether the
/// features of 2025-06-18 are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05. Its HTTP transport (HTTP with SSE) is not served; other transports are.
    V2024_11_05,
    /// 2025-03-26: tool annotations, audio, batches.
    V2025_03_26,
    /// 2025-06-18: structured content and output schemas, titles, links to resources; batches were removed.
    V2025_06_18,
    /// 2025-11-25.
    V2025_11_25,
    /// 2026-07-28.
    V2026_07_28,
}

impl ProtocolVersion {
    /// All supported versions, newest first.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// Returns the version on the wire, such as `2025-06-18`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the version with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == name)
    }

    /// Returns whether each request carries its version, without `initialize`.
    pub const fn is_stateless(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }
}

display_as!(ProtocolVersion, as_str);
