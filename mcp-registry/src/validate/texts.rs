//! Texts that match a regular expression of ECMA-262.
//!
//! The common constructs are read. What is looked around for is ignored, so a text may not match: whoever asks verifies it.

#![allow(dead_code, reason = "used by the samples, which are not used yet")]

/// The most parts that a text is made of.
const MAX_STEPS: usize = 1 << 13;
/// How deeply groups are nested.
const MAX_DEPTH: usize = 32;
/// The characters that texts are made of if the pattern allows them, the most readable first.
const READABLE: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. ,:/@#+";

/// A part of a regular expression.
enum Part {
    /// One character of these ranges.
    Class(Vec<(char, char)>),
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    Repeat(Box<Part>, usize, usize),
}

/// A regular expression that texts can be made for.
pub(super) struct Texts(Part);

impl Texts {
    /// Reads a pattern; none if it uses something that texts cannot be made for.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let mut parser = Parser { rest: pattern, depth: 0 };
        let part = parser.choice()?;
        parser.rest.is_empty().then_some(Self(part))
    }

    /// A text. Each variant makes other choices; `extra` is how often a part is repeated beyond what it must be.
    pub(super) fn text(&self, variant: usize, extra: usize) -> String {
        let mut writer = Writer { text: String::new(), variant, steps: MAX_STEPS };
        writer.write(&self.0, extra);
        writer.text
    }
}

struct Writer {
    text: String,
    variant: usize,
    steps: usize,
}

impl Writer {
    fn choose(&mut self, ways: usize) -> usize {
        let way = self.variant % ways.max(1);
        self.variant /= ways.max(1);
        way
    }

    fn write(&mut self, part: &Part, extra: usize) {
        self.steps = self.steps.saturating_sub(1);
        match part {
            Part::Class(ranges) => {
                let is_in = |c: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&c));
                let readable: Vec<char> = READABLE.chars().filter(is_in).collect();
                let other = || ranges.iter().find_map(|(first, last)| (*first..=*last).next());
                let readable = readable.get(self.choose(readable.len())).copied();
                self.text.extend(readable.or_else(other));
            }
            Part::Sequence(parts) => parts.iter().for_each(|part| self.write(part, extra)),
            Part::Choice(parts) => {
                let way = self.choose(parts.len());
                self.write(&parts[way], extra);
            }
            Part::Repeat(part, min, max) => {
                let mut left = min.saturating_add(extra).min(*max);
                while left > 0 && self.steps > 0 {
                    self.write(part, 0);
                    left -= 1;
                }
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn choice(&mut self) -> Option<Part> {
        self.depth += 1;
        let mut parts = vec![self.sequence()?];
        while self.takes("|") {
            parts.push(self.sequence()?);
        }
        self.depth -= 1;
        Some(Part::Choice(parts))
    }

    fn sequence(&mut self) -> Option<Part> {
        let mut parts = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let part = self.atom()?;
            parts.push(self.repeated(part)?);
        }
        Some(Part::Sequence(parts))
    }

