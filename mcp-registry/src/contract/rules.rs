//! The rules by which schemas are compared, and what they say.

use mcp_core::support::cut;
use serde_json::Value;

use super::parameters::pointer_to;
use crate::catalog::lint::Side::{self, Input, Output};
use crate::validate::include::{Gap, Kind};

/// The most bytes of a name or a value in a message.
pub(super) const QUOTED: usize = 80;

/// A gap as a rule, the place, and a sentence.
pub(super) struct Wording {
    pub(super) rule: &'static str,
    pub(super) pointer: String,
    pub(super) message: String,
    /// Whether the message says only that something has changed.
    pub(super) is_general: bool,
}

/// What applies to the arguments of a tool, or what applies to its results.
pub(super) fn either<T>(side: Side, input: T, output: T) -> T {
    match side {
        Input => input,
        Output => output,
    }
}

/// A name in a message.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", cut(name, QUOTED))
}

/// A value in a message.
pub(super) fn shown(value: &Value) -> String {
    cut(&value.to_string(), QUOTED).into_owned()
}

fn listed(values: &[Value]) -> String {
    let first: Vec<String> = values.iter().take(5).map(shown).collect();
    let more = values.len() - first.len();
    let first = first.join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// `is` after one value, `are` after several.
fn verb<'a>(values: &[Value], singular: &'a str, plural: &'a str) -> &'a str {
    if values.len() == 1 { singular } else { plural }
}

/// What a bound says that is stricter now than it was.
fn tightened(keyword: &str, before: Option<&String>, bound: &str) -> String {
    let before = before.map_or_else(|| "there was none".to_owned(), |before| format!("was {before}"));
    format!("`{keyword}` is now {bound} ({before})")
}

/// What a bound says that was stricter than it is now.
fn loosened(keyword: &str, now: Option<&String>, bound: &str) -> String {
    let now = now.map_or_else(|| "gone".to_owned(), |now| format!("now {now}"));
    format!("`{keyword}` is {now} (was {bound})")
}

/// What breaks a promise: the old arguments that are refused now, or the new results that were ruled out.
pub(super) fn breaking(gap: &Gap, side: Side) -> Wording {
    let Gap { kind, accepted, expected, .. } = gap;
    let name = member(gap).map(quoted).unwrap_or_default();
    let (rule, message) = match (kind, side) {
        (Kind::Null, Input) => ("null-removed", "null is no longer accepted".to_owned()),
        (Kind::Null, Output) => ("result-null-added", "it may be null now".to_owned()),
        (Kind::Type(_), Input) => ("type-changed", format!("was {accepted}, and must be {expected} now")),
        (Kind::Type(_), Output) => ("result-type-changed", format!("was {expected}, and may be {accepted} now")),
        (Kind::Values(values), Input) => {
            ("enum-value-removed", format!("{} {} no longer accepted", listed(values), verb(values, "is", "are")))
        }
        (Kind::Values(values), Output) => ("result-enum-value-added", format!("it may be {} now", listed(values))),
        (Kind::Enum, Input) => ("values-restricted", format!("was {accepted}, and must be {expected} now")),
        (Kind::Enum, Output) => ("result-values-widened", format!("was {expected}, and may be {accepted} now")),
        (Kind::Bound(keyword, was, bound), Input) => ("bound-tightened", tightened(keyword, was.as_ref(), bound)),
        (Kind::Bound(keyword, now, bound), Output) => ("result-bound-loosened", loosened(keyword, now.as_ref(), bound)),
        (Kind::Pattern(pattern), Input) => ("pattern-changed", format!("must match {} now", quoted(pattern))),
        (Kind::Pattern(pattern), Output) => {
            ("result-pattern-changed", format!("need not match {} any more", quoted(pattern)))
        }
        (Kind::Format(format), Input) => ("format-changed", format!("must have the format {} now", quoted(format))),
        (Kind::Format(format), Output) => {
            ("result-format-changed", format!("need not have the format {} any more", quoted(format)))
        }
        (Kind::Required(_, true), Input) => ("parameter-required", format!("{name} is required now")),
        (Kind::Required(_, true), Output) => ("result-field-optional", format!("{name} may be absent now")),
        (Kind::Required(_, false), Input) => ("required-parameter-added", format!("{name} is new and required")),
        (Kind::Required(_, false) | Kind::Unnamed(_), Output) => {
            ("result-field-removed", format!("{name} is no longer promised"))
        }
        (Kind::Unnamed(_), Input) => ("parameter-added", format!("{name} is new and optional")),
        (Kind::Forbidden(_), Input) => ("parameter-removed", format!("{name} is no longer accepted")),
        (Kind::Forbidden(_), Output) => {
            ("result-field-added", format!("{name} may be present now; the old schema ruled it out"))
        }
        (Kind::Closed, Input) => {
            ("unknown-refused", "members that the schema does not name are no longer accepted".to_owned())
        }
        (Kind::Closed, Output) => ("result-opened", "there may be members now that the schema did not name".to_owned()),
        (Kind::Alternatives, Input) => (
            "alternative-removed",
            "some values that were accepted now match none of the alternatives, or more than one".to_owned(),
        ),
        (Kind::Alternatives, Output) => (
            "result-alternative-added",
            "it may match none of the alternatives that were promised, or more than one".to_owned(),
        ),
        (Kind::Rule(keyword), Input) => ("rule-added", format!("`{keyword}` excludes values now")),
        (Kind::Rule(keyword), Output) => {
            ("result-rule-removed", format!("`{keyword}` does not exclude as many values now"))
        }
        (Kind::Budget, Input) => ("too-complex", "the schemas are too complex to compare".to_owned()),
        (Kind::Budget, Output) => ("result-too-complex", "the schemas are too complex to compare".to_owned()),
        (Kind::Omitted(count), Input) => ("more-changes", format!("{count} more places are not shown")),
        (Kind::Omitted(count), Output) => ("result-more-changes", format!("{count} more places are not shown")),
    };
    Wording { rule, pointer: pointer(gap), message, is_general: false }
}

/// What no schema rejects: new arguments that were refused before, or old results that do not occur any more.
pub(super) fn harmless(gap: &Gap, side: Side) -> Wording {
    let Gap { kind, accepted, expected, .. } = gap;
    let name = member(gap).map(quoted).unwrap_or_default();
    let (rule, message) = match (kind, side) {
        (Kind::Null, Input) => ("input-widened", "null is accepted now".to_owned()),
        (Kind::Null, Output) => ("result-narrowed", "it is never null now".to_owned()),
        (Kind::Values(values), Input) => {
            ("enum-value-added", format!("{} {} accepted now", listed(values), verb(values, "is", "are")))
        }
        (Kind::Values(values), Output) => {
            let message = format!("{} no longer {}", listed(values), verb(values, "occurs", "occur"));
            ("result-enum-value-removed", message)
        }
        (Kind::Bound(keyword, now, bound), Input) => ("bound-loosened", loosened(keyword, now.as_ref(), bound)),
        (Kind::Bound(keyword, was, bound), Output) => {
            ("result-bound-tightened", tightened(keyword, was.as_ref(), bound))
        }
        (Kind::Required(_, true), Input) => ("parameter-optional", format!("{name} is optional now")),
        (Kind::Required(_, true), Output) => ("result-field-required", format!("{name} is always present now")),
        (Kind::Forbidden(_), Input) => ("parameter-added", format!("{name} is new and optional")),
        (Kind::Required(_, false) | Kind::Unnamed(_), Output) => ("result-field-added", format!("{name} is new")),
        (Kind::Closed, Input) => {
            ("unknown-accepted", "members that the schema does not name are accepted now".to_owned())
        }
        (Kind::Closed, Output) => {
            ("result-narrowed", "there are no members now that the schema does not name".to_owned())
        }
        (Kind::Omitted(count), Input) => {
            ("input-widened", format!("more values are accepted now at {count} more places, which are not shown"))
        }
        (Kind::Omitted(count), Output) => {
            ("result-narrowed", format!("fewer values occur now at {count} more places, which are not shown"))
        }
        _ => {
            let (rule, message) = match side {
                Input if accepted == expected => ("input-widened", "more values are accepted now".to_owned()),
                Input => ("input-widened", format!("was {expected}, and may be {accepted} now")),
                Output if accepted == expected => ("result-narrowed", "fewer values occur now".to_owned()),
                Output => ("result-narrowed", format!("was {accepted}, and is {expected} now")),
            };
            return Wording { rule, pointer: gap.pointer.clone(), message, is_general: true };
        }
    };
    Wording { rule, pointer: pointer(gap), message, is_general: false }
}

/// The name of the member that the gap is about, if it is about one.
fn member(gap: &Gap) -> Option<&str> {
    match &gap.kind {
        Kind::Required(name, _) | Kind::Forbidden(name) | Kind::Unnamed(name) => Some(name),
        _ => None,
    }
}

/// Where the value is that the gap is about.
pub(super) fn pointer(gap: &Gap) -> String {
    format!("{}{}", gap.pointer, member(gap).map(pointer_to).unwrap_or_default())
}
