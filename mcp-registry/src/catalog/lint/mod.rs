//! The lint: finds what some hosts reject, and what confuses models.

mod rules;
mod schemas;

use std::fmt;

use mcp_core::NamePolicy;
use mcp_core::entry::Hints;
use mcp_core::error::{Origin, RegistrationProblem};
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

#[cfg(feature = "cli")]
pub(crate) use self::rules::hosts;
use self::rules::{Level, RULES};
use crate::catalog::Catalog;
use crate::catalog::tool::RegisteredTool;
use crate::util::canonical;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Some clients need a special setting, or the tool has nothing that could be described.
    Note,
    /// Some hosts or models do not work well with the tool.
    Warning,
    /// Some hosts reject the tool or lose all tools of the server, or a model cannot use it.
    Error,
}

/// What happens to lint errors when a registry is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LintPolicy {
    /// Nothing; [`Catalog::lint`](crate::catalog::Catalog::lint) reports them.
    #[default]
    Quiet,
    /// They are registration errors, and so is a missing output schema. A tool that returns `()` or content has no
    /// output schema, and needs `allow("missing-output-schema")`.
    Strict,
}

/// The schema that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Side {
    /// The schema of the arguments.
    Input,
    /// The schema of the result.
    Output,
}

/// A finding of the lint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The tool's canonical name; empty if the finding is about several tools.
    pub tool: String,
    /// The schema that it is about, if it is about one.
    pub side: Option<Side>,
    /// The place in that schema, as a JSON Pointer; empty for the whole schema.
    pub pointer: String,
    /// What is wrong, why that matters, and what to do.
    pub message: String,
    /// The hosts that are affected; every host if the list is empty.
    pub hosts: &'static [&'static str],
    /// Where the tool is defined.
    pub origin: Option<Origin>,
}

impl Finding {
    /// Returns whether a host, such as `gemini`, is affected.
    pub fn affects(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.contains(&host)
    }

    /// An identifier of the finding that stays the same as long as its tool, rule, side and pointer do.
    pub fn fingerprint(&self) -> String {
        let facts = serde_json::json!([self.tool, self.rule, self.side.map(Side::as_str), self.pointer]);
        canonical::digest(&facts.to_string())["sha256:".len()..][..16].to_owned()
    }
}

impl Severity {
    /// The name: `note`, `warning` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl Side {
    /// The name: `input` or `output`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.as_str(), self.rule, self.message)?;
        self.origin.as_ref().map_or(Ok(()), |origin| write!(f, "\n    at {origin}"))
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = self.origin.as_ref().map(|Origin { file, line, .. }| format!("{file}:{line}"));
        let mut finding = serializer.serialize_struct("Finding", 9)?;
        finding.serialize_field("rule", self.rule)?;
        finding.serialize_field("severity", self.severity.as_str())?;
        finding.serialize_field("tool", &self.tool)?;
        finding.serialize_field("side", &self.side.map(Side::as_str))?;
        finding.serialize_field("pointer", &self.pointer)?;
        finding.serialize_field("message", &self.message)?;
        finding.serialize_field("hosts", self.hosts)?;
        finding.serialize_field("source", &source)?;
        finding.serialize_field("fingerprint", &self.fingerprint())?;
        finding.end()
    }
}

/// Which findings prevent a registry from being built.
#[derive(Clone, Copy, Default)]
pub(crate) struct Demands {
    pub(crate) policy: LintPolicy,
    /// Whether every tool needs an output schema, as under the strict policy.
    pub(crate) output_schemas: bool,
}

impl Demands {
    /// The findings that prevent a registry from being built.
    pub(crate) fn problems(self, catalog: &Catalog) -> Vec<RegistrationProblem> {
        let findings = match self {
            Self { policy: LintPolicy::Strict, .. } => catalog.lint(),
            Self { output_schemas: true, .. } => {
                let mut findings = Vec::new();
                for tool in catalog.list_registered_tools() {
                    output_schema(tool, &mut ToolFindings { tool, findings: &mut findings });
                }
                findings
            }
            _ => return Vec::new(),
        };
        let is_error =
            |finding: &Finding| finding.severity == Severity::Error || finding.rule == "missing-output-schema";
        let problem = |Finding { rule, message, origin, .. }: Finding| {
            Some(RegistrationProblem::Lint { rule, message, origin: Box::new(origin?) })
        };
        findings.into_iter().filter(is_error).filter_map(problem).collect()
    }
}

