//! What a host or a model could stumble over.

use std::fmt;

use mcp_core::{Hints, NamePolicy, Origin, RegistrationProblem};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::tool::RegisteredTool;
use crate::validate;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Some hosts or models will do worse.
    Warning,
    /// Some hosts will refuse the tool, or a model cannot use it.
    Error,
}

/// What the errors of the lint do when a registry is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LintPolicy {
    /// Nothing; whoever wants them asks for them.
    #[default]
    Quiet,
    /// They are errors of the registration.
    Strict,
}

/// Something that the lint found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The tool's canonical name; empty for the whole set.
    pub tool: String,
    /// What is wrong, and what to do.
    pub message: String,
    /// Where the tool is defined.
    pub origin: Option<Origin>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}[{}]: {}", self.rule, self.message)?;
        self.origin.as_ref().map_or(Ok(()), |origin| write!(f, "\n    at {origin}"))
    }
}

impl LintPolicy {
    /// The findings that keep a registry from being built.
    pub(crate) fn problems(self, findings: &[Finding]) -> Vec<RegistrationProblem> {
        let errors = findings.iter().filter(|finding| self == Self::Strict && finding.severity == Severity::Error);
        let problem = |finding: &Finding| {
            let origin = Box::new(finding.origin.clone()?);
            Some(RegistrationProblem::Lint { rule: finding.rule, message: finding.message.clone(), origin })
        };
        errors.filter_map(problem).collect()
    }
}

/// The rules, for `allow("…")`.
const RULES: [&str; 21] = [
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
    "tuple",
    "bytes",
    "wide-integer-id",
    "unknown-format",
    "slow-union",
    "unknown-rule",
    "too-many-tools",
];

/// The longest name that leaves room for what hosts put before it.
const GOOD_NAME_LENGTH: usize = 40;
/// The largest schema that does not crowd out the conversation.
const GOOD_SCHEMA_SIZE: usize = 8 * 1024;
/// The most tools that the narrowest hosts take at once.
const MOST_TOOLS: usize = 128;

/// The formats that JSON Schema defines.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

pub(crate) fn lint(catalog: &Catalog) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).count();
    if listed > MOST_TOOLS {
        let message =
            format!("{listed} tools are listed, and some hosts take {MOST_TOOLS}; serve a `subset`, or hide some");
        let (tool, origin) = (String::new(), None);
        findings.push(Finding { rule: "too-many-tools", severity: Severity::Warning, tool, message, origin });
    }
    for tool in catalog.list_registered_tools() {
        let mut found = Found { tool, findings: Vec::new() };
        names(tool, catalog.policy(), &mut found);
        words(tool, &mut found);
        schemas(tool, &mut found);
        for rule in tool.allowed().into_iter().filter(|rule| !RULES.contains(rule)) {
            found.warn(
                "unknown-rule",
                format!("allows the lint rule `{rule}`, which does not exist; the rules are {}", RULES.join(", ")),
            );
        }
        findings.extend(found.findings);
    }
    findings
}

