//! Results, as the older versions know them.

use mcp_core::{CallToolResult, Content, ProtocolVersion, ToolResult};

/// The result as its version knows it. Blocks that it does not know become texts: a client would otherwise refuse the whole
/// result.
pub(super) fn projected(result: ToolResult, era: ProtocolVersion) -> CallToolResult {
    if era >= ProtocolVersion::V2025_06_18 {
        return result.into();
    }
    let mut result = CallToolResult::without_structure(result);
    for block in &mut result.content {
        if let Some(text) = text_of(block, era) {
            let text = Content::text(text);
            *block = match block.extra().get("annotations") {
                Some(annotations) => text.with("annotations", annotations.clone()),
                None => text,
            };
        }
    }
    result
}

/// The text that stands for a block which the version does not know; none for one that it knows.
fn text_of(block: &Content, era: ProtocolVersion) -> Option<String> {
    match block {
        Content::Text { .. } | Content::Image { .. } | Content::Resource { .. } => None,
        Content::Audio { .. } if era >= ProtocolVersion::V2025_03_26 => None,
        Content::Audio { data, mime_type, .. } => {
            let bytes = data.trim_end_matches('=').len() * 3 / 4;
            Some(format!("[audio of type {mime_type}, {bytes} bytes: MCP {era} has no audio; use a newer client]"))
        }
        Content::ResourceLink { uri, name, extra } => {
            let description = extra.get("description").and_then(|description| description.as_str());
            let description = description.map(|description| format!(" ({description})")).unwrap_or_default();
            Some(format!("{name}: {uri}{description}"))
        }
        // It is one of the newest versions, or of none.
        other => serde_json::to_string(other).ok(),
    }
}
