//! The changes of a contract, for pull requests.

use std::fmt::Write as _;

use super::github::annotation;
use crate::contract::report::version_note;
use crate::contract::{Change, Diff, Verdict};

/// Markdown, such as for a comment on a pull request.
pub(super) fn markdown(diff: &Diff) -> String {
    let verdict = match diff.verdict() {
        Verdict::Compatible if diff.is_empty() => "unchanged".to_owned(),
        verdict if verdict > Verdict::Compatible && diff.is_acceptable() => {
            format!("{verdict}, as the versions announce")
        }
        verdict => verdict.to_string(),
    };
    let mut text = format!("## Contract of the tools: {verdict}\n\n{}.\n", sentence(&diff.summary()));
    for changes in diff.by_tool() {
        let tool = changes.first().map_or("", |change| &change.tool);
        let note = version_note(changes).map_or_else(String::new, |note| format!(" {note}"));
        let _ = writeln!(text, "\n### {}{note}\n", code(tool));
        for change in changes {
            write_change(&mut text, change);
        }
    }
    text
}

fn write_change(text: &mut String, change: &Change) {
    let label = if change.breaking { format!("**{}**", change.label()) } else { change.label().to_owned() };
    let _ = write!(text, "- {label} {}", code(change.rule));
    if !change.pointer.is_empty() {
        let _ = write!(text, " at {}", code(&change.pointer));
    }
    let _ = write!(text, ": {}", escaped(&change.message));
    if let Some(source) = &change.source {
        let _ = write!(text, " ({})", code(source));
    }
    text.push('\n');
    for (what, detail) in change.details() {
        let fence = "`".repeat(longest_run(&detail).max(2) + 1);
        let _ = writeln!(text, "\n  {}:\n\n  {fence}text\n  {detail}\n  {fence}", sentence(&what));
    }
}

/// The text with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The text as code, in which nothing else is markup.
fn code(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// The text as prose: without markup, HTML, links, and mentions of people.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in one_line(text).chars() {
        if "\\`*_~[]<>&|#$:@.!".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
        if letter == '@' {
            // An invisible space, since mentions are found after escapes are resolved.
            escaped.push('\u{200b}');
        }
    }
    escaped
}

/// The text with escapes for control characters.
fn one_line(text: &str) -> String {
    mcp_core::support::cut(text, 1000).into_owned()
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// Annotations for GitHub: an error for each change that fails the check, a warning if the version announces it.
pub(super) fn github(diff: &Diff) -> String {
    let mut text = String::new();
    for changes in diff.by_tool() {
        let note = version_note(changes);
        for change in changes {
            let level = match (change.breaking, change.is_announced()) {
                (true, false) => "error",
                (true, true) => "warning",
                (false, _) if change.is_warning() => "warning",
                (false, _) => "notice",
            };
            let source = change.source.as_deref().and_then(|source| source.rsplit_once(':'));
            let (file, line) = source.unzip();
            let mut message = one_line(&change.message);
            for (what, detail) in change.details() {
                let _ = write!(message, "\n{what}: {detail}");
            }
            if let Some(note) = &note {
                let _ = write!(message, "\n{} {note}", crate::contract::report::shown_name(&change.tool));
            }
            let _ = writeln!(text, "{}", annotation(level, file, line, &change.heading(), &message));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use mcp_core::name::Version;
    use serde_json::json;

    use super::{code, escaped, github, markdown};
    use crate::contract::report::tests::{change, enum_value_removed};
    use crate::contract::{Change, Class, Diff, Witness};

    #[test]
    fn markdown_has_the_verdict_the_changes_of_each_tool_and_the_call_that_breaks() {
        let mut diff = enum_value_removed();
        assert_eq!(
            markdown(&diff),
            "## Contract of the tools: breaking\n\n\
             2 changes: 1 breaking, 0 unknown.\n\n\
             ### `shop.search` says 1.1.1 and must become 2.0.0\n\n\
             - **breaking** `enum-value-removed` at `/state`: \"archived\" is no longer accepted (`src/shop.rs:41`)\n\n  \
               Worked in 1.1.0, fails now:\n\n  \
               ```text\n  \
               shop.search {\"customer\":1,\"state\":\"archived\"}\n  \
               ```\n\
             - wording `description`: 212 → 230 characters; a model may choose differently\n"
        );
        for change in &mut diff.changes {
            change.versions.1 = Some(Version::new(2, 0, 0));
        }
        assert!(markdown(&diff).starts_with("## Contract of the tools: breaking, as the versions announce\n"));
        assert_eq!(markdown(&Diff::default()), "## Contract of the tools: unchanged\n\nNothing has changed.\n");
    }

    #[test]
    fn text_of_others_cannot_become_markup() {
        assert_eq!(escaped("<b>@me</b> | [x](http://y)"), "\\<b\\>\\@\u{200b}me\\</b\\> \\| \\[x\\](http\\://y)");
        assert_eq!([code("a`b"), code("``"), code("a\nb")], ["``a`b``", "``` `` ```", "`a\\nb`"]);
        let hostile = Change {
            tool: "x`\n# <script>".to_owned(),
            pointer: "/`</code>".to_owned(),
            breaking: true,
            unknown: Some("```\n<img src=x>".to_owned()),
            witness: Some(Witness::Result(json!("````\n"))),
            ..change("rule", Class::Reader, "<img src=x>\n# heading")
        };
        let text = markdown(&Diff { changes: vec![hostile] });
        assert!(text.contains("\n### ``x`\\n# <script>``\n"), "{text}");
        assert!(text.contains(" at ``/`</code>``: \\<img src=x\\>\\\\n\\# heading\n"), "{text}");
        assert!(text.contains("\n  ````text\n  ```\\n<img src=x>\n  ````\n"), "{text}");
        assert!(text.contains("\n  `````text\n  \"````\\n\"\n  `````\n"), "{text}");
    }

    #[test]
    fn on_github_a_change_that_fails_the_check_is_an_error_at_its_line() {
        let mut diff = enum_value_removed();
        assert_eq!(
            github(&diff),
            "::error file=src/shop.rs,line=41,title=breaking[enum-value-removed] shop.search /state::\"archived\" is no \
             longer accepted%0Aworked in 1.1.0, fails now: shop.search {\"customer\":1,\"state\":\"archived\"}%0A\
             shop.search says 1.1.1 and must become 2.0.0\n\
             ::notice title=wording[description] shop.search::212 → 230 characters; a model may choose differently%0A\
             shop.search says 1.1.1 and must become 2.0.0\n"
        );
        for change in &mut diff.changes {
            change.versions.1 = Some(Version::new(2, 0, 0));
        }
        assert!(github(&diff).starts_with("::warning file=src/shop.rs,line=41,"), "{}", github(&diff));
        let diff = Diff { changes: vec![change("missing-migration", Class::Chooser, "2.0.0 has no migration note")] };
        assert!(github(&diff).starts_with("::warning title=warning[missing-migration] "), "{}", github(&diff));
    }
}
