//! Rate limits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mcp_core::{ErrorType, ToolError};
use serde_json::{Map, Value};

use crate::call::metrics::nanos;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// How often a tool, or all tools together, may be called: a sustained rate and a burst size.
///
/// After a pause, a burst of calls is let through at once; further calls are let through evenly spaced.
///
/// ```
/// use mcp_registry::RateLimit;
///
/// // One every 100 ms, and up to 10 at once.
/// let tenth = RateLimit::per_second(10);
/// assert_eq!(tenth, RateLimit::per_second(10).burst(10));
/// // One every 10 seconds, never two at once.
/// let rare = RateLimit::per_minute(6);
/// assert_eq!(rare, RateLimit::per_minute(6).burst(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateLimit {
    /// Nanoseconds from one call to the next; `None` lets no call through.
    interval: Option<u64>,
    burst: u32,
}

impl RateLimit {
    /// This many calls per second, in bursts of as many. 0 lets no call through.
    pub const fn per_second(calls: u32) -> Self {
        Self::new(calls, SECOND, calls)
    }

    /// This many calls per minute, in bursts of a sixth of that (ten seconds' worth), but at least one. 0 lets no call
    /// through.
    pub const fn per_minute(calls: u32) -> Self {
        Self::new(calls, MINUTE, calls / 6)
    }

    /// Sets the burst size, at least one. With a rate of 0 it has no effect.
    #[must_use]
    pub const fn burst(mut self, calls: u32) -> Self {
        self.burst = if calls == 0 { 1 } else { calls };
        self
    }

    const fn new(calls: u32, period: u64, burst: u32) -> Self {
        // Rounded up, so that the rate is never exceeded.
        let interval = if calls == 0 { None } else { Some(period.div_ceil(calls as u64)) };
        Self { interval, burst: 1 }.burst(burst)
    }
}

/// Enforces a limit: a lock-free token bucket in one number (GCRA).
pub(crate) struct Bucket {
    interval: Option<u64>,
    /// How far ahead of the clock `next` may be.
    tolerance: u64,
    /// When the next call is due if calls are evenly spaced, in nanoseconds since `created`.
    next: AtomicU64,
    created: Instant,
}

impl Bucket {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let interval = limit.interval.unwrap_or(0);
        // About three centuries are enough, and leave room for `next`.
        let tolerance = interval.saturating_mul(u64::from(limit.burst) - 1).min(u64::MAX / 2);
        Self { interval: limit.interval, tolerance, next: AtomicU64::new(0), created: Instant::now() }
    }

    /// Lets a call through, or returns how long to wait; [`Duration::MAX`] means for ever.
    pub(crate) fn take(&self) -> Result<(), Duration> {
        self.take_at(nanos(self.created.elapsed()))
    }

    /// Undoes one [`take`](Self::take), for a call that was let through and then not made.
    pub(crate) fn refund(&self) {
        let interval = self.interval.unwrap_or(0);
        self.change(|next| Some(next.saturating_sub(interval)));
    }

    fn take_at(&self, now: u64) -> Result<(), Duration> {
        let interval = self.interval.ok_or(Duration::MAX)?;
        let mut wait = 0;
        let taken = self.change(|next| {
            let next = next.max(now);
            wait = (next - now).saturating_sub(self.tolerance);
            (wait == 0).then(|| next.saturating_add(interval))
        });
        if taken { Ok(()) } else { Err(Duration::from_nanos(wait)) }
    }

    /// Relaxed ordering is enough, because the number guards no other memory.
    fn change(&self, change: impl FnMut(u64) -> Option<u64>) -> bool {
        self.next.fetch_update(Relaxed, Relaxed, change).is_ok()
    }
}

/// The error of a call that exceeds the limit of its tool, or that of all tools together.
pub(crate) fn exceeded(tool: Option<&str>, wait: Duration) -> ToolError {
    let seconds = in_seconds(wait);
    let message = match (tool, seconds) {
        (Some(tool), Some(seconds)) => {
            format!("`{tool}` is called more often than its limit allows; try again in {seconds} s")
        }
        (Some(tool), None) => format!("`{tool}` has a limit that lets no call through; use another tool"),
        (None, Some(seconds)) => {
            format!("the tools here are called more often than their common limit allows; try again in {seconds} s")
        }
        (None, None) => {
            "the tools here have a common limit that lets no call through; ask the operator to raise it".to_owned()
        }
    };
    let tool = tool.map(|tool| ("tool".to_owned(), Value::from(tool)));
    let wait = seconds.map(|seconds| ("retry_after_seconds".to_owned(), Value::from(seconds)));
    let details: Map<String, Value> = tool.into_iter().chain(wait).collect();
    ToolError::new(ErrorType::API_LIMIT_EXCEEDED, message).details(details)
}

