//! Builds a registry: its tools, their names, and the settings of calls.

use std::any::{Any, type_name};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::{Extensions, StateType};
use mcp_core::entry::{Timeout, ToolEntry};
use mcp_core::error::RegistrationProblem;
use mcp_core::{NamePolicy, RegistrationError, TrustLevel};

use crate::call::callable::Callable;
use crate::call::gate::Gate;
use crate::call::layer::Layer;
use crate::call::limit::{Bucket, RateLimit};
use crate::call::observe::Observer;
use crate::call::settings::{OutputCheck, Settings, ToolSettings};
use crate::catalog::Catalog;
use crate::catalog::assemble::{Assembly, Expectation};
use crate::catalog::dynamic::Tool;
use crate::catalog::lint::LintPolicy;
use crate::catalog::overrides::{Change, Override};
use crate::catalog::tool::RegisteredTool;
use crate::registry::{Registry, Snapshot};
use crate::runtime::Runtime;
use crate::util::panic::guard;

/// Builds a [`Registry`]. [`build`](Self::build) reports every problem at once.
#[must_use]
pub struct RegistryBuilder {
    assembly: Assembly,
    settings: Settings,
    /// Problems that setters found.
    problems: Vec<RegistrationProblem>,
    limit: Option<RateLimit>,
    tool_settings: Vec<ToolSetting>,
}

/// A setting for one tool, by any of its names.
struct ToolSetting {
    setter: &'static str,
    name: String,
    settings: ToolSettings,
    place: String,
}

impl RegistryBuilder {
    pub(crate) fn new(assembly: Assembly) -> Self {
        Self { assembly, settings: Settings::default(), problems: Vec::new(), limit: None, tool_settings: Vec::new() }
    }

    /// Adds tools by reference: `.tools(tools![my_crate::add])` (default: only the linked tools). This works even if
    /// the linker drops unreferenced tools (wasm, static libraries); a tool that is also linked is added once.
    pub fn tools(mut self, entries: impl IntoIterator<Item = &'static ToolEntry>) -> Self {
        self.assembly.definitions.extend(entries.into_iter().map(|entry| Arc::new(entry.into())));
        self
    }

    /// Adds a tool that is defined at run time (default: none).
    pub fn tool(mut self, tool: Tool) -> Self {
        self.assembly.definitions.push(Arc::new(tool.0));
        self
    }

