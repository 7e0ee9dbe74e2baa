//! A specification as Markdown.

use std::fmt::{self, Write as _};

use mcp_core::error::CodeProfile;
use mcp_core::mcp::Dialect;
use mcp_core::name::Version;
use mcp_core::support::{Fence, cut};
use mcp_core::{ErrorDetail, ToolCall, ToolResult, TrustLevel};
use serde::Serialize;
use serde_json::Value;

use super::{Examples, Field, Specification, fields};

/// The label of a section, and its text.
type Section = (&'static str, fn(&Specification) -> String);

/// The sections, in their order.
pub(super) const SECTIONS: [Section; 8] = [
    ("Purpose and Description", Specification::purpose),
    ("Invocation Name", Specification::invocation_name),
    ("Input Schema (Parameters)", Specification::input),
    ("Output Schema (Return Value)", Specification::output),
    ("Error Handling", Specification::error_handling),
    ("Idempotency", Specification::idempotency_text),
    ("Usage Examples", Specification::usage),
    ("Security Considerations", Specification::security_text),
];

/// The most bytes of a value in a table.
const MAX_VALUE: usize = 120;

impl fmt::Display for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Tool: `{}`\n\n**Version**: {}", self.name, self.version)?;
        for (label, body) in SECTIONS {
            writeln!(f, "\n**{label}**:\n\n{}", body(self).trim_end())?;
        }
        Ok(())
    }
}

impl Specification {
    fn purpose(&self) -> String {
        let mut text = match (prose(&self.description), &self.title) {
            (text, _) if !text.is_empty() => text,
            (_, Some(title)) => prose(title),
            (_, None) => "The tool has no description.".to_owned(),
        };
        if let Some(migration) = &self.migration {
            let _ = write!(text, "\n\n*Migration to {}*:\n\n{}", self.last_break(), prose(migration));
        }
        text
    }

    /// The version of the last breaking change, as far as the version says.
    fn last_break(&self) -> String {
        match Version::parse(&self.version) {
            Ok(version) if version.major() > 0 => Version::new(version.major(), 0, 0).to_string(),
            Ok(version) if version.minor() > 0 => Version::new(0, version.minor(), 0).to_string(),
            _ => self.version.clone(),
        }
    }

    fn invocation_name(&self) -> String {
        let mut lines = vec![format!("`{}`\n", self.name)];
        if self.wire_name != self.name {
            lines.push(format!("Its name in MCP is `{}`; both names can be called.", self.wire_name));
        }
        if !self.aliases.is_empty() {
            lines.push(format!("Older names that can still be called: {}.", codes(&self.aliases)));
        }
        match (&self.deprecated_in, &self.replaced_by) {
            (Some(version), Some(other)) => {
                lines.push(format!("**Deprecated** since version {version}: use {} instead.", code(other)));
            }
            (Some(version), None) => lines.push(format!("**Deprecated** since version {version}.")),
            (None, Some(other)) => lines.push(format!("Replaced by {}, but not deprecated yet.", code(other))),
            (None, None) => {}
        }
        if self.hidden {
            lines.push("It is not listed, but can be called.".to_owned());
        }
        lines.join("\n- ")
    }

    fn input(&self) -> String {
        let table = if self.parameters.is_empty() {
            "The tool takes no arguments.".to_owned()
        } else {
            let head = ["Parameter Name", "Type", "Required", "Description", "Default", "Constraints", "Example Value"];
            let row = |field: &Field| {
                let value = |value: &Option<Value>| value.as_ref().map(code_of).unwrap_or_default();
                let (default, example) = (value(&field.default), value(&field.example));
                let [name, types, required, description, constraints] = cells(field);
                [name, types, required, description, default, constraints, example]
            };
            let note = note(&self.parameters, "A nested parameter is required only when its parent is given.");
            table(head, self.parameters.iter().map(row)) + &note
        };
        table + &whole("The arguments", "`arguments`", &self.input_schema)
    }

    fn output(&self) -> String {
        let Some(schema) = &self.output_schema else {
            return "The tool has no output schema: it promises no structured `data`.".to_owned();
        };
        let table = if self.outputs.is_empty() {
            "On success, `data` is a JSON object.".to_owned()
        } else {
            let head = ["Field Name", "Type", "Always Present", "Description", "Constraints"];
            let table = table(head, self.outputs.iter().map(cells));
            let note = note(&self.outputs, "A nested field with `Yes` is present whenever its parent is.");
            format!("On success, `data` is a JSON object with these fields:\n\n{table}{note}")
        };
        table + &whole("`data`", "`data` (on success)", schema)
    }

