//! Runs several futures concurrently on one task.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Runs at most `limit` futures at a time, and returns their outputs in order.
pub(crate) async fn buffered<F: Future + Unpin>(mut futures: impl Iterator<Item = F>, limit: usize) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = Vec::new();
    let mut running: Vec<(usize, F)> = Vec::new();
    poll_fn(|context| {
        loop {
            while running.len() < limit.max(1) {
                let Some(future) = futures.next() else { break };
                running.push((outputs.len(), future));
                outputs.push(None);
            }
            let before = running.len();
            running.retain_mut(|(position, future)| match Pin::new(future).poll(context) {
                Poll::Ready(output) => {
                    outputs[*position] = Some(output);
                    false
                }
                Poll::Pending => true,
            });
            match running.len() {
                0 if before == 0 => return Poll::Ready(()),
                // There is room for the next future.
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

    use mcp_core::support::block_on;

    use super::buffered;

    /// Becomes ready after this number of polls.
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
    fn outputs_are_in_order_and_the_limit_holds() {
        for limit in [0, 1, 3, 100] {
            let (running, most) = (Cell::new(0), Cell::new(0));
            let futures = (0..20).map(|n| Box::pin(after((n * 7) % 5 + 1, &running, &most, n)));
            assert_eq!(block_on(buffered(futures, limit)), (0..20).collect::<Vec<_>>());
            assert_eq!((running.get(), most.get()), (0, limit.clamp(1, 20)));
        }
        assert!(block_on(buffered(std::iter::empty::<std::future::Ready<()>>(), 4)).is_empty());
    }
}
