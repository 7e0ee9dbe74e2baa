//! `tools/call`, and the legacy `call_tool`.

use std::borrow::Cow;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;

use mcp_core::context::ToolEvent;
use mcp_core::mcp::{Dialect, ProtocolVersion};
use mcp_core::message::JsonObject;
use mcp_core::rpc::{Id, RpcError};
use mcp_core::support::{Members, RpcParams};
use mcp_core::{CallOptions, Error, LogLevel, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call_result::CallForm;
use super::decode::{MAX_META_BYTES, Params, Request, either, same_json};
use super::encode::{fail, notification};
use super::errors::{busy, id_in_use, invalid_params, shutting_down, token_in_use, unknown_level};
use super::in_flight::{InFlight, NotStarted};
use super::peer::Peer;
use super::reply::{PendingReply, Reply, ReplyKind, Step, Work};
use super::{Server, is_call};
use crate::call::pipeline::{self, Call, PendingCall, is_immediate, uses_options};
use crate::call::recorder::mask_error;
use crate::call::request::CallRequest;
use crate::call::result::Answer;
use crate::call::run::CANCELLED;
use crate::registry::Registry;
use crate::util::lock::lock;
use crate::util::panic::{Panicked, guard};

/// A call of a tool, as in the request.
pub(super) struct ToolRequest<'a> {
    id: Option<&'a Id<'a>>,
    name: &'a str,
    arguments: &'a str,
    meta: Option<&'a RawValue>,
    progress_token: Option<Value>,
    /// The minimum level of log messages, in versions in which each request has its own; there, `None` turns them off.
    log_level: Option<LogLevel>,
    version: ProtocolVersion,
}

/// The name in parameters that are not valid otherwise.
#[derive(Default, Deserialize)]
struct PartialParams<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_name: Option<&'a RawValue>,
}