    fn error_handling(&self) -> String {
        let own = match &self.errors {
            Some(text) => format!("Errors of the tool:\n\n{}", prose(text)),
            None => "The tool documents no errors of its own.".to_owned(),
        };
        let rows = self.registry_errors.iter().map(|error| {
            let details =
                error.details.as_ref().map_or_else(|| "none".to_owned(), |details| code(&details.to_string()));
            [code(error.error_type.as_str()), error.condition.clone(), details]
        });
        let table = table(["Error Type", "Condition", "Details, for example"], rows);
        format!(
            "A failed call has the status `failure` and an `error` with an `error_type`, an `error_message` that says what to \
             do, and `error_details` (an object, a text or null).\n\n{own}\n\nErrors of the registry that calls the \
             tool:\n\n{table}"
        )
    }

    fn idempotency_text(&self) -> String {
        let statement = match (self.hints.idempotent, self.hints.read_only) {
            (Some(true), _) => {
                "This tool is **idempotent**: a repeated call with the same arguments has no further effect."
            }
            (_, Some(true)) => "This tool is **read-only**: calls change nothing, so they can be repeated.",
            (Some(false), _) => {
                "This tool is **not idempotent**: each call has its own effect, so do not repeat one blindly."
            }
            (None, _) => "It is **not stated** whether this tool is idempotent; assume that each call has an effect.",
        };
        match &self.idempotency {
            Some(text) => format!("{statement}\n\n{}", prose(text)),
            None => statement.to_owned(),
        }
    }

    fn usage(&self) -> String {
        let Examples { call, success, is_only_form, failure, wire_failure } = &self.examples;
        let mut blocks = Vec::new();
        let mut add = |label: &str, block: String| blocks.push(format!("{label}\n\n{block}"));
        if let Some(call) = call {
            add("A call, as a flat message:", json(call));
            add("The same call over JSON-RPC, as MCP hosts send it:", self.request(call, 1));
        }
        if let Some(line) = self.command_line("program") {
            let label = "The same call on the command line of a program with this tool:";
            add(label, format!("```sh\n{line}\n```"));
        }
        if *is_only_form {
            add("What a successful result looks like (the tool promises no data):", json(success));
        } else {
            add("A result of a successful call:", json(success));
            add("The same result over JSON-RPC:", response(success, 1));
        }
        if let Some((failing, result)) = failure {
            let error_type = result.error.as_ref().map_or("", |error| error.error_type.as_str());
            let label = match error_type {
                "PermissionError" => "The result of the call if the caller is not trusted:",
                "TimeoutError" => "The result of the call if the tool does not answer in time:",
                _ if self.required_trust > TrustLevel::Untrusted => "A call that is rejected, whoever the caller is:",
                _ => "A call that is rejected:",
            };
            if Some(failing) == call.as_ref() {
                add(label, json(result));
            } else {
                add(label, json(failing));
                add("Its result:", json(result));
            }
            add("The same result over JSON-RPC:", response(wire_failure.as_ref().unwrap_or(result), 2));
        }
        blocks.join("\n\n")
    }

    fn request(&self, call: &ToolCall, id: u64) -> String {
        let call = ToolCall::new(&self.wire_name, call.arguments.clone());
        call.to_request(id, Dialect::Mcp).map_or_else(|error| error.to_string(), |request| json(&request))
    }

