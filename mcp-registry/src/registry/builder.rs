//! Builds a registry: its tools, their names, and the settings of calls.

use std::any::{Any, type_name};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::{
    Extensions, NamePolicy, RegistrationError, RegistrationProblem, StateType, Timeout, ToolEntry, TrustLevel,
};

use crate::call::callable::Callable;
use crate::call::gate::Gate;
use crate::call::layer::Layer;
use crate::call::limit::{Bucket, RateLimit};
use crate::call::observe::Observer;
use crate::call::settings::{OutputCheck, Settings};
use crate::catalog::Catalog;
use crate::catalog::assemble::{Assembly, Expectation, Unchecked};
use crate::catalog::dynamic::Tool;
use crate::catalog::lint::LintPolicy;
use crate::catalog::overrides::{Change, Override};
use crate::catalog::tool::RegisteredTool;
use crate::registry::{Registry, Snapshot};
use crate::runtime::Runtime;
use crate::validate::unchecked;

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
    name: String,
    setting: Setting,
    place: String,
}

enum Setting {
    Trust(TrustLevel),
    Limit(RateLimit),
}

/// The settings for calls of one tool.
#[derive(Clone, Default)]
struct CallSettings {
    trust: Option<TrustLevel>,
    limit: Option<RateLimit>,
}

impl RegistryBuilder {
    pub(crate) fn new(assembly: Assembly) -> Self {
        Self { assembly, settings: Settings::default(), problems: Vec::new(), limit: None, tool_settings: Vec::new() }
    }

    /// Adds tools by name: `.tools(tools![my_crate::add])`. Such a reference holds where the linker drops what nobody
    /// names (wasm, static libraries), and does no harm beside the linked tools.
    pub fn tools(mut self, entries: impl IntoIterator<Item = &'static ToolEntry>) -> Self {
        self.assembly.definitions.extend(entries.into_iter().map(|entry| Arc::new(entry.into())));
        self
    }

