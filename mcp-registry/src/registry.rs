//! The registry: list, schema, call; tools come and go while it is read.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use mcp_core::{
    __private::block_on, Call, Error, Extensions, RegistrationError, RegistrationProblem, Returned, SerializationError,
    ToolCall, ToolContext, ToolEntry, ToolNotFoundError, ToolResult,
};
use serde_json::{Value, json};

use crate::builder::{RegistryBuilder, check_tool};
use crate::catalog::{Catalog, is_same};
use crate::tool::{RegisteredTool, Source, Tool, ToolSchema};

/// Tools that can be listed and called; cheap to clone, and shared by its clones.
///
/// Reading takes no lock: a registration puts a new list in the place of the old one, and a call that is under way goes
/// on with the one that it began with.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    catalog: ArcSwap<Catalog>,
    state: Extensions,
    /// Held while the catalog is changed.
    changing: Mutex<()>,
}

impl Registry {
    /// The tools that are linked into this program, none of which needs state.
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

    pub(crate) fn new(catalog: Catalog, state: Extensions) -> Self {
        Self(Arc::new(Shared { catalog: ArcSwap::from_pointee(catalog), state, changing: Mutex::new(()) }))
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

    /// Adds a tool. The same tool again changes nothing; another one of its name is refused.
    pub fn register(&self, tool: Tool) -> Result<(), RegistrationError> {
        self.change(|catalog, problems| {
            let name = tool.name.clone();
            let added = Catalog::build([(Source::Made(Arc::new(tool)), name)], catalog.policy(), |_| true, problems);
            let mut tools = catalog.list_registered_tools().to_vec();
            for tool in added.list_registered_tools() {
                problems.extend(check_tool(tool));
                if !tools.iter().any(|known| is_same(known, tool)) {
                    tools.push(tool.clone());
                }
            }
            tools
        })
    }

    /// Takes a tool away, by its canonical name, and says whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let mut removed = false;
        let changed = self.change(|catalog, _| {
            let mut tools = catalog.list_registered_tools().to_vec();
            tools.retain(|tool| tool.name() != name);
            removed = tools.len() < catalog.len();
            tools
        });
        // A part of what has no conflict has none.
        changed.is_ok() && removed
    }

    /// A registry of some of the tools, with the same state: for another server, a profile, a test.
    #[must_use]
    pub fn subset(&self, select: impl Fn(&RegisteredTool) -> bool) -> Self {
        let catalog = self.catalog();
        let tools = catalog.list_registered_tools().iter().filter(|tool| select(tool)).cloned().collect();
        // A part of what has no conflict has none.
        Self::new(Catalog::of_tools(tools, catalog.policy(), &mut Vec::new()), self.0.state.clone())
    }

    fn change(
        &self,
        change: impl FnOnce(&Catalog, &mut Vec<RegistrationProblem>) -> Vec<RegisteredTool>,
    ) -> Result<(), RegistrationError> {
        // A panic while it was held left the old catalog in place.
        let _changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let catalog = self.catalog();
        let mut problems = Vec::new();
        let tools = change(&catalog, &mut problems);
        let changed = Catalog::of_tools(tools, catalog.policy(), &mut problems);
        RegistrationError::check(problems)?;
        self.0.catalog.store(Arc::new(changed));
        Ok(())
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
        let cx = ToolContext::new(tool.name(), self.0.state.clone());
        let entry = match tool.source() {
            Source::Linked(entry) => entry,
            Source::Made(made) => return Ok(made.run(cx, call.arguments.clone()).await),
        };
        let arguments = call.arguments.to_string();
        let mut json = Vec::new();
        let returned = match entry.call {
            Call::Sync(run) => run(&cx, &arguments, &mut json),
            Call::Async(run) => run(&cx, &arguments, &mut json).await,
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
        _ => ToolResult::success(),
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalog = self.catalog();
        let names: Vec<&str> = catalog.list_registered_tools().iter().map(RegisteredTool::name).collect();
        f.debug_struct("Registry").field("tools", &names).field("state", &self.0.state).finish()
    }
}
