//! A queue of messages that the client has not read yet.

use std::collections::VecDeque;

use crate::protocol::{Delivery, delivery};

/// Messages to be written, in the order in which the client will read them.
///
/// Answers are never dropped. Progress and log messages are dropped while too many bytes are queued. A notification
/// that the list of tools has changed is queued only once: a second one replaces the first and moves to the end,
/// because an answer between the two may be outdated.
pub(crate) struct Queue {
    bytes: Vec<u8>,
    /// The notifications of changes, and the position of each in `bytes`. Sorted by position.
    changes: VecDeque<(usize, Vec<u8>)>,
    /// The total size of the changes.
    change_bytes: usize,
    /// The number of queued bytes beyond which progress and log messages are dropped.
    max_bytes: usize,
    /// Appends a message in the framing of the transport.
    frame: fn(&[u8], &mut Vec<u8>),
}

impl Queue {
    pub(crate) fn new(max_bytes: usize, frame: fn(&[u8], &mut Vec<u8>)) -> Self {
        Self { bytes: Vec::new(), changes: VecDeque::new(), change_bytes: 0, max_bytes, frame }
    }

    /// The number of queued bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.change_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a notification.
    pub(crate) fn notify(&mut self, message: Vec<u8>) {
        match delivery(&message) {
            // A message that exceeds the limit by itself is sent if the queue is empty.
            Delivery::Droppable if !self.is_empty() && self.len() + message.len() > self.max_bytes => {}
            Delivery::Droppable | Delivery::Always => (self.frame)(&message, &mut self.bytes),
            Delivery::Latest => {
                // Subscribers are always notified in the same order, so this is usually the first one.
                if let Some(at) = self.changes.iter().position(|(_, waiting)| *waiting == message) {
                    self.changes.remove(at);
                } else {
                    self.change_bytes += message.len();
                }
                self.changes.push_back((self.bytes.len(), message));
            }
        }
    }

    /// Adds framed answers, and empties their buffer.
    #[cfg(feature = "stdio")]
    pub(crate) fn append(&mut self, answers: &mut Vec<u8>) {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, answers);
        } else {
            self.bytes.append(answers);
        }
    }

    /// Moves everything to the buffer; swaps the two if the buffer is empty.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) {
        if self.changes.is_empty() && out.is_empty() {
            std::mem::swap(&mut self.bytes, out);
            return;
        }
        let (bytes, mut start) = (std::mem::take(&mut self.bytes), 0);
        for (position, message) in self.changes.drain(..) {
            out.extend_from_slice(&bytes[start..position]);
            (self.frame)(&message, out);
            start = position;
        }
        out.extend_from_slice(&bytes[start..]);
        self.change_bytes = 0;
    }

    /// Reuses the allocation of a buffer.
    #[cfg(feature = "stdio")]
    pub(crate) fn reuse(&mut self, mut buffer: Vec<u8>) {
        if self.bytes.is_empty() && self.bytes.capacity() < buffer.capacity() {
            buffer.clear();
            self.bytes = buffer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;

    fn line(message: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(message);
        out.push(b'\n');
    }

    fn queue() -> Queue {
        Queue::new(200, line)
    }

    fn notification(method: &str) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"}}"#).into_bytes()
    }

    /// Takes the queued messages, and returns the last word of each.
    fn taken(queue: &mut Queue) -> Vec<String> {
        let mut out = Vec::new();
        queue.take(&mut out);
        assert!(queue.is_empty());
        let text = String::from_utf8(out).unwrap();
        let last = |line: &str| line.trim_end_matches("\"}").rsplit(['/', '"']).next().unwrap().to_owned();
        text.lines().map(last).collect()
    }

    #[test]
    fn a_change_is_queued_once_and_after_earlier_messages() {
        let mut queue = queue();
        for _ in 0..1000 {
            queue.notify(notification("tools/list_changed"));
        }
        assert_eq!(taken(&mut queue), ["list_changed"]);
        queue.notify(notification("subscriptions/acknowledged"));
        queue.notify(notification("tools/list_changed"));
        queue.notify(notification("progress"));
        assert_eq!(taken(&mut queue), ["acknowledged", "list_changed", "progress"]);
        // The answer may be older than the second change.
        queue.notify(notification("tools/list_changed"));
        queue.bytes.extend_from_slice(b"answer\n");
        queue.notify(notification("tools/list_changed"));
        assert_eq!(taken(&mut queue), ["answer", "list_changed"]);
    }

    #[test]
    fn each_subscription_has_its_own_change_in_the_queue() {
        let mut queue = queue();
        let of = |id: u32| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":"{id}"}}"#).into_bytes()
        };
        for _ in 0..10 {
            (0..3).for_each(|id| queue.notify(of(id)));
        }
        assert_eq!(queue.len(), 3 * of(0).len());
        assert_eq!(taken(&mut queue), ["0", "1", "2"]);
    }

    #[test]
    fn only_progress_and_log_messages_are_dropped_when_the_queue_is_full() {
        let mut queue = queue();
        for _ in 0..100 {
            queue.notify(notification("progress"));
            queue.notify(notification("message"));
        }
        let waiting = queue.len();
        assert!(waiting <= 200, "{waiting}");
        queue.notify(notification("cancelled"));
        queue.notify(notification("tools/list_changed"));
        let taken = taken(&mut queue);
        assert_eq!(taken[taken.len() - 2..], ["cancelled", "list_changed"]);
        // A message that never fits is sent on its own.
        let large = notification(&format!("message\",\"params\":\"{}", "x".repeat(500)));
        queue.notify(large.clone());
        queue.notify(large.clone());
        assert_eq!(queue.len(), large.len() + 1);
    }
}
