//! Saying what is wrong with an argument: what belongs there, what came, what to do. All of it bounded.

use std::borrow::Cow;

use super::location::{Location, bounded, locate, offset};
use super::{Param, read};
use crate::error::Fault;
use crate::util::text::{cut, escaped, shown};

/// The most bytes of a list of names, or of a type's own words.
const WORDS: usize = 120;

fn fault(path: String, expected: &str, got: Option<&str>, message: String) -> Fault {
    Fault { path, expected: expected.to_owned(), got: got.map(|got| shown(got).into_owned()), message }
}

fn path(name: &str) -> String {
    format!("/{}", escaped(&shown(name)))
}

pub(super) fn duplicate(param: &Param) -> Fault {
    fault(path(param.name), "one value", None, format!("`{}` is given twice; keep one of the two", shown(param.name)))
}

/// What the faults of a document speak of: the arguments of a call, or its result.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// What the whole is called.
    pub name: &'static str,
}

/// The arguments of a call.
pub const ARGUMENTS: Document = Document { name: "arguments" };

/// The result of a call.
pub const RESULT: Document = Document { name: "result" };

impl Document {
    fn called(self, path: &str) -> Cow<'_, str> {
        if path.is_empty() { self.name.into() } else { shown(path.trim_start_matches('/')) }
    }

    /// The value at the path is not what belongs there.
    pub fn wrong(self, path: &str, expected: &str, got: Option<&str>) -> Fault {
        let (path, expected) = (bounded(path), cut(expected, WORDS));
        let message = demanded(&self.called(path), &expected, got);
        fault(path.to_owned(), &expected, got, message)
    }

    /// The object at the path lacks a field.
    pub fn lacking(self, path: &str, field: &str) -> Fault {
        let path = bounded(path);
        if path.is_empty() {
            return fault(self::path(field), "a value", None, format!("`{}` is missing; add it", shown(field)));
        }
        let (expected, message) = without_field(&self.called(path), &shown(field));
        fault(path.to_owned(), &expected, None, message)
    }

    /// The object at the path has a field that nobody knows.
    pub fn unknown<'a>(self, path: &str, field: &str, known: impl Iterator<Item = &'a str> + Clone) -> Fault {
        let path = bounded(path);
        if path.is_empty() {
            return unknown(field, known);
        }
        let remedy =
            nearest(field, known).map_or_else(|| "remove it".to_owned(), |name| format!("did you mean `{name}`?"));
        let (name, field) = (self.called(path), shown(field));
        let message = format!("`{name}` has no field `{field}`; {remedy}");
        fault(format!("{path}{}", self::path(&field)), "a known field", None, message)
    }

    /// What stands at the path should not be there.
    pub fn superfluous(self, path: &str) -> Fault {
        let path = bounded(path);
        fault(path.to_owned(), "nothing", None, format!("`{}` must be left out; remove it", self.called(path)))
    }

    /// The object at the path has a field twice; without its name if that is not to be shown.
    pub fn duplicate(self, path: &str, field: Option<&str>) -> Fault {
        let path = bounded(path);
        let (place, name) = (path.to_owned(), self.called(path));
        match field.map(|field| (self::path(field), shown(field))) {
            Some((step, field)) if path.is_empty() => {
                fault(step, "one value", None, format!("`{field}` is given twice; keep one of the two"))
            }
            Some((step, field)) => {
                let message = format!("`{name}` has the field `{field}` twice; keep one of the two");
                fault(place + &step, "one value", None, message)
            }
            None => fault(place, "one value", None, format!("`{name}` has a field twice; keep one of the two")),
        }
    }

    /// The value at the path is nested too deep.
    pub fn too_deep(self, path: &str) -> Fault {
        let path = bounded(path);
        fault(path.to_owned(), "fewer levels", None, format!("`{}` is nested too deep; flatten it", self.called(path)))
    }

    /// Too many alternatives may fit the value at the path.
    pub fn ambiguous(self, path: &str) -> Fault {
        let path = bounded(path);
        let message = format!(
            "`{}` is too ambiguous to check within its limits; send less of it, or give the alternatives of its schema a tag",
            self.called(path)
        );
        fault(path.to_owned(), "a value that few alternatives may fit", None, message)
    }

    /// The text is not JSON.
    pub fn malformed(self, expected: &str, at: usize) -> Fault {
        let (what, remedy) = match self.name {
            "arguments" => ("a JSON object", "send one JSON object"),
            _ => ("JSON", "return valid JSON"),
        };
        let (name, verb) = (self.name, if self.name.ends_with('s') { "are" } else { "is" });
        let message = format!("the {name} {verb} not {what}: byte {at} should be {expected}; {remedy}");
        fault(String::new(), expected, None, message)
    }
}

