//! Writing responses and notifications.

use std::ops::Range;

use mcp_core::{Id, RpcError, RpcNotification, RpcResponse};
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

/// A notification.
pub(super) fn notification(method: &'static str, params: impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(notification) = RpcNotification::new(method).params(params) {
        let _ = serde_json::to_writer(&mut out, &notification);
    }
    out
}

/// Whether a notification is one of many, of which one may be missing: progress, or a log message.
#[cfg(any(feature = "stdio", feature = "http"))]
pub(crate) fn may_be_missed(notification: &[u8]) -> bool {
    let method = notification.strip_prefix(br#"{"jsonrpc":"2.0","method":"notifications/"#);
    method.is_some_and(|method| method.starts_with(br#"progress""#) || method.starts_with(br#"message""#))
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
    fn progress_may_be_missed_and_changes_may_not() {
        use super::{may_be_missed, notification};

        for (method, may) in [
            ("notifications/progress", true),
            ("notifications/message", true),
            ("notifications/tools/list_changed", false),
            ("notifications/subscriptions/acknowledged", false),
        ] {
            assert_eq!(may_be_missed(&notification(method, serde_json::json!({}))), may, "{method}");
        }
    }
}
