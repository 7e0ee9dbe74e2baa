//! A diff as text.

use std::fmt;

use mcp_core::support::{cut, prefix};

use super::change::{Change, Class, Diff, Verdict, Witness};

/// The most bytes of a message, of a reason and of a witness that are shown. JSON has all of them.
const SHOWN: usize = 400;

/// What is said of a call that nothing was promised about.
const HAPPENED: &str = "a call that happened to send it fails now";

/// The most bytes of a name that are shown.
const SHOWN_NAME: usize = 160;

/// The report for people: one line per change, followed by what it breaks, and one line per tool about its version.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for changes in self.by_tool() {
            for change in changes {
                write!(f, "{}: {}", change.heading(), cut(&change.message, SHOWN))?;
                match &change.source {
                    Some(source) => writeln!(f, "      {source}")?,
                    None => writeln!(f)?,
                }
                for (what, detail) in change.details() {
                    writeln!(f, "  {what}: {detail}")?;
                }
            }
            if let (Some(note), [change, ..]) = (version_note(changes), changes) {
                writeln!(f, "  {} {note}", shown_name(&change.tool))?;
            }
        }
        Ok(())
    }
}

impl Diff {
    /// The changes, grouped by tool.
    pub(crate) fn by_tool(&self) -> impl Iterator<Item = &[Change]> {
        self.changes.chunk_by(|one, other| one.tool == other.tool)
    }

    /// The numbers of changes, in one line.
    pub(crate) fn summary(&self) -> String {
        if self.is_empty() {
            return "nothing has changed".to_owned();
        }
        let count = |verdict| self.changes.iter().filter(|change| change.verdict() == verdict).count();
        let (breaking, unknown) = (count(Verdict::Breaking), count(Verdict::Unknown));
        let changes = if self.changes.len() == 1 { "change" } else { "changes" };
        let announced = self.changes.iter().filter(|change| change.breaking && change.is_announced()).count();
        let announced = match announced {
            0 => String::new(),
            1 => "; 1 of them is covered by a new version".to_owned(),
            _ => format!("; {announced} of them are covered by new versions"),
        };
        format!("{} {changes}: {breaking} breaking, {unknown} unknown{announced}", self.changes.len())
    }

    /// What to do if the changes that break something are intended. The text says how to accept all of them.
    pub(crate) fn advice(&self, accept: &str) -> String {
        let mut broken = self.changes.iter().filter(|change| change.breaking && !change.is_announced());
        let has_version = |change: &Change| change.required_version.is_some();
        let versions = match (broken.clone().any(has_version), broken.all(has_version)) {
            (false, _) => "",
            (true, true) => "raise the versions as shown, or ",
            // A removed tool has no version.
            (true, false) => "raise the versions as shown, and then ",
        };
        format!("if this is intended, {versions}{accept}")
    }
}

impl Change {
    /// `breaking`, `unknown`, or what kind of harmless change it is.
    pub(crate) fn label(&self) -> &'static str {
        match (self.verdict(), self.class) {
            _ if self.is_warning() => "warning",
            (Verdict::Compatible, Class::Chooser) => "wording",
            (Verdict::Compatible, Class::Wire) => "wire",
            (verdict, _) => verdict.as_str(),
        }
    }

    /// Whether it is about the version, which should be looked at.
    pub(crate) fn is_warning(&self) -> bool {
        matches!(self.rule, "missing-migration" | "version-lowered")
    }

    /// The label, the rule, the tool and the place.
    pub(crate) fn heading(&self) -> String {
        let place =
            if self.pointer.is_empty() { String::new() } else { format!(" {}", cut(&self.pointer, SHOWN_NAME)) };
        format!("{}[{}] {}{place}", self.label(), self.rule, shown_name(&self.tool))
    }

    /// Why it could not be decided, and the call or the result that breaks: what each is, and what is shown of it.
    pub(crate) fn details(&self) -> Vec<(String, String)> {
        let reason = self.unknown.as_ref().filter(|_| self.breaking);
        let reason = reason.map(|reason| ("undecided".to_owned(), cut(reason, SHOWN).into_owned()));
        let witness = self.witness.as_ref().map(|witness| {
            let value = witness.value().to_string();
            match (witness, &self.versions.0) {
                (Witness::Arguments(_), version) => {
                    let when = version.as_ref().map_or_else(|| "before".to_owned(), |version| format!("in {version}"));
                    let call = format!("{} {}", shown_name(&self.called), cut(&value, SHOWN));
                    let what = if self.breaking { format!("worked {when}, fails now") } else { HAPPENED.to_owned() };
                    (what, call)
                }
                (Witness::Result(_), _) => ("may now return".to_owned(), cut(&value, SHOWN).into_owned()),
            }
        });
        reason.into_iter().chain(witness).collect()
    }
}

