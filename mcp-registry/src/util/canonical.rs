//! Canonical JSON (RFC 8785), so that everyone computes the same digest of the same value.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::json::from_bytes;

/// The SHA-256 digest of a JSON text in its canonical form, as `sha256:` and 64 hexadecimal digits.
pub(crate) fn digest(json: &str) -> String {
    let mut writer = Writer::with_capacity(json.len());
    writer.json(json);
    writer.digest()
}

/// Writes canonical JSON: sorted keys, no white space, numbers as JavaScript writes them.
pub(crate) struct Writer<'a> {
    out: Vec<u8>,
    /// The members of the objects that are being read: the key, and where the member is in `out`.
    members: Vec<(Cow<'a, [u8]>, Range<usize>)>,
    /// The members of one object, while they are sorted.
    unsorted: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer for about this many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes), members: Vec::with_capacity(16), unsorted: Vec::with_capacity(bytes) }
    }

    /// Appends bytes that are canonical already.
    pub(crate) fn raw(&mut self, json: &str) {
        self.out.extend_from_slice(json.as_bytes());
    }

    /// Appends a text.
    pub(crate) fn text(&mut self, text: &str) {
        // A text can always be written to memory.
        let _ = text.serialize(&mut serde_json::Serializer::new(&mut self.out));
    }

    /// Appends JSON, which must be valid.
    pub(crate) fn json(&mut self, json: &'a str) {
        Reader { json: json.as_bytes(), pos: 0, writer: self }.value();
    }

    /// The digest of what was written.
    pub(crate) fn digest(self) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = *b"sha256:0000000000000000000000000000000000000000000000000000000000000000";
        for (digits, byte) in text[7..].chunks_exact_mut(2).zip(Sha256::digest(self.out)) {
            digits.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        String::from_utf8(text.to_vec()).unwrap_or_default()
    }

    /// Sorts the members of an object, the last ones in `out` and those from `first` on in `members`.
    fn sort_members(&mut self, first: usize) {
        let Self { out, members, unsorted } = self;
        let members = &mut members[first..];
        if members.is_sorted_by(|(one, _), (other, _)| compare(one, other) != Ordering::Greater) {
            return;
        }
        let start = members[0].1.start;
        unsorted.clear();
        unsorted.extend_from_slice(&out[start..]);
        out.truncate(start);
        members.sort_by(|(one, _), (other, _)| compare(one, other));
        for (index, (_, range)) in members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&unsorted[range.start - start..range.end - start]);
        }
    }
}

/// The order of keys: by UTF-16 code units.
fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let differing = one.iter().zip(other).find(|(one, other)| one != other);
    match differing {
        // Surrogates come before U+E000 to U+FFFF, whose UTF-8 begins with these bytes; otherwise the orders are the same.
        Some((one @ 0xee..=0xef, other @ 0xf0..) | (one @ 0xf0.., other @ 0xee..=0xef)) => other.cmp(one),
        Some((one, other)) => one.cmp(other),
        None => one.len().cmp(&other.len()),
    }
}

/// Reads JSON, and writes its canonical form.
struct Reader<'a, 'w> {
    json: &'a [u8],
    pos: usize,
    writer: &'w mut Writer<'a>,
}

