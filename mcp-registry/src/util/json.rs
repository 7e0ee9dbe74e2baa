//! JSON that is known as bytes.

use serde::Deserialize;
use serde::de::Error as _;

/// Reads JSON as text, as all other JSON is read: a program has one JSON reader less than with `serde_json::from_slice`.
pub(crate) fn from_bytes<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    let text = std::str::from_utf8(json).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}
