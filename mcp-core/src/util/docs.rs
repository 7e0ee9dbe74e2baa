//! Splits doc comments at compile time: those whose text only the compiler knows, as in `#[doc = include_str!("…")]`, and those
//! that need more than the attribute does itself. It splits simple ones, which is much faster.

use std::fmt;

/// The headings that begin a section wherever they are. Others may be in a section, below its heading.
const SECTIONS: [&str; 7] = ["Arguments", "Parameters", "Errors", "Idempotency", "Security", "Examples", "Migration"];

/// Returns the text without surrounding whitespace.
pub const fn trimmed(text: &'static str) -> &'static str {
    part(text, 0, text.len())
}

/// Returns the text before the first heading.
pub const fn description(text: &'static str) -> &'static str {
    let end = match heading(text, 0) {
        Some(heading) => heading.line,
        None => text.len(),
    };
    part(text, 0, end)
}

/// Returns the number of sections, without the list of arguments.
pub const fn count(text: &'static str) -> usize {
    let (mut count, mut next) = (0, heading(text, 0));
    while let Some(heading) = next {
        if !heading.lists_arguments(text) {
            count += 1;
        }
        next = heading.next_section(text);
    }
    count
}

/// Returns the sections by heading, without the list of arguments.
pub const fn sections<const N: usize>(text: &'static str) -> [(&'static str, &'static str); N] {
    let mut sections = [("", ""); N];
    let (mut index, mut next) = (0, heading(text, 0));
    while let Some(heading) = next {
        if !heading.lists_arguments(text) {
            sections[index] = (heading.title(text), heading.section(text));
            index += 1;
        }
        next = heading.next_section(text);
    }
    sections
}

/// Returns the description of an argument from the list of arguments; empty if there is none.
pub const fn argument(text: &'static str, name: &str) -> &'static str {
    let mut next = heading(text, 0);
    while let Some(heading) = next {
        if heading.lists_arguments(text) {
            return item(heading.section(text), name);
        }
        next = heading.next_section(text);
    }
    ""
}

/// The fence of a code block: its character, and how often it is repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fence(u8, usize);

impl Fence {
    /// Returns the fence of the code block that is open after a line, given the one that is open before it.
    pub const fn after(open: Option<Self>, line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let mut length = 0;
        while length < line.len() && matches!(line[length], b'`' | b'~') && line[length] == line[0] {
            length += 1;
        }
        match open {
            Some(Self(mark, least)) if length >= least && line[0] == mark && length == line.len() => None,
            None if length >= 3 && !is_inline(line, length) => Some(Self(line[0], length)),
            open => open,
        }
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&char::from(self.0).to_string().repeat(self.1))
    }
}

/// Whether a line that starts with backticks has further ones, as in "```x```".
const fn is_inline(line: &[u8], mut at: usize) -> bool {
    while at < line.len() && line[0] == b'`' {
        if line[at] == b'`' {
            return true;
        }
        at += 1;
    }
    false
}

struct Heading {
    /// Where its first line starts.
    line: usize,
    /// Where its title starts.
    title: usize,
    /// Where its title ends.
    title_end: usize,
    /// Where its last line ends.
    end: usize,
    /// How deep it is: 1 for `#`.
    level: usize,
}

impl Heading {
    const fn title(&self, text: &'static str) -> &'static str {
        part(text, self.title, self.title_end)
    }

    /// Returns the text up to the next section.
    const fn section(&self, text: &'static str) -> &'static str {
        let end = match self.next_section(text) {
            Some(next) => next.line,
            None => text.len(),
        };
        part(text, self.end, end)
    }

    const fn lists_arguments(&self, text: &'static str) -> bool {
        let title = self.title(text);
        equal(title, SECTIONS[0]) || equal(title, SECTIONS[1])
    }

    /// Returns the heading that ends this section.
    const fn next_section(&self, text: &'static str) -> Option<Self> {
        let mut at = self.end;
        while let Some(next) = heading(text, at) {
            let mut is_section = next.level <= self.level || self.lists_arguments(text);
            let mut index = 0;
            while index < SECTIONS.len() {
                is_section |= equal(next.title(text), SECTIONS[index]);
                index += 1;
            }
            if is_section {
                return Some(next);
            }
            at = next.end;
        }
        None
    }
}

/// Returns the first heading from a position on that is not in a code block.
const fn heading(text: &'static str, mut at: usize) -> Option<Heading> {
    let bytes = text.as_bytes();
    let (mut fence, mut after_empty_line) = (None, false);
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let start = after_all(bytes, at, b' ');
        let line = between(bytes, at, end);
        let is_code = fence.is_some();
        fence = Fence::after(fence, line);
        // The line may still start with the space after `///`.
        if !is_code && fence.is_none() && start <= at + 1 && start < end {
            let mut title = start;
            while title < end && bytes[title] == b'#' {
                title += 1;
            }
            if title > start && title < end && bytes[title] == b' ' {
                return Some(Heading { line: at, title, title_end: end, end, level: title - start });
            }
            // A title of one line, and a line of `=` or `-`.
            let is_title = after_empty_line && (bytes[start].is_ascii_alphabetic() || !bytes[start].is_ascii());
            if let (true, Some(level)) = (is_title, underline(bytes, end + 1)) {
                let last = line_end(bytes, end + 1);
                return Some(Heading { line: at, title: start, title_end: end, end: last, level });
            }
        }
        after_empty_line = line.is_empty();
        at = end + 1;
    }
    None
}

/// Returns the level of the heading that a line underlines, if it does.
const fn underline(bytes: &[u8], at: usize) -> Option<usize> {
    if at >= bytes.len() {
        return None;
    }
    let line = between(bytes, at, line_end(bytes, at));
    let mut index = 0;
    while index < line.len() && line[index] == line[0] {
        index += 1;
    }
    match line {
        [b'=', ..] if index == line.len() => Some(1),
        [b'-', ..] if index == line.len() => Some(2),
        _ => None,
    }
}

/// Returns the text of the list item for a name: ``- `name`: text``, `* name - text`, with its continuation lines.
const fn item(text: &'static str, name: &str) -> &'static str {
    let (bytes, end) = (text.as_bytes(), text.len());
    let (mut found, mut at) = (end, 0);
    while at < end {
        let bullet = after_all(bytes, at, b' ');
        if bullet <= at + 1 && (starts_with(bytes, bullet, b"- ") || starts_with(bytes, bullet, b"* ")) {
            if found < end {
                return part(text, found, at);
            }
            found = description_start(bytes, bullet + 2, end, name.as_bytes());
        }
        at = line_end(bytes, at) + 1;
    }
    part(text, found, end)
}

/// Returns where the description in an item starts, or `end` if the item has another name.
const fn description_start(bytes: &[u8], mut at: usize, end: usize, name: &[u8]) -> usize {
    at = after_all(bytes, at, b'`');
    if !starts_with(bytes, at, name) {
        return end;
    }
    at += name.len();
    if at < end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
        return end;
    }
    // One separator at most: what follows, such as a minus sign or code, is part of the description.
    at = after_all(bytes, after_all(bytes, at, b'`'), b' ');
    if at < end && matches!(bytes[at], b':' | b'-') {
        at += 1;
    } else if starts_with(bytes, at, "–".as_bytes()) || starts_with(bytes, at, "—".as_bytes()) {
        at += "–".len();
    }
    after_all(bytes, at, b' ')
}

const fn part(text: &'static str, start: usize, end: usize) -> &'static str {
    match std::str::from_utf8(between(text.as_bytes(), start, end)) {
        Ok(part) => part,
        Err(_) => panic!("doc comments are split at character boundaries"),
    }
}

/// Returns the bytes between two positions, without surrounding whitespace.
const fn between(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    let (before, _) = bytes.split_at(end);
    let (_, part) = before.split_at(start);
    part.trim_ascii()
}

const fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at += 1;
    }
    at
}

/// Returns where a run of a character ends, which may be empty.
const fn after_all(bytes: &[u8], mut at: usize, character: u8) -> usize {
    while at < bytes.len() && bytes[at] == character {
        at += 1;
    }
    at
}

const fn starts_with(bytes: &[u8], at: usize, expected: &[u8]) -> bool {
    let mut index = 0;
    while index < expected.len() {
        if at + index >= bytes.len() || bytes[at + index] != expected[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Whether two texts differ in the case of ASCII letters at most.
const fn equal(text: &str, other: &str) -> bool {
    let (text, other) = (text.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < text.len() && index < other.len() && text[index].eq_ignore_ascii_case(&other[index]) {
        index += 1;
    }
    index == text.len() && index == other.len()
}

#[cfg(test)]
mod tests {
    use super::{argument, count, description, sections, trimmed};

    #[test]
    fn text_without_a_heading_is_the_description() {
        for text in ["", "\n", "Reads.", " Reads.\n#no heading\n    # code\n"] {
            assert_eq!((description(text), count(text)), (text.trim(), 0));
            assert_eq!(argument(text, "a"), "");
        }
        assert_eq!(trimmed(" # é \r\n"), "# é");
    }

    #[test]
    fn sections_end_at_the_next_heading() {
        const TEXT: &str = "# Errors\r\nNone.\n# Arguments\n- a: b\n## é\n```\n# x\n```\n# Last";
        assert_eq!(description(TEXT), "");
        assert_eq!(sections::<{ count(TEXT) }>(TEXT), [("Errors", "None."), ("é", "```\n# x\n```"), ("Last", "")]);
    }

    #[test]
    fn a_deeper_heading_belongs_to_its_section_unless_it_is_a_known_one() {
        const TEXT: &str =
            "A.\n# Errors\n- a\n## Rare\n- b\n### Very\n- c\n## security\nNone.\n### More\nd\n# Notes\ne";
        let rare = "- a\n## Rare\n- b\n### Very\n- c";
        let expected = [("Errors", rare), ("security", "None.\n### More\nd"), ("Notes", "e")];
        assert_eq!(sections::<{ count(TEXT) }>(TEXT), expected);
    }

    #[test]
    fn an_underlined_line_after_an_empty_one_is_a_heading() {
        const TEXT: &str =
            "Reads.\n---\n- a\n---\n\n| b |\n---\n\ntwo\nlines\n---\n\nErrors\n------\nNone.\n\nÉnd\n===\nx";
        assert_eq!(description(TEXT), "Reads.\n---\n- a\n---\n\n| b |\n---\n\ntwo\nlines\n---");
        assert_eq!(sections::<{ count(TEXT) }>(TEXT), [("Errors", "None."), ("Énd", "x")]);
    }

    #[test]
    fn a_code_block_ends_at_a_fence_of_its_kind_that_is_as_long() {
        const TEXT: &str = "A.\n~~~\n# a\n```\n# b\n~~~\n````md\n```\n# c\n```\n````\n```d```\n# Errors\n```\n# e\n~~~";
        assert_eq!(sections::<{ count(TEXT) }>(TEXT), [("Errors", "```\n# e\n~~~")]);
    }

    #[test]
    fn arguments_are_found_by_name() {
        let text = "A.\n# Parameters\n- `ab`: of two\n  lines\n\n* a – of one\n- c\n# More\n- d: no";
        let found = ["ab", "a", "c", "d", "b"].map(|name| argument(text, name));
        assert_eq!(found, ["of two\n  lines", "of one", "", "", ""]);
    }

    #[test]
    fn the_text_of_an_argument_starts_after_one_separator() {
        let text =
            "# Arguments\n- `format`: `json` or `text`\n- `offset`: -1 means the end\n- a — - b\n- `c` `d`\n- e–:f";
        let found = ["format", "offset", "a", "c", "e"].map(|name| argument(text, name));
        assert_eq!(found, ["`json` or `text`", "-1 means the end", "- b", "`d`", ":f"]);
    }
}
