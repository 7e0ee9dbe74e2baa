//! Cancelling a call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::util::panics::contain;

/// Cancels calls. A clone is a handle to the same token.
///
/// ```
/// use mcp_core::CancelToken;
///
/// let token = CancelToken::new();
/// let child = token.child();
/// token.cancel();
/// assert!(child.is_cancelled());
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
    /// The indices of empty slots in `wakers`.
    free: Vec<usize>,
}

impl Waiting {
    fn add(&mut self, waker: Waker) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.wakers.push(None);
            self.wakers.len() - 1
        });
        self.wakers[slot] = Some(waker);
        slot
    }

    fn remove(&mut self, slot: usize) -> Option<Waker> {
        // `cancel` removes all slots.
        let waker = self.wakers.get_mut(slot)?.take();
        self.free.push(slot);
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
        // The lock is released before: a woken task may need it.
        wakers.into_iter().flatten().for_each(|waker| contain(|| waker.wake()));
    }

    /// Returns whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst) || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Returns whether both are handles to the same token.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Completes when the token is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        let parent = self.0.parent.as_ref().map(|parent| Box::new(parent.cancelled()));
        Cancelled { token: Some(self.clone()), slot: None, parent }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No code panics while the lock is held.
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
    /// `None` if the future never completes.
    token: Option<CancelToken>,
    slot: Option<usize>,
    parent: Option<Box<Cancelled>>,
}

impl Cancelled {
    /// Creates a future that never completes.
    pub(super) fn never() -> Self {
        Self { token: None, slot: None, parent: None }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { token, slot, parent } = &mut *self;
        let Some(token) = token else { return Poll::Pending };
        if let Some(parent) = parent {
            if Pin::new(&mut **parent).poll(context).is_ready() {
                return Poll::Ready(());
            }
        }
        let mut waiting = token.waiting();
        // Checked under the lock: a concurrent `cancel` is either seen here, or wakes the waker that is stored below.
        if token.0.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let stored = slot.and_then(|slot| waiting.wakers.get_mut(slot)?.as_mut());
        // Dropping a waker may run arbitrary code, so the lock is released first.
        let old = match stored {
            Some(stored) if stored.will_wake(context.waker()) => None,
            Some(stored) => Some(std::mem::replace(stored, context.waker().clone())),
            None => {
                *slot = Some(waiting.add(context.waker().clone()));
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
        if let (Some(token), Some(slot)) = (&self.token, self.slot) {
            let waker = token.waiting().remove(slot);
            drop(waker);
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
    fn a_waiting_task_is_woken_once() {
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
    fn dropped_futures_leave_no_wakers_behind() {
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
        /// A task that also waits for the token.
        struct Task {
            _cancelled: Cancelled,
        }

        impl Wake for Task {
            fn wake(self: Arc<Self>) {}
        }

        let (send, done) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let token = CancelToken::new();
            let mut first = token.cancelled();
            assert!(Pin::new(&mut first).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            let mut waits = pin!(token.cancelled());
            let task = Waker::from(Arc::new(Task { _cancelled: first }));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&task)).is_pending());
            drop(task);
            // Replaces the task's last waker, so that the task is dropped.
            assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            send.send(token.waiting().wakers.iter().flatten().count()).unwrap();
        });
        assert_eq!(done.recv_timeout(std::time::Duration::from_secs(5)), Ok(1));
    }

    #[test]
    fn a_child_is_cancelled_alone_or_with_its_parent() {
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
