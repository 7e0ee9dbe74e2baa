//! One connection, as the server sees it.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_core::{CallOptions, CancelToken, Id, LogLevel, ProtocolVersion};

/// Takes messages that nobody asked for: progress, log, changes of the list.
type Sink = Box<dyn Fn(Vec<u8>) + Send + Sync>;

/// One connection: what was agreed on, what is under way, and where notifications go. Cheap to clone, and shared by its
/// clones.
///
/// ```
/// use mcp_registry::{Peer, TrustLevel, CallOptions};
///
/// let peer = Peer::new()
///     .notify(|message| println!("{}", String::from_utf8_lossy(&message)))
///     .options(CallOptions::new().caller("ada").trust(TrustLevel::Trusted));
/// ```
#[derive(Clone)]
pub struct Peer(pub(super) Arc<Inner>);

pub(super) struct Inner {
    sink: Option<Sink>,
    options: CallOptions,
    /// The version that `initialize` agreed on: its place in `ProtocolVersion::ALL`, counted from 1; 0 before.
    era: AtomicU8,
    /// Whether the client has seen the answer to it.
    initialized: AtomicBool,
    log_level: AtomicU8,
    /// What became of the last message, where its transport wants to know.
    outcome: AtomicU8,
    /// Whether a request was ever in flight: most connections of `inline` tools have none.
    had_flights: AtomicBool,
    in_flight: Mutex<Flights>,
    /// The requests by which the client listens to changes of the list.
    listening: Mutex<Vec<Listener>>,
}

/// The requests that are in flight.
#[derive(Default)]
struct Flights {
    /// By the number of the request, which no other has.
    by_number: HashMap<u64, Flying>,
    /// The numbers of those that have an id.
    numbers: HashMap<Id<'static>, u64>,
    /// The progress tokens of those that have one, as JSON.
    tokens: HashSet<String>,
    next: u64,
    /// The server is shutting down: what is in flight, and what begins, is cancelled.
    shut_down: bool,
}

/// One of them.
struct Flying {
    cancel: CancelToken,
    /// The tool that it calls.
    #[cfg_attr(not(feature = "stdio"), allow(dead_code, reason = "only stdio reports what it cancels"))]
    tool: Arc<str>,
    token: Option<String>,
}

impl Flights {
    fn begin(&mut self, id: Option<Id<'static>>, tool: &Arc<str>, token: Option<String>) -> (u64, CancelToken) {
        let (number, cancel) = (self.next, CancelToken::new());
        self.next += 1;
        if self.shut_down {
            cancel.cancel();
        }
        self.tokens.extend(token.clone());
        self.by_number.insert(number, Flying { cancel: cancel.clone(), tool: Arc::clone(tool), token });
        if let Some(id) = id {
            self.numbers.insert(id, number);
        }
        (number, cancel)
    }

    fn end(&mut self, number: u64, id: Option<&Id<'static>>) -> bool {
        // The id may be another one's by now.
        if let Some(id) = id.filter(|id| self.numbers.get(*id) == Some(&number)) {
            self.numbers.remove(id);
        }
        self.remove(number).is_some()
    }

    fn remove(&mut self, number: u64) -> Option<CancelToken> {
        let Flying { cancel, token, .. } = self.by_number.remove(&number)?;
        if let Some(token) = token {
            self.tokens.remove(&token);
        }
        Some(cancel)
    }
}

/// What became of a message, beyond its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Outcome {
    Answered,
    /// It is none, or not as its version wants it.
    Refused,
    /// There is no such method, in a version whose transports say so.
    NoMethod,
    /// `initialize` has agreed on a version.
    Initialized,
    /// The client has said which log lines it wants.
    LevelSet,
    /// It was `list_tools` or `call_tool`.
    OlderMethod,
    /// It was one of those, and not as it has to be.
    OlderRefused,
    /// It asks for no answer.
    Noticed,
}

impl Outcome {
    #[cfg(feature = "http")]
    const ALL: [Self; 8] = [
        Self::Answered,
        Self::Refused,
        Self::NoMethod,
        Self::Initialized,
        Self::LevelSet,
        Self::OlderMethod,
        Self::OlderRefused,
        Self::Noticed,
    ];
}

/// A request that is under way. It is over when this is dropped.
pub(super) struct Flight {
    peer: Peer,
    number: u64,
    id: Option<Id<'static>>,
    cancel: CancelToken,
}

