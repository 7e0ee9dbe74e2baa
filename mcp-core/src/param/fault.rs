//! Saying what is wrong with an argument: what belongs there, what came, what to do. All of it bounded.

use std::borrow::Cow;

use super::Param;
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
        let remedy = remedy(field, known, "remove it");
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
    let remedy = remedy(key, known, "the tool takes none; remove it");
    fault(path(key), "a known argument", None, format!("there is no argument `{}`; {remedy}", shown(key)))
}

/// What to do about a name that is not known.
fn remedy<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone, if_none: &str) -> String {
    if let Some(name) = nearest(name, known.clone()) {
        return format!("did you mean `{name}`?");
    }
    match known.map(|name| format!("`{name}`")).collect::<Vec<_>>().as_slice() {
        [] => if_none.to_owned(),
        [only] => format!("remove it, or use {}", cut(only, WORDS)),
        names => format!("remove it, or use one of {}", cut(&names.join(", "), WORDS)),
    }
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

/// The type of a parameter rejects a value. What the type says is shown as it is: a schema explains more.
pub(super) fn mistyped(param: &Param, json: &str, error: &serde_json::Error) -> Fault {
    let (expected, message) = rejected(&shown(param.name), error, param.secret);
    fault(path(param.name), &expected, (!param.secret).then_some(json), message)
}

/// The type of a struct that is all arguments rejects them.
pub(crate) fn flattened_fault(error: &serde_json::Error, secret: bool) -> Fault {
    if !error.is_data() {
        return malformed("JSON", error.column().saturating_sub(1), None);
    }
    let (expected, message) = rejected(ARGUMENTS.name, error, secret);
    fault(String::new(), &expected, None, message)
}

/// What is expected where only a type knows better than the schema.
const BY_TYPE: &str = "a value that its type accepts";

fn rejected(name: &str, error: &serde_json::Error, secret: bool) -> (String, String) {
    // What a type says may quote the value.
    let mut reason = if secret { String::new() } else { format!(": {error}") };
    // The position is one in the text, which a caller does not see.
    let position = format!(" at line {} column {}", error.line(), error.column());
    if reason.ends_with(&position) {
        reason.truncate(reason.len() - position.len());
    }
    let reason = cut(&reason, WORDS);
    (BY_TYPE.to_owned(), format!("`{name}` is rejected by its type{reason}; change it"))
}

/// The longest path that is shown; what lies deeper is blamed on what contains it.
const LONGEST: usize = 160;

/// The path, or the part of it that is shown.
fn bounded(path: &str) -> &str {
    let end = path.find(char::is_control).unwrap_or(path.len());
    if end == path.len() && end <= LONGEST {
        return path;
    }
    let steps = path.match_indices('/').map(|(start, _)| start);
    steps.take_while(|start| *start <= end.min(LONGEST)).last().map_or("", |start| &path[..start])
}

/// What is expected where several schemas could fit.
pub const ALTERNATIVES: &str = "one of the alternatives of its schema";

fn without_field(name: &str, field: &str) -> (String, String) {
    (format!("the field `{field}`"), format!("`{name}` has no field `{field}`; add it"))
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn a_long_path_ends_at_a_step() {
        assert_eq!(bounded("/a/b"), "/a/b");
        assert_eq!(bounded(&format!("/a/{}", "b".repeat(200))), "/a");
        assert_eq!(bounded(&format!("/{}", "b".repeat(200))), "");
        assert_eq!(bounded("/a/b\nc/d"), "/a");
        assert_eq!(bounded(""), "");
    }
}
