//! `tools/call`, and the legacy `call_tool`.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_core::context::{BoxFuture, ToolEvent};
use mcp_core::mcp::{CallToolResult, Dialect, ProtocolVersion};
use mcp_core::message::JsonObject;
use mcp_core::rpc::{Id, RpcError, RpcResponse, code};
use mcp_core::{CallOptions, Error, LogLevel, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Server;
use super::decode::{Request, SERVER_INFO, either, same_json};
use super::encode::{append_as_string, begin_response, fail, notification, respond, respond_error, result_for_version};
use super::errors::{busy, id_in_use, invalid_params, protocol_error, shutting_down, token_in_use, unknown_level};
use super::in_flight::NotStarted;
use super::peer::Peer;
use super::reply::{Reply, ReplyKind, Step};
use crate::call::Form;
use crate::call::run::CANCELLED;
use crate::util::lock::lock;

/// A call of a tool, as the request has it.
pub(super) struct ToolRequest<'a> {
    id: &'a Id<'a>,
    name: &'a str,
    arguments: &'a str,
    meta: Option<&'a RawValue>,
    progress_token: Option<Value>,
    /// The lowest level of log messages, in versions where each request has its own; `None` turns them off there.
    log_level: Option<LogLevel>,
    version: ProtocolVersion,
    dialect: Dialect,
}

impl<'a> ToolRequest<'a> {
    fn read(id: &'a Id<'a>, request: &'a Request<'_>, dialect: Dialect) -> Result<Self, RpcError> {
        let Request { version, params, meta } = request;
        let names = ("name", "tool_name");
        let name = either(params.name.as_ref(), params.tool_name.as_ref(), names, |one, other| one == other)?;
        let name = name.ok_or_else(|| invalid_params("`name` is missing; add the name of the tool"))?;
        let names = ("arguments", "args");
        let arguments =
            either(params.arguments.as_ref(), params.args.as_ref(), names, |one, other| same_json(one, other))?;
        let arguments = match arguments.map(|raw| raw.get()) {
            None | Some("null") => "{}",
            Some(object) if object.starts_with('{') => object,
            Some(_) => return Err(invalid_params("`arguments` must be an object; send one, `{}` if there are none")),
        };
        let log_level = meta.log_level.as_deref().filter(|_| version.is_stateless());
        Ok(Self {
            id,
            name,
            arguments,
            meta: params.raw_meta(),
            progress_token: meta.progress_token.map(progress_token).transpose()?,
            log_level: log_level
                .map(|name| LogLevel::from_name(name).ok_or_else(|| unknown_level(name)))
                .transpose()?,
            version: *version,
            dialect,
        })
    }

    /// The options of the call: those of the connection, and the `_meta`. Fails if no tool could read the `_meta`.
    fn options(&self, peer: &Peer) -> Result<CallOptions, RpcError> {
        let mut options = peer.call_options().clone().request_id(self.id.to_string());
        if let Some(raw) = self.meta.filter(|raw| raw.get() != "null") {
            options = options.meta_json(raw.get()).map_err(|error| invalid_params(format!("`_meta`: {error}")))?;
        }
        let lowest = if self.version.is_stateless() { self.log_level } else { Some(peer.log_level()) };
        if !peer.can_notify() || (self.progress_token.is_none() && lowest.is_none()) {
            return Ok(options);
        }
        let (peer, tool, token) = (peer.clone(), self.name.to_owned(), self.progress_token.clone());
        let last_progress = Mutex::new(f64::NEG_INFINITY);
        let has_messages = self.version >= ProtocolVersion::V2025_03_26;
        Ok(options.on_event(move |event| match event {
            ToolEvent::Progress { done, total, message } => {
                let Some(token) = &token else { return };
                // Progress only ever increases.
                let mut last = lock(&last_progress);
                if done > *last && done.is_finite() {
                    *last = done;
                    let params = progress_params(token, done, total, message.filter(|_| has_messages));
                    peer.notify(notification("notifications/progress", params));
                }
            }
            ToolEvent::Log { level, message } if lowest.is_some_and(|lowest| level >= lowest) => {
                let params = json!({ "level": level, "logger": tool, "data": message });
                peer.notify(notification("notifications/message", params));
            }
            _ => {}
        }))
    }
}

