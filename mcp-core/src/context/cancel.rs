//! Cancelling a call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Cancels calls. A clone is a handle to the same token.
///
/// ```
/// use mcp_core::CancelToken;
///
/// let token = CancelToken::new();
/// let of_the_call = token.child();
/// token.cancel();
/// assert!(of_the_call.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    waiting: Mutex<Waiting>,
    parent: Option<CancelToken>,
}

#[derive(Default)]
struct Waiting {
    wakers: Vec<Option<Waker>>,
    /// The places where there is none.
    free: Vec<usize>,
}

impl Waiting {
    fn add(&mut self, waker: Waker) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.wakers.push(None);
            self.wakers.len() - 1
        });
        self.wakers[place] = Some(waker);
        place
    }

    fn remove(&mut self, place: usize) -> Option<Waker> {
        // All are gone when it was cancelled.
        let waker = self.wakers.get_mut(place)?.take();
        self.free.push(place);
        if self.free.len() == self.wakers.len() {
            self.free.clear();
            self.wakers.clear();
        }
        waker
    }
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token that is cancelled with this one, or on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Inner { parent: Some(self.clone()), ..Inner::default() }))
    }

    /// Cancels the token. That cannot be undone.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut self.waiting().wakers);
        // Whoever is woken may come back for the lock.
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Returns whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        let own = self.0.cancelled.load(Ordering::SeqCst);
        own || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Returns whether the other is a handle to this token.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Completes when the token is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        let parent = self.0.parent.as_ref().map(|parent| Box::new(parent.cancelled()));
        Cancelled { token: Some(self.clone()), place: None, parent }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that can panic is done while it is held.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

/// Completes when a [`CancelToken`] is cancelled.
#[must_use = "it does nothing unless it is awaited"]
pub struct Cancelled {
    /// None if nothing can cancel it.
    token: Option<CancelToken>,
    place: Option<usize>,
    parent: Option<Box<Cancelled>>,
}

impl Cancelled {
    /// A future that never completes.
    pub(super) fn never() -> Self {
        Self { token: None, place: None, parent: None }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { token, place, parent } = &mut *self;
        let Some(token) = token else { return Poll::Pending };
        if let Some(parent) = parent {
            if Pin::new(&mut **parent).poll(context).is_ready() {
                return Poll::Ready(());
            }
        }
        let mut waiting = token.waiting();
        // Looked at under the lock: who cancels now takes the waker that is put in below, or was seen here.
        if token.0.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let own = place.and_then(|place| waiting.wakers.get_mut(place)?.as_mut());
        // To drop a waker may run anything, so it waits until the lock is gone.
        let old = match own {
            Some(own) if own.will_wake(context.waker()) => None,
            Some(own) => Some(std::mem::replace(own, context.waker().clone())),
            None => {
                *place = Some(waiting.add(context.waker().clone()));
                None
            }
        };
        drop(waiting);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let (Some(token), Some(place)) = (&self.token, self.place) {
            let gone = token.waiting().remove(place);
            drop(gone);
        }
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancelled").field(&self.token).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread;

    use super::*;
    use crate::util::block_on::block_on;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_waits_is_woken_once() {
        let (token, count) = (CancelToken::new(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut waits = pin!(token.cancelled());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        token.cancel();
        token.cancel();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(waits.as_mut().poll(&mut context), Poll::Ready(()));
    }

    #[test]
    fn who_waits_no_longer_leaves_nothing_behind() {
        let token = CancelToken::new();
        let child = token.child();
        for _ in 0..1000 {
            let mut waits = pin!(child.cancelled());
            assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert!(token.waiting().wakers.is_empty());
        assert!(child.waiting().wakers.is_empty());
    }

    #[test]
    fn a_waker_may_use_the_token_when_it_is_dropped() {
        /// A task that waits for the token too.
        struct Task {
            _waits: Cancelled,
        }

        impl Wake for Task {
            fn wake(self: Arc<Self>) {}
        }

        let (send, done) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let token = CancelToken::new();
            let mut own = token.cancelled();
            assert!(Pin::new(&mut own).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            let mut waits = pin!(token.cancelled());
            let task = Waker::from(Arc::new(Task { _waits: own }));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&task)).is_pending());
            drop(task);
            // Takes the place of the task's last waker, so that the task is dropped.
            assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            send.send(token.waiting().wakers.iter().flatten().count()).unwrap();
        });
        assert_eq!(done.recv_timeout(std::time::Duration::from_secs(5)), Ok(1));
    }

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_alone() {
        let parent = CancelToken::new();
        let (one, other) = (parent.child(), parent.child());
        one.cancel();
        assert!(one.is_cancelled() && !other.is_cancelled() && !parent.is_cancelled());
        let waits = other.cancelled();
        let thread = thread::spawn(move || block_on(waits));
        parent.cancel();
        thread.join().unwrap();
        assert!(other.is_cancelled());
    }
}
