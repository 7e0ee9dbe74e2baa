//! The audit: who called which tool when, and what came of it; in memory, and as lines of JSON.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::metrics::millis;
use crate::observe::{CallOutcome, CallRecord, Observer};

/// The most bytes of a name or an id that a record keeps: the sender chooses how long they are.
const LONGEST_TEXT: usize = 256;

/// The most records that are written before the next flush.
const BATCH: usize = 256;

/// The last second that has a year of four digits.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// Remembers who called which tool when, and what came of it. A clone is a handle on the same log.
///
/// The last 1,024 records are kept in memory. [`jsonl`](Self::jsonl) also writes each of them as a line of JSON:
///
/// ```json
/// {"time":"2026-07-28T09:30:00.125Z","tool":"calc.add","arguments_hash":"b06f…","outcome":"success","ms":0.25}
/// ```
///
/// - **A call never waits for the writer**: it has a thread of its own, and a queue of 4,096 records before it. What
///   does not fit is left out of the file, and so is what cannot be written; a line `{"time": …, "dropped": 3}` says
///   how many are missing, as soon as the writer has caught up.
/// - **No argument is in it**, only a keyed hash of them all, which is equal for equal arguments. Nor is the message of
///   an error, since that may quote arguments; `correlation_id` leads to it.
/// - When the last handle is dropped, what is queued is written. That waits two seconds at most. Before
///   [`std::process::exit`], which drops nothing, call [`flush`](Self::flush).
///
/// ```
/// use mcp_registry::AuditLog;
///
/// let log = AuditLog::jsonl(std::io::stderr());
/// let handle = log.clone();
/// assert!(handle.records().is_empty());
/// assert_eq!(log.dropped(), 0);
/// assert!(log.flush());
/// ```
#[derive(Clone)]
pub struct AuditLog(Arc<Log>);

impl AuditLog {
    /// Keeps the last 1,024 records in memory, and writes nothing.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Keeps the last 1,024 records in memory, and writes each as a line of JSON.
    ///
    /// ```no_run
    /// use mcp_registry::AuditLog;
    ///
    /// let file = std::fs::File::options().append(true).create(true).open("audit.jsonl")?;
    /// let log = AuditLog::jsonl(file);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn jsonl(writer: impl Write + Send + 'static) -> Self {
        Self::builder().jsonl(writer)
    }

    /// Starts a log with other numbers than these, or a key of your own.
    pub fn builder() -> AuditLogBuilder {
        AuditLogBuilder { capacity: 1024, queue: 4096, key: None, patience: Duration::from_secs(2) }
    }

    /// The records in memory, oldest first.
    pub fn records(&self) -> Vec<Arc<AuditRecord>> {
        self.0.shared.lock().records.iter().cloned().collect()
    }

    /// How many records were not written, because the queue was full or the writer failed.
    pub fn dropped(&self) -> u64 {
        self.0.shared.lock().dropped
    }

    /// Waits until all that was queued is written and flushed, two seconds at most. `false` if that was not enough, or
    /// if the writer failed. After `true` the file has every record so far, or says how many are missing.
    pub fn flush(&self) -> bool {
        let wanted = self.0.shared.lock().queued;
        let state = self.0.shared.wait(self.0.patience, |state| state.handled < wanted && !state.is_over);
        state.flushed >= wanted && !state.is_over
    }
}

impl Default for AuditLog {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.shared.lock();
        let mut debug = f.debug_struct("AuditLog");
        debug.field("records", &state.records.len()).field("dropped", &state.dropped).finish_non_exhaustive()
    }
}

impl Observer for AuditLog {
    fn observe(&self, record: &CallRecord<'_>) {
        self.0.add(Arc::new(AuditRecord::of(record, self.0.hasher)));
    }
}

/// An [`AuditLog`] that is being set up.
///
/// ```
/// use mcp_registry::AuditLog;
///
/// let log = AuditLog::builder().capacity(100).key(*b"0123456789abcdef").queue(10_000).jsonl(std::io::stderr());
/// ```
#[must_use]
pub struct AuditLogBuilder {
    capacity: usize,
    queue: usize,
    key: Option<[u8; 16]>,
    patience: Duration,
}

