//! `tools/call`, and the older `call_tool`.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_core::{
    CallOptions, CallToolResult, CodeProfile, Dialect, Error, ErrorType, Id, JsonObject, LogLevel, ProtocolVersion,
    RpcError, RpcResponse, ToolError, ToolEvent, ToolNotFoundError, ToolResult, code,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::peer::NotBegun;
use super::project::projected;
use super::request::{Asked, SERVER_INFO, either, invalid, same_json, unknown_level};
use super::write::{append_text_of, begin, notification, respond, respond_error, respond_error_in};
use super::{Outcome, Peer, Rest, Server};
use crate::call::Form;
use crate::call::run::CANCELLED;
use crate::registry::Registry;

/// A call that was asked for.
struct Wanted<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The form of a result of `tools/call`.
struct McpForm<'a> {
    id: &'a Id<'a>,
    /// Whether the version has structured content.
    structured: bool,
    /// What stands at the end of a result: `,"isError":false}` and what the version asks for besides.
    end: &'a str,
}

impl Form for McpForm<'_> {
    /// Where the text is the value itself, and the whole of it.
    fn fits(&self, wraps: bool, json: &[u8]) -> bool {
        (!self.structured || json.len() <= CallToolResult::MAX_REPEATED)
            && match (wraps, json.first()) {
                (true, first) => first != Some(&b'{'),
                (false, first) => first == Some(&b'{') && !json.starts_with(br#"{"result":"#),
            }
    }

    fn before(&self, wraps: bool, out: &mut Vec<u8>) {
        begin(self.id, out);
        out.extend_from_slice(match (self.structured, wraps) {
            (true, true) => br#"{"structuredContent":{"result":"#,
            (true, false) => br#"{"structuredContent":"#,
            (false, _) => br#"{"content":[{"type":"text","text":"#,
        });
    }

    fn after(&self, wraps: bool, value: usize, out: &mut Vec<u8>) {
        let end = out.len();
        // JSON has line breaks between its tokens only, and a message is one line.
        out[value..].iter_mut().filter(|byte| **byte < b' ').for_each(|byte| *byte = b' ');
        out.extend_from_slice(match (self.structured, wraps) {
            (true, true) => br#"},"content":[{"type":"text","text":"#,
            (true, false) => br#","content":[{"type":"text","text":"#,
            (false, _) => b"",
        });
        append_text_of(out, value..end);
        if !self.structured {
            // The text stands in the place of the value.
            out.drain(value..end);
        }
        out.extend_from_slice(br#"}],"isError":false"#);
        out.extend_from_slice(self.end.as_bytes());
        out.extend_from_slice(b"}}");
    }
}

impl Server {
    /// `tools/call`.
    pub(super) fn call(&self, id: &Id<'_>, asked: &Asked<'_>, peer: &Peer, out: &mut Vec<u8>) -> Option<Rest> {
        let (wanted, options) =
            match wanted(asked).and_then(|wanted| Ok((wanted, Options::read(id, asked, Dialect::Mcp)?))) {
                Ok(read) => read,
                Err(error) => {
                    respond_error(Some(id), &error, out);
                    return None;
                }
            };
        if options.token.as_ref().is_some_and(|token| peer.uses_token(&token.to_string())) {
            respond_error(Some(id), &token_in_use(), out);
            return None;
        }
        let form =
            McpForm { id, structured: asked.era >= ProtocolVersion::V2025_06_18, end: self.end_of_result(asked.era) };
        let whole = || options.of_call(peer).ok();
        let (name, arguments) = (wanted.name, wanted.arguments);
        if let Some(answer) = self.0.registry.at_once(name, arguments, peer.call_options(), whole, out, &form) {
            match answer {
                Ok(None) => {}
                Ok(Some(result)) => self.respond_call(id, Ok(*result), asked.era, peer, out),
                Err(error) => self.respond_call(id, Err(error), asked.era, peer, out),
            }
            return None;
        }
        let (era, of) = (asked.era, peer.clone());
        self.go_on(id, &wanted, &options, peer, out, move |server, id, answer, out| {
            server.respond_call(id, answer, era, &of, out);
        })
    }

    /// `call_tool`.
    pub(super) fn call_legacy(&self, id: &Id<'_>, asked: &Asked<'_>, peer: &Peer, out: &mut Vec<u8>) -> Option<Rest> {
        match wanted(asked).and_then(|wanted| Ok((wanted, Options::read(id, asked, Dialect::Legacy)?))) {
            Ok((wanted, options)) => {
                self.go_on(id, &wanted, &options, peer, out, |_, id, answer, out| respond_legacy(id, answer, out))
            }
            Err(error) => {
                respond_error_in(Dialect::Legacy, id, error, out);
                None
            }
        }
    }

    /// Makes the call that takes its time.
    fn go_on(
        &self,
        id: &Id<'_>,
        wanted: &Wanted<'_>,
        options: &Options<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
        respond: impl FnOnce(&Self, &Id<'static>, Result<ToolResult, Error>, &mut Vec<u8>) + Send + 'static,
    ) -> Option<Rest> {
        let (owned, name) = (id.clone().into_owned(), Arc::from(wanted.name));
        let of_call = match options.of_call(peer) {
            Ok(options) => options,
            Err(error) => {
                respond_error_in(options.dialect, id, error, out);
                return None;
            }
        };
        let token = options.token.as_ref().map(Value::to_string);
        let flight = match peer.begin(Some(id), &name, token, self.0.settings.max_in_flight) {
            Ok(flight) => flight,
            Err(NotBegun::TooMany) => {
                let busy = busy(peer.in_flight()).into();
                let error = self.0.registry.reject(wanted.name, wanted.arguments, &of_call, busy);
                respond(self, &owned, Err(error), out);
                return None;
            }
            Err(reason) => {
                let error = if let NotBegun::IdInUse = reason { id_in_use() } else { token_in_use() };
                respond_error_in(options.dialect, id, error, out);
                return None;
            }
        };
        let server = self.clone();
        let arguments = wanted.arguments.to_owned();
        let options = of_call.cancel(flight.cancel());
        let rest = Box::pin(async move {
            let mut answer = server.0.registry.try_call_json(&name, &arguments, &options).await;
            if matches!(&answer, Err(Error::Tool(error)) if *error.error_type() == CANCELLED) && flight.is_shut_down() {
                answer = Err(shutting_down(&name).into());
            }
            // Whoever has cancelled it waits for nothing.
            if !flight.end() {
                return None;
            }
            let mut out = Vec::new();
            respond(&server, &owned, answer, &mut out);
            Some(out)
        });
        self.now_or_later(wanted.name, rest, out)
    }

    /// Makes the call of a tool that promises to be quick here and now; another goes on by itself.
    pub(super) fn now_or_later(&self, name: &str, mut call: Rest, out: &mut Vec<u8>) -> Option<Rest> {
        if !self.0.registry.is_quick(name) {
            return Some(call);
        }
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => {
                out.extend_from_slice(&answer.unwrap_or_default());
                None
            }
            Poll::Pending => Some(call),
        }
    }

    fn respond_call(
        &self,
        id: &Id<'_>,
        answer: Result<ToolResult, Error>,
        era: ProtocolVersion,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) {
        let result = match answer {
            Ok(result) => result,
            Err(error) => match protocol_error(&self.0.registry, &error, era, self.0.settings.refuse_arguments) {
                Some(error) => {
                    if error.code == code::MISSING_CLIENT_CAPABILITY {
                        peer.note(Outcome::Refused);
                    }
                    return respond_error(Some(id), &error, out);
                }
                None => error.into(),
            },
        };
        let mut result = projected(result, era);
        if era.is_stateless() {
            result.extra.insert("resultType".to_owned(), "complete".into());
            result.meta.insert(SERVER_INFO.to_owned(), self.implementation());
        }
        respond(id, &result, out);
    }

    /// What stands at the end of a result, before it is closed.
    fn end_of_result(&self, era: ProtocolVersion) -> &str {
        if !era.is_stateless() {
            return "";
        }
        self.0.end_of_result.get_or_init(|| {
            format!(r#","resultType":"complete","_meta":{}"#, json!({ SERVER_INFO: self.implementation() }))
        })
    }
}

fn respond_legacy(id: &Id<'_>, answer: Result<ToolResult, Error>, out: &mut Vec<u8>) {
    let profile = Dialect::Legacy.code_profile();
    let result = match answer {
        Ok(result) => result,
        Err(error) => return respond_error_in(Dialect::Legacy, id, error.to_rpc(profile), out),
    };
    match result.to_response(id.clone(), Dialect::Legacy, profile) {
        Ok(Some(RpcResponse { outcome: Ok(result), .. })) => respond(id, &result, out),
        Ok(Some(RpcResponse { outcome: Err(error), .. })) => respond_error(Some(id), &error, out),
        Ok(None) => respond(id, &json!({}), out),
        Err(error) => respond_error_in(Dialect::Legacy, id, Error::from(error).to_rpc(profile), out),
    }
}

/// What is an error of the protocol, and no result that a model reads. It suggests tools by the names in the list.
pub(crate) fn protocol_error(
    registry: &Registry,
    error: &Error,
    era: ProtocolVersion,
    refuse_arguments: bool,
) -> Option<RpcError> {
    match error {
        Error::Tool(error) if era.is_stateless() => missing_capability(error),
        Error::ToolNotFound(error) => {
            let tools = registry.snapshot();
            let listed = |name: &String| tools.find(name).map_or(name.as_str(), |tool| tool.wire_name()).to_owned();
            let did_you_mean = error.did_you_mean.iter().map(listed).collect();
            let error = ToolNotFoundError { name: error.name.clone(), did_you_mean };
            Some(Error::from(error).to_rpc(CodeProfile::Standard))
        }
        Error::Validation(_) => Some(error.to_rpc(CodeProfile::Standard)),
        Error::Schema(_) if refuse_arguments => Some(error.to_rpc(CodeProfile::Standard)),
        _ => None,
    }
}

/// The error of a tool that needs more of the client than it offers.
fn missing_capability(error: &ToolError) -> Option<RpcError> {
    if *error.error_type() != ErrorType::MISSING_CLIENT_CAPABILITY {
        return None;
    }
    let details = error.detail().error_details.clone().unwrap_or_default();
    Some(RpcError::new(code::MISSING_CLIENT_CAPABILITY, error.message()).data(details))
}

/// The error of a request whose id another one has that is in flight.
pub(super) fn id_in_use() -> RpcError {
    let message = "a request with this id is still in flight; give each request its own";
    RpcError::new(code::INVALID_REQUEST, message).data(json!({ "error_type": "ValidationError" }))
}

fn token_in_use() -> RpcError {
    invalid("a request with this `progressToken` is still in flight; give each request its own")
}

/// The error of a call that was cancelled since the server does not wait for it any longer.
pub(super) fn shutting_down(tool: &str) -> ToolError {
    let message =
        format!("`{tool}` was cancelled because the server is shutting down; call it again once the server is back");
    ToolError::new(CANCELLED, message)
}

pub(super) fn busy(in_flight: usize) -> ToolError {
    let message =
        format!("{in_flight} calls of this connection are under way, which are all it may have; wait for one");
    ToolError::new(ErrorType::API_LIMIT_EXCEEDED, message)
}

/// What a request asks for.
fn wanted<'a>(asked: &'a Asked<'_>) -> Result<Wanted<'a>, RpcError> {
    let params = &asked.params;
    let names = ("name", "tool_name");
    let name = either(params.name.as_ref(), params.tool_name.as_ref(), names, |one, other| one == other)?;
    let name = name.ok_or_else(|| invalid("`name` is missing; add the name of the tool"))?;
    let names = ("arguments", "args");
    let arguments = either(params.arguments.as_ref(), params.args.as_ref(), names, |one, other| same_json(one, other))?;
    let arguments = match arguments.map(|raw| raw.get()) {
        None | Some("null") => "{}",
        Some(object) if object.starts_with('{') => object,
        Some(_) => return Err(invalid("`arguments` must be an object; send one, `{}` if there are none")),
    };
    Ok(Wanted { name, arguments })
}

/// What comes with the call, as the request says it.
struct Options<'a> {
    id: &'a Id<'a>,
    tool: &'a str,
    meta: Option<&'a RawValue>,
    token: Option<Value>,
    /// From which level on log lines are wanted, by the request; where each request says it, none is wanted otherwise.
    level: Option<LogLevel>,
    era: ProtocolVersion,
    dialect: Dialect,
}

impl<'a> Options<'a> {
    fn read(id: &'a Id<'a>, asked: &'a Asked<'_>, dialect: Dialect) -> Result<Self, RpcError> {
        let level = asked.meta.log_level.as_deref().filter(|_| asked.era.is_stateless());
        Ok(Self {
            id,
            tool: asked.params.name.as_deref().or(asked.params.tool_name.as_deref()).unwrap_or_default(),
            meta: asked.params.raw_meta(),
            token: asked.meta.progress_token.map(progress_token).transpose()?,
            level: level.map(|name| LogLevel::from_name(name).ok_or_else(|| unknown_level(name))).transpose()?,
            era: asked.era,
            dialect,
        })
    }

    /// With what the connection brings. Fails if the `_meta` is one that no tool could read.
    fn of_call(&self, peer: &Peer) -> Result<CallOptions, RpcError> {
        let mut options = peer.call_options().clone().request_id(self.id.to_string());
        if let Some(raw) = self.meta.filter(|raw| raw.get() != "null") {
            options = options.meta_json(raw.get()).map_err(|error| invalid(format!("`_meta`: {error}")))?;
        }
        let level = if self.era.is_stateless() { self.level } else { Some(peer.log_level()) };
        if !peer.can_be_told() || (self.token.is_none() && level.is_none()) {
            return Ok(options);
        }
        let (peer, tool, token) = (peer.clone(), self.tool.to_owned(), self.token.clone());
        let told = Mutex::new(f64::NEG_INFINITY);
        let has_messages = self.era >= ProtocolVersion::V2025_03_26;
        Ok(options.on_event(move |event| match event {
            ToolEvent::Progress { done, total, message } => {
                let Some(token) = &token else { return };
                // It only ever goes on.
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                if done > *told && done.is_finite() {
                    *told = done;
                    peer.tell(notification(
                        "notifications/progress",
                        progress(token, done, total, message.filter(|_| has_messages)),
                    ));
                }
            }
            ToolEvent::Log { level: of_line, message } if level.is_some_and(|from| of_line >= from) => {
                let params = json!({ "level": of_line, "logger": tool, "data": message });
                peer.tell(notification("notifications/message", params));
            }
            _ => {}
        }))
    }
}

fn progress(token: &Value, done: f64, total: Option<f64>, message: Option<String>) -> JsonObject {
    let mut params = JsonObject::new();
    params.insert("progressToken".to_owned(), token.clone());
    params.insert("progress".to_owned(), number(done));
    if let Some(total) = total.filter(|total| total.is_finite()) {
        params.insert("total".to_owned(), number(total));
    }
    if let Some(message) = message {
        params.insert("message".to_owned(), message.into());
    }
    params
}

/// A number as short as it can be.
fn number(number: f64) -> Value {
    #[allow(clippy::cast_possible_truncation, reason = "it is a whole number that fits")]
    if number.fract() == 0.0 && number.abs() < 1e15 { (number as i64).into() } else { number.into() }
}

/// A token is a string or a number, and comes back as it is.
fn progress_token(raw: &RawValue) -> Result<Value, RpcError> {
    match serde_json::from_str(raw.get()) {
        Ok(token @ (Value::String(_) | Value::Number(_))) => Ok(token),
        _ => Err(invalid("`progressToken` must be a string or an integer; send one")),
    }
}