/// The maximum length of a name that leaves room for the prefixes of hosts.
const GOOD_NAME_LENGTH: usize = 40;
/// The smallest limit that a host has on the number of tools.
const MAX_TOOLS: usize = 128;

/// The maximum number of tools that one finding names.
const NAMED_TOOLS: usize = 3;

pub(crate) fn lint(catalog: &Catalog) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed: Vec<&RegisteredTool> =
        catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).collect();
    if listed.len() > MAX_TOOLS {
        findings.extend(Draft::new("too-many-tools", format!("{} tools are listed", listed.len())).finish(None));
    }
    for tool in catalog.list_registered_tools() {
        let mut found = ToolFindings { tool, findings: &mut findings };
        // Hosts and models do not see hidden tools, but programs can call them.
        let is_seen = !tool.is_hidden();
        if is_seen {
            names(tool, catalog.policy(), &mut found);
            descriptions(tool, &mut found);
        }
        output_schema(tool, &mut found);
        schemas::slow_union(tool, &mut found);
        if is_seen {
            schemas::lint(tool, &mut found);
        }
        unknown_rules(tool, &mut found);
    }
    let mut note = |rule, what, breaks: fn(&RegisteredTool) -> bool| {
        let tools = tools_that_break(&listed, rule, breaks);
        let draft = tools.map(|tools| Draft::new(rule, format!("{what} the input of {tools}")).at(Side::Input, ""));
        findings.extend(draft.and_then(|draft| draft.finish(None)));
    };
    note("closed-arguments", "unknown members are refused in", schemas::is_closed);
    note("optional-arguments", "some arguments can be left out of", schemas::has_options);
    findings
}

/// The tools that break a rule, as text: the first few, and the number of others.
fn tools_that_break(
    listed: &[&RegisteredTool],
    rule: &'static str,
    breaks: impl Fn(&RegisteredTool) -> bool,
) -> Option<String> {
    let breaks_rule = |tool: &&&RegisteredTool| !tool.allows(rule) && breaks(tool);
    let broken_by: Vec<&str> = listed.iter().filter(breaks_rule).map(|tool| tool.name()).collect();
    if broken_by.is_empty() {
        return None;
    }
    if broken_by.len() == listed.len() && listed.len() > NAMED_TOOLS {
        return Some(format!("all {} tools", listed.len()));
    }
    let named = broken_by.iter().take(NAMED_TOOLS).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = broken_by.len().saturating_sub(NAMED_TOOLS);
    Some(if more == 0 { named } else { format!("{named} and {more} more tools") })
}

/// A finding in the making. What it does not say is as the table of rules says.
struct Draft {
    rule: &'static str,
    /// What is wrong, without the tool, the reason and what to do.
    what: String,
    side: Option<Side>,
    pointer: String,
    severity: Severity,
    hosts: Option<&'static [&'static str]>,
    why: Option<&'static str>,
    fix: Option<String>,
}

impl Draft {
    fn new(rule: &'static str, what: impl Into<String>) -> Self {
        let (what, pointer, severity) = (what.into(), String::new(), Severity::Warning);
        Self { rule, what, side: None, pointer, severity, hosts: None, why: None, fix: None }
    }

    /// Sets the place, which `what` names.
    fn at(mut self, side: Side, pointer: impl Into<String>) -> Self {
        (self.side, self.pointer) = (Some(side), pointer.into());
        self
    }

    /// Sets the place, and adds it to `what`.
    fn within(mut self, side: Side, pointer: impl Into<String>) -> Self {
        let (name, pointer) = (side.as_str(), pointer.into());
        self.what = match pointer.as_str() {
            "" => format!("{} at the root of its {name}", self.what),
            pointer => format!("{} in its {name} at `{pointer}`", self.what),
        };
        self.at(side, pointer)
    }

