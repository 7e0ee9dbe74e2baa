//! A server with only the tools, for rmcp's transports.

#![allow(deprecated, reason = "log messages are still sent to the clients that request them")]

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use ::rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscriptionFilter, Tool,
};
use ::rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use ::rmcp::{ErrorData, RoleServer, ServerHandler};
use arc_swap::ArcSwapOption;
use mcp_core::mcp::ProtocolVersion;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::call::version_of;
use super::events::log_level;
use super::{Tools, convert};
use crate::catalog::Catalog;
use crate::protocol::{Peer as Connection, contract_meta, program_name};
use crate::registry::Watcher;
use crate::util::lock::lock;
use crate::util::panic::guard;

/// The tools as an rmcp server: list, call, progress, log messages, and notifications of changes. Tools that are added
/// or removed at run time are visible immediately.
///
/// A handler serves one connection; clone it for another connection with the same tools: each clone has its own log level
/// and its own [limit](Tools::max_in_flight) of calls. If your server also has other features, it can hold a handler and
/// delegate `list_tools`, `call_tool` and `get_tool` to it.
///
/// ```no_run
/// use mcp_registry::rmcp::Handler;
/// use mcp_registry::{Registry, mcp_tool};
/// use rmcp::ServiceExt;
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc")]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # async fn serve(transport: tokio::io::DuplexStream) -> mcp_registry::Result<()> {
/// let handler = Handler::new(Registry::linked()?).info("calculator", "1.0.0");
/// handler.serve(transport).await?.waiting().await?;
/// # Ok(())
/// # }
/// ```
pub struct Handler {
    tools: Tools,
    config: Arc<ServerConfig>,
    /// The lists that were last requested.
    lists: Arc<ArcSwapOption<Lists>>,
    /// The calls in flight, and the minimum level of log messages.
    connection: Connection,
    /// The watchers that notify each connection of changes.
    watchers: Mutex<Vec<(Peer<RoleServer>, Watcher)>>,
    /// The subscriptions that rmcp has not acknowledged yet. They already record changes.
    accepted: Mutex<VecDeque<Subscription>>,
}

/// The maximum number of subscriptions that rmcp has not acknowledged yet.
const MAX_ACCEPTED: usize = 1024;

/// A subscription to changes of the tools. It ends when it is dropped.
struct Subscription {
    changed: Arc<Notify>,
    _watcher: Watcher,
}

/// The lists of the tools of a catalog.
struct Lists {
    /// Kept alive, so that no other catalog can have the same address.
    catalog: Arc<Catalog>,
    /// For versions with sessions, and for stateless ones.
    tools: [OnceLock<Vec<Tool>>; 2],
}

impl Handler {
    /// A server of these tools, named after the program.
    pub fn new(tools: impl Into<Tools>) -> Self {
        let capabilities =
            ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed().build();
        let config = ServerConfig::new(capabilities).with_server_info(Implementation::new(program_name(), "0.0.0"));
        Self::with(tools.into(), Arc::new(config), Arc::default())
    }

    fn with(tools: Tools, config: Arc<ServerConfig>, lists: Arc<ArcSwapOption<Lists>>) -> Self {
        Self {
            tools,
            config,
            lists,
            connection: Connection::new(),
            watchers: Mutex::default(),
            accepted: Mutex::default(),
        }
    }

    /// Sets the name and version that clients see.
    #[must_use]
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.config).server_info = Implementation::new(name, version);
        self
    }

    /// Sets the instructions for the model on how to use the server.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.config).instructions = Some(text.into());
        self
    }

    /// The tools.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The lists of the current tools.
    fn lists(&self) -> Arc<Lists> {
        let catalog = self.tools.registry.catalog();
        if let Some(lists) = self.lists.load().as_ref().filter(|lists| Arc::ptr_eq(&lists.catalog, &catalog)) {
            return Arc::clone(lists);
        }
        let lists = Arc::new(Lists { catalog: Arc::clone(&catalog), tools: Default::default() });
        self.lists.store(Some(Arc::clone(&lists)));
        lists
    }

    fn list(&self, version: ProtocolVersion) -> ListToolsResult {
        let lists = self.lists();
        let listed = lists.catalog.listed();
        let tools = lists.tools[usize::from(version.is_stateless())]
            .get_or_init(|| listed.iter().map(|tool| convert::tool(tool, version)).collect());
        let mut result = ListToolsResult::with_all_items(tools.clone());
        if version.is_stateless() {
            let ttl = listed.iter().map(|tool| tool.cache_ttl()).min().unwrap_or_default();
            (result.ttl_ms, result.cache_scope) = (Some(u64::from(ttl) * 1000), Some(CacheScope::Public));
        }
        result
    }

    fn subscribe(&self) -> Subscription {
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        Subscription { changed, _watcher: self.tools.registry.on_change(move || notify.notify_one()) }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut config = (*self.config).clone();
        config.meta = Some(contract_meta(&self.tools.registry.catalog()).into());
        config
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.and_then(|request| request.cursor).is_some_and(|cursor| !cursor.is_empty()) {
            let message = "unknown `cursor`; start again without one";
            return Err(ErrorData::invalid_params(message, None));
        }
        // This generates the schemas of the user's types, which may panic.
        guard(|| self.list(version_of(&context))).map_err(|panicked| self.tools.internal_error(&context, &panicked))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = self.tools.registry.get(name).ok()?;
        guard(|| convert::tool(&tool, ProtocolVersion::V2026_07_28)).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let level = Some(self.connection.log_level());
        self.tools.call(&self.connection, &request.name, request.arguments, context, level).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.connection.set_log_level(log_level(request.level));
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (peer, runtime) = (context.peer, Handle::current());
        let notified = peer.clone();
        // The tools may change on any thread, even outside of the runtime.
        let watcher = self.tools.registry.on_change(move || {
            let peer = notified.clone();
            runtime.spawn(async move { peer.notify_tool_list_changed().await });
        });
        let mut watchers = lock(&self.watchers);
        watchers.retain(|(peer, _)| !peer.is_transport_closed());
        watchers.push((peer, watcher));
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        if requested.tools_list_changed == Some(true) {
            let mut accepted = lock(&self.accepted);
            // If a client disconnects, its subscription is never taken.
            if accepted.len() >= MAX_ACCEPTED {
                accepted.pop_front();
            }
            accepted.push_back(self.subscribe());
        }
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if context.accepted().tools_list_changed != Some(true) {
            context.cancelled().await;
            return Ok(());
        }
        let accepted = lock(&self.accepted).pop_front();
        let subscription = accepted.unwrap_or_else(|| self.subscribe());
        let cancelled = &context.request_context().ct;
        while cancelled.run_until_cancelled(subscription.changed.notified()).await.is_some() {
            if context.sink().notify_tool_list_changed().await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Clone for Handler {
    fn clone(&self) -> Self {
        Self::with(self.tools.clone(), Arc::clone(&self.config), Arc::clone(&self.lists))
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("tools", &self.tools).field("config", &self.config).finish_non_exhaustive()
    }
}
