//! The registry: list, schema, call; tools come and go while it is read.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use mcp_core::{
    __private::block_on, Call, Error, Extensions, RegistrationError, Returned, SerializationError, ToolCall,
    ToolContext, ToolEntry, ToolNotFoundError, ToolResult,
};
use serde_json::{Value, json};

use crate::builder::RegistryBuilder;
use crate::catalog::Catalog;
use crate::check::check_tool;
use crate::edit::edited;
use crate::lint::LintPolicy;
use crate::made::Tool;
use crate::tool::{RegisteredTool, Source, ToolSchema};

/// Tools that can be listed and called; cheap to clone, and shared by its clones.
///
/// Reading takes no lock: a registration puts a new list in the place of the old one, and a call that is under way goes
/// on with the one that it began with.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    catalog: ArcSwap<Catalog>,
    state: Extensions,
    lint: LintPolicy,
    /// Held while the catalog is changed.
    changing: Mutex<()>,
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

    pub(crate) fn new(catalog: Catalog, state: Extensions, lint: LintPolicy) -> Self {
        Self(Arc::new(Shared { catalog: ArcSwap::from_pointee(catalog), state, lint, changing: Mutex::new(()) }))
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
        let _changing = self.changing();
        let catalog = self.catalog();
        let mut problems = Vec::new();
        let named = edited(vec![Source::Made(Arc::new(tool))], &[], &mut problems);
        let added = Catalog::build(named, catalog.policy(), |_| true, &mut problems);
        problems.extend(self.0.lint.problems(&added.lint_by(self.0.lint)));
        let mut changed = None;
        for tool in added.list_registered_tools() {
            problems.extend(check_tool(tool));
            match catalog.with(tool) {
                Ok(with) => changed = Some(with),
                Err(conflicts) => problems.extend(conflicts),
            }
        }
        RegistrationError::check(problems)?;
        if let Some(changed) = changed {
            self.0.catalog.store(Arc::new(changed));
        }
        Ok(())
    }

    /// Takes a tool away, by its canonical name, and says whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let _changing = self.changing();
        let catalog = self.catalog();
        let known = catalog.find(name).is_some_and(|tool| tool.name() == name);
        if known {
            self.0.catalog.store(Arc::new(catalog.filtered(|tool| tool.name() != name)));
        }
        known
    }

    /// A registry of some of the tools, with the same state: for another server, a profile, a test.
    #[must_use]
    pub fn subset(&self, select: impl Fn(&RegisteredTool) -> bool) -> Self {
        Self::new(self.catalog().filtered(select), self.0.state.clone(), self.0.lint)
    }

    /// Keeps others from changing the catalog meanwhile.
    fn changing(&self) -> MutexGuard<'_, ()> {
        // A panic while it was held left the old catalog in place.
        self.0.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a tool. Whatever goes wrong is in the result.
    pub async fn call(&self, call: &ToolCall) -> ToolResult {
        self.try_call(call).await.unwrap_or_else(ToolResult::from)
    }

    /// Calls a tool and waits for it on this thread.
    pub fn call_blocking(&self, call: &ToolCall) -> ToolResult {
        block_on(self.call(call))
    }

    /// Calls a tool. What goes wrong before the tool, or is the tool's own error, keeps its type.
    pub async fn try_call(&self, call: &ToolCall) -> Result<ToolResult, Error> {
        call.validate()?;
        let tool = self.get(&call.tool_name)?;
        let cx = ToolContext::new(tool.name(), self.0.state.clone(), mcp_core::CallOptions::new());
        let entry = match tool.source() {
            Source::Linked(entry) => entry,
            Source::Made(made) => return Ok(made.run(cx, call.arguments.clone()).await?),
        };
        let arguments = call.arguments.to_string();
        let mut json = Vec::new();
        let returned = match entry.call {
            Call::Sync(run) => run(&cx, mcp_core::Input::new(&arguments), &mut json),
            Call::Async(run) => run(&cx, mcp_core::Input::new(&arguments), &mut json).await,
        };
        let returned = returned.map_err(|error| error.into_error(tool.name()))?;
        Ok(result_of(&tool, returned, &json))
    }
}

/// What a tool left behind, as a result.
fn result_of(tool: &RegisteredTool, returned: Returned, json: &[u8]) -> ToolResult {
    match returned {
        Returned::Json => match serde_json::from_slice::<Value>(json) {
            Ok(value) if tool.wraps_output() => ToolResult::data(json!({ "result": value })),
            Ok(value) => ToolResult::data(value),
            Err(error) => ToolResult::failure(SerializationError::new("what the tool returned", error)),
        },
        Returned::Content(blocks) => ToolResult::success().content(blocks),
        Returned::Result(result) => *result,
        Returned::Nothing => ToolResult::success(),
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalog = self.catalog();
        let names: Vec<&str> = catalog.list_registered_tools().iter().map(RegisteredTool::name).collect();
        f.debug_struct("Registry").field("tools", &names).field("state", &self.0.state).finish()
    }
}
