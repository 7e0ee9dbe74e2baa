//! The commands that list, describe, check and call tools.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use mcp_core::{CallOptions, ErrorType, ToolCall, ToolResult, TrustLevel};

use super::call_arguments::CallArguments;
use super::output::{Failure, pretty, print, print_event, print_note};
use super::style::Styles;
use super::{Cli, render, run_async};
use crate::catalog::lint::Severity;
use crate::catalog::tool::RegisteredTool;

impl Cli<'_> {
    pub(super) fn overview(self) -> Result<ExitCode, Failure> {
        let name = self.name();
        print(&render::overview(&name, &self.catalog()?, Styles::for_stream(&io::stdout())))
    }

    pub(super) fn list(self, json: bool, tag: Option<&str>, module: Option<&str>) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let in_module = |tool: &RegisteredTool, module: &str| {
            tool.name().strip_prefix(module).is_some_and(|rest| rest.starts_with('.'))
        };
        let matches = |tool: &&RegisteredTool| {
            tag.is_none_or(|tag| tool.has_tag(tag)) && module.is_none_or(|module| in_module(tool, module))
        };
        let tools: Vec<&RegisteredTool> = catalog.list_registered_tools().iter().filter(matches).collect();
        if tools.is_empty() && !catalog.is_empty() {
            print_note("no tool is like that; `list` without options shows all of them");
        }
        print(&if json { pretty(&tools) } else { render::list(&tools, Styles::for_stream(&io::stdout())) })
    }

    pub(super) fn schema(self, name: &str, output: bool) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let tool = catalog.get(name).map_err(Failure::failed)?;
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

    pub(super) fn lint(self, strict: bool) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let findings = catalog.lint();
        let code = print(&render::findings(&findings, Styles::for_stream(&io::stdout())))?;
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        print_note(&render::lint_summary(catalog.len(), errors, warnings));
        Ok(if errors > 0 || (strict && warnings > 0) { ExitCode::FAILURE } else { code })
    }

    pub(super) fn call(self, name: &str, arguments: &[String], trust: Option<TrustLevel>) -> Result<ExitCode, Failure> {
        let arguments = CallArguments::parse(arguments).map_err(Failure::Usage)?;
        let result = run_async(async {
            let registry = self.registry(trust).await?;
            let tool = registry.get(name).map_err(Failure::failed)?;
            let arguments = arguments.into_value(&tool).map_err(Failure::Usage)?;
            let options = CallOptions::new().on_event(|event| print_event(&event));
            let result = registry.call_with(&ToolCall::new(name, arguments), &options).await;
            if trust.is_none() && tool.is_destructive() && is_permission_error(&result) {
                print_note(&format!("if `{}` is to do that, add `--trust trusted`", tool.name()));
            }
            Ok(result)
        })?;
        let code = print(&if io::stdout().is_terminal() { pretty(&result) } else { result.to_json() })?;
        Ok(if result.is_failure() { ExitCode::FAILURE } else { code })
    }
}

fn is_permission_error(result: &ToolResult) -> bool {
    result.error.as_ref().is_some_and(|error| error.error_type == ErrorType::PERMISSION_ERROR)
}
