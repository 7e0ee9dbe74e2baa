//! The MCP endpoint: an HTTP request in, its response out.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Body;
use mcp_core::error::BoxError;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::{CallOptions, CancelToken};

use super::access::{Access, Denied};
use super::cors;
use super::headers::{McpHeaders, SESSION_ID, VersionHeader};
use super::in_flight::{InFlight, Permit};
use super::media_type::{Accepted, EVENTS, JSON, is_json};
use super::rejections::Rejections;
use super::request_body::{BufferedBytes, read};
use super::response::{
    HttpResponse, access_denied, busy, error_response, event_stream, full, malformed_version_response,
    session_not_found, unbuffered, unsupported_version_response,
};
use super::response_body::{COMMENT, EventStream, Notifications, append_reply};
use super::sessions::{Caller, Session, SessionError, Sessions};
use crate::call::observe::RejectionReason;
use crate::protocol::{Peer, Reply, ReplyKind, Server, Step, TransportHeaders as _};
use crate::util::panic::guard;

const TOO_MANY_STREAMS: &str = "as many clients listen as may; try again later";

/// The size of most responses, at most.
const TYPICAL_RESPONSE_BYTES: usize = 512;

/// The MCP endpoint.
pub(super) struct Endpoint {
    pub(super) server: Server,
    pub(super) access: Access,
    pub(super) options: Box<dyn Fn(&Parts) -> CallOptions + Send + Sync>,
    pub(super) sessions: Option<Sessions>,
    pub(super) max_in_flight: usize,
    pub(super) max_streams: usize,
    pub(super) stopping: CancelToken,
    pub(super) in_flight: AtomicUsize,
    pub(super) streams: AtomicUsize,
    /// How many bytes of messages are buffered.
    pub(super) buffered: AtomicUsize,
    pub(super) rejections: Rejections,
}

/// The sender of a request, as far as it is known before the message is read.
#[derive(Clone, Copy)]
struct Sender {
    /// Which of the server's tokens was sent.
    token: Option<usize>,
    client: Option<SocketAddr>,
}

/// Cancels a request when nobody waits for it any more.
struct CloseOnDrop<'a>(Option<&'a Peer>);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(peer) = self.0 {
            peer.close();
        }
    }
}

impl Endpoint {
    /// How many requests are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) async fn answer<B>(self: &Arc<Self>, request: Request<B>, client: Option<SocketAddr>) -> HttpResponse
    where
        B: Body<Error: Into<BoxError>> + Send + 'static,
        B::Data: Send,
    {
        let (request, body) = request.into_parts();
        if let Some(response) = cors::preflight(&self.access, &request) {
            return response;
        }
        let sender = match self.access.check(&request) {
            Ok(token) => Sender { token, client },
            Err(denied) => return self.deny(&denied, client).await,
        };
        match request.method {
            Method::POST => self.post(request, body, sender).await,
            Method::GET => self.open_stream(&request, sender).unwrap_or_else(|response| *response),
            Method::DELETE if self.sessions.is_some() => {
                self.end_session(&request, sender).unwrap_or_else(|response| *response)
            }
            _ => self.method_not_allowed(&request.method),
        }
    }

