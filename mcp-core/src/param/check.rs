//! Whether an argument keeps to its constraints, seen from its JSON: no type needs to know of them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Display;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Bound, Constraint};

impl Constraint {
    /// The key of `#[arg(…)]` that sets it, and the types of JSON Schema that it fits.
    pub fn key(&self) -> (&'static str, &'static [&'static str]) {
        const NUMBER: &[&str] = &["integer", "number"];
        const LIST: &[&str] = &["array"];
        const TEXT: &[&str] = &["string"];
        match self {
            Self::Min(_) => ("min", NUMBER),
            Self::Max(_) => ("max", NUMBER),
            Self::MinItems(_) => ("min_items", LIST),
            Self::MaxItems(_) => ("max_items", LIST),
            Self::MinLength(_) => ("min_length", TEXT),
            Self::MaxLength(_) => ("max_length", TEXT),
            Self::Pattern(_) => ("pattern", TEXT),
            Self::Format(_) => ("format", TEXT),
            Self::OneOf(_) => ("one_of", TEXT),
        }
    }

    /// What the constraint wants, in words.
    pub fn expected(&self) -> String {
        match *self {
            Self::Min(bound) => format!("a number of at least {}", text(bound)),
            Self::Max(bound) => format!("a number of at most {}", text(bound)),
            Self::MinLength(least) => format!("a text of at least {}", counted(least, "character")),
            Self::MaxLength(most) => format!("a text of at most {}", counted(most, "character")),
            Self::MinItems(least) => format!("a list of at least {}", counted(least, "item")),
            Self::MaxItems(most) => format!("a list of at most {}", counted(most, "item")),
            Self::Pattern(pattern) => matching(pattern),
            Self::Format(format) => formatted(format),
            Self::OneOf(values) => listed(values),
        }
    }

    /// What the constraint wants, if a JSON value does not keep to it. As in a schema, a bound says nothing of values of
    /// another type. (`pattern` and `format` are not looked at: they are for a validator of schemas.)
    pub fn broken(&self, json: &str) -> Option<String> {
        is_broken(self, json).then(|| self.expected())
    }
}

fn is_broken(constraint: &Constraint, json: &str) -> bool {
    match *constraint {
        Constraint::Min(bound) => compare(json, bound) == Some(Ordering::Less),
        Constraint::Max(bound) => compare(json, bound) == Some(Ordering::Greater),
        Constraint::MinLength(_) | Constraint::MaxLength(_) if is_unreadable(json) => true,
        Constraint::MinLength(least) => characters(json).is_some_and(|count| count < least),
        Constraint::MaxLength(most) => characters(json).is_some_and(|count| count > most),
        Constraint::MinItems(least) => items(json).is_some_and(|count| count < least),
        Constraint::MaxItems(most) => items(json).is_some_and(|count| count > most),
        Constraint::OneOf(values) => json != "null" && !string(json).is_some_and(|value| values.contains(&&*value)),
        Constraint::Pattern(_) | Constraint::Format(_) => false,
    }
}

fn compare(json: &str, bound: Bound) -> Option<Ordering> {
    if !json.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    #[allow(clippy::cast_precision_loss, reason = "one of the two is a float already, or beyond any integer")]
    match (bound, json.parse::<i128>()) {
        (Bound::Int(bound), Ok(value)) => Some(value.cmp(&bound)),
        (Bound::Int(bound), Err(_)) => json.parse::<f64>().ok()?.partial_cmp(&(bound as f64)),
        (Bound::Float(bound), _) => json.parse::<f64>().ok()?.partial_cmp(&bound),
    }
}

fn text(bound: Bound) -> String {
    match bound {
        Bound::Int(bound) => bound.to_string(),
        Bound::Float(bound) => bound.to_string(),
    }
}

/// `1 item`, `2 items`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What one of several values is called.
pub fn listed<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| format!("`{value}`")).collect();
    format!("one of {}", values.join(", "))
}

/// What a text that matches a regular expression is called.
pub fn matching(pattern: &str) -> String {
    format!("a text that matches `{pattern}`")
}

/// What a text of a format is called.
pub fn formatted(format: &str) -> String {
    format!("a text of the format `{format}`")
}

/// The text of a JSON string.
fn string(json: &str) -> Option<Cow<'_, str>> {
    let plain = json.strip_prefix('"')?.strip_suffix('"')?;
    if plain.contains('\\') { serde_json::from_str(json).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(plain)) }
}

/// Whether it is a string that no text can hold, such as a lone surrogate. A type may read it as bytes; its length cannot
/// be checked.
fn is_unreadable(json: &str) -> bool {
    json.starts_with('"') && string(json).is_none()
}

fn characters(json: &str) -> Option<u64> {
    string(json).map(|text| text.chars().count() as u64)
}

fn items(json: &str) -> Option<u64> {
    if !json.starts_with('[') {
        return None;
    }
    Vec::<IgnoredAny>::deserialize(&mut serde_json::Deserializer::from_str(json)).ok().map(|items| items.len() as u64)
}

#[cfg(test)]
mod tests {
    use crate::param::{Bound, Constraint};

    fn fits(constraint: Constraint, json: &str) -> bool {
        constraint.broken(json).is_none()
    }

    #[test]
    fn numbers_are_compared_exactly() {
        let max = Constraint::Max(Bound::Int(i128::from(u64::MAX) - 1));
        assert!(fits(max, "18446744073709551614"));
        assert!(!fits(max, "18446744073709551615"));
        assert!(!fits(max, "1e30"));
        assert!(fits(max, "-1e30"));
        assert!(fits(Constraint::Min(Bound::Float(0.5)), "0.5"));
        assert!(!fits(Constraint::Min(Bound::Float(0.5)), "0"));
        assert!(!fits(Constraint::Min(Bound::Int(1)), "0.999"));
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert!(fits(Constraint::MaxLength(2), r#""éé""#));
        assert!(fits(Constraint::MaxLength(2), r#""\ud83d\ude00\n""#));
        assert!(!fits(Constraint::MinLength(3), r#""\u0061\"""#));
    }

    #[test]
    fn a_string_whose_length_cannot_be_told_does_not_fit() {
        assert!(!fits(Constraint::MaxLength(9), r#""\ud800""#));
        assert!(!fits(Constraint::MinLength(0), r#""\ud800""#));
    }

    #[test]
    fn items_are_counted_at_the_top() {
        assert!(fits(Constraint::MaxItems(2), "[[1, 2, 3], {\"a\": [4]}]"));
        assert!(!fits(Constraint::MinItems(1), "[ ]"));
    }

    #[test]
    fn other_types_are_not_bound() {
        assert!(fits(Constraint::Min(Bound::Int(1)), "\"a\""));
        assert!(fits(Constraint::MinLength(1), "[]"));
        assert!(fits(Constraint::MinItems(1), "null"));
        assert!(fits(Constraint::OneOf(&["a"]), "null"));
        assert!(!fits(Constraint::OneOf(&["a"]), "1"));
        assert!(fits(Constraint::OneOf(&["a"]), r#""\u0061""#));
    }
}
