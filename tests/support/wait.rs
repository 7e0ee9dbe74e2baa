//! Waiting for what happens on other threads, in other tasks and in other processes.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes that goes well, and than a server waits for anything.
pub const LONG: Duration = Duration::from_secs(90);

/// The pauses between attempts, up to the time limit.
///
/// # Panics
/// With what was waited for, once the time is up.
fn pauses(what: &str) -> impl Iterator<Item = Duration> {
    let started = Instant::now();
    std::iter::repeat_with(move || {
        assert!(started.elapsed() < LONG, "waited {LONG:?} for this: {what}");
        Duration::from_millis(2)
    })
}

/// Waits until a condition is met; `what` says which, should it never be.
pub async fn wait_until(what: &str, mut is_met: impl FnMut() -> bool) {
    for pause in pauses(what) {
        if is_met() {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

/// [`wait_until`] on a thread that may block.
pub fn wait_until_blocking(what: &str, mut is_met: impl FnMut() -> bool) {
    wait_for_blocking(what, || is_met().then_some(()));
}

/// Waits on a thread that may block until there is a value.
pub fn wait_for_blocking<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let found = pauses(what).find_map(|pause| {
        let found = value();
        if found.is_none() {
            thread::sleep(pause);
        }
        found
    });
    found.expect("the pauses end with a panic only")
}