pub(super) fn unknown<'a>(key: &str, known: impl Iterator<Item = &'a str> + Clone) -> Fault {
    let remedy = match nearest(key, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match known.map(|name| format!("`{name}`")).collect::<Vec<_>>().as_slice() {
            [] => "the tool takes none; remove it".to_owned(),
            names => format!("remove it, or use one of {}", cut(&names.join(", "), WORDS)),
        },
    };
    fault(path(key), "a known argument", None, format!("there is no argument `{}`; {remedy}", shown(key)))
}

/// The known name that is most like one that is not known.
fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    crate::util::text::nearest(key, known.map(|name| (name, name))).into_iter().next()
}

pub(super) fn malformed(expected: &str, at: usize, rest: Option<&str>) -> Fault {
    let message = format!("the arguments are not a JSON object: byte {at} should be {expected}; send one JSON object");
    fault(String::new(), expected, rest, message)
}

pub(super) fn constrained(param: &Param, expected: &str, json: &str) -> Fault {
    let expected = cut(expected, WORDS);
    let got = (!param.secret).then_some(json);
    fault(path(param.name), &expected, got, demanded(&shown(param.name), &expected, got))
}

fn demanded(name: &str, expected: &str, got: Option<&str>) -> String {
    let not = got.map_or_else(String::new, |got| format!(", not {}", shown(got)));
    format!("`{name}` must be {expected}{not}; correct the value")
}

pub(super) fn mistyped(param: &Param, json: &str, error: &serde_json::Error) -> Fault {
    let reason = reason(error);
    let name = shown(param.name);
    if param.secret {
        let expected = secret_expected(&reason);
        return fault(path(param.name), &expected, None, demanded(&name, &expected, None));
    }
    // How deep is too deep is no place.
    let offset = offset(json, error).filter(|_| !is_too_deep(&reason));
    let Location { path: nested, start, key } = offset.map(|offset| locate(json, offset)).unwrap_or_default();
    let json = &json[start..];
    let got = read::value(json).unwrap_or(json);
    let name = if nested.is_empty() { name } else { Cow::Owned(format!("{name}{}", shown(&nested))) };
    let nested = path(param.name) + &nested;
    if let Some(fault) = key.and_then(|key| invalid_key_fault(&nested, &name, key, &reason)) {
        return fault;
    }
    let (expected, message) = explained(&name, &reason, Some(got));
    fault(nested, &expected, Some(got), message)
}

/// The fault of a key of a map; none where the key is the name of a field.
fn invalid_key_fault(map: &str, name: &str, json: &str, reason: &str) -> Option<Fault> {
    if ["unknown field ", "duplicate field ", "missing field "].iter().any(|start| reason.starts_with(start)) {
        return None;
    }
    let key = serde_json::from_str::<String>(json).ok()?;
    // serde_json's words for a key that should be a number.
    let numeric = ["invalid value: expected key to be a number", "invalid number", "expected `\"`"];
    let expected = match reason.rsplit_once(", expected ") {
        Some((_, expected)) => plainly(expected),
        None if numeric.iter().any(|start| reason.starts_with(start)) => "a number in quotes".into(),
        None => "another key".into(),
    };
    let rule = match &*expected {
        "another key" => format!("is refused: {}", cut(reason, WORDS)),
        expected => format!("must be {expected}"),
    };
    let message = format!("`{name}` has the key `{}`, which {rule}; rename it", shown(&key));
    let place = format!("{map}{}", path(&key));
    Some(fault(bounded(&place).to_owned(), &expected, Some(json), message))
}

fn is_too_deep(reason: &str) -> bool {
    reason.starts_with("recursion limit")
}

/// What belongs where several schemas fit.
pub const ALTERNATIVES: &str = "one of the alternatives of its schema";

fn without_field(name: &str, field: &str) -> (String, String) {
    (format!("the field `{field}`"), format!("`{name}` has no field `{field}`; add it"))
}

