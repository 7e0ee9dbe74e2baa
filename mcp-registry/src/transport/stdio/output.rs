//! The output: what waits to be written, and the answers that are pending.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use memchr::memchr;

use crate::transport::queue::Queue;
use crate::util::lock::lock;

/// How many bytes may wait to be written before reading pauses.
pub(super) const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// How many bytes may wait to be written before progress and log messages are dropped.
const MAX_BYTES_FOR_NOTIFICATIONS: usize = 256 * 1024;

/// What waits to be written. Answers are never dropped. If too much waits, progress and log messages are dropped, and
/// reading pauses.
pub(super) struct Output {
    state: Mutex<State>,
    /// Notifies the writing thread that there is something to write.
    work: Condvar,
    /// Notifies the reading thread that there is room.
    room: Condvar,
}

struct State {
    queue: Queue,
    /// How many answers are pending.
    pending: usize,
    /// Whether the end does not wait for pending answers.
    ignores_pending: bool,
    phase: Phase,
    error: Option<io::Error>,
    /// For threads that may block. `None` while one of them writes.
    writer: Option<Box<dyn Write + Send>>,
    writing: bool,
    reader_is_blocked: bool,
    /// Woken when there is something to write.
    on_ready: Option<Waker>,
    /// Woken at the end.
    on_finished: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Phase {
    Reading,
    /// Nothing more is read; pending answers are written.
    Ending,
    /// Nothing is written any more.
    Closed,
}

impl State {
    fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= MAX_WAITING_BYTES
    }

    fn is_finished(&self) -> bool {
        let is_read = self.phase != Phase::Reading;
        let is_answered = self.pending == 0 || self.ignores_pending;
        self.is_closed() || (is_read && is_answered && self.queue.is_empty() && !self.writing)
    }
}

