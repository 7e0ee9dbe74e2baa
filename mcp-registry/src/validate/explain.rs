//! What a validator finds, in the words of this project: where, what belongs there, what came, what to do.
//!
//! Sentences are made of the schema's side of a fault. Of what was sent they hold the value alone, cut, and nothing of a
//! secret.

use std::collections::HashSet;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use mcp_core::__private::words::{
    ALTERNATIVES, ARGUMENTS, Document, RESULT, counted, escaped, formatted, listed, matching,
};
use mcp_core::{Bound, Constraint, Fault, JsonObject, Param};
use serde_json::Value;

use super::Subject;
use super::compile::Checked;
use super::{DEEPER, Found, TOLD, large};

/// Arguments or results that cannot be checked, since their schema is none.
pub(super) fn unchecked(what: &str, reason: &str) -> Found {
    let message = format!("the {what} cannot be checked, since the tool's schema is none: {reason}; tell its author");
    let fault = Fault { path: String::new(), expected: "a schema".to_owned(), got: None, message };
    Found { faults: vec![fault], omitted: 0 }
}

/// The faults of a result.
pub(super) fn result(checked: &Checked, data: &Value) -> Found {
    if checked.validator.is_valid(data) {
        Found::default()
    } else if is_large(data) {
        Telling::of(checked, RESULT, None).large(data)
    } else {
        Found { faults: Telling::of(checked, RESULT, None).all(data), omitted: 0 }
    }
}

/// The faults of arguments. Nulls mean absence where that makes them fit.
pub(super) fn arguments(subject: &dyn Subject, checked: &Checked, arguments: Value) -> Found {
    let mut arguments = by_name(subject, arguments);
    if checked.validator.is_valid(&arguments) {
        return Found::default();
    }
    let telling = Telling::of(checked, ARGUMENTS, Some(subject));
    if !is_large(&arguments) {
        return Found { faults: telling.fewest(&arguments), omitted: 0 };
    }
    large::remove_nulls(checked, &mut arguments);
    if checked.validator.is_valid(&arguments) {
        return Found::default();
    }
    telling.large(&arguments)
}

/// Values of more parts are not handed to the validator to list their faults: it lists all of them, however many.
const PARTS: usize = 4096;

/// Whether a value has too many parts to list the faults of all of them.
pub(super) fn is_large(value: &Value) -> bool {
    fn count(value: &Value, left: &mut usize) -> bool {
        let Some(rest) = left.checked_sub(1) else { return true };
        *left = rest;
        match value {
            Value::Array(items) => items.len() > *left || items.iter().any(|item| count(item, left)),
            Value::Object(members) => members.len() > *left || members.values().any(|member| count(member, left)),
            _ => false,
        }
    }
    count(value, &mut PARTS.clone())
}

/// The arguments under the names that the schema has for them.
fn by_name(subject: &dyn Subject, arguments: Value) -> Value {
    let params = subject.entry().map_or(&[][..], |entry| entry.params);
    let param = |key: &str| params.iter().find(|param| param.aliases.contains(&key));
    match arguments {
        Value::Object(members) if members.keys().any(|key| param(key).is_some()) => {
            let renamed = members.into_iter().map(|(key, value)| match param(&key) {
                Some(param) => (param.name.to_owned(), value),
                None => (key, value),
            });
            Value::Object(renamed.collect())
        }
        arguments => arguments,
    }
}

/// The members that are null, by their paths.
struct Nulls {
    /// A null does not fit there.
    misplaced: HashSet<String>,
    /// There is no such member: taking it away would hide that.
    unknown: HashSet<String>,
}

impl Nulls {
    fn of(checked: &Checked, arguments: &Value) -> Self {
        let (mut misplaced, mut unknown) = (HashSet::new(), HashSet::new());
        for error in checked.telling().0.iter_errors(arguments) {
            let path = error.instance_path().as_str();
            if error.instance().is_null() {
                misplaced.insert(path.to_owned());
            }
            if let Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } = error.kind()
            {
                unknown.extend(unexpected.iter().map(|name| format!("{path}/{}", escaped(name))));
            }
        }
        Self { misplaced, unknown }
    }
}

/// The value without those of its members that are null and meant.
fn without_nulls(value: &Value, path: &str, meant: &dyn Fn(&str) -> bool) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = JsonObject::new();
            for (key, value) in members {
                let path = format!("{path}/{}", escaped(key));
                if !value.is_null() || !meant(&path) {
                    kept.insert(key.clone(), without_nulls(value, &path, meant));
                }
            }
            kept.into()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| without_nulls(item, &format!("{path}/{index}"), meant)).collect()
        }
        other => other.clone(),
    }
}

/// The value without the nulls in its lists.
fn without_null_items(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), without_null_items(value))).collect::<JsonObject>().into()
        }
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).map(without_null_items).collect(),
        other => other.clone(),
    }
}

