//! The JSON Schemas (draft-07) of the flat messages, and of the context of a call.
//!
//! The schema of a message accepts exactly what the type accepts, except for what JSON Schema cannot express: that two spellings of a field
//! (`name` and `tool_name`) have the same value, that there are no duplicate keys, and how deep a message is nested.

use serde_json::{Value, json};

use super::Strictness;
use crate::name::MAX_NAME_LENGTH;

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of a [`ToolCall`](super::ToolCall).
pub fn tool_call(strictness: Strictness) -> Value {
    let pattern = match strictness {
        Strictness::Lenient => r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$",
        Strictness::Strict => r"^[a-z0-9_]+(\.[a-z0-9_]+)+$",
    };
    let tool_name = json!({
        "type": "string",
        "description": "The unique invocation name of the tool (e.g., 'module_name.tool_name').",
        "pattern": pattern,
        "maxLength": MAX_NAME_LENGTH,
    });
    let arguments = json!({
        "type": "object",
        "description": "An object containing the arguments for the tool. \
            The schema for this object is defined by the specific tool being called.",
        "additionalProperties": true,
    });
    let mut schema = json!({
        "$schema": DRAFT,
        "title": "MCP Tool Call",
        "description": "Standard structure for an AI agent to call a tool.",
        "type": "object",
        "properties": { "tool_name": tool_name, "arguments": arguments },
        "required": ["tool_name", "arguments"],
        "additionalProperties": false,
    });
    if strictness == Strictness::Lenient {
        schema["properties"]["name"] = tool_name;
        schema["properties"]["args"] = arguments;
        schema["additionalProperties"] = json!(true);
        let either = |name, alias| json!({ "anyOf": [{ "required": [name] }, { "required": [alias] }] });
        schema["required"] = json!([]);
        schema["allOf"] = json!([either("tool_name", "name"), either("arguments", "args")]);
    }
    schema
}

/// The schema of a [`ToolResult`](super::ToolResult).
pub fn tool_result(strictness: Strictness) -> Value {
    let error = json!({ "$ref": "#/definitions/MCPErrorDetail" });
    let mut schema = json!({
        "$schema": DRAFT,
        "title": "MCP Tool Result",
        "description": "Standard structure for a tool to return results to an AI agent.",
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "description": "The outcome of the tool execution.",
                "default": "success",
            },
            "data": {
                "type": ["object", "null"],
                "description": "The output data from the tool if successful. Schema is tool-specific.",
                "additionalProperties": true,
            },
            "error": {
                "description": "Details of the error if execution failed.",
                "anyOf": [error, { "type": "null" }],
            },
            "explanation": {
                "type": ["string", "null"],
                "description": "Optional human-readable explanation of the result.",
            },
        },
        "required": ["status"],
        "additionalProperties": strictness == Strictness::Lenient,
        "if": { "required": ["status"], "properties": { "status": { "pattern": "[fF][aA][iI][lL]" } } },
        "then": { "required": ["error"], "properties": { "error": error, "data": { "type": "null" } } },
        "definitions": { "MCPErrorDetail": error_object(strictness) },
    });
    let properties = &mut schema["properties"];
    match strictness {
        Strictness::Lenient => {
            let blocks = json!({ "type": ["array", "null"], "items": { "$ref": "#/definitions/Content" } });
            properties["content"] = blocks;
            properties["_meta"] = json!({ "type": ["object", "null"] });
            schema["definitions"]["Content"] = content();
        }
        Strictness::Strict => {
            properties["status"]["enum"] = json!(["success", "failure", "no_change_needed", "partial_success"]);
        }
    }
    schema
}

/// The schema of an [`ErrorDetail`](super::ErrorDetail).
pub fn error_detail(strictness: Strictness) -> Value {
    let mut schema = json!({
        "$schema": DRAFT,
        "title": "MCP Error Detail",
        "description": "Standard structure for detailed error information in MCP responses.",
    });
    if let (Value::Object(schema), Value::Object(object)) = (&mut schema, error_object(strictness)) {
        schema.extend(object);
    }
    schema
}

/// The schema of the standard context object, to which a [`ToolContext`](crate::ToolContext) serialises. What is not known of a
/// call is left out.
pub fn context() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "$schema": DRAFT,
        "title": "MCP Context",
        "description": "What is known of a call: who calls which tool, and until when.",
        "type": "object",
        "properties": {
            "tool_name": text("The canonical name of the tool."),
            "request_id": text("The ID of the request."),
            "caller": text("The caller, as the server knows it."),
            "trust": {
                "type": "string",
                "description": "How far the caller is trusted.",
                "enum": ["untrusted", "verified", "trusted"],
            },
            "deadline_ms": {
                "type": "integer",
                "description": "The time until the deadline of the call, in milliseconds.",
                "minimum": 0,
            },
            "protocol_version": text("The version of MCP that the request uses, such as '2025-11-25'."),
            "client": {
                "type": "object",
                "description": "The program that sent the request, as it names itself.",
                "properties": { "name": text("Its name."), "version": text("Its version.") },
                "required": ["name"],
                "additionalProperties": false,
            },
            "trace": {
                "type": "object",
                "description": "The W3C trace context of the request, as the client sent it.",
                "properties": {
                    "traceparent": text("The trace and the span of the client."),
                    "tracestate": text("Data of tracing systems."),
                },
                "required": ["traceparent"],
                "additionalProperties": false,
            },
        },
        "required": ["tool_name", "trust"],
        "additionalProperties": false,
    })
}

fn error_object(strictness: Strictness) -> Value {
    json!({
        "type": "object",
        "properties": {
            "error_type": {
                "type": "string",
                "description": "A unique code or type for the error (e.g., ValidationError, FileNotFoundError).",
                "examples": crate::error::ErrorType::STANDARD,
            },
            "error_message": {
                "type": "string",
                "description": "A descriptive message explaining the error.",
            },
            "error_details": {
                "oneOf": [
                    { "type": "object", "additionalProperties": true },
                    { "type": "string" },
                    { "type": "null" },
                ],
                "description": "Optional structured details or a string containing more info about the error.",
            },
        },
        "required": ["error_type", "error_message"],
        "additionalProperties": strictness == Strictness::Lenient,
    })
}

/// The schema of a content block: the required fields of each known type. A block of another type may have any field.
fn content() -> Value {
    let text = json!({ "type": "string" });
    let case = |kind: &str, fields: &[&str]| {
        let properties: serde_json::Map<_, _> =
            fields.iter().map(|field| ((*field).to_owned(), text.clone())).collect();
        json!({
            "if": { "properties": { "type": { "const": kind } } },
            "then": { "required": fields, "properties": properties },
        })
    };
    let resource = json!({
        "type": "object",
        "properties": { "uri": text, "text": text, "blob": text },
        "required": ["uri"],
        "oneOf": [{ "required": ["text"] }, { "required": ["blob"] }],
    });
    json!({
        "type": "object",
        "properties": {
            "type": text,
            "annotations": { "type": ["object", "null"] },
            "_meta": { "type": ["object", "null"] },
        },
        "required": ["type"],
        "allOf": [
            case("text", &["text"]),
            case("image", &["data", "mimeType"]),
            case("audio", &["data", "mimeType"]),
            case("resource_link", &["uri", "name"]),
            {
                "if": { "properties": { "type": { "const": "resource" } } },
                "then": { "required": ["resource"], "properties": { "resource": resource } },
            },
        ],
    })
}