fn progress_params(token: &Value, done: f64, total: Option<f64>, message: Option<String>) -> JsonObject {
    let mut params = JsonObject::new();
    params.insert("progressToken".to_owned(), token.clone());
    params.insert("progress".to_owned(), shortest_number(done));
    if let Some(total) = total.filter(|total| total.is_finite()) {
        params.insert("total".to_owned(), shortest_number(total));
    }
    if let Some(message) = message {
        params.insert("message".to_owned(), message.into());
    }
    params
}

/// A whole number is written as an integer.
fn shortest_number(number: f64) -> Value {
    #[allow(clippy::cast_possible_truncation, reason = "it is a whole number that fits")]
    if number.fract() == 0.0 && number.abs() < 1e15 { (number as i64).into() } else { number.into() }
}

fn progress_token(raw: &RawValue) -> Result<Value, RpcError> {
    match serde_json::from_str(raw.get()) {
        Ok(token @ (Value::String(_) | Value::Number(_))) => Ok(token),
        _ => Err(invalid_params("`progressToken` must be a string or an integer; send one")),
    }
}

/// The form of a result of `tools/call`.
struct McpForm<'a> {
    id: &'a Id<'a>,
    /// Whether the version has structured content.
    structured: bool,
    /// What the version adds at the end of each result.
    suffix: &'a str,
}

