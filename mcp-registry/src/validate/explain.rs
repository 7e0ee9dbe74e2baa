//! Explains what a validator finds: where, what is expected, what was sent, what to do.
//!
//! Sentences describe what the schema expects. From what was sent they quote only the value, truncated, and nothing of a
//! secret.

use std::collections::HashSet;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use mcp_core::error::Fault;
use mcp_core::message::JsonObject;
use mcp_core::param::{Bound, Constraint, Param};
use mcp_core::support::faults::{
    ALTERNATIVES, ARGUMENTS, Document, RESULT, counted, escaped, formatted, listed, matching,
};
use serde_json::Value;

use super::Subject;
use super::compile::Checked;
use super::{Faults, INVALID_INSIDE, MAX_FAULTS, walk};

/// The fault of arguments or results that cannot be checked, since their schema is invalid.
pub(super) fn unchecked(what: &str, reason: &str) -> Faults {
    let message =
        format!("the {what} cannot be checked, because the tool's schema is invalid: {reason}; tell its author");
    let fault = Fault::new("", "a schema", message);
    Faults { faults: vec![fault], omitted: 0 }
}

/// The faults of a result.
pub(super) fn result(checked: &Checked, data: &Value) -> Faults {
    if checked.validator.is_valid(data) {
        Faults::default()
    } else if is_large(data) {
        Explainer::new(checked, RESULT, None).large(data)
    } else {
        Faults { faults: Explainer::new(checked, RESULT, None).all(data), omitted: 0 }
    }
}

/// The faults of arguments. A null counts as absent where that makes the arguments valid.
pub(super) fn arguments(subject: &dyn Subject, checked: &Checked, arguments: Value) -> Faults {
    let mut arguments = without_aliases(subject, arguments);
    if checked.validator.is_valid(&arguments) {
        return Faults::default();
    }
    let explainer = Explainer::new(checked, ARGUMENTS, Some(subject));
    if !is_large(&arguments) {
        return Faults { faults: explainer.fewest(&arguments), omitted: 0 };
    }
    walk::remove_nulls(checked, &mut arguments);
    if checked.validator.is_valid(&arguments) {
        return Faults::default();
    }
    explainer.large(&arguments)
}

/// The validator explains values of at most this many parts: it lists every fault, however many there are.
const MAX_PARTS: usize = 4096;

/// Whether a value has too many parts to list every fault.
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
    count(value, &mut MAX_PARTS.clone())
}

