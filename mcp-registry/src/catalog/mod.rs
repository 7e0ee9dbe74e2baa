//! The catalog: a sorted, indexed list of tools, in which a name refers to one tool.

pub(crate) mod assemble;
pub(crate) mod check;
pub(crate) mod definition;
pub(crate) mod dynamic;
#[cfg(feature = "http")]
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod link;
pub mod lint;
pub(crate) mod notices;
pub(crate) mod overrides;
pub(crate) mod tool;

use std::collections::{BTreeSet, HashSet};
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use mcp_core::entry::ToolEntry;
use mcp_core::error::{Conflict, RegistrationProblem, ToolNotFoundError};
use mcp_core::name::MAX_NAME_LENGTH;
use mcp_core::{Error, NamePolicy, RegistrationError, support::nearest};

use crate::catalog::assemble::Assembly;
pub use crate::catalog::dynamic::{IntoToolResult, Tool};
use crate::catalog::index::Index;
use crate::catalog::lint::Finding;
use crate::catalog::tool::NamedDefinition;
pub use crate::catalog::tool::{RegisteredTool, ToolSchema};

/// Every tool, sorted by name and without conflicts: lists, schemas and lint. It needs no state and cannot call tools.
#[derive(Clone, Debug)]
pub struct Catalog {
    tools: Arc<[RegisteredTool]>,
    index: Arc<Index>,
    policy: NamePolicy,
    /// The digest of the contract, computed on first use.
    pub(crate) contract_digest: Arc<OnceLock<String>>,
}

impl Catalog {
    /// The tools that are linked into this program.
    #[track_caller]
    pub fn linked() -> Result<Self, RegistrationError> {
        Assembly::linked().build(Location::caller())
    }

    /// Only the tools of these entries.
    #[track_caller]
    pub fn from_entries(entries: impl IntoIterator<Item = &'static ToolEntry>) -> Result<Self, RegistrationError> {
        Assembly { allow_empty: true, ..Assembly::new(entries) }.build(Location::caller())
    }

    /// Every tool, sorted by name.
    pub fn list_registered_tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    /// The input schema of a tool, by its canonical name, its name on the wire, or an alias.
    pub fn get_tool_schema(&self, name: &str) -> Result<ToolSchema, ToolNotFoundError> {
        self.get(name).map(|tool| tool.input_schema().clone())
    }

    /// A tool, by its canonical name, its name on the wire, or an alias.
    pub fn get(&self, name: &str) -> Result<&RegisteredTool, ToolNotFoundError> {
        self.find(name).ok_or_else(|| self.not_found(name))
    }

    /// The error for an unknown name, with the most similar names.
    pub(crate) fn not_found(&self, name: &str) -> ToolNotFoundError {
        ToolNotFoundError::new(name, self.nearest(name))
    }

    /// A tool by any of its names, or `None`.
    pub fn find(&self, name: &str) -> Option<&RegisteredTool> {
        Some(&self.tools[self.position(name)?])
    }

    /// The position of a tool in the list, by any of its names.
    #[inline]
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name, |position| self.tools[position].answers_to(name))
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How tool names appear on the wire.
    pub fn policy(&self) -> NamePolicy {
        self.policy
    }

    #[doc = include_str!("lint/rules.md")]
    pub fn lint(&self) -> Vec<Finding> {
        lint::lint(self)
    }

    pub(crate) fn shared_tools(&self) -> Arc<[RegisteredTool]> {
        Arc::clone(&self.tools)
    }

    /// The names that are most similar to an unknown one.
    fn nearest(&self, name: &str) -> Vec<String> {
        // No tool can have a name this long, so it is not a typo.
        if name.len() > MAX_NAME_LENGTH {
            return Vec::new();
        }
        let listed = self.tools.iter().filter(|tool| !tool.is_hidden());
        let known = listed.flat_map(|tool| {
            let names = tool.names().chain([tool.tool_name().last_segment()]);
            names.map(|known| (known, tool.name()))
        });
        let mut seen = HashSet::new();
        let nearest = nearest(name, known).into_iter().filter(|name| seen.insert(*name));
        nearest.take(3).map(ToOwned::to_owned).collect()
    }

    /// Sorts, checks and indexes tools that have their final names.
    pub(crate) fn build(
        mut named: Vec<NamedDefinition>,
        policy: NamePolicy,
        select: impl Fn(&RegisteredTool) -> bool,
        problems: &mut Vec<RegistrationProblem>,
    ) -> Self {
        // The order of problems must not depend on the linker.
        named.sort_unstable_by(|one, other| {
            one.name.cmp(&other.name).then_with(|| one.definition.origin.cmp(&other.definition.origin))
        });
        let mut tools = Vec::with_capacity(named.len());
        for named in named {
            let definition = Arc::clone(&named.definition);
            match RegisteredTool::new(named, policy) {
                Ok(tool) if select(&tool) => tools.push(tool),
                Ok(_) => {}
                Err(error) => {
                    let origin = Box::new(definition.origin.clone());
                    problems.push(RegistrationProblem::Name { error, origin });
                }
            }
        }
        Self::from_sorted(tools, policy, problems)
    }

    /// Checks and indexes tools that are sorted by name.
    fn from_sorted(
        mut tools: Vec<RegisteredTool>,
        policy: NamePolicy,
        problems: &mut Vec<RegistrationProblem>,
    ) -> Self {
        tools.dedup_by(|one, other| is_same(one, other));
        let index = index(&tools, problems);
        Self { tools: tools.into(), index: Arc::new(index), policy, contract_digest: Arc::default() }
    }

    /// The catalog with one more tool, or every conflict. Adding the same tool again changes nothing.
    pub(crate) fn with_tool(&self, tool: &RegisteredTool) -> Result<Self, Vec<RegistrationProblem>> {
        let position = self.tools.partition_point(|known| known.name() < tool.name());
        if self.tools.get(position).is_some_and(|known| is_same(known, tool)) {
            return Ok(self.clone());
        }
        let mut conflicts = Vec::new();
        let mut names: Vec<&str> = tool.names().collect();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            if let Some(known) = self.find(name).filter(|known| is_new_conflict(name, known, tool)) {
                conflicts.push(conflict(name, known, tool).into());
            }
        }
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        let mut tools = self.tools.to_vec();
        tools.insert(position, tool.clone());
        let (index, contract_digest) = (Arc::new(self.index.with(&names, position)), Arc::default());
        Ok(Self { tools: tools.into(), index, policy: self.policy, contract_digest })
    }

    /// The catalog with some of its tools.
    pub(crate) fn filtered(&self, keep: impl Fn(&RegisteredTool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|tool| keep(tool)).cloned().collect();
        // A subset of a catalog has no conflicts.
        Self::from_sorted(tools, self.policy, &mut Vec::new())
    }
}

