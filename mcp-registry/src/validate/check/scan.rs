//! Scans JSON text: white space, strings, numbers, literals. Nothing is copied, except strings with escapes on request.

use std::borrow::Cow;

/// Why the text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Something else should be at the position: see [`Scanner::expected`].
    Syntax,
    /// The value is nested too deep.
    Depth,
}

/// How many levels of lists and objects there can be, and one more, as in `serde_json`.
const MAX_DEPTH: u8 = 128;

/// A string of the text, which stands between its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    /// Without the quotes, as it is written.
    pub(super) raw: &'a str,
    /// Where the first quote is.
    pub(super) start: usize,
    /// Whether a part of it is escaped.
    pub(super) escaped: bool,
}

/// A position in JSON text.
#[derive(Clone)]
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) pos: usize,
    pub(super) depth: u8,
    /// What should be at the position, after an error.
    pub(super) expected: &'static str,
}

impl<'a> Text<'a> {
    /// The characters of the string.
    pub(super) fn decoded(&self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(decode(self.raw)) } else { Cow::Borrowed(self.raw) }
    }
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, pos: 0, depth: 0, expected: "" }
    }

    const fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    #[cold]
    pub(super) fn error<T>(&mut self, expected: &'static str) -> Result<T, Malformed> {
        self.expected = expected;
        Err(Malformed::Syntax)
    }

    /// The next byte; 0 at the end.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.bytes().get(self.pos).copied().unwrap_or(0)
    }

    /// The next byte that is not white space; 0 at the end.
    #[inline]
    pub(super) fn next_token(&mut self) -> u8 {
        loop {
            match self.peek() {
                b' ' | b'\n' | b'\t' | b'\r' => self.pos += 1,
                byte => return byte,
            }
        }
    }

    /// Enters a list or an object, and finds its first part. Whether there is one.
    #[inline]
    pub(super) fn enter(&mut self, close: u8) -> Result<bool, Malformed> {
        self.depth += 1;
        if self.depth >= MAX_DEPTH {
            return Err(Malformed::Depth);
        }
        self.pos += 1;
        if self.next_token() == close {
            self.leave();
            return Ok(false);
        }
        Ok(true)
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.pos += 1;
        self.depth -= 1;
    }

    /// Finds the next part of a list or an object, or leaves it. Whether there is one.
    #[inline]
    pub(super) fn next_part(&mut self, close: u8) -> Result<bool, Malformed> {
        match self.next_token() {
            b',' => {
                self.pos += 1;
                self.next_token();
                Ok(true)
            }
            byte if byte == close => {
                self.leave();
                Ok(false)
            }
            _ if close == b']' => self.error("`,` or `]`"),
            _ => self.error("`,` or `}`"),
        }
    }

    /// A key and its colon; the value follows.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Text<'a>, Malformed> {
        if self.peek() != b'"' {
            return self.error("a key in quotes");
        }
        let key = self.string()?;
        if self.next_token() != b':' {
            return self.error("`:`");
        }
        self.pos += 1;
        self.next_token();
        Ok(key)
    }

    /// A string, at its first quote.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Text<'a>, Malformed> {
        let start = self.pos;
        let mut escaped = false;
        self.pos += 1;
        loop {
            self.pos = special(self.bytes(), self.pos);
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ if self.pos >= self.text.len() => return self.error("`\"`"),
                _ => return self.error("no control character in a string"),
            }
        }
        let raw = &self.text[start + 1..self.pos];
        self.pos += 1;
        Ok(Text { raw, start, escaped })
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        self.pos += 1;
        match self.peek() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.pos += 1,
            b'u' => match self.unit()? {
                0xDC00..=0xDFFF => return self.error("a character, not half of one,"),
                0xD800..=0xDBFF => {
                    let is_escape = self.bytes().get(self.pos..).is_some_and(|rest| rest.starts_with(b"\\u"));
                    self.pos += usize::from(is_escape);
                    if !is_escape || !(0xDC00..=0xDFFF).contains(&self.unit()?) {
                        return self.error("the second half of a character");
                    }
                }
                _ => {}
            },
            _ => return self.error("an escape of JSON"),
        }
        Ok(())
    }

    /// The code unit of an escape, at its `u`.
    fn unit(&mut self) -> Result<u16, Malformed> {
        let digits = self.bytes().get(self.pos + 1..self.pos + 5);
        match digits.and_then(unit) {
            Some(unit) => {
                self.pos += 5;
                Ok(unit)
            }
            None => self.error("`u` and four hexadecimal digits"),
        }
    }

    /// A number, at its first byte, and whether it is written as serde writes integers.
    #[inline]
    pub(super) fn number(&mut self) -> Result<(&'a str, bool), Malformed> {
        let start = self.pos;
        let mut plain = true;
        self.pos += usize::from(self.peek() == b'-');
        if self.peek() == b'0' {
            // For serde, `-0` is no integer.
            plain = self.pos == start;
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            plain = false;
            self.pos += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            plain = false;
            self.pos += 1;
            self.pos += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.digits()?;
        }
        if self.peek().is_ascii_digit() {
            return self.error("no digit after a leading zero");
        }
        Ok((&self.text[start..self.pos], plain))
    }

    #[inline]
    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.pos;
        while self.peek().is_ascii_digit() {
            self.pos += 1;
        }
        if self.pos == start { self.error("a digit") } else { Ok(()) }
    }

    /// A literal, if it is the next.
    pub(super) fn literal(&mut self, literal: &str) -> Result<(), Malformed> {
        if self.bytes()[self.pos..].starts_with(literal.as_bytes()) {
            self.pos += literal.len();
            return Ok(());
        }
        self.error("a value of JSON")
    }

    /// The end of the text.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        self.next_token();
        if self.pos == self.text.len() { Ok(()) } else { self.error("the end") }
    }

    /// Skips a value whose syntax is checked elsewhere.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                b'"' => drop(self.string()?),
                b'{' | b'[' => {
                    self.pos += 1;
                    open += 1;
                }
                b'}' | b']' => {
                    self.pos += 1;
                    open = open.saturating_sub(1);
                }
                _ if self.pos >= self.text.len() => return self.error("a value of JSON"),
                // A scalar that stands alone.
                _ if open == 0 => {
                    let rest = &self.bytes()[self.pos..];
                    let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\t' | b'\r');
                    self.pos += rest.iter().position(is_end).unwrap_or(rest.len());
                }
                _ => self.pos += 1,
            }
            if open == 0 {
                return Ok(());
            }
        }
    }
}