    /// Reports a request that is denied. Wrong tokens are answered after a delay.
    async fn deny(&self, denied: &Denied, client: Option<SocketAddr>) -> HttpResponse {
        let (reason, detail) = denied.reason();
        self.rejections.report(reason, detail, client);
        let mut response = access_denied(denied);
        if *denied == Denied::WrongToken {
            let was_delayed = tokio::select! {
                was_delayed = self.rejections.delay() => was_delayed,
                () = self.stopping.cancelled() => true,
            };
            if !was_delayed {
                // The next guess needs another connection.
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        response
    }

    /// Reports a request that exceeds a limit.
    fn busy(&self, limit: &str, message: &str, sender: Sender) -> HttpResponse {
        self.rejections.report(RejectionReason::Busy, Some(limit), sender.client);
        busy(message)
    }

    /// Reports a session of another caller. The response is the same as for one that does not exist.
    fn session_error(&self, error: SessionError, sender: Sender) -> Box<HttpResponse> {
        if error == SessionError::Foreign {
            self.rejections.report(RejectionReason::ForeignSession, None, sender.client);
        }
        Box::new(session_not_found())
    }

    /// The options of the calls of a request.
    fn call_options(&self, request: &Parts) -> Result<CallOptions, Box<HttpResponse>> {
        guard(|| (self.options)(request)).map_err(|_| {
            let message = "what belongs to the call could not be found out; tell whoever runs the server";
            Box::new(error_response(StatusCode::INTERNAL_SERVER_ERROR, message))
        })
    }

    fn method_not_allowed(&self, method: &Method) -> HttpResponse {
        let message = format!("`{method}` is not answered here; send a message with POST");
        let mut response = error_response(StatusCode::METHOD_NOT_ALLOWED, message);
        let allowed = if self.sessions.is_some() { "POST, GET, DELETE" } else { "POST, GET" };
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        response
    }

    async fn post<B>(self: &Arc<Self>, request: Parts, body: B, sender: Sender) -> HttpResponse
    where
        B: Body<Error: Into<BoxError>> + Send + 'static,
        B::Data: Send,
    {
        if !is_json(request.headers.get(CONTENT_TYPE)) {
            let message = "the message is not sent as JSON; send it with `Content-Type: application/json`";
            return error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        }
        let accepted = Accepted::from_headers(&request.headers);
        if !accepted.json && !accepted.events {
            let message = "no form of an answer is accepted; send `Accept: application/json, text/event-stream`";
            return error_response(StatusCode::NOT_ACCEPTABLE, message);
        }
        let mut buffered = BufferedBytes::new(&self.buffered);
        let message = match read(&self.server, &request.headers, body, &mut buffered).await {
            Ok(message) => message,
            Err(response) => {
                if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                    self.rejections.report(RejectionReason::Busy, Some("bytes of messages"), sender.client);
                }
                return *response;
            }
        };
        let Some(permit) = Permit::acquire(self, |endpoint| &endpoint.in_flight, self.max_in_flight) else {
            let message = "too many requests are in flight; try again in a moment";
            return self.busy("requests in flight", message, sender);
        };
        self.answer_message(request, &message, (accepted, sender), permit.with_buffered(buffered)).await
    }

    async fn answer_message(
        self: &Arc<Self>,
        request: Parts,
        message: &[u8],
        (accepted, sender): (Accepted, Sender),
        permit: Permit,
    ) -> HttpResponse {
        let mut options = match self.call_options(&request) {
            Ok(options) => options,
            Err(response) => return *response,
        };
        if options.get_mask_errors().is_none() {
            options = options.mask_errors(true);
        }
        let options = options.http_request(request);
        let Some(request) = options.get_extensions().request() else {
            return error_response(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the request is lost; tell whoever runs the server",
            );
        };
        let headers = McpHeaders::new(&request.headers);
        let session = match self.find_session(&headers, &request.headers, &options, sender) {
            Ok(session) => session,
            Err(response) => return *response,
        };
        let notifications = Arc::new(Notifications::default());
        let mut builder = Peer::builder().options(options.clone());
        if accepted.events {
            let queue = Arc::clone(&notifications);
            builder = builder.on_notification(move |message| queue.push(message));
        }
        let peer = match (&session, headers.version()) {
            (Some(session), _) => session.build_peer(builder),
            (None, VersionHeader::Supported(version)) if !version.is_stateless() => {
                builder.protocol_version(version).build()
            }
            // Newer clients send their version. With sessions, so do those of 2025-03-26, by their session.
            (None, VersionHeader::Missing) if self.sessions.is_none() => {
                builder.protocol_version(ProtocolVersion::V2025_03_26).build()
            }
            _ => builder.build(),
        };
        let responder =
            Responder { endpoint: self, peer: &peer, session: session.as_deref(), options: &options, sender, accepted };
        if let (Some(session), Some(b'[')) = (&session, message.trim_ascii_start().first()) {
            // Notifications beside requests.
            Server::forward_notifications(message, &peer, &session.peers());
        }
        let mut bytes = Vec::with_capacity(TYPICAL_RESPONSE_BYTES);
        let pending = match self.server.begin_with(&headers, message, &peer, &mut bytes) {
            Step::Done(kind) if bytes.is_empty() => return responder.without_answer(kind, message, &headers),
            Step::Done(kind) => return responder.respond(&notifications, Reply { bytes, kind }),
            Step::Pending(pending) => pending,
        };
        let is_subscription = pending.is_subscription;
        let is_stateless = headers.is_stateless();
        let mut request = InFlight::new(pending, permit);
        // A client that disconnects cancels its request; in the older versions it does not.
        if !is_stateless {
            request = request.spawn(None);
        }
        // Dropped before the request, which would otherwise not be in flight any more.
        let mut close_on_drop = CloseOnDrop(is_stateless.then_some(&peer));
        let ended = poll_fn(|context| match request.poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => notifications.poll(context).map(|()| None),
        });
        match ended.await {
            Some(Ok(reply)) if reply.bytes.is_empty() => responder.cancelled(),
            Some(Ok(reply)) => responder.respond(&notifications, reply),
            Some(Err(_)) => {
                error_response(StatusCode::INTERNAL_SERVER_ERROR, "the answer is lost; tell whoever runs the server")
            }
            None => {
                if is_subscription {
                    let Some(permit) = Permit::acquire(self, |endpoint| &endpoint.streams, self.max_streams) else {
                        return self.busy("streams", TOO_MANY_STREAMS, sender);
                    };
                    request = request.with_permit(permit);
                }
                close_on_drop.0 = None;
                // The request does not wait for a client that reads slowly.
                if is_stateless {
                    request = request.spawn(Some(peer.clone()));
                }
                let (peer, stopping) = (peer.clone(), self.stopping.cancelled());
                event_stream(EventStream::new(request, peer, notifications, !accepted.json, stopping))
            }
        }
    }

