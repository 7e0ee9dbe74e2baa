//! Waiting for what happens on other threads, in other tasks and in other processes.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any successful operation, and than any timeout of a server.
pub const LONG: Duration = Duration::from_secs(90);

/// Longer than any call of a test takes, so that one that never ends fails its test instead of blocking it.
const SOON: Duration = Duration::from_secs(20);

/// The time limit of one wait.
struct Limit<'a> {
    what: &'a str,
    started: Instant,
}

impl<'a> Limit<'a> {
    fn new(what: &'a str) -> Self {
        Self { what, started: Instant::now() }
    }

    /// How long to pause before the next attempt; panics once the time is up.
    fn pause(&self) -> Duration {
        assert!(self.started.elapsed() < LONG, "waited {LONG:?} for this: {}", self.what);
        Duration::from_millis(2)
    }
}

/// Waits until a condition is met; `what` describes it in the panic if it never is.
pub async fn wait_until(what: &str, mut is_met: impl FnMut() -> bool) {
    let limit = Limit::new(what);
    while !is_met() {
        tokio::time::sleep(limit.pause()).await;
    }
}

/// [`wait_until`] on a thread that may block.
pub fn wait_until_blocking(what: &str, mut is_met: impl FnMut() -> bool) {
    wait_for_blocking(what, || is_met().then_some(()));
}

/// Waits on a thread that may block until there is a value.
pub fn wait_for_blocking<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let limit = Limit::new(what);
    loop {
        match value() {
            Some(value) => return value,
            None => thread::sleep(limit.pause()),
        }
    }
}

/// Awaits what must be ready soon.
///
/// # Panics
///
/// If it is not ready in time.
pub async fn in_time<F: Future>(future: F) -> F::Output {
    let (mut future, started, mut alarm) = (pin!(future), Instant::now(), None);
    let ready = poll_fn(move |context| {
        let polled = future.as_mut().poll(context);
        // Also if the alarm was what made it ready.
        assert!(started.elapsed() < SOON, "waited {SOON:?} for a future");
        if polled.is_pending() {
            // Each poll may have another waker.
            drop(alarm.replace(wake_at(started + SOON, context.waker().clone())));
        }
        polled
    });
    ready.await
}

/// Wakes a task at a time, unless the sender is dropped before.
fn wake_at(time: Instant, waker: Waker) -> Sender<()> {
    let (alarm, dropped) = channel();
    thread::spawn(move || {
        let left = time.saturating_duration_since(Instant::now());
        if dropped.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
            waker.wake();
        }
    });
    alarm
}

/// Runs what must return soon, on another thread.
///
/// # Panics
///
/// If it has not returned in time, or panics itself.
pub fn run_in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, result) = channel();
    let thread = thread::spawn(move || _ = send.send(run()));
    match result.recv_timeout(SOON) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("waited {SOON:?} for a function"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(()) => unreachable!("it has sent its result"),
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}
