//! Notifies clients that the list of tools has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use mcp_core::CancelToken;
use mcp_core::mcp::Dialect;
use mcp_core::rpc::{Id, RpcError, code};
use serde::Deserialize;
use serde_json::json;

use super::Server;
use super::decode::{Request, SUBSCRIPTION, read};
use super::encode::{fail, notification, respond, respond_error};
use super::errors::{invalid_params, unknown_method};
use super::in_flight::Subscription;
use super::peer::{Inner as PeerInner, Peer};
use super::reply::{PendingReply, Reply, ReplyKind, Step};
use crate::util::lock::lock;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// The connections to notify of changes.
#[derive(Default)]
pub(super) struct Subscribers(Mutex<Vec<Weak<PeerInner>>>);

impl Subscribers {
    fn add(&self, peer: &Peer) {
        let mut peers = lock(&self.0);
        peers.retain(|known| known.strong_count() > 0);
        if !peers.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(&peer.0))) {
            peers.push(Arc::downgrade(&peer.0));
        }
    }

    fn notify(&self) {
        let peers = lock(&self.0).clone();
        for peer in peers.iter().filter_map(Weak::upgrade).map(Peer) {
            if peer.is_initialized() {
                peer.notify(notification(LIST_CHANGED, json!({})));
            }
            let ids: Vec<Id<'static>> = {
                let subscriptions = peer.subscriptions();
                subscriptions.iter().filter(|listed| listed.tools).map(|listed| listed.id.clone()).collect()
            };
            for id in ids {
                peer.notify(notification(LIST_CHANGED, json!({ "_meta": { SUBSCRIPTION: id } })));
            }
        }
    }
}

/// Removes a subscription when its request is dropped.
struct Unsubscribe {
    peer: Peer,
    ended: CancelToken,
}

impl Drop for Unsubscribe {
    fn drop(&mut self) {
        self.peer.unsubscribe(&self.ended);
    }
}

/// The notifications that a client subscribes to.
#[derive(Default, Deserialize)]
struct Filter {
    #[serde(rename = "toolsListChanged", default)]
    tools: bool,
}

impl Server {
    /// Notifies this connection whenever the list of tools changes.
    pub(crate) fn notify_of_changes(&self, peer: &Peer) {
        if !peer.can_notify() {
            return;
        }
        self.0.subscribers.add(peer);
        self.0.watcher.get_or_init(|| {
            let subscribers = Arc::downgrade(&self.0.subscribers);
            self.0.registry.on_change(move || {
                if let Some(subscribers) = subscribers.upgrade() {
                    subscribers.notify();
                }
            })
        });
    }

    /// `subscriptions/listen`: acknowledged immediately, answered when it ends.
    pub(super) fn listen(&self, id: &Id<'_>, request: &Request<'_>, peer: &Peer, out: &mut Vec<u8>) -> Step {
        if !peer.can_notify() {
            respond_error(Some(id), &unknown_method("subscriptions/listen"), out);
            return Step::Done(ReplyKind::MethodNotFound);
        }
        let filter = request.params.notifications;
        let filter = filter.ok_or_else(|| invalid_params("`notifications` is missing; add what to subscribe to"));
        let Filter { tools } = match filter.and_then(|raw| read("notifications", raw)) {
            Ok(filter) => filter,
            Err(error) => return fail(Dialect::Mcp, id, error, out),
        };
        let id = id.clone().into_owned();
        let (ended, is_answered) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
        // The subscription starts inactive: nothing may be sent before the acknowledgement.
        let subscription =
            Subscription { id: id.clone(), tools: false, ended: ended.clone(), is_answered: Arc::clone(&is_answered) };
        if !peer.subscribe(subscription, self.0.settings.max_in_flight) {
            let message = "too many requests listen already, or one has this id; end one of them first";
            return fail(Dialect::Mcp, &id, RpcError::new(code::INVALID_REQUEST, message), out);
        }
        // Watch for changes before the acknowledgement, so that no later change is missed.
        self.notify_of_changes(peer);
        let accepted = if tools { json!({ "toolsListChanged": true }) } else { json!({}) };
        let params = json!({ "notifications": accepted, "_meta": { SUBSCRIPTION: id } });
        peer.notify(notification("notifications/subscriptions/acknowledged", params));
        for subscription in peer.subscriptions().iter_mut().filter(|subscription| subscription.id == id) {
            subscription.tools = tools;
        }
        let (server, version) = (self.clone(), request.version);
        let guard = Unsubscribe { peer: peer.clone(), ended };
        let future = Box::pin(async move {
            guard.ended.cancelled().await;
            // A subscription that the client cancels is not answered. One that the server ends is answered with only
            // its result: after a `notifications/cancelled`, clients no longer know the ID of the result.
            if !is_answered.load(Ordering::SeqCst) {
                return Reply::cancelled();
            }
            let mut bytes = Vec::new();
            let result = json!({ "_meta": { SUBSCRIPTION: id } });
            respond(&id, &server.complete(result, version), &mut bytes);
            Reply { bytes, kind: ReplyKind::Response(Dialect::Mcp) }
        });
        Step::Pending(PendingReply { is_subscription: true, ..PendingReply::new(future) })
    }
}
