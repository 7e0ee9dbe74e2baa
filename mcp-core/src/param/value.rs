//! Reading one value at the beginning of a text, and finding where it ends.
//!
//! Integers, booleans and texts as they mostly are (short, in the open, without escapes) are read here; everything else
//! is read by `serde_json`, which has the last word on what is right.

use serde::de::{Deserializer, Error as _, IgnoredAny, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;
use serde_json::de::StrRead;

use crate::schema::decimal::Digits;

/// The value at the beginning of a text. Where it ends is noted.
pub(super) struct FirstValue<'de, 'a> {
    pub(super) json: &'de str,
    pub(super) end: &'a mut usize,
}

/// More digits than these may not fit.
const DIGITS: usize = 18;

impl<'de> FirstValue<'de, '_> {
    /// Leaves the value to `serde_json`.
    fn by_serde<T>(
        self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut reader = serde_json::Deserializer::from_str(self.json);
        let value = read(&mut reader)?;
        let end = reader.into_iter::<IgnoredAny>().byte_offset();
        // A wide integer is read up to its point.
        if matches!(self.json.as_bytes().get(end), Some(b'.' | b'e' | b'E')) {
            return Err(Error::custom("invalid value: a fraction, expected an integer"));
        }
        *self.end = end;
        Ok(value)
    }

    /// The integer, if it is a short one and nothing but that.
    fn integer(&self) -> Option<(i64, usize)> {
        let bytes = self.json.as_bytes();
        let start = usize::from(bytes.first() == Some(&b'-'));
        let mut value: i64 = 0;
        let mut at = start;
        while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            if at == start + DIGITS {
                return None;
            }
            value = value * 10 + i64::from(digit);
            at += 1;
        }
        // No number begins with a zero but zero itself, and minus zero is no integer.
        let odd = at == start || (bytes[start] == b'0' && (at > start + 1 || start == 1));
        if odd || matches!(bytes.get(at), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        Some((if start == 1 { -value } else { value }, at))
    }

    /// The integer that is not written like one, such as `2.0`, and where it ends.
    fn integral_float(&self) -> Option<(i128, usize)> {
        let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        let end = self.json.bytes().position(|byte| !is_part(byte)).unwrap_or(self.json.len());
        let number = &self.json[..end];
        let integer = Digits::parse(number.as_bytes())?.as_plain_integer(number)?;
        Some((integer.parse().ok()?, end))
    }

    fn number<V: Visitor<'de>>(
        self,
        visitor: V,
        is_integer: bool,
        by_serde: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>, V) -> Result<V::Value, Error>,
    ) -> Result<V::Value, Error> {
        if let Some((integer, end)) = self.integer() {
            *self.end = end;
            // As `serde_json` does it: only what is below zero is signed.
            return match u64::try_from(integer) {
                Ok(integer) => visitor.visit_u64(integer),
                Err(_) => visitor.visit_i64(integer),
            };
        }
        match self.integral_float().filter(|_| is_integer) {
            Some((integer, end)) => {
                *self.end = end;
                match (u64::try_from(integer), i64::try_from(integer)) {
                    (Ok(integer), _) => visitor.visit_u64(integer),
                    (_, Ok(integer)) => visitor.visit_i64(integer),
                    _ => visitor.visit_i128(integer),
                }
            }
            None => self.by_serde(|reader| by_serde(reader, visitor)),
        }
    }

    /// The text, if it is short and has no escapes. Serde scans long ones faster.
    fn text(&self) -> Option<&'de str> {
        let text = self.json.strip_prefix('"')?;
        let end = text.bytes().take(SHORT).position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
        (text.as_bytes()[end] == b'"').then(|| &text[..end])
    }
}

/// The length of a short text, in bytes.
const SHORT: usize = 64;

macro_rules! numbers {
    ($($method:ident $is_integer:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.number(visitor, $is_integer, |reader, visitor| reader.$method(visitor))
        }
    )*};
}

macro_rules! wide_integers {
    ($($method:ident => $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.integral_float().and_then(|(integer, end)| Some((integer.try_into().ok()?, end))) {
                Some((integer, end)) => {
                    *self.end = end;
                    visitor.$visit(integer)
                }
                None => self.by_serde(|reader| reader.$method(visitor)),
            }
        }
    )*};
}

macro_rules! texts {
    ($($method:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.text() {
                Some(text) => {
                    *self.end = text.len() + 2;
                    visitor.visit_borrowed_str(text)
                }
                None => self.by_serde(|reader| reader.$method(visitor)),
            }
        }
    )*};
}

