//! Renders the text that commands print.

use std::fmt::Write as _;

use mcp_core::{Content, ErrorDetail, ToolResult};
use serde_json::{Value, json};

use super::github;
use super::output::pretty;
use super::style::{Styles, styled};
use crate::catalog::Catalog;
use crate::catalog::lint::{Finding, Severity};
use crate::catalog::notices::NOTICES;
use crate::catalog::tool::RegisteredTool;

/// The tools, one per line.
pub(super) fn list(tools: &[&RegisteredTool], styles: Styles) -> String {
    let width = tools.iter().map(|tool| tool.name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for tool in tools {
        let name = styled(styles.name, format_args!("{:<width$}", tool.name()));
        let mut line = format!("{name}  {}", summary(tool.description()));
        for remark in remarks(tool) {
            let _ = write!(line, " {}", styled(styles.note, format_args!("({remark})")));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Remarks that matter before a call.
fn remarks(tool: &RegisteredTool) -> Vec<String> {
    let destructive = tool.is_destructive().then(|| "destructive".to_owned());
    let hidden = tool.is_hidden().then(|| "hidden".to_owned());
    let deprecated = tool.deprecated_in().map(|_| match tool.replaced_by() {
        Some(other) => format!("deprecated: use {other}"),
        None => "deprecated".to_owned(),
    });
    destructive.into_iter().chain(hidden).chain(deprecated).collect()
}

/// The first sentence of a description.
fn summary(description: &str) -> String {
    let paragraph: Vec<&str> = description.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    match paragraph.find(". ") {
        Some(end) => paragraph[..=end].to_owned(),
        None => paragraph,
    }
}

/// The value that a call returned, or its error. The status decides whether the call failed, as for the exit code.
pub(super) fn outcome(result: &ToolResult) -> Result<String, String> {
    if !result.is_failure() {
        return Ok(value(result));
    }
    Err(result.error.as_ref().map_or_else(|| "the tool failed and did not say why".to_owned(), error_text))
}

fn error_text(error: &ErrorDetail) -> String {
    format!("{}: {}", error.error_type, error.error_message)
}

/// The content that a tool returned, or else its data. A string is printed without quotes, and `{"result": value}` as
/// the value.
fn value(result: &ToolResult) -> String {
    if let Some(content) = result.content.as_ref().filter(|content| !content.is_empty()) {
        let blocks = content.iter().map(|block| match block {
            Content::Text { text, .. } => text.clone(),
            block => pretty(block),
        });
        return blocks.collect::<Vec<_>>().join("\n");
    }
    let is_wrapped = |data: &Value| data.as_object().is_some_and(|members| members.len() == 1);
    let value = result.data.as_ref().map(|data| data.get("result").filter(|_| is_wrapped(data)).unwrap_or(data));
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => pretty(value),
        None => String::new(),
    }
}

/// The notices, the explanation, and the error of a call that succeeded only in part.
pub(super) fn notices(result: &ToolResult) -> Vec<String> {
    let notices = result.meta.get(NOTICES).and_then(Value::as_array);
    let notices = notices.into_iter().flatten().map(|notice| {
        let text = |key: &str| notice.get(key).and_then(Value::as_str);
        match (text("since"), text("replaced_by"), text("name")) {
            (Some(since), Some(other), _) => format!("deprecated since version {since}; use `{other}` instead"),
            (Some(since), None, _) => format!("deprecated since version {since}"),
            (None, _, Some(name)) => format!("this is an older name; use `{name}` instead"),
            (None, _, None) => notice.to_string(),
        }
    });
    let error = result.error.as_ref().filter(|_| !result.is_failure()).map(error_text);
    notices.chain(result.explanation.clone()).chain(error).collect()
}

/// The tools, and suggestions for what to do next.
pub(super) fn overview(program: &str, catalog: &Catalog, styles: Styles) -> String {
    let tools: Vec<&RegisteredTool> = catalog.list_registered_tools().iter().collect();
    let mut text = format!("{} has {}:\n\n", styled(styles.name, program), counted(tools.len(), "tool"));
    for line in list(&tools, styles).lines() {
        let _ = writeln!(text, "  {line}");
    }
    text.push_str("\nTry:\n\n");
    let hints = tools.iter().find(|tool| !tool.is_destructive()).or(tools.first()).into_iter().flat_map(|tool| {
        let name = tool.name();
        [(format!("schema {name}"), "show what it takes"), (call_example(tool), "call it")]
    });
    let others = [("lint", "check the tools for what hosts reject"), ("--help", "show all commands")];
    let hints: Vec<_> = hints.chain(others.map(|(command, purpose)| (command.to_owned(), purpose))).collect();
    let width = hints.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    for (command, purpose) in hints {
        let _ = writeln!(text, "  {program} {command:<width$}  {}", styled(styles.note, purpose));
    }
    let _ = write!(
        text,
        "\nTo use the tools in an AI application, add this to its MCP configuration:\n\n  {}\n",
        host_config(program)
    );
    text
}

/// An example call of a tool, without the values.
fn call_example(tool: &RegisteredTool) -> String {
    let required = tool.input_schema().get("required").and_then(Value::as_array);
    let keys = required.into_iter().flatten().filter_map(Value::as_str);
    keys.fold(format!("call {}", tool.name()), |line, key| format!("{line} {key}=…"))
}

/// The configuration entry that makes a host start this program.
fn host_config(program: &str) -> Value {
    let path = std::env::current_exe().ok();
    let command = path.map_or_else(|| program.to_owned(), |path| path.to_string_lossy().into_owned());
    json!({ "mcpServers": { program: { "command": command } } })
}

/// The findings of the lint, one per line.
pub(super) fn findings(findings: &[Finding], styles: Styles) -> String {
    let mut text = String::new();
    for finding in findings {
        let line = finding.to_string();
        let (label, message) = line.split_once(": ").unwrap_or((&line, ""));
        let style = match finding.severity {
            Severity::Error => styles.error,
            Severity::Warning => styles.warning,
            Severity::Note => styles.note,
        };
        let _ = writeln!(text, "{}: {message}", styled(style, label));
    }
    text
}

/// A finding as an annotation of GitHub Actions.
pub(super) fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let origin = finding.origin.as_ref();
    let line = origin.map(|origin| origin.line.to_string());
    github::annotation(level, origin.map(|origin| &*origin.file), line.as_deref(), finding.rule, &finding.message)
}

/// The number of findings.
pub(super) fn lint_summary(tools: usize, errors: usize, warnings: usize) -> String {
    format!("{}: {}, {}", counted(tools, "tool"), counted(errors, "error"), counted(warnings, "warning"))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use mcp_core::{Content, ErrorDetail, ToolResult};
    use serde_json::json;

    use super::{call_example, lint_summary, list, notices, outcome, overview, summary, value};
    use crate::cli::style::Styles;
    use crate::registry::Registry;
    use crate::{mcp_tool, tools};

    /// Adds two numbers.
    #[mcp_tool(module = "show", crate = crate)]
    fn add(a: i64, b: i64, #[arg(default = 0)] c: i64) -> i64 {
        a + b + c
    }

    /// Forgets everything. There is
    /// no way back.
    #[mcp_tool(module = "show", destructive, hidden, deprecated_in = "1.0.0", replaced_by = "show.add", crate = crate)]
    fn forget() {}

    #[test]
    fn a_line_has_the_first_sentence_and_remarks() {
        let catalog = Registry::builder_of(tools![add, forget]).catalog().unwrap();
        let tools: Vec<_> = catalog.list_registered_tools().iter().collect();
        assert_eq!(
            list(&tools, Styles::PLAIN),
            "show.add     Adds two numbers.\n\
             show.forget  Forgets everything. (destructive) (hidden) (deprecated: use show.add)\n"
        );
        assert!(list(&tools, Styles::COLORED).starts_with("\u{1b}[1mshow.add   \u{1b}[0m  Adds"));
        assert_eq!(call_example(tools[0]), "call show.add a=… b=…");
    }

    #[test]
    fn the_first_sentence_may_span_lines() {
        assert_eq!(summary("Reads a\n file. And more.\n\nMore."), "Reads a file.");
        assert_eq!(summary("Version 1.2 of it\n\nMore."), "Version 1.2 of it");
        assert_eq!(summary(""), "");
    }

    #[test]
    fn the_overview_says_what_to_do_next() {
        let catalog = Registry::builder_of(tools![add]).catalog().unwrap();
        let text = overview("show", &catalog, Styles::PLAIN);
        assert!(text.starts_with("show has 1 tool:\n\n  show.add  Adds two numbers.\n"), "{text}");
        assert!(text.contains("  show call show.add a=… b=…  call it\n"), "{text}");
        assert!(text.contains(r#"{"mcpServers":{"show":{"command":"#), "{text}");
    }

    #[test]
    fn a_value_is_printed_without_its_wrapper() {
        assert_eq!(value(&ToolResult::data(5)), "5");
        assert_eq!(value(&ToolResult::data("two\nlines")), "two\nlines");
        assert_eq!(
            value(&ToolResult::data(json!({ "result": 5, "more": 6 }))),
            "{\n  \"result\": 5,\n  \"more\": 6\n}"
        );
        assert_eq!(value(&ToolResult::success()), "");
        assert_eq!(value(&ToolResult::data(5).content(Vec::new())), "5");
        let blocks = [Content::text("one"), Content::image([1], "image/png")];
        let shown = value(&ToolResult::data(5).content(blocks.to_vec()));
        assert!(shown.starts_with("one\n{") && shown.contains("image/png"), "{shown}");
    }

    #[test]
    fn the_status_decides_whether_a_call_failed() {
        let error = || ErrorDetail::new("TimeoutError", "the last file took too long");
        let mut partial = ToolResult::partial_success(json!({ "copied": 3 }));
        partial.error = Some(error());
        assert_eq!(outcome(&partial), Ok("{\n  \"copied\": 3\n}".to_owned()));
        assert_eq!(notices(&partial), ["TimeoutError: the last file took too long"]);
        let failed = ToolResult::failure(error());
        assert_eq!(outcome(&failed), Err("TimeoutError: the last file took too long".to_owned()));
        assert_eq!(notices(&failed), [""; 0]);
        let silent = ToolResult::success().status("failure");
        assert_eq!(outcome(&silent), Err("the tool failed and did not say why".to_owned()));
    }

    #[test]
    fn notices_are_sentences() {
        let mut result = ToolResult::success();
        result.explanation = Some("it was there already".to_owned());
        let deprecated = json!({ "kind": "deprecated", "since": "1.1.0", "replaced_by": "show.add" });
        let alias = json!({ "kind": "alias", "called_as": "plus", "name": "show.add" });
        result.meta.insert(super::NOTICES.to_owned(), json!([deprecated, alias]));
        assert_eq!(
            notices(&result),
            [
                "deprecated since version 1.1.0; use `show.add` instead",
                "this is an older name; use `show.add` instead",
                "it was there already"
            ]
        );
    }

    #[test]
    fn findings_are_counted() {
        assert_eq!(lint_summary(5, 1, 0), "5 tools: 1 error, 0 warnings");
    }
}