/// Whether the two are the same tool, linked or registered twice.
fn is_same(one: &RegisteredTool, other: &RegisteredTool) -> bool {
    let is_same_function =
        || !one.origin().is_run_time() && one.origin() == other.origin() && one.has_schemas_of(other);
    one.name() == other.name() && (one.definition().is_same_as(other.definition()) || is_same_function())
}

/// Indexes every name by which a tool can be called. A name that two tools share is a conflict.
fn index(tools: &[RegisteredTool], problems: &mut Vec<RegistrationProblem>) -> Index {
    let mut index = Index::with_capacity(tools.iter().map(|tool| tool.names().count()).sum());
    let mut contested = BTreeSet::new();
    for (position, tool) in tools.iter().enumerate() {
        for name in tool.names() {
            match index.get(name, |known| tools[known].answers_to(name)) {
                None => index.insert(name, position),
                Some(known) if known != position => _ = contested.insert(name),
                Some(_) => {}
            }
        }
    }
    for name in contested {
        let owners: Vec<&RegisteredTool> = tools.iter().filter(|tool| tool.answers_to(name)).collect();
        for (position, one) in owners.iter().enumerate() {
            let others = owners[position + 1..].iter().filter(|other| is_new_conflict(name, one, other));
            problems.extend(others.map(|other| conflict(name, one, other).into()));
        }
    }
    index
}

/// Whether to report a shared name. Tools that share a canonical name also share its wire name, which is not reported
/// separately.
fn is_new_conflict(name: &str, one: &RegisteredTool, other: &RegisteredTool) -> bool {
    let is_explained = |one: &RegisteredTool, other: &RegisteredTool| {
        let mut pairs = one.canonical_and_wire_names().filter(|pair| pair.contains(&name));
        pairs.all(|[canonical, _]| canonical != name && other.answers_to(canonical))
    };
    !(is_explained(one, other) && is_explained(other, one))
}

fn conflict(name: &str, one: &RegisteredTool, other: &RegisteredTool) -> Conflict {
    let tools = Box::new([one.contender(name), other.contender(name)]);
    let name = name.to_owned();
    if one.name() != other.name() || name != one.name() {
        Conflict::WireName { wire: name, tools }
    } else if one.has_schemas_of(other) {
        Conflict::Duplicate { name, tools }
    } else {
        Conflict::Schema { name, tools }
    }
}

/// The catalog of the process, built once.
fn process() -> Result<&'static Catalog, RegistrationError> {
    static PROCESS: OnceLock<Result<Catalog, RegistrationError>> = OnceLock::new();
    PROCESS.get_or_init(Catalog::linked).as_ref().map_err(Clone::clone)
}

/// Every tool that is linked into this program, sorted by name.
pub fn list_registered_tools() -> Result<&'static [RegisteredTool], RegistrationError> {
    process().map(Catalog::list_registered_tools)
}

/// The input schema of a tool that is linked into this program.
pub fn get_tool_schema(name: &str) -> Result<ToolSchema, Error> {
    Ok(process()?.get_tool_schema(name)?)
}
