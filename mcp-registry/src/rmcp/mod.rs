//! Serves the tools from an [rmcp] server, next to its resources, prompts, OAuth and transports.
//!
//! - [`merge`] adds the tools to the `#[tool]`s of your server, and rejects duplicate names.
//! - [`tool_router`] returns only the tools, as rmcp's `ToolRouter`.
//! - [`Handler`] is a server with only the tools, for rmcp's transports. Unlike a router, it also serves tools that are
//!   added at run time.
//!
//! A call passes through the same steps as any other: gate, limits, checks, deadline, layers, audit. It also has the bounds
//! of our own server, as far as rmcp leaves them to its tools: how many calls of a connection are in flight
//! ([`Tools::max_in_flight`]), and 64 KiB of `_meta`. The size of a message is up to rmcp's transport, and so is what
//! happens to a second request with the ID of one in flight. Calls that these bounds refuse are recorded by observers, as are
//! calls of unknown names to a [`Handler`]. A router answers calls of names that it does not have by itself, before anything
//! here learns of them.
//!
//! Cancelling a request in rmcp cancels the call, and progress is sent to the clients that request it. In
//! [`ToolContext::extensions`](mcp_core::ToolContext::extensions), a tool finds rmcp's
//! [`Extensions`](::rmcp::model::Extensions), its `Peer<RoleServer>` and, if rmcp serves HTTP, the HTTP request as with
//! this crate's own server: headers, parts, and the extensions of its layers. With a
//! [`TokioRuntime`](crate::runtime::TokioRuntime) in the registry's builder, sync functions run on the threads of the
//! server's runtime.
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
//! let router = ToolRouter::<MyServer>::new(); // `Self::tool_router()`, if `#[tool_router]` generates it
//! let server = MyServer { tools: mcp_registry::rmcp::merge(router, &Registry::linked()?)? };
//! assert_eq!(server.tools.list_all()[0].name, "calc_add");
//! # Ok(())
//! # }
//! ```

mod call;
mod convert;
mod events;
mod handler;
mod merge;

use std::fmt;
use std::sync::Arc;

use ::rmcp::RoleServer;
use ::rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use ::rmcp::handler::server::tool::ToolCallContext;
use ::rmcp::service::{MaybeSend, RequestContext};
use mcp_core::CallOptions;
use mcp_core::mcp::ProtocolVersion;

pub use self::handler::Handler;
pub use self::merge::{MergeConflict, MergeError, merge};
use crate::protocol::{MAX_IN_FLIGHT, Peer as Connection};
use crate::registry::Registry;
use crate::util::panic::Contained;

/// The tools of a registry, and the options for calling them. Cheap to clone.
///
/// A registry converts into this, with default options.
#[derive(Clone)]
pub struct Tools {
    registry: Registry,
    options: Option<Arc<MakeOptions>>,
    max_in_flight: usize,
}

type MakeOptions = dyn Fn(&RequestContext<RoleServer>) -> CallOptions + Send + Sync;

impl Tools {
    /// The tools of a registry.
    pub fn new(registry: impl Into<Self>) -> Self {
        registry.into()
    }

    /// Sets the function that returns the options of a call, given its request: the caller, its trust level, the
    /// deadline, extensions, and whether errors are masked. The ID, `_meta`, progress and log level of the request take
    /// precedence.
    ///
    /// By default, errors that were not written for a model are masked if rmcp serves HTTP, and shown otherwise.
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
        let options = Contained::new(options);
        self.options = Some(Arc::new(move |request| (*options)(request)));
        self
    }

    /// Sets how many calls of one connection may be in flight (default: 1,024, as of our own
    /// [`Server`](crate::Server::max_in_flight)). Further ones are refused with `ApiLimitExceeded`.
    ///
    /// A [`Handler`] and each of its clones count as a connection. A router cannot tell connections apart: its limit is for
    /// all servers that have it or a clone of it. To give each connection its own, [`merge`] once for each. Where each request
    /// is a connection, as in rmcp's stateless HTTP, share one `Arc<Handler>` or clone one router.
    #[must_use]
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.max_in_flight = calls;
        self
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl From<Registry> for Tools {
    fn from(registry: Registry) -> Self {
        Self { registry, options: None, max_in_flight: MAX_IN_FLIGHT }
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

/// The tools as rmcp's router. It lists each tool under its name on the wire, and accepts calls by every name: canonical
/// names, aliases, and the names of hidden tools. Tools that are registered later are not included; a tool that is
/// unregistered is rejected when it is called.
///
/// rmcp's `+` and `merge` silently drop one of two tools with the same name; [`merge`] reports them.
pub fn tool_router<S: MaybeSend + 'static>(tools: impl Into<Tools>) -> ToolRouter<S> {
    let mut router = ToolRouter::new();
    add_routes(&mut router, &tools.into());
    router
}

/// The name of routes that are not listed. A router lists its routes under the names that are in them, unless these are
/// disabled, and finds them by the names under which they are stored.
const UNLISTED: &str = "mcp-registry.unlisted";

fn add_routes<S: MaybeSend + 'static>(router: &mut ToolRouter<S>, tools: &Tools) {
    // A router knows its connection only when it is called, and cannot compare it to another one.
    let connection = Connection::new();
    router.disable_route(UNLISTED);
    for tool in tools.registry.catalog().list_registered_tools() {
        // A router has one list for all versions; older clients also understand this one.
        let listed = convert::tool(tool, ProtocolVersion::V2025_11_25);
        let (tools, connection) = (tools.clone(), connection.clone());
        let mut route = ToolRoute::new_dyn(listed, move |context: ToolCallContext<'_, S>| {
            let (tools, connection) = (tools.clone(), connection.clone());
            let ToolCallContext { request_context, name, arguments, .. } = context;
            // Only the server around the router knows the log level of the connection.
            Box::pin(async move { tools.call(&connection, &name, arguments, request_context, None).await })
        });
        if !tool.is_hidden() {
            router.add_route(route.clone());
        }
        route.attr.name = UNLISTED.into();
        for name in tool.names() {
            router.map.entry(name.to_owned().into()).or_insert_with(|| route.clone());
        }
    }
}
