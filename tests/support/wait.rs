//! Waiting for what happens on other threads, in other tasks and in other processes.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than any successful operation, and than any timeout of a server.
pub const LONG: Duration = Duration::from_secs(90);

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
