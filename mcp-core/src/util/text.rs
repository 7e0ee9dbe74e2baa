//! Quotes input in error messages: on one line, truncated, with escapes for what controls the display.

use std::borrow::Cow;
use std::ops::Deref;

use serde::Deserialize;

/// Implements `Display` through a method that returns the text.
macro_rules! display_as {
    ($type:ident, $name:ident) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.$name())
            }
        }
    };
}
pub(crate) use display_as;

/// Implements `Display`, `Serialize` and comparison with `str` through a method that returns the text.
macro_rules! string_like {
    ($type:ident, $name:ident) => {
        $crate::util::text::display_as!($type, $name);

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
pub(crate) use string_like;

/// The maximum number of bytes of input that an error quotes.
const MAX_QUOTED: usize = 64;

/// A string that is borrowed unless it has escapes.
#[derive(Clone, Deserialize, PartialEq)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Returns the text on one line; if it is long, its start and its size.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    cut(text, MAX_QUOTED)
}

/// Returns the text on one line; if it is longer than `limit`, its start and its size.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    let start = prefix(text, limit);
    let line = escape_control(start);
    if start.len() == text.len() { line } else { Cow::Owned(format!("{line}… ({} bytes)", text.len())) }
}

/// Truncates the text to `limit` bytes, which includes a note.
pub fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let note = format!("… (shortened from {} bytes)", text.len());
    Cow::Owned(format!("{}{note}", prefix(text, limit.saturating_sub(note.len()))))
}

/// Returns at most the first `limit` bytes of the text, without splitting a character.
pub fn prefix(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// Escapes control characters, and others that change how the text around them is shown.
fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().flat_map(|c| {
        let escape = is_control(c).then(|| c.escape_default());
        let unescaped = (!is_control(c)).then_some(c);
        escape.into_iter().flatten().chain(unescaped)
    });
    Cow::Owned(escaped.collect())
}

/// Whether a character begins a line, changes the direction of the text, or is not visible. Joiners, which some scripts and
/// emoji need, are none of these.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the items whose names are similar to an unknown name, the most similar first.
pub fn nearest<'a, T>(unknown: &str, known: impl IntoIterator<Item = (&'a str, T)>) -> Vec<T> {
    let scored = known.into_iter().filter_map(|(name, item)| Some((similarity(name, unknown)?, item)));
    let mut scored: Vec<(f64, T)> = scored.collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.into_iter().map(|(_, item)| item).collect()
}

/// Returns how similar two names are; `None` if they are not.
fn similarity(known: &str, name: &str) -> Option<f64> {
    let (short, long) = (known.len().min(name.len()), known.len().max(name.len()));
    if long - short > 3.max(long / 3) {
        return None;
    }
    let similarity = strsim::jaro_winkler(known, name);
    let max_typos = match long {
        0..3 => 0,
        3..6 => 1,
        _ => 2,
    };
    (similarity > 0.85 || strsim::osa_distance(known, name) <= max_typos).then_some(similarity)
}

/// Escapes a step of a JSON Pointer.
pub fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::{cut, shown};

    #[test]
    fn short_text_is_shown_unchanged() {
        assert_eq!(shown("zwölf"), "zwölf");
        assert_eq!(shown(&"n".repeat(64)), "n".repeat(64));
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        assert_eq!(shown(&format!("{}éé", "n".repeat(63))), format!("{}… (67 bytes)", "n".repeat(63)));
        assert_eq!(cut("éa", 1), "… (3 bytes)");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a\n[INFO] forged\u{1b}[2J"), "a\\n[INFO] forged\\u{1b}[2J");
    }

    #[test]
    fn characters_that_change_how_the_text_around_them_is_shown_are_escaped() {
        assert_eq!(shown("a\u{202e}b\u{2028}c\u{feff}"), "a\\u{202e}b\\u{2028}c\\u{feff}");
        // Scripts and emoji need these.
        assert_eq!(shown("می\u{200c}خواهم 👩\u{200d}🚀 e\u{301}"), "می\u{200c}خواهم 👩\u{200d}🚀 e\u{301}");
    }
}
