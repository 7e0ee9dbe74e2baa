//! The result of a call, in the format of its dialect and version.

use std::borrow::Cow;

use mcp_core::mcp::{CallToolResult, Dialect, ProtocolVersion};
use mcp_core::message::JsonObject;
use mcp_core::rpc::{Id, RpcResponse, code};
use mcp_core::support::repeated;
use mcp_core::{Error, ToolResult};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Server;
use super::decode::SERVER_INFO;
use super::encode::{append_as_string, begin_response, fail, respond, respond_error, result_for_version};
use super::errors::protocol_error;
use super::reply::ReplyKind;
use crate::call::result::{
    Answer, DataWriter, FlatWriter, ResultWriter, WRAPPER, append_meta, wrap_value, write_result,
};
use crate::catalog::notices::{Notice, add_notices};
use crate::util::json::from_bytes;

/// The format of the answer to a call.
pub(super) struct CallForm<'a> {
    pub(super) dialect: Dialect,
    pub(super) version: ProtocolVersion,
    /// `None` for a flat call.
    pub(super) id: Option<Id<'a>>,
}

impl CallForm<'_> {
    pub(super) fn into_owned(self) -> CallForm<'static> {
        CallForm { dialect: self.dialect, version: self.version, id: self.id.map(Id::into_owned) }
    }

    /// Whether results have structured content in addition to the text.
    fn is_structured(&self) -> bool {
        self.version >= ProtocolVersion::V2025_06_18
    }
}

/// Writes the values that tools return in the format of a call.
pub(super) struct FormWriter<'a> {
    form: &'a CallForm<'a>,
    server: &'a Server,
}

impl ResultWriter for FormWriter<'_> {
    fn before(&self, wraps: bool, out: &mut Vec<u8>) {
        let Some(id) = &self.form.id else { return FlatWriter.before(wraps, out) };
        begin_response(id, out);
        if self.form.dialect == Dialect::Legacy {
            return DataWriter.before(wraps, out);
        }
        out.extend_from_slice(match (self.form.is_structured(), wraps) {
            (true, true) => br#"{"structuredContent":{"result":"#,
            (true, false) => br#"{"structuredContent":"#,
            (false, _) => br#"{"content":[{"type":"text","text":"#,
        });
    }

    fn after(&self, wraps: bool, value: usize, notices: &[Notice], out: &mut Vec<u8>) {
        if self.form.id.is_none() {
            return FlatWriter.after(wraps, value, notices, out);
        }
        if self.form.dialect == Dialect::Legacy {
            DataWriter.after(wraps, value, notices, out);
            return out.push(b'}');
        }
        // A message must be one line. In JSON, line breaks occur only between tokens.
        out[value..].iter_mut().filter(|byte| **byte < b' ').for_each(|byte| *byte = b' ');
        let is_structured = self.form.is_structured();
        let text = other_text(wraps, is_structured, &out[value..]);
        let (mut value, mut end) = (value, out.len());
        if is_structured {
            let is_wrapped = wrap_value(wraps, value, out);
            // Wrapping the value now moves it.
            (value, end) = (value + out.len() - end, out.len());
            out.extend_from_slice(if is_wrapped {
                br#"},"content":[{"type":"text","text":"#
            } else {
                br#","content":[{"type":"text","text":"#
            });
        }
        match text {
            None => append_as_string(out, value..end),
            // Writing a string to a buffer cannot fail.
            Some(text) => drop(serde_json::to_writer(&mut *out, &text)),
        }
        if !is_structured {
            out.drain(value..end);
        }
        out.extend_from_slice(br#"}],"isError":false"#);
        self.server.append_call_suffix(self.form.version, notices, out);
        out.extend_from_slice(b"}}");
    }
}

/// The text for the model, if it differs from the value: `{"result": value}` is unwrapped, unless that value is an
/// object; and a text that only repeats a large value is truncated.
fn other_text(wraps: bool, is_structured: bool, json: &[u8]) -> Option<String> {
    let is_object = json.first() == Some(&b'{');
    let shown = match (wraps, is_object) {
        (true, true) => Cow::Owned([WRAPPER, json, b"}"].concat()),
        (false, true) if json.starts_with(WRAPPER) => match from_bytes(json) {
            Ok(OnlyResult { result }) if !result.get().starts_with('{') => Cow::Owned(result.get().as_bytes().to_vec()),
            _ => Cow::Borrowed(json),
        },
        _ => Cow::Borrowed(json),
    };
    let limit = if is_structured { CallToolResult::MAX_REPEATED } else { usize::MAX };
    if matches!(shown, Cow::Borrowed(_)) && json.len() <= limit {
        return None;
    }
    // The text of a string is its content, without quotes.
    let text: Option<String> = if shown.first() == Some(&b'"') { from_bytes(&shown).ok() } else { None };
    Some(repeated(&text.map_or_else(|| String::from_utf8_lossy(&shown), Cow::Owned), limit))
}