/// The findings on one tool, less those that its author has set aside.
struct Found<'a> {
    tool: &'a RegisteredTool,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn add(&mut self, rule: &'static str, severity: Severity, what: impl fmt::Display) {
        debug_assert!(RULES.contains(&rule), "{rule} is not listed");
        if !self.tool.allowed().contains(&rule) {
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

fn names(tool: &RegisteredTool, policy: NamePolicy, found: &mut Found<'_>) {
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

fn words(tool: &RegisteredTool, found: &mut Found<'_>) {
    if tool.description().trim().is_empty() {
        found.error("missing-description", "has no description, so that a model cannot choose it; write a doc comment");
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
        found.warn("missing-output-schema", "has no output schema; return a type with `JsonSchema`");
    }
}

fn schemas(tool: &RegisteredTool, found: &mut Found<'_>) {
    let schema = tool.input_schema();
    let size = schema.to_string().len();
    if size > GOOD_SCHEMA_SIZE {
        found.warn(
            "schema-size",
            format!("has an input schema of {size} bytes, which every conversation pays for; make it smaller"),
        );
    }
    if let Some(key) = ["oneOf", "anyOf", "allOf"].into_iter().find(|key| schema.get(key).is_some()) {
        found.error(
            "root-union",
            format!(
                "has `{key}` at the root of its schema, which Anthropic and OpenAI refuse; put the enum into a field"
            ),
        );
    }
    if ["$defs", "definitions"].iter().any(|key| schema.get(key).is_some()) {
        found.warn(
            "schema-references",
            "has a schema with `$ref`, which several hosts do not follow; avoid recursive types",
        );
    }
    if let Some(name) = validate::slow_type(tool) {
        found.warn(
            "slow-union",
            format!(
                "takes the untagged enum `{name}`, which holds itself: each level of nesting multiplies the time to read \
                 it, and calls wait for each other; give the enum a tag"
            ),
        );
    }
    if schema.get("properties").is_none() {
        found.warn(
            "missing-properties",
            "has a schema without `properties`, which some hosts refuse; write `\"properties\": {}`",
        );
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if property.get("description").is_none() {
            found.warn(
                "missing-parameter-description",
                format!("does not say what `{name}` is; write a doc comment on the parameter"),
            );
        }
    }
    walk("", schema, &mut |name, inner| {
        property_schema(name, inner, found);
        if is_nullable(inner) {
            found.warn(
                "null-type",
                format!("takes null in `{name}`, which Gemini refuses; leave it out of `required` instead"),
            );
        }
    });
    if let Some(output) = tool.output_schema() {
        walk("", output, &mut |name, inner| property_schema(name, inner, found));
    }
}

/// What a schema of a value called `name` says that hosts or models stumble over.
fn property_schema(name: &str, schema: &Value, found: &mut Found<'_>) {
    let is = |schema: &Value, kind: &str| schema.get("type").is_some_and(|own| own == kind);
    if schema.get("prefixItems").is_some() {
        found.warn("tuple", format!("has a tuple in `{name}`, which few hosts understand; use a struct"));
    }
    let bound = |schema: &Value, key: &str, wanted: i64| schema.get(key).is_some_and(|bound| *bound == wanted);
    let is_byte = |items: &Value| is(items, "integer") && bound(items, "minimum", 0) && bound(items, "maximum", 255);
    if is(schema, "array") && schema.get("items").is_some_and(is_byte) {
        found.warn(
            "bytes",
            format!("has bytes one by one in `{name}`, which cost a model dearly; use base64 in a string"),
        );
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| !FORMATS.contains(format)) {
        found.warn(
            "unknown-format",
            format!("uses the format `{format}` in `{name}`, which JSON Schema does not define; use `pattern`"),
        );
    }
    let lower = name.to_ascii_lowercase();
    let is_id =
        lower == "id" || name.ends_with("_id") || name.ends_with("Id") || lower == "ids" || name.ends_with("_ids");
    if is_id && is(schema, "integer") && schema.get("maximum").is_none() {
        found.warn(
            "wide-integer-id",
            format!("has the 64-bit integer `{name}`, of which clients lose digits beyond 2^53; use a string"),
        );
    }
}

fn is_nullable(schema: &Value) -> bool {
    let null = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "null");
    let listed =
        schema.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
    let alternative = |key: &str| schema.get(key).and_then(Value::as_array).is_some_and(|all| all.iter().any(null));
    listed || alternative("anyOf") || alternative("oneOf")
}

/// Every schema in a schema, with the name of the value that it is of.
fn walk(name: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    let Value::Object(object) = schema else { return };
    visit(name, schema);
    for (key, inner) in object {
        match (key.as_str(), inner) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                for (name, inner) in named {
                    walk(name, inner, visit);
                }
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains", inner) => {
                walk(name, inner, visit);
            }
            ("prefixItems" | "oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                for inner in all {
                    walk(name, inner, visit);
                }
            }
            _ => {}
        }
    }
}
