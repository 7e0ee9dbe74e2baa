//! Reading JSON that `serde_json::Value` cannot represent.

use serde::de::IgnoredAny;
use serde_json::{Map, Number, Value};

/// The depth beyond which a text is not read.
const DEEPEST: usize = 1000;

/// Whether the text is grammatically JSON.
pub(crate) fn is_json(text: &str) -> bool {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read: Result<IgnoredAny, _> = serde::Deserialize::deserialize(&mut deserializer);
    read.is_ok() && deserializer.end().is_ok()
}

/// The value of a text that is grammatically JSON, with the nearest substitute for what a `Value` cannot represent:
/// U+FFFD for half a surrogate pair, the greatest number for one beyond it. The last of several duplicate keys counts.
pub(crate) fn value(text: &str) -> Option<Value> {
    read(text).map(|(value, _)| value)
}

/// Whether a text that is grammatically JSON has a duplicate key.
pub(crate) fn has_key_twice(text: &str) -> bool {
    read(text).is_some_and(|(_, has_key_twice)| has_key_twice)
}

fn read(text: &str) -> Option<(Value, bool)> {
    let mut parser = Parser { bytes: text.as_bytes(), at: 0, has_key_twice: false };
    let value = parser.value(0)?;
    parser.space();
    (parser.at == parser.bytes.len()).then_some((value, parser.has_key_twice))
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    has_key_twice: bool,
}

impl Parser<'_> {
    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<u8> {
        self.space();
        self.bytes.get(self.at).copied()
    }

    fn takes(&mut self, wanted: u8) -> bool {
        let is = self.next() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        match self.next()? {
            b'{' => {
                self.at += 1;
                let mut members = Map::new();
                while !self.takes(b'}') {
                    self.space();
                    let key = self.string()?;
                    self.takes(b':');
                    let value = self.value(depth + 1)?;
                    self.has_key_twice |= members.insert(key, value).is_some();
                    self.takes(b',');
                }
                Some(members.into())
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.takes(b']') {
                    items.push(self.value(depth + 1)?);
                    self.takes(b',');
                }
                Some(items.into())
            }
            b'"' => self.string().map(Value::String),
            b't' => Some(self.word(4, true.into())),
            b'f' => Some(self.word(5, false.into())),
            b'n' => Some(self.word(4, Value::Null)),
            _ => self.number(),
        }
    }

    fn word(&mut self, length: usize, value: Value) -> Value {
        self.at += length;
        value
    }

    fn number(&mut self) -> Option<Value> {
        let length = self.bytes[self.at..]
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let end = self.at + length.count();
        let text = std::str::from_utf8(&self.bytes[self.at..end]).ok().filter(|text| !text.is_empty())?;
        self.at = end;
        serde_json::from_str(text).ok().or_else(|| {
            let most = if text.starts_with('-') { f64::MIN } else { f64::MAX };
            Number::from_f64(most).map(Value::Number)
        })
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(text).ok(),
                b'\\' => {
                    let character = self.escaped()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.unit()?;
                if (0xd800..0xdc00).contains(&unit) && self.bytes[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let second = self.unit()?;
                    if let Some(Ok(character)) = char::decode_utf16([unit, second]).next() {
                        return Some(character);
                    }
                    self.at -= 6;
                }
                char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other.into(),
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
}
