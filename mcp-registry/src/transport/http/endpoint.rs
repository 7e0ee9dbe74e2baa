//! One endpoint: a request in, its answer out.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use axum::http::header::{ALLOW, CONNECTION};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Body;
use mcp_core::{BoxError, CallOptions, CancelToken, ProtocolVersion};

use super::accept::{Accepted, EVENTS, JSON, content_type, is_json};
use super::access::{Access, Refused};
use super::cors;
use super::headers::{Headers, SESSION, Version};
use super::read::{Room, read};
use super::reject::Rejections;
use super::reply::{
    Reply, bad_version, broken_version, busy, events, failure, no_session, not_let_in, streamed, whole,
};
use super::session::{Caller, NoSession, Session, Sessions};
use super::stream::{Events, Outlet, Stream, append_reply};
use super::under::{Ended, Permit, Under, until};
use crate::call::observe::RejectionReason;
use crate::protocol::{Peer, PendingReply, Reply as ProtocolReply, ReplyKind, Server, Step, TransportHeaders as _};
use crate::util::panic::guard;

const STREAMS_TAKEN: &str = "as many clients listen as may; try again later";

/// How many bytes most answers have at most.
const ANSWER: usize = 512;

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
    /// How many bytes of messages are kept.
    pub(super) buffered: AtomicUsize,
    pub(super) rejections: Rejections,
}

/// What is known of who sent a request, before its message is read.
#[derive(Clone, Copy)]
struct Sender {
    /// Which of the server's tokens was sent.
    token: Option<usize>,
    client: Option<SocketAddr>,
}

/// Calls a request off when nobody waits for it any more.
struct Waiting<'a>(Option<&'a Peer>);