/// How the faults of one value are told: of a whole document, or of a part of it.
pub(super) struct Telling<'a> {
    /// The schema of the value.
    pub(super) checked: &'a Checked,
    /// The schema of the document.
    pub(super) root: &'a Value,
    /// Where the value is in the document.
    pub(super) prefix: &'a str,
    pub(super) document: Document,
    /// The tool, of whose arguments some may be secret.
    pub(super) subject: Option<&'a dyn Subject>,
}

impl<'a> Telling<'a> {
    /// For a whole document.
    fn of(checked: &'a Checked, document: Document, subject: Option<&'a dyn Subject>) -> Self {
        Self { checked, root: &checked.schema, prefix: "", document, subject }
    }

    /// The faults of a value of many parts that is not valid.
    fn large(&self, value: &Value) -> Found {
        let mut found = large::faults(self.checked, self.document, self.subject, value);
        // Whatever the walk along the schema has missed, the validator has the last word.
        if found.faults.is_empty() && !self.is_valid(value) {
            found.faults.push(self.document.wrong(self.prefix, DEEPER, None));
        }
        found
    }

    /// The faults of a value, of which nulls mean absence where that makes it fit.
    pub(super) fn fewest(&self, value: &Value) -> Vec<Fault> {
        let mut fewest = self.all(value);
        let Nulls { misplaced, unknown } = Nulls::of(self.checked, value);
        // First the nulls that do not fit are taken away, then all: a null can be what a type wants.
        let without_misplaced = without_nulls(value, "", &|path| misplaced.contains(path));
        let without_any = without_nulls(value, "", &|path| !unknown.contains(path));
        for attempt in [without_misplaced, without_any] {
            if fewest.is_empty() {
                break;
            }
            if attempt == *value {
                continue;
            }
            let faults = self.all(&attempt);
            if faults.len() <= fewest.len() {
                fewest = faults;
            }
        }
        fewest
    }

    /// The faults of a value, as far as they are told.
    pub(super) fn all(&self, value: &Value) -> Vec<Fault> {
        let (validator, sees_all) = self.checked.telling();
        let mut faults = Vec::new();
        for error in validator.iter_errors(value) {
            self.add(&error, &mut faults);
            if faults.len() >= TOLD {
                break;
            }
        }
        faults.truncate(TOLD);
        if faults.is_empty() && !sees_all && !self.is_valid(value) {
            faults.push(self.document.wrong(self.prefix, DEEPER, None));
        }
        faults
    }

    /// Whether all is well, but for what types decide about.
    fn is_valid(&self, value: &Value) -> bool {
        let validator = &self.checked.validator;
        validator.is_valid(value) || (self.subject.is_some() && validator.is_valid(&without_null_items(value)))
    }

    fn add(&self, error: &ValidationError<'_>, faults: &mut Vec<Fault>) {
        let inner = error.instance_path().as_str();
        let path = &*if self.prefix.is_empty() { inner.into() } else { format!("{}{inner}", self.prefix) };
        if error.instance().is_null() && self.is_read_by_type(path) {
            return;
        }
        let secret = self.secret(path);
        let at = secret.as_deref().unwrap_or(path);
        let document = self.document;
        match error.kind() {
            Kind::Required { property } => {
                let field = property.as_str().unwrap_or_default();
                faults.push(document.lacking(at, field));
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected }
                if secret.is_none() =>
            {
                let known = self.known(error);
                let names = unexpected.iter().take(TOLD);
                faults.extend(names.map(|name| document.unknown(at, name, known.iter().map(String::as_str))));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } if only_meant(context, inner).is_some() => {
                only_meant(context, inner).into_iter().flatten().for_each(|error| self.add(error, faults));
            }
            Kind::FalseSchema => faults.push(document.superfluous(at)),
            kind => {
                let got = secret.is_none().then(|| error.instance().to_string());
                faults.push(document.wrong(at, &expected(kind), got.as_deref()));
            }
        }
    }

    /// Whether a type decides about a null in a list, as it does about one in an object.
    pub(super) fn is_read_by_type(&self, path: &str) -> bool {
        let Some(entry) = self.subject.and_then(Subject::entry) else { return false };
        let written = |param: &Param| param.explicit_schema.is_some() && is_first(path, param.name);
        let in_list = path.rsplit('/').next().is_some_and(|step| step.bytes().all(|byte| byte.is_ascii_digit()));
        in_list && entry.input_schema.is_none() && !entry.params.iter().any(written)
    }