/// Whether the version of a tool is large enough for its changes, if they call for a version.
pub(crate) fn version_note(changes: &[Change]) -> Option<String> {
    let required = changes.iter().filter_map(|change| change.required_version.as_ref()).max()?;
    let version = changes.iter().find_map(|change| change.versions.1.as_ref())?;
    let is_broken = changes.iter().any(|change| change.breaking && !change.is_announced());
    let is_enough = changes.iter().all(|change| change.required_version.is_none() || change.is_announced());
    Some(if is_enough {
        format!("says {version}, which is enough")
    } else if is_broken {
        format!("says {version} and must become {required}")
    } else {
        format!("says {version}; {required} would announce this")
    })
}

/// A name as it is, or in quotes if it is unusual: other servers choose names freely.
pub(crate) fn shown_name(name: &str) -> String {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/');
    let is_name = !name.is_empty() && name.chars().all(is_usual);
    if is_name { cut(name, SHOWN_NAME).into_owned() } else { format!("{:?}", prefix(name, SHOWN_NAME)) }
}

#[cfg(test)]
pub(crate) mod tests {
    use mcp_core::name::Version;
    use serde_json::json;

    use super::super::change::{Change, Class, Diff, Witness};
    use super::shown_name;

    /// A change of version 1.1.0 to 1.1.1.
    pub(crate) fn change(rule: &'static str, class: Class, message: &str) -> Change {
        Change {
            tool: "shop.search".to_owned(),
            called: "shop.search".to_owned(),
            rule,
            class,
            breaking: false,
            unknown: None,
            pointer: String::new(),
            message: message.to_owned(),
            witness: None,
            source: None,
            versions: (Some(Version::new(1, 1, 0)), Some(Version::new(1, 1, 1))),
            required_version: None,
        }
    }

    /// A value of an enum was removed, and the description was changed.
    pub(crate) fn enum_value_removed() -> Diff {
        let removed = Change {
            breaking: true,
            pointer: "/state".to_owned(),
            witness: Some(Witness::Arguments(json!({ "customer": 1, "state": "archived" }))),
            source: Some("src/shop.rs:41".to_owned()),
            required_version: Some(Version::new(2, 0, 0)),
            ..change("enum-value-removed", Class::Caller, "\"archived\" is no longer accepted")
        };
        let message = "212 → 230 characters; a model may choose differently";
        let wording =
            Change { required_version: Some(Version::new(1, 1, 1)), ..change("description", Class::Chooser, message) };
        Diff { changes: vec![removed, wording] }
    }

    #[test]
    fn a_breaking_change_is_shown_with_the_call_that_breaks_and_the_version_it_requires() {
        let mut diff = enum_value_removed();
        assert_eq!(
            diff.to_string(),
            "breaking[enum-value-removed] shop.search /state: \"archived\" is no longer accepted      src/shop.rs:41\n  \
               worked in 1.1.0, fails now: shop.search {\"customer\":1,\"state\":\"archived\"}\n\
             wording[description] shop.search: 212 → 230 characters; a model may choose differently\n  \
               shop.search says 1.1.1 and must become 2.0.0\n"
        );
        assert_eq!(diff.summary(), "2 changes: 1 breaking, 0 unknown");
        for change in &mut diff.changes {
            change.versions.1 = Some(Version::new(2, 0, 0));
        }
        assert!(diff.to_string().ends_with("\n  shop.search says 2.0.0, which is enough\n"), "{diff}");
        assert_eq!(diff.summary(), "2 changes: 1 breaking, 0 unknown; 1 of them is covered by a new version");
    }

