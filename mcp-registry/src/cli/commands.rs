//! The commands that list, describe, check and call tools.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use mcp_core::{CallOptions, ErrorType, ToolResult, TrustLevel};
use serde_json::json;

use super::args::LintFormat;
use super::call_arguments::CallArguments;
use super::output::{Failure, pretty, print, print_event, print_note};
use super::style::Styles;
use super::{Cli, render, run_async};
use crate::catalog::Catalog;
use crate::catalog::lint::Severity;
use crate::catalog::tool::RegisteredTool;

impl Cli<'_> {
    pub(super) fn overview(self) -> Result<ExitCode, Failure> {
        let name = self.name();
        print(&render::overview(&name, &self.catalog()?, Styles::for_stream(&io::stdout())))
    }

    pub(super) fn list(self, json: bool, tag: Option<&str>, module: Option<&str>) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let matches = |tool: &&RegisteredTool| {
            tag.is_none_or(|tag| tool.has_tag(tag)) && module.is_none_or(|module| in_module(tool, module))
        };
        let tools: Vec<&RegisteredTool> = catalog.list_registered_tools().iter().filter(matches).collect();
        if tools.is_empty() && !catalog.is_empty() {
            print_note("no tool matches; `list` without options shows all of them");
        }
        print(&if json { pretty(&tools) } else { render::list(&tools, Styles::for_stream(&io::stdout())) })
    }

    pub(super) fn schema(self, name: &str, output: bool) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let tool = find_tool(&catalog, name)?;
        if !output {
            return print(&pretty(tool.input_schema()));
        }
        match tool.output_schema() {
            Some(schema) => print(&pretty(schema)),
            None => Err(Failure::failed(format!(
                "`{}` has no output schema; `call` it to see what it returns",
                tool.name()
            ))),
        }
    }

    pub(super) fn lint(self, strict: bool, hosts: &[String], format: LintFormat) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let mut findings = catalog.lint();
        findings.retain(|finding| hosts.is_empty() || hosts.iter().any(|host| finding.affects(host)));
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let code = print(&match format {
            LintFormat::Text => render::findings(&findings, Styles::for_stream(&io::stdout())),
            LintFormat::Json => pretty(&json!({ "findings": findings, "errors": errors, "warnings": warnings })),
            LintFormat::Github => findings.iter().map(|finding| render::annotation(finding) + "\n").collect(),
        })?;
        print_note(&render::lint_summary(catalog.len(), errors, warnings));
        Ok(if errors > 0 || (strict && warnings > 0) { ExitCode::FAILURE } else { code })
    }

    pub(super) fn call(
        self,
        name: &str,
        arguments: &[String],
        json: bool,
        trust: Option<TrustLevel>,
    ) -> Result<ExitCode, Failure> {
        let arguments = CallArguments::parse(arguments).map_err(Failure::Usage)?;
        let (result, text) = run_async(async {
            let registry = self.registry(trust).await?;
            let tool = find_tool(&registry.catalog(), name)?.clone();
            let arguments = arguments.into_json(&tool).map_err(Failure::Usage)?;
            let options = CallOptions::new().on_event(|event| print_event(&event));
            let called_as = if tool.answers_to(name) { name } else { tool.name() };
            let mut out = Vec::new();
            let result = registry.call_bytes(called_as, arguments.as_bytes(), &options, &mut out).await;
            let result = result.and_then(|()| Ok(ToolResult::parse(&out)?)).unwrap_or_else(ToolResult::from);
            if trust.is_none() && tool.is_destructive() && is_permission_error(&result) {
                print_note(&format!("to allow `{}`, add `--trust trusted`", tool.name()));
            }
            // The text has every digit of large numbers.
            let text = if out.is_empty() { result.to_json() } else { String::from_utf8_lossy(&out).into_owned() };
            Ok((result, text))
        })?;
        let is_terminal = io::stdout().is_terminal();
        if is_terminal && !json {
            return print_result(&result);
        }
        let code = print(&if is_terminal { pretty(&result) } else { text })?;
        Ok(if result.is_failure() { ExitCode::FAILURE } else { code })
    }
}

/// Prints a result for people: the bare value to stdout, everything else to stderr.
fn print_result(result: &ToolResult) -> Result<ExitCode, Failure> {
    for notice in render::notices(result) {
        print_note(&printable(&notice));
    }
    match render::outcome(result) {
        Ok(value) => print(&printable(&value)),
        Err(error) => Err(Failure::Failed(printable(&error))),
    }
}

/// Escapes control characters, which could affect the terminal: results may contain text from third parties.
fn printable(text: &str) -> String {
    let is_harmless = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let escaped =
        |letter: char| if is_harmless(letter) { letter.to_string() } else { letter.escape_default().to_string() };
    text.chars().map(escaped).collect()
}

/// Whether a tool is in a module, or in one below it.
pub(super) fn in_module(tool: &RegisteredTool, module: &str) -> bool {
    tool.name().strip_prefix(module).is_some_and(|rest| rest.starts_with('.'))
}

/// A tool by its name, or by the last segments of its name if they are unambiguous.
pub(super) fn find_tool<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a RegisteredTool, Failure> {
    let error = match catalog.get(name) {
        Ok(tool) => return Ok(tool),
        Err(error) => error,
    };
    let ends_with_name =
        |tool: &&RegisteredTool| tool.name().strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let tools: Vec<&RegisteredTool> = catalog.list_registered_tools().iter().filter(ends_with_name).collect();
    match tools[..] {
        [] => Err(Failure::failed(error)),
        [tool] => Ok(tool),
        [..] => {
            let names: Vec<String> = tools.iter().map(|tool| format!("`{}`", tool.name())).collect();
            let names = names.join(", ");
            Err(Failure::failed(format_args!("several tools are called `{name}`: {names}; use the full name")))
        }
    }
}

fn is_permission_error(result: &ToolResult) -> bool {
    result.error.as_ref().is_some_and(|error| error.error_type == ErrorType::PERMISSION_ERROR)
}

#[cfg(test)]
mod tests {
    use super::{Failure, find_tool, printable};
    use crate::registry::Registry;
    use crate::{mcp_tool, tools};

    #[mcp_tool(name = "notes.add", crate = crate)]
    fn add_note() {}

    #[mcp_tool(name = "calc.add", crate = crate)]
    fn add_numbers() {}

    #[mcp_tool(name = "calc.divide", crate = crate)]
    fn divide() {}

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\tb\n\u{1b}]0;title\u{7}é"), "a\tb\n\\u{1b}]0;title\\u{7}é");
    }

    #[test]
    fn the_last_segment_of_a_name_is_enough_only_if_it_is_unique() {
        let catalog = Registry::builder_of(tools![add_note, add_numbers, divide]).catalog().unwrap();
        let found = |name| find_tool(&catalog, name).map(|tool| tool.name().to_owned());
        assert_eq!(found("divide").ok().as_deref(), Some("calc.divide"));
        assert_eq!(found("calc.add").ok().as_deref(), Some("calc.add"));
        let Err(Failure::Failed(error)) = found("add") else { panic!("two tools end with it") };
        assert_eq!(error, "several tools are called `add`: `calc.add`, `notes.add`; use the full name");
    }
}