    /// Sets the severity, for a rule that has several (default: a warning).
    fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the hosts that are affected, if they are not those of the rule.
    fn hosts(mut self, hosts: &'static [&'static str]) -> Self {
        self.hosts = Some(hosts);
        self
    }

    fn why(mut self, why: &'static str) -> Self {
        self.why = Some(why);
        self
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The finding on a tool, or on several.
    fn finish(self, tool: Option<&RegisteredTool>) -> Option<Finding> {
        let row = rules::find(self.rule);
        debug_assert!(row.is_some(), "{} is not in the table", self.rule);
        let row = row?;
        let severity = match row.level {
            Level::Always(severity) => severity,
            Level::Depends(_) => self.severity,
        };
        let name = tool.map_or("", RegisteredTool::name);
        let subject = if name.is_empty() { String::new() } else { format!("`{name}` ") };
        let why = self.why.unwrap_or(row.why);
        let message = format!("{subject}{}: {why}; {}", self.what, self.fix.as_deref().unwrap_or(row.fix));
        Some(Finding {
            rule: row.id,
            severity,
            tool: name.to_owned(),
            side: self.side,
            pointer: self.pointer,
            message,
            hosts: self.hosts.unwrap_or(row.hosts),
            origin: tool.map(|tool| tool.origin().clone()),
        })
    }
}

/// Collects the findings on one tool, except those of rules that it is allowed to break.
struct ToolFindings<'a> {
    tool: &'a RegisteredTool,
    findings: &'a mut Vec<Finding>,
}

impl ToolFindings<'_> {
    fn add(&mut self, draft: Draft) {
        if !self.tool.allows(draft.rule) {
            self.findings.extend(draft.finish(Some(self.tool)));
        }
    }
}

fn names(tool: &RegisteredTool, policy: NamePolicy, found: &mut ToolFindings<'_>) {
    let wire = tool.wire_name();
    if wire.len() > GOOD_NAME_LENGTH {
        found.add(Draft::new("name-length", format!("is published as `{wire}`, {} characters", wire.len())));
    }
    if wire.contains('.') && policy == NamePolicy::Dotted {
        found.add(Draft::new("dotted-name", format!("is published as `{wire}`")));
    }
    let starts_well = wire.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_well || wire.contains("__") || (wire.contains('-') && policy != NamePolicy::Dotted) {
        found.add(Draft::new("name-characters", format!("is published as `{wire}`")));
    }
    if !tool.tool_name().is_strict() {
        found.add(Draft::new("name-form", "has a name of another form than `module.tool`"));
    }
}

fn descriptions(tool: &RegisteredTool, found: &mut ToolFindings<'_>) {
    let entry = tool.definition().entry();
    // A tool that is created at run time has no attribute, no doc comments and no return type.
    let at_run_time = |draft: Draft, fix: &str| if entry.is_none() { draft.fix(fix) } else { draft };
    if tool.description().trim().is_empty() {
        found.add(at_run_time(Draft::new("missing-description", "has no description"), "set `description`"));
    }
    if tool.title().is_none() {
        found.add(at_run_time(Draft::new("missing-title", "has no `title`"), "set `title`"));
    }
    let Hints { read_only, destructive, .. } = tool.hints();
    if read_only.is_none() && destructive.is_none() {
        let draft = Draft::new("missing-effect-hints", "does not say whether it changes anything");
        found.add(at_run_time(draft, "set `read_only` or `destructive` in `hints`"));
    }
}

fn output_schema(tool: &RegisteredTool, found: &mut ToolFindings<'_>) {
    if tool.output_schema().is_none() {
        let draft = Draft::new("missing-output-schema", "has no output schema").at(Side::Output, "");
        found.add(match tool.definition().entry() {
            None => draft.fix("set `output_schema`, or `allow` this if the tool returns no data"),
            Some(entry) if entry.returns_data() => {
                draft.fix("return a type with `JsonSchema` instead of `Json` or `ToolResult`, or write `output_schema`")
            }
            Some(_) => draft
                .severity(Severity::Note)
                .why("it returns content or nothing, which no schema describes")
                .fix("`allow` this if it is intended"),
        });
    }
}

fn unknown_rules(tool: &RegisteredTool, found: &mut ToolFindings<'_>) {
    let allowed = tool.definition().allow.iter().map(AsRef::<str>::as_ref);
    let unknown: Vec<String> =
        allowed.filter(|rule| rules::find(rule).is_none()).map(|rule| format!("`{rule}`")).collect();
    if !unknown.is_empty() {
        let known: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        let draft = Draft::new("unknown-rule", format!("allows {}", unknown.join(", ")));
        found.add(draft.fix(format!("the rules are {}", known.join(", "))));
    }
}
