//! The lint: finds what some hosts reject, and what confuses models.

mod schemas;

use std::fmt;

use mcp_core::NamePolicy;
use mcp_core::entry::Hints;
use mcp_core::error::{Origin, RegistrationProblem};

use crate::catalog::Catalog;
use crate::catalog::tool::RegisteredTool;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Some clients need a special setting. This affects most tools, and is reported once for all of them.
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
    /// What is wrong, and what to do.
    pub message: String,
    /// Where the tool is defined.
    pub origin: Option<Origin>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}[{}]: {}", self.rule, self.message)?;
        self.origin.as_ref().map_or(Ok(()), |origin| write!(f, "\n    at {origin}"))
    }
}

impl LintPolicy {
    /// The findings that prevent a registry from being built.
    pub(crate) fn problems(self, catalog: &Catalog) -> Vec<RegistrationProblem> {
        if self == Self::Quiet {
            return Vec::new();
        }
        let is_error =
            |finding: &Finding| finding.severity == Severity::Error || finding.rule == "missing-output-schema";
        let problem = |Finding { rule, message, origin, .. }: Finding| {
            Some(RegistrationProblem::Lint { rule, message, origin: Box::new(origin?) })
        };
        catalog.lint().into_iter().filter(is_error).filter_map(problem).collect()
    }
}

/// The rules, for `allow("…")`.
const RULES: [&str; 26] = [
    "missing-description",
    "missing-parameter-description",
    "missing-effect-hints",
    "missing-title",
    "missing-output-schema",
    "missing-properties",
    "name-length",
    "name-characters",
    "name-form",
    "dotted-name",
    "root-union",
    "schema-size",
    "schema-references",
    "null-type",
    "any-value",
    "map",
    "one-of",
    "tuple",
    "bytes",
    "wide-integer-id",
    "unknown-format",
    "slow-union",
    "closed-arguments",
    "optional-arguments",
    "unknown-rule",
    "too-many-tools",
];

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
    let finding = |rule: &'static str, severity: Severity, message: String| {
        let (tool, origin) = (String::new(), None);
        Finding { rule, severity, tool, message, origin }
    };
    if listed.len() > MAX_TOOLS {
        let message = format!(
            "{} tools are listed, and some hosts accept at most {MAX_TOOLS}; serve a `subset`, or hide some",
            listed.len()
        );
        findings.push(finding("too-many-tools", Severity::Warning, message));
    }
    for tool in catalog.list_registered_tools() {
        let mut found = ToolFindings { tool, findings: &mut findings };
        names(tool, catalog.policy(), &mut found);
        descriptions(tool, &mut found);
        schemas::lint(tool, &mut found);
        for rule in tool.definition().allow.iter().filter(|rule| !RULES.contains(&rule.as_ref())) {
            found.warn(
                "unknown-rule",
                format!("allows the lint rule `{rule}`, which does not exist; the rules are {}", RULES.join(", ")),
            );
        }
    }
    if let Some(tools) = tools_that_break(&listed, "closed-arguments", schemas::is_closed) {
        let message = format!(
            "google-genai for Python (up to 3.3) fails to convert `additionalProperties: false`, which is in the input of \
             {tools}; pass the schema as `parameters_json_schema` there, or set `allow_unknown_arguments`"
        );
        findings.push(finding("closed-arguments", Severity::Note, message));
    }
    if let Some(tools) = tools_that_break(&listed, "optional-arguments", schemas::has_options) {
        let message = format!(
            "openai-agents with `convert_schemas_to_strict` makes optional arguments required and not null, which \
             concerns {tools}; leave it off there, or give the arguments a default"
        );
        findings.push(finding("optional-arguments", Severity::Note, message));
    }
    findings
}

/// The tools that break a rule, as text: the first few, and the number of others.
fn tools_that_break(
    listed: &[&RegisteredTool],
    rule: &'static str,
    breaks: impl Fn(&RegisteredTool) -> bool,
) -> Option<String> {
    debug_assert!(RULES.contains(&rule), "{rule} is not listed");
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

/// Collects the findings on one tool, except those of rules that it is allowed to break.
struct ToolFindings<'a> {
    tool: &'a RegisteredTool,
    findings: &'a mut Vec<Finding>,
}

impl ToolFindings<'_> {
    fn add(&mut self, rule: &'static str, severity: Severity, what: impl fmt::Display) {
        debug_assert!(RULES.contains(&rule), "{rule} is not listed");
        if !self.tool.allows(rule) {
            let tool = self.tool.name().to_owned();
            let (message, origin) = (format!("`{tool}` {what}"), Some(self.tool.origin().clone()));
            self.findings.push(Finding { rule, severity, tool, message, origin });
        }
    }

    fn warn(&mut self, rule: &'static str, what: impl fmt::Display) {
        self.add(rule, Severity::Warning, what);
    }

    fn error(&mut self, rule: &'static str, what: impl fmt::Display) {
        self.add(rule, Severity::Error, what);
    }
}

fn names(tool: &RegisteredTool, policy: NamePolicy, found: &mut ToolFindings<'_>) {
    let wire = tool.wire_name();
    if wire.len() > GOOD_NAME_LENGTH {
        found.warn(
            "name-length",
            format!(
                "is published as `{wire}`, {} characters; hosts put a prefix before it: use at most {GOOD_NAME_LENGTH}",
                wire.len()
            ),
        );
    }
    if wire.contains('.') && policy == NamePolicy::Dotted {
        found.warn(
            "dotted-name",
            "is published with a dot, which Claude Desktop, Cursor and OpenAI refuse; use `NamePolicy::HostSafe`",
        );
    }
    let starts_well = wire.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_well || wire.contains("__") || (wire.contains('-') && policy != NamePolicy::Dotted) {
        found.warn(
            "name-characters",
            format!("is published as `{wire}`; begin with a letter, and use no `-` and no `__`"),
        );
    }
    if !tool.tool_name().is_strict() {
        found.error("name-form", "is not of the form `module.tool` in lower case; rename it");
    }
}

fn descriptions(tool: &RegisteredTool, found: &mut ToolFindings<'_>) {
    if tool.description().trim().is_empty() {
        found.error("missing-description", "has no description, so a model cannot choose it; write a doc comment");
    }
    if tool.title().is_none() {
        found.warn("missing-title", "has no `title`, which some hosts ask for; add one");
    }
    let Hints { read_only, destructive, .. } = tool.hints();
    if read_only.is_none() && destructive.is_none() {
        found
            .warn("missing-effect-hints", "does not say whether it changes anything; add `read_only` or `destructive`");
    }
    if tool.output_schema().is_none() {
        found.warn(
            "missing-output-schema",
            "has no output schema; return a type with `JsonSchema`, or `allow(\"missing-output-schema\")`",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn every_rule_is_documented_once() {
        let document = include_str!("rules.md");
        for rule in RULES {
            assert_eq!(document.matches(&format!("| `{rule}` |")).count(), 1, "{rule}");
        }
        assert_eq!(document.lines().filter(|line| line.starts_with("| `")).count(), RULES.len());
    }
}
