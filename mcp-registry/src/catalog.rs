//! Entries → a sorted, indexed list of tools in which every name means one tool.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use mcp_core::{
    Conflict, Error, NamePolicy, Origin, RegistrationError, RegistrationProblem, ToolEntry, ToolName, ToolNotFoundError,
};

use crate::builder::RegistryBuilder;
use crate::index::Index;
use crate::lint::{self, Finding};
use crate::tool::{RegisteredTool, Source, ToolSchema};

/// Every tool, sorted by name and free of conflicts: lists, schemas, lint. It needs no state and calls nothing.
#[derive(Clone, Debug)]
pub struct Catalog {
    tools: Arc<[RegisteredTool]>,
    index: Arc<Index>,
    policy: NamePolicy,
}

impl Catalog {
    /// The tools that are linked into this program.
    pub fn linked() -> Result<Self, RegistrationError> {
        RegistryBuilder::linked().catalog()
    }

    /// The tools of these entries, and no others.
    pub fn from_entries(entries: impl IntoIterator<Item = &'static ToolEntry>) -> Result<Self, RegistrationError> {
        RegistryBuilder::of(entries).allow_empty().catalog()
    }

    /// Every tool, sorted by name; in the same order always.
    pub fn list_registered_tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    /// The input schema of a tool, by its canonical name, its name on the wire, or an alias.
    pub fn get_tool_schema(&self, name: &str) -> Result<ToolSchema, ToolNotFoundError> {
        self.get(name).map(|tool| tool.input_schema().clone())
    }

    /// A tool, by its canonical name, its name on the wire, or an alias.
    pub fn get(&self, name: &str) -> Result<&RegisteredTool, ToolNotFoundError> {
        self.find(name).ok_or_else(|| ToolNotFoundError { name: name.to_owned(), did_you_mean: self.nearest(name) })
    }

    /// A tool by its name, or none.
    pub fn find(&self, name: &str) -> Option<&RegisteredTool> {
        let position = self.index.get(name, |position| self.tools[position as usize].answers_to(name))?;
        Some(&self.tools[position as usize])
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How names are published.
    pub fn policy(&self) -> NamePolicy {
        self.policy
    }

    /// What a host or a model could stumble over.
    pub fn lint(&self) -> Vec<Finding> {
        lint::lint(self)
    }

    pub(crate) fn shared_tools(&self) -> Arc<[RegisteredTool]> {
        Arc::clone(&self.tools)
    }

    /// The names that are nearest to one that does not exist.
    fn nearest(&self, name: &str) -> Vec<String> {
        let near = |tool: &RegisteredTool| {
            let score = |known: &str| strsim::jaro_winkler(known, name);
            (
                score(tool.name()).max(score(tool.wire_name())).max(score(tool.tool_name().last_segment())),
                tool.name().to_owned(),
            )
        };
        // Names are short; whoever sends more does not mistype.
        if name.len() > 2 * mcp_core::MAX_NAME_LENGTH {
            return Vec::new();
        }
        let mut scored: Vec<(f64, String)> =
            self.tools.iter().filter(|tool| !tool.is_hidden()).map(near).filter(|(score, _)| *score > 0.85).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// Sorts, checks and indexes tools that have their final names.
    pub(crate) fn build(
        sources: impl IntoIterator<Item = (Source, String)>,
        policy: NamePolicy,
        select: impl Fn(&RegisteredTool) -> bool,
        problems: &mut Vec<RegistrationProblem>,
    ) -> Self {
        let mut tools = Vec::new();
        for (source, name) in sources {
            let named = ToolName::try_from(name).and_then(|name| RegisteredTool::new(source.clone(), name, policy));
            match named {
                Ok(tool) if select(&tool) => tools.push(tool),
                Ok(_) => {}
                Err(error) => {
                    let origin = Box::new(source.origin().clone());
                    problems.push(RegistrationProblem::Name { error, origin });
                }
            }
        }
        Self::of_tools(tools, policy, problems)
    }

    /// Sorts, checks and indexes tools.
    pub(crate) fn of_tools(
        mut tools: Vec<RegisteredTool>,
        policy: NamePolicy,
        problems: &mut Vec<RegistrationProblem>,
    ) -> Self {
        // The origin too: which of two comes first must not depend on the linker.
        tools.sort_unstable_by(|one, other| one.name().cmp(other.name()).then_with(|| place(one).cmp(&place(other))));
        tools.dedup_by(|one, other| is_same(one, other));
        let index = index(&tools, problems);
        Self { tools: tools.into(), index: Arc::new(index), policy }
    }
}

/// Where a tool is defined, for sorting and comparing.
fn place(tool: &RegisteredTool) -> (&str, &str, &str, &str, &str, u32) {
    let Origin { package, package_version, module_path, function, file, line } = tool.origin();
    (package, package_version, module_path, function, file, *line)
}

/// Whether the two are one tool, reached twice.
pub(crate) fn is_same(one: &RegisteredTool, other: &RegisteredTool) -> bool {
    one.name() == other.name()
        && (one.source().is(other.source()) || (place(one) == place(other) && one.has_schemas_of(other)))
}

/// Every name by which a tool can be called → the tool. Two tools that meet in a name are a conflict.
fn index(tools: &[RegisteredTool], problems: &mut Vec<RegistrationProblem>) -> Index {
    let names = |tool: &RegisteredTool| 2 + tool.aliases().len();
    let mut index = Index::with_room(tools.iter().map(names).sum());
    let mut met = HashSet::new();
    let mut add = |name: &str, position: u32| match index.get(name, |known| tools[known as usize].answers_to(name)) {
        None => index.insert(name, position),
        Some(known) if known != position => {
            let (first, second) = (position.min(known), position.max(known));
            if met.insert((first, second)) {
                problems.push(conflict(name, &tools[first as usize], &tools[second as usize]).into());
            }
        }
        Some(_) => {}
    };
    // Canonical names first, so that a conflict is told by the strongest name.
    let positions = || (0_u32..).zip(tools);
    for (position, tool) in positions() {
        add(tool.name(), position);
    }
    for (position, tool) in positions() {
        add(tool.wire_name(), position);
    }
    for (position, tool) in positions() {
        tool.aliases().into_iter().for_each(|alias| add(alias, position));
    }
    index
}

fn conflict(name: &str, one: &RegisteredTool, other: &RegisteredTool) -> Conflict {
    let places = Box::new([one.origin().clone(), other.origin().clone()]);
    if one.name() != other.name() {
        let names = [one.name().to_owned(), other.name().to_owned()];
        return Conflict::WireName { wire: name.to_owned(), names, places };
    }
    let name = name.to_owned();
    if one.has_schemas_of(other) { Conflict::Duplicate { name, places } } else { Conflict::Schema { name, places } }
}

/// The catalog of the whole process, built once.
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