    /// Adds application state for the tools, one value of each type: `#[ctx] db: &Database` (default: none).
    #[track_caller]
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        if self.settings.state.has(StateType::of::<T>()) {
            let (state, place) = (type_name::<T>(), Location::caller().to_string());
            self.problems.push(RegistrationProblem::StateTwice { state, place });
        }
        self.settings.state.insert(state);
        self
    }

    /// Sets how tool names appear to hosts (default: [`NamePolicy::HostSafe`]).
    pub fn names(mut self, policy: NamePolicy) -> Self {
        self.assembly.policy = policy;
        self
    }

    /// Sets what happens to lint errors; [`Catalog::lint`] lists the rules (default: [`LintPolicy::Quiet`]).
    pub fn lint(mut self, policy: LintPolicy) -> Self {
        self.assembly.lint.policy = policy;
        self
    }

    /// Requires an output schema of every tool, as [`LintPolicy::Strict`] does (default: a tool may have none). A tool that
    /// returns `()` or content has none, and needs `allow("missing-output-schema")`.
    pub fn require_output_schema(mut self) -> Self {
        self.assembly.lint.output_schemas = true;
        self
    }

    /// Sets the trust level of all callers (default: [`TrustLevel::Verified`]). Destructive tools need
    /// [`TrustLevel::Trusted`]; a request can have its own level
    /// ([`CallOptions::trust`](mcp_core::CallOptions::trust)).
    pub fn trust(mut self, trust: TrustLevel) -> Self {
        self.settings.trust = trust;
        self
    }

    /// Sets the trust level of all callers of one tool, by any of its names (default: [`trust`](Self::trust)). If the tool
    /// is [unregistered](Registry::unregister), it applies to the tool that is registered under the name later.
    #[track_caller]
    pub fn trust_tool(self, name: impl Into<String>, trust: TrustLevel) -> Self {
        self.set_for_tool("trust_tool", name.into(), ToolSettings { trust: Some(trust), limit: None })
    }

    /// Asks this gate before each call that the trust level allows (default: none). A gate can only refuse more calls. It
    /// has no time limit: it may ask a person.
    pub fn gate(mut self, gate: impl Gate) -> Self {
        self.settings.gate = Some(Arc::new(gate));
        self
    }

    /// Limits how often tools may be called, all of them together (default: no limit).
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Limits how often one tool may be called, by any of its names (default: no limit). If the tool is
    /// [unregistered](Registry::unregister), the tool that is registered under the name later shares what is left of the
    /// limit.
    #[track_caller]
    pub fn rate_limit_tool(self, name: impl Into<String>, limit: RateLimit) -> Self {
        let limit = Some(Arc::new(Bucket::new(limit)));
        self.set_for_tool("rate_limit_tool", name.into(), ToolSettings { trust: None, limit })
    }

    #[track_caller]
    fn set_for_tool(mut self, setter: &'static str, name: String, settings: ToolSettings) -> Self {
        self.tool_settings.push(ToolSetting { setter, name, settings, place: Location::caller().to_string() });
        self
    }

    /// Sets the time limit for calls of tools without their own (default: 30 s). The caller gets an error at the
    /// deadline, whatever the tool does; `inline` tools have no deadline.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Timeout::After(timeout);
        self
    }

    /// Removes the time limit for calls of tools without their own (default: [`timeout`](Self::timeout)).
    pub fn no_timeout(mut self) -> Self {
        self.settings.timeout = Timeout::Never;
        self
    }

    /// Sets how many abandoned calls may be running (default: 64): sync functions that timed out and have not returned.
    /// At that number, further calls that need a thread are refused with `ApiLimitExceeded`.
    pub fn max_abandoned(mut self, count: usize) -> Self {
        self.settings.max_abandoned = count;
        self
    }

    /// Sets how many calls one [`call_many`](Registry::call_many) makes at a time (default: 16).
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.settings.concurrency = calls;
        self
    }

    /// Sets how many bytes a tool without its own limit may return (default: 4 MiB). A larger result is a
    /// [`ResultTooLargeError`](mcp_core::error::ResultTooLargeError), which tells the model to ask for less.
    ///
    /// The limit applies to the JSON of what the tool returns: a value, content blocks, or a whole
    /// [`ToolResult`](mcp_core::ToolResult). With the default, a message stays below the 10 MiB at which some clients
    /// close the connection.
    ///
    /// Errors have a separate limit: callers get at most 64 KiB of a [`ToolError`](mcp_core::ToolError)'s message and
    /// of its details. The responses to a JSON-RPC batch have at most 8 MiB in total.
    pub fn max_result(mut self, bytes: usize) -> Self {
        self.settings.max_result = bytes;
        self
    }

    /// Takes timers and threads from this runtime (default: [`ThreadRuntime`](crate::runtime::ThreadRuntime)).
    pub fn runtime(mut self, runtime: impl Runtime) -> Self {
        self.settings.runtime = Some(Arc::new(runtime));
        self
    }

    /// Wraps each call in a [`Layer`], inside the layers that were added before (default: none).
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.settings.layers.push(Arc::new(layer));
        self
    }

    /// Reports every call to this observer when it ends, such as to an [`AuditLog`](crate::call::audit::AuditLog)
    /// (default: none). Observers are outside the gate and all layers: refused calls are reported, too.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        // A message that an observer may have lost is written to stderr instead.
        self.settings.keeps_messages |= guard(|| observer.keeps_messages()).unwrap_or(false);
        self.settings.observers.push(Arc::new(observer));
        self
    }

    /// Sets when results are checked against output schemas (default: [`OutputCheck::Debug`]).
    pub fn check_output(mut self, check: OutputCheck) -> Self {
        self.settings.output_check = check;
        self
    }

    /// Sets whether to mask errors that were not written for a model (default: over HTTP, but not in the same process
    /// or over stdio): errors of the standard library, of other crates and of a `Serialize`, and panics. The caller
    /// gets an ID; observers get the message with that ID. If there is no [`observer`](Self::observer) that keeps
    /// messages and no `tracing` subscriber, the message is written to stderr. The documentation of
    /// [`#[mcp_tool]`](crate::mcp_tool#what-callers-read-of-errors) lists which errors are masked where.
    pub fn mask_errors(mut self, mask: bool) -> Self {
        self.settings.mask_errors = Some(mask);
        self
    }

    /// Requires a minimum number of tools from each package, so that a package that is not linked is an error (default:
    /// none).
    #[track_caller]
    pub fn expect_tools<P: Into<String>>(mut self, packages: impl IntoIterator<Item = (P, usize)>) -> Self {
        let place = Location::caller().to_string();
        self.assembly.expected.extend(packages.into_iter().map(|(package, count)| {
            let (package, place) = (package.into(), place.clone());
            Expectation { package, count, named: false, place }
        }));
        self
    }

    /// Excludes a tool of a package, by its name in the source; `"package@1.2.0"` selects one version of the package
    /// (default: no tool is excluded).
    #[track_caller]
    pub fn exclude(self, package: impl Into<String>, name: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::Exclude { name: name.into() })
    }

    /// Changes the canonical name of a tool of a package, by its name in the source (default: the name in the source).
    #[track_caller]
    pub fn rename(self, package: impl Into<String>, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::Rename { name: name.into(), to: to.into() })
    }

    /// Adds `prefix.` to the names and aliases of all tools of a package, after any renames (default: no prefix).
    #[track_caller]
    pub fn prefix(self, package: impl Into<String>, prefix: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::Prefix { prefix: prefix.into() })
    }

    /// Removes an alias of a tool of a package, by its name in the source (default: all aliases are kept).
    #[track_caller]
    pub fn drop_alias(self, package: impl Into<String>, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::DropAlias { name: name.into(), alias: alias.into() })
    }

    #[track_caller]
    fn override_package(mut self, package: String, change: Change) -> Self {
        self.assembly.overrides.push(Override { package, change, place: Location::caller().to_string() });
        self
    }

    /// Keeps only the tools for which this returns `true`; the others need no state (default: all tools). This chooses among
    /// the tools of the builder: [`register`](Registry::register) adds any tool later.
    pub fn select(mut self, select: impl Fn(&RegisteredTool) -> bool + 'static) -> Self {
        self.assembly.select.push(Box::new(select));
        self
    }

    /// Allows a registry without tools, such as one that is filled at run time (default: an error).
    pub fn allow_empty(mut self) -> Self {
        self.assembly.allow_empty = true;
        self
    }

    /// Builds only the catalog; state is not needed.
    #[track_caller]
    pub fn catalog(self) -> Result<Catalog, RegistrationError> {
        self.catalog_at(Location::caller())
    }

    /// Builds the catalog. `place` is where that happens, for errors.
    pub(crate) fn catalog_at(self, place: &Location<'_>) -> Result<Catalog, RegistrationError> {
        self.assembly.build(place)
    }

    /// Builds the registry, or reports every problem at once.
    #[track_caller]
    pub fn build(self) -> Result<Registry, RegistrationError> {
        self.build_at(Location::caller())
    }

    /// Builds the registry. `place` is where that happens, for errors.
    pub(crate) fn build_at(self, place: &Location<'_>) -> Result<Registry, RegistrationError> {
        let Self { assembly, mut settings, problems: found, limit, tool_settings } = self;
        let lint = assembly.lint;
        let (catalog, mut problems) = assembly.assemble(place);
        let tools = catalog.list_registered_tools();
        problems.extend(found);
        problems.extend(tools.iter().flat_map(|tool| missing_state(tool, &settings.state)));
        problems.extend(tool_settings.into_iter().filter_map(|setting| setting.apply(&catalog, &mut settings)));
        RegistrationError::check(problems)?;
        let callables = tools.iter().map(|tool| Callable::new(tool.clone(), settings.of_tool(tool))).collect();
        settings.limit = limit.map(Bucket::new);
        Ok(Registry::new(Snapshot { catalog: Arc::new(catalog), callables }, Arc::new(settings), lint))
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.assembly.definitions.iter().map(|definition| &*definition.name).collect();
        f.debug_struct("RegistryBuilder")
            .field("tools", &names)
            .field("state", &self.settings.state)
            .finish_non_exhaustive()
    }
}

