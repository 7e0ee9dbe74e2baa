//! Sessions, for clients of the older versions: what `initialize` negotiated, and the requests in flight. Clients may
//! send the ID of their session, but need not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::{CancelToken, LogLevel};

use crate::protocol::{Peer, PeerBuilder, WeakPeer};
use crate::util::lock::lock;

/// An unused session expires after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The maximum number of sessions. Beyond that, the caller with the most sessions loses its least recently used one.
const MAX_SESSIONS: usize = 10_000;

/// The maximum number of expired sessions that a new session removes. This limits how long the lock is held.
const MAX_EXPIRED_PER_INSERT: usize = 16;

/// The owner of a session. Two requests come from the same caller if both parts are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    /// The name that `Http::call_options` set.
    pub(super) name: Option<String>,
    /// The index of the server's token that the client sent.
    pub(super) token: Option<usize>,
}

/// The reason why a session cannot be used. The response is the same in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionError {
    /// It has ended, or never existed.
    Unknown,
    /// It belongs to another caller.
    Foreign,
}

/// The sessions of a server.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Table>);

/// Sessions by ID, and in the order of their last use: all of them, and those of each caller. Every operation takes
/// logarithmic time.
#[derive(Default)]
struct Table {
    entries: HashMap<u128, Entry>,
    /// Session IDs, by the number of their last use.
    order: BTreeMap<u64, u128>,
    callers: HashMap<Arc<Caller>, BTreeMap<u64, u128>>,
    /// Callers, by their number of sessions; among equals, the caller with the least recently used session comes last.
    ranks: BTreeMap<Rank, Arc<Caller>>,
    uses: u64,
}

/// The number of a caller's sessions, and the last use of the least recently used one.
type Rank = (usize, Reverse<u64>);

struct Entry {
    session: Arc<Session>,
    caller: Arc<Caller>,
    /// The number of its last use. `used` is the time of it.
    last_use: u64,
    used: Instant,
}

/// One session.
pub(super) struct Session(Mutex<State>);

struct State {
    version: ProtocolVersion,
    log_level: LogLevel,
    /// The requests in flight.
    peers: Vec<WeakPeer>,
    /// The stream of notifications that the client has opened.
    stream: Option<CancelToken>,
    is_ended: bool,
}

impl Sessions {
    /// Starts a session. `None` if the system has no source of randomness.
    pub(super) fn begin(&self, caller: &Caller, version: ProtocolVersion) -> Option<HeaderValue> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id = u128::from_be_bytes(bytes);
        self.insert(id, caller, version, Instant::now());
        HeaderValue::try_from(format!("{id:032x}")).ok()
    }

    fn insert(&self, id: u128, caller: &Caller, version: ProtocolVersion, now: Instant) {
        let log_level = LogLevel::Info;
        let session =
            Session(Mutex::new(State { version, log_level, peers: Vec::new(), stream: None, is_ended: false }));
        let removed = {
            let mut table = lock(&self.0);
            let mut removed = table.expire(now);
            if table.entries.len() >= MAX_SESSIONS {
                removed.extend(table.evict());
            }
            table.insert(id, Arc::new(session), caller, now);
            removed
        };
        for session in removed {
            session.end();
        }
    }

    /// The session with this ID, for the caller that started it.
    pub(super) fn get(&self, id: &HeaderValue, caller: &Caller) -> Result<Arc<Session>, SessionError> {
        let mut table = lock(&self.0);
        let id = table.find(id, caller)?;
        table.touch(id, Instant::now()).ok_or(SessionError::Unknown)
    }

    /// Ends a session and its stream. Requests in flight are still answered.
    pub(super) fn end(&self, id: &HeaderValue, caller: &Caller) -> Result<(), SessionError> {
        let ended = {
            let mut table = lock(&self.0);
            let id = table.find(id, caller)?;
            table.remove(id)
        };
        ended.map(|session| session.end()).ok_or(SessionError::Unknown)
    }
}

