//! The requests of a connection that are in flight.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_core::CancelToken;
use mcp_core::rpc::Id;

use super::peer::Peer;

/// The requests that are in flight.
#[derive(Default)]
pub(super) struct Requests {
    /// By a number that is unique to the request.
    by_number: HashMap<u64, Entry>,
    /// The numbers of those that have an ID.
    numbers: HashMap<Id<'static>, u64>,
    /// The progress tokens of those that have one, as JSON.
    tokens: HashSet<String>,
    next: u64,
    /// Whether the server is shutting down: it cancels requests that are in flight, and new ones.
    is_shut_down: bool,
}

struct Entry {
    cancel: CancelToken,
    #[cfg_attr(not(feature = "stdio"), allow(dead_code, reason = "only stdio reports what it cancels"))]
    tool: Arc<str>,
    token: Option<String>,
}

/// Why a request is not started.
pub(super) enum NotStarted {
    TooMany,
    IdInUse,
    TokenInUse,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn has_id(&self, id: &Id<'_>) -> bool {
        !self.numbers.is_empty() && self.numbers.contains_key(&id.clone().into_owned())
    }

    pub(super) fn has_token(&self, token: &str) -> bool {
        self.tokens.contains(token)
    }

    pub(super) fn start(
        &mut self,
        id: Option<Id<'static>>,
        tool: Arc<str>,
        token: Option<String>,
    ) -> (u64, CancelToken) {
        let (number, cancel) = (self.next, CancelToken::new());
        self.next += 1;
        if self.is_shut_down {
            cancel.cancel();
        }
        self.tokens.extend(token.clone());
        self.by_number.insert(number, Entry { cancel: cancel.clone(), tool, token });
        if let Some(id) = id {
            self.numbers.insert(id, number);
        }
        (number, cancel)
    }

    /// Takes out a request by its ID, to cancel it.
    pub(super) fn take(&mut self, id: &Id<'static>) -> Option<CancelToken> {
        let number = self.numbers.remove(id)?;
        self.remove(number)
    }

    /// Takes out all requests, to cancel them.
    pub(super) fn take_all(&mut self) -> Vec<CancelToken> {
        self.numbers.clear();
        self.tokens.clear();
        self.by_number.drain().map(|(_, entry)| entry.cancel).collect()
    }

    /// From here on, requests are cancelled. Returns those in flight with their tools; none if it was called before.
    #[cfg(feature = "stdio")]
    pub(super) fn shut_down(&mut self) -> (Vec<CancelToken>, Vec<Arc<str>>) {
        if std::mem::replace(&mut self.is_shut_down, true) {
            return (Vec::new(), Vec::new());
        }
        self.by_number.values().map(|entry| (entry.cancel.clone(), Arc::clone(&entry.tool))).unzip()
    }

    fn end(&mut self, number: u64, id: Option<&Id<'static>>) -> bool {
        // Another request may have the ID by now.
        if let Some(id) = id.filter(|id| self.numbers.get(*id) == Some(&number)) {
            self.numbers.remove(id);
        }
        self.remove(number).is_some()
    }

    fn remove(&mut self, number: u64) -> Option<CancelToken> {
        let Entry { cancel, token, .. } = self.by_number.remove(&number)?;
        if let Some(token) = token {
            self.tokens.remove(&token);
        }
        Some(cancel)
    }
}

/// A request that is in flight until this is dropped.
pub(super) struct InFlight {
    pub(super) peer: Peer,
    pub(super) number: u64,
    pub(super) id: Option<Id<'static>>,
    pub(super) cancel: CancelToken,
}

impl InFlight {
    pub(super) fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Whether the server is shutting down, which may be why the request was cancelled.
    pub(super) fn is_shut_down(&self) -> bool {
        self.peer.requests().is_shut_down
    }

    /// Ends the request. False if its client has cancelled it and does not wait for an answer.
    pub(super) fn end(self) -> bool {
        self.remove()
    }

    fn remove(&self) -> bool {
        self.peer.requests().end(self.number, self.id.as_ref())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A `subscriptions/listen` request, which is in flight until someone ends it.
pub(super) struct Subscription {
    pub(super) id: Id<'static>,
    /// Whether the client is notified of changes of the list of tools.
    pub(super) tools: bool,
    pub(super) ended: CancelToken,
    /// Whether the server has ended it, and answers it.
    pub(super) is_answered: Arc<AtomicBool>,
}

impl Subscription {
    pub(super) fn end(self, is_answered: bool) {
        self.is_answered.store(is_answered, Ordering::SeqCst);
        self.ended.cancel();
    }
}