    /// Adds a tool that is made at run time.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.assembly.definitions.push(Arc::new(tool.into()));
        self
    }

    /// Gives the tools application state: `#[ctx] db: &Database`. There is one of each type.
    #[track_caller]
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        if self.settings.state.has(StateType::of::<T>()) {
            let (state, place) = (type_name::<T>(), Location::caller().to_string());
            self.problems.push(RegistrationProblem::StateTwice { state, place });
        }
        self.settings.state.insert(state);
        self
    }

    /// Says how names are published to hosts.
    pub fn names(mut self, policy: NamePolicy) -> Self {
        self.assembly.policy = policy;
        self
    }

    /// Says what the lint's errors do; [`Catalog::lint`] has the rules.
    pub fn lint(mut self, policy: LintPolicy) -> Self {
        self.assembly.lint = policy;
        self
    }

    /// Says how far everyone who reaches this registry is trusted, [`TrustLevel::Verified`] otherwise. Tools that may
    /// destroy something ask for [`TrustLevel::Trusted`]; a request can bring a level of its own
    /// ([`CallOptions::trust`](mcp_core::CallOptions::trust)).
    pub fn trust(mut self, trust: TrustLevel) -> Self {
        self.settings.trust = trust;
        self
    }

    /// Says how far everyone is trusted with one tool, by any of its names.
    #[track_caller]
    pub fn trust_tool(self, name: impl Into<String>, trust: TrustLevel) -> Self {
        self.set_for_tool(name.into(), Setting::Trust(trust))
    }

    /// Asks this gate before each call, in place of [`LevelGate`](crate::LevelGate).
    pub fn gate(mut self, gate: impl Gate) -> Self {
        self.settings.gate = Some(Arc::new(gate));
        self
    }

    /// Says how often tools may be called, all of them together. There is no limit otherwise.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Says how often one tool may be called, by any of its names.
    #[track_caller]
    pub fn rate_limit_tool(self, name: impl Into<String>, limit: RateLimit) -> Self {
        self.set_for_tool(name.into(), Setting::Limit(limit))
    }

    #[track_caller]
    fn set_for_tool(mut self, name: String, setting: Setting) -> Self {
        self.tool_settings.push(ToolSetting { name, setting, place: Location::caller().to_string() });
        self
    }

    /// Says how long a call may take, where the tool does not say; 30 seconds otherwise. The caller is answered then,
    /// whatever the tool does. (A tool that is `inline` has no deadline.)
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Timeout::After(timeout);
        self
    }

    /// Lets calls take as long as they like, where the tool does not say.
    pub fn no_timeout(mut self) -> Self {
        self.settings.timeout = Timeout::Never;
        self
    }

    /// Says how many calls may go on that nobody waits for any more: plain functions that ran out of time and have not
    /// returned; 64 otherwise. Once there are so many, calls that need a thread are refused with `ApiLimitExceeded`. (Those
    /// that run already may still add to them.)
    pub fn max_abandoned(mut self, count: usize) -> Self {
        self.settings.max_abandoned = count;
        self
    }

    /// Says how many calls of one [`call_many`](Registry::call_many) are under way at a time; 16 otherwise.
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.settings.concurrency = calls;
        self
    }

    /// Sets how many bytes a tool may return, where the tool does not say (default: 4 MiB). A larger result is a
    /// [`ResultTooLargeError`](mcp_core::ResultTooLargeError), which tells the model to ask for less.
    ///
    /// What counts is the JSON of what the tool returns: of the value, of the content blocks, or of a whole
    /// [`ToolResult`](mcp_core::ToolResult). With the default, a message stays below the 10 MiB at which some clients close
    /// the connection.
    ///
    /// Errors have a bound of their own: callers get at most 64 KiB of a [`ToolError`](mcp_core::ToolError)'s message and
    /// of its details. The answers to a JSON-RPC batch have at most 8 MiB together.
    pub fn max_result(mut self, bytes: usize) -> Self {
        self.settings.max_result = bytes;
        self
    }

    /// Takes timers and threads from this runtime (default: [`ThreadRuntime`](crate::ThreadRuntime)).
    pub fn runtime(mut self, runtime: impl Runtime) -> Self {
        self.settings.runtime = Some(Arc::new(runtime));
        self
    }

    /// Wraps each call in a [`Layer`], inside the layers that were added before (default: none).
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.settings.layers.push(Arc::new(layer));
        self
    }

    /// Reports every call to this observer when it is over, such as to an [`AuditLog`](crate::call::audit::AuditLog)
    /// (default: none). Observers are outside the gate and all layers: refused calls are reported too.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.settings.keeps_messages |= observer.keeps_messages();
        self.settings.observers.push(Arc::new(observer));
        self
    }

    /// Says when what tools return is held against their output schemas: in debug builds otherwise. This needs the
    /// feature `validate`; without it nothing is checked, and to ask for it always is an error.
    #[track_caller]
    pub fn check_output(mut self, check: OutputCheck) -> Self {
        if check == OutputCheck::Always && !cfg!(feature = "validate") {
            self.problems.push(RegistrationProblem::Edit {
                call: ".check_output(OutputCheck::Always)".to_owned(),
                reason: "needs the feature `validate` of mcp-registry; turn it on".to_owned(),
                place: Location::caller().to_string(),
            });
        }
        self.settings.output_check = check;
        self
    }

    /// Says whether errors that tools did not write for a model (of the standard library, of other crates, of a `Serialize`, panics) are
    /// kept from callers, who get an id under which observers are told the whole. Otherwise whoever makes the call says:
    /// not in the same process and over stdio, but over HTTP. Without an [`observer`](Self::observer) and without
    /// `tracing`, the id and the reason are written to stderr. The documentation of
    /// [`#[mcp_tool]`](crate::mcp_tool#what-callers-read-of-errors) lists which errors are masked where.
    pub fn mask_errors(mut self, mask: bool) -> Self {
        self.settings.mask_errors = Some(mask);
        self
    }

    /// Says how many tools each package brings at least. A package that is not linked, or only in part, is an error.
    #[track_caller]
    pub fn expect_tools<P: Into<String>>(mut self, packages: impl IntoIterator<Item = (P, usize)>) -> Self {
        let place = Location::caller().to_string();
        self.assembly.expected.extend(packages.into_iter().map(|(package, count)| {
            let (package, place) = (package.into(), place.clone());
            Expectation { package, count, named: false, place }
        }));
        self
    }

    /// Leaves a tool of a package out, by its name in the source. `"package@1.2.0"` means one version of the package.
    #[track_caller]
    pub fn exclude(self, package: impl Into<String>, name: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::Exclude { name: name.into() })
    }

    /// Gives a tool of a package, by its name in the source, another canonical name.
    #[track_caller]
    pub fn rename(self, package: impl Into<String>, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::Rename { name: name.into(), to: to.into() })
    }

    /// Puts `prefix.` before the names and aliases of all tools of a package, after any renaming.
    #[track_caller]
    pub fn prefix(self, package: impl Into<String>, prefix: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::Prefix { prefix: prefix.into() })
    }

    /// Takes an alias from a tool of a package, by its name in the source.
    #[track_caller]
    pub fn drop_alias(self, package: impl Into<String>, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.override_package(package.into(), Change::DropAlias { name: name.into(), alias: alias.into() })
    }

    #[track_caller]
    fn override_package(mut self, package: String, change: Change) -> Self {
        self.assembly.overrides.push(Override { package, change, place: Location::caller().to_string() });
        self
    }

    /// Takes only the tools for which this is so. A tool that is not taken needs no state.
    pub fn select(mut self, select: impl Fn(&RegisteredTool) -> bool + 'static) -> Self {
        self.assembly.select.push(Box::new(select));
        self
    }

    /// Takes a registry without tools for granted, such as one that is filled at run time.
    pub fn allow_empty(mut self) -> Self {
        self.assembly.allow_empty = true;
        self
    }

    /// Takes a tool, by its canonical name, although nothing checks all that its input schema says. That is so only where
    /// this crate is built without its feature `validate`; with it, this changes nothing.
    #[track_caller]
    pub fn allow_unchecked(mut self, name: impl Into<String>) -> Self {
        self.assembly.unchecked.push(Unchecked { name: name.into(), place: Location::caller().to_string() });
        self
    }

    /// Builds the catalog alone, which needs no state.
    #[track_caller]
    pub fn catalog(self) -> Result<Catalog, RegistrationError> {
        self.catalog_at(Location::caller())
    }

    /// The catalog; errors name this line as the one that asked for it.
    pub(crate) fn catalog_at(self, place: &Location<'_>) -> Result<Catalog, RegistrationError> {
        self.assembly.build(place)
    }

    /// Builds the registry, or says everything that stands against it.
    #[track_caller]
    pub fn build(self) -> Result<Registry, RegistrationError> {
        self.build_at(Location::caller())
    }

    /// The registry; errors name this line as the one that asked for it.
    pub(crate) fn build_at(self, place: &Location<'_>) -> Result<Registry, RegistrationError> {
        let Self { assembly, mut settings, problems: found, limit, tool_settings } = self;
        let (lint, allowed) = (assembly.lint, assembly.unchecked.iter().map(|it| it.name.clone()).collect::<Vec<_>>());
        let (catalog, mut problems) = assembly.assemble(place);
        let tools = catalog.list_registered_tools();
        problems.extend(found);
        problems.extend(tools.iter().flat_map(|tool| missing_state(tool, &settings.state)));
        let mut call_settings = vec![CallSettings::default(); tools.len()];
        problems.extend(tool_settings.into_iter().filter_map(|setting| setting.apply(&catalog, &mut call_settings)));
        let refused = tools.iter().filter(|tool| !allowed.iter().any(|name| name == tool.name()));
        problems.extend(refused.filter_map(unchecked));
        RegistrationError::check(problems)?;
        let callable = |(tool, CallSettings { trust, limit }): (&RegisteredTool, CallSettings)| {
            Callable::new(tool.clone(), trust, limit.map(Bucket::new))
        };
        let callables = tools.iter().zip(call_settings).map(callable).collect();
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
    /// Applies it to the tool, or returns what is wrong with it.
    fn apply(self, catalog: &Catalog, call_settings: &mut [CallSettings]) -> Option<RegistrationProblem> {
        let Self { name, setting, place } = self;
        let call_settings = catalog.position(&name).and_then(|position| call_settings.get_mut(position));
        let call = match setting {
            Setting::Trust(_) => "trust_tool",
            Setting::Limit(_) => "rate_limit_tool",
        };
        let reason = match (call_settings, setting) {
            (Some(CallSettings { trust: slot @ None, .. }), Setting::Trust(trust)) => {
                *slot = Some(trust);
                return None;
            }
            (Some(CallSettings { limit: slot @ None, .. }), Setting::Limit(limit)) => {
                *slot = Some(limit);
                return None;
            }
            (Some(_), _) => "is said twice of one tool; keep one of the two".to_owned(),
            (None, _) => match catalog.get(&name) {
                Err(error) => format!("concerns no tool: {error}"),
                Ok(_) => return None,
            },
        };
        Some(RegistrationProblem::Edit { call: format!(".{call}(\"{name}\", …)"), reason, place })
    }
}

/// The state that a tool needs and that is missing.
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
