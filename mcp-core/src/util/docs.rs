//! Doc comments that are known to the compiler alone, such as `#[doc = include_str!("…")]`, taken apart while it
//! compiles. Those that are written out are taken apart by the attribute.

/// The text without the white space around it.
pub const fn trimmed(text: &'static str) -> &'static str {
    part(text, 0, text.len())
}

/// What stands before the first heading.
pub const fn description(text: &'static str) -> &'static str {
    let end = match heading(text, 0) {
        Some(heading) => heading.line,
        None => text.len(),
    };
    part(text, 0, end)
}

/// How many sections there are, without the list of arguments.
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

/// The sections by heading, without the list of arguments.
pub const fn sections<const N: usize>(text: &'static str) -> [(&'static str, &'static str); N] {
    let mut sections = [("", ""); N];
    let (mut index, mut at) = (0, 0);
    while let Some(heading) = heading(text, at) {
        if !heading.lists_arguments(text) {
            sections[index] =
                (part(text, heading.words, heading.end), part(text, heading.end, heading.section_end(text)));
            index += 1;
        }
        at = heading.end;
    }
    sections
}

/// What the list of arguments says about one of them.
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
    /// Where its line begins.
    line: usize,
    /// Where its words begin.
    words: usize,
    /// Where its line ends.
    end: usize,
}

impl Heading {
    const fn lists_arguments(&self, text: &'static str) -> bool {
        let words = part(text, self.words, self.end).as_bytes();
        same(words, b"Arguments") || same(words, b"Parameters")
    }

    const fn section_end(&self, text: &str) -> usize {
        match heading(text, self.end) {
            Some(next) => next.line,
            None => text.len(),
        }
    }
}

/// The first heading after a place, which is not in code.
const fn heading(text: &str, mut at: usize) -> Option<Heading> {
    let bytes = text.as_bytes();
    let mut in_code = false;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let start = after_spaces(bytes, at);
        if starts_with(bytes, start, b"```") {
            in_code = !in_code;
        }
        let mut words = start;
        while words < end && bytes[words] == b'#' {
            words += 1;
        }
        // The space after `///` may still be there.
        if !in_code && start <= at + 1 && words > start && words < end && bytes[words] == b' ' {
            return Some(Heading { line: at, words, end });
        }
        at = end + 1;
    }
    None
}

/// The item of a list that is about a name: ``- `name`: text``, `* name - text`, with lines that go on.
const fn item(text: &'static str, start: usize, end: usize, name: &str) -> &'static str {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (end, start);
    while at < end {
        let words = after_spaces(bytes, at);
        if words <= at + 1 && (starts_with(bytes, words, b"- ") || starts_with(bytes, words, b"* ")) {
            if found < end {
                return part(text, found, at);
            }
            found = described(bytes, words + 2, end, name.as_bytes());
        }
        at = line_end(bytes, at) + 1;
    }
    part(text, found, end)
}

/// Where the words about a name begin, or the end.
const fn described(bytes: &[u8], mut at: usize, end: usize, name: &[u8]) -> usize {
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
        Err(_) => panic!("a part of a doc comment begins and ends with a character"),
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

const fn same(bytes: &[u8], expected: &[u8]) -> bool {
    bytes.len() == expected.len() && starts_with(bytes, 0, expected)
}

#[cfg(test)]
mod tests {
    use super::{argument, count, description, sections, trimmed};

    #[test]
    fn what_has_no_heading_is_a_description() {
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
    fn an_item_of_the_list_is_found_by_its_name() {
        let text = "A.\n# Parameters\n- `ab`: of two\n  lines\n\n* a – of one\n- c\n# More\n- d: no";
        let found = ["ab", "a", "c", "d", "b"].map(|name| argument(text, name));
        assert_eq!(found, ["of two\n  lines", "of one", "", "", ""]);
    }
}