/// What belongs there, and the sentence.
fn explained(name: &str, reason: &str, got: Option<&str>) -> (String, String) {
    let (what, expected) = reason.rsplit_once(", expected ").unwrap_or((reason, ""));
    let expected = plainly(expected);
    let quoted = |start: &str| what.strip_prefix(start).map(|field| shown(field.trim_matches('`')));
    if let Some(field) = quoted("missing field ") {
        return without_field(name, &field);
    }
    if let Some(field) = quoted("duplicate field ") {
        return ("one value".into(), format!("`{name}` has the field `{field}` twice; keep one of the two"));
    }
    if let Some(field) = quoted("unknown field ") {
        let or = if expected.is_empty() { String::new() } else { format!(", or use {expected}") };
        return ("known fields".into(), format!("`{name}` has no field `{field}`; remove it{or}"));
    }
    if what == "trailing characters" {
        return ("fewer items".into(), format!("`{name}` is one too many; remove it"));
    }
    if is_too_deep(reason) {
        return ("fewer levels".into(), format!("`{name}` is nested too deep; flatten it"));
    }
    if what.starts_with("data did not match any variant") {
        return (ALTERNATIVES.into(), demanded(name, ALTERNATIVES, got));
    }
    if expected.is_empty() {
        return ("another value".into(), format!("`{name}` is refused: {}; change it", cut(reason, WORDS)));
    }
    let message = demanded(name, &expected, got);
    (expected.into_owned(), message)
}

/// What belongs there, without a word that could come from the value.
fn secret_expected(reason: &str) -> Cow<'_, str> {
    let of_serde = ["invalid type: ", "invalid value: ", "invalid length "];
    let expected = reason.rsplit_once(", expected ").filter(|_| of_serde.iter().any(|start| reason.starts_with(start)));
    expected.map_or("another value".into(), |(_, expected)| plainly(expected))
}

/// serde's word for a type, as one says it in JSON.
fn plainly(expected: &str) -> Cow<'_, str> {
    let bounds = |from: i64, to: i64| Cow::Owned(format!("an integer from {from} to {to}"));
    match expected {
        "i8" => bounds(i8::MIN.into(), i8::MAX.into()),
        "i16" => bounds(i16::MIN.into(), i16::MAX.into()),
        "i32" => bounds(i32::MIN.into(), i32::MAX.into()),
        "u8" => bounds(0, u8::MAX.into()),
        "u16" => bounds(0, u16::MAX.into()),
        "u32" => bounds(0, u32::MAX.into()),
        "u64" | "u128" | "usize" => "an integer from 0 on".into(),
        "i64" | "i128" | "isize" => "an integer".into(),
        "f32" | "f64" => "a number".into(),
        "a character" => "a text of one character".into(),
        "path string" => "a string".into(),
        "unit" => "null".into(),
        "a map" => "an object".into(),
        "a sequence" => "a list".into(),
        _ if expected.starts_with("struct ") && !expected.contains(" with ") => "an object".into(),
        _ => cut(expected, WORDS),
    }
}

fn reason(error: &serde_json::Error) -> String {
    let mut reason = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    if reason.ends_with(&place) {
        reason.truncate(reason.len() - place.len());
    }
    reason
}

/// The fault of arguments that are read as one struct.
pub(crate) fn flattened_fault(json: &str, error: &serde_json::Error, secret: bool) -> Fault {
    if !error.is_data() {
        return malformed("JSON", error.column().saturating_sub(1), None);
    }
    let reason = reason(error);
    let place = offset(json, error).map(|offset| locate(json, offset)).unwrap_or_default();
    let Location { path: mut place, start, key } = place;
    if secret {
        // Names inside of an argument are part of its value.
        place.truncate(place.match_indices('/').nth(1).map_or(place.len(), |(inner, _)| inner));
    }
    let got = read::value(&json[start..]).filter(|_| !secret && !place.is_empty());
    let name = ARGUMENTS.called(&place).into_owned();
    if secret {
        let expected = secret_expected(&reason);
        let message = demanded(&name, &expected, None);
        return fault(place, &expected, None, message);
    }
    if let Some(fault) = key.and_then(|key| invalid_key_fault(&place, &name, key, &reason)) {
        return fault;
    }
    let (expected, message) = explained(&name, &reason, got);
    fault(place, &expected, got, message)
}