    /// What may be told of the path, if a secret is there.
    pub(super) fn secret(&self, path: &str) -> Option<String> {
        let entry = self.subject.and_then(Subject::entry)?;
        let param = |param: &&Param| param.secret && (entry.flatten || is_first(path, param.name));
        entry.params.iter().find(param)?;
        let first = path.split('/').nth(1).unwrap_or_default();
        let known = self.root["properties"].as_object();
        let known = known.into_iter().flatten().any(|(name, _)| escaped(name) == first);
        Some(if known { format!("/{first}") } else { String::new() })
    }

    /// The names that an object has by its schema, where it has one that is not among them.
    fn known(&self, error: &ValidationError<'_>) -> Vec<String> {
        let schema = error.schema_path().as_str().rsplit_once('/').map_or("", |(schema, _)| schema);
        let properties = self.checked.schema.pointer(schema).and_then(|schema| schema.get("properties"));
        properties.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}

fn is_first(path: &str, name: &str) -> bool {
    path.split('/').nth(1) == Some(&escaped(name))
}

/// The faults of the one alternative that is meant by its type or its tag.
fn only_meant<'a>(
    alternatives: &'a [Vec<ValidationError<'static>>],
    path: &str,
) -> Option<&'a [ValidationError<'static>]> {
    let mut meant = alternatives.iter().filter(|errors| is_meant(errors, path));
    let only = meant.next().filter(|errors| !errors.is_empty())?;
    meant.next().is_none().then_some(only.as_slice())
}

fn is_meant(errors: &[ValidationError<'static>], path: &str) -> bool {
    let here = |error: &ValidationError<'_>| error.instance_path().as_str() == path;
    let a_step_below = |error: &ValidationError<'_>| {
        error.instance_path().as_str().rsplit_once('/').is_some_and(|(outer, _)| outer == path)
    };
    let lacks = errors.iter().any(|error| here(error) && matches!(error.kind(), Kind::Required { .. }));
    !errors.iter().any(|error| match error.kind() {
        Kind::Type { .. } | Kind::FalseSchema => here(error),
        // One value alone is a tag.
        Kind::Enum { options } => here(error) || (only(options).is_some() && a_step_below(error)),
        Kind::Constant { .. } => here(error) || a_step_below(error),
        // Another name than the one that is the tag.
        Kind::AdditionalProperties { .. } => here(error) && lacks,
        _ => false,
    })
}

/// What a keyword wants, in words.
pub(super) fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => type_name(*kind).to_owned(),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => kinds.iter().map(type_name).collect::<Vec<_>>().join(" or "),
        Kind::Constant { expected_value } => format!("`{}`", plain(expected_value)),
        Kind::Enum { options } => match only(options) {
            Some(value) => format!("`{}`", plain(value)),
            None => listed(options.as_array().into_iter().flatten().map(plain)),
        },
        Kind::Minimum { limit } => Constraint::Min(bound(limit)).expected(),
        Kind::Maximum { limit } => Constraint::Max(bound(limit)).expected(),
        Kind::ExclusiveMinimum { limit } => format!("a number above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("a number below {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => Constraint::MinLength(*limit).expected(),
        Kind::MaxLength { limit } => Constraint::MaxLength(*limit).expected(),
        Kind::MinItems { limit } => Constraint::MinItems(*limit).expected(),
        Kind::MaxItems { limit } => Constraint::MaxItems(*limit).expected(),
        Kind::AdditionalItems { limit } => Constraint::MaxItems(*limit as u64).expected(),
        Kind::MinProperties { limit } => format!("an object of at least {}", counted(*limit, "member")),
        Kind::MaxProperties { limit } => format!("an object of at most {}", counted(*limit, "member")),
        Kind::Pattern { pattern } => matching(pattern),
        Kind::Format { format } => formatted(format),
        Kind::UniqueItems => "a list without the same item twice".to_owned(),
        Kind::Contains => "a list with an item of the kind that its schema asks for".to_owned(),
        Kind::PropertyNames { error } => format!("an object of which each name is {}", expected(error.kind())),
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => {
            "an object of known fields".to_owned()
        }
        Kind::UnevaluatedItems { .. } => "a list of fewer items".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => ALTERNATIVES.to_owned(),
        Kind::OneOfMultipleValid { .. } => "one of the alternatives of its schema, and no other".to_owned(),
        Kind::Not { schema } => match schema.get("const").or_else(|| only(schema.get("enum")?)) {
            Some(value) => format!("other than `{}`", plain(value)),
            None => "other than what its schema rules out".to_owned(),
        },
        _ => "what its schema says".to_owned(),
    }
}

/// The one value of an `enum` that has no other.
fn only(values: &Value) -> Option<&Value> {
    match values.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

/// A text as it is, another value as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn bound(limit: &Value) -> Bound {
    let whole = limit.as_i64().map(i128::from).or_else(|| limit.as_u64().map(i128::from));
    whole.map_or_else(|| Bound::Float(limit.as_f64().unwrap_or_default()), Bound::Int)
}
