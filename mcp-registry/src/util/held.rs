//! How long code has held a thread, without the time in which the thread waited for a processor.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// How long the thread had waited at the last measurement.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Of the time that has just passed on this thread, how much it was held at least. The first result on a thread that has
/// waited for long before may be too low.
pub(crate) fn held(time: Duration) -> Duration {
    let waited = waited().unwrap_or_default();
    let before = WAITED.try_with(|before| before.replace(waited)).unwrap_or_default();
    time.saturating_sub(waited.saturating_sub(before))
}

/// How long this thread has waited for a processor, if the system tells.
fn waited() -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Nanoseconds on a processor, nanoseconds of waiting for one, and how often it ran.
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::thread::{self, sleep};
    use std::time::{Duration, Instant};

    use super::held;

    #[test]
    fn a_thread_that_sleeps_is_held() {
        held(Duration::ZERO);
        let begun = Instant::now();
        sleep(Duration::from_millis(300));
        assert!(held(begun.elapsed()) >= Duration::from_millis(100));
    }

    #[test]
    fn a_thread_that_waits_for_a_processor_is_not_held_for_all_that_time() {
        let count = 8 * thread::available_parallelism().map_or(1, usize::from);
        let times: Vec<(Duration, Duration)> = thread::scope(|scope| {
            let spin = || {
                held(Duration::ZERO);
                let begun = Instant::now();
                (0..10_000_000_u64).for_each(|number| _ = std::hint::black_box(number / 3));
                (begun.elapsed(), held(begun.elapsed()))
            };
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(spin)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let [passed, held] = [|it: &(Duration, Duration)| it.0, |it: &(Duration, Duration)| it.1]
            .map(|of| times.iter().map(of).sum::<Duration>());
        assert!(super::waited().is_none() || held < passed / 2, "{held:?} of {passed:?}");
    }
}
