//! The specification of a tool: everything that its callers have to know, checked, and as a page.

pub(crate) mod examples;
mod fields;
mod markdown;
mod page;
mod registry_errors;

use mcp_core::entry::Hints;
use mcp_core::{ErrorType, ToolCall, ToolResult, TrustLevel};
use serde_json::Value;

#[cfg(feature = "cli")]
pub(crate) use self::page::{MARKER, summary};
pub(crate) use self::page::{differences, is_generated, page};
use crate::catalog::tool::RegisteredTool;

/// The specification of a tool. `Display` writes it as Markdown, in eight sections.
///
/// ```standalone_crate
/// use mcp_registry::{Catalog, mcp_tool};
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc", version = "1.1.0", read_only)]
/// fn add(#[arg(example = 2)] a: i64, #[arg(example = 3)] b: i64) -> i64 {
///     a + b
/// }
///
/// let catalog = Catalog::linked()?;
/// let specification = catalog.get("calc.add")?.specification();
/// assert_eq!(specification.parameters[0].name, "a");
/// assert_eq!(specification.command_line("calculator").as_deref(), Some("calculator call calc.add a=2 b=3"));
/// let page = specification.to_string();
/// assert!(page.starts_with("## Tool: `calc.add`\n\n**Version**: 1.1.0\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Specification {
    /// The canonical name.
    pub name: String,
    /// The name that hosts see.
    pub wire_name: String,
    /// The module: the part of the name before the last dot, if there is one.
    pub module: Option<String>,
    /// Older names by which the tool can still be called.
    pub aliases: Vec<String>,
    /// The version.
    pub version: String,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: String,
    /// Whether the tool can be called, but is not listed.
    pub hidden: bool,
    /// The version in which it was deprecated.
    pub deprecated_in: Option<String>,
    /// The tool to use instead.
    pub replaced_by: Option<String>,
    /// How to adapt to the newest major version: `# Migration` in the tool's docs.
    pub migration: Option<String>,
    /// The arguments, with nested ones such as `filter.since`. If there are more than 300, the last one is named `…`, and
    /// those that are nested most deeply are left out.
    pub parameters: Vec<Field>,
    /// The schema of the arguments.
    pub input_schema: Value,
    /// The fields of the data of a success, with nested ones such as `orders[].id`; as many as of the arguments.
    pub outputs: Vec<Field>,
    /// The schema of the data of a success; `None` if the tool promises no structured data.
    pub output_schema: Option<Value>,
    /// The errors of the tool itself: `# Errors` in its docs.
    pub errors: Option<String>,
    /// The errors that a registry can return for the tool.
    pub registry_errors: Vec<RegistryError>,
    /// What repeated calls do: `# Idempotency` in the tool's docs.
    pub idempotency: Option<String>,
    /// The author's hints about the effects of the tool.
    pub hints: Hints,
    /// Calls with their results.
    pub examples: Examples,
    /// Risks, and what is done about them: `# Security` in the tool's docs.
    pub security: Option<String>,
    /// The arguments that are kept out of errors and logs.
    pub secrets: Vec<String>,
    /// The lowest trust level that may call the tool, unless the program has a gate of its own.
    pub required_trust: TrustLevel,
    /// Why the example in the tool's docs is not used: it does not fit. The command `spec` and
    /// [`assert_specification`](crate::testing::assert_specification) fail with it.
    pub problem: Option<SpecificationError>,
}

/// An argument, or a field of a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The name, with the names of what contains it: `filter.since`, `orders[].id`, `scores.*.points`.
    pub name: String,
    /// The types that fit, such as `string` or `array of integer`.
    pub types: String,
    /// Whether what contains the field must have it.
    pub required: bool,
    /// The description.
    pub description: String,
    /// The default.
    pub default: Option<Value>,
    /// What else a value must satisfy, such as `at least 1`.
    pub constraints: Vec<String>,
    /// An example.
    pub example: Option<Value>,
}

/// An error that a registry can return for a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegistryError {
    /// The type of the error.
    pub error_type: ErrorType,
    /// When it is returned.
    pub condition: String,
    /// Its `error_details`, with values as an example; `None` if it has none.
    pub details: Option<Value>,
}

/// Calls with their results. The calls and the failure are checked against the tool; so is the data of the success.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Examples {
    /// A call that the tool accepts; `None` if no arguments were found that fit its schema.
    pub call: Option<ToolCall>,
    /// What the tool may answer: the `json` block under `# Examples` in its docs, or a sample of its output schema.
    pub success: ToolResult,
    /// Whether the success is only the form of one: the tool promises no data, and its docs have no example.
    is_only_form: bool,
    /// A call that fails, and the answer of a registry; `None` if there is no such call.
    pub failure: Option<(ToolCall, ToolResult)>,
    /// The answer if the failing call has the name on the wire.
    wire_failure: Option<ToolResult>,
}

/// The example in a tool's docs does not fit its output schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the example in the docs of `{tool}` ({place}) {reason}; correct the `json` block under `# Examples`")]
#[non_exhaustive]
pub struct SpecificationError {
    /// The tool.
    pub tool: String,
    /// Where the tool is defined, as `file:line`.
    pub place: String,
    /// What is wrong.
    pub reason: String,
}

impl Specification {
    /// The specifications of tools, unless examples in their docs do not fit: then what is wrong with each of them.
    pub(crate) fn all_checked<'a>(tools: impl IntoIterator<Item = &'a RegisteredTool>) -> Result<Vec<Self>, String> {
        let specifications: Vec<Self> = tools.into_iter().map(RegisteredTool::specification).collect();
        let problems = specifications.iter().filter_map(|specification| specification.problem.as_ref());
        let problems: Vec<String> = problems.map(ToString::to_string).collect();
        if problems.is_empty() { Ok(specifications) } else { Err(problems.join("\n")) }
    }
}

impl RegisteredTool {
    /// The tool's specification, with examples that are checked.
    pub fn specification(&self) -> Specification {
        let text = |section: &str| self.section(section).filter(|text| !text.is_empty()).map(str::to_owned);
        let (documented, problem) =
            examples::documented_result(self).map_or_else(|error| (None, Some(error)), |it| (it, None));
        let examples = Examples::new(self, documented);
        Specification {
            name: self.name().to_owned(),
            wire_name: self.wire_name().to_owned(),
            module: self.tool_name().module().map(str::to_owned),
            aliases: self.aliases().map(str::to_owned).collect(),
            version: self.version().to_owned(),
            title: self.title().map(str::to_owned),
            description: self.description().to_owned(),
            hidden: self.is_hidden(),
            deprecated_in: self.deprecated_in().map(str::to_owned),
            replaced_by: self.replaced_by().map(str::to_owned),
            migration: self.migration().map(str::to_owned),
            parameters: fields::parameters(self),
            input_schema: Value::clone(self.input_schema()),
            outputs: self.output_schema().map(|schema| fields::of(schema)).unwrap_or_default(),
            output_schema: self.output_schema().map(|schema| Value::clone(schema)),
            errors: text("Errors"),
            registry_errors: registry_errors::of(self, &examples),
            idempotency: text("Idempotency"),
            hints: self.hints(),
            examples,
            security: text("Security"),
            secrets: self.params().iter().filter(|param| param.secret).map(|param| param.name.to_owned()).collect(),
            required_trust: if self.is_destructive() { TrustLevel::Trusted } else { TrustLevel::Untrusted },
            problem,
        }
    }
}