macro_rules! by_serde {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.by_serde(|reader| reader.$method($($name,)* visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for FirstValue<'de, '_> {
    type Error = Error;

    numbers! {
        deserialize_i8 true;
        deserialize_i16 true;
        deserialize_i32 true;
        deserialize_i64 true;
        deserialize_u8 true;
        deserialize_u16 true;
        deserialize_u32 true;
        deserialize_u64 true;
        deserialize_f64 false;
    }

    wide_integers! {
        deserialize_i128 => visit_i128
        deserialize_u128 => visit_u128
    }

    texts!(deserialize_str, deserialize_string);

    by_serde! {
        deserialize_any();
        deserialize_f32();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_ignored_any();
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (value, end) = match self.json {
            json if json.starts_with("true") => (true, 4),
            json if json.starts_with("false") => (false, 5),
            _ => return self.by_serde(|reader| reader.deserialize_bool(visitor)),
        };
        *self.end = end;
        visitor.visit_bool(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.json.starts_with("null") {
            *self.end = 4;
            visitor.visit_none()
        } else if self.json.starts_with('n') {
            self.by_serde(|reader| reader.deserialize_option(visitor))
        } else {
            visitor.visit_some(self)
        }
    }

    forward_to_deserialize_any! { char identifier }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;

    use super::{Digits, FirstValue};

    /// What is read here is what `serde_json` reads, and ends where it ends.
    fn same<T: DeserializeOwned + PartialEq + Debug>(json: &str) {
        for follows in ["", ",", "}", " ,", "]x"] {
            let text = format!("{json}{follows}");
            let mut end = 0;
            let read = T::deserialize(FirstValue { json: &text, end: &mut end });
            let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<T>();
            match (read, stream.next().unwrap()) {
                (Ok(read), Ok(by_serde)) => {
                    assert_eq!(read, by_serde, "{text}");
                    assert_eq!(&text[..end], &text[..stream.byte_offset()]);
                }
                (Err(read), Err(by_serde)) => {
                    let (read, by_serde) = (read.to_string(), by_serde.to_string());
                    let reason = read.split(" at line").next().unwrap();
                    let is_lenient = by_serde.contains("floating point");
                    assert!(
                        by_serde.starts_with(reason) || by_serde.starts_with("trailing") || is_lenient,
                        "{text}: {read}, {by_serde}"
                    );
                }
                // An integer is an integer, however it is written.
                (Ok(read), Err(_)) => {
                    let plain = Digits::parse(json.as_bytes()).and_then(|digits| digits.as_plain_integer(json));
                    let plain = plain.unwrap_or_else(|| panic!("{text}: {read:?}, and serde_json rejects it"));
                    assert_eq!(serde_json::from_str::<T>(&plain).ok(), Some(read), "{text}");
                    assert_eq!(end, json.len(), "{text}");
                }
                (read, by_serde) => panic!("{text}: {read:?} and {by_serde:?}"),
            }
        }
    }

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        let values = [
            "0",
            "1",
            "-1",
            "-0",
            "2.0",
            "-2.50e1",
            "1e300",
            "01",
            "-01",
            "007",
            "12.5",
            "1e3",
            "-",
            "+1",
            "255",
            "256",
            "-129",
            "65536",
            "123456789012345678",
            "1234567890123456789",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "18446744073709551615",
            "18446744073709551616",
            "1e400",
            "null",
            "nul",
            "true",
            "false",
            "tru",
            "\"a\"",
            "\"\"",
            "\"é\\n\"",
            "\"\\u0041\"",
            "\"a\nb\"",
            "\"open",
            "[1]",
            "{}",
            "{\"a\": 1}",
            "x",
        ];
        for json in values {
            same::<i8>(json);
            same::<i16>(json);
            same::<i32>(json);
            same::<i64>(json);
            same::<u8>(json);
            same::<u16>(json);
            same::<u32>(json);
            same::<u64>(json);
            same::<u128>(json);
            same::<f32>(json);
            same::<f64>(json);
            same::<bool>(json);
            same::<char>(json);
            same::<String>(json);
            same::<()>(json);
            same::<Option<u8>>(json);
            same::<Option<String>>(json);
            same::<Option<Option<bool>>>(json);
            same::<Vec<i64>>(json);
            same::<serde_json::Value>(json);
        }
    }
}
