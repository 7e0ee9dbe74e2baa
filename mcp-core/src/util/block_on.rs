//! Blocks on a future without a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Blocks this thread until the future completes.
pub fn block_on<F: Future>(future: F) -> F::Output {
    /// Records that it was woken: code inside the future that parks the thread may consume its unpark token.
    struct Unpark {
        thread: Thread,
        woken: AtomicBool,
    }

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.wake_by_ref();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            self.woken.store(true, Ordering::Release);
            self.thread.unpark();
        }
    }

    let mut future = pin!(future);
    // A future that is ready on the first poll needs no waker.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !unpark.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::task::Poll;
    use std::thread;
    use std::time::Duration;

    use super::block_on;

    #[test]
    fn a_nested_block_on_does_not_consume_a_wakeup() {
        let (send, done) = channel();
        thread::spawn(move || {
            let mut polls = 0;
            block_on(poll_fn(|outer| {
                polls += 1;
                // The first poll has a no-op waker; the second one blocks on another future.
                if polls == 2 {
                    outer.waker().wake_by_ref();
                    block_on_another_future();
                }
                if polls > 2 { Poll::Ready(()) } else { Poll::Pending }
            }));
            send.send(()).unwrap();
        });
        done.recv_timeout(Duration::from_secs(5)).expect("the wakeup was lost");
    }

    fn block_on_another_future() {
        let is_done = Arc::new(AtomicBool::new(false));
        block_on(poll_fn(|inner| {
            if is_done.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            let (is_done, waker) = (Arc::clone(&is_done), inner.waker().clone());
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                is_done.store(true, Ordering::SeqCst);
                waker.wake();
            });
            Poll::Pending
        }));
    }
}