    /// The session that a message of the older versions belongs to, if it names one.
    fn find_session(
        &self,
        headers: &McpHeaders<'_>,
        all: &HeaderMap,
        options: &CallOptions,
        sender: Sender,
    ) -> Result<Option<Arc<Session>>, Box<HttpResponse>> {
        match headers.version() {
            VersionHeader::Supported(version) if version.is_stateless() => return Ok(None),
            _ => {}
        }
        let (Some(sessions), Some(id)) = (&self.sessions, all.get(SESSION_ID)) else { return Ok(None) };
        let session = match id.to_str() {
            Ok(id) => sessions.get(id, &caller(options, sender)),
            Err(_) => Err(SessionError::Unknown),
        };
        session.map(Some).map_err(|error| self.session_error(error, sender))
    }

    /// Opens a stream of notifications that belong to no request, for clients of the older versions.
    fn open_stream(self: &Arc<Self>, request: &Parts, sender: Sender) -> Result<HttpResponse, Box<HttpResponse>> {
        let headers = McpHeaders::new(&request.headers);
        let version = self.session_version(request, &headers)?;
        if !Accepted::lists_events(&request.headers) {
            let message = "what is told here comes as events; send `Accept: text/event-stream`";
            return Err(Box::new(error_response(StatusCode::NOT_ACCEPTABLE, message)));
        }
        let options = self.call_options(request)?;
        let session = self.find_session(&headers, &request.headers, &options, sender)?;
        let Some(permit) = Permit::acquire(self, |endpoint| &endpoint.streams, self.max_streams) else {
            return Err(Box::new(self.busy("streams", TOO_MANY_STREAMS, sender)));
        };
        let notifications = Arc::new(Notifications::default());
        let queue = Arc::clone(&notifications);
        let builder = Peer::builder().on_notification(move |message| queue.push(message)).initialized();
        let ended = self.stopping.child();
        let peer = match &session {
            Some(session) => {
                session.open_stream(ended.clone());
                session.build_peer(builder)
            }
            None => builder.protocol_version(version.unwrap_or(ProtocolVersion::V2025_11_25)).build(),
        };
        self.server.notify_of_changes(&peer);
        let until_ended = Box::pin(async move {
            ended.cancelled().await;
            Reply { bytes: Vec::new(), kind: ReplyKind::Accepted }
        });
        let request = InFlight::Polled(until_ended, permit);
        Ok(event_stream(EventStream::new(request, peer, notifications, true, self.stopping.cancelled())))
    }

