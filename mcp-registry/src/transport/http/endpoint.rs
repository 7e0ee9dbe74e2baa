//! The MCP endpoint: answers HTTP requests.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{Method, Request, StatusCode};
use hyper::body::Body;
use mcp_core::CallOptions;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::rpc::RpcError;

use super::access::Denied;
use super::headers::{McpHeaders, SESSION_ID};
use super::in_flight::{InFlight, Limit, Permit, Taken};
use super::media_type::{Accepted, EVENTS, JSON, is_json};
use super::rejections::{Comparison, Rejections};
use super::request_body::read;
use super::response::{
    HttpResponse, HttpResult, access_denied, busy, empty, error_of, error_response, event_stream, full, reject,
    rpc_error_response, unbuffered, with_header,
};
use super::response_body::{COMMENT, EventStream, Notifications, append_reply};
use super::sessions::{Caller, Session, SessionError, Sessions};
use super::{Http, cors};
use crate::call::observe::RejectionReason;
use crate::call::trace;
use crate::protocol::{Peer, Reply, ReplyKind, Server, Step, TransportHeaders as _};
use crate::util::panic::guard;

/// Most responses are not larger than this.
const TYPICAL_RESPONSE_BYTES: usize = 512;

/// The message for a session that does not exist, or that belongs to another caller.
const NO_SESSION: &str = "there is no such session, or it is over; begin another with `initialize`";

/// The MCP endpoint.
pub(super) struct Endpoint {
    pub(super) http: Http,
    pub(super) taken: Taken<AtomicUsize>,
    pub(super) rejections: Arc<Rejections>,
}

/// What is known about the sender of a request before the message is read.
#[derive(Clone, Copy)]
struct Sender {
    /// The index of the server's token that the client sent.
    token: Option<usize>,
    client: Option<SocketAddr>,
}

/// Cancels a request when it is no longer awaited.
struct CloseOnDrop<'a>(Option<&'a Peer>);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(peer) = self.0 {
            peer.close();
        }
    }
}

impl Endpoint {
    pub(super) fn new(http: Http) -> Self {
        let rejections = Arc::new(Rejections::new(http.server.clone()));
        Self { http, taken: Taken::default(), rejections }
    }

