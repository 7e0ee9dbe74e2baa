//! Work that is done one at a time, by whoever asks for it first.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use crate::util::lock::lock;

/// A queue for one turn at a time. Cheap to clone, and shared by its clones.
#[derive(Clone, Default)]
pub(crate) struct Lane(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_taken: bool,
    /// Those who wait, in the order in which they came.
    waiting: VecDeque<(u64, Waker)>,
    next: u64,
}

impl Lane {
    /// Waits for the turn.
    pub(crate) fn acquire(&self) -> Acquire {
        Acquire { lane: self.clone(), ticket: None }
    }

    /// Wakes whoever is first, unless it is someone's turn.
    fn wake_first(state: MutexGuard<'_, State>) {
        let first = state.waiting.front().filter(|_| !state.is_taken).map(|(_, waker)| waker.clone());
        drop(state);
        first.into_iter().for_each(Waker::wake);
    }
}

/// The turn; the next one comes when it is dropped.
pub(crate) struct Turn(Lane);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.is_taken = false;
        Lane::wake_first(state);
    }
}

/// Waits for the turn. Dropped, it waits no more.
pub(crate) struct Acquire {
    lane: Lane,
    ticket: Option<u64>,
}

impl Future for Acquire {
    type Output = Turn;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn> {
        let this = self.get_mut();
        let mut guard = lock(&this.lane.0);
        let state = &mut *guard;
        let is_first = match (this.ticket, state.waiting.front()) {
            (_, None) => true,
            (Some(ticket), Some((first, _))) => ticket == *first,
            (None, Some(_)) => false,
        };
        if is_first && !state.is_taken {
            if this.ticket.take().is_some() {
                state.waiting.pop_front();
            }
            state.is_taken = true;
            return Poll::Ready(Turn(this.lane.clone()));
        }
        if let Some(ticket) = this.ticket {
            // Those who have left are gone, and the others are in order.
            if let Ok(place) = state.waiting.binary_search_by_key(&ticket, |(ticket, _)| *ticket) {
                state.waiting[place].1.clone_from(context.waker());
            }
        } else {
            this.ticket = Some(state.next);
            state.waiting.push_back((state.next, context.waker().clone()));
            state.next += 1;
        }
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut state = lock(&self.lane.0);
        state.waiting.retain(|(waiting, _)| *waiting != ticket);
        // It may have been woken to take its turn.
        Lane::wake_first(state);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use super::Lane;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn turns_come_one_at_a_time_and_in_order() {
        let lane = Lane::default();
        let (one, two) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let wakers = [Waker::from(one.clone()), Waker::from(two.clone())];
        let mut first = pin!(lane.acquire());
        let mut second = pin!(lane.acquire());
        let mut third = pin!(lane.acquire());
        let Poll::Ready(turn) = first.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
        assert!(third.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
        drop(turn);
        assert_eq!((one.0.load(Ordering::Relaxed), two.0.load(Ordering::Relaxed)), (1, 0));
        assert!(third.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending(), "it is not its turn");
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_ready());
    }

    #[test]
    fn whoever_leaves_the_queue_passes_the_turn_on() {
        let lane = Lane::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut first = pin!(lane.acquire());
        let mut second = Box::pin(lane.acquire());
        let mut third = pin!(lane.acquire());
        let Poll::Ready(turn) = first.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
        assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(third.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // It was the second one's turn, and it does not come.
        drop(turn);
        drop(second);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(third.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
