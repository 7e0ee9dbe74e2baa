//! Showing what came in: errors quote the sender's text, but never more of it than a line, and nothing that moves a cursor.

use std::borrow::Cow;
use std::ops::Deref;

use serde::Deserialize;

/// Shows a type as its name, which is what a method of it returns.
macro_rules! shown_as {
    ($type:ident, $name:ident) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.$name())
            }
        }
    };
}
pub(crate) use shown_as;

/// Shows, writes and compares a type as its name, which is what a method of it returns.
macro_rules! same_as {
    ($type:ident, $name:ident) => {
        $crate::util::text::shown_as!($type, $name);

        impl PartialEq<str> for $type {
            fn eq(&self, other: &str) -> bool {
                self.$name() == other
            }
        }

        impl PartialEq<&str> for $type {
            fn eq(&self, other: &&str) -> bool {
                self.$name() == *other
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.$name())
            }
        }
    };
}
pub(crate) use same_as;

/// The most bytes of foreign text that an error shows.
const SHOWN: usize = 64;

/// A string, borrowed unless it has escapes.
#[derive(Clone, Deserialize, PartialEq)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The text on one line, or its beginning and its size if it is long.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    cut(text, SHOWN)
}

/// The text on one line, or its first `limit` bytes and its size.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    let start = prefix(text, limit);
    let line = plain(start);
    if start.len() == text.len() { line } else { Cow::Owned(format!("{line}… ({} bytes)", text.len())) }
}

/// The text, or its first `limit` bytes and a note.
pub fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}… (shortened from {} bytes)", prefix(text, limit), text.len()))
}

/// The first `limit` bytes of the text, or less: characters stay whole.
pub fn prefix(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// The text with control characters escaped.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().flat_map(|c| {
        let escape = c.is_control().then(|| c.escape_default());
        let same = (!c.is_control()).then_some(c);
        escape.into_iter().flatten().chain(same)
    });
    Cow::Owned(escaped.collect())
}

/// What belongs to the known names that are most like one that is unknown, the most similar first.
pub fn nearest<'a, T>(unknown: &str, known: impl IntoIterator<Item = (&'a str, T)>) -> Vec<T> {
    let scored = known.into_iter().filter_map(|(name, item)| Some((similarity(name, unknown)?, item)));
    let mut scored: Vec<(f64, T)> = scored.collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.into_iter().map(|(_, item)| item).collect()
}

/// How much alike two names are, if they are.
fn similarity(known: &str, name: &str) -> Option<f64> {
    let (short, long) = (known.len().min(name.len()), known.len().max(name.len()));
    if long - short > 3.max(long / 3) {
        return None;
    }
    let alike = strsim::jaro_winkler(known, name);
    let slips = match long {
        0..3 => 0,
        3..6 => 1,
        _ => 2,
    };
    (alike > 0.85 || strsim::osa_distance(known, name) <= slips).then_some(alike)
}

/// A step of a JSON Pointer.
pub fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::{cut, shown};

    #[test]
    fn short_text_is_shown_as_it_is() {
        assert_eq!(shown("zwölf"), "zwölf");
        assert_eq!(shown(&"n".repeat(64)), "n".repeat(64));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shown(&format!("{}éé", "n".repeat(63))), format!("{}… (67 bytes)", "n".repeat(63)));
        assert_eq!(cut("éa", 1), "… (3 bytes)");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a\n[INFO] forged\u{1b}[2J"), "a\\n[INFO] forged\\u{1b}[2J");
    }
}