impl AuditLogBuilder {
    /// Keeps so many records in memory; 1,024 if nothing is said.
    pub fn capacity(mut self, records: usize) -> Self {
        self.capacity = records;
        self
    }

    /// Lets so many records, at least one, wait for the writer; 4,096 if nothing is said.
    pub fn queue(mut self, records: usize) -> Self {
        self.queue = records.max(1);
        self
    }

    /// The key of the arguments' hashes. Logs with the same key can be compared; whoever knows it can try out which
    /// arguments have a hash. If nothing is said, each log has a random one.
    pub fn key(mut self, key: [u8; 16]) -> Self {
        self.key = Some(key);
        self
    }

    /// A log in memory alone.
    pub fn build(self) -> AuditLog {
        self.log(None, Arc::default())
    }

    /// A log that also writes each record as a line of JSON, from a thread of its own.
    pub fn jsonl(self, writer: impl Write + Send + 'static) -> AuditLog {
        let (sender, queue) = sync_channel(self.queue);
        let shared = Arc::<Shared>::default();
        let over = Over(Arc::clone(&shared));
        let sink = Sink { writer: Box::new(writer), rest: Vec::new() };
        let writing = Writing { sink, queue, shared: Arc::clone(&shared) };
        // Where no thread can be had the queue is closed at once, and every record counts as dropped.
        let _ = thread::Builder::new().name("audit-log".to_owned()).spawn(move || {
            writing.run();
            drop(over);
        });
        self.log(Some(sender), shared)
    }

    fn log(self, queue: Option<SyncSender<Arc<AuditRecord>>>, shared: Arc<Shared>) -> AuditLog {
        let hasher = SipHasher24::new_with_key(&self.key.unwrap_or_else(random_key));
        AuditLog(Arc::new(Log { hasher, capacity: self.capacity, patience: self.patience, queue, shared }))
    }
}

impl fmt::Debug for AuditLogBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AuditLogBuilder");
        debug.field("capacity", &self.capacity).field("queue", &self.queue).finish_non_exhaustive()
    }
}

fn random_key() -> [u8; 16] {
    let random = RandomState::new();
    let halves = [random.hash_one(0), random.hash_one(1)].map(u64::to_le_bytes);
    std::array::from_fn(|i| halves[i / 8][i % 8])
}

/// What is remembered of a call. As JSON it leaves out what is `None`.
///
/// Names and ids of more than 256 bytes are cut, and end in `…`.
///
/// ```
/// use mcp_registry::{AuditLog, CallOutcome};
///
/// fn denied(log: &AuditLog) -> Vec<String> {
///     let records = log.records();
///     let denied = records.iter().filter(|record| record.outcome == CallOutcome::Denied);
///     denied.map(|record| record.tool.clone()).collect()
/// }
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AuditRecord {
    /// When the call began; as JSON in RFC 3339 with milliseconds.
    #[serde(serialize_with = "as_rfc3339")]
    pub time: SystemTime,
    /// The tool's canonical name; where there is no such tool, the name that was asked for.
    pub tool: String,
    /// The name that was asked for, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_as: Option<String>,
    /// A keyed hash of the arguments, whatever the order of their names: SipHash-2-4 of 128 bits, 32 hex digits.
    pub arguments_hash: String,
    /// Who called, if the embedding server said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The id of the request, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How it ended; as JSON in [one word](CallOutcome::as_str).
    pub outcome: CallOutcome,
    /// How many milliseconds it took.
    pub ms: f64,
    /// The machine-readable category of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The id that the caller was shown in place of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

impl AuditRecord {
    fn of(record: &CallRecord<'_>, mut hasher: SipHasher24) -> Self {
        record.hash_arguments(&mut hasher);
        Self {
            time: record.time,
            tool: cut(record.tool),
            called_as: (record.called_as != record.tool).then(|| cut(record.called_as)),
            arguments_hash: format!("{:032x}", hasher.finish128().as_u128()),
            caller: record.caller.map(cut),
            request_id: record.request_id.map(cut),
            outcome: record.outcome,
            ms: millis(record.duration),
            error_type: record.error_type.map(cut),
            correlation_id: record.correlation_id.map(cut),
        }
    }
}

/// The text, or its beginning if it is long.
fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let end = (0..=LONGEST_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// A clock that is set to before 1970 or after 9999 is shown as the nearest time that has four digits.
fn as_rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST_SECOND);
    serializer.collect_str(&humantime::format_rfc3339_millis(UNIX_EPOCH + since))
}

