//! Merges the tools of a registry and of an rmcp server, without losing or shadowing any.

use std::any::type_name;
use std::collections::HashMap;
use std::fmt;

use ::rmcp::handler::server::router::tool::ToolRouter;
use ::rmcp::service::MaybeSend;
use mcp_core::error::Contender;

use super::{Tools, add_routes};

/// Adds the listed tools to those of your server. Fails if two tools have the same name, or names that a host cannot
/// tell apart; the error reports every conflict.
///
/// As with [`tool_router`](super::tool_router), tools that are registered later are not included.
pub fn merge<S: MaybeSend + 'static>(
    mut router: ToolRouter<S>,
    tools: impl Into<Tools>,
) -> Result<ToolRouter<S>, MergeError> {
    let tools = tools.into();
    let names: HashMap<String, &str> = router.map.keys().map(|name| (normalized(name), &**name)).collect();
    let catalog = tools.registry.catalog();
    let conflicts: Vec<MergeConflict> = catalog
        .listed()
        .into_iter()
        .filter_map(|tool| {
            let existing = (*names.get(&normalized(tool.wire_name()))?).to_owned();
            Some(MergeConflict { existing, server: type_name::<S>(), tool: tool.contender(tool.wire_name()) })
        })
        .collect();
    if !conflicts.is_empty() {
        return Err(MergeError { conflicts });
    }
    add_routes(&mut router, &tools);
    Ok(router)
}

/// The name as some hosts rewrite it.
fn normalized(name: &str) -> String {
    name.replace(['.', '-'], "_")
}

/// The conflicts between the tools of an rmcp server and those of a registry. Its `Debug` output equals its `Display`
/// output, because `unwrap` and a `main` that returns this error print the former.
#[derive(Clone, PartialEq, Eq)]
pub struct MergeError {
    conflicts: Vec<MergeConflict>,
}

/// A tool of an rmcp server and one of the registry with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeConflict {
    /// The name of the server's tool.
    pub existing: String,
    /// The type of the server.
    pub server: &'static str,
    /// The tool of the registry.
    pub tool: Contender,
}

impl MergeError {
    /// Every conflict; at least one.
    pub fn conflicts(&self) -> &[MergeConflict] {
        &self.conflicts
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.conflicts.len() {
            1 => f.write_str("the tools cannot be merged:")?,
            count => write!(f, "the tools cannot be merged, for {count} reasons:")?,
        }
        self.conflicts.iter().try_for_each(|conflict| write!(f, "\n  - {conflict}"))
    }
}

impl fmt::Display for MergeConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { existing, server, tool: Contender { name, defined_as, origin, .. } } = self;
        write!(f, "`{existing}` of the server and `{name}` of the registry have the same name")?;
        write!(f, "\n    first  in the `ToolRouter` of `{server}`\n    second at {origin}\n    ")?;
        f.write_str("rename the first with `#[tool(name = \"…\")]`, or ")?;
        if origin.is_run_time() {
            return f.write_str("give the second, which is created at run time, another name");
        }
        let package = &*origin.package;
        write!(
            f,
            "the second with `name = \"…\"`, or in the builder: .rename({package:?}, {defined_as:?}, \"…\") or \
             .exclude({package:?}, {defined_as:?})"
        )
    }
}

impl fmt::Debug for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for MergeError {}
