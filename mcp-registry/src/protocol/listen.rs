//! Telling clients that the list of tools has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use mcp_core::{CancelToken, Id, RpcError, code};
use serde::Deserialize;
use serde_json::json;

use super::peer::{Inner as PeerInner, Listener};
use super::request::{Asked, SUBSCRIPTION, invalid, read, unknown_method};
use super::write::{notification, respond, respond_error};
use super::{Outcome, Peer, Rest, Server};

/// The connections that are told.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Weak<PeerInner>>>);

impl Listeners {
    fn add(&self, peer: &Peer) {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|known| known.strong_count() > 0);
        if !peers.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(&peer.0))) {
            peers.push(Arc::downgrade(&peer.0));
        }
    }

    fn tell(&self) {
        let peers = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for peer in peers.iter().filter_map(Weak::upgrade).map(Peer) {
            if peer.is_set_up() {
                peer.tell(notification("notifications/tools/list_changed", json!({})));
            }
            let ids: Vec<Id<'static>> = peer
                .0
                .listening()
                .iter()
                .filter(|listener| listener.tools)
                .map(|listener| listener.id.clone())
                .collect();
            for id in ids {
                let params = json!({ "_meta": { SUBSCRIPTION: id } });
                peer.tell(notification("notifications/tools/list_changed", params));
            }
        }
    }
}

/// A request to be told of changes. Dropped, it is not told any more.
struct Listening {
    peer: Peer,
    over: CancelToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.peer.stop_listener(&self.over);
    }
}

/// What a client wants to be told of.
#[derive(Default, Deserialize)]
struct Filter {
    #[serde(rename = "toolsListChanged", default)]
    tools: bool,
}

impl Server {
    /// Has the connection told when the list of tools changes.
    pub(crate) fn tell_of_changes(&self, peer: &Peer) {
        if !peer.can_be_told() {
            return;
        }
        self.0.listeners.add(peer);
        self.0.watcher.get_or_init(|| {
            let listeners = Arc::downgrade(&self.0.listeners);
            self.0.registry.on_change(move || {
                if let Some(listeners) = listeners.upgrade() {
                    listeners.tell();
                }
            })
        });
    }

    /// `subscriptions/listen`: acknowledged at once, answered when it is over.
    pub(super) fn listen(&self, id: &Id<'_>, asked: &Asked<'_>, peer: &Peer, out: &mut Vec<u8>) -> Option<Rest> {
        if !peer.can_be_told() {
            peer.note(Outcome::NoMethod);
            respond_error(Some(id), &unknown_method("subscriptions/listen"), out);
            return None;
        }
        let wanted =
            asked.params.notifications.ok_or_else(|| invalid("`notifications` is missing; add what to be told of"));
        let Filter { tools } = match wanted.and_then(|raw| read("notifications", raw)) {
            Ok(filter) => filter,
            Err(error) => {
                respond_error(Some(id), &error, out);
                return None;
            }
        };
        let owned = id.clone().into_owned();
        let (over, answered) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
        // It is told of nothing before it is acknowledged.
        let listener =
            Listener { id: owned.clone(), tools: false, over: over.clone(), answered: Arc::clone(&answered) };
        if !peer.listen(listener, self.0.settings.max_in_flight) {
            let message = "too many requests listen already, or one has this id; end one of them first";
            respond_error(Some(id), &RpcError::new(code::INVALID_REQUEST, message), out);
            return None;
        }
        // What changes from here on is seen.
        self.tell_of_changes(peer);
        let accepted = if tools { json!({ "toolsListChanged": true }) } else { json!({}) };
        let params = json!({ "notifications": accepted, "_meta": { SUBSCRIPTION: owned } });
        peer.tell(notification("notifications/subscriptions/acknowledged", params));
        if tools {
            peer.tell_of_tools(&owned);
        }
        let (server, era) = (self.clone(), asked.era);
        let listening = Listening { peer: peer.clone(), over };
        Some(Box::pin(async move {
            listening.over.cancelled().await;
            // A subscription that the client cancels is not answered. One that the server ends is answered with its result,
            // and with nothing else: after a `notifications/cancelled`, clients do not know the result's id any more.
            answered.load(Ordering::SeqCst).then(|| {
                let mut out = Vec::new();
                let result = json!({ "_meta": { SUBSCRIPTION: owned } });
                respond(&owned, &server.completed(result, era), &mut out);
                out
            })
        }))
    }
}
