//! The time limit of a call that waits for its gate or its layers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use mcp_core::CancelToken;

use super::run::Limits;
use crate::util::lock::lock;

/// Measures the time that counts towards the limit of a call: reading the arguments and running the tool, however often
/// a layer does that. The time that the gate and the layers take themselves does not count.
pub(crate) struct Clock {
    limit: Option<Duration>,
    time: Mutex<Time>,
}

#[derive(Default)]
struct Time {
    /// What has been counted, except since `start`.
    spent: Duration,
    /// When counting has started, and how many parts of the call are counted at the same time.
    start: Option<Instant>,
    parts: usize,
}

impl Time {
    fn spent(&self) -> Duration {
        self.spent + self.start.map(|start| start.elapsed()).unwrap_or_default()
    }
}

impl Clock {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self { limit, time: Mutex::default() }
    }

    /// The limits of a part of the call that starts now.
    pub(crate) fn limits(&self, cancel: Option<&CancelToken>) -> Limits {
        let spent = lock(&self.time).spent();
        let left = self.limit.map(|limit| limit.saturating_sub(spent));
        Limits { time: self.limit, ..Limits::new(left, Instant::now(), cancel) }
    }

    /// Counts the time until the guard is dropped.
    pub(crate) fn start(&self) -> Counting<'_> {
        let mut time = lock(&self.time);
        time.start.get_or_insert_with(Instant::now);
        time.parts += 1;
        Counting(self)
    }
}

/// Counts time on a [`Clock`].
pub(crate) struct Counting<'a>(&'a Clock);

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let mut time = lock(&self.0.time);
        time.parts -= 1;
        if time.parts == 0 {
            (time.spent, time.start) = (time.spent(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::{Clock, lock};

    #[test]
    fn parts_of_a_call_that_overlap_are_counted_once() {
        let clock = Clock::new(Some(Duration::from_secs(60)));
        let spent = || lock(&clock.time).spent();
        let (one, other) = (clock.start(), clock.start());
        sleep(Duration::from_millis(100));
        assert!(spent() >= Duration::from_millis(100), "what still runs counts");
        drop(one);
        sleep(Duration::from_millis(100));
        drop(other);
        let all = spent();
        sleep(Duration::from_millis(300));
        assert!(spent() < all + Duration::from_millis(200), "nothing was counted meanwhile");
        assert!(all >= Duration::from_millis(200));
    }
}