    fn security_text(&self) -> String {
        let hints = self.hints;
        let words = [
            (hints.read_only, "it changes nothing", "it changes something"),
            (hints.destructive, "it may destroy or overwrite something", "it destroys nothing"),
            (hints.open_world, "it reaches beyond the program, such as to the network", "it stays within the program"),
        ];
        let effects: Vec<&str> =
            words.iter().filter_map(|(hint, yes, no)| Some(if (*hint)? { *yes } else { *no })).collect();
        let effects = match effects[..] {
            [] => "the author states none; expect changes.".to_owned(),
            _ => format!("as the author states, {}.", effects.join("; ")),
        };
        let access = match self.required_trust {
            TrustLevel::Untrusted => "every caller may call it".to_owned(),
            level => format!("callers need the trust level `{level}` (other calls end in a `PermissionError`)"),
        };
        let secrets = match self.secrets[..] {
            [] => String::new(),
            _ => format!(" Secret, and therefore kept out of errors and logs: {}.", codes(&self.secrets)),
        };
        let text = match self.security.as_deref().map(prose) {
            // One list.
            Some(text) if text.starts_with("- ") => format!("{text}\n"),
            Some(text) => format!("{text}\n\n"),
            None => String::new(),
        };
        format!(
            "{text}- **Effects**: {effects}\n- **Input Validation**: arguments are checked against the schema before the tool \
             runs, and rejected with a `ValidationError` if they do not fit.{secrets}\n- **Access Control**: {access}, \
             unless the program has a gate that decides otherwise."
        )
    }
}

fn response(result: &ToolResult, id: u64) -> String {
    let response = result.to_response(id, Dialect::Mcp, CodeProfile::Standard);
    response.map_or_else(|error| json(&ErrorDetail::from(error)), |response| json(&response))
}

/// What an object must satisfy as a whole, and its schema.
fn whole(object: &str, label: &str, schema: &Value) -> String {
    let rules = fields::of_whole(schema).join("; ");
    let rules = if rules.is_empty() { rules } else { format!("\n\n{object} as a whole: {rules}.") };
    format!("{rules}\n\n**JSON Schema for {label}**:\n\n{}", json(schema))
}

/// What has to be said about a table with fields of fields.
fn note(fields: &[Field], note: &str) -> String {
    let is_nested = |field: &Field| field.required && field.name.contains(['.', '[']);
    if fields.iter().any(is_nested) { format!("\n\n{note}") } else { String::new() }
}

/// The cells that arguments and fields share.
fn cells(field: &Field) -> [String; 5] {
    let required = if field.required { "Yes" } else { "No" };
    let constraints = field.constraints.join("; ");
    [code(&field.name), code(&field.types), required.to_owned(), in_cell(&field.description), constraints]
}

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut text = format!("| {} |\n|{}", head.join(" | "), " :--- |".repeat(N));
    for row in rows {
        text.push_str("\n|");
        for cell in row {
            // A bar ends a cell, even in code.
            let cell = cell.trim().replace(r"\|", "|").replace('|', r"\|").replace('\n', " ");
            let _ = write!(text, " {cell}{}|", if cell.is_empty() { "" } else { " " });
        }
    }
    text
}

/// The text of an author in the one line of a cell.
fn in_cell(text: &str) -> String {
    let (mut cell, mut fence, mut is_new) = (String::new(), None, false);
    for line in text.trim().lines() {
        let before = fence;
        fence = Fence::after(before, line.as_bytes());
        let is_item = line.starts_with(['-', '*', '+'])
            || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let line = line.trim();
        let shown = match (before, fence) {
            (Some(_), Some(_)) if !line.is_empty() => code(line),
            (None, None) => without_html(line),
            _ => String::new(),
        };
        if shown.is_empty() {
            is_new = true;
            continue;
        }
        cell.push_str(match is_new || is_item || fence.is_some() {
            _ if cell.is_empty() => "",
            true => "<br>",
            false => " ",
        });
        cell.push_str(&shown);
        is_new = fence.is_some();
    }
    cell
}

