//! Pages: the specifications of several tools in one file, and what differs in a committed one.

use std::fmt::Write as _;

use mcp_core::support::Fence;

use super::Specification;
use super::fields::distinct;
use super::markdown::{SECTIONS, without_html};

/// The first line of a generated page.
pub(crate) const MARKER: &str = "<!-- Generated from the tools by mcp-registry. Do not edit: generate it again. -->";

/// Whether a file was generated, and may be overwritten.
pub(crate) fn is_generated(file: &str) -> bool {
    file.lines().next() == Some(MARKER)
}

/// The page of some tools.
pub(crate) fn page(specifications: &[Specification]) -> String {
    let mut modules: Vec<&str> = specifications.iter().filter_map(|tool| tool.module.as_deref()).collect();
    modules.dedup();
    let title = match modules[..] {
        [module] => format!("# MCP Tool Specification: `{module}`"),
        _ => "# MCP Tool Specification".to_owned(),
    };
    let mut text = format!("{MARKER}\n\n{title}\n");
    if specifications.len() > 1 {
        text.push('\n');
        text.extend(specifications.iter().map(|tool| summary("", tool)));
    }
    for specification in specifications {
        let _ = write!(text, "\n{specification}");
    }
    text
}

/// A tool as an item of a list, with a link to its specification.
pub(crate) fn summary(file: &str, tool: &Specification) -> String {
    let anchor: String = tool.name.chars().filter(|letter| *letter != '.').collect();
    let is_text = |line: &&str| !line.trim().is_empty() && Fence::after(None, line.as_bytes()).is_none();
    let description = tool.description.lines().take_while(is_text).collect::<Vec<_>>().join(" ");
    // A full stop in code or after an abbreviation ends no sentence.
    let is_end = |(at, _): &(usize, &str)| {
        description[..*at].matches('`').count() % 2 == 0 && description[at + 2..].starts_with(char::is_uppercase)
    };
    let end = description.match_indices(". ").find(is_end).map_or(description.len(), |(at, _)| at + 1);
    let sentence = without_html(&description[..end]);
    let sentence = if sentence.is_empty() { String::new() } else { format!(": {sentence}") };
    format!("- [`{}`]({file}#tool-{}) {}{sentence}\n", tool.name, anchor.to_lowercase(), tool.version)
}

/// Which parts of a page are not as they should be; empty if it is up to date.
pub(crate) fn differences(expected: &str, found: &str) -> Vec<String> {
    // Version control may change the ends of lines.
    let found = found.replace("\r\n", "\n");
    if expected == found {
        return Vec::new();
    }
    // The last part ends with an empty line, as the others do, so that it is the same if a tool follows.
    let (expected, found) = (format!("{expected}\n"), format!("{found}\n"));
    let (expected, found) = (parts(&expected), parts(&found));
    let has_tool = |parts: &[Part<'_>], tool| parts.iter().any(|part| part.tool == tool);
    let mut differences = Vec::new();
    for part in &expected {
        let same = found.iter().find(|other| (other.tool, other.section) == (part.tool, part.section));
        if same.is_none_or(|same| same.text != part.text) {
            differences.push(match part.tool {
                Some(tool) if !has_tool(&found, part.tool) => format!("`{tool}` is missing"),
                Some(tool) => format!("`{tool}`: {}", part.section.unwrap_or("heading and version")),
                None => "the title or the list of tools".to_owned(),
            });
        }
    }
    let additional = found.iter().filter(|part| !has_tool(&expected, part.tool)).filter_map(|part| part.tool);
    differences.extend(additional.map(|tool| format!("`{tool}` is no longer there")));
    if differences.is_empty() {
        differences.push("the order of its parts".to_owned());
    }
    distinct(differences)
}

/// A part of a page: the section of a tool, or what is before the first one.
struct Part<'a> {
    tool: Option<&'a str>,
    section: Option<&'static str>,
    text: String,
}

fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut part = Part { tool: None, section: None, text: String::new() };
    let mut fence = None;
    for line in page.lines() {
        let is_code = fence.is_some();
        fence = Fence::after(fence, line.as_bytes());
        let tool = line.strip_prefix("## Tool: `").and_then(|rest| rest.strip_suffix('`'));
        let label = line.strip_prefix("**").and_then(|rest| rest.strip_suffix("**:"));
        let section = SECTIONS.into_iter().map(|(section, _)| section).find(|section| Some(*section) == label);
        if !is_code && (tool.is_some() || section.is_some()) {
            let next = Part { tool: tool.or(part.tool), section, text: String::new() };
            parts.push(std::mem::replace(&mut part, next));
        }
        part.text.extend([line, "\n"]);
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn what_is_before_the_first_tool_is_the_list_of_tools() {
        let page = |list: &str| format!("# Tools\n\n{list}\n## Tool: `a`\n\n**Version**: 1\n");
        assert_eq!(differences(&page("- a\n"), &page("- b\n")), ["the title or the list of tools"]);
        assert_eq!(differences("- a\n", "- b\n"), ["the title or the list of tools"]);
    }
}