impl Form for McpForm<'_> {
    /// Whether the text is the value itself, and all of it.
    fn fits(&self, wraps: bool, json: &[u8]) -> bool {
        (!self.structured || json.len() <= CallToolResult::MAX_REPEATED)
            && match (wraps, json.first()) {
                (true, first) => first != Some(&b'{'),
                (false, first) => first == Some(&b'{') && !json.starts_with(br#"{"result":"#),
            }
    }

    fn before(&self, wraps: bool, out: &mut Vec<u8>) {
        begin_response(self.id, out);
        out.extend_from_slice(match (self.structured, wraps) {
            (true, true) => br#"{"structuredContent":{"result":"#,
            (true, false) => br#"{"structuredContent":"#,
            (false, _) => br#"{"content":[{"type":"text","text":"#,
        });
    }

    fn after(&self, wraps: bool, value: usize, out: &mut Vec<u8>) {
        let end = out.len();
        // JSON has line breaks only between its tokens, and a message is one line.
        out[value..].iter_mut().filter(|byte| **byte < b' ').for_each(|byte| *byte = b' ');
        out.extend_from_slice(match (self.structured, wraps) {
            (true, true) => br#"},"content":[{"type":"text","text":"#,
            (true, false) => br#","content":[{"type":"text","text":"#,
            (false, _) => b"",
        });
        append_as_string(out, value..end);
        if !self.structured {
            // The text replaces the value.
            out.drain(value..end);
        }
        out.extend_from_slice(br#"}],"isError":false"#);
        out.extend_from_slice(self.suffix.as_bytes());
        out.extend_from_slice(b"}}");
    }
}

impl Server {
    /// `tools/call`.
    pub(super) fn call(&self, id: &Id<'_>, request: &Request<'_>, peer: &Peer, out: &mut Vec<u8>) -> Step {
        let call = match ToolRequest::read(id, request, Dialect::Mcp) {
            Ok(call) => call,
            Err(error) => return fail(Dialect::Mcp, id, error, out),
        };
        if call.progress_token.as_ref().is_some_and(|token| peer.uses_token(&token.to_string())) {
            return fail(Dialect::Mcp, id, token_in_use(), out);
        }
        let version = call.version;
        let structured = version >= ProtocolVersion::V2025_06_18;
        let form = McpForm { id, structured, suffix: self.result_suffix(version) };
        let options = || call.options(peer).ok();
        let inline = self.0.registry.try_inline(call.name, call.arguments, peer.call_options(), options, out, &form);
        match inline {
            Some(Ok(None)) => Step::Done(ReplyKind::Response(Dialect::Mcp)),
            Some(Ok(Some(result))) => Step::Done(self.respond_call(id, Ok(*result), version, out)),
            Some(Err(error)) => Step::Done(self.respond_call(id, Err(error), version, out)),
            None => self.start_call(&call, peer, out),
        }
    }

    /// `call_tool`.
    pub(super) fn call_legacy(&self, id: &Id<'_>, request: &Request<'_>, peer: &Peer, out: &mut Vec<u8>) -> Step {
        match ToolRequest::read(id, request, Dialect::Legacy) {
            Ok(call) => self.start_call(&call, peer, out),
            Err(error) => fail(Dialect::Legacy, id, error, out),
        }
    }

    /// Starts a call that may take longer.
    fn start_call(&self, call: &ToolRequest<'_>, peer: &Peer, out: &mut Vec<u8>) -> Step {
        let ToolRequest { id, dialect, version, .. } = *call;
        let name = Arc::from(call.name);
        let options = match call.options(peer) {
            Ok(options) => options,
            Err(error) => return fail(dialect, id, error, out),
        };
        let token = call.progress_token.as_ref().map(Value::to_string);
        let in_flight = match peer.start(Some(id), &name, token, self.0.settings.max_in_flight) {
            Ok(in_flight) => in_flight,
            Err(NotStarted::TooMany) => {
                let error = busy(peer.in_flight()).into();
                let error = self.0.registry.reject(call.name, call.arguments, &options, error);
                return Step::Done(self.respond_in(dialect, id, Err(error), version, out));
            }
            Err(NotStarted::IdInUse) => return fail(dialect, id, id_in_use(), out),
            Err(NotStarted::TokenInUse) => return fail(dialect, id, token_in_use(), out),
        };
        let (server, id) = (self.clone(), id.clone().into_owned());
        let arguments = call.arguments.to_owned();
        let options = options.cancel(in_flight.cancel_token());
        let reply = Box::pin(async move {
            let mut answer = server.0.registry.try_call_json(&name, &arguments, &options).await;
            let is_cancelled = matches!(&answer, Err(Error::Tool(error)) if *error.error_type() == CANCELLED);
            if is_cancelled && in_flight.is_shut_down() {
                answer = Err(shutting_down(&name).into());
            }
            if !in_flight.end() {
                return Reply::cancelled();
            }
            let mut bytes = Vec::new();
            let kind = server.respond_in(dialect, &id, answer, version, &mut bytes);
            Reply { bytes, kind }
        });
        self.poll_if_quick(call.name, reply, out)
    }

    /// Polls the call of a tool that promises to be quick; others stay pending.
    pub(super) fn poll_if_quick(&self, name: &str, mut call: BoxFuture<'static, Reply>, out: &mut Vec<u8>) -> Step {
        if !self.0.registry.is_quick(name) {
            return Step::pending(call);
        }
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Reply { bytes, kind }) => {
                out.extend_from_slice(&bytes);
                Step::Done(kind)
            }
            Poll::Pending => Step::pending(call),
        }
    }

    fn respond_in(
        &self,
        dialect: Dialect,
        id: &Id<'_>,
        answer: Result<ToolResult, Error>,
        version: ProtocolVersion,
        out: &mut Vec<u8>,
    ) -> ReplyKind {
        if dialect == Dialect::Legacy {
            respond_legacy(id, answer, out);
            return ReplyKind::Response(Dialect::Legacy);
        }
        self.respond_call(id, answer, version, out)
    }

    fn respond_call(
        &self,
        id: &Id<'_>,
        answer: Result<ToolResult, Error>,
        version: ProtocolVersion,
        out: &mut Vec<u8>,
    ) -> ReplyKind {
        let result = match answer {
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

    /// What the version adds at the end of each result.
    fn result_suffix(&self, version: ProtocolVersion) -> &str {
        if !version.is_stateless() {
            return "";
        }
        self.0.result_suffix.get_or_init(|| {
            format!(r#","resultType":"complete","_meta":{}"#, json!({ SERVER_INFO: self.implementation() }))
        })
    }
}

fn respond_legacy(id: &Id<'_>, answer: Result<ToolResult, Error>, out: &mut Vec<u8>) {
    let profile = Dialect::Legacy.code_profile();
    let error = match answer.map(|result| result.to_response(id.clone(), Dialect::Legacy, profile)) {
        Ok(Ok(Some(RpcResponse { outcome: Ok(result), .. }))) => return respond(id, &result, out),
        Ok(Ok(Some(RpcResponse { outcome: Err(error), .. }))) => return respond_error(Some(id), &error, out),
        Ok(Ok(None)) => return respond(id, &json!({}), out),
        Ok(Err(error)) => Error::from(error),
        Err(error) => error,
    };
    fail(Dialect::Legacy, id, error.to_rpc(profile), out);
}
