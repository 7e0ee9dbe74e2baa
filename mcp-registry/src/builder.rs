//! What goes into a registry, under which names, and what must be there.

use std::any::{Any, type_name};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use mcp_core::{Extensions, NamePolicy, RegistrationError, RegistrationProblem, StateType, ToolEntry};

use crate::catalog::Catalog;
use crate::check::check_tool;
use crate::edit::{Change, Edit, edited};
use crate::link::{expected, package_key};
use crate::lint::LintPolicy;
use crate::made::Tool;
use crate::registry::Registry;
use crate::tool::{RegisteredTool, Source};

/// Puts a [`Registry`] together. Every problem is found by [`build`](Self::build), all at once.
#[must_use]
pub struct RegistryBuilder {
    sources: Vec<Source>,
    state: Extensions,
    state_twice: Vec<RegistrationProblem>,
    policy: NamePolicy,
    lint: LintPolicy,
    expected: Vec<Expectation>,
    edits: Vec<Edit>,
    select: Vec<Select>,
    allow_empty: bool,
}

type Select = Box<dyn Fn(&RegisteredTool) -> bool>;

/// How many tools a package must bring.
struct Expectation {
    package: String,
    count: usize,
    /// Whether the crate was named with `link_tools!`.
    named: bool,
    place: String,
}

impl RegistryBuilder {
    pub(crate) fn linked() -> Self {
        let named = expected().map(|it| Expectation {
            package: it.package.to_owned(),
            count: 1,
            named: true,
            place: format!("{}:{}", it.file, it.line),
        });
        Self { expected: named.collect(), ..Self::of(mcp_core::entries()) }
    }

    pub(crate) fn of(entries: impl IntoIterator<Item = &'static ToolEntry>) -> Self {
        Self {
            sources: entries.into_iter().map(Source::Linked).collect(),
            state: Extensions::default(),
            state_twice: Vec::new(),
            policy: NamePolicy::default(),
            lint: LintPolicy::default(),
            expected: Vec::new(),
            edits: Vec::new(),
            select: Vec::new(),
            allow_empty: false,
        }
    }

    /// Adds tools by name: `.tools(tools![my_crate::add])`. Such a reference holds where the linker drops what nobody
    /// names (wasm, static libraries), and does no harm beside the linked tools.
    pub fn tools(mut self, entries: impl IntoIterator<Item = &'static ToolEntry>) -> Self {
        self.sources.extend(entries.into_iter().map(Source::Linked));
        self
    }

