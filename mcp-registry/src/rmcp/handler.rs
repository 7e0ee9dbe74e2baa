//! A server of the tools and nothing else, for rmcp's transports.

#![allow(deprecated, reason = "log lines are asked for as long as there are clients that know them")]

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use ::rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscriptionFilter, Tool,
};
use ::rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use ::rmcp::{ErrorData, RoleServer, ServerHandler};
use arc_swap::ArcSwapOption;
use mcp_core::{LogLevel, ProtocolVersion};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::call::era;
use super::{Tools, convert, tell};
use crate::catalog::Catalog;
use crate::protocol::program;
use crate::registry::Watcher;
use crate::util::lock::lock;
use crate::util::panic::guard;

/// The tools as an rmcp server: list, call, progress, log, and word of changes. Tools that come and go at run time are
/// seen at once.
///
/// One is served to one connection; a clone is for another one, and has the same tools. A server of yours that has more
/// to offer can keep one and hand `list_tools`, `call_tool` and `get_tool` on to it.
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
    shared: Arc<Shared>,
    /// From which level on the connection wants log lines.
    level: AtomicU8,
    /// What tells each connection of changes.
    watchers: Mutex<Vec<(Peer<RoleServer>, Watcher)>>,
    /// Those of requests to be told of changes that rmcp has yet to acknowledge: what changes meanwhile counts.
    accepted: Mutex<VecDeque<Changes>>,
}

/// How many requests to be told of changes rmcp may have yet to acknowledge.
const ACCEPTED: usize = 1024;

/// Notes that the tools have changed, until it is dropped.
struct Changes {
    noted: Arc<Notify>,
    _watcher: Watcher,
}

struct Shared {
    tools: Tools,
    config: ServerConfig,
    /// The lists of tools as they were last asked for.
    lists: ArcSwapOption<Lists>,
}

/// The lists of one set of tools.
struct Lists {
    /// Kept, so that no other set can be at its place in memory.
    of: Arc<Catalog>,
    /// By version: for those in which each request carries its own, and for the older ones.
    tools: [OnceLock<Vec<Tool>>; 2],
}

impl Handler {
    /// Serves tools, under the name of the program.
    pub fn new(tools: impl Into<Tools>) -> Self {
        let capabilities =
            ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed().build();
        let config = ServerConfig::new(capabilities).with_server_info(Implementation::new(program(), "0.0.0"));
        Self::of(tools.into(), config)
    }

    fn of(tools: Tools, config: ServerConfig) -> Self {
        Self::sharing(Arc::new(Shared { tools, config, lists: ArcSwapOption::empty() }))
    }

    fn sharing(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            level: AtomicU8::new(LogLevel::Info as u8),
            watchers: Mutex::default(),
            accepted: Mutex::default(),
        }
    }

    fn set(self, change: impl FnOnce(ServerConfig) -> ServerConfig) -> Self {
        let Shared { tools, config, .. } = &*self.shared;
        Self::of(tools.clone(), change(config.clone()))
    }

    /// Sets the name and version that clients see.
    #[must_use]
    pub fn info(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.set(|config| config.with_server_info(Implementation::new(name, version)))
    }

    /// Sets what a model is told of the server as a whole.
    #[must_use]
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.set(|config| config.with_instructions(text))
    }

    /// The tools.
    pub fn tools(&self) -> &Tools {
        &self.shared.tools
    }

    /// The lists of the tools as they are now.
    fn lists(&self) -> Arc<Lists> {
        let catalog = self.tools().registry.catalog();
        if let Some(lists) = self.shared.lists.load().as_ref().filter(|lists| Arc::ptr_eq(&lists.of, &catalog)) {
            return Arc::clone(lists);
        }
        let lists = Arc::new(Lists { of: Arc::clone(&catalog), tools: Default::default() });
        self.shared.lists.store(Some(Arc::clone(&lists)));
        lists
    }

    fn list(&self, era: ProtocolVersion) -> ListToolsResult {
        let lists = self.lists();
        let listed = lists.of.listed();
        let tools = lists.tools[usize::from(era.is_stateless())]
            .get_or_init(|| listed.iter().map(|tool| convert::tool(tool, era)).collect());
        let mut result = ListToolsResult::with_all_items(tools.clone());
        if era.is_stateless() {
            let ttl = listed.iter().map(|tool| tool.cache_ttl()).min().unwrap_or_default();
            (result.ttl_ms, result.cache_scope) = (Some(u64::from(ttl) * 1000), Some(CacheScope::Public));
        }
        result
    }

    fn changes(&self) -> Changes {
        let noted = Arc::new(Notify::new());
        let of_watcher = Arc::clone(&noted);
        Changes { noted, _watcher: self.tools().registry.on_change(move || of_watcher.notify_one()) }
    }

    fn log_level(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.level.load(Ordering::Relaxed)) % LogLevel::ALL.len()]
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.and_then(|request| request.cursor).is_some_and(|cursor| !cursor.is_empty()) {
            let message = "`cursor` is none that was given out here; begin again without one";
            return Err(ErrorData::invalid_params(message, None));
        }
        // The schemas of a user's types are made here.
        guard(|| self.list(era(&context))).map_err(|panicked| self.tools().internal(&context, &panicked))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = self.tools().registry.get(name).ok()?;
        guard(|| convert::tool(&tool, ProtocolVersion::V2026_07_28)).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.tools().call(&request.name, request.arguments, context, Some(self.log_level())).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.level.store(tell::level(request.level) as u8, Ordering::Relaxed);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (peer, runtime) = (context.peer, Handle::current());
        let told = peer.clone();
        // A change may be made anywhere, also outside the runtime.
        let watcher = self.tools().registry.on_change(move || {
            let peer = told.clone();
            runtime.spawn(async move { peer.notify_tool_list_changed().await });
        });
        let mut watchers = lock(&self.watchers);
        watchers.retain(|(peer, _)| !peer.is_transport_closed());
        watchers.push((peer, watcher));
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        if requested.tools_list_changed == Some(true) {
            let mut accepted = lock(&self.accepted);
            // One whose client went away meanwhile is never asked for.
            if accepted.len() >= ACCEPTED {
                accepted.pop_front();
            }
            accepted.push_back(self.changes());
        }
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if context.accepted().tools_list_changed != Some(true) {
            context.cancelled().await;
            return Ok(());
        }
        let accepted = lock(&self.accepted).pop_front();
        let changes = accepted.unwrap_or_else(|| self.changes());
        let cancelled = &context.request_context().ct;
        while cancelled.run_until_cancelled(changes.noted.notified()).await.is_some() {
            if context.sink().notify_tool_list_changed().await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Clone for Handler {
    fn clone(&self) -> Self {
        Self::sharing(Arc::clone(&self.shared))
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { tools, config, .. } = &*self.shared;
        f.debug_struct("Handler").field("tools", tools).field("config", config).finish_non_exhaustive()
    }
}
