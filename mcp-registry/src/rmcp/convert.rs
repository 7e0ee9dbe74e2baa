//! Converts our messages to rmcp's. Fields that rmcp lacks go into `_meta`.

use ::rmcp::ErrorData;
use ::rmcp::model::{CallToolResult, ContentBlock, ErrorCode, RequestMetaObject, Tool};
use mcp_core::error::CodeProfile;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::message::JsonObject;
use mcp_core::rpc::RpcError;
use mcp_core::{CallOptions, Content, Error, ToolResult};
use serde_json::{Value, json};

use crate::catalog::tool::RegisteredTool;
use crate::protocol;
use crate::registry::Registry;
use crate::util::panic::Panicked;

/// A tool as clients of a version see it.
pub(super) fn tool(tool: &RegisteredTool, version: ProtocolVersion) -> Tool {
    let listed = tool.listed(version);
    let mut tool = Tool::new(listed.name.to_owned(), listed.description.to_owned(), parsed(&listed.input_schema));
    tool.title = listed.title.map(ToOwned::to_owned);
    tool.output_schema = listed.output_schema.map(|schema| parsed(&schema).into());
    tool.annotations = Some(listed.annotations)
        .filter(|annotations| !annotations.is_empty())
        .and_then(|annotations| serde_json::from_value(annotations.into()).ok());
    tool.meta = listed.meta.map(|meta| object(json!(meta)).into());
    tool
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// A schema as rmcp has it.
fn parsed(schema: &str) -> JsonObject {
    serde_json::from_str(schema).unwrap_or_default()
}

/// Converts a result, for clients with or without `structuredContent`.
pub(super) fn result(result: ToolResult, structured: bool) -> CallToolResult {
    let mcp = if structured {
        mcp_core::mcp::CallToolResult::from(result)
    } else {
        mcp_core::mcp::CallToolResult::without_structure(result)
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
            let mut block = parse(&fields);
            // If rmcp cannot parse the block, keep only the fields of its type.
            let kept = block.as_ref().map_or_else(|| without_extra(content), |block| json!(block));
            if move_to_meta(&mut fields, &kept) {
                block = parse(&fields);
            }
            // rmcp may not know the type of the block.
            block.unwrap_or_else(|| ContentBlock::text(json!(content).to_string()))
        }
    }
}

fn parse(fields: &JsonObject) -> Option<ContentBlock> {
    serde_json::from_value(Value::Object(fields.clone())).ok()
}

/// The block without its extra fields.
fn without_extra(content: &Content) -> Value {
    let mut fields = object(json!(content));
    fields.retain(|key, value| !content.extra().contains_key(key) || (key == "_meta" && value.is_object()));
    fields.into()
}

/// Moves the fields that were not kept to `_meta`, here and in a resource. Returns whether there were any.
fn move_to_meta(fields: &mut JsonObject, kept: &Value) -> bool {
    let lost: Vec<String> = fields.keys().filter(|key| kept.get(key).is_none()).cloned().collect();
    let mut moved = JsonObject::new();
    for key in &lost {
        moved.extend(fields.shift_remove_entry(key));
    }
    let mut has_moved = !lost.is_empty();
    if has_moved {
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            moved.into_iter().for_each(|(key, value)| _ = meta.entry(key).or_insert(value));
        }
    }
    if let (Some(Value::Object(resource)), Some(kept)) = (fields.get_mut("resource"), kept.get("resource")) {
        has_moved |= move_to_meta(resource, kept);
    }
    has_moved
}

/// The protocol error; `None` if the error is a result for the model.
pub(super) fn protocol_error(registry: &Registry, error: &Error, version: ProtocolVersion) -> Option<ErrorData> {
    protocol::protocol_error(registry, error, version, false).map(error_data)
}

/// The error for a panic outside of a tool: after a panic, rmcp itself sends no response.
pub(super) fn internal_error(registry: &Registry, options: &CallOptions, panicked: &Panicked) -> ErrorData {
    error_data(protocol::internal(registry, options, panicked))
}

/// The error for a panic outside of a tool that was recorded as the error of a call.
pub(super) fn as_internal(error: &Error) -> ErrorData {
    ErrorData { code: ErrorCode::INTERNAL_ERROR, ..error_data(error.to_rpc(CodeProfile::Standard)) }
}

/// Refuses the `_meta` of a request if it has too many bytes as JSON.
pub(super) fn check_meta_size(meta: &RequestMetaObject) -> Result<(), ErrorData> {
    let bytes = if meta.0.0.is_empty() { 0 } else { json!(meta).to_string().len() };
    protocol::check_meta_size(bytes).map_err(error_data)
}

fn error_data(error: RpcError) -> ErrorData {
    let RpcError { code, message, data, .. } = error;
    ErrorData::new(i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode), message, data)
}