impl Flight {
    pub(super) fn cancel(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Whether the server is shutting down, which is why the request may have been cancelled.
    pub(super) fn is_shut_down(&self) -> bool {
        self.peer.0.in_flight().shut_down
    }

    /// The request is over. False if it was cancelled meanwhile, and nobody waits for an answer.
    pub(super) fn end(self) -> bool {
        self.remove()
    }

    fn remove(&self) -> bool {
        self.peer.0.in_flight().end(self.number, self.id.as_ref())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A request to be told of changes, which is under way until someone ends it.
pub(super) struct Listener {
    pub(super) id: Id<'static>,
    /// Whether it wants to be told of changes of the list of tools.
    pub(super) tools: bool,
    pub(super) over: CancelToken,
    /// Whether the server has ended it, which is an answer.
    pub(super) answered: Arc<AtomicBool>,
}

impl Listener {
    fn end(self, answered: bool) {
        self.answered.store(answered, Ordering::SeqCst);
        self.over.cancel();
    }
}

impl Peer {
    /// A connection whose client is told nothing but the answers to its requests.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            sink: None,
            options: CallOptions::new(),
            era: AtomicU8::new(0),
            initialized: AtomicBool::new(false),
            log_level: AtomicU8::new(LogLevel::Info as u8),
            outcome: AtomicU8::new(Outcome::Answered as u8),
            had_flights: AtomicBool::new(false),
            in_flight: Mutex::default(),
            listening: Mutex::default(),
        }))
    }

    /// Sends notifications here: one JSON-RPC message a call, without a line break. It may be called from any thread:
    /// be quick.
    ///
    /// # Panics
    ///
    /// When the connection is in use already.
    #[must_use]
    pub fn notify(mut self, sink: impl Fn(Vec<u8>) + Send + Sync + 'static) -> Self {
        self.edit().sink = Some(Box::new(sink));
        self
    }

    /// What each call brings along: the caller, trust, extensions.
    ///
    /// # Panics
    ///
    /// When the connection is in use already.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Self {
        self.edit().options = options;
        self
    }

    /// Adds what tools find under [`ToolContext::extensions`](mcp_core::ToolContext::extensions).
    ///
    /// # Panics
    ///
    /// When the connection is in use already.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(mut self, extension: T) -> Self {
        let inner = self.edit();
        inner.options = std::mem::take(&mut inner.options).extension(extension);
        self
    }

    /// What became of the last message.
    #[cfg(feature = "http")]
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::ALL[usize::from(self.0.outcome.load(Ordering::Relaxed)) % Outcome::ALL.len()]
    }

    pub(super) fn note(&self, outcome: Outcome) {
        self.0.outcome.store(outcome as u8, Ordering::Relaxed);
    }

    #[cfg(feature = "http")]
    pub(crate) fn downgrade(&self) -> WeakPeer {
        WeakPeer(Arc::downgrade(&self.0))
    }

    /// Whether a request listens to changes.
    #[cfg(feature = "http")]
    pub(crate) fn is_listening(&self) -> bool {
        !self.0.listening().is_empty()
    }

    fn edit(&mut self) -> &mut Inner {
        Arc::get_mut(&mut self.0).expect("a connection is set up before it is used")
    }

    /// The client is gone: cancels what is under way.
    pub fn close(&self) {
        let mut flights = self.0.in_flight();
        flights.numbers.clear();
        flights.tokens.clear();
        let cancelled = std::mem::take(&mut flights.by_number);
        drop(flights);
        for flying in cancelled.into_values() {
            flying.cancel.cancel();
        }
        self.stop_listening(false);
    }

    /// The server is shutting down: cancels the calls that are in flight, and all that begin later. They are answered.
    /// Returns the tools whose calls were in flight.
    #[cfg(feature = "stdio")]
    pub(crate) fn shut_down(&self) -> Vec<Arc<str>> {
        let mut flights = self.0.in_flight();
        if std::mem::replace(&mut flights.shut_down, true) {
            return Vec::new();
        }
        let (cancels, tools): (Vec<_>, Vec<_>) =
            flights.by_number.values().map(|flying| (flying.cancel.clone(), Arc::clone(&flying.tool))).unzip();
        drop(flights);
        cancels.iter().for_each(CancelToken::cancel);
        tools
    }

    /// The server ends, and answers those who listen to changes.
    pub fn finish(&self) {
        self.stop_listening(true);
    }

    fn stop_listening(&self, answered: bool) {
        let listening = std::mem::take(&mut *self.0.listening());
        for listener in listening {
            listener.end(answered);
        }
    }

    /// The version of MCP that `initialize` agreed on.
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        let place = usize::from(self.0.era.load(Ordering::Relaxed)).checked_sub(1)?;
        ProtocolVersion::ALL.get(place).copied()
    }

    /// How many requests are under way.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight().by_number.len()
    }

    pub(crate) fn set_protocol_version(&self, era: ProtocolVersion) {
        let number = (1..).zip(ProtocolVersion::ALL).find_map(|(number, known)| (known == era).then_some(number));
        self.0.era.store(number.unwrap_or_default(), Ordering::Relaxed);
    }

    /// The client has seen the answer to `initialize`.
    pub(crate) fn set_initialized(&self) {
        self.0.initialized.store(true, Ordering::Relaxed);
    }

    /// Whether the connection is set up, and may be told what it did not ask for.
    pub(super) fn is_set_up(&self) -> bool {
        self.protocol_version().is_some() && self.0.initialized.load(Ordering::Relaxed)
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

    /// Notes a call as in flight, with its id and its progress token if it has them; an error if there are too many, or
    /// another request has the id or the token.
    pub(super) fn begin(
        &self,
        id: Option<&Id<'_>>,
        tool: &Arc<str>,
        token: Option<String>,
        most: usize,
    ) -> Result<Flight, NotBegun> {
        self.0.had_flights.store(true, Ordering::Relaxed);
        let mut flights = self.0.in_flight();
        if flights.by_number.len() >= most {
            return Err(NotBegun::TooMany);
        }
        let id = id.map(|id| id.clone().into_owned());
        if id.as_ref().is_some_and(|id| flights.numbers.contains_key(id) || self.0.is_listening(id)) {
            return Err(NotBegun::IdInUse);
        }
        if token.as_ref().is_some_and(|token| flights.tokens.contains(token)) {
            return Err(NotBegun::TokenInUse);
        }
        let (number, cancel) = flights.begin(id.clone(), tool, token);
        Ok(Flight { peer: self.clone(), number, id, cancel })
    }

    /// Whether a request with the id is in flight.
    pub(super) fn is_in_flight(&self, id: &Id<'_>) -> bool {
        self.0.had_flights.load(Ordering::Relaxed) && {
            let flights = self.0.in_flight();
            let is_empty = flights.numbers.is_empty();
            (!is_empty && flights.numbers.contains_key(&id.clone().into_owned())) || self.0.is_listening(id)
        }
    }

    /// Whether a request with the progress token is in flight.
    pub(super) fn uses_token(&self, token: &str) -> bool {
        self.0.had_flights.load(Ordering::Relaxed) && self.0.in_flight().tokens.contains(token)
    }

    /// Cancels a request that is under way; one that is not is none.
    pub(super) fn cancel(&self, id: &Id<'static>) {
        let mut flights = self.0.in_flight();
        let number = flights.numbers.remove(id);
        let cancel = number.and_then(|number| flights.remove(number));
        drop(flights);
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
        let mut listening = self.0.listening();
        let listener = listening.iter().position(|listener| listener.id == *id).map(|place| listening.remove(place));
        drop(listening);
        if let Some(listener) = listener {
            listener.end(false);
        }
    }

    /// Notes a request to be told of changes; false if there are too many, or one has the id already.
    pub(super) fn listen(&self, listener: Listener, most: usize) -> bool {
        self.0.had_flights.store(true, Ordering::Relaxed);
        let flights = self.0.in_flight();
        let mut listening = self.0.listening();
        let known = flights.numbers.contains_key(&listener.id) || listening.iter().any(|known| known.id == listener.id);
        if known || listening.len() >= most {
            return false;
        }
        listening.push(listener);
        true
    }

    /// Takes away a request to be told of changes, if it is still this one.
    pub(super) fn stop_listener(&self, over: &CancelToken) {
        let mut listening = self.0.listening();
        let place = listening.iter().position(|listener| listener.over.is(over));
        let gone = place.map(|place| listening.remove(place));
        drop(listening);
        drop(gone);
    }

    /// From here on the request is told of changes of the list of tools.
    pub(super) fn tell_of_tools(&self, id: &Id<'static>) {
        self.0.listening().iter_mut().filter(|listener| listener.id == *id).for_each(|listener| listener.tools = true);
    }

    pub(super) fn can_be_told(&self) -> bool {
        self.0.sink.is_some()
    }

    pub(crate) fn tell(&self, message: Vec<u8>) {
        if let Some(sink) = &self.0.sink {
            sink(message);
        }
    }
}

