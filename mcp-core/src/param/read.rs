//! Reading the arguments of a call: one pass over the text, all faults.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::de::IgnoredAny;

use super::schema::{InputSchema, Signature};
use super::slot::Slot;
use super::{Param, fault};
use crate::error::Fault;

/// How many faults are noted; a call of a million faults is not worth a million sentences.
const NOTED: usize = 20;

/// Reads the arguments of a call, a JSON object, into their places.
#[inline]
pub(crate) fn read_arguments(
    json: &str,
    params: &[Param],
    allow_unknown: bool,
    slots: &mut [&mut dyn Slot],
) -> Result<(), Vec<Fault>> {
    let mut faults = Faults(Vec::new());
    let read = each_argument(json, |key, value| {
        let found = params.iter().position(|param| param.name == key || param.aliases.contains(&key));
        if let Some(index) = found {
            return read_argument(value, &params[index], &mut *slots[index], &mut faults);
        }
        if !allow_unknown {
            faults.add(|| fault::unknown(key, params.iter().map(|param| param.name)));
        }
        value_length(value)
    });
    match read {
        Ok(()) => {
            for (param, slot) in params.iter().zip(slots) {
                if !slot.is_present() && param.default.is_none() && !slot.accept_absent() {
                    faults.add(|| fault::ARGUMENTS.lacking("", param.name));
                }
            }
        }
        Err(Malformed { expected, rest }) => {
            // Nobody knows whose value stands in a text that is broken.
            let shown = (!params.iter().any(|param| param.secret)).then_some(rest);
            let malformed = fault::malformed(expected, json.len() - rest.len(), shown);
            faults.0.truncate(NOTED - 1);
            faults.0.push(malformed);
        }
    }
    if faults.0.is_empty() { Ok(()) } else { Err(faults.0) }
}

/// The names of the fields of a struct that is all arguments, once they are needed; none if it takes any name.
#[derive(Default)]
pub struct Fields(OnceLock<Option<Vec<String>>>);

impl Fields {
    /// Not yet needed.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Reads the arguments of a call, a JSON object, as the struct that is the one parameter. What its schema does not
    /// name is refused, also where serde would pass it over.
    ///
    /// # Panics
    ///
    /// Without a parameter and its place.
    pub fn read_arguments(
        &self,
        json: &str,
        params: &[Param],
        allow_unknown: bool,
        slots: &mut [&mut dyn Slot],
    ) -> Result<(), Vec<Fault>> {
        let (param, slot) = (&params[0], &mut slots[0]);
        let read = slot.read_all(json);
        let signature = Signature { params, flatten: true, allow_unknown };
        let fields = self.0.get_or_init(|| InputSchema::new(signature).ok()?.fields()).as_deref();
        let unknown = fields.filter(|_| !allow_unknown).map(|fields| unknown_arguments(json, fields));
        let mut faults = unknown.unwrap_or_default();
        // A struct that rejects unknown fields itself says so a second time.
        if let (Err(error), true) = (read, faults.is_empty()) {
            faults.push(fault::flattened_fault(&error, param.secret));
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// The arguments of a call, known to be a JSON object, that have none of these names.
fn unknown_arguments(json: &str, known: &[String]) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    // A text that was read before has no other fault.
    let _ = each_argument(json, |key, value| {
        if !known.iter().any(|name| name == key) {
            faults.add(|| fault::unknown(key, known.iter().map(String::as_str)));
        }
        value_length(value)
    });
    faults.0
}

struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, fault: impl FnOnce() -> Fault) {
        if self.0.len() < NOTED {
            self.0.push(fault());
        }
    }
}

/// The text is not a JSON object.
struct Malformed<'a> {
    expected: &'static str,
    rest: &'a str,
}

/// Takes an object apart. What is called for each value says how long the value is.
fn each_argument<'a>(
    json: &'a str,
    mut read: impl FnMut(&str, &'a str) -> Result<usize, Malformed<'a>>,
) -> Result<(), Malformed<'a>> {
    let mut at = after(json, 0, b'{', "an object")?;
    if json.as_bytes().get(at) == Some(&b'}') {
        return at_end(json, at + 1);
    }
    loop {
        let (key, end) = read_key(json, at)?;
        let value = after(json, end, b':', "`:`")?;
        at = spaced(json, value + read(&key, &json[value..])?);
        match json.as_bytes().get(at) {
            Some(b',') => at = spaced(json, at + 1),
            Some(b'}') => return at_end(json, at + 1),
            _ => return Err(Malformed { expected: "`,` or `}`", rest: &json[at..] }),
        }
    }
}

/// Where white space ends.
#[inline]
fn spaced(json: &str, mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = json.as_bytes().get(at) {
        at += 1;
    }
    at
}

/// Where the next thing after a token begins.
#[inline]
fn after<'a>(json: &'a str, at: usize, token: u8, expected: &'static str) -> Result<usize, Malformed<'a>> {
    let at = spaced(json, at);
    if json.as_bytes().get(at) == Some(&token) {
        Ok(spaced(json, at + 1))
    } else {
        Err(Malformed { expected, rest: &json[at..] })
    }
}

fn at_end(json: &str, at: usize) -> Result<(), Malformed<'_>> {
    let at = spaced(json, at);
    if at == json.len() { Ok(()) } else { Err(Malformed { expected: "the end", rest: &json[at..] }) }
}

/// The key that begins here, borrowed where it has no escapes, and where it ends.
fn read_key(json: &str, at: usize) -> Result<(Cow<'_, str>, usize), Malformed<'_>> {
    let malformed = || Malformed { expected: "a key", rest: &json[at..] };
    if json.as_bytes().get(at) != Some(&b'"') {
        return Err(malformed());
    }
    let start = at + 1;
    let text = &json[start..];
    let end = text.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20);
    if let Some(end) = end.filter(|end| text.as_bytes()[*end] == b'"') {
        return Ok((Cow::Borrowed(&text[..end]), start + end + 1));
    }
    let mut stream = serde_json::Deserializer::from_str(&json[at..]).into_iter::<String>();
    match stream.next() {
        Some(Ok(key)) => Ok((Cow::Owned(key), at + stream.byte_offset())),
        _ => Err(malformed()),
    }
}

fn read_argument<'a>(
    json: &'a str,
    param: &Param,
    slot: &mut dyn Slot,
    faults: &mut Faults,
) -> Result<usize, Malformed<'a>> {
    if slot.mark_present() {
        faults.add(|| fault::duplicate(param));
        return value_length(json);
    }
    // A null stands for what may be left out.
    if param.default.is_some() && json.starts_with("null") {
        return value_length(json);
    }
    match slot.read(json) {
        Ok(length) => {
            for constraint in param.constraints {
                if let Some(expected) = constraint.broken(&json[..length]) {
                    faults.add(|| fault::constrained(param, &expected, &json[..length]));
                }
            }
            Ok(length)
        }
        Err(error) => {
            let length = value_length(json)?;
            faults.add(|| fault::mistyped(param, &json[..length], &error));
            Ok(length)
        }
    }
}

/// How long the value at the beginning of the text is.
fn value_length(json: &str) -> Result<usize, Malformed<'_>> {
    let mut stream = serde_json::Deserializer::from_str(json).into_iter::<IgnoredAny>();
    match stream.next() {
        Some(Ok(_)) => Ok(stream.byte_offset()),
        _ => Err(Malformed { expected: "a JSON value", rest: json }),
    }
}
