//! Waits for another thread, but only for a moment.

use std::hint::spin_loop;
use std::thread;
use std::time::{Duration, Instant};

/// The number of checks before the thread yields: about two microseconds in total, the time in which a running thread
/// reacts.
const SPINS: usize = 64;

/// The number of yields. They cost about as much as waking a sleeping thread, or as a timer, a task and a waker.
pub(crate) const YIELDS: u32 = 32;

/// The maximum total duration of the yields, for a busy machine.
const MAX_YIELDING: Duration = Duration::from_micros(500);

/// Waits until the condition holds, but only for a moment.
///
/// How often it checks depends on how the machine schedules its threads, so `.ci/instructions` does not count this function.
/// It finds it by its name.
#[inline(never)]
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if condition() {
            return;
        }
        spin_loop();
    }
    let begun = Instant::now();
    for _ in 0..YIELDS {
        if condition() || begun.elapsed() > MAX_YIELDING {
            return;
        }
        thread::yield_now();
    }
}