impl Drop for Waiting<'_> {
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

    pub(super) async fn answer<B>(self: &Arc<Self>, request: Request<B>, client: Option<SocketAddr>) -> Reply
    where
        B: Body<Error: Into<BoxError>> + Send + 'static,
        B::Data: Send,
    {
        let (request, body) = request.into_parts();
        if let Some(reply) = cors::preflight(&self.access, &request) {
            return reply;
        }
        let sender = match self.access.check(&request) {
            Ok(token) => Sender { token, client },
            Err(refused) => return self.refuse(&refused, client).await,
        };
        match request.method {
            Method::POST => self.post(request, body, sender).await,
            Method::GET => self.listen(&request, sender).unwrap_or_else(|reply| *reply),
            Method::DELETE if self.sessions.is_some() => {
                self.end_session(&request, sender).unwrap_or_else(|reply| *reply)
            }
            _ => self.no_method(&request.method),
        }
    }

    /// Reports a request that is not let in. Wrong tokens are answered after a delay.
    async fn refuse(&self, refused: &Refused, client: Option<SocketAddr>) -> Reply {
        let (reason, detail) = refused.reason();
        self.rejections.report(reason, detail, client);
        let mut reply = not_let_in(refused);
        if *refused == Refused::WrongToken {
            let was_delayed = tokio::select! {
                was_delayed = self.rejections.delay() => was_delayed,
                () = self.stopping.cancelled() => true,
            };
            if !was_delayed {
                // Another guess takes another connection at least.
                reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        reply
    }

    /// Reports a request that meets a limit.
    fn busy(&self, limit: &str, message: &str, sender: Sender) -> Reply {
        self.rejections.report(RejectionReason::Busy, Some(limit), sender.client);
        busy(message)
    }

    /// Reports a session of someone else. The client is told the same as for one that does not exist.
    fn no_session(&self, why: NoSession, sender: Sender) -> Box<Reply> {
        if why == NoSession::Foreign {
            self.rejections.report(RejectionReason::ForeignSession, None, sender.client);
        }
        Box::new(no_session())
    }

    /// What the calls of a request bring along.
    fn options(&self, request: &Parts) -> Result<CallOptions, Box<Reply>> {
        guard(|| (self.options)(request)).map_err(|_| {
            let message = "what belongs to the call could not be found out; tell whoever runs the server";
            Box::new(failure(StatusCode::INTERNAL_SERVER_ERROR, message))
        })
    }

    fn no_method(&self, method: &Method) -> Reply {
        let message = format!("`{method}` is not answered here; send a message with POST");
        let mut reply = failure(StatusCode::METHOD_NOT_ALLOWED, message);
        let allowed = if self.sessions.is_some() { "POST, GET, DELETE" } else { "POST, GET" };
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        reply
    }

    async fn post<B>(self: &Arc<Self>, request: Parts, body: B, sender: Sender) -> Reply
    where
        B: Body<Error: Into<BoxError>> + Send + 'static,
        B::Data: Send,
    {
        if !is_json(content_type(&request.headers)) {
            let message = "the message is not sent as JSON; send it with `Content-Type: application/json`";
            return failure(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        }
        let accepted = Accepted::of(&request.headers);
        if !accepted.json && !accepted.events {
            let message = "no form of an answer is accepted; send `Accept: application/json, text/event-stream`";
            return failure(StatusCode::NOT_ACCEPTABLE, message);
        }
        let mut room = Room::new(&self.buffered);
        let message = match read(&self.server, &request.headers, body, &mut room).await {
            Ok(message) => message,
            Err(reply) => {
                if reply.status() == StatusCode::SERVICE_UNAVAILABLE {
                    self.rejections.report(RejectionReason::Busy, Some("bytes of messages"), sender.client);
                }
                return *reply;
            }
        };
        let Some(permit) = Permit::take(self, |endpoint| &endpoint.in_flight, self.max_in_flight) else {
            let message = "as many requests are under way as may be; try again in a moment";
            return self.busy("requests in flight", message, sender);
        };
        self.message(request, &message, (accepted, sender), permit.keeping(room)).await
    }

    async fn message(
        self: &Arc<Self>,
        request: Parts,
        message: &[u8],
        (accepted, sender): (Accepted, Sender),
        permit: Permit,
    ) -> Reply {
        let mut options = match self.options(&request) {
            Ok(options) => options,
            Err(reply) => return *reply,
        };
        if options.get_mask_errors().is_none() {
            options = options.mask_errors(true);
        }
        let options = options.http_request(request);
        let Some(request) = options.get_extensions().request() else {
            return failure(StatusCode::INTERNAL_SERVER_ERROR, "the request is lost; tell whoever runs the server");
        };
        let headers = Headers::of(&request.headers);
        let session = match self.session_of(&headers, &request.headers, &options, sender) {
            Ok(session) => session,
            Err(reply) => return *reply,
        };
        let outlet = Arc::new(Outlet::default());
        let mut builder = Peer::builder().options(options.clone());
        if accepted.events {
            let told = Arc::clone(&outlet);
            builder = builder.on_notification(move |message| told.tell(message));
        }
        let peer = match (&session, headers.version()) {
            (Some(session), _) => session.build_peer(builder),
            (None, Version::Spoken(version)) if !version.is_stateless() => builder.protocol_version(version).build(),
            // Newer clients send their version. With sessions, so do those of 2025-03-26, by their session.
            (None, Version::None) if self.sessions.is_none() => {
                builder.protocol_version(ProtocolVersion::V2025_03_26).build()
            }
            _ => builder.build(),
        };
        let answering =
            Answering { endpoint: self, peer: &peer, session: session.as_deref(), options: &options, sender, accepted };
        if let (Some(session), Some(b'[')) = (&session, message.trim_ascii_start().first()) {
            // Notifications beside requests.
            Server::forward_notifications(message, &peer, &session.peers());
        }
        let mut bytes = Vec::with_capacity(ANSWER);
        let pending = match self.server.begin_with(&headers, message, &peer, &mut bytes) {
            Step::Done(kind) if bytes.is_empty() => return answering.without_answer(kind, message, &headers),
            Step::Done(kind) => return answering.reply(&outlet, ProtocolReply { bytes, kind }),
            Step::Pending(pending) => pending,
        };
        let PendingReply { future: rest, is_subscription } = pending;
        let is_stateless = headers.is_stateless();
        // Here a client that is gone has called its request off; in the older versions it has not.
        let mut rest = if is_stateless { Under::way(rest, permit) } else { Under::way(rest, permit).apart(None) };
        // Dropped before the rest, which would be no longer known as under way.
        let mut waiting = Waiting(is_stateless.then_some(&peer));
        let ended = poll_fn(|context| match rest.poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => outlet.poll(context).map(|()| None),
        });
        match ended.await {
            Some(Ended::Replied(reply)) if reply.bytes.is_empty() => answering.cancelled(),
            Some(Ended::Replied(reply)) => answering.reply(&outlet, reply),
            Some(Ended::Lost) => {
                failure(StatusCode::INTERNAL_SERVER_ERROR, "the answer is lost; tell whoever runs the server")
            }
            None => {
                if is_subscription {
                    let Some(permit) = Permit::take(self, |endpoint| &endpoint.streams, self.max_streams) else {
                        return self.busy("streams", STREAMS_TAKEN, sender);
                    };
                    rest = rest.counted_by(permit);
                }
                waiting.0 = None;
                // It goes on, and ends in its time, however slowly the client reads.
                let rest = if is_stateless { rest.apart(Some(peer.clone())) } else { rest };
                events(Events::new(
                    rest,
                    Stream { peer: peer.clone(), outlet, only_events: !accepted.json },
                    self.stopping.cancelled(),
                ))
            }
        }
    }

    /// The session that a message of the older versions belongs to, if it names one.
    fn session_of(
        &self,
        headers: &Headers<'_>,
        all: &HeaderMap,
        options: &CallOptions,
        sender: Sender,
    ) -> Result<Option<Arc<Session>>, Box<Reply>> {
        match headers.version() {
            Version::Spoken(era) if era.is_stateless() => return Ok(None),
            _ => {}
        }
        let (Some(sessions), Some(id)) = (&self.sessions, all.get(SESSION)) else { return Ok(None) };
        let session = match id.to_str() {
            Ok(id) => sessions.get(id, &caller(options, sender)),
            Err(_) => Err(NoSession::Unknown),
        };
        session.map(Some).map_err(|why| self.no_session(why, sender))
    }

    /// A client of an older version listens to what concerns none of its requests.
    fn listen(self: &Arc<Self>, request: &Parts, sender: Sender) -> Result<Reply, Box<Reply>> {
        let headers = Headers::of(&request.headers);
        let era = self.older_version(request, &headers)?;
        if !Accepted::names_events(&request.headers) {
            let message = "what is told here comes as events; send `Accept: text/event-stream`";
            return Err(Box::new(failure(StatusCode::NOT_ACCEPTABLE, message)));
        }
        let options = self.options(request)?;
        let session = self.session_of(&headers, &request.headers, &options, sender)?;
        let Some(permit) = Permit::take(self, |endpoint| &endpoint.streams, self.max_streams) else {
            return Err(Box::new(self.busy("streams", STREAMS_TAKEN, sender)));
        };
        let outlet = Arc::new(Outlet::default());
        let told = Arc::clone(&outlet);
        let builder = Peer::builder().on_notification(move |message| told.tell(message)).initialized();
        let over = self.stopping.child();
        let peer = match &session {
            Some(session) => {
                session.listen(over.clone());
                session.build_peer(builder)
            }
            None => builder.protocol_version(era.unwrap_or(ProtocolVersion::V2025_11_25)).build(),
        };
        self.server.notify_of_changes(&peer);
        let rest = Under::way(until(over.cancelled()), permit);
        Ok(events(Events::new(rest, Stream { peer, outlet, only_events: true }, self.stopping.cancelled())))
    }

    /// The version of a request that only the older versions have.
    fn older_version(&self, request: &Parts, headers: &Headers<'_>) -> Result<Option<ProtocolVersion>, Box<Reply>> {
        match headers.version() {
            Version::Spoken(era) if era.is_stateless() => Err(Box::new(self.no_method(&request.method))),
            Version::Spoken(era) => Ok(Some(era)),
            Version::None => Ok(None),
            Version::Other(version) => Err(Box::new(bad_version(version))),
            Version::Broken => Err(Box::new(broken_version())),
        }
    }

    fn end_session(&self, request: &Parts, sender: Sender) -> Result<Reply, Box<Reply>> {
        self.older_version(request, &Headers::of(&request.headers))?;
        let Some(id) = request.headers.get(SESSION) else {
            let message = "there is no `Mcp-Session-Id`; send the one of the session that is to end";
            return Err(Box::new(failure(StatusCode::BAD_REQUEST, message)));
        };
        let caller = caller(&self.options(request)?, sender);
        let ended = match (id.to_str(), &self.sessions) {
            (Ok(id), Some(sessions)) => sessions.end(id, &caller),
            _ => Err(NoSession::Unknown),
        };
        match ended {
            Ok(()) => Ok(whole(StatusCode::NO_CONTENT, JSON, Vec::new())),
            Err(why) => Err(self.no_session(why, sender)),
        }
    }
}

/// Who sent a request, as far as sessions are concerned.
fn caller(options: &CallOptions, sender: Sender) -> Caller {
    Caller { name: options.get_caller().map(str::to_owned), token: sender.token }
}

/// What an answer is made of, beside the message.
struct Answering<'a> {
    endpoint: &'a Endpoint,
    peer: &'a Peer,
    session: Option<&'a Session>,
    options: &'a CallOptions,
    sender: Sender,
    accepted: Accepted,
}