/// An object with `result` as its only member.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnlyResult<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

impl Server {
    pub(super) fn form_writer<'a>(&'a self, form: &'a CallForm<'a>) -> FormWriter<'a> {
        FormWriter { form, server: self }
    }

    /// Appends the end of a result in this version, with the notices of the call.
    fn append_call_suffix(&self, version: ProtocolVersion, notices: &[Notice], out: &mut Vec<u8>) {
        if notices.is_empty() {
            let suffix =
                || format!(r#","resultType":"complete","_meta":{}"#, json!({ SERVER_INFO: self.implementation() }));
            if version.is_stateless() {
                out.extend_from_slice(self.0.result_suffix.get_or_init(suffix).as_bytes());
            }
            return;
        }
        let mut meta = JsonObject::new();
        add_notices(&mut meta, notices);
        if version.is_stateless() {
            out.extend_from_slice(br#","resultType":"complete""#);
            meta.insert(SERVER_INFO.to_owned(), self.implementation());
        }
        append_meta(&meta, out);
    }

    /// Answers a call, unless its result was already written.
    pub(super) fn respond_call(
        &self,
        form: &CallForm<'_>,
        answer: Result<Answer, Error>,
        out: &mut Vec<u8>,
    ) -> ReplyKind {
        let response = ReplyKind::Response(form.dialect);
        let result = match answer {
            Ok(Answer::Written) => return response,
            Ok(Answer::Result(result)) => Ok(*result),
            Err(error) => Err(error),
        };
        match &form.id {
            None => respond_flat(result, out),
            Some(id) if form.dialect == Dialect::Legacy => respond_legacy(id, result, out),
            Some(id) => return self.respond_mcp(id, form.version, result, out),
        }
        response
    }

    fn respond_mcp(
        &self,
        id: &Id<'_>,
        version: ProtocolVersion,
        result: Result<ToolResult, Error>,
        out: &mut Vec<u8>,
    ) -> ReplyKind {
        let result = match result {
            Ok(result) => result,
            Err(error) => match protocol_error(&self.0.registry, &error, version, self.0.settings.reject_arguments) {
                Some(error) => {
                    respond_error(Some(id), &error, out);
                    let is_invalid = error.code == code::MISSING_CLIENT_CAPABILITY;
                    return if is_invalid {
                        ReplyKind::Invalid(Dialect::Mcp)
                    } else {
                        ReplyKind::Response(Dialect::Mcp)
                    };
                }
                None => error.into(),
            },
        };
        let mut result = result_for_version(result, version);
        if version.is_stateless() {
            result.extra.insert("resultType".to_owned(), "complete".into());
            result.meta.insert(SERVER_INFO.to_owned(), self.implementation());
        }
        respond(id, &result, out);
        ReplyKind::Response(Dialect::Mcp)
    }
}

fn respond_flat(result: Result<ToolResult, Error>, out: &mut Vec<u8>) {
    if let Err(error) = write_result(&result.unwrap_or_else(ToolResult::from), out) {
        out.extend_from_slice(ToolResult::failure(error).to_json().as_bytes());
    }
}

fn respond_legacy(id: &Id<'_>, result: Result<ToolResult, Error>, out: &mut Vec<u8>) {
    let profile = Dialect::Legacy.code_profile();
    let error = match result.map(|result| result.to_response(id.clone(), Dialect::Legacy, profile)) {
        Ok(Ok(Some(RpcResponse { outcome: Ok(result), .. }))) => return respond(id, &result, out),
        Ok(Ok(Some(RpcResponse { outcome: Err(error), .. }))) => return respond_error(Some(id), &error, out),
        Ok(Ok(None)) => return respond(id, &json!({}), out),
        Ok(Err(error)) => Error::from(error),
        Err(error) => error,
    };
    fail(Dialect::Legacy, id, error.to_rpc(profile), out);
}
