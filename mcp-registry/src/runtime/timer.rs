//! Timers: one thread that wakes sleeping tasks at their deadlines.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use super::guarded;
use super::pool::Start;
use crate::util::lock::lock;

/// How long a poll blocks if the timer's thread cannot be started.
const FALLBACK_SLEEP: Duration = Duration::from_millis(5);

/// The deadline, and the ID of the sleep.
type Key = (Instant, u64);

/// The sleeping tasks, and the thread that wakes them. The first sleep starts the thread.
pub(super) struct Timer {
    state: Mutex<State>,
    /// Notified when a new deadline is earlier than the alarm, and when a closed timer may end.
    changed: Condvar,
    next_id: AtomicU64,
    start: Start,
}

#[derive(Default)]
struct State {
    sleeping: BTreeMap<Key, Waker>,
    /// When the thread will wake up by itself.
    alarm: Option<Instant>,
    running: bool,
    closed: bool,
}

impl Timer {
    pub(super) fn new(start: Start) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), next_id: AtomicU64::new(0), start })
    }

    /// Completes at the deadline, even if the timer is closed before.
    pub(super) fn sleep_until(self: &Arc<Self>, deadline: Instant) -> Sleep {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        Sleep { timer: Arc::clone(self), key: (deadline, id), registered: false }
    }

    /// Stores the waker; fails if the thread cannot be started.
    fn register(self: &Arc<Self>, key: Key, waker: Waker) -> io::Result<()> {
        let mut state = lock(&self.state);
        // Dropping a waker may run any code, so drop it after releasing the lock.
        let old = state.sleeping.insert(key, waker);
        let started = if state.running { Ok(()) } else { self.start_thread(&mut state) };
        let is_earliest = state.alarm.is_none_or(|alarm| key.0 < alarm);
        if is_earliest {
            state.alarm = Some(key.0);
        }
        drop(state);
        if is_earliest {
            self.changed.notify_one();
        }
        drop(old);
        started
    }

    fn start_thread(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        let timer = Arc::clone(self);
        (self.start)("mcp-timer".to_owned(), Box::new(move || timer.run()))?;
        state.running = true;
        Ok(())
    }

    fn deregister(&self, key: Key) {
        let mut state = lock(&self.state);
        let old = state.sleeping.remove(&key);
        let may_end = state.closed && state.sleeping.is_empty();
        drop(state);
        if may_end {
            self.changed.notify_one();
        }
        drop(old);
    }

    /// The main loop of the thread.
    fn run(&self) {
        let mut state = lock(&self.state);
        loop {
            let now = Instant::now();
            let mut due = Vec::new();
            while let Some(first) = state.sleeping.first_entry().filter(|first| first.key().0 <= now) {
                due.push(first.remove());
            }
            if !due.is_empty() {
                drop(state);
                for waker in due {
                    guarded(|| waker.wake());
                }
                state = lock(&self.state);
                continue;
            }
            state.alarm = state.sleeping.first_key_value().map(|((deadline, _), _)| *deadline);
            state = match state.alarm {
                Some(alarm) => {
                    let waited = self.changed.wait_timeout(state, alarm.saturating_duration_since(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None if state.closed => {
                    state.running = false;
                    return;
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Lets the thread end when no task sleeps any more.
    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_one();
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        let mut timer = f.debug_struct("Timer");
        timer.field("sleeping", &state.sleeping.len()).field("running", &state.running).finish_non_exhaustive()
    }
}

/// Completes at a deadline.
pub(super) struct Sleep {
    timer: Arc<Timer>,
    key: Key,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.key.0.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        self.registered = true;
        if self.timer.register(self.key, cx.waker().clone()).is_err() {
            // This is slow, but the sleep ends on time, and the next poll may be able to start the thread.
            thread::sleep(left.min(FALLBACK_SLEEP));
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.registered {
            self.timer.deregister(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::io;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread;
    use std::time::{Duration, Instant};

    use mcp_core::support::block_on;

    use super::{Sleep, Timer};
    use crate::runtime::pool::{Start, start_thread};
    use crate::runtime::tests::{LONG, wait_for};
    use crate::util::lock::lock;

    fn timer() -> Arc<Timer> {
        Timer::new(start_thread)
    }

    fn after(timer: &Arc<Timer>, millis: u64) -> Sleep {
        timer.sleep_until(Instant::now() + Duration::from_millis(millis))
    }

    /// Counts how often it is called.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll(sleep: Pin<&mut Sleep>, waker: &Arc<Count>) -> Poll<()> {
        sleep.poll(&mut Context::from_waker(&Waker::from(Arc::clone(waker))))
    }

    #[test]
    fn a_sleep_never_ends_before_its_deadline() {
        let timer = timer();
        for millis in [0, 1, 3, 20] {
            let deadline = Instant::now() + Duration::from_millis(millis);
            block_on(timer.sleep_until(deadline));
            assert!(Instant::now() >= deadline);
        }
        block_on(timer.sleep_until(Instant::now()));
        assert!(lock(&timer.state).sleeping.is_empty());
        timer.close();
    }

    #[test]
    fn a_past_deadline_needs_no_thread() {
        let timer = timer();
        block_on(timer.sleep_until(Instant::now()));
        assert!(!lock(&timer.state).running);
    }

    #[test]
    fn sleeps_end_in_the_order_of_their_deadlines() {
        /// Notes when it is woken.
        struct Note(u64, Arc<Mutex<Vec<u64>>>);

        impl Wake for Note {
            fn wake(self: Arc<Self>) {
                lock(&self.1).push(self.0);
            }
        }

        let timer = timer();
        let woken = Arc::new(Mutex::new(Vec::new()));
        let begun = Instant::now();
        let mut sleeps = Vec::new();
        // Later deadlines are registered first, so that each sleep changes the alarm.
        for n in (0..20).rev() {
            let mut sleep = Box::pin(timer.sleep_until(begun + Duration::from_millis(1000 + 5 * n)));
            let waker = Waker::from(Arc::new(Note(n, Arc::clone(&woken))));
            assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            sleeps.push(sleep);
        }
        wait_for("all wake", || lock(&woken).len() == 20);
        assert_eq!(*lock(&woken), (0..20).collect::<Vec<_>>());
        timer.close();
    }

    #[test]
    fn an_earlier_sleep_does_not_wait_for_a_later_one() {
        let timer = timer();
        let count = Arc::new(Count::default());
        let mut long = pin!(timer.sleep_until(Instant::now() + 10 * LONG));
        assert!(poll(long.as_mut(), &count).is_pending());
        let begun = Instant::now();
        block_on(after(&timer, 5));
        assert!(begun.elapsed() < LONG);
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        timer.close();
    }

    #[test]
    fn dropped_sleeps_leave_nothing_behind() {
        let timer = timer();
        let waker = Arc::new(Count::default());
        for _ in 0..100_000 {
            let mut sleep = pin!(after(&timer, 30_000));
            assert!(poll(sleep.as_mut(), &waker).is_pending());
        }
        assert!(lock(&timer.state).sleeping.is_empty());
        // A waker may keep a whole task alive.
        assert_eq!(Arc::strong_count(&waker), 1);
        assert_eq!(waker.0.load(Ordering::SeqCst), 0);
        timer.close();
    }

    #[test]
    fn only_the_last_waker_is_called() {
        let timer = timer();
        let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let mut sleep = pin!(after(&timer, 1000));
        assert!(poll(sleep.as_mut(), &first).is_pending());
        assert!(poll(sleep.as_mut(), &last).is_pending());
        assert!(poll(sleep.as_mut(), &last).is_pending());
        assert_eq!(lock(&timer.state).sleeping.len(), 1);
        assert_eq!(Arc::strong_count(&first), 1);
        wait_for("it wakes", || last.0.load(Ordering::SeqCst) == 1);
        assert!(poll(sleep.as_mut(), &last).is_ready());
        assert_eq!(first.0.load(Ordering::SeqCst), 0);
        timer.close();
    }

    #[test]
    fn a_waker_may_use_the_timer_when_it_is_called_or_dropped() {
        /// A task that owns a sleep, and sleeps again when it is woken.
        struct Task {
            _sleep: Option<Sleep>,
            timer: Arc<Timer>,
            woken: Arc<Count>,
        }

        impl Wake for Task {
            fn wake(self: Arc<Self>) {
                let mut sleep = pin!(after(&self.timer, 600_000));
                assert!(poll(sleep.as_mut(), &Arc::default()).is_pending());
                self.woken.0.fetch_add(1, Ordering::SeqCst);
            }
        }

        let timer = timer();
        let woken = Arc::new(Count::default());
        let task = |sleep| Waker::from(Arc::new(Task { _sleep: sleep, timer: timer.clone(), woken: woken.clone() }));
        let mut inner = after(&timer, 600_000);
        assert!(poll(Pin::new(&mut inner), &Arc::default()).is_pending());
        let mut outer = pin!(after(&timer, 600_000));
        assert!(outer.as_mut().poll(&mut Context::from_waker(&task(Some(inner)))).is_pending());
        assert_eq!(lock(&timer.state).sleeping.len(), 2);
        // Replaces the last waker of the task, so that its sleep is dropped.
        assert!(poll(outer.as_mut(), &Arc::default()).is_pending());
        assert_eq!(lock(&timer.state).sleeping.len(), 1);

        let mut called = pin!(after(&timer, 1000));
        assert!(called.as_mut().poll(&mut Context::from_waker(&task(None))).is_pending());
        wait_for("it is woken", || woken.0.load(Ordering::SeqCst) == 1);
        timer.close();
    }

    #[test]
    fn a_panicking_waker_does_not_end_the_thread() {
        struct Panics;

        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("on purpose");
            }
        }

        let timer = timer();
        let mut sleep = pin!(after(&timer, 1000));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Panics)))).is_pending());
        block_on(after(&timer, 1100));
        assert!(lock(&timer.state).running);
        timer.close();
    }

    #[test]
    fn a_closed_timer_ends_its_thread() {
        let timer = timer();
        block_on(after(&timer, 5));
        timer.close();
        wait_for("the thread ends", || Arc::strong_count(&timer) == 1);
        assert!(!lock(&timer.state).running);
    }

    #[test]
    fn a_closed_timer_waits_for_its_sleeps() {
        let timer = timer();
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut sleep = timer.sleep_until(deadline);
        let waker = Arc::new(Count::default());
        assert!(poll(Pin::new(&mut sleep), &waker).is_pending());
        timer.close();
        block_on(sleep);
        assert!(Instant::now() >= deadline);
        wait_for("the thread ends", || Arc::strong_count(&timer) == 1);
        // Polled for the first time after the thread has ended.
        block_on(after(&timer, 5));
        wait_for("the thread ends again", || Arc::strong_count(&timer) == 1);
    }

    #[test]
    fn a_closed_timer_ends_when_its_last_sleep_is_dropped() {
        let timer = timer();
        let mut sleep = after(&timer, 600_000);
        assert!(poll(Pin::new(&mut sleep), &Arc::default()).is_pending());
        timer.close();
        // Give the thread time to wait again.
        thread::sleep(Duration::from_millis(50));
        drop(sleep);
        wait_for("the thread ends", || Arc::strong_count(&timer) == 1);
    }

    #[test]
    fn without_a_thread_a_sleep_still_ends_on_time() {
        static STARTS: AtomicUsize = AtomicUsize::new(0);
        // The third attempt succeeds.
        let start: Start = |name, run| match STARTS.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Err(io::ErrorKind::WouldBlock.into()),
            _ => start_thread(name, run),
        };
        let timer = Timer::new(start);
        let deadline = Instant::now() + Duration::from_secs(1);
        block_on(timer.sleep_until(deadline));
        assert!(Instant::now() >= deadline);
        assert!(STARTS.load(Ordering::SeqCst) > 1);
        timer.close();
        wait_for("the thread ends", || Arc::strong_count(&timer) == 1);

        let never = Timer::new(|_, _| Err(io::ErrorKind::WouldBlock.into()));
        let deadline = Instant::now() + Duration::from_millis(30);
        block_on(never.sleep_until(deadline));
        assert!(Instant::now() >= deadline);
    }

    #[test]
    fn many_threads_sleep_at_the_same_time() {
        let timer = timer();
        let (send, receive) = channel();
        thread::scope(|scope| {
            for n in 0..16_u64 {
                let (timer, send) = (&timer, send.clone());
                scope.spawn(move || {
                    for round in 0..50 {
                        let deadline = Instant::now() + Duration::from_micros(100 * ((n * 7 + round * 3) % 20));
                        block_on(timer.sleep_until(deadline));
                        assert!(Instant::now() >= deadline);
                        send.send(()).unwrap();
                    }
                });
            }
        });
        drop(send);
        assert_eq!(receive.iter().count(), 800);
        assert!(lock(&timer.state).sleeping.is_empty());
        timer.close();
    }
}
