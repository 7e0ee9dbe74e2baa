//! The registry: lists and calls tools, which can be added and removed at run time.

pub(crate) mod builder;
mod calls;

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, Weak};

use arc_swap::ArcSwap;
use mcp_core::RegistrationError;
use mcp_core::entry::ToolEntry;
use mcp_core::error::ToolNotFoundError;

use crate::call::callable::Callable;
pub use crate::call::settings::OutputCheck;
use crate::call::settings::Settings;
use crate::catalog::Catalog;
use crate::catalog::assemble::Assembly;
use crate::catalog::dynamic::Tool;
use crate::catalog::lint::Demands;
use crate::catalog::tool::{RegisteredTool, ToolSchema};
pub use crate::registry::builder::RegistryBuilder;
use crate::util::lock::lock;
use crate::util::panic::{Contained, guard};

/// Lists and calls tools. It is cheap to clone; clones share their tools.
///
/// Reading takes no lock: a registration replaces the list, and a call in flight continues with the list that it
/// started with.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    tools: ArcSwap<Snapshot>,
    settings: Arc<Settings>,
    /// Which findings of the lint prevent a tool from being added.
    lint: Demands,
    /// Held while the catalog is changed. A panic while it is held leaves the old catalog in place.
    changing: Mutex<()>,
    /// Called after each change.
    listeners: Mutex<Vec<Weak<Listener>>>,
}

/// The tools at one moment: as a catalog, and as callables in the same order.
pub(crate) struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) callables: Vec<Callable>,
}

impl Snapshot {
    /// A tool, by any of its names.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<&Callable> {
        self.callables.get(self.catalog.position(name)?)
    }

    /// A tool, by any of its names, or an error with the most similar names.
    fn get(&self, name: &str) -> Result<&Callable, ToolNotFoundError> {
        self.find(name).ok_or_else(|| self.catalog.not_found(name))
    }

    /// The tools of another catalog; those that are here too keep what their calls share.
    fn with(&self, catalog: Catalog, settings: &Settings) -> Self {
        let mut known = self.callables.iter().peekable();
        let callable = |tool: &RegisteredTool| {
            // Both are sorted by name.
            while known.next_if(|known| known.name() < tool.name()).is_some() {}
            let known = known.next_if(|known| known.ptr_eq(tool));
            known.cloned().unwrap_or_else(|| Callable::new(tool.clone(), settings.of_tool(tool)))
        };
        let callables = catalog.list_registered_tools().iter().map(callable).collect();
        Self { catalog: Arc::new(catalog), callables }
    }
}

type Listener = dyn Fn() + Send + Sync;

