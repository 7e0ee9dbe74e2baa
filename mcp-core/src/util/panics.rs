//! Dropping what may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How often a payload may panic when it is dropped, with another payload each time.
const ROUNDS: usize = 3;

/// Drops a value whose destructor may panic.
///
/// What it panics with is dropped too. A text, which nearly every payload is, is dropped as it is; the destructor of
/// another type may panic again, and is given a few tries. Only a payload that panics with another one each time is left
/// behind, since nothing can free it but its destructor.
pub fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard_payload(payload);
    }
}

#[cold]
fn discard_payload(payload: Box<dyn Any + Send>) {
    let mut dropped = Err(payload);
    for _ in 0..ROUNDS {
        let Err(payload) = dropped else { return };
        dropped = drop_payload(payload);
    }
    if let Err(payload) = dropped {
        std::mem::forget(payload);
    }
}

fn drop_payload(payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
    if payload.is::<&'static str>() || payload.is::<String>() {
        // No code of anyone else runs.
        return Ok(());
    }
    catch_unwind(AssertUnwindSafe(|| drop(payload)))
}

#[cfg(test)]
mod tests {
    use std::panic::{panic_any, resume_unwind};
    use std::sync::Arc;

    use super::discard;

    /// Panics with the next one when it is dropped, so many times.
    struct Chain(usize, #[allow(dead_code, reason = "it is counted")] Arc<()>);

    impl Drop for Chain {
        fn drop(&mut self) {
            if self.0 > 0 {
                resume_unwind(Box::new(Self(self.0 - 1, Arc::clone(&self.1))));
            }
        }
    }

    #[test]
    fn what_panics_when_it_is_dropped_is_dropped_all_the_same() {
        let alive = Arc::new(());
        for panics in 0..=3 {
            discard(Chain(panics, Arc::clone(&alive)));
            assert_eq!(Arc::strong_count(&alive), 1, "{panics} panics");
        }
    }

    #[test]
    fn what_panics_without_end_is_left_behind() {
        struct Bomb;

        impl Drop for Bomb {
            fn drop(&mut self) {
                panic_any(Self);
            }
        }

        discard(Bomb);
    }
}