impl Serialize for CallOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What the handles of a log share. It holds the only end of the queue that is written to, so that the writer ends with
/// the last handle.
struct Log {
    /// Has the key, and nothing else yet.
    hasher: SipHasher24,
    capacity: usize,
    /// How long to wait for the writer.
    patience: Duration,
    queue: Option<SyncSender<Arc<AuditRecord>>>,
    shared: Arc<Shared>,
}

impl Log {
    fn add(&self, record: Arc<AuditRecord>) {
        // Queueing under the lock keeps the file in the order of the memory, and the counts in step with the queue.
        let mut state = self.shared.lock();
        if let Some(queue) = &self.queue {
            if queue.try_send(Arc::clone(&record)).is_ok() {
                state.queued += 1;
            } else {
                let queued = state.queued;
                state.drop_records(1, queued);
            }
        }
        state.records.push_back(record);
        if state.records.len() > self.capacity {
            state.records.pop_front();
        }
    }
}

impl Drop for Log {
    /// Lets the writer finish, but waits no longer for it than patience allows: it may be blocked for ever.
    fn drop(&mut self) {
        if self.queue.take().is_some() {
            drop(self.shared.wait(self.patience, |state| !state.is_over));
        }
    }
}

/// What a log and its writer share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The writer got on.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    records: VecDeque<Arc<AuditRecord>>,
    /// How many records were queued.
    queued: u64,
    /// How many of those were written or dropped.
    handled: u64,
    /// How many of those were handled when the file was last complete, or said what is missing.
    flushed: u64,
    dropped: u64,
    /// How many of the dropped ones the file does not tell of yet.
    untold: u64,
    /// Tell of them when so many are handled: the others came before.
    tell_after: u64,
    /// The writer's thread has ended.
    is_over: bool,
}

impl State {
    fn drop_records(&mut self, count: u64, tell_after: u64) {
        if count > 0 {
            self.tell_after = if self.untold == 0 { tell_after } else { self.tell_after.min(tell_after) };
            self.dropped += count;
            self.untold += count;
        }
    }

