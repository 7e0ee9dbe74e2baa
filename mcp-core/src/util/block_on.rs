//! Waits for a future without a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Waits for a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    /// Remembers that it was woken: whoever blocks inside of the future may take the thread's token away.
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
    // What is there at once costs no waker.
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
    fn who_blocks_inside_takes_no_wakeup_away() {
        let (send, done) = channel();
        thread::spawn(move || {
            let mut polls = 0;
            block_on(poll_fn(|outer| {
                polls += 1;
                // The first poll has a waker that does nothing; in the second the thread waits for something else.
                if polls == 2 {
                    outer.waker().wake_by_ref();
                    wait_elsewhere();
                }
                if polls > 2 { Poll::Ready(()) } else { Poll::Pending }
            }));
            send.send(()).unwrap();
        });
        done.recv_timeout(Duration::from_secs(5)).expect("the wakeup was lost");
    }

    fn wait_elsewhere() {
        let is_over = Arc::new(AtomicBool::new(false));
        block_on(poll_fn(|inner| {
            if is_over.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            let (is_over, waker) = (Arc::clone(&is_over), inner.waker().clone());
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                is_over.store(true, Ordering::SeqCst);
                waker.wake();
            });
            Poll::Pending
        }));
    }
}
