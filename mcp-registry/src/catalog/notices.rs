//! What a registry tells the callers of a tool by itself: notices, and why it refuses a call.

use mcp_core::message::JsonObject;
use mcp_core::{ErrorType, ToolError, TrustLevel};
use serde_json::{Value, json};

use crate::catalog::tool::RegisteredTool;

/// The key of the notices in a result's `_meta`.
pub(crate) const NOTICES: &str = "mcp-registry/notices";

/// Something that a caller should know: the tool is deprecated, or was called by an older name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The tool is deprecated.
    Deprecated {
        /// The version of the tool in which it was deprecated.
        since: String,
        /// The tool to use instead.
        replaced_by: Option<String>,
    },
    /// The tool was called by an older name.
    Alias {
        /// The name in the call.
        called_as: String,
        /// The tool's name.
        name: String,
    },
}

impl Notice {
    /// The notice as JSON, as in the `_meta` of a result.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Deprecated { since, replaced_by: None } => json!({ "kind": "deprecated", "since": since }),
            Self::Deprecated { since, replaced_by: Some(tool) } => {
                json!({ "kind": "deprecated", "since": since, "replaced_by": tool })
            }
            Self::Alias { called_as, name } => json!({ "kind": "alias", "called_as": called_as, "name": name }),
        }
    }
}

/// Adds the notices to the `_meta` of a result.
pub(crate) fn add_notices(meta: &mut JsonObject, notices: &[Notice]) {
    if !notices.is_empty() {
        meta.insert(NOTICES.to_owned(), notices.iter().map(Notice::to_json).collect());
    }
}

/// The error of a call that is refused.
pub(crate) fn refused(name: &str, trust: TrustLevel, reason: &str) -> ToolError {
    let details = json!({ "tool": name, "trust": trust.as_str() });
    ToolError::new(ErrorType::PERMISSION_ERROR, format!("`{name}` may not be called: {reason}")).details(details)
}

impl RegisteredTool {
    /// The notices for a call by this name.
    #[inline]
    pub(crate) fn notices(&self, name: &str) -> Vec<Notice> {
        if self.deprecated_in().is_none() && self.is_named(name) { Vec::new() } else { self.some_notices(name) }
    }

    fn some_notices(&self, name: &str) -> Vec<Notice> {
        let deprecated = self.deprecated_in().map(|since| Notice::Deprecated {
            since: since.to_owned(),
            replaced_by: self.replaced_by().map(ToOwned::to_owned),
        });
        let alias =
            (!self.is_named(name)).then(|| Notice::Alias { called_as: name.to_owned(), name: self.name().to_owned() });
        deprecated.into_iter().chain(alias).collect()
    }

    /// Why the default gate refuses calls with this trust level, if it does.
    pub(crate) fn refusal(&self, trust: TrustLevel) -> Option<String> {
        (self.is_destructive() && trust < TrustLevel::Trusted).then(|| {
            format!(
                "it may destroy something and needs the trust level `trusted`, but this call has `{trust}`; ask the operator \
                 of the server to allow it"
            )
        })
    }
}
