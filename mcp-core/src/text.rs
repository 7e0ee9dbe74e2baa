//! Showing what came in: errors quote the sender's text, but never more of it than a line.

use std::borrow::Cow;

/// The most characters of foreign text that an error shows.
const SHOWN: usize = 64;

/// The text, or its beginning and its size if it is long.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}… ({} bytes)", &text[..end], text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn short_text_is_shown_as_it_is() {
        assert_eq!(shown("zwölf"), "zwölf");
        assert_eq!(shown(&"é".repeat(64)), "é".repeat(64));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shown(&"é".repeat(65)), format!("{}… (130 bytes)", "é".repeat(64)));
    }
}