impl<'a> Reader<'a, '_> {
    /// Skips white space and returns the next byte; 0 at the end.
    fn peek(&mut self) -> u8 {
        while let Some(byte) = self.json.get(self.pos) {
            if *byte > b' ' {
                return *byte;
            }
            self.pos += 1;
        }
        0
    }

    fn push(&mut self, byte: u8) {
        self.writer.out.push(byte);
    }

    fn value(&mut self) {
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => {
                self.string();
            }
            _ => {
                let rest = &self.json[self.pos..];
                let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | ..=b' ');
                let token = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
                self.pos += token.len();
                // A short integer is written as it is.
                let is_short = token.len() <= 15 && token.iter().all(u8::is_ascii_digit);
                let number = std::str::from_utf8(token).ok().filter(|_| !is_short).and_then(|token| token.parse().ok());
                match number {
                    Some(number) => self.writer.raw(&number_text(number)),
                    None => self.writer.out.extend_from_slice(token),
                }
            }
        }
    }

    /// Writes a string, and returns its text.
    fn string(&mut self) -> Cow<'a, [u8]> {
        let start = self.pos;
        let text = &self.json[start + 1..];
        let length = text.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(text.len());
        if text.get(length) != Some(&b'\\') {
            self.pos = (start + length + 2).min(self.json.len());
            self.writer.out.extend_from_slice(&self.json[start..self.pos]);
            return text[..length].into();
        }
        let mut rest = text.iter();
        while let Some(byte) = rest.next().filter(|byte| **byte != b'"') {
            if *byte == b'\\' {
                rest.next();
            }
        }
        self.pos = self.json.len() - rest.len();
        let text: String = from_bytes(&self.json[start..self.pos]).unwrap_or_default();
        self.writer.text(&text);
        text.into_bytes().into()
    }

    fn array(&mut self) {
        self.pos += 1;
        self.push(b'[');
        while !matches!(self.peek(), b']' | 0) {
            self.value();
            if self.peek() == b',' {
                self.pos += 1;
                self.push(b',');
            }
        }
        self.pos += 1;
        self.push(b']');
    }

    fn object(&mut self) {
        self.pos += 1;
        self.push(b'{');
        let first = self.writer.members.len();
        while self.peek() == b'"' {
            let start = self.writer.out.len();
            let key = self.string();
            self.peek();
            self.pos += 1;
            self.push(b':');
            self.value();
            self.writer.members.push((key, start..self.writer.out.len()));
            if self.peek() == b',' {
                self.pos += 1;
                self.push(b',');
            }
        }
        self.pos += 1;
        self.writer.sort_members(first);
        self.writer.members.truncate(first);
        self.push(b'}');
    }
}

/// A number as JavaScript writes it.
fn number_text(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        "0".to_owned()
    } else if (1e-6..1e21).contains(&size) {
        number.to_string()
    } else {
        let text = format!("{number:e}");
        if size >= 1.0 { text.replace('e', "e+") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::{Writer, digest};

    fn text(json: &str) -> String {
        let mut writer = Writer::with_capacity(0);
        writer.json(json);
        String::from_utf8(writer.out).unwrap()
    }

    #[test]
    fn keys_are_sorted_and_white_space_is_dropped() {
        assert_eq!(text(" { \"b\" : [ 1 , { } , [ ] ] , \"a\" : null } "), r#"{"a":null,"b":[1,{},[]]}"#);
        assert_eq!(text(r#"{"b":{"d":1,"c":2},"a":"x, }"}"#), r#"{"a":"x, }","b":{"c":2,"d":1}}"#);
        assert_eq!(
            text(r#"{"c":{"z":{"y":1,"x":[{"b":1,"a":2}]}},"a":0,"b":{"d":1}}"#),
            r#"{"a":0,"b":{"d":1},"c":{"z":{"x":[{"a":2,"b":1}],"y":1}}}"#
        );
        // By UTF-16 code units, as RFC 8785 demands: a surrogate comes before U+FB33.
        assert_eq!(text("{\"é\":1,\"z\":2,\"\u{1f600}\":3,\"zz\":4}"), "{\"z\":2,\"zz\":4,\"é\":1,\"\u{1f600}\":3}");
        assert_eq!(text("{\"\u{fb33}\":1,\"\u{1f600}\":2}"), "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
    }

    #[test]
    fn texts_have_one_form() {
        assert_eq!(text(r#""\u00e9\/\"\\\n\u001f""#), "\"é/\\\"\\\\\\n\\u001f\"");
        assert_eq!(text(r#"{"\u0062":1,"a\"":2}"#), r#"{"a\"":2,"b":1}"#);
    }

    #[test]
    fn numbers_are_written_as_in_javascript() {
        for (number, expected) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("0.5", "0.5"),
            ("12", "12"),
            ("9007199254740993", "9007199254740992"),
            ("1E3", "1000"),
            ("18446744073709551615", "18446744073709552000"),
            ("340282366920938463463374607431768211455", "3.402823669209385e+38"),
            ("0.0000001", "1e-7"),
            ("1e21", "1e+21"),
        ] {
            assert_eq!(text(number), expected);
        }
    }

    #[test]
    fn the_digest_is_sha_256_of_the_canonical_form() {
        // printf '{"a":1}' | sha256sum
        let expected = "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        assert_eq!(digest(r#"{"a":1}"#), expected);
        assert_eq!(digest(" {\"a\" : 1.0}"), expected);
    }
}
