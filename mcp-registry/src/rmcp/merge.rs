//! The tools beside those of an rmcp server: none is lost, none is shadowed.

use std::any::type_name;
use std::collections::HashMap;
use std::fmt;

use ::rmcp::handler::server::router::tool::ToolRouter;
use ::rmcp::service::MaybeSend;
use mcp_core::Contender;

use super::{Tools, routes};

/// Adds the listed tools to those of a server of yours. Two tools of one name, or of two names that a host cannot tell
/// apart, are refused, all of them at once.
///
/// As with [`tool_router`](super::tool_router), the tools are those that there are now.
pub fn merge<S: MaybeSend + 'static>(
    mut own: ToolRouter<S>,
    tools: impl Into<Tools>,
) -> Result<ToolRouter<S>, MergeError> {
    let tools = tools.into();
    let names: HashMap<String, &str> = own.map.keys().map(|name| (folded(name), &**name)).collect();
    let catalog = tools.registry.catalog();
    let conflicts: Vec<MergeConflict> = catalog
        .listed()
        .into_iter()
        .filter_map(|tool| {
            let own = (*names.get(&folded(tool.wire_name()))?).to_owned();
            Some(MergeConflict { own, server: type_name::<S>(), tool: tool.contender(tool.wire_name()) })
        })
        .collect();
    if !conflicts.is_empty() {
        return Err(MergeError { conflicts });
    }
    routes(&tools).for_each(|route| own.add_route(route));
    Ok(own)
}

/// The name as hosts see it that rewrite names.
fn folded(name: &str) -> String {
    name.replace(['.', '-'], "_")
}

/// Tools of an rmcp server and of the registry that have one name. Its `Debug` is the same page as its `Display`, since
/// that is what `unwrap` and a `main` that returns it show.
#[derive(Clone, PartialEq, Eq)]
pub struct MergeError {
    conflicts: Vec<MergeConflict>,
}

/// A tool of an rmcp server and one of the registry that have one name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeConflict {
    /// The name of the server's own.
    pub own: String,
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
        let Self { own, server, tool: Contender { name, defined_as, origin, .. } } = self;
        write!(f, "`{own}` of the server and `{name}` of the registry are called by one name")?;
        write!(f, "\n    first  in the `ToolRouter` of `{server}`\n    second at {origin}\n    ")?;
        f.write_str("rename the first with `#[tool(name = \"…\")]`, or ")?;
        if origin.is_run_time() {
            return f.write_str("give the second, which is made at run time, another name");
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
