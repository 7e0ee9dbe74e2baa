//! What goes into a registry, under which names, and what must be there.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mcp_core::{
    Constraint, Extensions, NamePolicy, Param, RegistrationError, RegistrationProblem, ToolEntry, Version, schema,
};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::link::{expected, is_package};
use crate::lint::{LintPolicy, Severity};
use crate::registry::Registry;
use crate::tool::{RegisteredTool, Source, Tool};

/// Puts a [`Registry`] together. Every problem is found by [`build`](Self::build), all at once.
#[must_use]
pub struct RegistryBuilder {
    sources: Vec<Source>,
    state: Extensions,
    policy: NamePolicy,
    lint: LintPolicy,
    expected: Vec<(String, usize, Option<String>)>,
    edits: Vec<Edit>,
    select: Vec<Select>,
    allow_empty: bool,
}

type Select = Box<dyn Fn(&RegisteredTool) -> bool>;

/// A change to the tools of a package, before conflicts are looked for.
enum Edit {
    Exclude { package: String, name: String },
    Rename { package: String, name: String, to: String },
    Prefix { package: String, prefix: String },
}

impl RegistryBuilder {
    pub(crate) fn linked() -> Self {
        let named = expected().map(|it| (it.package.to_owned(), 1, Some(format!("{}:{}", it.file, it.line))));
        Self { expected: named.collect(), allow_empty: false, ..Self::of(mcp_core::entries()) }
    }