    /// The number of requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.taken[Limit::Requests as usize].load(Ordering::Relaxed)
    }

    pub(super) async fn answer(
        self: &Arc<Self>,
        request: Request<impl Body>,
        client: Option<SocketAddr>,
    ) -> HttpResult {
        let (request, body) = request.into_parts();
        let Http { access, sessions, .. } = &self.http;
        if let Some(response) = cors::preflight(access, &request) {
            return Ok(response);
        }
        let token = match access.check(&request) {
            Ok(None) => None,
            Ok(Some(sent)) => {
                let message = "too many wrong tokens are being answered; try again in a moment";
                let comparison = self.rejections.compare(client).ok_or_else(|| busy(message))?;
                match access.token_index(sent) {
                    Some(index) => Some(index),
                    None => return Ok(self.deny_token(comparison, client).await),
                }
            }
            Err(denied) => return Ok(self.deny(&denied, client)),
        };
        let sender = Sender { token, client };
        match request.method {
            Method::POST => self.post(request, body, sender).await,
            Method::GET => self.open_stream(&request, sender),
            Method::DELETE if sessions.is_some() => self.end_session(&request, sender),
            _ => Err(self.method_not_allowed(&request.method)),
        }
    }

    /// Reports and answers a request that is denied.
    fn deny(&self, denied: &Denied, client: Option<SocketAddr>) -> HttpResponse {
        let (reason, detail) = denied.reason();
        self.rejections.report(reason, detail, client);
        access_denied(denied)
    }

    /// Reports and answers a wrong token, after a delay.
    async fn deny_token(&self, comparison: Comparison, client: Option<SocketAddr>) -> HttpResponse {
        let response = self.deny(&Denied::WrongToken, client);
        tokio::select! {
            _ = comparison.delay() => {}
            () = self.http.stopping.cancelled() => {}
        }
        response
    }

    /// Reports the use of another caller's session. The response is the same as for an unknown session.
    fn session_error(&self, error: SessionError, sender: Sender) -> Box<HttpResponse> {
        if error == SessionError::Foreign {
            self.rejections.report(RejectionReason::ForeignSession, None, sender.client);
        }
        error_response(StatusCode::NOT_FOUND, NO_SESSION).into()
    }

    /// The options for the calls in a request. A panic is reported, and answered with the ID of the request.
    fn call_options(&self, request: &Parts, message: &[u8], sender: Sender) -> HttpResult<CallOptions> {
        guard(|| (self.http.options)(request)).map_err(|panicked| {
            self.rejections.report(RejectionReason::CallOptions, None, sender.client);
            trace::warn(&format!("the function of `Http::call_options` panicked: {}", panicked.message()));
            let message_id = Server::request_id(message);
            let what = "the options of the call could not be determined; tell the operator of the server";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            rpc_error_response(status, message_id.as_ref(), &error_of(status, what)).into()
        })
    }

    fn method_not_allowed(&self, method: &Method) -> Box<HttpResponse> {
        let message = format!("`{method}` is not answered here; send a message with POST");
        let response = error_response(StatusCode::METHOD_NOT_ALLOWED, message);
        let allowed = if self.http.sessions.is_some() { "POST, GET, DELETE" } else { "POST, GET" };
        with_header(response, ALLOW, allowed).into()
    }

    async fn post(self: &Arc<Self>, request: Parts, body: impl Body, sender: Sender) -> HttpResult {
        if !is_json(request.headers.get(CONTENT_TYPE)) {
            let message = "the message is not sent as JSON; send it with `Content-Type: application/json`";
            return reject(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        }
        let accepted = Accepted::from_headers(&request.headers);
        if !accepted.json && !accepted.events {
            let message = "the client accepts no format; send `Accept: application/json, text/event-stream`";
            return reject(StatusCode::NOT_ACCEPTABLE, message);
        }
        let permit = Permit::new(self, sender.client);
        let message = read(&self.http.server, &request.headers, body, &permit).await?;
        permit.take(Limit::Requests, 1)?;
        self.answer_message(request, &message, (accepted, sender), permit).await
    }

    async fn answer_message(
        self: &Arc<Self>,
        request: Parts,
        message: &[u8],
        (accepted, sender): (Accepted, Sender),
        permit: Permit,
    ) -> HttpResult {
        let Http { server, sessions, stopping, .. } = &self.http;
        let mut options = self.call_options(&request, message, sender)?;
        if options.get_mask_errors().is_none() {
            options = options.mask_errors(true);
        }
        let options = options.http_request(request);
        let request = options.get_extensions().request().ok_or_else(|| internal_error("the request is lost"))?;
        let headers = McpHeaders::new(&request.headers).with_permit(&permit);
        let session = self.find_session(&headers, &options, message, sender)?;
        let notifications = Arc::new(Notifications::default());
        let mut builder = Peer::builder().options(options.clone());
        if accepted.events {
            let queue = Arc::clone(&notifications);
            builder = builder.on_notification(move |message| queue.push(message));
        }
        let peer = match (&session, headers.version()) {
            (Some(session), _) => session.build_peer(builder),
            (None, Ok(Some(version))) if !version.is_stateless() => builder.protocol_version(version).build(),
            // Newer clients send their version in a header; the session of 2025-03-26 clients knows it, if there is
            // one.
            (None, Ok(None)) if sessions.is_none() => builder.protocol_version(ProtocolVersion::V2025_03_26).build(),
            _ => builder.build(),
        };
        let responder = Responder {
            sessions: sessions.as_ref(),
            peer: &peer,
            session: session.as_deref(),
            options: &options,
            sender,
            accepted,
        };
        if let (Some(session), Some(b'[')) = (&session, message.trim_ascii_start().first()) {
            // A batch may contain notifications in addition to requests.
            Server::forward_notifications(message, &peer, &session.peers());
        }
        let mut bytes = Vec::with_capacity(TYPICAL_RESPONSE_BYTES);
        let pending = match server.begin_with(&headers, message, &peer, &mut bytes) {
            Step::Done(kind) if bytes.is_empty() => return responder.without_answer(kind, message, &headers),
            Step::Done(kind) => return Ok(responder.respond(&notifications, Reply { bytes, kind })),
            Step::Pending(pending) => pending,
        };
        let is_subscription = pending.is_subscription;
        let is_stateless = headers.is_stateless();
        let mut request = InFlight::new(pending, permit);
        // In the older versions, a client that disconnects does not cancel its request.
        if !is_stateless {
            request = request.spawn(None);
        }
        // Must be dropped before `request`, while the request is still in flight.
        let mut close_on_drop = CloseOnDrop(is_stateless.then_some(&peer));
        let ended = poll_fn(|context| match request.poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => notifications.poll(context).map(|()| None),
        });
        if let Some(ended) = ended.await {
            let reply = ended.map_err(|_| internal_error("the answer is lost"))?;
            let is_cancelled = reply.bytes.is_empty();
            return Ok(if is_cancelled { responder.cancelled() } else { responder.respond(&notifications, reply) });
        }
        if is_subscription {
            let stream = Permit::new(self, sender.client);
            stream.take(Limit::Streams, 1)?;
            request = request.with_permit(stream);
        }
        close_on_drop.0 = None;
        // A client that reads slowly must not delay the request.
        if is_stateless {
            request = request.spawn(Some(peer.clone()));
        }
        let stopping = stopping.cancelled();
        Ok(event_stream(EventStream::new(request, peer.clone(), notifications, !accepted.json, stopping)))
    }

    /// The session that a message of the older versions belongs to, if it names one.
    fn find_session(
        &self,
        headers: &McpHeaders<'_>,
        options: &CallOptions,
        message: &[u8],
        sender: Sender,
    ) -> HttpResult<Option<Arc<Session>>> {
        match (&self.http.sessions, headers.session_id()) {
            (Some(sessions), Some(id)) if !headers.is_stateless() => {
                let session = sessions.get(id, &caller(options, sender));
                session.map(Some).map_err(|error| {
                    if error == SessionError::Unknown {
                        let peer = Peer::builder().options(options.clone()).build();
                        let error = error_of(StatusCode::NOT_FOUND, NO_SESSION);
                        self.http.server.refuse_message(message, &error, &peer);
                    }
                    self.session_error(error, sender)
                })
            }
            _ => Ok(None),
        }
    }

    /// Opens a stream of notifications that belong to no request, for clients of the older versions.
    fn open_stream(self: &Arc<Self>, request: &Parts, sender: Sender) -> HttpResult {
        let Http { server, stopping, .. } = &self.http;
        let headers = McpHeaders::new(&request.headers);
        let version = self.session_version(request, &headers)?;
        if !Accepted::lists_events(&request.headers) {
            let message = "this stream consists of events; send `Accept: text/event-stream`";
            return reject(StatusCode::NOT_ACCEPTABLE, message);
        }
        let options = self.call_options(request, b"", sender)?;
        let session = self.find_session(&headers, &options, b"", sender)?;
        let permit = Permit::new(self, sender.client);
        permit.take(Limit::Streams, 1)?;
        let notifications = Arc::new(Notifications::default());
        let queue = Arc::clone(&notifications);
        let builder = Peer::builder().on_notification(move |message| queue.push(message)).initialized();
        let ended = stopping.child();
        let peer = match &session {
            Some(session) => {
                session.open_stream(ended.clone());
                session.build_peer(builder)
            }
            None => builder.protocol_version(version.unwrap_or(ProtocolVersion::V2025_11_25)).build(),
        };
        server.notify_of_changes(&peer);
        let until_ended = Box::pin(async move {
            ended.cancelled().await;
            Reply { bytes: Vec::new(), kind: ReplyKind::Accepted }
        });
        let request = InFlight::Polled(until_ended, permit);
        Ok(event_stream(EventStream::new(request, peer, notifications, true, stopping.cancelled())))
    }

    /// The version of a request that is allowed only in versions with sessions.
    fn session_version(&self, request: &Parts, headers: &McpHeaders<'_>) -> HttpResult<Option<ProtocolVersion>> {
        if headers.is_stateless() {
            return Err(self.method_not_allowed(&request.method));
        }
        headers.version().map_err(|error| bad_request(&error))
    }

    fn end_session(&self, request: &Parts, sender: Sender) -> HttpResult {
        let headers = McpHeaders::new(&request.headers);
        self.session_version(request, &headers)?;
        let Some(id) = headers.session_id() else {
            let message = "there is no `Mcp-Session-Id`; send the ID of the session to end";
            return reject(StatusCode::BAD_REQUEST, message);
        };
        let caller = caller(&self.call_options(request, b"", sender)?, sender);
        let sessions = self.http.sessions.as_ref().ok_or(SessionError::Unknown);
        let ended = sessions.and_then(|sessions| sessions.end(id, &caller));
        ended.map(|()| empty(StatusCode::NO_CONTENT)).map_err(|error| self.session_error(error, sender))
    }
}

