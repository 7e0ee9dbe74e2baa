//! Assembles a catalog from definitions, overrides and expectations, or reports every problem at once.

use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;

use mcp_core::entry::ToolEntry;
use mcp_core::error::RegistrationProblem;
use mcp_core::support::inventory;
use mcp_core::{NamePolicy, RegistrationError};

use super::Catalog;
use super::check::check_tool;
use super::definition::Definition;
use super::link::{Expected, package_key};
use super::lint::Demands;
use super::overrides::{Override, apply};
use super::tool::RegisteredTool;

/// The inputs of a catalog.
#[derive(Default)]
pub(crate) struct Assembly {
    pub(crate) definitions: Vec<Arc<Definition>>,
    pub(crate) policy: NamePolicy,
    pub(crate) lint: Demands,
    pub(crate) overrides: Vec<Override>,
    pub(crate) select: Vec<Select>,
    pub(crate) expected: Vec<Expectation>,
    pub(crate) allow_empty: bool,
}

pub(crate) type Select = Box<dyn Fn(&RegisteredTool) -> bool>;

/// The minimum number of tools that a package must have.
pub(crate) struct Expectation {
    pub(crate) package: String,
    pub(crate) count: usize,
    /// Whether it comes from `link_tools!`.
    pub(crate) named: bool,
    pub(crate) place: String,
}

impl Assembly {
    /// The tools that are linked into this program, and those that `link_tools!` expects.
    pub(crate) fn linked() -> Self {
        let named = inventory::iter::<Expected>.into_iter().map(|expected| Expectation {
            package: expected.package.to_owned(),
            count: 1,
            named: true,
            place: format!("{}:{}", expected.file, expected.line),
        });
        Self { expected: named.collect(), ..Self::new(mcp_core::entry::entries()) }
    }

    /// Only the tools of these entries.
    pub(crate) fn new(entries: impl IntoIterator<Item = &'static ToolEntry>) -> Self {
        let definitions = entries.into_iter().map(|entry| Arc::new(entry.into())).collect();
        Self { definitions, ..Self::default() }
    }

    /// The catalog, or every problem. `place` is where the catalog is built, for errors.
    pub(crate) fn build(self, place: &Location<'_>) -> Result<Catalog, RegistrationError> {
        let (catalog, problems) = self.assemble(place);
        RegistrationError::check(problems)?;
        Ok(catalog)
    }

    /// The catalog as far as it can be assembled, and every problem.
    pub(crate) fn assemble(self, place: &Location<'_>) -> (Catalog, Vec<RegistrationProblem>) {
        let mut problems = self.unlinked();
        let Self { definitions, policy, lint, overrides, select, allow_empty, .. } = self;
        let linked = definitions.len();
        let named = apply(&overrides, definitions, &mut problems);
        let selected = |tool: &RegisteredTool| select.iter().all(|select| select(tool));
        let catalog = Catalog::build(named, policy, selected, &mut problems);
        problems.extend(catalog.list_registered_tools().iter().flat_map(check_tool));
        problems.extend(lint.problems(&catalog));
        if catalog.is_empty() && !allow_empty && problems.is_empty() {
            problems.push(RegistrationProblem::Empty { linked, place: place.to_string() });
        }
        (catalog, problems)
    }

    /// Packages with fewer tools than expected.
    fn unlinked(&self) -> Vec<RegistrationProblem> {
        if self.expected.is_empty() {
            return Vec::new();
        }
        let mut found: HashMap<String, HashSet<*const ToolEntry>> = HashMap::new();
        for entry in self.definitions.iter().filter_map(|definition| definition.entry()) {
            found.entry(package_key(&entry.origin.package)).or_default().insert(entry);
        }
        let count = |package: &str| found.get(&package_key(package)).map_or(0, HashSet::len);
        let unmet = self.expected.iter().filter(|it| count(&it.package) < it.count);
        // There are few: not worth the code of a sort.
        let mut in_order: Vec<&Expectation> = Vec::new();
        for it in unmet {
            let is_before = |known: &&Expectation| (&known.package, &known.place) <= (&it.package, &it.place);
            in_order.insert(in_order.partition_point(is_before), it);
        }
        let problem = |it: &Expectation| RegistrationProblem::Unlinked {
            package: it.package.clone(),
            expected: it.count,
            found: count(&it.package),
            named: it.named,
            place: it.place.clone(),
        };
        in_order.into_iter().map(problem).collect()
    }
}