/// The seconds to wait, rounded up to the next millisecond; `None` if waiting does not help.
fn in_seconds(wait: Duration) -> Option<f64> {
    let millis = nanos(wait).div_ceil(1_000_000);
    (wait < Duration::MAX).then(|| Duration::from_millis(millis).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::thread;
    use std::time::Duration;

    use mcp_core::ErrorType;
    use serde_json::{Value, json};

    use super::{Bucket, RateLimit, SECOND, exceeded};

    fn taken_at(bucket: &Bucket, now: u64) -> usize {
        (0..1000).take_while(|_| bucket.take_at(now).is_ok()).count()
    }

    #[test]
    fn a_burst_goes_through_at_once_and_then_one_at_a_time() {
        let bucket = Bucket::new(RateLimit::per_second(10).burst(3));
        let interval = SECOND / 10;
        assert_eq!(taken_at(&bucket, 0), 3);
        assert_eq!(bucket.take_at(interval / 4), Err(Duration::from_millis(75)));
        for n in 1..20 {
            assert_eq!(taken_at(&bucket, n * interval - 1), 0);
            assert_eq!(taken_at(&bucket, n * interval), 1);
        }
        assert_eq!(taken_at(&bucket, 100 * SECOND), 3);
    }

    #[test]
    fn waiting_for_the_returned_time_is_enough() {
        let bucket = Bucket::new(RateLimit::per_second(7).burst(2));
        let mut now = 12_345;
        for _ in 0..50 {
            while bucket.take_at(now).is_ok() {}
            let wait = bucket.take_at(now).unwrap_err();
            now += u64::try_from(wait.as_nanos()).unwrap();
            assert_eq!(taken_at(&bucket, now - 1), 0);
            assert_eq!(taken_at(&bucket, now), 1);
        }
    }

    #[test]
    fn the_default_burst_is_one_second_or_ten_seconds_of_calls() {
        let burst = |limit| taken_at(&Bucket::new(limit), 0);
        assert_eq!(burst(RateLimit::per_second(5)), 5);
        assert_eq!(burst(RateLimit::per_second(1)), 1);
        assert_eq!(burst(RateLimit::per_minute(60)), 10);
        assert_eq!(burst(RateLimit::per_minute(5)), 1);
        assert_eq!(burst(RateLimit::per_minute(5).burst(0)), 1);
    }

    #[test]
    fn a_rate_of_zero_lets_no_call_through() {
        for limit in [RateLimit::per_second(0), RateLimit::per_minute(0).burst(9)] {
            let bucket = Bucket::new(limit);
            assert_eq!(bucket.take(), Err(Duration::MAX));
            bucket.refund();
            assert_eq!(bucket.take_at(u64::MAX), Err(Duration::MAX));
        }
    }

    #[test]
    fn a_refunded_call_can_be_taken_again() {
        let bucket = Bucket::new(RateLimit::per_second(1).burst(2));
        assert_eq!(taken_at(&bucket, 0), 2);
        bucket.refund();
        assert_eq!(taken_at(&bucket, 0), 1);
        // Refunds do not increase the burst.
        (0..9).for_each(|_| bucket.refund());
        assert_eq!(taken_at(&bucket, 5 * SECOND), 2);
    }

    #[test]
    fn nothing_overflows() {
        for limit in [RateLimit::per_second(u32::MAX), RateLimit::per_minute(1)] {
            let bucket = Bucket::new(limit.burst(u32::MAX));
            for now in [0, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
                assert_eq!(bucket.take_at(now), Ok(()));
            }
        }
        // The burst is capped at half of the clock's range.
        let bucket = Bucket::new(RateLimit::per_minute(1).burst(u32::MAX));
        bucket.next.store(u64::MAX / 2 + 1, Relaxed);
        assert_eq!(bucket.take_at(0), Err(Duration::from_nanos(1)));
    }

    #[test]
    fn reading_the_clock_out_of_order_does_not_exceed_the_limit() {
        let bucket = Bucket::new(RateLimit::per_second(1).burst(2));
        assert_eq!(taken_at(&bucket, 10 * SECOND), 2);
        assert_eq!(bucket.take_at(9 * SECOND), Err(Duration::from_secs(2)));
    }

    #[test]
    fn threads_never_get_more_than_the_limit() {
        let bucket = Bucket::new(RateLimit::per_second(100).burst(10));
        let (clock, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        let now = clock.fetch_add(SECOND / 10_000, Relaxed);
                        taken.fetch_add(u64::from(bucket.take_at(now).is_ok()), Relaxed);
                    }
                });
            }
        });
        // Two seconds have passed. Threads that lag behind the clock may get slightly fewer calls.
        let taken = taken.into_inner();
        assert!((200..=210).contains(&taken), "{taken}");
    }

    #[test]
    fn threads_share_a_burst() {
        let bucket = Bucket::new(RateLimit::per_minute(1).burst(50));
        let taken = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..100).filter(|_| bucket.take().is_ok()).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        assert_eq!(taken, 50);
    }

    #[test]
    fn the_error_says_when_to_try_again() {
        let error = exceeded(Some("calc.add"), Duration::from_millis(250));
        assert_eq!(*error.error_type(), ErrorType::API_LIMIT_EXCEEDED);
        assert_eq!(error.message(), "`calc.add` is called more often than its limit allows; try again in 0.25 s");
        let details =
            |error: &mcp_core::ToolError| serde_json::to_value(error.detail()).unwrap()["error_details"].clone();
        assert_eq!(details(&error), json!({ "tool": "calc.add", "retry_after_seconds": 0.25 }));

        let error = exceeded(None, Duration::from_nanos(11_999_000_001));
        assert!(error.message().ends_with("common limit allows; try again in 12 s"), "{error}");
        assert_eq!(details(&error), json!({ "retry_after_seconds": 12.0 }));

        let error = exceeded(Some("calc.add"), Duration::MAX);
        assert!(error.message().contains("lets no call through"), "{error}");
        assert_eq!(details(&error)["retry_after_seconds"], Value::Null);
    }
}
