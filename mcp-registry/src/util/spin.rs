//! Waiting for another thread without giving up the processor.

use std::hint::spin_loop;

/// How often to look: some two microseconds in all, about as long as it takes a running thread to react.
const SPINS: usize = 64;

/// Waits for a moment until the condition holds.
pub(crate) fn spin_until(condition: impl Fn() -> bool) {
    (0..SPINS).take_while(|_| !condition()).for_each(|_| spin_loop());
}
