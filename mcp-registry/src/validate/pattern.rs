//! Regular expressions of JSON Schema, which are those of ECMA-262, on `regex-lite`.
//!
//! A pattern is translated: its characters and classes are written as code points, so that nothing in them has a special
//! meaning to `regex-lite`, and groups do not capture. The syntax is that of the flag `u`, and in addition that of
//! Annex B where `{`, `}`, `]`, and `-` beside a class as in `[\w-.]`, are literals.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use regex_lite::{Regex, RegexBuilder};

/// A compiled pattern. Matching takes time linear in the text.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Regex);

/// An inclusive range of code points.
type Range = (u32, u32);

/// The limit of the compiled pattern, in bytes. It bounds the time to compile too: `[a-z]{1,10000}` fits.
const MAX_BYTES: usize = 1 << 20;
/// How deeply alternatives, sequences and repetitions are nested.
const MAX_DEPTH: u32 = 100;

const TOO_LARGE: &str = "is too large when compiled; use smaller repetition counts, or `maxLength` to limit the length";

const DIGITS: &[Range] = &[(0x30, 0x39)];
const WORD: &[Range] = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
const SPACE: &[Range] = &[
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
];
const LINE_ENDS: &[Range] = &[(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)];
const LAST: u32 = char::MAX as u32;

impl Pattern {
    /// Compiles a pattern. The error says what is wrong with it, and continues a sentence: "the pattern …".
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let translated = translate(pattern)?;
        let built = RegexBuilder::new(&translated).size_limit(MAX_BYTES).nest_limit(MAX_DEPTH).build();
        built.map(Self).map_err(|error| match error.to_string().as_str() {
            "compiled regex exceeded size limit" => TOO_LARGE.to_owned(),
            "pattern has too much nesting" => "is nested too deeply; nest fewer groups".to_owned(),
            reason => invalid(reason),
        })
    }

    /// Whether the pattern matches a part of the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn invalid(reason: &str) -> String {
    format!("is not a regular expression: {reason}")
}

fn unsupported(kind: &str, construct: &str, advice: &str) -> String {
    format!("uses {kind} `{construct}`, which is not supported; {advice}")
}

/// The pattern in the syntax of `regex-lite`.
fn translate(pattern: &str) -> Result<String, String> {
    let mut parser = Parser { rest: pattern, names: BTreeSet::new(), out: String::new() };
    // Whether a quantifier may follow.
    let mut repeatable = false;
    while let Some(c) = parser.next() {
        repeatable = match c {
            '^' | '$' | '|' => {
                parser.out.push(c);
                false
            }
            '(' => {
                parser.open_group()?;
                false
            }
            ')' => {
                parser.out.push(c);
                true
            }
            '*' | '+' | '?' => {
                parser.quantifier(repeatable, &c.to_string())?;
                false
            }
            '{' if counts(parser.rest).is_some() => {
                parser.counted(repeatable)?;
                false
            }
            '.' => {
                parser.push_set(complement(LINE_ENDS));
                true
            }
            '[' => {
                parser.class()?;
                true
            }
            '\\' if parser.rest.starts_with(['b', 'B']) => {
                let boundary = parser.next();
                parser.out.extend(['\\'].into_iter().chain(boundary));
                false
            }
            '\\' => {
                let item = parser.escape()?;
                parser.push_set(item.ranges());
                true
            }
            c => {
                parser.push_char(u32::from(c));
                true
            }
        };
    }
    Ok(parser.out)
}

struct Parser<'a> {
    rest: &'a str,
    /// The names of groups.
    names: BTreeSet<&'a str>,
    out: String,
}

/// What an escape stands for. A character may be half of a surrogate pair, which no text contains.
enum Item {
    Char(u32),
    Set(Vec<Range>),
}

