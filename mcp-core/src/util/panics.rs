//! Drops values whose destructors may panic.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many payloads are dropped if each one panics with another when it is dropped.
const MAX_PAYLOADS: usize = 3;

/// Drops a value and catches the panic of its destructor.
///
/// The payload of the panic is dropped too. If that panics with another payload, and so on, the last one is leaked
/// after a few rounds.
pub fn discard<T>(value: T) {
    contain(|| drop(value));
}

/// Runs code and catches its panic, whose payload is dropped as [`discard`] does it.
pub(crate) fn contain(run: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        discard_payload(payload);
    }
}

/// Holds a value of a user. Dropping it catches the panic of the value's destructor, wherever that happens.
pub struct Contained<T>(Option<T>);

impl<T> Contained<T> {
    /// Holds this value.
    pub const fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T> Deref for Contained<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("it holds its value until it is dropped"),
        }
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        discard(self.0.take());
    }
}

impl<T: fmt::Debug> fmt::Debug for Contained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cold]
fn discard_payload(payload: Box<dyn Any + Send>) {
    let mut dropped = Err(payload);
    for _ in 0..MAX_PAYLOADS {
        let Err(payload) = dropped else { return };
        dropped = drop_payload(payload);
    }
    if let Err(payload) = dropped {
        std::mem::forget(payload);
    }
}

fn drop_payload(payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
    if payload.is::<&'static str>() || payload.is::<String>() {
        // Dropping a string does not panic.
        return Ok(());
    }
    catch_unwind(AssertUnwindSafe(|| drop(payload)))
}

#[cfg(test)]
mod tests {
    use std::panic::{panic_any, resume_unwind};
    use std::sync::Arc;

    use super::discard;

    /// Panics this many times when it is dropped, each time with another `Chain`.
    struct Chain(usize, #[allow(dead_code, reason = "its references are counted")] Arc<()>);

    impl Drop for Chain {
        fn drop(&mut self) {
            if self.0 > 0 {
                resume_unwind(Box::new(Self(self.0 - 1, Arc::clone(&self.1))));
            }
        }
    }

    #[test]
    fn values_whose_destructors_panic_are_freed() {
        let alive = Arc::new(());
        for panics in 0..=3 {
            discard(Chain(panics, Arc::clone(&alive)));
            assert_eq!(Arc::strong_count(&alive), 1, "{panics} panics");
        }
    }

    #[test]
    fn a_payload_that_always_panics_is_leaked() {
        struct Bomb;

        impl Drop for Bomb {
            fn drop(&mut self) {
                panic_any(Self);
            }
        }

        discard(Bomb);
    }
}