/// Keeps a callback of [`Registry::on_change`] registered until it is dropped.
#[must_use = "the callback is removed when it is dropped"]
pub struct Watcher(#[allow(dead_code, reason = "kept alive")] Arc<Listener>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

impl Registry {
    /// The tools that are linked into this program; none of them may need state.
    #[track_caller]
    pub fn linked() -> Result<Self, RegistrationError> {
        Self::builder().build()
    }

    /// Starts from the tools that are linked into this program.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::new(Assembly::linked())
    }

    /// Starts from these entries only; linked tools are not included.
    pub fn builder_of(entries: impl IntoIterator<Item = &'static ToolEntry>) -> RegistryBuilder {
        RegistryBuilder::new(Assembly::new(entries))
    }

    pub(crate) fn new(tools: Snapshot, settings: Arc<Settings>, lint: Demands) -> Self {
        let (changing, listeners) = (Mutex::new(()), Mutex::default());
        Self(Arc::new(Shared { tools: ArcSwap::from_pointee(tools), settings, lint, changing, listeners }))
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.0.settings
    }

    /// The current tools. The guard should be short-lived.
    pub(crate) fn snapshot(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.0.tools.load()
    }

    /// The current tools.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot().catalog)
    }

    /// Every tool, sorted by name.
    pub fn list_registered_tools(&self) -> Arc<[RegisteredTool]> {
        self.snapshot().catalog.shared_tools()
    }

    /// The input schema of a tool, by its canonical name, its name on the wire, or an alias.
    pub fn get_tool_schema(&self, name: &str) -> Result<ToolSchema, ToolNotFoundError> {
        self.snapshot().catalog.get_tool_schema(name)
    }

    /// A tool, by its canonical name, its name on the wire, or an alias.
    pub fn get(&self, name: &str) -> Result<RegisteredTool, ToolNotFoundError> {
        self.snapshot().catalog.get(name).cloned()
    }

    /// Adds a tool. Adding the same tool or a clone of it again changes nothing; a different tool with its name is
    /// refused.
    ///
    /// What the builder has set for a name ([`trust_tool`](RegistryBuilder::trust_tool),
    /// [`rate_limit_tool`](RegistryBuilder::rate_limit_tool)) applies to the tool that has the name, even if that is not the
    /// one that had it before. [`select`](RegistryBuilder::select) does not: it chooses among the tools of the builder.
    pub fn register(&self, tool: Tool) -> Result<(), RegistrationError> {
        // Must outlive the lock: dropping a tool may run code that uses the registry.
        let definition = Arc::new(tool.0);
        let changing = lock(&self.0.changing);
        let tools = self.0.tools.load_full();
        let (definitions, policy) = (vec![Arc::clone(&definition)], tools.catalog.policy());
        let assembly = Assembly { definitions, policy, lint: self.0.lint, allow_empty: true, ..Assembly::default() };
        let (added, mut problems) = assembly.assemble(Location::caller());
        let mut changed = None;
        for tool in added.list_registered_tools() {
            match tools.catalog.with_tool(tool) {
                Ok(with) => changed = Some(with),
                Err(conflicts) => problems.extend(conflicts),
            }
        }
        RegistrationError::check(problems)?;
        // Adding the same tool again changes nothing.
        if let Some(changed) = changed.filter(|changed| changed.len() != tools.catalog.len()) {
            self.0.tools.store(Arc::new(tools.with(changed, &self.0.settings)));
            drop(changing);
            self.notify();
        }
        Ok(())
    }

    /// Removes a tool by its canonical name. Returns whether there was one. What the builder has set for its name stays, and
    /// a rate limit is not refilled: both apply to a tool that is registered under the name later.
    pub fn unregister(&self, name: &str) -> bool {
        let changing = lock(&self.0.changing);
        let tools = self.0.tools.load_full();
        let known = tools.find(name).is_some_and(|tool| tool.name() == name);
        if known {
            let catalog = tools.catalog.filtered(|tool| tool.name() != name);
            self.0.tools.store(Arc::new(tools.with(catalog, &self.0.settings)));
        }
        // Release the lock before the tool is dropped with the old catalog: that may run code that uses the registry.
        drop(changing);
        if known {
            self.notify();
        }
        known
    }

    /// A registry of some of the tools, with the same state and settings: for another server, a profile or a test.
    #[must_use]
    pub fn subset(&self, select: impl Fn(&RegisteredTool) -> bool) -> Self {
        let (tools, settings) = (self.snapshot(), Arc::clone(&self.0.settings));
        Self::new(tools.with(tools.catalog.filtered(select), &settings), settings, self.0.lint)
    }

    /// Calls this after each change of the tools, on the thread that makes the change, until the [`Watcher`] is
    /// dropped. If it panics, the change and the other listeners are not affected.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) -> Watcher {
        let listener = Contained::new(listener);
        let listener: Arc<Listener> = Arc::new(move || (*listener)());
        lock(&self.0.listeners).push(Arc::downgrade(&listener));
        Watcher(listener)
    }

    fn notify(&self) {
        lock(&self.0.listeners).retain(|listener| listener.strong_count() > 0);
        let listeners: Vec<_> = lock(&self.0.listeners).iter().filter_map(Weak::upgrade).collect();
        for listener in listeners {
            // A listener that panics keeps no other from being called.
            let _ = guard(|| listener());
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalog = self.catalog();
        let names: Vec<&str> = catalog.list_registered_tools().iter().map(RegisteredTool::name).collect();
        f.debug_struct("Registry").field("tools", &names).field("state", &self.0.settings.state).finish()
    }
}