fn unit(digits: &[u8]) -> Option<u16> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
    digits.iter().try_fold(0, |unit: u16, byte| Some(unit << 4 | digit(*byte)?))
}

/// Where the next quote, backslash or control character is, or the end. Eight bytes at a time.
#[inline]
fn special(bytes: &[u8], start: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut pos = start;
    while let Some(chunk) = bytes.get(pos..pos + 8) {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        // The high bit of each byte that is zero, and perhaps of later ones.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (control | zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5C))) & HIGH;
        if found != 0 {
            return pos + (found.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    let rest = bytes.get(pos..).unwrap_or_default();
    pos + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// A string without its escapes, which are valid.
fn decode(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut length = 1;
        let code = |at: usize| escape.as_bytes().get(at..at + 4).and_then(unit).map_or(0, u32::from);
        text.push(match escape.as_bytes().first() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = code(1);
                let is_pair = (0xD800..0xE000).contains(&first);
                length = if is_pair { 11 } else { 5 };
                let code = if is_pair { 0x10000 + ((first & 0x3FF) << 10 | (code(7) & 0x3FF)) } else { first };
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other.copied().map_or('\\', char::from),
        });
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::{How, Schema, Secrets};
    use super::{Scanner, decode, special};
    use mcp_core::support::faults::ARGUMENTS;
    use mcp_core::support::schema::{Model, Node};

    /// Texts, some of which are JSON.
    const TEXTS: &str = r#"
        null ¦ nul ¦ nulll ¦ true ¦ false ¦ truefalse ¦ True ¦ 0 ¦ -0 ¦ - ¦ 00 ¦ 01 ¦ -01 ¦ 1. ¦ .5 ¦ 1.5 ¦
        1.5.5 ¦ 1e5 ¦ 1E+5 ¦ 1e-5 ¦ 1e ¦ 1e+ ¦ 1ee5 ¦ 0e0 ¦ 0.0 ¦ +1 ¦ 1 2 ¦ 0x10 ¦ NaN ¦ Infinity ¦ -Infinity ¦
        "" ¦ " ¦ "a ¦ "a"b ¦ "\" ¦ "\"" ¦ "\\" ¦ "\x" ¦ "\u12" ¦ "\u12G4" ¦ "\u0000" ¦ "\u00e9" ¦
        "\ud83d\ude00" ¦ "\ud83d" ¦ "\ude00" ¦ "\ud83d\u0041" ¦ "\ud83dx" ¦ "\ud83d\n" ¦ "\ud83d\ud83d" ¦ "é😀" ¦
        "abcdefghijklmnop" ¦ "abcdefg\"h" ¦ [] ¦ [ ] ¦ [1] ¦ [1,] ¦ [,1] ¦ [1,2] ¦ [1 2] ¦ [1 ¦ ] ¦ []] ¦ [[] ¦
        {} ¦ { } ¦ {"a":1} ¦ {"a" : 1 } ¦ {"a":1,} ¦ {,} ¦ {"a"} ¦ {"a":} ¦ {a:1} ¦ {1:1} ¦ {"a":1,"b":2} ¦
        {"a":1 "b":2} ¦ {"a":1 ¦ } ¦ {] ¦ [} ¦ {"\ud800":1} ¦ nan ¦ tru ¦ tru ¦ nu ¦ t ¦ -a ¦ 'a' ¦ ["a":1] ¦
        {"a",1}
    "#;

    /// Whether the text is JSON.
    fn is_json(text: &str) -> bool {
        let schema = Schema::new(Model::new(Node::any())).unwrap();
        schema.accepts(schema.model().root(), text)
    }

    /// Whether it should be: `serde_json` rejects numbers that are too large, and takes keys twice.
    fn should_be(text: &str) -> Option<bool> {
        match serde_json::from_str::<Value>(text) {
            Ok(_) => Some(true),
            Err(error) if error.to_string().contains("number out of range") => None,
            Err(_) => Some(false),
        }
    }

    #[test]
    fn texts_are_json_if_serde_json_says_so() {
        let texts = TEXTS.split('¦').map(str::trim);
        let odd = [
            "",
            " ",
            " null ",
            "\"\u{1}\"",
            "\"\n\"",
            "\"\t\"",
            "\"\u{7f}\"",
            "\"abcdefgh\u{2}\"",
            "\u{feff}1",
            "1\u{a0}",
            "\u{c}1",
            "// c\n1",
            "1\u{0}",
            "\u{0}",
            "[1]\n\t\r ",
        ];
        for text in texts.chain(odd) {
            assert_eq!(is_json(text), should_be(text).unwrap(), "{text:?}");
        }
        assert!(is_json("1e999") && is_json("-1e999999999999999999999"), "numbers of any size");
        assert!(!is_json(r#"{"a":1,"a":2}"#) && !is_json(r#"[{"a":1,"b":0,"\u0061":2}]"#), "keys that occur twice");
    }

    #[test]
    fn depth_is_limited_as_in_serde_json() {
        for depth in [1, 64, 126, 127, 128, 129, 1000] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
                let inner = if open == "[" { "" } else { "1" };
                let text = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
                assert_eq!(is_json(&text), should_be(&text).unwrap(), "{depth} of {open}");
            }
        }
        assert!(!is_json(&"[".repeat(1 << 20)));
    }

    #[test]
    fn changed_texts_are_json_if_serde_json_says_so() {
        let seeds = [
            r#"{"a":[1,-2.5e3,"x\n\u00e9\ud83d\ude00"],"b":{"c":null,"d":[true,false,{}]},"":""}"#,
            r#"[ [ ] , { "key" : "a longer value \\ with \"quotes\"" } , 1e10 , 0.001 , -0 ]"#,
        ];
        let alphabet: Vec<char> = "{}[]\",:\\ 0123456789.eE+-utrfalsn\u{1}\néD8d".chars().collect();
        let mut state = 42_u64;
        let mut roll = |sides: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % sides
        };
        let schema = Schema::new(Model::new(Node::any())).unwrap();
        let how = How { document: ARGUMENTS, lenient: false, secrets: Secrets::None };
        let (mut valid, mut invalid) = (0, 0);
        for round in 0..20_000 {
            let mut text: Vec<char> = seeds[round % 2].chars().collect();
            for _ in 0..=roll(2) {
                let at = roll(text.len());
                match roll(3) {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, alphabet[roll(alphabet.len())]),
                    _ => text[at] = alphabet[roll(alphabet.len())],
                }
            }
            let text: String = text.into_iter().collect();
            // A change can make two keys equal, or a number too large.
            let Some(expected) = should_be(&text) else { continue };
            let found = schema.check(&text, &how).map_or_else(|faults| faults.faults, |_| Vec::new());
            if found.iter().any(|fault| fault.expected == "one value") {
                continue;
            }
            assert_eq!(found.is_empty(), expected, "{text:?}");
            *(if expected { &mut valid } else { &mut invalid }) += 1;
        }
        assert!(valid > 1_000 && invalid > 1_000, "{valid}, {invalid}");
    }

    #[test]
    fn special_bytes_are_found_at_every_offset() {
        for byte in [b'"', b'\\', 0, 0x1F] {
            for length in 0..40 {
                for at in 0..length {
                    let mut bytes = vec![0xC3; length];
                    bytes[at] = byte;
                    assert_eq!(special(&bytes, 0), at);
                    assert_eq!(special(&bytes, at), at);
                    assert_eq!(special(&bytes, at + 1), length.max(at + 1));
                }
            }
        }
        assert_eq!(special(&[0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xFF, 0x22], 0), 8);
    }

    #[test]
    fn escapes_are_decoded_as_in_serde_json() {
        for text in [r#""""#, r#""a""#, r#""\"\\\/\b\f\n\r\t""#, r#""é\u00e9\u0000""#, r#""x\ud83d\ude00y\uFFFF""#] {
            let raw = &text[1..text.len() - 1];
            assert_eq!(decode(raw), serde_json::from_str::<String>(text).unwrap());
            assert_eq!(Scanner::new(text).string().unwrap().decoded(), decode(raw));
        }
    }

    #[test]
    fn a_value_is_skipped() {
        for value in ["1", "null", "\"a]}\"", "[1,[2,\"]\"],{\"a\":\"}\"}]", "{}", "-1.5e3"] {
            for after in ["", ",", "]", "}", " ,"] {
                let text = format!("{value}{after}");
                let mut scan = Scanner::new(&text);
                scan.skip().unwrap();
                assert_eq!(scan.pos, value.len(), "{text}");
            }
        }
    }
}