    /// How many dropped records to tell of now that so many are handled.
    fn take_untold(&mut self, handled: u64) -> u64 {
        if handled < self.tell_after { 0 } else { std::mem::take(&mut self.untold) }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while it is so, but no longer than patience allows.
    fn wait(&self, patience: Duration, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.lock(), patience, |state| is_so(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Says that the writer's thread has ended, however it did.
struct Over(Arc<Shared>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

/// The writer's thread.
struct Writing {
    sink: Sink,
    queue: Receiver<Arc<AuditRecord>>,
    shared: Arc<Shared>,
}

impl Writing {
    /// Writes what is queued until the last handle is gone.
    fn run(mut self) {
        let mut lines = Vec::new();
        while let Ok(first) = self.queue.recv() {
            let mut count = 0;
            for record in iter::once(first).chain(self.queue.try_iter()).take(BATCH) {
                add_line(&mut lines, &*record);
                count += 1;
            }
            self.write(&lines, count);
            lines.clear();
        }
        // One more chance for what could not be written.
        self.write(&[], 0);
    }

    /// Writes the lines of so many records, then how many are missing, and flushes.
    fn write(&mut self, lines: &[u8], count: u64) {
        let lost = self.sink.write(lines);
        let handled = self.shared.lock().handled + count;
        let is_told = self.tell_of(lost, handled);
        let is_complete = self.sink.flush() && is_told;
        let mut state = self.shared.lock();
        state.handled = handled;
        if is_complete {
            state.flushed = handled;
        }
        self.shared.changed.notify_all();
    }

    /// Writes how many are missing, with those that were just lost; whether that could be written.
    fn tell_of(&mut self, lost: u64, handled: u64) -> bool {
        let untold = {
            let mut state = self.shared.lock();
            state.drop_records(lost, handled);
            state.take_untold(handled)
        };
        if untold == 0 {
            return true;
        }
        let mut line = Vec::new();
        add_line(&mut line, &Missing { time: SystemTime::now(), dropped: untold });
        let is_told = self.sink.write(&line) == 0;
        if !is_told {
            self.shared.lock().untold += untold;
        }
        is_told
    }
}

/// The line that says how many records are missing.
#[derive(Serialize)]
struct Missing {
    #[serde(serialize_with = "as_rfc3339")]
    time: SystemTime,
    dropped: u64,
}

fn add_line(lines: &mut Vec<u8>, line: &impl Serialize) {
    // Texts and numbers alone: nothing here can fail.
    let _ = serde_json::to_writer(&mut *lines, line);
    lines.push(b'\n');
}

/// Writes whole lines, as far as the writer lets it.
struct Sink {
    writer: Box<dyn Write + Send>,
    /// The rest of a line that the writer failed in the middle of. It comes before the next one, so that every line of
    /// the file is whole in the end.
    rest: Vec<u8>,
}

impl Sink {
    /// Writes lines; how many of them were not even begun.
    fn write(&mut self, lines: &[u8]) -> u64 {
        let written = self.push(&self.rest.clone());
        self.rest.drain(..written);
        if !self.rest.is_empty() {
            return count(lines);
        }
        let written = self.push(lines);
        let (done, mut left) = lines.split_at(written);
        if done.last().is_some_and(|last| *last != b'\n') {
            let end = left.iter().position(|byte| *byte == b'\n').map_or(left.len(), |end| end + 1);
            self.rest = left[..end].to_vec();
            left = &left[end..];
        }
        count(left)
    }

    /// Writes until all is written or the writer fails; how many bytes it took.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match attempt(|| self.writer.write(&bytes[written..])) {
                Ok(0) => break,
                Ok(more) => written = bytes.len().min(written + more),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        written
    }

    /// Whether all that was begun is out.
    fn flush(&mut self) -> bool {
        attempt(|| self.writer.flush()).is_ok() && self.rest.is_empty()
    }
}

/// A writer that panics has failed, and may do better next time.
fn attempt<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
}

fn count(lines: &[u8]) -> u64 {
    lines.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::{self, Write};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use serde_json::{Value, json};

    use super::{AuditLog, LONGEST_TEXT};
    use crate::observe::{Arguments, CallOutcome, CallRecord, Observer};

    const SHORT: Duration = Duration::from_millis(20);

    fn record<'a>(tool: &'a str, arguments: &'a Value) -> CallRecord<'a> {
        CallRecord {
            time: UNIX_EPOCH + Duration::from_millis(1_785_231_000_125),
            tool,
            called_as: tool,
            caller: None,
            request_id: None,
            outcome: CallOutcome::Success,
            duration: Duration::from_micros(250),
            error_type: None,
            message: None,
            correlation_id: None,
            notices: &[],
            arguments: Arguments::Value(arguments),
        }
    }

    fn observe(log: &AuditLog, tool: &str) {
        log.observe(&record(tool, &Value::Null));
    }

    fn tools(log: &AuditLog) -> Vec<String> {
        log.records().iter().map(|record| record.tool.clone()).collect()
    }

    /// A file that can be read while it is written.
    #[derive(Clone, Default)]
    struct File(Arc<Mutex<Vec<u8>>>);

    impl File {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        /// Every line in short: the tool, or how many are missing.
        fn lines(&self) -> Vec<String> {
            let lines = self.text();
            let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
            lines
                .map(|line| line.get("tool").map_or(line["dropped"].to_string(), |t| t.as_str().unwrap().into()))
                .collect()
        }
    }

    impl Write for File {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Says that it was reached, then blocks until it is let go on, or until nobody can let it any more.
    struct Gate {
        file: File,
        reached: Sender<()>,
        go_on: Receiver<()>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.reached.send(());
            let _ = self.go_on.recv();
            self.file.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gate() -> (File, Gate, Receiver<()>, Sender<()>) {
        let (reached, is_reached) = channel();
        let (let_go_on, go_on) = channel();
        let file = File::default();
        (file.clone(), Gate { file, reached, go_on }, is_reached, let_go_on)
    }

    /// Does what the list says, and then what it should.
    struct Faulty {
        file: File,
        faults: VecDeque<Fault>,
    }

    enum Fault {
        Error,
        Interrupted,
        Panic,
        Zero,
        /// Takes so many bytes.
        Partly(usize),
    }

    impl Write for Faulty {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.faults.pop_front() {
                None => self.file.write(bytes),
                Some(Fault::Error) => Err(io::Error::other("no space left")),
                Some(Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
                Some(Fault::Panic) => panic!("a panic that the test wants"),
                Some(Fault::Zero) => Ok(0),
                Some(Fault::Partly(size)) => self.file.write(&bytes[..size]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn faulty(faults: impl IntoIterator<Item = Fault>) -> (File, AuditLog) {
        let file = File::default();
        let log = AuditLog::jsonl(Faulty { file: file.clone(), faults: faults.into_iter().collect() });
        (file, log)
    }

    #[test]
    fn the_last_records_are_kept_oldest_first() {
        let log = AuditLog::builder().capacity(2).build();
        for tool in ["a", "b", "c"] {
            observe(&log, tool);
        }
        assert_eq!(tools(&log.clone()), ["b", "c"]);
        assert!(log.flush());
        let none = AuditLog::builder().capacity(0).build();
        observe(&none, "a");
        assert!(none.records().is_empty());
    }

    #[test]
    fn a_record_is_a_line_without_what_is_not_known() {
        let file = File::default();
        let log = AuditLog::jsonl(file.clone());
        observe(&log, "calc.add");
        let full = CallRecord {
            called_as: "add",
            caller: Some("ann"),
            request_id: Some("7"),
            outcome: CallOutcome::Failure,
            error_type: Some("TimeoutError"),
            correlation_id: Some("c-1"),
            ..record("calc.add", &Value::Null)
        };
        log.observe(&full);
        assert!(log.flush());
        let hash = &log.records()[0].arguments_hash;
        assert!(hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        let head = r#"{"time":"2026-07-28T09:30:00.125Z","tool":"calc.add","#;
        let short = format!(r#"{head}"arguments_hash":"{hash}","outcome":"success","ms":0.25}}"#);
        let whole = format!(
            r#"{head}"called_as":"add","arguments_hash":"{hash}","caller":"ann","request_id":"7","outcome":"failure","ms":0.25,"error_type":"TimeoutError","correlation_id":"c-1"}}"#
        );
        assert_eq!(file.text(), format!("{short}\n{whole}\n"));
    }

    #[test]
    fn whatever_is_in_a_name_a_record_is_one_line() {
        let file = File::default();
        let log = AuditLog::jsonl(file.clone());
        let nasty = "a\r\n{\"dropped\":9}\n\"\\\u{0}\u{2028}";
        log.observe(&CallRecord { caller: Some(nasty), request_id: Some(nasty), ..record(nasty, &Value::Null) });
        assert!(log.flush());
        assert_eq!(file.text().matches('\n').count(), 1);
        let line: Value = serde_json::from_str(&file.text()).unwrap();
        assert_eq!((&line["tool"], &line["caller"]), (&json!(nasty), &json!(nasty)));
    }

    #[test]
    fn long_names_are_cut() {
        let log = AuditLog::new();
        observe(&log, &"ö".repeat(1_000_000));
        observe(&log, &"n".repeat(LONGEST_TEXT));
        assert_eq!(tools(&log), [format!("{}…", "ö".repeat(LONGEST_TEXT / 2)), "n".repeat(LONGEST_TEXT)]);
    }

    #[test]
    fn times_without_four_digits_are_written_too() {
        let file = File::default();
        let log = AuditLog::jsonl(file.clone());
        for time in [UNIX_EPOCH - Duration::from_secs(9), UNIX_EPOCH + Duration::from_secs(300_000_000_000)] {
            log.observe(&CallRecord { time, ..record("a", &Value::Null) });
        }
        assert!(log.flush());
        let text = file.text();
        assert!(
            text.contains("\"1970-01-01T00:00:00.000Z\"") && text.contains("\"9999-12-31T23:59:59.000Z\""),
            "{text}"
        );
    }

    #[test]
    fn the_hash_depends_on_the_arguments_and_the_key_alone() {
        let hash = |log: &AuditLog, arguments: Arguments<'_>| {
            log.observe(&CallRecord { arguments, ..record("a", &Value::Null) });
            log.records().last().unwrap().arguments_hash.clone()
        };
        let log = AuditLog::builder().key([7; 16]).build();
        let one = hash(&log, Arguments::Json(r#"{"a": 1, "b": {"c": [2], "d": null}}"#));
        assert_eq!(one, hash(&log, Arguments::Json(r#"{"b":{"d":null,"c":[2]},"a":1}"#)));
        assert_eq!(one, hash(&log, Arguments::Value(&json!({ "b": { "c": [2], "d": null }, "a": 1 }))));
        assert_eq!(
            one,
            hash(&AuditLog::builder().key([7; 16]).build(), Arguments::Json(r#"{"a":1,"b":{"c":[2],"d":null}}"#))
        );
        assert_ne!(one, hash(&log, Arguments::Json(r#"{"a": 2, "b": {"c": [2], "d": null}}"#)));

        let same = json!({ "a": 1 });
        let keyed = [AuditLog::builder().key([7; 16]).build(), AuditLog::builder().key([8; 16]).build()];
        assert_ne!(hash(&keyed[0], Arguments::Value(&same)), hash(&keyed[1], Arguments::Value(&same)));
        let random = [AuditLog::new(), AuditLog::new()];
        assert_ne!(hash(&random[0], Arguments::Value(&same)), hash(&random[1], Arguments::Value(&same)));
    }

    #[test]
    fn no_secret_is_written() {
        let file = File::default();
        let log = AuditLog::builder().key(*b"hunter2-the-key-").jsonl(file.clone());
        let arguments = json!({ "password": "hunter2" });
        assert!(!format!("{:?}", record("log.in", &arguments)).contains("hunter2"));
        log.observe(&CallRecord { message: Some("`hunter2` is wrong"), ..record("log.in", &arguments) });
        log.observe(&CallRecord {
            arguments: Arguments::Json("{\"password\": hunter2"),
            ..record("log.in", &arguments)
        });
        assert!(log.flush());
        assert_eq!(file.lines(), ["log.in", "log.in"]);
        for shown in [file.text(), format!("{log:?}"), format!("{:?}", log.records())] {
            assert!(!shown.contains("hunter2") && !shown.contains("password"), "{shown}");
        }
    }

    #[test]
    fn a_blocked_writer_blocks_no_call_and_the_file_says_what_is_missing() {
        let (file, gate, is_reached, let_go_on) = gate();
        let mut setup = AuditLog::builder().capacity(100).queue(3);
        setup.patience = SHORT;
        let log = setup.jsonl(gate);
        observe(&log, "first");
        is_reached.recv().unwrap();
        (0..10).for_each(|n| observe(&log, &format!("t{n}")));
        assert_eq!((log.dropped(), log.records().len()), (7, 11));
        assert!(!log.flush(), "the writer is blocked");
        assert_eq!(file.text(), "");

        drop(let_go_on);
        let deadline = Instant::now() + Duration::from_secs(10);
        while !log.flush() && Instant::now() < deadline {}
        assert_eq!(file.lines(), ["first", "t0", "t1", "t2", "7"]);
        observe(&log, "later");
        while !log.flush() && Instant::now() < deadline {}
        assert_eq!(file.lines(), ["first", "t0", "t1", "t2", "7", "later"]);
        assert_eq!(log.dropped(), 7);
    }

    #[test]
    fn the_last_handle_writes_what_is_queued() {
        let file = File::default();
        let log = AuditLog::jsonl(file.clone());
        let handle = log.clone();
        drop(log);
        (0..1000).for_each(|n| observe(&handle, &n.to_string()));
        drop(handle);
        assert_eq!(file.lines(), (0..1000).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn the_last_handle_does_not_wait_for_ever() {
        let (_file, gate, is_reached, _let_go_on) = gate();
        let mut setup = AuditLog::builder();
        setup.patience = SHORT;
        let log = setup.jsonl(gate);
        observe(&log, "a");
        is_reached.recv().unwrap();
        let begin = Instant::now();
        drop(log);
        assert!(begin.elapsed() >= SHORT);
    }

    #[test]
    fn a_writer_that_fails_is_tried_again() {
        // The first two: a record, and the line that tells of it.
        for fault in [|| Fault::Error, || Fault::Zero, || Fault::Panic] {
            let (file, log) = faulty([fault(), fault()]);
            observe(&log, "lost");
            assert!(!log.flush());
            assert_eq!((log.dropped(), file.text().as_str()), (1, ""));
            observe(&log, "a");
            assert!(log.flush());
            assert_eq!((log.dropped(), file.lines()), (1, vec!["a".to_owned(), "1".to_owned()]));
        }
    }

    #[test]
    fn what_is_missing_is_told_at_the_end_at_the_latest() {
        let (file, log) = faulty([Fault::Error, Fault::Error]);
        observe(&log, "lost");
        drop(log);
        assert_eq!(file.lines(), ["1"]);
    }

    #[test]
    fn an_interrupted_writer_has_not_failed() {
        let (file, log) = faulty([Fault::Interrupted, Fault::Partly(3), Fault::Interrupted]);
        observe(&log, "a");
        assert!(log.flush());
        assert_eq!((log.dropped(), file.lines()), (0, vec!["a".to_owned()]));
    }

    #[test]
    fn a_line_that_was_begun_is_finished() {
        let (file, log) = faulty([Fault::Partly(5), Fault::Error, Fault::Partly(2), Fault::Error]);
        observe(&log, "begun");
        assert!(!log.flush());
        assert_eq!(file.text(), "{\"tim");
        // Two more bytes of it, and then another error: this one is not begun.
        observe(&log, "lost");
        assert!(log.flush());
        assert_eq!((log.dropped(), file.lines()), (1, vec!["begun".to_owned(), "1".to_owned()]));
    }

    #[test]
    fn threads_lose_nothing() {
        let file = File::default();
        let log = AuditLog::builder().capacity(4000).jsonl(file.clone());
        thread::scope(|scope| {
            for thread in 0..4 {
                let log = log.clone();
                scope.spawn(move || (0..1000).for_each(|n| observe(&log, &format!("{thread}.{n}"))));
            }
        });
        assert!(log.flush());
        let (lines, dropped) = (file.lines(), log.dropped());
        assert_eq!((dropped, log.records().len()), (0, 4000));
        assert_eq!(lines, tools(&log));
    }

    #[test]
    fn the_time_of_what_is_missing_is_now() {
        let (file, log) = faulty([Fault::Error]);
        observe(&log, "lost");
        assert!(log.flush());
        let line: Value = serde_json::from_str(&file.text()).unwrap();
        let time = humantime::parse_rfc3339(line["time"].as_str().unwrap()).unwrap();
        assert!(SystemTime::now().duration_since(time).unwrap_or_default() < Duration::from_secs(60));
        assert_eq!(line, json!({ "time": line["time"], "dropped": 1 }));
    }
}