/// Parses an ID in the format that this server generates.
fn parse(id: &HeaderValue) -> Option<u128> {
    let id = id.to_str().ok()?;
    let is_valid = id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_valid.then(|| u128::from_str_radix(id, 16).ok()).flatten()
}

impl Table {
    fn find(&self, id: &HeaderValue, caller: &Caller) -> Result<u128, SessionError> {
        let id = parse(id).ok_or(SessionError::Unknown)?;
        match self.entries.get(&id) {
            None => Err(SessionError::Unknown),
            Some(entry) if *entry.caller != *caller => Err(SessionError::Foreign),
            Some(_) => Ok(id),
        }
    }

    fn insert(&mut self, id: u128, session: Arc<Session>, caller: &Caller, now: Instant) {
        let caller = match self.callers.get_key_value(caller) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::new(caller.clone()),
        };
        self.uses += 1;
        self.reorder(&caller, id, None, Some(self.uses));
        self.entries.insert(id, Entry { session, caller, last_use: self.uses, used: now });
    }

    /// Marks a session as the most recently used one.
    fn touch(&mut self, id: u128, now: Instant) -> Option<Arc<Session>> {
        let entry = self.entries.get_mut(&id)?;
        entry.used = now;
        let session = Arc::clone(&entry.session);
        if entry.last_use != self.uses {
            self.uses += 1;
            let before = std::mem::replace(&mut entry.last_use, self.uses);
            let caller = Arc::clone(&entry.caller);
            self.reorder(&caller, id, Some(before), Some(self.uses));
        }
        Some(session)
    }

    fn remove(&mut self, id: u128) -> Option<Arc<Session>> {
        let entry = self.entries.remove(&id)?;
        self.reorder(&entry.caller, id, Some(entry.last_use), None);
        Some(entry.session)
    }

    /// Removes some of the sessions that have not been used for a long time.
    fn expire(&mut self, now: Instant) -> Vec<Arc<Session>> {
        let expired = |table: &mut Self| {
            let id = *table.order.first_key_value()?.1;
            let is_expired = now.saturating_duration_since(table.entries.get(&id)?.used) >= IDLE_TIMEOUT;
            is_expired.then(|| table.remove(id)).flatten()
        };
        std::iter::from_fn(|| expired(self)).take(MAX_EXPIRED_PER_INSERT).collect()
    }

    /// Removes the least recently used session of the caller with the most sessions, so that no caller loses a session
    /// to a caller with more.
    fn evict(&mut self) -> Option<Arc<Session>> {
        let (_, caller) = self.ranks.last_key_value()?;
        let id = *self.callers.get(caller)?.first_key_value()?.1;
        self.remove(id)
    }

    /// Moves a session to another position in both orders: of all sessions, and of those of its caller. Updates the
    /// caller's rank.
    fn reorder(&mut self, caller: &Arc<Caller>, id: u128, from: Option<u64>, to: Option<u64>) {
        let sessions = self.callers.entry(Arc::clone(caller)).or_default();
        let before = rank(sessions);
        for order in [&mut self.order, &mut *sessions] {
            from.and_then(|last_use| order.remove(&last_use));
            to.and_then(|last_use| order.insert(last_use, id));
        }
        let after = rank(sessions);
        if before == after {
            return;
        }
        before.and_then(|rank| self.ranks.remove(&rank));
        match after {
            Some(after) => drop(self.ranks.insert(after, Arc::clone(caller))),
            None => drop(self.callers.remove(caller)),
        }
    }
}

fn rank(sessions: &BTreeMap<u64, u128>) -> Option<Rank> {
    sessions.first_key_value().map(|(oldest, _)| (sessions.len(), Reverse(*oldest)))
}

impl Session {
    /// Builds the connection for a request of the session.
    pub(super) fn build_peer(&self, builder: PeerBuilder) -> Peer {
        let mut state = lock(&self.0);
        let peer = builder.protocol_version(state.version).log_level(state.log_level).build();
        state.peers.retain(WeakPeer::is_alive);
        state.peers.push(peer.downgrade());
        peer
    }

