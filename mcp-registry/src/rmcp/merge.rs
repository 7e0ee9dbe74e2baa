//! Merges the tools of a registry and of an rmcp server, without losing or shadowing any.

use std::any::type_name;
use std::collections::{HashMap, HashSet};
use std::fmt;

use ::rmcp::handler::server::router::tool::ToolRouter;
use ::rmcp::service::MaybeSend;
use mcp_core::error::Contender;

use super::{Tools, UNLISTED, add_routes};

/// Adds the tools to those of your server. Fails if one of the server's has a name of one of the registry's: its name on the
/// wire, its canonical name or an alias, also of a hidden tool, or a name that a host cannot tell apart from one of these. The
/// error reports every conflict.
///
/// As with [`tool_router`](super::tool_router), calls may use each of these names, and tools that are registered later are
/// not included. To take a tool away, [unregister](crate::Registry::unregister) it: rmcp's `disable_route` and
/// `remove_route` apply to one name, and calls by the others would still be made.
///
/// rmcp answers calls of names that neither side has, so observers do not learn of them. To have them recorded, let your
/// server pass them on to a [`Handler`](super::Handler):
///
/// ```
/// use mcp_registry::rmcp::Handler;
/// use rmcp::handler::server::router::tool::ToolRouter;
/// use rmcp::handler::server::tool::ToolCallContext;
/// use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData};
/// use rmcp::service::RequestContext;
/// use rmcp::{RoleServer, ServerHandler};
///
/// struct MyServer {
///     tools: ToolRouter<Self>,
///     handler: Handler,
/// }
///
/// impl ServerHandler for MyServer {
///     async fn call_tool(
///         &self,
///         request: CallToolRequestParams,
///         context: RequestContext<RoleServer>,
///     ) -> Result<CallToolResponse, ErrorData> {
///         if self.tools.has_route(&request.name) {
///             return self.tools.call(ToolCallContext::new(self, request, context)).await;
///         }
///         self.handler.call_tool(request, context).await
///     }
/// }
/// ```
pub fn merge<S: MaybeSend + 'static>(
    mut router: ToolRouter<S>,
    tools: impl Into<Tools>,
) -> Result<ToolRouter<S>, MergeError> {
    let (tools, existing) = (tools.into(), existing(&router));
    let catalog = tools.registry.catalog();
    let mut conflicts = Vec::new();
    for tool in catalog.list_registered_tools() {
        let mut seen = HashSet::new();
        for name in tool.names().filter(|name| seen.insert(normalized(name))) {
            let known = existing.get(&normalized(name)).into_iter().flatten();
            conflicts.extend(known.map(|known| MergeConflict {
                existing: (*known).to_owned(),
                server: type_name::<S>(),
                tool: tool.contender(name),
            }));
        }
    }
    if !conflicts.is_empty() {
        return Err(MergeError { conflicts });
    }
    add_routes(&mut router, &tools);
    Ok(router)
}

/// The names of a router's tools, by the names that hosts may see. A name of a tool that is already listed under a similar
/// one is left out.
fn existing<S>(router: &ToolRouter<S>) -> HashMap<String, Vec<&str>> {
    let mut known: Vec<_> = router.map.iter().map(|(name, route)| (route.attr.name == UNLISTED, &**name)).collect();
    known.sort_unstable();
    let mut existing: HashMap<String, Vec<&str>> = HashMap::new();
    for (is_unlisted, name) in known {
        let similar = existing.entry(normalized(name)).or_default();
        if !is_unlisted || similar.is_empty() {
            similar.push(name);
        }
    }
    existing
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
        let Self { existing, server, tool: Contender { name, defined_as, alias, origin } } = self;
        write!(f, "`{existing}` of the server and `{name}` of the registry have the same name")?;
        if let Some(alias) = alias {
            write!(f, ", the alias `{alias}` of the second")?;
        }
        write!(f, "\n    first  in the `ToolRouter` of `{server}`\n    second at {origin}\n    ")?;
        f.write_str("rename the first with `#[tool(name = \"…\")]`, or ")?;
        if origin.is_run_time() {
            return f.write_str("give the second, which is created at run time, another name");
        }
        let package = &*origin.package;
        if let Some(alias) = alias {
            return write!(
                f,
                "remove the alias, or in the builder: .drop_alias({package:?}, {defined_as:?}, {alias:?}) or \
                 .exclude({package:?}, {defined_as:?})"
            );
        }
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
