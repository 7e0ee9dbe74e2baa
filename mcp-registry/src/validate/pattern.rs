//! Regular expressions of JSON Schema, which are those of ECMA-262, on `regex-lite`.
//!
//! A pattern is translated: its characters and classes are written as code points, so that nothing in them has a special
//! meaning to `regex-lite`, and groups do not capture. The syntax is that of the flag `u`, and in addition that of
//! Annex B where `{`, `}`, `]`, and `-` beside a class as in `[\w-.]`, are literals.

#![allow(dead_code, reason = "used by the checker")]

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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;

    /// The pattern, texts that it matches, and texts that it does not match.
    const TABLE: &[(&str, &[&str], &[&str])] = &[
        ("", &["", "a"], &[]),
        ("a", &["a", "bab"], &["", "b", "A"]),
        ("^a$", &["a"], &["aa", "ca", "a\n", "\na", "b\na\nb"]),
        ("^$", &[""], &["\n", "a"]),
        ("a|^b$|", &["", "x"], &[]),
        ("^(a|bc)+$", &["a", "bca"], &["", "b", "ab"]),
        ("^(?:a)?b*?c+?$", &["c", "abbcc"], &["a", "ab"]),
        ("^(?<first>a)(?<second$>b)$", &["ab"], &["a"]),
        ("^.$", &["a", "é", "😀", "\u{85}", "\t"], &["\n", "\r", "\u{2028}", "\u{2029}", "", "ab"]),
        (r"^\d+$", &["0123456789"], &["٣", "a", ""]),
        (r"^\D$", &["a", "٣", "\n"], &["5"]),
        (r"^\w+$", &["aZ_09"], &["é", "-", " "]),
        (r"^\W$", &["é", "-", "😀"], &["_", "a"]),
        (r"^\s$", &[" ", "\t", "\u{b}", "\u{c}", "\n", "\r", "\u{a0}", "\u{feff}", "\u{2028}", "\u{2029}"], &["a"]),
        (r"^\s$", &["\u{1680}", "\u{2003}", "\u{202f}", "\u{205f}", "\u{3000}"], &["\u{180e}", "\u{200b}", "\u{85}"]),
        (r"^\S+$", &["a", "\u{200b}", "\u{85}"], &["a b", "\u{feff}", "\u{a0}"]),
        (r"^[\s\S]$", &["a", "\n", "😀"], &["", "aa"]),
        (r"^[^\D]$", &["7"], &["x"]),
        (r"^[\W\d]+$", &["1-é"], &["a"]),
        (r"^\cA\cz$", &["\u{1}\u{1a}"], &["Az"]),
        (r"^\t\n\v\f\r\0$", &["\t\n\u{b}\u{c}\r\0"], &["tnvfr0"]),
        (r"^\/\-\_\.\@\#\ \'$", &["/-_.@# '"], &["x"]),
        (r"^\u0041\u{42}\x43\u{1F600}\u{00000044}$", &["ABC😀D"], &["ABC"]),
        (r"^\uD83D\uDE00$", &["😀"], &["a"]),
        (r"^[\uD83D\uDE00-\uD83D\uDE05]$", &["😀", "😅"], &["😆"]),
        (r"\uD83D", &[], &["😀", "a", ""]),
        (r"\uD83D\u0041", &[], &["😀A", "A"]),
        (r"^[\uD800-\uDFFF]$", &[], &["a", "😀"]),
        (r"^[^\uD800-\uDFFF]$", &["a", "😀"], &[]),
        (r"^[\u0000-\uDBFF]$", &["a", "\u{d7ff}"], &["\u{e000}", "😀"]),
        ("^[^]$", &["a", "\n", "😀"], &["", "ab"]),
        ("a[]", &[], &["a", "", "a]"]),
        ("a[]?", &["a"], &[""]),
        ("^[^]+]$", &["ab]", "]]"], &["a"]),
        ("^[[]$", &["["], &["]", "[]"]),
        ("^[[:alpha:]]$", &["[]", ":]", "a]", "p]"], &["a", "z", "b]"]),
        ("^[a&&b~~c]$", &["a", "&", "~", "c"], &["d", ""]),
        ("^[+--c]$", &["+", ",", "-", "c"], &[".", "a"]),
        ("^[!--]$", &["!", "-", "#"], &["a", "."]),
        ("^[a-]$", &["a", "-"], &["b"]),
        ("^[-a]$", &["a", "-"], &["b"]),
        ("^[a-c-e]$", &["b", "-", "e"], &["d"]),
        (r"^[\w-.]+$", &["a-.b"], &["/", "+"]),
        (r"^[\b]$", &["\u{8}"], &["b", ""]),
        (r"^[\]\\^\-]$", &["]", "\\", "^", "-"], &["a"]),
        ("^[.*+?$|(){}]$", &[".", "*", "$", "|", "(", "{", "}"], &["a"]),
        ("^[é-ü😀]$", &["é", "ö", "😀"], &["e"]),
        ("^a{2}$", &["aa"], &["a", "aaa"]),
        ("^a{2,}?$", &["aa", "aaa"], &["a"]),
        ("^a{0,2}$", &["", "aa"], &["aaa"]),
        ("^a{007}$", &["aaaaaaa"], &["a"]),
        ("^a{,2}$", &["a{,2}"], &["a", "aa"]),
        ("^a{$", &["a{"], &["a"]),
        ("^a{1$", &["a{1"], &["a"]),
        ("^{}]$", &["{}]"], &[""]),
        ("^x{a}+$", &["x{a}", "x{a}}"], &["x"]),
        (r"\bfoo\b", &["a foo", "éfoo"], &["foot", "_foo"]),
        (r"\Boo", &["foo"], &["oo"]),
        (r"^\b{$", &[], &["{"]),
        ("# a", &["# a"], &["a"]),
        ("a  b", &["a  b"], &["ab"]),
        ("^($|a)", &["", "ab"], &["b"]),
        ("()", &["", "x"], &[]),
        (r"^https?:\/\/[^\s/$.?#].[^\s]*$", &["https://a.b/c"], &["ftp://a.b", "https://"]),
        (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", &["a-b.c@d-e.com"], &["a@b", "@b.com"]),
        (r"^\$\{[^}]*\}$", &["${a}"], &["{a}"]),
    ];

    /// The pattern, and the error.
    const REJECTED: &[(&str, &str)] = &[
        (r"\p{L}", r"uses `\p{L}`, a Unicode class, which is not supported; list the characters"),
        (
            r"[\P{Script=Greek}]",
            r"uses `\P{Script=Greek}`, a Unicode class, which is not supported; list the characters",
        ),
        (
            "^(?=a)",
            "uses the look-ahead `(?=`, which is not supported; put the condition into a `pattern` of its own, under \
             `allOf` or `not`",
        ),
        (
            "a(?!b)",
            "uses the look-ahead `(?!`, which is not supported; put the condition into a `pattern` of its own, under \
             `allOf` or `not`",
        ),
        ("(?<=a)b", "uses the look-behind `(?<=`, which is not supported; rewrite the pattern without it"),
        ("(?<!a)b", "uses the look-behind `(?<!`, which is not supported; rewrite the pattern without it"),
        (r"(a)\1", r"uses the back-reference `\1`, which is not supported; rewrite the pattern without it"),
        (r"(?<a>a)\k<a>", r"uses the back-reference `\k<a>`, which is not supported; rewrite the pattern without it"),
        (
            "(?i)a",
            "uses the modifier `(?i`, which is not supported; rewrite the pattern without it, for example `[Aa]` for \
             both cases",
        ),
        (
            "(?s-m:a)",
            "uses the modifier `(?s-m`, which is not supported; rewrite the pattern without it, for example `[Aa]` for \
             both cases",
        ),
        ("(?P<a>a)", "is not a regular expression: `(?P<` is not ECMA-262; name groups with `(?<`"),
        ("(?<>a)", "is not a regular expression: `(?<` is not followed by a name and `>`"),
        ("(?<1>a)", "is not a regular expression: `(?<` is not followed by a name and `>`"),
        ("(?<a", "is not a regular expression: `(?<` is not followed by a name and `>`"),
        ("(?<a>.)(?<a>.)", "is not a regular expression: two groups are named `a`"),
        ("(a", "is not a regular expression: found open group without closing ')'"),
        ("a)", "is not a regular expression: found closing ')' without matching '('"),
        ("[a", "is not a regular expression: a `[` is not closed"),
        ("[a-", "is not a regular expression: a `[` is not closed"),
        ("[a--c]", "is not a regular expression: a range in `[…]` ends before it starts"),
        ("[z-a]", "is not a regular expression: a range in `[…]` ends before it starts"),
        ("*a", "is not a regular expression: `*` has nothing to repeat"),
        ("a**", "is not a regular expression: `*` has nothing to repeat"),
        ("a+??", "is not a regular expression: `?` has nothing to repeat"),
        ("^{2}", "is not a regular expression: `{2}` has nothing to repeat"),
        (r"\b+", "is not a regular expression: `+` has nothing to repeat"),
        ("a{3,2}", "is not a regular expression: found counted repetition with a min bigger than its max"),
        ("\\", r"is not a regular expression: it ends with a single `\`"),
        (r"a\Z", r"is not a regular expression: `\Z` is not an escape of ECMA-262"),
        (r"\a", r"is not a regular expression: `\a` is not an escape of ECMA-262"),
        (r"\00", r"is not a regular expression: `\0` is not an escape of ECMA-262"),
        (r"\c1", r"is not a regular expression: `\c` is not an escape of ECMA-262"),
        (r"[\B]", r"is not a regular expression: `\B` is not an escape of ECMA-262"),
        (r"\é", r"is not a regular expression: `\é` is not an escape of ECMA-262"),
        (r"\x4", r"is not a regular expression: `\x` is not followed by 2 hexadecimal digits"),
        (r"\u12", r"is not a regular expression: `\u` is not followed by 4 hexadecimal digits or `{…}`"),
        (r"\u{}", r"is not a regular expression: `\u` is not followed by 4 hexadecimal digits or `{…}`"),
        (r"\u{110000}", r"is not a regular expression: `\u` is not followed by 4 hexadecimal digits or `{…}`"),
        ("a{99999999999}", TOO_LARGE),
        ("((a{1000}){1000}){1000}", TOO_LARGE),
        ("((){4000}){4000}", TOO_LARGE),
    ];

    #[test]
    fn patterns_match_as_in_ecma_262() {
        for (pattern, matching, other) in TABLE {
            let compiled = match Pattern::new(pattern) {
                Ok(compiled) => compiled,
                Err(error) => panic!("{pattern}: {error}"),
            };
            for text in *matching {
                assert!(compiled.is_match(text), "{pattern} should match {text:?}");
            }
            for text in *other {
                assert!(!compiled.is_match(text), "{pattern} should not match {text:?}");
            }
        }
    }

    #[test]
    fn rejections_name_the_construct() {
        for (pattern, error) in REJECTED {
            assert_eq!(Pattern::new(pattern).map(|_| ()), Err((*error).to_owned()), "{pattern}");
        }
        let nested = |depth: usize| format!("{}a{}", "(b|".repeat(depth), ")*".repeat(depth));
        assert!(Pattern::new(&nested(20)).is_ok());
        for depth in [200, 100_000] {
            let error = Pattern::new(&nested(depth)).expect_err("nested too deeply");
            assert_eq!(error, "is nested too deeply; nest fewer groups");
        }
    }

    #[test]
    fn time_is_bounded() {
        let started = Instant::now();
        let long = 100_000;
        let patterns = [
            "a".repeat(long),
            "{".repeat(long),
            "[".repeat(long),
            "(?<a>".repeat(long),
            "a|".repeat(long),
            "a*".repeat(long),
            "{1".repeat(long),
            format!("[{}]", r"\S\u{1F600}-\u{1F610}é".repeat(long / 10)),
            format!("[{}]", (0..20_000).filter_map(|n| char::from_u32(0x4E00 + 2 * n)).collect::<String>()),
            "(((((a{9}){9}){9}){9}){9}){9}".to_owned(),
            "(a{0,9999}){0,9999}".to_owned(),
            "((a*)*)*".repeat(long / 10),
            "(|){9999}".repeat(9),
        ];
        for pattern in &patterns {
            let _ = Pattern::new(pattern);
        }
        let text = "a".repeat(long);
        for pattern in ["(a*)*b", "(a|aa)+$", "^(a+)+b", "a{1,9}b"] {
            let compiled = Pattern::new(pattern).expect("a valid pattern");
            assert_eq!(compiled.is_match(&text), !pattern.ends_with('b'), "{pattern}");
        }
        assert!(started.elapsed().as_secs() < 60, "took {:?}", started.elapsed());
    }

    /// Why a pattern may match different texts in the oracle, which runs it as one of the crate `regex`.
    fn differs_from_the_oracle(pattern: &str) -> Option<&'static str> {
        if pattern.contains('.') {
            return Some("its `.` matches \\r, U+2028 and U+2029");
        }
        if pattern.contains(r"\b") || pattern.contains(r"\B") {
            return Some("its word boundaries are those of Unicode");
        }
        if pattern.contains("[]") || pattern.contains("[^]") {
            return Some("a `]` at the start of a class is a literal to it");
        }
        if pattern.contains("[[:") {
            return Some("it has POSIX classes");
        }
        None
    }

    fn oracle(pattern: &str) -> Option<jsonschema::Validator> {
        jsonschema::options().build(&json!({"pattern": pattern})).ok()
    }

    #[test]
    fn the_table_agrees_with_the_oracle() {
        let mut compared = 0;
        for (pattern, matching, other) in TABLE {
            let Some(oracle) = oracle(pattern) else { continue };
            if differs_from_the_oracle(pattern).is_some() {
                continue;
            }
            compared += 1;
            for (texts, expected) in [(matching, true), (other, false)] {
                for text in *texts {
                    assert_eq!(oracle.is_valid(&json!(text)), expected, "{pattern} on {text:?}");
                }
            }
        }
        assert!(compared > 30, "only {compared} patterns were compared");
    }

    #[test]
    fn random_patterns_agree_with_the_oracle() {
        compare_random_patterns(5_000, 0x9E37_79B9_7F4A_7C15);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn many_random_patterns_agree_with_the_oracle() {
        compare_random_patterns(60_000, 0x2545_F491_4F6C_DD1D);
    }

    fn compare_random_patterns(count: usize, seed: u64) {
        const PARTS: [&str; 48] = [
            "a", "b", "c", "é", "0", "-", "_", " ", ".", "^", "$", "|", "|", "(", "(", "(?:", ")", ")", "*", "+", "?",
            "{2}", "{1,}", "{0,2}", "{", "[ab]", "[^a]", "[a-c]", "[", "[^", "]", "]", r"\d", r"\D", r"\w", r"\W",
            r"\s", r"\S", r"[\dé]", r"[\W_]", r"\n", r"\x61", r"\u0062", r"\.", r"\/", "&&", "~~", r"\b",
        ];
        const LETTERS: [&str; 13] = ["a", "b", "c", "é", "0", "-", "_", " ", "\n", "\r", ".", "&", "{"];
        let mut state = seed;
        let mut random = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % bound as u64).unwrap_or_default()
        };
        let (mut compared, mut matches, mut generated) = (0, 0, 0);
        while compared < count {
            generated += 1;
            let pattern: String = (0..=random(7)).map(|_| PARTS[random(PARTS.len())]).collect();
            let Ok(compiled) = Pattern::new(&pattern) else { continue };
            if differs_from_the_oracle(&pattern).is_some() {
                continue;
            }
            let Some(oracle) = oracle(&pattern) else { continue };
            compared += 1;
            for _ in 0..8 {
                let text: String = (0..random(6)).map(|_| LETTERS[random(LETTERS.len())]).collect();
                let is_match = compiled.is_match(&text);
                matches += usize::from(is_match);
                assert_eq!(oracle.is_valid(&json!(text)), is_match, "{pattern:?} on {text:?}");
            }
        }
        assert!(matches > compared && generated < 40 * compared, "{matches} matches of {generated} patterns");
    }
}