    /// The version of a request that exists only in the versions with sessions.
    fn session_version(
        &self,
        request: &Parts,
        headers: &McpHeaders<'_>,
    ) -> Result<Option<ProtocolVersion>, Box<HttpResponse>> {
        match headers.version() {
            VersionHeader::Supported(version) if version.is_stateless() => {
                Err(Box::new(self.method_not_allowed(&request.method)))
            }
            VersionHeader::Supported(version) => Ok(Some(version)),
            VersionHeader::Missing => Ok(None),
            VersionHeader::Unsupported(version) => Err(Box::new(unsupported_version_response(version))),
            VersionHeader::Malformed => Err(Box::new(malformed_version_response())),
        }
    }

    fn end_session(&self, request: &Parts, sender: Sender) -> Result<HttpResponse, Box<HttpResponse>> {
        self.session_version(request, &McpHeaders::new(&request.headers))?;
        let Some(id) = request.headers.get(SESSION_ID) else {
            let message = "there is no `Mcp-Session-Id`; send the one of the session that is to end";
            return Err(Box::new(error_response(StatusCode::BAD_REQUEST, message)));
        };
        let caller = caller(&self.call_options(request)?, sender);
        let ended = match (id.to_str(), &self.sessions) {
            (Ok(id), Some(sessions)) => sessions.end(id, &caller),
            _ => Err(SessionError::Unknown),
        };
        match ended {
            Ok(()) => Ok(full(StatusCode::NO_CONTENT, JSON, Vec::new())),
            Err(error) => Err(self.session_error(error, sender)),
        }
    }
}

/// The caller that sessions belong to.
fn caller(options: &CallOptions, sender: Sender) -> Caller {
    Caller { name: options.get_caller().map(str::to_owned), token: sender.token }
}

/// Turns replies into responses.
struct Responder<'a> {
    endpoint: &'a Endpoint,
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
                session = self.endpoint.sessions.as_ref().and_then(|sessions| {
                    let id = sessions.begin(&caller(self.options, self.sender), version)?;
                    HeaderValue::try_from(id).ok()
                });
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
    fn without_answer(&self, kind: ReplyKind, message: &[u8], headers: &McpHeaders<'_>) -> HttpResponse {
        match (headers.version(), kind) {
            (VersionHeader::Unsupported(version), _) => unsupported_version_response(version),
            (VersionHeader::Malformed, _) => malformed_version_response(),
            (_, ReplyKind::Accepted) => {
                // It may concern any request of the session.
                if let Some(session) = self.session {
                    Server::forward_notifications(message, self.peer, &session.peers());
                }
                full(StatusCode::ACCEPTED, JSON, Vec::new())
            }
            (_, ReplyKind::Invalid(_)) => {
                error_response(StatusCode::BAD_REQUEST, "the notification is none; send one of JSON-RPC 2.0")
            }
            // A request that was cancelled before `begin_with` returned.
            _ => self.cancelled(),
        }
    }

    /// The response to a request that was cancelled.
    fn cancelled(&self) -> HttpResponse {
        if self.accepted.events {
            unbuffered(full(StatusCode::OK, EVENTS, COMMENT.to_vec()))
        } else {
            full(StatusCode::ACCEPTED, JSON, Vec::new())
        }
    }
}
