//! Splits doc comments at compile time if only the compiler knows their text, as in `#[doc = include_str!("…")]`.
//! The attribute splits literal ones itself.

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
    let (mut count, mut at) = (0, 0);
    while let Some(heading) = heading(text, at) {
        if !heading.lists_arguments(text) {
            count += 1;
        }
        at = heading.end;
    }
    count
}

/// Returns the sections by heading, without the list of arguments.
pub const fn sections<const N: usize>(text: &'static str) -> [(&'static str, &'static str); N] {
    let mut sections = [("", ""); N];
    let (mut index, mut at) = (0, 0);
    while let Some(heading) = heading(text, at) {
        if !heading.lists_arguments(text) {
            sections[index] =
                (part(text, heading.title, heading.end), part(text, heading.end, heading.section_end(text)));
            index += 1;
        }
        at = heading.end;
    }
    sections
}

/// Returns the description of an argument from the list of arguments; empty if there is none.
pub const fn argument(text: &'static str, name: &str) -> &'static str {
    let mut at = 0;
    while let Some(heading) = heading(text, at) {
        if heading.lists_arguments(text) {
            return item(text, heading.end, heading.section_end(text), name);
        }
        at = heading.end;
    }
    ""
}

struct Heading {
    /// Where its line starts.
    line: usize,
    /// Where its title starts.
    title: usize,
    /// Where its line ends.
    end: usize,
}

impl Heading {
    const fn lists_arguments(&self, text: &'static str) -> bool {
        let title = part(text, self.title, self.end).as_bytes();
        equal(title, b"Arguments") || equal(title, b"Parameters")
    }

    const fn section_end(&self, text: &str) -> usize {
        match heading(text, self.end) {
            Some(next) => next.line,
            None => text.len(),
        }
    }
}

/// Returns the first heading from a position on that is not in a code block.
const fn heading(text: &str, mut at: usize) -> Option<Heading> {
    let bytes = text.as_bytes();
    let mut in_code = false;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let start = after_spaces(bytes, at);
        if starts_with(bytes, start, b"```") {
            in_code = !in_code;
        }
        let mut title = start;
        while title < end && bytes[title] == b'#' {
            title += 1;
        }
        // The line may still start with the space after `///`.
        if !in_code && start <= at + 1 && title > start && title < end && bytes[title] == b' ' {
            return Some(Heading { line: at, title, end });
        }
        at = end + 1;
    }
    None
}

/// Returns the text of the list item for a name: ``- `name`: text``, `* name - text`, with its continuation lines.
const fn item(text: &'static str, start: usize, end: usize, name: &str) -> &'static str {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (end, start);
    while at < end {
        let bullet = after_spaces(bytes, at);
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
    while at < end && bytes[at] == b'`' {
        at += 1;
    }
    if !starts_with(bytes, at, name) {
        return end;
    }
    at += name.len();
    if at < end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
        return end;
    }
    while at < end {
        if matches!(bytes[at], b'`' | b' ' | b':' | b'-') {
            at += 1;
        } else if starts_with(bytes, at, "–".as_bytes()) || starts_with(bytes, at, "—".as_bytes()) {
            at += "–".len();
        } else {
            return at;
        }
    }
    end
}

const fn part(text: &'static str, start: usize, end: usize) -> &'static str {
    let (before, _) = text.as_bytes().split_at(end);
    let (_, part) = before.split_at(start);
    match std::str::from_utf8(part.trim_ascii()) {
        Ok(part) => part,
        Err(_) => panic!("doc comments are split at character boundaries"),
    }
}

const fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at += 1;
    }
    at
}

const fn after_spaces(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] == b' ' {
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

const fn equal(bytes: &[u8], expected: &[u8]) -> bool {
    bytes.len() == expected.len() && starts_with(bytes, 0, expected)
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
    fn arguments_are_found_by_name() {
        let text = "A.\n# Parameters\n- `ab`: of two\n  lines\n\n* a – of one\n- c\n# More\n- d: no";
        let found = ["ab", "a", "c", "d", "b"].map(|name| argument(text, name));
        assert_eq!(found, ["of two\n  lines", "of one", "", "", ""]);
    }
}