    pub(crate) fn of(entries: impl IntoIterator<Item = &'static ToolEntry>) -> Self {
        Self {
            sources: entries.into_iter().map(Source::Linked).collect(),
            state: Extensions::default(),
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

    /// Gives the tools application state: `#[ctx] db: &Database`.
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
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
    pub fn expect_tools<P: Into<String>>(mut self, packages: impl IntoIterator<Item = (P, usize)>) -> Self {
        self.expected.extend(packages.into_iter().map(|(package, count)| (package.into(), count, None)));
        self
    }

    /// Leaves a tool of a package out. `"package@1.2.0"` means one version of it.
    pub fn exclude(mut self, package: impl Into<String>, name: impl Into<String>) -> Self {
        self.edits.push(Edit::Exclude { package: package.into(), name: name.into() });
        self
    }

    /// Gives a tool of a package another canonical name. `"package@1.2.0"` means one version of it.
    pub fn rename(mut self, package: impl Into<String>, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.edits.push(Edit::Rename { package: package.into(), name: name.into(), to: to.into() });
        self
    }

    /// Puts `prefix.` before the names of all tools of a package. `"package@1.2.0"` means one version of it.
    pub fn prefix(mut self, package: impl Into<String>, prefix: impl Into<String>) -> Self {
        self.edits.push(Edit::Prefix { package: package.into(), prefix: prefix.into() });
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
    pub fn catalog(self) -> Result<Catalog, RegistrationError> {
        self.assemble(false).map(|(catalog, _)| catalog)
    }

    /// Builds the registry, or says everything that stands against it.
    pub fn build(self) -> Result<Registry, RegistrationError> {
        self.assemble(true).map(|(catalog, state)| Registry::new(catalog, state))
    }

    fn assemble(self, needs_state: bool) -> Result<(Catalog, Extensions), RegistrationError> {
        let mut problems = Vec::new();
        self.check_expected(&mut problems);
        let Self { sources, state, policy, lint, edits, select, allow_empty, .. } = self;
        let named = edited(sources, &edits, &mut problems);
        let selected = |tool: &RegisteredTool| select.iter().all(|select| select(tool));
        let catalog = Catalog::build(named, policy, selected, &mut problems);
        for tool in catalog.list_registered_tools() {
            problems.extend(check_tool(tool));
            if needs_state {
                problems.extend(missing_state(tool, &state));
            }
        }
        if lint == LintPolicy::Strict {
            let errors = catalog.lint().into_iter().filter(|finding| finding.severity == Severity::Error);
            problems.extend(errors.map(RegistrationProblem::from));
        }
        if catalog.is_empty() && !allow_empty && problems.is_empty() {
            problems.push(RegistrationProblem::Empty);
        }
        RegistrationError::check(problems)?;
        Ok((catalog, state))
    }

    /// Counts the tools of the packages that must bring some.
    fn check_expected(&self, problems: &mut Vec<RegistrationProblem>) {
        for (package, expected, place) in &self.expected {
            let mut found: Vec<&Source> = Vec::new();
            for source in self.sources.iter().filter(|source| is_package(&source.origin().package, package)) {
                if !found.iter().any(|known| known.is(source)) {
                    found.push(source);
                }
            }
            if found.len() < *expected {
                let (package, expected, found, place) = (package.clone(), *expected, found.len(), place.clone());
                problems.push(RegistrationProblem::Unlinked { package, expected, found, place });
            }
        }
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.sources.iter().map(Source::name).collect();
        f.debug_struct("RegistryBuilder").field("tools", &names).field("state", &self.state).finish_non_exhaustive()
    }
}

/// The tools with their final names. An edit that concerns none is a problem.
fn edited(sources: Vec<Source>, edits: &[Edit], problems: &mut Vec<RegistrationProblem>) -> Vec<(Source, String)> {
    let mut used = vec![false; edits.len()];
    let mut named = Vec::with_capacity(sources.len());
    'tools: for source in sources {
        let mut name = source.name().to_owned();
        for (edit, used) in edits.iter().zip(&mut used).filter(|(edit, _)| edit.concerns(&source)) {
            *used = true;
            match edit {
                Edit::Exclude { .. } => continue 'tools,
                Edit::Rename { to, .. } => name.clone_from(to),
                Edit::Prefix { prefix, .. } => name = format!("{prefix}.{name}"),
            }
        }
        named.push((source, name));
    }
    for (edit, _) in edits.iter().zip(used).filter(|(_, used)| !used) {
        problems.push(edit.unused());
    }
    named
}

impl Edit {
    fn concerns(&self, source: &Source) -> bool {
        let (package, name) = match self {
            Self::Exclude { package, name } | Self::Rename { package, name, .. } => (package, Some(name)),
            Self::Prefix { package, .. } => (package, None),
        };
        let origin = source.origin();
        let in_package = match package.split_once('@') {
            Some((package, version)) => is_package(&origin.package, package) && origin.package_version == version,
            None => is_package(&origin.package, package),
        };
        in_package && name.is_none_or(|name| name == source.name())
    }

    fn unused(&self) -> RegistrationProblem {
        let (call, reason) = match self {
            Self::Exclude { package, name } => {
                (format!(".exclude({package:?}, {name:?})"), format!("`{package}` has no tool `{name}`"))
            }
            Self::Rename { package, name, to } => {
                (format!(".rename({package:?}, {name:?}, {to:?})"), format!("`{package}` has no tool `{name}`"))
            }
            Self::Prefix { package, prefix } => {
                (format!(".prefix({package:?}, {prefix:?})"), format!("`{package}` has no tools"))
            }
        };
        RegistrationProblem::Edit { call, reason }
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

/// What is wrong with a tool by itself. Schemas are only made where there is something to check.
pub(crate) fn check_tool(tool: &RegisteredTool) -> Vec<RegistrationProblem> {
    let mut problems = Vec::new();
    let schema_problem = |which, reason: String| RegistrationProblem::Schema {
        tool: tool.name().to_owned(),
        which,
        reason,
        origin: Box::new(tool.origin().clone()),
    };
    let (written, flatten) = match tool.source() {
        Source::Linked(entry) => (entry.input_schema.is_some(), entry.flatten),
        Source::Made(_) => (true, false),
    };
    if written || flatten {
        problems.extend(input_fault(tool.input_schema()).map(|reason| schema_problem("input", reason)));
    }
    if let Source::Made(_) = tool.source() {
        // The attribute has checked the version of a linked tool.
        problems.extend(Version::parse(tool.version()).err().map(|error| RegistrationProblem::Version {
            tool: tool.name().to_owned(),
            error,
            origin: Box::new(tool.origin().clone()),
        }));
        let output = tool.output_schema().and_then(|schema| output_fault(schema));
        problems.extend(output.map(|reason| schema_problem("output", reason)));
    }
    for param in tool.params().iter().filter(|param| !param.constraints.is_empty() || param.default.is_some()) {
        problems.extend(param_fault(param).map(|reason| RegistrationProblem::Param {
            tool: tool.name().to_owned(),
            param: param.name.to_owned(),
            reason,
            origin: Box::new(tool.origin().clone()),
        }));
    }
    problems
}

/// Why hosts would refuse an input schema.
fn input_fault(schema: &Value) -> Option<String> {
    let object = schema.as_object();
    if object.is_none_or(serde_json::Map::is_empty) {
        return Some("is empty; write an object schema, or leave it to the signature".to_owned());
    }
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Some(
            "does not have `\"type\": \"object\"` at its root, which every host asks for; take a struct".to_owned(),
        );
    }
    ["oneOf", "anyOf", "allOf"].iter().find(|key| schema.get(key).is_some()).and_then(|key| {
        // 2020-12 allows it beside `properties`; a union instead of them is what hosts refuse.
        let union = schema
            .get("properties")
            .is_none_or(|properties| properties.as_object().is_none_or(serde_json::Map::is_empty));
        union.then(|| format!("has `{key}` at its root, which hosts refuse; put the enum into a field of a struct"))
    })
}

fn output_fault(schema: &Value) -> Option<String> {
    (!schema.is_object()).then(|| "is not an object; write a JSON Schema".to_owned())
}

/// Why a parameter cannot be as it says.
fn param_fault(param: &Param) -> Option<String> {
    let schema = schema::lone_param_schema(param);
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for constraint in param.constraints {
        let (key, fitting) = kind_of(constraint);
        if !kinds.is_empty() && !kinds.iter().any(|kind| fitting.contains(kind)) {
            return Some(format!("has `{key}`, which does not fit its type ({}); remove it", kinds.join(" or ")));
        }
    }
    let default = (param.default?)();
    if default.is_null() && !(param.accepts_absent)() {
        return Some("has a default that cannot become JSON; use another".to_owned());
    }
    let broken = param.constraints.iter().find(|constraint| breaks(&default, constraint))?;
    Some(format!("has the default {default}, which breaks its own `{}`; change one of them", kind_of(broken).0))
}

/// The key of a constraint, and the types that it fits.
fn kind_of(constraint: &Constraint) -> (&'static str, &'static [&'static str]) {
    match constraint {
        Constraint::Min(_) => ("min", &["integer", "number"]),
        Constraint::Max(_) => ("max", &["integer", "number"]),
        Constraint::MinItems(_) => ("min_items", &["array"]),
        Constraint::MaxItems(_) => ("max_items", &["array"]),
        Constraint::MinLength(_) => ("min_length", &["string"]),
        Constraint::MaxLength(_) => ("max_length", &["string"]),
        Constraint::Pattern(_) => ("pattern", &["string"]),
        Constraint::Format(_) => ("format", &["string"]),
        _ => ("one_of", &["string"]),
    }
}

/// Whether a value breaks a constraint.
#[allow(clippy::cast_precision_loss, reason = "a bound beyond 2^53 is compared as a float")]
fn breaks(value: &Value, constraint: &Constraint) -> bool {
    let number = |bound: &mcp_core::Bound| match bound {
        mcp_core::Bound::Int(bound) => *bound as f64,
        mcp_core::Bound::Float(bound) => *bound,
    };
    let length = value.as_str().map(|text| text.chars().count() as u64);
    let items = value.as_array().map(|items| items.len() as u64);
    match constraint {
        Constraint::Min(bound) => value.as_f64().is_some_and(|value| value < number(bound)),
        Constraint::Max(bound) => value.as_f64().is_some_and(|value| value > number(bound)),
        Constraint::MinLength(bound) => length.is_some_and(|length| length < *bound),
        Constraint::MaxLength(bound) => length.is_some_and(|length| length > *bound),
        Constraint::MinItems(bound) => items.is_some_and(|items| items < *bound),
        Constraint::MaxItems(bound) => items.is_some_and(|items| items > *bound),
        Constraint::OneOf(values) => value.as_str().is_some_and(|text| !values.contains(&text)),
        _ => false,
    }
}
