//! The time limit of a call that waits for its gate or its layers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mcp_core::CancelToken;

use super::metrics::nanos;
use super::run::Limits;

/// Measures the time that counts towards the limit of a call: reading the arguments and running the tool, however often
/// a layer does that. The time that the gate and the layers take themselves does not count.
pub(crate) struct Clock {
    limit: Option<Duration>,
    /// In nanoseconds.
    spent: AtomicU64,
}

impl Clock {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self { limit, spent: AtomicU64::new(0) }
    }

    /// The limits of a part of the call that starts now.
    pub(crate) fn limits(&self, cancel: Option<&CancelToken>) -> Limits {
        let spent = Duration::from_nanos(self.spent.load(Relaxed));
        let left = self.limit.map(|limit| limit.saturating_sub(spent));
        Limits { time: self.limit, ..Limits::new(left, Instant::now(), cancel) }
    }

    /// Counts the time until the guard is dropped.
    pub(crate) fn start(&self) -> Counting<'_> {
        Counting(self, Instant::now())
    }
}

/// Counts time on a [`Clock`].
pub(crate) struct Counting<'a>(&'a Clock, Instant);

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.0.spent.fetch_add(nanos(self.1.elapsed()), Relaxed);
    }
}