    pub(super) fn set_log_level(&self, log_level: LogLevel) {
        lock(&self.0).log_level = log_level;
    }

    /// The requests in flight.
    pub(super) fn peers(&self) -> Vec<Peer> {
        lock(&self.0).peers.iter().filter_map(WeakPeer::upgrade).collect()
    }

    /// Opens a stream, which replaces an earlier one, so that no notification is sent twice.
    pub(super) fn open_stream(&self, stream: CancelToken) {
        let mut state = lock(&self.0);
        // The session may have ended meanwhile.
        let earlier = if state.is_ended { Some(stream) } else { state.stream.replace(stream) };
        drop(state);
        if let Some(earlier) = earlier {
            earlier.cancel();
        }
    }

    fn end(&self) {
        let mut state = lock(&self.0);
        state.is_ended = true;
        let stream = state.stream.take();
        drop(state);
        if let Some(stream) = stream {
            stream.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use axum::http::HeaderValue;
    use mcp_core::mcp::ProtocolVersion;
    use mcp_core::{CancelToken, LogLevel};

    use super::{Caller, IDLE_TIMEOUT, MAX_EXPIRED_PER_INSERT, MAX_SESSIONS, SessionError, Sessions};
    use crate::protocol::Peer;
    use crate::util::lock::lock;

    const VERSION: ProtocolVersion = ProtocolVersion::V2025_11_25;

    fn caller(name: &str) -> Caller {
        Caller { name: Some(name.to_owned()), token: None }
    }

    fn begin(sessions: &Sessions, caller: &Caller) -> HeaderValue {
        sessions.begin(caller, VERSION).unwrap()
    }

    fn exists(sessions: &Sessions, id: &HeaderValue, caller: &Caller) -> bool {
        sessions.get(id, caller).is_ok()
    }

    #[test]
    fn a_session_remembers_what_was_negotiated() {
        let (sessions, nobody) = (Sessions::default(), Caller::default());
        let id = sessions.begin(&nobody, ProtocolVersion::V2025_06_18).unwrap();
        assert!(id.len() == 32 && id.as_bytes().iter().all(u8::is_ascii_hexdigit), "{id:?}");
        let session = sessions.get(&id, &nobody).unwrap();
        session.set_log_level(LogLevel::Error);
        let peer = session.build_peer(Peer::builder());
        assert_eq!((peer.protocol_version(), peer.log_level()), (Some(ProtocolVersion::V2025_06_18), LogLevel::Error));
        assert_eq!(session.peers().len(), 1);
        drop(peer);
        assert_eq!(session.peers().len(), 0, "the request has ended");
        let (first, second) = (CancelToken::new(), CancelToken::new());
        session.open_stream(first.clone());
        session.open_stream(second.clone());
        assert!(first.is_cancelled() && !second.is_cancelled());
        assert_eq!(sessions.end(&id, &nobody), Ok(()));
        assert_eq!(sessions.end(&id, &nobody), Err(SessionError::Unknown));
        assert!(second.is_cancelled());
        assert!(!exists(&sessions, &id, &nobody));
    }

    #[test]
    fn a_session_belongs_to_one_name_and_one_token() {
        let sessions = Sessions::default();
        let ada = Caller { name: Some("ada".to_owned()), token: Some(0) };
        let id = begin(&sessions, &ada);
        for other in [
            Caller::default(),
            Caller { name: None, ..ada.clone() },
            Caller { token: None, ..ada.clone() },
            Caller { token: Some(1), ..ada.clone() },
            Caller { name: Some("eve".to_owned()), ..ada.clone() },
        ] {
            assert!(matches!(sessions.get(&id, &other), Err(SessionError::Foreign)), "{other:?}");
            assert_eq!(sessions.end(&id, &other), Err(SessionError::Foreign), "{other:?}");
        }
        assert!(exists(&sessions, &id, &ada));
        let other = id.to_str().unwrap().to_uppercase().replace(char::is_numeric, "A");
        assert!(!exists(&sessions, &other.try_into().unwrap(), &ada));
    }

    #[test]
    fn an_unused_session_expires_and_its_stream_ends() {
        let (sessions, nobody) = (Sessions::default(), Caller::default());
        let now = Instant::now();
        for id in 0..20 {
            sessions.insert(id, &nobody, VERSION, now);
        }
        let stream = CancelToken::new();
        lock(&sessions.0).touch(0, now).unwrap().open_stream(stream.clone());
        sessions.insert(100, &nobody, VERSION, now + IDLE_TIMEOUT / 2);
        sessions.insert(101, &nobody, VERSION, now + IDLE_TIMEOUT);
        assert_eq!(lock(&sessions.0).entries.len(), 22 - MAX_EXPIRED_PER_INSERT);
        assert!(!stream.is_cancelled(), "it was used after the others");
        sessions.insert(102, &nobody, VERSION, now + IDLE_TIMEOUT);
        assert!(stream.is_cancelled());
        assert_eq!(lock(&sessions.0).entries.len(), 3, "the others are in use");
    }

    #[test]
    fn a_session_that_is_used_does_not_expire() {
        let (sessions, nobody) = (Sessions::default(), Caller::default());
        let now = Instant::now();
        for id in [1, 2] {
            sessions.insert(id, &nobody, VERSION, now);
        }
        assert!(lock(&sessions.0).touch(2, now + IDLE_TIMEOUT / 2).is_some());
        sessions.insert(3, &nobody, VERSION, now + IDLE_TIMEOUT);
        let mut left: Vec<u128> = lock(&sessions.0).entries.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [2, 3]);
    }

    #[test]
    fn the_least_recently_used_session_is_evicted() {
        let (sessions, nobody) = (Sessions::default(), Caller::default());
        let (first, second) = (begin(&sessions, &nobody), begin(&sessions, &nobody));
        for _ in 2..MAX_SESSIONS {
            begin(&sessions, &nobody);
        }
        assert!(exists(&sessions, &first, &nobody));
        let last = begin(&sessions, &nobody);
        assert_eq!(lock(&sessions.0).entries.len(), MAX_SESSIONS);
        assert!(exists(&sessions, &first, &nobody) && exists(&sessions, &last, &nobody));
        assert!(!exists(&sessions, &second, &nobody));
    }

    #[test]
    fn a_caller_with_many_sessions_evicts_only_its_own() {
        let sessions = Sessions::default();
        let (ada, eve) = (caller("ada"), caller("eve"));
        let own: Vec<HeaderValue> = (0..10).map(|_| begin(&sessions, &ada)).collect();
        for _ in 0..2 * MAX_SESSIONS {
            begin(&sessions, &eve);
        }
        assert!(own.iter().all(|id| exists(&sessions, id, &ada)));
        // A caller with few sessions can start more.
        let more: Vec<HeaderValue> = (0..100).map(|_| begin(&sessions, &ada)).collect();
        assert!(own.iter().chain(&more).all(|id| exists(&sessions, id, &ada)));
        let table = lock(&sessions.0);
        assert_eq!((table.entries.len(), table.order.len()), (MAX_SESSIONS, MAX_SESSIONS));
        assert_eq!((table.callers.len(), table.ranks.len()), (2, 2));
    }

    #[test]
    fn ended_sessions_leave_nothing_behind() {
        let sessions = Sessions::default();
        let ids: Vec<_> =
            (0..100).map(|number| caller(&number.to_string())).map(|c| (begin(&sessions, &c), c)).collect();
        for (id, caller) in &ids {
            assert!(exists(&sessions, id, caller));
            assert_eq!(sessions.end(id, caller), Ok(()));
        }
        let table = lock(&sessions.0);
        let left = (table.entries.len(), table.order.len(), table.callers.len(), table.ranks.len());
        assert_eq!(left, (0, 0, 0, 0));
    }
}