/// A code span.
pub(super) fn code(text: &str) -> String {
    if text.contains(r"\|") {
        // In a cell, this would be a bar.
        let entity = |letter: char| {
            if letter.is_ascii_punctuation() { format!("&#{};", u32::from(letter)) } else { letter.to_string() }
        };
        return format!("<code>{}</code>", text.chars().map(entity).collect::<String>());
    }
    let text = if text.is_empty() { "\"\"" } else { text };
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let is_padded = longest > 0 || (text.starts_with(' ') && text.ends_with(' '));
    let (fence, pad) = ("`".repeat(longest + 1), if is_padded { " " } else { "" });
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Code spans.
pub(super) fn codes<T: AsRef<str>>(texts: &[T]) -> String {
    texts.iter().map(|text| code(text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A JSON value as a code span.
pub(super) fn code_of(value: &Value) -> String {
    code(&cut(&value.to_string(), MAX_VALUE))
}

fn json(value: &impl Serialize) -> String {
    // Parts that are JSON text already are written in lines only as values.
    let json = serde_json::to_value(value).and_then(|value| serde_json::to_string_pretty(&value));
    let json = json.unwrap_or_else(|error| error.to_string());
    format!("```json\n{json}\n```")
}

/// The text of an author, which must not end the section in which it stands: headings become bold, code blocks are closed,
/// and HTML is text.
fn prose(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    // The column of the list item that a line is in, and the open code block with that of its own.
    let (mut column, mut open) = (0, None);
    let closing = |(fence, column): (Fence, usize)| format!("{:column$}{fence}", "");
    for line in text.trim().lines() {
        let line = line.trim_end();
        let (marks, content) = line.split_at(marks(line));
        let indent = line.len() - line.trim_start().len();
        // A code block ends with its list item.
        lines.extend(open.take_if(|(_, column)| indent < *column && !line.is_empty()).map(closing));
        let is_verbatim = line.starts_with('\t') || indent >= column + 4;
        let (before, mut code) = (open, line);
        if before.is_none() && !line.is_empty() {
            column = if marks.len() > indent && !is_verbatim { marks.len() } else { column.min(indent) };
            code = if is_verbatim || marks.contains('>') { "" } else { content };
        }
        let fence = Fence::after(before.map(|(fence, _)| fence), code.as_bytes());
        open = fence.map(|fence| (fence, column));
        let last = lines.last().cloned().unwrap_or_default();
        if before.is_some() || open.is_some() {
            lines.push(line.to_owned());
            continue;
        }
        let added = match heading(content) {
            _ if is_verbatim => vec![line.to_owned()],
            Some(title) if marks.len() == indent => vec![String::new(), bold(title), String::new()],
            Some(title) => vec![format!("{marks}{}", bold(title))],
            None if is_underline(line.trim_start_matches('>')) && !last.is_empty() => {
                let is_alone = lines.iter().rev().nth(1).is_none_or(String::is_empty);
                if is_alone && last.starts_with(char::is_alphabetic) {
                    lines.pop();
                    vec![bold(&last), String::new()]
                } else {
                    vec![marks.trim_end().to_owned(), line.to_owned()]
                }
            }
            None => vec![without_html(line)],
        };
        for line in added {
            if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(line);
            }
        }
    }
    lines.extend(open.map(closing));
    lines.join("\n").trim_end().to_owned()
}

/// How many bytes are before the text of a line: spaces, and the marks of quotes and list items.
fn marks(line: &str) -> usize {
    let text = line.trim_start();
    let after_number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = after_number.strip_prefix(['.', ')']).filter(|_| after_number.len() < text.len());
    let after = text.strip_prefix(['>', '-', '*', '+']).or(numbered);
    match after.filter(|after| text.starts_with('>') || after.starts_with(' ')) {
        Some(after) => line.len() - after.len() + marks(after),
        None => line.len() - text.len(),
    }
}

fn bold(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!("**{title}**") }
}

/// The title, if a line is a heading.
fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start().trim_start_matches('#');
    let is_heading = line.trim_start().starts_with('#') && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| title.trim().trim_end_matches('#').trim_end())
}

/// Whether a line makes the one above it a heading.
fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && (line.trim_matches('=').is_empty() || line.trim_matches('-').is_empty())
}

/// A line with HTML as text, except for links such as `<https://…>`.
pub(super) fn without_html(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['`', '<']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let span = code_span(rest);
        let is_tag = rest[1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        let inner = rest.split_once('>').map_or("", |(inner, _)| inner);
        let is_link = inner.contains([':', '@']) && !inner.contains(char::is_whitespace);
        if rest.starts_with('<') && is_tag && !is_link && !text.ends_with('\\') {
            text.push('\\');
        }
        text.push_str(&rest[..span]);
        rest = &rest[span..];
    }
    text + rest
}

/// How many bytes the code at the start of a text has, or its first character if there is none.
fn code_span(text: &str) -> usize {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let opening = run(text);
    let mut at = opening;
    while let Some(next) = text[at..].find('`').filter(|_| opening > 0) {
        let closing = run(&text[at + next..]);
        at += next + closing;
        if closing == opening {
            return at;
        }
    }
    opening.max(1)
}
