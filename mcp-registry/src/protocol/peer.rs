//! One connection, as the server sees it.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

#[cfg(feature = "rmcp")]
use mcp_core::ToolError;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::rpc::Id;
use mcp_core::{CallOptions, CancelToken, LogLevel};

#[cfg(feature = "rmcp")]
use super::errors::busy;
use super::in_flight::{InFlight, NotStarted, Requests, Subscription};
use crate::util::lock::lock;
use crate::util::panic::{Contained, guard};

type NotificationHandler = Box<dyn Fn(Vec<u8>) + Send + Sync>;

/// One connection: the negotiated version, the requests in flight, and the handler of notifications. Cheap to clone;
/// clones share the connection.
///
/// ```
/// use mcp_registry::{TrustLevel, CallOptions};
/// use mcp_registry::protocol::Peer;
///
/// let peer = Peer::builder()
///     .on_notification(|message| println!("{}", String::from_utf8_lossy(&message)))
///     .options(CallOptions::new().caller("ada").trust(TrustLevel::Trusted))
///     .build();
/// ```
#[derive(Clone)]
pub struct Peer(pub(super) Arc<Inner>);

pub(super) struct Inner {
    on_notification: Option<NotificationHandler>,
    options: CallOptions,
    /// The version that `initialize` negotiated: its position in `ProtocolVersion::ALL`, counted from 1; 0 before that.
    version: AtomicU8,
    /// Whether the client has confirmed `initialize`.
    is_initialized: AtomicBool,
    log_level: AtomicU8,
    /// Whether a request was ever in flight. On a connection that calls only `inline` tools, there is none.
    had_requests: AtomicBool,
    requests: Mutex<Requests>,
    /// Whether there was ever a subscription.
    had_subscriptions: AtomicBool,
    subscriptions: Mutex<Vec<Subscription>>,
}

/// Builds a [`Peer`]. Created by [`Peer::builder`].
#[must_use = "a builder does nothing before `build`"]
pub struct PeerBuilder {
    on_notification: Option<NotificationHandler>,
    options: CallOptions,
    version: Option<ProtocolVersion>,
    is_initialized: bool,
    log_level: LogLevel,
}

impl PeerBuilder {
    /// Sets the function that sends notifications: one JSON-RPC message per call, without a line break. It may be
    /// called from any thread and must not block.
    pub fn on_notification(mut self, handler: impl Fn(Vec<u8>) + Send + Sync + 'static) -> Self {
        let handler = Contained::new(handler);
        self.on_notification = Some(Box::new(move |message| (*handler)(message)));
        self
    }

    /// Sets the options of each call: the caller, trust, extensions.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Adds a value that tools find in [`ToolContext::extensions`](mcp_core::ToolContext::extensions).
    pub fn extension<T: Any + Send + Sync>(mut self, extension: T) -> Self {
        self.options = self.options.extension(extension);
        self
    }

    /// Sets the version that an earlier `initialize` negotiated.
    #[cfg(feature = "http")]
    pub(crate) fn protocol_version(mut self, version: ProtocolVersion) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets the minimum level of log messages for the client.
    #[cfg(feature = "http")]
    pub(crate) fn log_level(mut self, level: LogLevel) -> Self {
        self.log_level = level;
        self
    }

    /// Marks the connection as initialized.
    #[cfg(feature = "http")]
    pub(crate) fn initialized(mut self) -> Self {
        self.is_initialized = true;
        self
    }

    /// Builds the connection.
    pub fn build(self) -> Peer {
        Peer(Arc::new(Inner {
            on_notification: self.on_notification,
            options: self.options,
            version: AtomicU8::new(self.version.map_or(0, version_number)),
            is_initialized: AtomicBool::new(self.is_initialized),
            log_level: AtomicU8::new(self.log_level as u8),
            had_requests: AtomicBool::new(false),
            requests: Mutex::default(),
            had_subscriptions: AtomicBool::new(false),
            subscriptions: Mutex::default(),
        }))
    }
}

/// The position of a version in `ProtocolVersion::ALL`, counted from 1.
fn version_number(version: ProtocolVersion) -> u8 {
    (1..).zip(ProtocolVersion::ALL).find_map(|(number, known)| (known == version).then_some(number)).unwrap_or_default()
}

impl Peer {
    /// A connection without notifications.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Configures a connection.
    pub fn builder() -> PeerBuilder {
        PeerBuilder {
            on_notification: None,
            options: CallOptions::new(),
            version: None,
            is_initialized: false,
            log_level: LogLevel::Info,
        }
    }

    #[cfg(feature = "http")]
    pub(crate) fn downgrade(&self) -> WeakPeer {
        WeakPeer(Arc::downgrade(&self.0))
    }

    /// Cancels the requests in flight, because the client has disconnected.
    pub fn close(&self) {
        let cancelled = self.requests().take_all();
        cancelled.iter().for_each(CancelToken::cancel);
        self.end_subscriptions(false);
    }

