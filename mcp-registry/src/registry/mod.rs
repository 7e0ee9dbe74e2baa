//! The registry: list, schema, call; tools come and go while it is read.

pub(crate) mod builder;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use mcp_core::{RegistrationError, ToolEntry, ToolNotFoundError};

use crate::call::settings::Settings;
use crate::catalog::Catalog;
use crate::catalog::check::check_tool;
use crate::catalog::dynamic::Tool;
use crate::catalog::overrides::edited;
use crate::catalog::tool::{RegisteredTool, Source, ToolSchema};
use crate::registry::builder::RegistryBuilder;
use crate::validate;

/// Tools that can be listed and called; cheap to clone, and shared by its clones.
///
/// Reading takes no lock: a registration puts a new list in the place of the old one, and a call that is under way goes
/// on with the one that it began with.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    catalog: ArcSwap<Catalog>,
    settings: Arc<Settings>,
    /// Whether nothing stands around a call.
    is_plain: bool,
    /// Held while the catalog is changed.
    changing: Mutex<()>,
    /// Who is told when it has changed.
    watchers: Mutex<Vec<Weak<Told>>>,
}

type Told = dyn Fn() + Send + Sync;

/// Keeps someone told of changes of a registry; nobody is told any more once it is dropped.
#[must_use = "nobody is told once it is dropped"]
pub struct Watcher(#[allow(dead_code, reason = "kept alive")] Arc<Told>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

impl Registry {
    /// The tools that are linked into this program, none of which needs state.
    #[track_caller]
    pub fn linked() -> Result<Self, RegistrationError> {
        Self::builder().build()
    }

    /// Starts from the tools that are linked into this program.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::linked()
    }

    /// Starts from these entries, and nothing that is linked.
    pub fn builder_of(entries: impl IntoIterator<Item = &'static ToolEntry>) -> RegistryBuilder {
        RegistryBuilder::of(entries)
    }

    pub(crate) fn new(catalog: Catalog, settings: Arc<Settings>) -> Self {
        let (catalog, is_plain) = (ArcSwap::from_pointee(catalog), settings.is_plain());
        Self(Arc::new(Shared { catalog, settings, is_plain, changing: Mutex::new(()), watchers: Mutex::default() }))
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.0.settings
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.0.is_plain
    }

    /// The tools as they are now, for a moment.
    pub(crate) fn snapshot(&self) -> arc_swap::Guard<Arc<Catalog>> {
        self.0.catalog.load()
    }

    /// The tools as they are now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog.load_full()
    }

    /// Every tool, sorted by name; in the same order always.
    pub fn list_registered_tools(&self) -> Arc<[RegisteredTool]> {
        self.0.catalog.load().shared_tools()
    }

    /// The input schema of a tool, by its canonical name, its name on the wire, or an alias.
    pub fn get_tool_schema(&self, name: &str) -> Result<ToolSchema, ToolNotFoundError> {
        self.0.catalog.load().get_tool_schema(name)
    }

    /// A tool, by its canonical name, its name on the wire, or an alias.
    pub fn get(&self, name: &str) -> Result<RegisteredTool, ToolNotFoundError> {
        self.0.catalog.load().get(name).cloned()
    }

    /// Adds a tool. The same tool (or a clone of it) again changes nothing; another one of its name is refused.
    pub fn register(&self, tool: Tool) -> Result<(), RegistrationError> {
        // Kept beyond the lock: what a tool holds may use the registry when it is dropped.
        let tool = Arc::new(tool);
        let changing = self.changing();
        let catalog = self.catalog();
        let mut problems = Vec::new();
        let named = edited(vec![Source::Made(Arc::clone(&tool))], &[], &mut problems);
        let added = Catalog::build(named, catalog.policy(), |_| true, &mut problems);
        problems.extend(self.0.settings.lint.problems(&added.lint_by(self.0.settings.lint)));
        let mut changed = None;
        for tool in added.list_registered_tools() {
            problems.extend(check_tool(tool));
            problems.extend(validate::unchecked(tool));
            match catalog.with(tool) {
                Ok(with) => changed = Some(with),
                Err(conflicts) => problems.extend(conflicts),
            }
        }
        RegistrationError::check(problems)?;
        // The same tool again changes nothing.
        if let Some(changed) = changed.filter(|changed| changed.len() != catalog.len()) {
            self.0.catalog.store(Arc::new(changed));
            drop(changing);
            self.tell();
        }
        Ok(())
    }

    /// Takes a tool away, by its canonical name, and says whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let changing = self.changing();
        let catalog = self.catalog();
        let known = catalog.find(name).is_some_and(|tool| tool.name() == name);
        if known {
            self.0.catalog.store(Arc::new(catalog.filtered(|tool| tool.name() != name)));
        }
        // Before the tool goes with the old catalog: what it holds may use the registry when it is dropped.
        drop(changing);
        if known {
            self.tell();
        }
        known
    }

    /// A registry of some of the tools, with the same state: for another server, a profile, a test.
    #[must_use]
    pub fn subset(&self, select: impl Fn(&RegisteredTool) -> bool) -> Self {
        Self::new(self.catalog().filtered(select), Arc::clone(&self.0.settings))
    }

    /// Tells someone after each change of the tools, as long as the watcher is kept. It runs where the change is made.
    pub fn on_change(&self, told: impl Fn() + Send + Sync + 'static) -> Watcher {
        let told: Arc<Told> = Arc::new(told);
        self.watchers().push(Arc::downgrade(&told));
        Watcher(told)
    }

    fn tell(&self) {
        self.watchers().retain(|watcher| watcher.strong_count() > 0);
        let watchers: Vec<_> = self.watchers().iter().filter_map(Weak::upgrade).collect();
        for watcher in watchers {
            watcher();
        }
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Weak<Told>>> {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others from changing the catalog meanwhile.
    fn changing(&self) -> MutexGuard<'_, ()> {
        // A panic while it was held left the old catalog in place.
        self.0.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalog = self.catalog();
        let names: Vec<&str> = catalog.list_registered_tools().iter().map(RegisteredTool::name).collect();
        f.debug_struct("Registry").field("tools", &names).field("state", &self.0.settings.state).finish()
    }
}
