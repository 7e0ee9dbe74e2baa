//! Writes responses, results and notifications.

use std::ops::Range;

use mcp_core::mcp::{CallToolResult, Dialect, ProtocolVersion};
use mcp_core::rpc::{Id, RpcError, RpcNotification, RpcResponse};
use mcp_core::{Content, ToolResult};
use serde::Serialize;

use super::reply::{ReplyKind, Step};

/// Appends the response to a request.
pub(super) fn respond(id: &Id<'_>, result: &impl Serialize, out: &mut Vec<u8>) {
    respond_result(id, out, |out| {
        // The results of this crate can always be serialised.
        let _ = serde_json::to_writer(out, result);
    });
}

/// Appends the response to a request. The function writes the result as JSON.
pub(super) fn respond_result(id: &Id<'_>, out: &mut Vec<u8>, result: impl FnOnce(&mut Vec<u8>)) {
    begin_response(id, out);
    result(out);
    out.push(b'}');
}

/// Appends a response up to its result.
pub(super) fn begin_response(id: &Id<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    let _ = serde_json::to_writer(&mut *out, id);
    out.extend_from_slice(br#","result":"#);
}

/// Appends an error response; without an ID if none could be parsed.
pub(crate) fn respond_error(id: Option<&Id<'_>>, error: &RpcError, out: &mut Vec<u8>) {
    let response = RpcResponse::failure(id.cloned(), error.clone());
    let _ = serde_json::to_writer(out, &response);
}

/// Answers a request with an error, in the format of its dialect.
pub(super) fn fail(dialect: Dialect, id: &Id<'_>, error: RpcError, out: &mut Vec<u8>) -> Step {
    let error = if dialect == Dialect::Legacy { error.into_legacy() } else { error };
    respond_error(Some(id), &error, out);
    Step::Done(ReplyKind::Response(dialect))
}

/// Converts a result to the format of a version. Blocks that the version does not have become text blocks; otherwise,
/// clients would reject the whole result.
pub(super) fn result_for_version(result: ToolResult, version: ProtocolVersion) -> CallToolResult {
    if version >= ProtocolVersion::V2025_06_18 {
        return result.into();
    }
    let mut result = CallToolResult::without_structure(result);
    for block in &mut result.content {
        if let Some(text) = text_for_version(block, version) {
            let text = Content::text(text);
            *block = match block.extra().get("annotations") {
                Some(annotations) => text.with("annotations", annotations.clone()),
                None => text,
            };
        }
    }
    result
}

/// The text that replaces a block that the version does not have; `None` if the version has it.
fn text_for_version(block: &Content, version: ProtocolVersion) -> Option<String> {
    match block {
        Content::Text { .. } | Content::Image { .. } | Content::Resource { .. } => None,
        Content::Audio { .. } if version >= ProtocolVersion::V2025_03_26 => None,
        Content::Audio { data, mime_type, .. } => {
            let bytes = data.trim_end_matches('=').len() * 3 / 4;
            Some(format!("[audio of type {mime_type}, {bytes} bytes: MCP {version} has no audio; use a newer client]"))
        }
        Content::ResourceLink { uri, name, extra } => {
            let description = extra.get("description").and_then(|description| description.as_str());
            let description = description.map(|description| format!(" ({description})")).unwrap_or_default();
            Some(format!("{name}: {uri}{description}"))
        }
        // A block of a newer version, or one that no version defines.
        other => serde_json::to_string(other).ok(),
    }
}

/// A notification.
pub(super) fn notification(method: &'static str, params: impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(notification) = RpcNotification::new(method).params(params) {
        let _ = serde_json::to_writer(&mut out, &notification);
    }
    out
}

/// What happens to a notification while the client does not read.
#[cfg(any(feature = "stdio", feature = "http"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It is dropped while too much output is queued: progress and log messages.
    Droppable,
    /// It replaces an earlier one: changes of the list of tools.
    Latest,
    Always,
}

#[cfg(any(feature = "stdio", feature = "http"))]
pub(crate) fn delivery(notification: &[u8]) -> Delivery {
    match notification.strip_prefix(br#"{"jsonrpc":"2.0","method":"notifications/"#) {
        Some(method) if method.starts_with(br#"progress""#) || method.starts_with(br#"message""#) => {
            Delivery::Droppable
        }
        Some(method) if method.starts_with(br#"tools/list_changed""#) => Delivery::Latest,
        _ => Delivery::Always,
    }
}

/// Appends JSON in the buffer as a JSON string: a string unchanged, any other value as its JSON text.
pub(super) fn append_as_string(out: &mut Vec<u8>, json: Range<usize>) {
    if out.get(json.start) == Some(&b'"') {
        out.extend_from_within(json);
        return;
    }
    out.reserve(json.len() + 2);
    out.push(b'"');
    for at in json {
        match out[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            // In JSON, control characters occur only between tokens.
            ..b' ' => out.push(b' '),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::append_as_string;

    fn text_of(json: &[u8]) -> String {
        let mut out = json.to_vec();
        append_as_string(&mut out, 0..json.len());
        serde_json::from_slice(&out[json.len()..]).unwrap()
    }

    #[test]
    fn any_json_can_become_a_string() {
        assert_eq!(text_of(br#""a \"text\"\n""#), "a \"text\"\n");
        assert_eq!(text_of(br#"{"a":"\\ \""}"#), r#"{"a":"\\ \""}"#);
        // Pretty-printed JSON.
        assert_eq!(text_of(b"{\n\t\"a\": 1\r\n}"), "{  \"a\": 1  }");
    }

    #[cfg(any(feature = "stdio", feature = "http"))]
    #[test]
    fn progress_may_be_dropped_and_list_changes_are_merged() {
        use super::{Delivery, delivery, notification};

        for (method, how) in [
            ("notifications/progress", Delivery::Droppable),
            ("notifications/message", Delivery::Droppable),
            ("notifications/tools/list_changed", Delivery::Latest),
            ("notifications/subscriptions/acknowledged", Delivery::Always),
            ("notifications/cancelled", Delivery::Always),
        ] {
            assert_eq!(delivery(&notification(method, serde_json::json!({}))), how, "{method}");
        }
    }
}
