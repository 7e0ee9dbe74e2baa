//! The tools inside a server of [rmcp], whose resources, prompts, OAuth and transports are there too.
//!
//! - [`merge`] adds the tools to the `#[tool]`s of a server of yours; a name that both have is refused.
//! - [`tool_router`] is the tools alone, as rmcp's `ToolRouter`.
//! - [`Handler`] is a whole server of the tools and nothing else, for who wants rmcp's transports. It sees at once what
//!   is registered at run time, which a router, made once, does not.
//!
//! A call takes the way of any other: gate, limits, checks, deadline, layers, audit. What calls it off at rmcp calls it
//! off here, and who asks for progress is told. Under [`ToolContext::extensions`](mcp_core::ToolContext::extensions) a
//! tool finds rmcp's [`Extensions`](::rmcp::model::Extensions), its `Peer<RoleServer>` and, where rmcp serves HTTP,
//! what it finds of a request to our own HTTP server: headers, parts, and what layers have put there. The registry's
//! builder may be given a [`TokioRuntime`](crate::TokioRuntime), so that plain functions run on the threads of the server's
//! runtime.
//!
//! ```standalone_crate
//! use mcp_registry::{Registry, mcp_tool};
//! use rmcp::handler::server::router::tool::ToolRouter;
//!
//! /// Adds two numbers.
//! #[mcp_tool(module = "calc")]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! struct MyServer {
//!     tools: ToolRouter<Self>,
//! }
//!
//! # fn main() -> mcp_registry::Result<()> {
//! let own = ToolRouter::<MyServer>::new(); // `Self::tool_router()`, where `#[tool_router]` makes it
//! let server = MyServer { tools: mcp_registry::rmcp::merge(own, &Registry::linked()?)? };
//! assert_eq!(server.tools.list_all()[0].name, "calc_add");
//! # Ok(())
//! # }
//! ```

mod call;
mod convert;
mod handler;
mod merge;
mod tell;

use std::fmt;
use std::sync::Arc;

use ::rmcp::RoleServer;
use ::rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use ::rmcp::handler::server::tool::ToolCallContext;
use ::rmcp::service::{MaybeSend, RequestContext};
use mcp_core::{CallOptions, ProtocolVersion};

pub use self::handler::Handler;
pub use self::merge::{MergeConflict, MergeError, merge};
use crate::registry::Registry;

/// The tools of a registry, and what each call of them brings along. Cheap to clone.
///
/// Where nothing is to be brought along, a registry can stand for it.
#[derive(Clone)]
pub struct Tools {
    registry: Registry,
    options: Option<Arc<OptionsOf>>,
}

type OptionsOf = dyn Fn(&RequestContext<RoleServer>) -> CallOptions + Send + Sync;

impl Tools {
    /// The tools of a registry.
    pub fn new(registry: impl Into<Self>) -> Self {
        registry.into()
    }

    /// Says what a call brings along, by its request: caller, trust, time, extensions, whether errors are masked. The
    /// request's own id, `_meta`, progress and log go first.
    ///
    /// Errors that were not written for a model are masked where rmcp serves HTTP, and shown elsewhere, unless this or
    /// the registry says otherwise.
    ///
    /// ```
    /// use mcp_registry::rmcp::Tools;
    /// use mcp_registry::{CallOptions, Registry};
    ///
    /// # let registry = Registry::builder_of([]).allow_empty().build()?;
    /// let tools = Tools::new(&registry).options(|request| {
    ///     let options = CallOptions::new().mask_errors(true);
    ///     match request.extensions.get::<String>() {
    ///         Some(user) => options.caller(user),
    ///         None => options,
    ///     }
    /// });
    /// # Ok::<(), mcp_registry::Error>(())
    /// ```
    #[must_use]
    pub fn options(
        mut self,
        options: impl Fn(&RequestContext<RoleServer>) -> CallOptions + Send + Sync + 'static,
    ) -> Self {
        self.options = Some(Arc::new(options));
        self
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl From<Registry> for Tools {
    fn from(registry: Registry) -> Self {
        Self { registry, options: None }
    }
}

impl From<&Registry> for Tools {
    fn from(registry: &Registry) -> Self {
        registry.clone().into()
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// The listed tools as rmcp's router: those that there are now, each by its name on the wire. What is registered later
/// is not in it, and what is unregistered is refused when it is called.
///
/// rmcp's own `+` and `merge` let one of two tools of a name vanish; [`merge`] does not.
pub fn tool_router<S: MaybeSend + 'static>(tools: impl Into<Tools>) -> ToolRouter<S> {
    let mut router = ToolRouter::new();
    routes(&tools.into()).for_each(|route| router.add_route(route));
    router
}

fn routes<S: MaybeSend + 'static>(tools: &Tools) -> impl Iterator<Item = ToolRoute<S>> + use<S> {
    let catalog = tools.registry.catalog();
    // A router has one list for all versions, and this is the one that the older ones understand too.
    let listed =
        catalog.listed().into_iter().map(|tool| convert::tool(tool, ProtocolVersion::V2025_11_25)).collect::<Vec<_>>();
    let tools = tools.clone();
    listed.into_iter().map(move |listed| {
        let tools = tools.clone();
        ToolRoute::new_dyn(listed, move |context: ToolCallContext<'_, S>| {
            let tools = tools.clone();
            let ToolCallContext { request_context, name, arguments, .. } = context;
            // Whether and from which level on a connection wants log lines is between it and the server around this.
            Box::pin(async move { tools.call(&name, arguments, request_context, None).await })
        })
    })
}