impl Item {
    fn ranges(self) -> Vec<Range> {
        match self {
            Self::Char(code) => vec![(code, code)],
            Self::Set(ranges) => ranges,
        }
    }
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Splits off the characters before the first one that does not fit.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let (taken, rest) = self.rest.split_at(self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// After `(`.
    fn open_group(&mut self) -> Result<(), String> {
        const REWRITE: &str = "rewrite the pattern without it";
        const ALL_OF: &str = "put the condition into a `pattern` of its own, under `allOf` or `not`";
        const LOOK_AROUND: [(&str, &str, &str); 4] = [
            ("?=", "the look-ahead", ALL_OF),
            ("?!", "the look-ahead", ALL_OF),
            ("?<=", "the look-behind", REWRITE),
            ("?<!", "the look-behind", REWRITE),
        ];
        if let Some((start, kind, advice)) = LOOK_AROUND.iter().find(|(start, ..)| self.rest.starts_with(start)) {
            return Err(unsupported(kind, &format!("({start}"), advice));
        }
        if self.eat("?<") {
            self.group_name()?;
        } else if self.eat("?P<") {
            return Err(invalid("`(?P<` is not ECMA-262; name groups with `(?<`"));
        } else if !self.eat("?:") && self.eat("?") {
            let flags = self.take_while(|c| c.is_ascii_alphabetic() || c == '-');
            let advice = "rewrite the pattern without it, for example `[Aa]` for both cases";
            return Err(unsupported("the modifier", &format!("(?{flags}"), advice));
        }
        self.out.push_str("(?:");
        Ok(())
    }

    /// After `(?<`.
    fn group_name(&mut self) -> Result<(), String> {
        let name = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
        let is_name = !name.is_empty() && !name.starts_with(char::is_numeric);
        if !is_name || !self.eat(">") {
            return Err(invalid("`(?<` is not followed by a name and `>`"));
        }
        if !self.names.insert(name) {
            return Err(invalid(&format!("two groups are named `{name}`")));
        }
        Ok(())
    }

    /// Whether a quantifier is lazy makes no difference to whether there is a match.
    fn quantifier(&mut self, repeatable: bool, quantifier: &str) -> Result<(), String> {
        if !repeatable {
            return Err(invalid(&format!("`{quantifier}` has nothing to repeat")));
        }
        self.out.push_str(quantifier);
        self.eat("?");
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}`, after `{`.
    fn counted(&mut self, repeatable: bool) -> Result<(), String> {
        let counts = counts(self.rest).unwrap_or_default();
        self.rest = &self.rest[counts.len() + 1..];
        let is_small = |count: &str| count.is_empty() || count.parse::<u32>().is_ok();
        if !counts.split(',').all(is_small) {
            return Err(TOO_LARGE.to_owned());
        }
        self.quantifier(repeatable, &format!("{{{counts}}}"))
    }

    /// After `[`.
    fn class(&mut self) -> Result<(), String> {
        let negated = self.eat("^");
        let mut set = Vec::new();
        while !self.eat("]") {
            let start = self.class_item()?;
            if self.rest.starts_with("-]") || !self.eat("-") {
                set.extend(start.ranges());
                continue;
            }
            match (start, self.class_item()?) {
                (Item::Char(start), Item::Char(end)) if start <= end => set.push((start, end)),
                (Item::Char(_), Item::Char(_)) => return Err(invalid("a range in `[…]` ends before it starts")),
                // The `-` of `[\w-.]` is a literal.
                (start, end) => {
                    set.push((u32::from('-'), u32::from('-')));
                    set.extend(start.ranges());
                    set.extend(end.ranges());
                }
            }
        }
        let set = merge(set);
        self.push_set(if negated { complement(&set) } else { set });
        Ok(())
    }

    fn class_item(&mut self) -> Result<Item, String> {
        match self.next() {
            None => Err(invalid("a `[` is not closed")),
            Some('\\') if self.eat("b") => Ok(Item::Char(0x08)),
            Some('\\') => self.escape(),
            Some(c) => Ok(Item::Char(u32::from(c))),
        }
    }

    /// After a backslash.
    fn escape(&mut self) -> Result<Item, String> {
        let Some(c) = self.next() else { return Err(invalid("it ends with a single `\\`")) };
        let next = self.rest.chars().next();
        let code = match c {
            'd' => return Ok(Item::Set(DIGITS.to_vec())),
            'D' => return Ok(Item::Set(complement(DIGITS))),
            'w' => return Ok(Item::Set(WORD.to_vec())),
            'W' => return Ok(Item::Set(complement(WORD))),
            's' => return Ok(Item::Set(SPACE.to_vec())),
            'S' => return Ok(Item::Set(complement(SPACE))),
            't' => 0x09,
            'n' => 0x0A,
            'v' => 0x0B,
            'f' => 0x0C,
            'r' => 0x0D,
            '0' if !next.is_some_and(|next| next.is_ascii_digit()) => 0,
            'c' if next.is_some_and(|next| next.is_ascii_alphabetic()) => self.next().map_or(0, u32::from) % 32,
            'x' => self.hex(2).ok_or_else(|| invalid("`\\x` is not followed by 2 hexadecimal digits"))?,
            'u' => self.unicode().ok_or_else(|| invalid("`\\u` is not followed by 4 hexadecimal digits or `{…}`"))?,
            'p' | 'P' => {
                let name = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '{' | '_' | '='));
                let class = format!("\\{c}{name}{}", if self.eat("}") { "}" } else { "" });
                return Err(format!("uses `{class}`, a Unicode class, which is not supported; list the characters"));
            }
            'k' | '1'..='9' => {
                let reference = format!("\\{c}{}", self.take_while(|c| c.is_alphanumeric() || matches!(c, '<' | '>')));
                return Err(unsupported("the back-reference", &reference, "rewrite the pattern without it"));
            }
            c if c.is_alphanumeric() => return Err(invalid(&format!("`\\{c}` is not an escape of ECMA-262"))),
            c => u32::from(c),
        };
        Ok(Item::Char(code))
    }

    /// A number of so many hexadecimal digits.
    fn hex(&mut self, digits: usize) -> Option<u32> {
        let number = self.rest.get(..digits).filter(|number| number.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        self.rest = &self.rest[digits..];
        u32::from_str_radix(number, 16).ok()
    }

    /// After `\u`. Two halves of a surrogate pair are one character.
    fn unicode(&mut self) -> Option<u32> {
        if self.eat("{") {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            // A number that is too large for the type is too large for a character.
            let code = u32::from_str_radix(digits, 16).ok()?;
            return (self.eat("}") && code <= LAST).then_some(code);
        }
        let high = self.hex(4)?;
        let after_high = self.rest;
        if (0xD800..0xDC00).contains(&high) && self.eat("\\u") {
            match self.hex(4) {
                Some(low) if (0xDC00..0xE000).contains(&low) => {
                    return Some(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                }
                _ => self.rest = after_high,
            }
        }
        Some(high)
    }

    fn push_char(&mut self, code: u32) {
        match char::from_u32(code) {
            Some(c) if c.is_ascii_alphanumeric() => self.out.push(c),
            // Writing to a string cannot fail.
            _ => drop(write!(self.out, "\\x{{{code:X}}}")),
        }
    }

    /// Writes a class of characters, without the surrogates.
    fn push_set(&mut self, set: Vec<Range>) {
        let without_surrogates = |(start, end): Range| {
            let start = if (0xD800..0xE000).contains(&start) { 0xE000 } else { start };
            let end = if (0xD800..0xE000).contains(&end) { 0xD7FF } else { end };
            (start <= end).then_some((start, end))
        };
        let set: Vec<Range> = set.into_iter().filter_map(without_surrogates).collect();
        match *set {
            [(start, end)] if start == end => return self.push_char(start),
            _ => {}
        }
        let (open, set) = if set.is_empty() { ("[^", vec![(0, LAST)]) } else { ("[", set) };
        self.out.push_str(open);
        for (start, end) in set {
            self.push_char(start);
            self.out.push('-');
            self.push_char(end);
        }
        self.out.push(']');
    }
}

/// The text between the braces of a quantifier, after `{`; none if the brace is a literal.
fn counts(rest: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(rest);
    if length == 0 {
        return None;
    }
    if rest[length..].starts_with(',') {
        length += 1;
        length += digits(&rest[length..]);
    }
    rest[length..].starts_with('}').then(|| &rest[..length])
}

/// Sorts ranges, and joins those that overlap.
fn merge(mut set: Vec<Range>) -> Vec<Range> {
    set.sort_unstable();
    let mut merged: Vec<Range> = Vec::new();
    for (start, end) in set {
        match merged.last_mut() {
            Some(last) if start <= last.1 + 1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// What is outside of ranges that are sorted and do not overlap.
fn complement(set: &[Range]) -> Vec<Range> {
    let mut outside = Vec::new();
    let mut start = 0;
    for range in set {
        if start < range.0 {
            outside.push((start, range.0 - 1));
        }
        start = range.1 + 1;
    }
    if start <= LAST {
        outside.push((start, LAST));
    }
    outside
}