impl ToolSetting {
    /// Adds the setting of its tool to those of the registry, or returns the problem.
    fn apply(self, catalog: &Catalog, settings: &mut Settings) -> Option<RegistrationProblem> {
        let Self { setter, name, settings: added, place } = self;
        let reason = match catalog.get(&name) {
            Err(error) => format!("matches no tool: {error}"),
            Ok(tool) => {
                let known = settings.of_tool(tool);
                let is_known =
                    known.trust.and(added.trust).is_some() || (known.limit.is_some() && added.limit.is_some());
                if !is_known {
                    settings.by_name.push(([name, tool.name().to_owned()], added));
                    return None;
                }
                "is set twice for one tool; keep one of the two".to_owned()
            }
        };
        Some(RegistrationProblem::Edit { call: format!(".{setter}(\"{name}\", …)"), reason, place })
    }
}

/// Reports each type of state that the tool needs and the registry lacks.
fn missing_state(tool: &RegisteredTool, state: &Extensions) -> Vec<RegistrationProblem> {
    let needs = tool.needs().into_iter().filter(|need| !state.has(*need));
    let problem = |need: StateType| RegistrationProblem::State {
        tool: tool.name().to_owned(),
        state: need.name,
        given: state.similar(need).map(|given| given.name),
        origin: Box::new(tool.origin().clone()),
    };
    needs.map(problem).collect()
}