    #[test]
    fn the_advice_is_to_raise_versions_where_that_helps() {
        let removed = || Change { breaking: true, ..change("tool-removed", Class::Caller, "was removed") };
        let mut diff = enum_value_removed();
        assert_eq!(diff.advice("accept"), "if this is intended, raise the versions as shown, or accept");
        diff.changes.push(removed());
        assert_eq!(diff.advice("accept"), "if this is intended, raise the versions as shown, and then accept");
        diff.changes = vec![removed()];
        assert_eq!(diff.advice("accept"), "if this is intended, accept");
        let mut diff = enum_value_removed();
        diff.changes.push(diff.changes[0].clone());
        for change in &mut diff.changes {
            change.versions.1 = Some(Version::new(2, 0, 0));
        }
        assert_eq!(diff.summary(), "3 changes: 2 breaking, 0 unknown; 2 of them are covered by new versions");
    }

    #[test]
    fn an_unknown_change_says_why_and_a_result_says_what_may_arrive() {
        let unknown = Change {
            breaking: true,
            unknown: Some("the patterns differ".to_owned()),
            versions: (None, None),
            ..change("pattern", Class::Caller, "the pattern has changed")
        };
        let result = Change {
            breaking: true,
            tool: "shop.stock".to_owned(),
            pointer: "/count".to_owned(),
            witness: Some(Witness::Result(json!({ "count": -1 }))),
            versions: (None, None),
            ..change("minimum", Class::Reader, "the minimum was removed")
        };
        let before = Change { witness: Some(Witness::Arguments(json!({}))), unknown: None, ..unknown.clone() };
        let diff = Diff { changes: vec![unknown, before, result] };
        assert_eq!(
            diff.to_string(),
            "unknown[pattern] shop.search: the pattern has changed\n  \
               undecided: the patterns differ\n\
             breaking[pattern] shop.search: the pattern has changed\n  \
               worked before, fails now: shop.search {}\n\
             breaking[minimum] shop.stock /count: the minimum was removed\n  \
               may now return: {\"count\":-1}\n"
        );
        assert_eq!(diff.summary(), "3 changes: 2 breaking, 1 unknown");
    }

    #[test]
    fn changes_that_break_nothing_are_labelled_by_who_notices_them() {
        let added = Change {
            required_version: Some(Version::new(1, 2, 0)),
            ..change("parameter-added", Class::Caller, "`limit` can be given")
        };
        let diff = Diff {
            changes: vec![
                added,
                change("enum-value-removed", Class::Reader, "less is returned"),
                change("title", Class::Chooser, "the title has changed"),
                change("spelling", Class::Wire, "the bytes have changed"),
            ],
        };
        let labels: Vec<String> =
            diff.to_string().lines().filter_map(|line| Some(line.split_once('[')?.0.to_owned())).collect();
        assert_eq!(labels, ["compatible", "compatible", "wording", "wire"]);
        assert!(diff.to_string().ends_with("\n  shop.search says 1.1.1; 1.2.0 would announce this\n"), "{diff}");
        assert_eq!(
            (Diff::default().to_string(), Diff::default().summary()),
            (String::new(), "nothing has changed".into())
        );
    }

    #[test]
    fn text_of_others_is_cut_and_cannot_add_lines_or_control_the_terminal() {
        let long = Change {
            tool: "::error::\u{1b}[2J\u{202e}".to_owned(),
            breaking: true,
            pointer: "/a\nb".to_owned(),
            witness: Some(Witness::Arguments(json!({ "text": format!("\u{9b}{}", "x".repeat(5000)) }))),
            ..change("rule", Class::Caller, "one\r\ntwo\u{7}")
        };
        let text = Diff { changes: vec![long] }.to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with(r#"breaking[rule] "::error::\u{1b}[2J\u{202e}" /a\nb: one\r\ntwo\u{7}"#), "{text}");
        assert!(!text.replace('\n', "").contains(char::is_control) && text.contains("… (5013 bytes)"), "{text}");
        assert_eq!([shown_name("shop.search"), shown_name("a b"), shown_name("")], ["shop.search", "\"a b\"", "\"\""]);
    }
}