impl Output {
    /// With the writer, if threads block on it; without one, for a task that takes the bytes and writes them itself.
    pub(super) fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        let state = State {
            queue: Queue::new(MAX_BYTES_FOR_NOTIFICATIONS, append_line),
            pending: 0,
            ignores_pending: false,
            phase: Phase::Reading,
            error: None,
            writer,
            writing: false,
            reader_is_blocked: false,
            on_ready: None,
            on_finished: None,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    /// Adds a notification.
    pub(super) fn notify(&self, message: Vec<u8>) {
        let mut state = lock(&self.state);
        if state.is_closed() {
            return;
        }
        state.queue.notify(message);
        self.wake_writer(state);
    }

    /// Counts a pending answer.
    pub(super) fn expect_answer(self: &Arc<Self>) -> PendingAnswer {
        lock(&self.state).pending += 1;
        PendingAnswer(Arc::clone(self))
    }

    /// Adds answers, each with its line break.
    pub(super) fn push_answers(&self, answers: &mut Vec<u8>) {
        let mut state = lock(&self.state);
        push_answers(&mut state, answers);
        self.wake_writer(state);
    }

    /// Wakes whoever writes.
    fn wake_writer(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.on_ready.take();
        let idle = state.writer.is_some();
        drop(state);
        if idle {
            self.work.notify_one();
        }
        waker.into_iter().for_each(Waker::wake);
    }

    /// Stops reading.
    pub(super) fn stop(&self) {
        let mut state = lock(&self.state);
        if state.phase == Phase::Reading {
            state.phase = Phase::Ending;
        }
        // Even if answers are pending: the drain timeout starts now.
        let waker = state.on_finished.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether reading has stopped.
    pub(super) fn is_stopped(&self) -> bool {
        lock(&self.state).phase != Phase::Reading
    }

    /// Does not wait for pending answers.
    pub(super) fn ignore_pending(&self) {
        lock(&self.state).ignores_pending = true;
    }

    /// Stops reading and writing; what waits is dropped.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.phase = Phase::Closed;
        (state.queue, state.writer) = (Queue::new(MAX_BYTES_FOR_NOTIFICATIONS, append_line), None);
        wake_if_finished(state);
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Ready when everything is read, answered and written, or writing has failed.
    pub(super) fn poll_finished(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.state);
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error));
        }
        if state.is_finished() {
            return Poll::Ready(Ok(()));
        }
        state.on_finished = Some(context.waker().clone());
        Poll::Pending
    }

    /// Moves what waits into an empty buffer. False if there is nothing; the task is woken when there is.
    pub(super) fn poll_take(&self, buffer: &mut Vec<u8>, context: &mut Context<'_>) -> bool {
        let mut state = lock(&self.state);
        if state.queue.is_empty() {
            state.on_ready = Some(context.waker().clone());
            return false;
        }
        state.queue.take(buffer);
        true
    }

    pub(super) fn is_full(&self) -> bool {
        lock(&self.state).is_full()
    }

    /// Adds answers and writes what waits, unless another thread does. Blocks while too much waits.
    pub(super) fn write(&self, answers: &mut Vec<u8>) -> Phase {
        let mut state = lock(&self.state);
        push_answers(&mut state, answers);
        let mut state = self.write_ready(state);
        while state.is_full() && !state.is_closed() {
            state.reader_is_blocked = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.phase
    }

    /// Writes what is added, until the output is closed.
    pub(super) fn write_all(&self) {
        let mut state = lock(&self.state);
        while !state.is_closed() {
            if state.queue.is_empty() || state.writing {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                state = self.write_ready(state);
            }
        }
    }

    fn write_ready<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.queue.is_empty() {
            return state;
        }
        let Some(mut writer) = state.writer.take() else { return state };
        let mut bytes = Vec::new();
        state.queue.take(&mut bytes);
        state.writing = true;
        drop(state);
        let written = writer.write_all(&bytes).and_then(|()| writer.flush());
        let mut state = lock(&self.state);
        state.writing = false;
        match written {
            Ok(()) if state.is_closed() => {}
            Ok(()) => state.writer = Some(writer),
            Err(error) => {
                state.error = Some(error).filter(|error| !is_disconnect(error));
                drop(state);
                self.close();
                state = lock(&self.state);
            }
        }
        if state.queue.is_empty() {
            // The buffer is reused, unless it is large.
            bytes.clear();
            bytes.shrink_to(MAX_WAITING_BYTES);
            state.queue.reuse(bytes);
        } else {
            self.work.notify_one();
        }
        if std::mem::take(&mut state.reader_is_blocked) {
            self.room.notify_one();
        }
        if state.is_finished() {
            state.on_finished.take().into_iter().for_each(Waker::wake);
        }
        state
    }
}

/// Wakes the task that waits for the end, if this is it.
fn wake_if_finished(mut state: MutexGuard<'_, State>) {
    let waker = if state.is_finished() { state.on_finished.take() } else { None };
    drop(state);
    waker.into_iter().for_each(Waker::wake);
}

fn push_answers(state: &mut State, answers: &mut Vec<u8>) {
    if state.is_closed() {
        answers.clear();
    } else {
        state.queue.append(answers);
    }
}

/// Whether the client has disconnected, which is not a failure.
pub(super) fn is_disconnect(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}

fn append_line(message: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(message);
    end_line(out, start);
}

/// Ends the line that begins at `start`, unless it is empty. A message becomes one line.
pub(super) fn end_line(out: &mut Vec<u8>, start: usize) {
    if out.len() == start {
        return;
    }
    // Between the tokens of JSON a line break can be a space; in strings it is escaped.
    if let Some(first) = memchr(b'\n', &out[start..]) {
        out[start + first..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    out.push(b'\n');
}

/// A pending answer, until it is dropped.
pub(super) struct PendingAnswer(Arc<Output>);

impl PendingAnswer {
    /// Writes the answer, if there is one.
    pub(super) fn finish(self, answer: Option<Vec<u8>>) {
        if let Some(mut answer) = answer {
            end_line(&mut answer, 0);
            self.0.push_answers(&mut answer);
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.pending -= 1;
        wake_if_finished(state);
    }
}
