//! Sessions of the older versions: what `initialize` agreed on, and what is under way, by an id that the client sends
//! along. A client may do without.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_core::{CancelToken, Era, LogLevel};

use crate::server::{Peer, WeakPeer};

/// How long nobody has to ask for a session before it may be forgotten.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// How many there may be. Beyond that, the one that was not asked for the longest is forgotten.
const MOST: usize = 10_000;

/// The sessions of a server.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

/// One session.
pub(super) struct Session(Mutex<State>);

struct State {
    era: Era,
    level: LogLevel,
    /// The requests that are under way.
    peers: Vec<WeakPeer>,
    /// The stream on which the client listens.
    listening: Option<CancelToken>,
    over: bool,
    used: Instant,
}

impl Sessions {
    /// Begins a session; none if the system has no randomness to give.
    pub(super) fn begin(&self, era: Era) -> Option<String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id = format!("{:032x}", u128::from_be_bytes(bytes));
        let now = Instant::now();
        let level = LogLevel::Info;
        let session =
            Session(Mutex::new(State { era, level, peers: Vec::new(), listening: None, over: false, used: now }));
        let mut sessions = self.lock();
        if sessions.len() >= MOST {
            forget(&mut sessions, now);
        }
        sessions.insert(id.clone(), Arc::new(session));
        Some(id)
    }

    /// The session of an id; none if it is over, or never was.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        session.lock().used = Instant::now();
        Some(session)
    }

    /// Ends a session: who listens hears no more. What is under way is answered. False if there is none.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.lock().remove(id);
        if let Some(session) = &ended {
            session.end();
        }
        ended.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what nobody asked for any more; one at least.
fn forget(sessions: &mut HashMap<String, Arc<Session>>, now: Instant) {
    let used = |session: &Session| session.lock().used;
    sessions.retain(|_, session| {
        let is_used = now.duration_since(used(session)) < IDLE;
        if !is_used {
            session.end();
        }
        is_used
    });
    if sessions.len() >= MOST {
        let oldest = sessions.iter().min_by_key(|(_, session)| used(session)).map(|(id, _)| id.clone());
        if let Some(session) = oldest.and_then(|id| sessions.remove(&id)) {
            session.end();
        }
    }
}

impl Session {
    /// Has a request speak as was agreed on.
    pub(super) fn set_up(&self, peer: &Peer) {
        let mut state = self.lock();
        peer.set_era(state.era);
        peer.set_log_level(state.level);
        state.peers.retain(WeakPeer::is_there);
        state.peers.push(peer.downgrade());
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        self.lock().level = level;
    }

    /// The requests that are under way.
    pub(super) fn peers(&self) -> Vec<Peer> {
        self.lock().peers.iter().filter_map(WeakPeer::upgrade).collect()
    }

    /// Listens on one stream, in place of an earlier one: nobody is told the same thing twice.
    pub(super) fn listen(&self, over: CancelToken) {
        let mut state = self.lock();
        // It may have been ended meanwhile.
        let earlier = if state.over { Some(over) } else { state.listening.replace(over) };
        drop(state);
        if let Some(earlier) = earlier {
            earlier.cancel();
        }
    }

    fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        let listening = state.listening.take();
        drop(state);
        if let Some(listening) = listening {
            listening.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use mcp_core::{CancelToken, Era, LogLevel};

    use super::{IDLE, MOST, Sessions, forget};
    use crate::server::Peer;

    #[test]
    fn a_session_remembers_what_was_agreed_on() {
        let sessions = Sessions::default();
        let id = sessions.begin(Era::V2025_06_18).unwrap();
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        let session = sessions.get(&id).unwrap();
        session.set_level(LogLevel::Error);
        let peer = Peer::new();
        session.set_up(&peer);
        assert_eq!((peer.era(), peer.log_level()), (Some(Era::V2025_06_18), LogLevel::Error));
        assert_eq!(session.peers().len(), 1);
        drop(peer);
        assert_eq!(session.peers().len(), 0, "it is over");
        let (first, second) = (CancelToken::new(), CancelToken::new());
        session.listen(first.clone());
        session.listen(second.clone());
        assert!(first.is_cancelled() && !second.is_cancelled());
        assert!(sessions.end(&id) && !sessions.end(&id));
        assert!(second.is_cancelled());
        assert!(sessions.get(&id).is_none());
    }

    #[test]
    fn who_listens_to_a_session_that_is_forgotten_hears_of_it() {
        let sessions = Sessions::default();
        let id = sessions.begin(Era::V2025_11_25).unwrap();
        let over = CancelToken::new();
        sessions.get(&id).unwrap().listen(over.clone());
        forget(&mut sessions.lock(), std::time::Instant::now() + IDLE);
        assert!(over.is_cancelled() && sessions.get(&id).is_none());
    }

    #[test]
    fn there_are_never_too_many_and_no_two_are_alike() {
        let sessions = Sessions::default();
        let first = sessions.begin(Era::V2025_11_25).unwrap();
        let ids: HashSet<String> = (1..MOST).map(|_| sessions.begin(Era::V2025_11_25).unwrap()).collect();
        assert_eq!(ids.len(), MOST - 1);
        assert!(sessions.get(&first).is_some(), "it is in use now");
        let last = sessions.begin(Era::V2025_11_25).unwrap();
        assert_eq!(sessions.lock().len(), MOST);
        assert!(sessions.get(&first).is_some() && sessions.get(&last).is_some());
    }
}