    fn atom(&mut self) -> Option<Part> {
        let nothing = || Some(Part::Sequence(Vec::new()));
        Some(Part::Class(match self.next()? {
            '^' | '$' => return nothing(),
            '.' => inverted(vec![('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]),
            '[' => self.class()?,
            '\\' if self.takes("b") || self.takes("B") => return nothing(),
            '\\' => self.escape()?,
            '(' if self.depth < MAX_DEPTH => {
                let is_ignored = ["?=", "?!", "?<=", "?<!"].into_iter().any(|look| self.takes(look));
                if !is_ignored && !self.takes("?:") && self.takes("?<") {
                    self.rest = self.rest.split_once('>')?.1;
                }
                let group = self.choice()?;
                return if !self.takes(")") {
                    None
                } else if is_ignored {
                    nothing()
                } else {
                    Some(group)
                };
            }
            '(' | '*' | '+' | '?' => return None,
            other => vec![(other, other)],
        }))
    }

    fn repeated(&mut self, part: Part) -> Option<Part> {
        let (min, max) = match self.rest.chars().next() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => match self.rest[1..].split_once('}').and_then(|(counts, _)| bounds(counts)) {
                Some(bounds) => {
                    self.rest = self.rest.split_once('}')?.1;
                    self.takes("?");
                    return Some(Part::Repeat(Box::new(part), bounds.0, bounds.1));
                }
                None => return Some(part),
            },
            _ => return Some(part),
        };
        self.next();
        self.takes("?");
        Some(Part::Repeat(Box::new(part), min, max))
    }

    /// The characters of a class, after its bracket.
    fn class(&mut self) -> Option<Vec<(char, char)>> {
        let is_inverted = self.takes("^");
        let mut ranges = Vec::new();
        while !self.takes("]") {
            let first = self.class_item()?;
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            match (&first[..], is_range) {
                (&[(from, to)], true) if from == to => {
                    self.next();
                    let last = self.class_item()?;
                    let [(_, to)] = last[..] else { return None };
                    ranges.push((from, to));
                }
                _ => ranges.extend(first),
            }
        }
        Some(if is_inverted { inverted(ranges) } else { ranges })
    }

    fn class_item(&mut self) -> Option<Vec<(char, char)>> {
        match self.next()? {
            '\\' if self.takes("b") => Some(vec![('\u{8}', '\u{8}')]),
            '\\' => self.escape(),
            other => Some(vec![(other, other)]),
        }
    }

    /// What an escape stands for, after its backslash.
    fn escape(&mut self) -> Option<Vec<(char, char)>> {
        let digits = || vec![('0', '9')];
        let word = || vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
        let space = || vec![(' ', ' '), ('\t', '\r'), ('\u{a0}', '\u{a0}'), ('\u{2028}', '\u{2029}')];
        let one = |c: char| Some(vec![(c, c)]);
        match self.next()? {
            'd' => Some(digits()),
            'D' => Some(inverted(digits())),
            'w' => Some(word()),
            'W' => Some(inverted(word())),
            's' => Some(space()),
            'S' => Some(inverted(space())),
            't' => one('\t'),
            'n' => one('\n'),
            'r' => one('\r'),
            'f' => one('\u{c}'),
            'v' => one('\u{b}'),
            '0' => one('\0'),
            'c' => one(char::from(u8::try_from(self.next()?).ok()? % 32)),
            'x' => self.code(2).and_then(one),
            'u' if self.takes("{") => {
                let (code, rest) = self.rest.split_once('}')?;
                self.rest = rest;
                char::from_u32(u32::from_str_radix(code, 16).ok()?).and_then(one)
            }
            'u' => self.code(4).and_then(one),
            'p' | 'P' | 'k' | '1'..='9' => None,
            other => one(other),
        }
    }

    fn code(&mut self, length: usize) -> Option<char> {
        let code = self.rest.get(..length)?;
        self.rest = &self.rest[length..];
        char::from_u32(u32::from_str_radix(code, 16).ok()?)
    }
}

/// The bounds of a repetition: `2`, `2,` or `2,3`.
fn bounds(counts: &str) -> Option<(usize, usize)> {
    match counts.split_once(',') {
        None => counts.parse().ok().map(|count| (count, count)),
        Some((min, "")) => min.parse().ok().map(|min| (min, usize::MAX)),
        Some((min, max)) => Some((min.parse().ok()?, max.parse().ok()?)),
    }
}

/// The characters in none of the ranges.
fn inverted(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    let mut others = Vec::new();
    let mut next = Some('\0');
    for (first, last) in ranges {
        if let Some(from) = next.filter(|next| *next < first) {
            others.extend((from..first).next_back().map(|to| (from, to)));
        }
        next = next.and_then(|next| (last.max(next)..=char::MAX).nth(usize::from(last >= next)));
    }
    others.extend(next.map(|from| (from, char::MAX)));
    others
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use crate::validate::pattern::Pattern;

    #[test]
    fn texts_match_their_pattern() {
        for pattern in [
            "",
            "abc",
            "^abc$",
            "^[a-z]+$",
            "^[^a-z]{3}$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^(?:foo|bar|)baz?$",
            r"^[A-Z][A-Za-z0-9_-]*(\.[a-z]+){2,}$",
            r"^\w+\s\S\D\W$",
            r"^\x41\u0042\u{43}\/\.\\$",
            r"^[\w.-]+@[\w-]+\.[a-z]{2,}$",
            r"^(?<year>\d+)-(?<name>[^\s\d])$",
            "^[^\\0-~]$",
            r"^a{2}b{0}c{1,2}?d*?$",
            r"^[\]\-^]+$",
            "^.$",
            r"^(https?|ftp)://[^\s/$.?#].[^\s]*$",
            r"^#([0-9a-fA-F]{3}){1,2}$",
        ] {
            let matcher = Pattern::new(pattern).unwrap();
            let texts = Texts::new(pattern).unwrap_or_else(|| panic!("{pattern}"));
            for variant in 0..40 {
                for extra in [0, 1, 5] {
                    let text = texts.text(variant, extra);
                    assert!(matcher.is_match(&text), "{pattern}: {text:?}");
                }
            }
        }
        let colors = Texts::new("^(red|green)$").unwrap();
        assert_eq!([colors.text(0, 0), colors.text(1, 0)], ["red", "green"]);
        assert_eq!(Texts::new("^a+$").unwrap().text(0, 3), "aaaa");
        for unsupported in [r"\p{L}", r"(a)\1", "(", "a)", "[a", "*"] {
            assert!(Texts::new(unsupported).is_none(), "{unsupported}");
        }
    }
}