    /// Adds a tool that is made at run time.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.sources.push(Source::Made(Arc::new(tool)));
        self
    }

    /// Gives the tools application state: `#[ctx] db: &Database`. There is one of each type.
    #[track_caller]
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        if self.state.has(StateType::of::<T>()) {
            let (state, place) = (type_name::<T>(), Location::caller().to_string());
            self.state_twice.push(RegistrationProblem::StateTwice { state, place });
        }
        self.state.insert(state);
        self
    }

    /// Says how names are published to hosts.
    pub fn names(mut self, policy: NamePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Says what the lint's errors do.
    pub fn lint(mut self, policy: LintPolicy) -> Self {
        self.lint = policy;
        self
    }

    /// Says how many tools each package brings at least. A package that is not linked, or only in part, is an error.
    #[track_caller]
    pub fn expect_tools<P: Into<String>>(mut self, packages: impl IntoIterator<Item = (P, usize)>) -> Self {
        let place = Location::caller().to_string();
        self.expected.extend(packages.into_iter().map(|(package, count)| {
            let (package, place) = (package.into(), place.clone());
            Expectation { package, count, named: false, place }
        }));
        self
    }

    /// Leaves a tool of a package out, by its name in the source. `"package@1.2.0"` means one version of the package.
    #[track_caller]
    pub fn exclude(self, package: impl Into<String>, name: impl Into<String>) -> Self {
        self.edit(package.into(), Change::Exclude { name: name.into() })
    }

    /// Gives a tool of a package, by its name in the source, another canonical name.
    #[track_caller]
    pub fn rename(self, package: impl Into<String>, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.edit(package.into(), Change::Rename { name: name.into(), to: to.into() })
    }

    /// Puts `prefix.` before the names and aliases of all tools of a package, after any renaming.
    #[track_caller]
    pub fn prefix(self, package: impl Into<String>, prefix: impl Into<String>) -> Self {
        self.edit(package.into(), Change::Prefix { prefix: prefix.into() })
    }

    /// Takes an alias from a tool of a package, by its name in the source.
    #[track_caller]
    pub fn drop_alias(self, package: impl Into<String>, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.edit(package.into(), Change::DropAlias { name: name.into(), alias: alias.into() })
    }

    #[track_caller]
    fn edit(mut self, package: String, change: Change) -> Self {
        self.edits.push(Edit { package, change, place: Location::caller().to_string() });
        self
    }

    /// Takes only the tools for which this is so. A tool that is not taken needs no state.
    pub fn select(mut self, select: impl Fn(&RegisteredTool) -> bool + 'static) -> Self {
        self.select.push(Box::new(select));
        self
    }

    /// Takes a registry without tools for granted, such as one that is filled at run time.
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }

    /// Builds the catalog alone, which needs no state.
    #[track_caller]
    pub fn catalog(self) -> Result<Catalog, RegistrationError> {
        let (catalog, _, problems) = self.assemble(Location::caller());
        RegistrationError::check(problems)?;
        Ok(catalog)
    }

    /// Builds the registry, or says everything that stands against it.
    #[track_caller]
    pub fn build(mut self) -> Result<Registry, RegistrationError> {
        let (lint, twice) = (self.lint, std::mem::take(&mut self.state_twice));
        let (catalog, state, mut problems) = self.assemble(Location::caller());
        problems.extend(twice);
        problems.extend(catalog.list_registered_tools().iter().flat_map(|tool| missing_state(tool, &state)));
        RegistrationError::check(problems)?;
        Ok(Registry::new(catalog, state, lint))
    }

    fn assemble(self, place: &Location<'_>) -> (Catalog, Extensions, Vec<RegistrationProblem>) {
        let mut problems = self.unlinked();
        let Self { sources, state, policy, lint, edits, select, allow_empty, .. } = self;
        let linked = sources.len();
        let named = edited(sources, &edits, &mut problems);
        let selected = |tool: &RegisteredTool| select.iter().all(|select| select(tool));
        let catalog = Catalog::build(named, policy, selected, &mut problems);
        problems.extend(catalog.list_registered_tools().iter().flat_map(check_tool));
        problems.extend(lint.problems(&catalog.lint_by(lint)));
        if catalog.is_empty() && !allow_empty && problems.is_empty() {
            problems.push(RegistrationProblem::Empty { linked, place: place.to_string() });
        }
        (catalog, state, problems)
    }

    /// The packages that brought fewer tools than they must.
    fn unlinked(&self) -> Vec<RegistrationProblem> {
        if self.expected.is_empty() {
            return Vec::new();
        }
        let mut found: HashMap<String, HashSet<*const ToolEntry>> = HashMap::new();
        for source in &self.sources {
            if let Source::Linked(entry) = source {
                found.entry(package_key(&entry.origin.package)).or_default().insert(*entry);
            }
        }
        let count = |package: &str| found.get(&package_key(package)).map_or(0, HashSet::len);
        let unmet = self.expected.iter().filter(|it| count(&it.package) < it.count);
        let mut unmet: Vec<&Expectation> = unmet.collect();
        unmet.sort_by(|a, b| (&a.package, &a.place).cmp(&(&b.package, &b.place)));
        let problem = |it: &Expectation| RegistrationProblem::Unlinked {
            package: it.package.clone(),
            expected: it.count,
            found: count(&it.package),
            named: it.named,
            place: it.place.clone(),
        };
        unmet.into_iter().map(problem).collect()
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.sources.iter().map(Source::name).collect();
        f.debug_struct("RegistryBuilder").field("tools", &names).field("state", &self.state).finish_non_exhaustive()
    }
}

/// The state that a tool needs and nobody gave.
fn missing_state(tool: &RegisteredTool, state: &Extensions) -> Vec<RegistrationProblem> {
    let needs = tool.needs().into_iter().filter(|need| !state.has(*need));
    let problem = |name| RegistrationProblem::State {
        tool: tool.name().to_owned(),
        state: name,
        origin: Box::new(tool.origin().clone()),
    };
    needs.map(|need| problem(need.name)).collect()
}
