//! Reads and writes the error in a result.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use super::{Entries, Strictness, check_extra, expect, kind_of, owned_entries, rest, serialize_with_extra, take};
use crate::error::{ErrorDetail, ErrorType, MAX_DEPTH, Rule, ValidationError, Violations, join};

const FIELDS: [&str; 3] = ["error_type", "error_message", "error_details"];
const DEPTH: usize = MAX_DEPTH;
const MESSAGE: &str = "an error detail";

impl ErrorDetail {
    fn read_fields(entries: Entries, _: Strictness, violations: &mut Violations) -> Self {
        Self::read_entries("", entries, violations)
    }

    pub(crate) fn read_at(path: &str, value: Value, violations: &mut Violations) -> Option<Self> {
        let entries = owned_entries(expect::object(value, path, violations)?);
        Some(Self::read_entries(path, entries, violations))
    }

    fn read_entries(path: &str, mut entries: Entries, violations: &mut Violations) -> Self {
        let mut text =
            |key| expect::required_string(take(&mut entries, key), &join(path, key), violations).unwrap_or_default();
        let (error_type, error_message) = (ErrorType::from(text("error_type")), text("error_message"));
        let error_details = take(&mut entries, "error_details").filter(|details| !details.is_null());
        Self { error_type, error_message, error_details, extra: rest(entries), is_foreign: false }
    }

    fn check(&self, strictness: Strictness, violations: &mut Violations) {
        self.check_at("", strictness, violations);
    }

    pub(crate) fn check_at(&self, path: &str, strictness: Strictness, violations: &mut Violations) {
        if let Some(details) = &self.error_details {
            if !matches!(details, Value::Object(_) | Value::String(_) | Value::Null) {
                let rule = Rule::Type { expected: "an object, a string or null", got: kind_of(details) };
                violations.add(join(path, "error_details"), rule);
            }
        }
        check_extra(path, MESSAGE, &FIELDS, self.extra.keys(), strictness, violations);
    }
}

message_api!(ErrorDetail, "an error detail");
message_rules!(ErrorDetail);

impl Serialize for ErrorDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(FIELDS.len() + self.extra.len()))?;
        map.serialize_entry("error_type", &self.error_type)?;
        map.serialize_entry("error_message", &self.error_message)?;
        map.serialize_entry("error_details", &self.error_details)?;
        serialize_with_extra(map, &FIELDS, &self.extra)
    }
}
