//! Writing responses and notifications.

use std::ops::Range;

use mcp_core::{Dialect, Id, RpcError, RpcNotification, RpcResponse};
use serde::Serialize;

/// Appends the response to a request.
pub(super) fn respond(id: &Id<'_>, result: &impl Serialize, out: &mut Vec<u8>) {
    respond_result(id, out, |out| {
        // What this crate writes can be written.
        let _ = serde_json::to_writer(out, result);
    });
}

/// Appends the response to a request, whose result is written as JSON.
pub(super) fn respond_result(id: &Id<'_>, out: &mut Vec<u8>, result: impl FnOnce(&mut Vec<u8>)) {
    begin(id, out);
    result(out);
    out.push(b'}');
}

/// Appends all of a response up to its result.
pub(super) fn begin(id: &Id<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    let _ = serde_json::to_writer(&mut *out, id);
    out.extend_from_slice(br#","result":"#);
}

/// Appends an error; without an id where none could be read.
pub(crate) fn respond_error(id: Option<&Id<'_>>, error: &RpcError, out: &mut Vec<u8>) {
    let response = RpcResponse::failure(id.cloned(), error.clone());
    let _ = serde_json::to_writer(out, &response);
}

/// Appends the error of a request, in the form of its dialect.
pub(super) fn respond_error_in(dialect: Dialect, id: &Id<'_>, error: RpcError, out: &mut Vec<u8>) {
    let error = if dialect == Dialect::Legacy { error.into_legacy() } else { error };
    respond_error(Some(id), &error, out);
}

/// A notification.
pub(super) fn notification(method: &'static str, params: impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(notification) = RpcNotification::new(method).params(params) {
        let _ = serde_json::to_writer(&mut out, &notification);
    }
    out
}

/// How a notification is kept while its client does not read.
#[cfg(any(feature = "stdio", feature = "http"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Progress and log messages: some may be missing.
    IfRoom,
    /// A change of the list of tools: one notification says as much as many.
    Once,
    Always,
}

#[cfg(any(feature = "stdio", feature = "http"))]
pub(crate) fn kept(notification: &[u8]) -> Kept {
    match notification.strip_prefix(br#"{"jsonrpc":"2.0","method":"notifications/"#) {
        Some(method) if method.starts_with(br#"progress""#) || method.starts_with(br#"message""#) => Kept::IfRoom,
        Some(method) if method.starts_with(br#"tools/list_changed""#) => Kept::Once,
        _ => Kept::Always,
    }
}

/// Appends a JSON text that stands in the buffer as a JSON string: a string as it is, anything else as its own text.
pub(super) fn append_text_of(out: &mut Vec<u8>, json: Range<usize>) {
    if out.get(json.start) == Some(&b'"') {
        out.extend_from_within(json);
        return;
    }
    out.reserve(json.len() + 2);
    out.push(b'"');
    for at in json {
        match out[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            // JSON has control characters between its tokens only.
            ..b' ' => out.push(b' '),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::append_text_of;

    fn text_of(json: &[u8]) -> String {
        let mut out = json.to_vec();
        append_text_of(&mut out, 0..json.len());
        serde_json::from_slice(&out[json.len()..]).unwrap()
    }

    #[test]
    fn any_json_can_be_a_text() {
        assert_eq!(text_of(br#""a \"text\"\n""#), "a \"text\"\n");
        assert_eq!(text_of(br#"{"a":"\\ \""}"#), r#"{"a":"\\ \""}"#);
        // As a value that was read from a file comes.
        assert_eq!(text_of(b"{\n\t\"a\": 1\r\n}"), "{  \"a\": 1  }");
    }

    #[cfg(any(feature = "stdio", feature = "http"))]
    #[test]
    fn progress_is_kept_if_there_is_room_and_changes_once() {
        use super::{Kept, kept, notification};

        for (method, how) in [
            ("notifications/progress", Kept::IfRoom),
            ("notifications/message", Kept::IfRoom),
            ("notifications/tools/list_changed", Kept::Once),
            ("notifications/subscriptions/acknowledged", Kept::Always),
            ("notifications/cancelled", Kept::Always),
        ] {
            assert_eq!(kept(&notification(method, serde_json::json!({}))), how, "{method}");
        }
    }
}