impl Answering<'_> {
    fn reply(&self, outlet: &Outlet, answer: ProtocolReply) -> Reply {
        let mut session = None;
        let status = match answer.kind {
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
                    session.set_level(level);
                }
                StatusCode::OK
            }
        };
        let mut reply = if self.accepted.json && outlet.is_empty() {
            whole(status, JSON, answer.bytes)
        } else {
            let mut out = Vec::new();
            outlet.write(&mut out);
            append_reply(!self.accepted.json, &answer, &mut out);
            streamed(whole(status, EVENTS, out))
        };
        if let Some(id) = session {
            reply.headers_mut().insert(SESSION, id);
        }
        reply
    }

    /// The reply to a message that has no answer.
    fn without_answer(&self, kind: ReplyKind, message: &[u8], headers: &Headers<'_>) -> Reply {
        match (headers.version(), kind) {
            (Version::Other(version), _) => bad_version(version),
            (Version::Broken, _) => broken_version(),
            (_, ReplyKind::Accepted) => {
                // It may concern any request of the session.
                if let Some(session) = self.session {
                    Server::forward_notifications(message, self.peer, &session.peers());
                }
                whole(StatusCode::ACCEPTED, JSON, Vec::new())
            }
            (_, ReplyKind::Invalid(_)) => {
                failure(StatusCode::BAD_REQUEST, "the notification is none; send one of JSON-RPC 2.0")
            }
            // A request that was cancelled before `begin_with` returned.
            _ => self.cancelled(),
        }
    }

    /// The reply to a request that was cancelled.
    fn cancelled(&self) -> Reply {
        if self.accepted.events {
            streamed(whole(StatusCode::OK, EVENTS, b":\n\n".to_vec()))
        } else {
            whole(StatusCode::ACCEPTED, JSON, Vec::new())
        }
    }
}
