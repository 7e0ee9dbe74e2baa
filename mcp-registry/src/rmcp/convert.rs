//! Our messages → rmcp's. What rmcp has no field for travels in `_meta`.

use ::rmcp::ErrorData;
use ::rmcp::model::{CallToolResult, ContentBlock, ErrorCode, Tool};
use mcp_core::{CallOptions, Content, Error, JsonObject, ProtocolVersion, RpcError, ToolResult};
use serde_json::{Value, json};

use crate::catalog::tool::RegisteredTool;
use crate::protocol;
use crate::registry::Registry;
use crate::util::panic::Panicked;

/// A tool as clients of a version see it.
pub(super) fn tool(tool: &RegisteredTool, era: ProtocolVersion) -> Tool {
    let listed = tool.listed(era);
    let mut tool = Tool::new(listed.name.to_owned(), listed.description.to_owned(), object(listed.input_schema));
    tool.title = listed.title.map(ToOwned::to_owned);
    tool.output_schema = listed.output_schema.map(|schema| object(schema).into());
    tool.annotations = serde_json::from_value(listed.annotations).ok();
    tool.meta = Some(object(listed.meta)).filter(|meta| !meta.is_empty()).map(Into::into);
    tool
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// A result, for clients that read `structuredContent` or for older ones.
pub(super) fn result(result: ToolResult, structured: bool) -> CallToolResult {
    let mcp = if structured {
        mcp_core::CallToolResult::from(result)
    } else {
        mcp_core::CallToolResult::without_structure(result)
    };
    let mut result = CallToolResult::success(mcp.content.iter().map(block).collect());
    result.structured_content = mcp.structured_content;
    result.is_error = Some(mcp.is_error);
    let mut meta = mcp.meta;
    mcp.extra.into_iter().for_each(|(key, value)| _ = meta.entry(key).or_insert(value));
    result.meta = (!meta.is_empty()).then(|| meta.into());
    result
}

fn block(content: &Content) -> ContentBlock {
    match content {
        Content::Text { text, extra } if extra.is_empty() => ContentBlock::text(text),
        content => {
            let mut fields = object(json!(content));
            let mut block = read(&fields);
            // Where it cannot be read at all, nothing is kept but what makes it a block.
            let kept = block.as_ref().map_or_else(|| bare(content), |block| json!(block));
            if save(&mut fields, &kept) {
                block = read(&fields);
            }
            // A block of a type that rmcp does not know.
            block.unwrap_or_else(|| ContentBlock::text(json!(content).to_string()))
        }
    }
}

fn read(fields: &JsonObject) -> Option<ContentBlock> {
    serde_json::from_value(Value::Object(fields.clone())).ok()
}

/// The block without what else it says.
fn bare(content: &Content) -> Value {
    let mut fields = object(json!(content));
    fields.retain(|key, value| !content.extra().contains_key(key) || (key == "_meta" && value.is_object()));
    fields.into()
}

/// Moves what was not kept into `_meta`, here and in a resource, and says whether there was something.
fn save(fields: &mut JsonObject, kept: &Value) -> bool {
    let lost: Vec<String> = fields.keys().filter(|key| kept.get(key).is_none()).cloned().collect();
    let mut moved = JsonObject::new();
    for key in &lost {
        moved.extend(fields.shift_remove_entry(key));
    }
    let mut any = !lost.is_empty();
    if any {
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            moved.into_iter().for_each(|(key, value)| _ = meta.entry(key).or_insert(value));
        }
    }
    if let (Some(Value::Object(resource)), Some(kept)) = (fields.get_mut("resource"), kept.get("resource")) {
        any |= save(resource, kept);
    }
    any
}

/// What is an error of the protocol, and no result that a model reads.
pub(super) fn protocol_error(registry: &Registry, error: &Error, era: ProtocolVersion) -> Option<ErrorData> {
    protocol::protocol_error(registry, error, era, false).map(of_rpc)
}

/// The error for what the application around the tools did: rmcp does not answer where there is a panic.
pub(super) fn internal(registry: &Registry, options: &CallOptions, panicked: &Panicked) -> ErrorData {
    of_rpc(protocol::internal(registry, options, panicked))
}

fn of_rpc(error: RpcError) -> ErrorData {
    let RpcError { code, message, data, .. } = error;
    ErrorData::new(i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode), message, data)
}
