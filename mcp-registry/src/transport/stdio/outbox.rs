//! What waits to be written, and what is still to come.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::lines::line_break;
use crate::transport::queue::Queue;

/// How many bytes may wait to be written before nothing more is read.
pub(super) const WAITING: usize = 1024 * 1024;

/// How many bytes may wait to be written before progress and log messages are dropped.
const NOTICES: usize = 256 * 1024;

/// What waits to be written. Answers are never lost; where too much waits, progress and log messages are, and the input
/// waits too.
pub(super) struct Outbox {
    state: Mutex<State>,
    /// Told when there is something to write for the thread that writes.
    work: Condvar,
    /// Told when there is room for the thread that reads.
    room: Condvar,
}

struct State {
    queue: Queue,
    /// How many answers are still to come.
    under_way: usize,
    /// Whether answers that are still to come are not waited for.
    forgotten: bool,
    phase: Phase,
    failed: Option<io::Error>,
    /// Where to write, for threads that may block; not here while one of them does.
    writer: Option<Box<dyn Write + Send>>,
    writing: bool,
    reader_waits: bool,
    /// Woken when there is something to write.
    on_ready: Option<Waker>,
    /// Woken when all is over.
    on_end: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Reading,
    /// Nothing more is read; what is under way is answered.
    Ending,
    /// Nothing is written any more.
    Closed,
}

impl State {
    fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= WAITING
    }

    fn is_over(&self) -> bool {
        let is_read = self.phase != Phase::Reading;
        let is_answered = self.under_way == 0 || self.forgotten;
        self.is_closed() || (is_read && is_answered && self.queue.is_empty() && !self.writing)
    }
}

impl Outbox {
    /// For a task that writes by itself.
    pub(super) fn new() -> Self {
        Self::of(None)
    }

    /// For threads that write here.
    pub(super) fn writing_to(writer: impl Write + Send + 'static) -> Self {
        Self::of(Some(Box::new(writer)))
    }

    fn of(writer: Option<Box<dyn Write + Send>>) -> Self {
        let state = State {
            queue: Queue::new(NOTICES, append),
            under_way: 0,
            forgotten: false,
            phase: Phase::Reading,
            failed: None,
            writer,
            writing: false,
            reader_waits: false,
            on_ready: None,
            on_end: None,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic is done while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a notification.
    pub(super) fn notify(&self, message: Vec<u8>) {
        let mut state = self.lock();
        if state.is_closed() {
            return;
        }
        state.queue.notify(message);
        self.tell_writer(state);
    }

    /// Notes that an answer is to come.
    pub(super) fn expect(self: &Arc<Self>) -> Expected {
        self.lock().under_way += 1;
        Expected(Arc::clone(self))
    }

    /// Notes that answers are to come to what was just read; none if nothing is to be read any more.
    pub(super) fn expect_if_reading(self: &Arc<Self>) -> Option<Expected> {
        let mut state = self.lock();
        (state.phase == Phase::Reading).then(|| {
            state.under_way += 1;
            Expected(Arc::clone(self))
        })
    }

    /// Takes answers, each with its line break.
    pub(super) fn put(&self, answers: &mut Vec<u8>) {
        let mut state = self.lock();
        put(&mut state, answers);
        self.tell_writer(state);
    }

    /// Has somebody write what is ready.
    fn tell_writer(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.on_ready.take();
        let idle = state.writer.is_some();
        drop(state);
        if idle {
            self.work.notify_one();
        }
        waker.into_iter().for_each(Waker::wake);
    }

    /// Nothing more is read.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Reading {
            state.phase = Phase::Ending;
        }
        // Even if this is not the end, the time that calls have left begins to run.
        let waker = state.on_end.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether nothing more is read.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().phase != Phase::Reading
    }

    /// Answers that are still to come are not waited for.
    pub(super) fn forget(&self) {
        self.lock().forgotten = true;
    }

    /// Nothing more is read or written; what waits is thrown away.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.phase = Phase::Closed;
        (state.queue, state.writer) = (Queue::new(NOTICES, append), None);
        end(state);
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Whether everything is read, answered and written, or cannot be.
    pub(super) fn poll_over(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        if let Some(error) = state.failed.take() {
            return Poll::Ready(Err(error));
        }
        if state.is_over() {
            return Poll::Ready(Ok(()));
        }
        state.on_end = Some(context.waker().clone());
        Poll::Pending
    }

    /// Takes what is to be written into an empty buffer; false if there is nothing. The task is woken when there is.
    pub(super) fn poll_take(&self, buffer: &mut Vec<u8>, context: &mut Context<'_>) -> bool {
        let mut state = self.lock();
        if state.queue.is_empty() {
            state.on_ready = Some(context.waker().clone());
            return false;
        }
        state.queue.take(buffer);
        true
    }

    pub(super) fn is_full(&self) -> bool {
        self.lock().is_full()
    }

    /// Whether nothing is written any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Takes answers and writes what is ready, unless another thread does so. Waits while too much waits; false if
    /// nothing more is to be read.
    pub(super) fn write(&self, answers: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        put(&mut state, answers);
        let mut state = self.write_ready(state);
        while state.is_full() && !state.is_closed() {
            state.reader_waits = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.phase == Phase::Reading
    }

    /// Writes what becomes ready, until all is over.
    pub(super) fn write_all(&self) {
        let mut state = self.lock();
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
        let mut state = self.lock();
        state.writing = false;
        match written {
            Ok(()) if state.is_closed() => {}
            Ok(()) => state.writer = Some(writer),
            Err(error) => state = self.fail(state, error),
        }
        if state.queue.is_empty() {
            // The room is used again, unless it is much.
            bytes.clear();
            bytes.shrink_to(WAITING);
            state.queue.reuse(bytes);
        } else {
            self.work.notify_one();
        }
        if std::mem::take(&mut state.reader_waits) {
            self.room.notify_one();
        }
        if state.is_over() {
            state.on_end.take().into_iter().for_each(Waker::wake);
        }
        state
    }

    fn fail<'a>(&'a self, mut state: MutexGuard<'a, State>, error: io::Error) -> MutexGuard<'a, State> {
        if !is_gone(&error) {
            state.failed = Some(error);
        }
        drop(state);
        self.close();
        self.lock()
    }
}

/// Wakes who waits for the end, if this is it.
fn end(mut state: MutexGuard<'_, State>) {
    let waker = if state.is_over() { state.on_end.take() } else { None };
    drop(state);
    waker.into_iter().for_each(Waker::wake);
}

fn put(state: &mut State, answers: &mut Vec<u8>) {
    if state.is_closed() {
        answers.clear();
    } else {
        state.queue.append(answers);
    }
}

/// Whether the error says that the client is gone, which is no failure.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}

fn append(message: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(message);
    end_line(out, start);
}

/// Ends the line that begins here, if there is one, and sees to it that it is one.
pub(super) fn end_line(out: &mut Vec<u8>, start: usize) {
    if out.len() == start {
        return;
    }
    // A line break inside JSON is a space: in a string it is written otherwise.
    if let Some(first) = line_break(&out[start..]) {
        out[start + first..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    out.push(b'\n');
}

/// An answer that is to come. Dropped, it will not.
pub(super) struct Expected(Arc<Outbox>);

impl Expected {
    /// It is here, or will not come.
    pub(super) fn end(self, answer: Option<Vec<u8>>) {
        if let Some(mut answer) = answer {
            end_line(&mut answer, 0);
            self.0.put(&mut answer);
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.under_way -= 1;
        end(state);
    }
}
