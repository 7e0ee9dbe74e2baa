//! A fair async lock: waiters acquire it in order.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use crate::util::lock::lock;

/// A mutual exclusion lock. Clones share the lock.
#[derive(Clone, Default)]
pub(crate) struct AsyncLock(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_held: bool,
    /// The waiters, by ticket, in order.
    waiting: BTreeMap<u64, Waker>,
    next: u64,
}

impl AsyncLock {
    pub(crate) fn acquire(&self) -> Acquire {
        Acquire { lock: self.clone(), ticket: None }
    }

    /// Wakes the first waiter, unless the lock is held.
    fn wake_first(state: MutexGuard<'_, State>) {
        let first = state.waiting.values().next().filter(|_| !state.is_held).cloned();
        drop(state);
        first.into_iter().for_each(Waker::wake);
    }
}

/// Releases the lock when it is dropped.
pub(crate) struct AsyncLockGuard(AsyncLock);

impl Drop for AsyncLockGuard {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.is_held = false;
        AsyncLock::wake_first(state);
    }
}

/// Waits for the lock; leaves the queue when it is dropped.
pub(crate) struct Acquire {
    lock: AsyncLock,
    ticket: Option<u64>,
}

impl Future for Acquire {
    type Output = AsyncLockGuard;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<AsyncLockGuard> {
        let this = self.get_mut();
        let mut state = lock(&this.lock.0);
        let ticket = *this.ticket.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        let is_first = state.waiting.range(..ticket).next().is_none();
        if is_first && !state.is_held {
            state.waiting.remove(&ticket);
            state.is_held = true;
            this.ticket = None;
            return Poll::Ready(AsyncLockGuard(this.lock.clone()));
        }
        state.waiting.insert(ticket, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut state = lock(&self.lock.0);
        state.waiting.remove(&ticket);
        // If this waiter was already woken, wake the next one instead.
        AsyncLock::wake_first(state);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use super::AsyncLock;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_lock_is_granted_to_one_at_a_time_and_in_order() {
        let lock = AsyncLock::default();
        let (one, two) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let wakers = [Waker::from(one.clone()), Waker::from(two.clone())];
        let mut first = pin!(lock.acquire());
        let mut second = pin!(lock.acquire());
        let mut third = pin!(lock.acquire());
        let Poll::Ready(guard) = first.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
        assert!(third.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
        drop(guard);
        assert_eq!((one.0.load(Ordering::Relaxed), two.0.load(Ordering::Relaxed)), (1, 0));
        assert!(
            third.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending(),
            "the second waiter comes first"
        );
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_ready());
    }

    #[test]
    fn a_dropped_waiter_passes_the_lock_on() {
        let lock = AsyncLock::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut first = pin!(lock.acquire());
        let mut second = Box::pin(lock.acquire());
        let mut third = pin!(lock.acquire());
        let Poll::Ready(guard) = first.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
        assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(third.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // The second waiter is woken, and then dropped.
        drop(guard);
        drop(second);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(third.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