/// The arguments with aliases replaced by names.
fn without_aliases(subject: &dyn Subject, arguments: Value) -> Value {
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

/// The paths of members that are null.
struct Nulls {
    /// Where null is invalid.
    misplaced: HashSet<String>,
    /// Members that the schema does not know: removing them would hide that.
    unknown: HashSet<String>,
}

impl Nulls {
    fn find(checked: &Checked, arguments: &Value) -> Self {
        let (mut misplaced, mut unknown) = (HashSet::new(), HashSet::new());
        for error in checked.explaining().0.iter_errors(arguments) {
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

/// The value without the null members that are to be removed.
fn without_nulls(value: &Value, path: &str, is_removed: &dyn Fn(&str) -> bool) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = JsonObject::new();
            for (key, value) in members {
                let path = format!("{path}/{}", escaped(key));
                if !value.is_null() || !is_removed(&path) {
                    kept.insert(key.clone(), without_nulls(value, &path, is_removed));
                }
            }
            kept.into()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| without_nulls(item, &format!("{path}/{index}"), is_removed)).collect()
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

/// Explains the faults of a value: a whole document, or a part of one.
pub(super) struct Explainer<'a> {
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

impl<'a> Explainer<'a> {
    /// For a whole document.
    fn new(checked: &'a Checked, document: Document, subject: Option<&'a dyn Subject>) -> Self {
        Self { checked, root: &checked.schema, prefix: "", document, subject }
    }

    /// The faults of a value of many parts that is not valid.
    fn large(&self, value: &Value) -> Faults {
        let mut found = walk::faults(self, value);
        // The walk along the schema may miss a fault; the validator decides.
        if found.faults.is_empty() && !self.is_valid(value) {
            found.faults.push(self.document.wrong(self.prefix, INVALID_INSIDE, None));
        }
        found
    }

    /// The faults of a value; a null counts as absent where that leaves fewer faults.
    pub(super) fn fewest(&self, value: &Value) -> Vec<Fault> {
        let mut fewest = self.all(value);
        let Nulls { misplaced, unknown } = Nulls::find(self.checked, value);
        // First without the invalid nulls, then without any: a type may require null.
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

    /// The faults of a value, up to the limit.
    pub(super) fn all(&self, value: &Value) -> Vec<Fault> {
        let (validator, checks_all) = self.checked.explaining();
        let mut faults = Vec::new();
        for error in validator.iter_errors(value) {
            self.add(&error, &mut faults);
            if faults.len() >= MAX_FAULTS {
                break;
            }
        }
        faults.truncate(MAX_FAULTS);
        if faults.is_empty() && !checks_all && !self.is_valid(value) {
            faults.push(self.document.wrong(self.prefix, INVALID_INSIDE, None));
        }
        faults
    }

    /// Whether the value is valid, except for what types decide about.
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
                let names = unexpected.iter().take(MAX_FAULTS);
                faults.extend(names.map(|name| document.unknown(at, name, known.iter().map(String::as_str))));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context }
                if intended_alternative(context, inner).is_some() =>
            {
                intended_alternative(context, inner).into_iter().flatten().for_each(|error| self.add(error, faults));
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
        let is_explicit = |param: &Param| param.explicit_schema.is_some() && is_first(path, param.name);
        let in_list = path.rsplit('/').next().is_some_and(|step| step.bytes().all(|byte| byte.is_ascii_digit()));
        in_list && entry.input_schema.is_none() && !entry.params.iter().any(is_explicit)
    }

    /// The part of the path that may be shown, if it leads to a secret.
    pub(super) fn secret(&self, path: &str) -> Option<String> {
        let entry = self.subject.and_then(Subject::entry)?;
        let param = |param: &&Param| param.secret && (entry.flatten || is_first(path, param.name));
        entry.params.iter().find(param)?;
        let first = path.split('/').nth(1).unwrap_or_default();
        let known = self.root["properties"].as_object();
        let known = known.into_iter().flatten().any(|(name, _)| escaped(name) == first);
        Some(if known { format!("/{first}") } else { String::new() })
    }

    /// The names that the schema of an object with an unknown member knows.
    fn known(&self, error: &ValidationError<'_>) -> Vec<String> {
        let schema = error.schema_path().as_str().rsplit_once('/').map_or("", |(schema, _)| schema);
        let properties = self.checked.schema.pointer(schema).and_then(|schema| schema.get("properties"));
        properties.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}

fn is_first(path: &str, name: &str) -> bool {
    path.split('/').nth(1) == Some(&escaped(name))
}

/// The faults of the one alternative that is intended, by its type or its tag.
fn intended_alternative<'a>(
    alternatives: &'a [Vec<ValidationError<'static>>],
    path: &str,
) -> Option<&'a [ValidationError<'static>]> {
    let mut intended = alternatives.iter().filter(|errors| may_be_intended(errors, path));
    let only = intended.next().filter(|errors| !errors.is_empty())?;
    intended.next().is_none().then_some(only.as_slice())
}

fn may_be_intended(errors: &[ValidationError<'static>], path: &str) -> bool {
    let here = |error: &ValidationError<'_>| error.instance_path().as_str() == path;
    let a_step_below = |error: &ValidationError<'_>| {
        error.instance_path().as_str().rsplit_once('/').is_some_and(|(outer, _)| outer == path)
    };
    let lacks = errors.iter().any(|error| here(error) && matches!(error.kind(), Kind::Required { .. }));
    !errors.iter().any(|error| match error.kind() {
        Kind::Type { .. } | Kind::FalseSchema => here(error),
        // A single value is a tag.
        Kind::Enum { options } => here(error) || (only(options).is_some() && a_step_below(error)),
        Kind::Constant { .. } => here(error) || a_step_below(error),
        // A different name than the tag.
        Kind::AdditionalProperties { .. } => here(error) && lacks,
        _ => false,
    })
}

/// What a keyword expects, in words.
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
    let integer = limit.as_i64().map(i128::from).or_else(|| limit.as_u64().map(i128::from));
    integer.map_or_else(|| Bound::Float(limit.as_f64().unwrap_or_default()), Bound::Int)
}
