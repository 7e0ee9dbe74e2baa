//! The requests of a connection that are in flight.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_core::CancelToken;
use mcp_core::rpc::Id;

use super::peer::Peer;

/// The requests in flight.
#[derive(Default)]
pub(super) struct Requests {
    by_id: HashMap<Id<'static>, Entry, BuildHasherDefault<IdHasher>>,
    /// Requests without an ID, by their numbers.
    flat: HashMap<u64, Entry>,
    /// The progress tokens of the requests, as JSON.
    tokens: HashSet<String>,
    next: u64,
    /// Whether the server is shutting down: it cancels requests in flight and new ones.
    is_shut_down: bool,
}

struct Entry {
    /// Unique to the request.
    number: u64,
    cancel: CancelToken,
    #[cfg_attr(not(feature = "stdio"), allow(dead_code, reason = "only stdio reports what it cancels"))]
    tool: Arc<str>,
    token: Option<String>,
}

/// Hashes IDs, several times as fast as the hasher of the standard library. Clients choose the IDs and can make them
/// collide, but at most [`Server::max_in_flight`](super::Server::max_in_flight) of them.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        // The table uses both the low and the high bits.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a hash")]
    fn write_i128(&mut self, number: i128) {
        self.write_u64(number as u64);
    }

    #[allow(clippy::cast_sign_loss, reason = "it is a hash")]
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

/// The reason why a request is not started.
pub(super) enum NotStarted {
    TooMany,
    IdInUse,
    TokenInUse,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        self.by_id.len() + self.flat.len()
    }

    pub(super) fn has_id<'a>(&self, id: &Id<'a>) -> bool {
        let by_id: &HashMap<Id<'a>, Entry, _> = &self.by_id;
        by_id.contains_key(id)
    }

    pub(super) fn has_token(&self, token: &str) -> bool {
        self.tokens.contains(token)
    }

    /// Adds a request, unless another one has the ID or the progress token. The connection's own token cancels it, too.
    pub(super) fn start(
        &mut self,
        id: Option<Id<'static>>,
        tool: Arc<str>,
        token: Option<String>,
        connection: Option<&CancelToken>,
    ) -> Result<(u64, CancelToken), NotStarted> {
        if token.as_ref().is_some_and(|token| self.tokens.contains(token)) {
            let is_known = id.is_some_and(|id| self.by_id.contains_key(&id));
            return Err(if is_known { NotStarted::IdInUse } else { NotStarted::TokenInUse });
        }
        let slot = match id.map(|id| self.by_id.entry(id)) {
            None => None,
            Some(MapEntry::Vacant(slot)) => Some(slot),
            Some(MapEntry::Occupied(_)) => return Err(NotStarted::IdInUse),
        };
        let (number, cancel) = (self.next, connection.map_or_else(CancelToken::new, CancelToken::child));
        self.next += 1;
        if self.is_shut_down {
            cancel.cancel();
        }
        self.tokens.extend(token.clone());
        let entry = Entry { number, cancel: cancel.clone(), tool, token };
        match slot {
            Some(slot) => _ = slot.insert(entry),
            None => _ = self.flat.insert(number, entry),
        }
        Ok((number, cancel))
    }

    /// Removes a request by its ID, to cancel it.
    pub(super) fn take(&mut self, id: &Id<'static>) -> Option<CancelToken> {
        let entry = self.by_id.remove(id)?;
        Some(self.free_token(entry))
    }

    /// Removes all requests, to cancel them.
    pub(super) fn take_all(&mut self) -> Vec<CancelToken> {
        self.tokens.clear();
        let (by_id, flat) = (self.by_id.drain().map(|(_, entry)| entry), self.flat.drain().map(|(_, entry)| entry));
        by_id.chain(flat).map(|entry| entry.cancel).collect()
    }

    /// From now on, new requests are cancelled. Returns the tokens and tools of the requests in flight, the first time.
    #[cfg(feature = "stdio")]
    pub(super) fn shut_down(&mut self) -> (Vec<CancelToken>, Vec<Arc<str>>) {
        if std::mem::replace(&mut self.is_shut_down, true) {
            return (Vec::new(), Vec::new());
        }
        let entries = self.by_id.values().chain(self.flat.values());
        entries.map(|entry| (entry.cancel.clone(), Arc::clone(&entry.tool))).unzip()
    }

    /// Ends a request. Returns `false` if it was already removed.
    fn end(&mut self, number: u64, id: Option<&Id<'static>>) -> bool {
        let entry = match id {
            None => self.flat.remove(&number),
            Some(id) => match self.by_id.remove(id) {
                Some(other) if other.number != number => {
                    // Another request has reused the ID.
                    self.by_id.insert(id.clone(), other);
                    None
                }
                entry => entry,
            },
        };
        entry.map(|entry| self.free_token(entry)).is_some()
    }

    fn free_token(&mut self, entry: Entry) -> CancelToken {
        if let Some(token) = entry.token {
            self.tokens.remove(&token);
        }
        entry.cancel
    }
}

/// A request that is in flight until this is dropped.
pub(crate) struct InFlight {
    pub(super) peer: Peer,
    pub(super) number: u64,
    pub(super) id: Option<Id<'static>>,
    pub(super) cancel: CancelToken,
    pub(super) is_over: bool,
}

impl InFlight {
    pub(super) fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Whether the server is shutting down; that may be why the request was cancelled.
    pub(super) fn is_shut_down(&self) -> bool {
        self.peer.requests().is_shut_down
    }

    /// Ends the request. Returns `false` if the client has cancelled it and expects no answer.
    pub(super) fn end(mut self) -> bool {
        self.is_over = true;
        self.remove()
    }

    fn remove(&self) -> bool {
        self.peer.requests().end(self.number, self.id.as_ref())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.is_over {
            self.remove();
        }
    }
}

/// A `subscriptions/listen` request, which is in flight until the client or the server ends it.
pub(super) struct Subscription {
    pub(super) id: Id<'static>,
    /// Whether the client is notified when the list of tools changes.
    pub(super) tools: bool,
    pub(super) ended: CancelToken,
    /// Whether the server has ended the subscription, and answers it.
    pub(super) is_answered: Arc<AtomicBool>,
}

impl Subscription {
    pub(super) fn end(self, is_answered: bool) {
        self.is_answered.store(is_answered, Ordering::SeqCst);
        self.ended.cancel();
    }
}