    /// Cancels the calls in flight and all later ones, because the server is shutting down. Cancelled calls are
    /// answered. Returns the tools whose calls were in flight.
    #[cfg(feature = "stdio")]
    pub(crate) fn shut_down(&self) -> Vec<Arc<str>> {
        let (cancelled, tools) = self.requests().shut_down();
        cancelled.iter().for_each(CancelToken::cancel);
        tools
    }

    /// Ends and answers the client's subscriptions, because the server is shutting down.
    pub fn finish(&self) {
        self.end_subscriptions(true);
    }

    fn end_subscriptions(&self, is_answered: bool) {
        let subscriptions = std::mem::take(&mut *self.subscriptions());
        for subscription in subscriptions {
            subscription.end(is_answered);
        }
    }

    /// The version of MCP that `initialize` negotiated.
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        let position = usize::from(self.0.version.load(Ordering::Relaxed)).checked_sub(1)?;
        ProtocolVersion::ALL.get(position).copied()
    }

    /// The number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.requests().len()
    }

    pub(super) fn set_protocol_version(&self, version: ProtocolVersion) {
        self.0.version.store(version_number(version), Ordering::Relaxed);
    }

    /// The client has confirmed `initialize`.
    pub(super) fn set_initialized(&self) {
        self.0.is_initialized.store(true, Ordering::Relaxed);
    }

    /// Whether the connection is initialized. Only then may it get notifications that belong to no request.
    pub(super) fn is_initialized(&self) -> bool {
        self.protocol_version().is_some() && self.0.is_initialized.load(Ordering::Relaxed)
    }

    pub(super) fn call_options(&self) -> &CallOptions {
        &self.0.options
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.0.log_level.load(Ordering::Relaxed)) % LogLevel::ALL.len()]
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.0.log_level.store(level as u8, Ordering::Relaxed);
    }

    /// Registers a call as in flight. Fails if `max` requests are in flight, or if another request has the ID or the
    /// progress token.
    pub(super) fn start(
        &self,
        id: Option<&Id<'_>>,
        tool: Arc<str>,
        token: Option<String>,
        max: usize,
    ) -> Result<InFlight, NotStarted> {
        self.0.had_requests.store(true, Ordering::Relaxed);
        let mut requests = self.requests();
        if requests.len() >= max {
            return Err(NotStarted::TooMany);
        }
        let id = id.map(|id| id.clone().into_owned());
        if id.as_ref().is_some_and(|id| self.has_subscription(id)) {
            return Err(NotStarted::IdInUse);
        }
        let (number, cancel) = requests.start(id.clone(), tool, token, self.call_options().get_cancel())?;
        Ok(InFlight { peer: self.clone(), number, id, cancel, is_over: false })
    }

    /// Registers a call as in flight whose ID the transport keeps track of. Fails if `max` requests are in flight.
    #[cfg(feature = "rmcp")]
    pub(crate) fn start_call(&self, tool: &str, max: usize) -> Result<InFlight, ToolError> {
        self.start(None, tool.into(), None, max).map_err(|_| busy(self.in_flight()))
    }

    /// Whether a request with this ID is in flight.
    pub(super) fn is_in_flight(&self, id: &Id<'_>) -> bool {
        self.0.had_requests.load(Ordering::Relaxed) && (self.requests().has_id(id) || self.has_subscription(id))
    }

    /// Whether a request with this progress token is in flight.
    pub(super) fn uses_token(&self, token: &str) -> bool {
        self.0.had_requests.load(Ordering::Relaxed) && self.requests().has_token(token)
    }

    /// Cancels a request that is in flight. Unknown IDs are ignored.
    pub(super) fn cancel(&self, id: &Id<'static>) {
        let cancelled = self.requests().take(id);
        if let Some(cancelled) = cancelled {
            cancelled.cancel();
        }
        let subscription = self.take_subscription(|subscription| subscription.id == *id);
        if let Some(subscription) = subscription {
            subscription.end(false);
        }
    }

    /// Adds a subscription. Returns `false` if there are already `max`, or another request has the ID.
    pub(super) fn subscribe(&self, subscription: Subscription, max: usize) -> bool {
        self.0.had_requests.store(true, Ordering::Relaxed);
        self.0.had_subscriptions.store(true, Ordering::Relaxed);
        let requests = self.requests();
        let mut subscriptions = self.subscriptions();
        let is_known =
            requests.has_id(&subscription.id) || subscriptions.iter().any(|known| known.id == subscription.id);
        if is_known || subscriptions.len() >= max {
            return false;
        }
        subscriptions.push(subscription);
        true
    }

    /// Removes a subscription by its token: its ID may have been reused.
    pub(super) fn unsubscribe(&self, ended: &CancelToken) {
        drop(self.take_subscription(|subscription| subscription.ended.is(ended)));
    }

    fn take_subscription(&self, matches: impl FnMut(&Subscription) -> bool) -> Option<Subscription> {
        let mut subscriptions = self.subscriptions();
        subscriptions.iter().position(matches).map(|position| subscriptions.remove(position))
    }

    fn has_subscription(&self, id: &Id<'_>) -> bool {
        self.0.had_subscriptions.load(Ordering::Relaxed)
            && self.subscriptions().iter().any(|subscription| subscription.id == *id)
    }

    pub(super) fn requests(&self) -> MutexGuard<'_, Requests> {
        lock(&self.0.requests)
    }

    pub(super) fn subscriptions(&self) -> MutexGuard<'_, Vec<Subscription>> {
        lock(&self.0.subscriptions)
    }

    /// Whether the client can get notifications.
    pub(super) fn can_notify(&self) -> bool {
        self.0.on_notification.is_some()
    }

    pub(super) fn notify(&self, message: Vec<u8>) {
        if let Some(handler) = &self.0.on_notification {
            // What sends a message is not what it is about.
            let _ = guard(|| handler(message));
        }
    }
}