impl<'a> ToolRequest<'a> {
    fn read(id: &'a Id<'a>, request: &'a Request<'_>) -> Result<Self, RpcError> {
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
            id: Some(id),
            name,
            arguments,
            meta: params.raw_meta(),
            progress_token: meta.progress_token.map(progress_token).transpose()?,
            log_level: log_level
                .map(|name| LogLevel::from_name(name).ok_or_else(|| unknown_level(name)))
                .transpose()?,
            version: *version,
        })
    }

    /// A call without JSON-RPC.
    pub(super) fn flat(name: &'a str, arguments: &'a str) -> Self {
        let version = ProtocolVersion::V2025_11_25;
        Self { id: None, name, arguments, meta: None, progress_token: None, log_level: None, version }
    }

    /// What is known of a request that asks for a tool, but may be invalid. What is not known is empty.
    pub(super) fn partial(id: Option<&'a Id<'a>>, params: RpcParams<'a, 'a, Params<'a>>) -> Self {
        let (name, arguments, meta) = match params {
            Ok(params) => {
                let name = params.name.as_deref().or(params.tool_name.as_deref());
                (name, params.arguments.or(params.args), params.raw_meta())
            }
            Err(raw) => {
                let partial: PartialParams<'a> =
                    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                let name = partial.name.or(partial.tool_name);
                (name.and_then(|raw| serde_json::from_str(raw.get()).ok()), None, None)
            }
        };
        let meta = meta.filter(|raw| raw.get().len() <= MAX_META_BYTES);
        Self { id, meta, ..Self::flat(name.unwrap_or_default(), arguments.map_or("", RawValue::get)) }
    }

    /// What is known of a message that may be invalid; `None` if it asks for no tool.
    pub(super) fn malformed(id: Option<&'a Id<'a>>, members: &'a Members<'a, Params<'a>>) -> Option<Self> {
        match members.method() {
            Some(method) => is_call(method).then(|| Self::partial(id, members.params())),
            None if members.is_rpc() => None,
            None => members.tool_name().map(|name| Self::flat(name, "")),
        }
    }

    /// The options of the connection, with the ID of the request.
    fn plain_options(&self, peer: &Peer) -> CallOptions {
        let options = peer.call_options().clone();
        let Some(id) = self.id else { return options };
        options.request_id(id.to_string()).protocol_version(self.version)
    }

    /// The options of the call: those of the connection, with the request's `_meta`. Fails if the `_meta` is invalid.
    fn options(&self, peer: &Peer) -> Result<CallOptions, RpcError> {
        let mut options = self.plain_options(peer);
        if self.id.is_none() {
            return Ok(options);
        }
        if let Some(raw) = self.meta.filter(|raw| raw.get() != "null") {
            options = options.meta_json(raw.get()).map_err(|error| invalid_params(format!("`_meta`: {error}")))?;
        }
        let min_level = if self.version.is_stateless() { self.log_level } else { Some(peer.log_level()) };
        if !peer.can_notify() || (self.progress_token.is_none() && min_level.is_none()) {
            return Ok(options);
        }
        let (peer, tool, token) = (peer.clone(), self.name.to_owned(), self.progress_token.clone());
        let last_progress = Mutex::new(f64::NEG_INFINITY);
        let has_messages = self.version >= ProtocolVersion::V2025_03_26;
        Ok(options.on_event(move |event| match event {
            ToolEvent::Progress { done, total, message } => {
                let Some(token) = &token else { return };
                // The protocol requires that progress increases.
                let mut last = lock(&last_progress);
                if done > *last && done.is_finite() {
                    *last = done;
                    let params = progress_params(token, done, total, message.filter(|_| has_messages));
                    peer.notify(notification("notifications/progress", params));
                }
            }
            ToolEvent::Log { level, message } if min_level.is_some_and(|min_level| level >= min_level) => {
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

impl Server {
    /// `tools/call` and `call_tool`.
    pub(super) fn call(
        &self,
        id: &Id<'_>,
        request: &Request<'_>,
        dialect: Dialect,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let form = CallForm { dialect, version: request.version, id: Some(id.clone()) };
        match ToolRequest::read(id, request) {
            Ok(call) => self.begin_call(form, &call, peer, out),
            Err(error) => {
                self.answer_fault(&form, &ToolRequest::partial(Some(id), Ok(request.params)), error, peer, out)
            }
        }
    }

    /// Starts a call, in any format.
    pub(super) fn begin_call(
        &self,
        form: CallForm<'_>,
        call: &ToolRequest<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let (registry, tools) = (&self.0.registry, self.0.registry.snapshot());
        let Some(tool) = tools.find(call.name) else {
            return self.reject_call(&form, call, tools.catalog.not_found(call.name).into(), peer, out);
        };
        let settings = registry.settings();
        let options = if uses_options(settings, tool) {
            call.options(peer).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(peer.call_options()))
        };
        let options = match options {
            Ok(options) => options,
            Err(error) => return self.answer_fault(&form, call, error, peer, out),
        };
        let token = call.progress_token.as_ref().map(Value::to_string);
        let in_flight = if is_immediate(settings, tool, call.arguments) {
            if form.id.as_ref().is_some_and(|id| peer.is_in_flight(id)) {
                return self.answer_fault(&form, call, id_in_use(), peer, out);
            }
            if token.is_some_and(|token| peer.uses_token(&token)) {
                return self.answer_fault(&form, call, token_in_use(), peer, out);
            }
            None
        } else {
            match peer.start(form.id.as_ref(), tool.shared_name(), token, self.0.settings.max_in_flight) {
                Ok(in_flight) => Some(in_flight),
                Err(NotStarted::TooMany) => {
                    return self.reject_call(&form, call, busy(peer.in_flight()).into(), peer, out);
                }
                Err(NotStarted::IdInUse) => return self.answer_fault(&form, call, id_in_use(), peer, out),
                Err(NotStarted::TokenInUse) => return self.answer_fault(&form, call, token_in_use(), peer, out),
            }
        };
        let cancel = in_flight.as_ref().map(InFlight::cancel_token);
        let request = CallRequest { cancel, ..CallRequest::new(call.name, call.arguments, &options) };
        let start = out.len();
        match Call::new(settings, tool, request).begin(&self.form_writer(&form), out) {
            pipeline::Step::Done(answer) => Step::Done(self.settle(&form, answer, in_flight, call.name, (start, out))),
            pipeline::Step::Pending(pending) => {
                let reply = CallReply { server: self.clone(), form: form.into_owned(), call: pending, in_flight };
                Step::Pending(PendingReply { work: Work::Call(Some(reply)), is_subscription: false })
            }
        }
    }

    /// Answers a call that is refused before it is made.
    pub(super) fn reject_call(
        &self,
        form: &CallForm<'_>,
        call: &ToolRequest<'_>,
        error: Error,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let error = self.refuse(call, error, peer);
        Step::Done(self.respond_call(form, Err(error), out))
    }

    /// Answers a request that is not a valid call.
    fn answer_fault(
        &self,
        form: &CallForm<'_>,
        call: &ToolRequest<'_>,
        error: RpcError,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        self.refuse_fault(call, &error, peer);
        if let Some(id) = &form.id {
            return fail(form.dialect, id, error, out);
        }
        out.extend_from_slice(ToolResult::failure(error.to_detail()).to_json().as_bytes());
        Step::Done(ReplyKind::Response(form.dialect))
    }

    /// Records a request that asks for a tool and is refused with an error of the call. Returns the error as the caller
    /// may see it.
    pub(super) fn refuse(&self, call: &ToolRequest<'_>, error: Error, peer: &Peer) -> Error {
        self.record_refusal(call, peer, |registry, request| registry.reject(request, error))
    }

    /// Records a request that asks for a tool and is refused with a protocol error.
    pub(super) fn refuse_fault(&self, call: &ToolRequest<'_>, error: &RpcError, peer: &Peer) {
        self.record_refusal(call, peer, |registry, request| registry.reject_with(request, error.to_detail()));
    }

    /// Every request that asks for a tool and is refused before the call is made passes here once, however it came in.
    fn record_refusal<T>(
        &self,
        call: &ToolRequest<'_>,
        peer: &Peer,
        record: impl FnOnce(&Registry, CallRequest<'_>) -> T,
    ) -> T {
        let options = call.options(peer).unwrap_or_else(|_| call.plain_options(peer));
        record(&self.0.registry, CallRequest::new(call.name, call.arguments, &options))
    }
}

/// The reply to a call that does not end immediately.
pub(super) struct CallReply {
    server: Server,
    form: CallForm<'static>,
    call: Box<PendingCall>,
    in_flight: Option<InFlight>,
}

impl CallReply {
    /// Whether the call is likely to end within a few yields.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(super) fn ends_soon(&self) -> bool {
        self.call.ends_soon()
    }

    /// Appends the reply if it is ready; if `yields` is set, after a few yields of this thread.
    pub(super) fn try_finish(&mut self, yields: bool, out: &mut Vec<u8>) -> Option<ReplyKind> {
        let Self { server, form, call, in_flight } = self;
        let (start, writer) = (out.len(), server.form_writer(form));
        let answer = guard(|| if yields { call.finish_soon(&writer, out) } else { call.try_finish(&writer, out) });
        let answer = answer.unwrap_or_else(|panicked| {
            out.truncate(start);
            Some(Err(failed(server, in_flight.as_ref(), panicked, call.name())))
        });
        Some(server.settle(form, answer?, in_flight.take(), call.name(), (start, out)))
    }

    pub(super) async fn finish(self) -> Reply {
        let Self { server, form, call, in_flight } = self;
        let (mut bytes, name) = (Vec::new(), call.name().to_owned());
        let writer = server.form_writer(&form);
        let answer = {
            let mut call = pin!(call.finish(&writer, &mut bytes));
            let poll = |panicked| Poll::Ready(Err(failed(&server, in_flight.as_ref(), panicked, &name)));
            poll_fn(|context| guard(|| call.as_mut().poll(context)).unwrap_or_else(poll)).await
        };
        if answer.is_err() {
            bytes.clear();
        }
        let kind = server.settle(&form, answer, in_flight, &name, (0, &mut bytes));
        Reply { bytes, kind }
    }
}

/// The error of a call around which the server panicked. Its tool, the gate, layers and observers have their own guards.
#[cold]
fn failed(server: &Server, in_flight: Option<&InFlight>, panicked: Panicked, tool: &str) -> Error {
    let options = in_flight.map(|in_flight| in_flight.peer.call_options().clone()).unwrap_or_default();
    mask_error(server.0.registry.settings(), tool, &options, panicked.by("the server").into_error(tool)).0
}

impl Server {
    /// Ends a call and answers it, unless the client has cancelled it. A value was already written, from `start` on.
    pub(super) fn settle(
        &self,
        form: &CallForm<'_>,
        mut answer: Result<Answer, Error>,
        in_flight: Option<InFlight>,
        name: &str,
        (start, out): (usize, &mut Vec<u8>),
    ) -> ReplyKind {
        if let Some(in_flight) = in_flight {
            let is_cancelled = matches!(&answer, Err(Error::Tool(error)) if *error.error_type() == CANCELLED);
            if is_cancelled && in_flight.is_shut_down() {
                answer = Err(shutting_down(name).into());
            }
            if !in_flight.end() {
                out.truncate(start);
                return ReplyKind::Cancelled;
            }
        }
        self.respond_call(form, answer, out)
    }
}