/// Why a request is not begun.
pub(super) enum NotBegun {
    TooMany,
    IdInUse,
    TokenInUse,
}

impl Inner {
    fn in_flight(&self) -> MutexGuard<'_, Flights> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_listening(&self, id: &Id<'_>) -> bool {
        self.listening().iter().any(|listener| listener.id == *id)
    }

    pub(super) fn listening(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that may be over.
#[cfg(feature = "http")]
pub(crate) struct WeakPeer(std::sync::Weak<Inner>);

#[cfg(feature = "http")]
impl WeakPeer {
    pub(crate) fn is_there(&self) -> bool {
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
            .field("era", &self.protocol_version())
            .field("in_flight", &self.in_flight())
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mcp_core::Id;

    use super::{Flight, NotBegun, Peer};

    fn begin(peer: &Peer, id: Option<&Id<'_>>, most: usize) -> Result<Flight, NotBegun> {
        peer.begin(id, &"t.tool".into(), None, most)
    }

    #[test]
    fn a_progress_token_is_free_again_when_its_request_is_over() {
        let peer = Peer::new();
        let begin = |id: i64| peer.begin(Some(&Id::from(id)), &"t.tool".into(), Some("7".to_owned()), 9);
        let first = begin(1).ok().unwrap();
        assert!(peer.uses_token("7") && peer.is_in_flight(&Id::from(1)));
        assert!(begin(2).is_err());
        peer.cancel(&Id::from(1));
        assert!(!peer.uses_token("7") && !peer.is_in_flight(&Id::from(1)));
        let second = begin(2).ok().unwrap();
        drop(first);
        assert!(peer.uses_token("7"), "it is the second one's");
        assert!(second.end() && !peer.uses_token("7"));
    }

    #[test]
    fn a_request_is_over_when_it_ends_or_is_dropped() {
        let peer = Peer::new();
        let (one, two) = (Id::from(1), Id::from(2));
        let (first, second) = (begin(&peer, Some(&one), 3).ok().unwrap(), begin(&peer, Some(&two), 3).ok().unwrap());
        let flat = begin(&peer, None, 3).ok().unwrap();
        assert_eq!(peer.in_flight(), 3);
        assert!(begin(&peer, None, 3).is_err(), "there are as many as may be");
        drop(second);
        assert!(begin(&peer, Some(&one), 3).is_err(), "the id is in use");
        assert!(begin(&peer, Some(&two), 3).is_ok());
        assert!(first.end() && flat.end());
        assert_eq!(peer.in_flight(), 0);
    }

    #[test]
    fn the_end_of_a_cancelled_request_is_not_the_end_of_another_with_its_id() {
        let peer = Peer::new();
        let id = Id::from(1);
        let first = begin(&peer, Some(&id), 9).ok().unwrap();
        peer.cancel(&id);
        assert!(first.cancel().is_cancelled());
        let second = begin(&peer, Some(&id), 9).ok().unwrap();
        assert!(!first.end(), "nobody waits for it");
        assert_eq!(peer.in_flight(), 1);
        assert!(second.end());
    }

    #[test]
    fn all_are_cancelled_when_the_client_is_gone() {
        let peer = Peer::new();
        let (one, flat) = (begin(&peer, Some(&Id::from(1)), 9).ok().unwrap(), begin(&peer, None, 9).ok().unwrap());
        peer.close();
        assert!(one.cancel().is_cancelled() && flat.cancel().is_cancelled());
        assert!(!one.end() && !flat.end());
    }

    #[cfg(feature = "stdio")]
    #[test]
    fn calls_that_the_server_cancels_to_shut_down_are_answered() {
        let peer = Peer::new();
        let one = begin(&peer, Some(&Id::from(1)), 9).ok().unwrap();
        assert!(!one.is_shut_down());
        assert_eq!(peer.shut_down(), ["t.tool".into()]);
        let late = begin(&peer, None, 9).ok().unwrap();
        assert_eq!(peer.shut_down(), []);
        for flight in [one, late] {
            assert!(flight.cancel().is_cancelled() && flight.is_shut_down());
            assert!(flight.end());
        }
    }
}