fn bad_request(error: &RpcError) -> Box<HttpResponse> {
    rpc_error_response(StatusCode::BAD_REQUEST, None, error).into()
}

fn internal_error(what: &str) -> Box<HttpResponse> {
    error_response(StatusCode::INTERNAL_SERVER_ERROR, format!("{what}; tell the operator of the server")).into()
}

/// The caller that sessions belong to.
fn caller(options: &CallOptions, sender: Sender) -> Caller {
    Caller { name: options.get_caller().map(str::to_owned), token: sender.token }
}

/// Turns replies into responses.
struct Responder<'a> {
    sessions: Option<&'a Sessions>,
    peer: &'a Peer,
    session: Option<&'a Session>,
    options: &'a CallOptions,
    sender: Sender,
    accepted: Accepted,
}

impl Responder<'_> {
    fn respond(&self, notifications: &Notifications, reply: Reply) -> HttpResponse {
        let mut session = None;
        let status = match reply.kind {
            ReplyKind::Response(_) | ReplyKind::Accepted | ReplyKind::Cancelled => StatusCode::OK,
            ReplyKind::Invalid(_) => StatusCode::BAD_REQUEST,
            ReplyKind::MethodNotFound => StatusCode::NOT_FOUND,
            ReplyKind::Initialized(version) => {
                let caller = caller(self.options, self.sender);
                session = self.sessions.and_then(|sessions| sessions.begin(&caller, version));
                StatusCode::OK
            }
            ReplyKind::LogLevelSet(level) => {
                if let Some(session) = self.session {
                    session.set_log_level(level);
                }
                StatusCode::OK
            }
        };
        let mut response = if self.accepted.json && notifications.is_empty() {
            full(status, JSON, reply.bytes)
        } else {
            let mut out = Vec::new();
            notifications.write(&mut out);
            append_reply(!self.accepted.json, &reply, &mut out);
            unbuffered(full(status, EVENTS, out))
        };
        if let Some(id) = session {
            response.headers_mut().insert(SESSION_ID, id);
        }
        response
    }

    /// The response to a message that has no answer.
    fn without_answer(&self, kind: ReplyKind, message: &[u8], headers: &McpHeaders<'_>) -> HttpResult {
        headers.version().map_err(|error| bad_request(&error))?;
        match kind {
            ReplyKind::Accepted => {
                // The notification may refer to any request of the session.
                if let Some(session) = self.session {
                    Server::forward_notifications(message, self.peer, &session.peers());
                }
                Ok(empty(StatusCode::ACCEPTED))
            }
            ReplyKind::Invalid(_) => {
                reject(StatusCode::BAD_REQUEST, "the notification is invalid; send one of JSON-RPC 2.0")
            }
            // The request was cancelled before `begin_with` returned.
            _ => Ok(self.cancelled()),
        }
    }

    /// The response to a request that was cancelled.
    fn cancelled(&self) -> HttpResponse {
        if self.accepted.events {
            unbuffered(full(StatusCode::OK, EVENTS, COMMENT.to_vec()))
        } else {
            empty(StatusCode::ACCEPTED)
        }
    }
}