/// A weak reference to a connection.
#[cfg(feature = "http")]
pub(crate) struct WeakPeer(std::sync::Weak<Inner>);

#[cfg(feature = "http")]
impl WeakPeer {
    pub(crate) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    pub(crate) fn upgrade(&self) -> Option<Peer> {
        self.0.upgrade().map(Peer)
    }
}

impl Default for Peer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("protocol_version", &self.protocol_version())
            .field("in_flight", &self.in_flight())
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PeerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mcp_core::rpc::Id;

    use super::Peer;
    use crate::protocol::in_flight::{InFlight, NotStarted};

    fn start(peer: &Peer, id: Option<&Id<'_>>, max: usize) -> Result<InFlight, NotStarted> {
        peer.start(id, "t.tool".into(), None, max)
    }

    #[test]
    fn a_progress_token_can_be_reused_when_its_request_ends() {
        let peer = Peer::new();
        let start = |id: i64| peer.start(Some(&Id::from(id)), "t.tool".into(), Some("7".to_owned()), 9);
        let first = start(1).ok().unwrap();
        assert!(peer.uses_token("7") && peer.is_in_flight(&Id::from(1)));
        assert!(start(2).is_err());
        peer.cancel(&Id::from(1));
        assert!(!peer.uses_token("7") && !peer.is_in_flight(&Id::from(1)));
        let second = start(2).ok().unwrap();
        drop(first);
        assert!(peer.uses_token("7"), "the second request has the token");
        assert!(second.end() && !peer.uses_token("7"));
    }

    #[test]
    fn a_request_is_in_flight_until_it_ends_or_is_dropped() {
        let peer = Peer::new();
        let (one, two) = (Id::from(1), Id::from(2));
        let (first, second) = (start(&peer, Some(&one), 3).ok().unwrap(), start(&peer, Some(&two), 3).ok().unwrap());
        let flat = start(&peer, None, 3).ok().unwrap();
        assert_eq!(peer.in_flight(), 3);
        assert!(start(&peer, None, 3).is_err(), "the limit is reached");
        drop(second);
        assert!(start(&peer, Some(&one), 3).is_err(), "the ID is in use");
        assert!(start(&peer, Some(&two), 3).is_ok());
        assert!(first.end() && flat.end());
        assert_eq!(peer.in_flight(), 0);
    }

    #[test]
    fn ending_a_cancelled_request_does_not_end_another_with_the_same_id() {
        let peer = Peer::new();
        let id = Id::from(1);
        let first = start(&peer, Some(&id), 9).ok().unwrap();
        peer.cancel(&id);
        assert!(first.cancel_token().is_cancelled());
        let second = start(&peer, Some(&id), 9).ok().unwrap();
        assert!(!first.end(), "it was cancelled");
        assert_eq!(peer.in_flight(), 1);
        assert!(second.end());
    }

    #[test]
    fn all_requests_are_cancelled_when_the_client_disconnects() {
        let peer = Peer::new();
        let (one, flat) = (start(&peer, Some(&Id::from(1)), 9).ok().unwrap(), start(&peer, None, 9).ok().unwrap());
        peer.close();
        assert!(one.cancel_token().is_cancelled() && flat.cancel_token().is_cancelled());
        assert!(!one.end() && !flat.end());
    }

    #[cfg(feature = "stdio")]
    #[test]
    fn calls_that_the_server_cancels_at_shutdown_are_answered() {
        let peer = Peer::new();
        let one = start(&peer, Some(&Id::from(1)), 9).ok().unwrap();
        assert!(!one.is_shut_down());
        assert_eq!(peer.shut_down(), ["t.tool".into()]);
        let late = start(&peer, None, 9).ok().unwrap();
        assert_eq!(peer.shut_down(), []);
        for flight in [one, late] {
            assert!(flight.cancel_token().is_cancelled() && flight.is_shut_down());
            assert!(flight.end());
        }
    }
}
