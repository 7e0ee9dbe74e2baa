//! Several futures at a time on one task, none of them waiting for another.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Runs the futures, so many at a time, and gives their outputs in order.
pub(crate) async fn in_order<F: Future + Unpin>(
    mut futures: impl Iterator<Item = F>,
    at_a_time: usize,
) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = Vec::new();
    let mut running: Vec<(usize, F)> = Vec::new();
    poll_fn(|context| {
        loop {
            while running.len() < at_a_time.max(1) {
                let Some(future) = futures.next() else { break };
                running.push((outputs.len(), future));
                outputs.push(None);
            }
            let before = running.len();
            running.retain_mut(|(place, future)| match Pin::new(future).poll(context) {
                Poll::Ready(output) => {
                    outputs[*place] = Some(output);
                    false
                }
                Poll::Pending => true,
            });
            match running.len() {
                0 if before == 0 => return Poll::Ready(()),
                // Room for the next.
                now if now < before => {}
                _ => return Poll::Pending,
            }
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{Future, poll_fn};
    use std::task::Poll;

    use mcp_core::__private::block_on;

    use super::in_order;

    /// Ends when it was polled so often.
    fn after(polls: usize, running: &Cell<usize>, most: &Cell<usize>, output: usize) -> impl Future<Output = usize> {
        let mut left = polls;
        poll_fn(move |context| {
            if left == polls {
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
            }
            if left == 0 {
                running.set(running.get() - 1);
                return Poll::Ready(output);
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn outputs_are_in_order_and_so_many_run_at_a_time() {
        for at_a_time in [0, 1, 3, 100] {
            let (running, most) = (Cell::new(0), Cell::new(0));
            let futures = (0..20).map(|n| Box::pin(after((n * 7) % 5 + 1, &running, &most, n)));
            assert_eq!(block_on(in_order(futures, at_a_time)), (0..20).collect::<Vec<_>>());
            assert_eq!((running.get(), most.get()), (0, at_a_time.clamp(1, 20)));
        }
        assert!(block_on(in_order(std::iter::empty::<std::future::Ready<()>>(), 4)).is_empty());
    }
}
