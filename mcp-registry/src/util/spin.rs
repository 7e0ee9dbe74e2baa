//! Waits for another thread without yielding the CPU.

use std::hint::spin_loop;

/// The number of checks: about two microseconds in total, the time in which a running thread reacts.
const SPINS: usize = 64;

/// Waits until the condition holds, but only for a moment.
pub(crate) fn spin_until(condition: impl Fn() -> bool) {
    (0..SPINS).take_while(|_| !condition()).for_each(|_| spin_loop());
}
