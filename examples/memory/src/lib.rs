//! Tools that remember values by key.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_core::serde_json::{Value, json};
use mcp_core::{ErrorType, Json, ToolError, mcp_tool};

/// The number of keys that are remembered. With the limits on keys and values it bounds the memory in use.
const MAX_KEYS: usize = 1_000;

/// The size of the largest value, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// The stored values.
#[derive(Debug, Default)]
pub struct Memory(Mutex<BTreeMap<String, Value>>);

impl Memory {
    fn values(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        // Each change is a single step, so a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a change did.
#[derive(Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Change {
    /// The key.
    pub key: String,
    /// Whether there was a value under the key before.
    pub existed: bool,
}

/// Remembers a value under a key, in place of what was there.
///
/// # Errors
/// - `ValidationError`: the value is larger than 16 KiB of JSON.
/// - `MemoryFullError`: 1,000 keys are remembered already.
///
/// # Idempotency
/// The same value under the same key is remembered once. Only `existed` differs from the second call on.
///
/// # Security
/// - **Resource Limits**: keys, values and their number are limited, so that callers cannot fill the memory of the program.
/// - **Information Disclosure**: every caller can read what is remembered, so remember no secrets.
///
/// # Examples
/// ```json
/// { "key": "shopping/list", "existed": false }
/// ```
#[mcp_tool(title = "Remember", destructive = false, idempotent, tags("memory"), allow("any-value"))]
pub fn put(
    #[ctx] memory: &Memory,
    /// The key to remember it by.
    #[arg(min_length = 1, max_length = 256, example = "shopping/list")]
    key: String,
    /// Any JSON value.
    #[arg(example = ["eggs", "apples"])]
    value: Value,
) -> Result<Change, ToolError> {
    if value.to_string().len() > MAX_VALUE_BYTES {
        let message = format!("value is larger than {MAX_VALUE_BYTES} bytes of JSON; split it over several keys");
        return Err(ToolError::new(ErrorType::VALIDATION_ERROR, message));
    }
    let mut values = memory.values();
    if values.len() >= MAX_KEYS && !values.contains_key(&key) {
        let message = format!("{MAX_KEYS} keys are remembered already; forget one with `memory.delete`");
        return Err(ToolError::new("MemoryFullError", message));
    }
    let existed = values.insert(key.clone(), value).is_some();
    Ok(Change { key, existed })
}

/// Recalls the value under a key.
///
/// # Errors
/// - `ResourceNotFound`: nothing is remembered under the key. `error_details`: `{"key": "…"}`.
///
/// # Idempotency
/// The result is the same until another value is put under the key, or the key is deleted.
///
/// # Security
/// - **Information Disclosure**: every caller can read what any other one has put.
///
/// # Examples
/// ```json
/// { "result": ["eggs", "apples"] }
/// ```
#[mcp_tool(title = "Recall", read_only, tags("memory"), allow("missing-output-schema"))]
pub fn get(
    #[ctx] memory: &Memory,
    /// The key.
    #[arg(example = "shopping/list")]
    key: &str,
) -> Result<Json<Value>, ToolError> {
    match memory.values().get(key) {
        Some(value) => Ok(Json(value.clone())),
        None => Err(ToolError::new(
            ErrorType::RESOURCE_NOT_FOUND,
            "nothing is remembered under the key; `memory.list` names the keys",
        )
        .details(json!({ "key": key }))),
    }
}

/// Lists the keys under which something is remembered.
///
/// # Security
/// - **Information Disclosure**: every caller sees the keys of all others, so put no secrets into keys.
///
/// # Examples
/// ```json
/// ["shopping/list"]
/// ```
#[mcp_tool(title = "List keys", read_only, tags("memory"))]
pub fn list(
    #[ctx] memory: &Memory,
    /// Only keys that begin with this.
    #[arg(default, example = "shopping/")]
    prefix: &str,
) -> Vec<String> {
    memory.values().keys().filter(|key| key.starts_with(prefix)).cloned().collect()
}

/// Forgets the value under a key.
///
/// # Idempotency
/// A key that is gone stays gone. Only `existed` differs from the second call on.
///
/// # Security
/// - **Loss of Data**: the value cannot be recovered, and every trusted caller can delete what others have put.
///
/// # Examples
/// ```json
/// { "key": "shopping/list", "existed": true }
/// ```
#[mcp_tool(title = "Forget", destructive, idempotent, tags("memory"))]
pub fn delete(
    #[ctx] memory: &Memory,
    /// The key.
    #[arg(example = "shopping/list")]
    key: String,
) -> Change {
    let existed = memory.values().remove(&key).is_some();
    Change { key, existed }
}

#[cfg(test)]
mod tests {
    use super::{Memory, delete, get, list, put};
    use mcp_core::serde_json::json;

    #[test]
    fn a_value_can_be_put_read_listed_and_deleted() {
        let memory = Memory::default();
        assert!(!put(&memory, "a.1".into(), json!({ "n": 1 })).unwrap().existed);
        assert!(put(&memory, "a.1".into(), json!(2)).unwrap().existed);
        put(&memory, "b".into(), json!(null)).unwrap();
        assert_eq!(get(&memory, "a.1").unwrap().0, json!(2));
        assert_eq!(list(&memory, "a."), ["a.1"]);
        assert_eq!(list(&memory, ""), ["a.1", "b"]);
        assert!(delete(&memory, "a.1".into()).existed && !delete(&memory, "a.1".into()).existed);
        assert_eq!(get(&memory, "a.1").unwrap_err().error_type(), "ResourceNotFound");
    }
}
