//! Calls over stdin and stdout, many in flight.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::ops::Range;
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::mix::{Answer, Call, Kind, MAX_MESSAGE, VERSIONS, number_in, write_call, write_cancel, write_initialize};
use crate::process::{PATIENCE, Process, progress, until_none_runs, waiting_for};
use crate::report::{Tallies, Vitals};

/// How many calls are in flight at most. More are sent when half of them have been answered.
const WINDOW: usize = 256;
/// A call is cancelled after this many others that will be cancelled have been sent.
const CANCEL_AFTER: usize = 4;

/// A server and its pipes.
struct Connection {
    process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Connection {
    fn start(version: &str) -> io::Result<Self> {
        let mut process = Process::start("serve-stdio", Some(MAX_MESSAGE))?;
        let pipes = process.0.stdin.take().zip(process.0.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("the server has no pipes"))?;
        let mut connection = Self { process, input, output: BufReader::with_capacity(64 * 1024, output) };
        if version != VERSIONS[0] {
            let mut message = Vec::new();
            write_initialize(&mut message, version);
            connection.ask(message)?;
            connection.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        }
        Ok(connection)
    }

    /// Sends one message and reads one line.
    fn ask(&mut self, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
        message.push(b'\n');
        self.input.write_all(&message)?;
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Asks until no call is running.
    fn left_running(&mut self, version: &str) -> io::Result<i64> {
        let mut message = Vec::new();
        write_call(&mut message, 0, version, "soak_running", format_args!("{{}}"));
        until_none_runs(|| number_in(&self.ask(message.clone())?))
    }
}

/// A quarter of the calls.
struct Quarter {
    numbers: Range<u64>,
    version: &'static str,
    in_flight: Mutex<InFlight>,
    /// Half of the calls in flight, or all of them, have been answered.
    room: Condvar,
}

/// What has been sent and not been answered.
#[derive(Default)]
struct InFlight {
    calls: HashMap<u64, Instant>,
    /// Malformed and oversized messages, which are answered in order and without an id.
    malformed: VecDeque<(u64, Instant)>,
    oversized: VecDeque<(u64, Instant)>,
    /// Cancelled calls that were answered all the same.
    late: HashSet<u64>,
    all_sent: bool,
}

impl InFlight {
    fn len(&self) -> usize {
        self.calls.len() + self.malformed.len() + self.oversized.len()
    }
}

impl Quarter {
    fn new(numbers: Range<u64>, version: &'static str) -> Self {
        Self { numbers, version, in_flight: Mutex::default(), room: Condvar::new() }
    }

    fn call(&self, number: u64) -> Call {
        let call = Call::new(number, self.version);
        // The last call has to be answered, and disconnecting takes servers of its own.
        let is_good = number + 1 == self.numbers.end || call.kind == Kind::Disconnecting;
        Call { kind: if is_good { Kind::Good } else { call.kind }, ..call }
    }

    fn locked(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until at most this many calls are in flight.
    fn wait_for(&self, most: usize) -> io::Result<MutexGuard<'_, InFlight>> {
        let waited = self.room.wait_timeout_while(self.locked(), PATIENCE, |state| state.len() > most);
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(io::Error::other(format!("no answers to {} calls for {} s", state.len(), PATIENCE.as_secs())));
        }
        Ok(state)
    }

    /// Makes the calls.
    fn run(&self, connection: &mut Connection, tallies: &mut Tallies) -> io::Result<()> {
        let Connection { process, input, output } = connection;
        let (mut sent, mut got) = (Tallies::default(), Tallies::default());
        let (written, read) = thread::scope(|scope| {
            let reading = scope.spawn(|| self.read(output, &mut got));
            // The reader then finds the end of the output.
            let written = self.write(input, &mut sent).or_else(|error| process.0.kill().and(Err(error)));
            (written, reading.join())
        });
        tallies.merge(sent);
        tallies.merge(got);
        written.and(read.unwrap_or_else(|_| Err(io::Error::other("the reading thread panicked"))))
    }

    /// Sends the calls, and waits for the last answer.
    fn write(&self, input: &mut ChildStdin, tallies: &mut Tallies) -> io::Result<()> {
        let (mut numbers, mut out, mut to_cancel) = (self.numbers.clone(), Vec::new(), VecDeque::new());
        while !numbers.is_empty() {
            let mut state = self.wait_for(WINDOW / 2)?;
            let now = Instant::now();
            while state.len() < WINDOW {
                let Some(number) = numbers.next() else { break };
                let call = self.call(number);
                tallies.sent(call);
                call.write(&mut out);
                out.push(b'\n');
                match call.kind {
                    Kind::Malformed => state.malformed.push_back((number, now)),
                    Kind::Oversized => state.oversized.push_back((number, now)),
                    Kind::Cancelled => to_cancel.push_back(number),
                    _ => drop(state.calls.insert(number, now)),
                }
                state.all_sent = numbers.is_empty();
                while to_cancel.len() > if state.all_sent { 0 } else { CANCEL_AFTER } {
                    to_cancel.pop_front().into_iter().for_each(|number| write_cancel(&mut out, number));
                    out.push(b'\n');
                }
            }
            drop(state);
            input.write_all(&out)?;
            out.clear();
        }
        self.wait_for(0).map(drop)
    }

    /// Reads until every call is answered.
    fn read(&self, output: &mut BufReader<ChildStdout>, tallies: &mut Tallies) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if output.read_until(b'\n', &mut line)? == 0 {
                return Err(io::Error::other("the server closed its output"));
            }
            progress();
            self.count(&line, tallies);
            let state = self.locked();
            if state.len() <= WINDOW / 2 {
                self.room.notify_one();
            }
            if state.all_sent && state.len() == 0 {
                return Ok(());
            }
        }
    }

    /// Counts an answer.
    fn count(&self, line: &[u8], tallies: &mut Tallies) {
        let Ok(answer) = serde_json::from_slice::<Answer<'_>>(line) else {
            return tallies.problem(format!("not an answer: {}", String::from_utf8_lossy(line)));
        };
        let mut state = self.locked();
        let found = match (answer.id, answer.error.as_ref().map(|error| error.code)) {
            (Some(id), _) => Some((id, state.calls.remove(&id))),
            (None, Some(-32700)) => state.malformed.pop_front().map(|(number, sent)| (number, Some(sent))),
            (None, _) => state.oversized.pop_front().map(|(number, sent)| (number, Some(sent))),
        };
        let Some((number, sent)) = found else {
            return tallies.problem(format!("an answer to nothing: {answer:?}"));
        };
        let call = self.call(number);
        let came_late = sent.is_none() && call.kind == Kind::Cancelled && state.late.insert(number);
        drop(state);
        match sent {
            Some(sent) => tallies.answered(call, sent.elapsed(), call.check(&answer)),
            None if came_late => tallies.answered(call, Duration::ZERO, call.check(&answer)),
            None => tallies.duplicated(call),
        }
    }
}

/// Makes this many calls in one version, and returns what the server used.
pub(crate) fn soak(version: &'static str, calls: u64, tallies: &mut Tallies) -> io::Result<Vitals> {
    let server = format!("stdio, {version}");
    let mut connection = Connection::start(version)?;
    connection.left_running(version)?;
    let mut samples = vec![connection.process.sample()?];
    for quarter in 0..4 {
        waiting_for(format!("{calls} calls over {server}, quarter {}", quarter + 1));
        Quarter::new(calls * quarter / 4..calls * (quarter + 1) / 4, version).run(&mut connection, tallies)?;
        connection.process.sample_quarter(&mut samples)?;
    }
    let left_running = connection.left_running(version)?;
    let Connection { mut process, input, mut output } = connection;
    drop(input);
    let (mut line, all) = (Vec::new(), Quarter::new(0..calls, version));
    // Anything that still arrives is a second answer.
    while output.read_until(b'\n', &mut line)? > 0 {
        all.count(&line, tallies);
        line.clear();
    }
    if !process.end()?.success() {
        tallies.problem("the server does not end well with its input".to_owned());
    }
    Ok(Vitals { server, samples, left_running })
}

/// Starts servers and closes their pipes in the middle of a message or of a call; the next one works.
pub(crate) fn disconnect(version: &'static str, times: u64, tallies: &mut Tallies) -> io::Result<()> {
    waiting_for(format!("{times} servers over stdio, {version}, to end when they are disconnected"));
    for number in 0..times {
        progress();
        let good = Call { number, kind: Kind::Good, version };
        let gone = Call { number, kind: Kind::Disconnecting, version };
        let (mut message, mut cut) = (Vec::new(), Vec::new());
        good.write(&mut message);
        gone.write(&mut cut);
        let mut connection = Connection::start(version)?;
        let started = Instant::now();
        tallies.sent(good);
        let mut line = connection.ask(message)?;
        tallies.answered(good, started.elapsed(), good.check(&serde_json::from_slice(&line)?));
        tallies.sent(gone);
        let how = number % 3;
        if how == 0 {
            cut.truncate(cut.len() / 2);
        } else {
            cut.push(b'\n');
        }
        let Connection { mut process, mut input, mut output } = connection;
        input.write_all(&cut)?;
        if how == 2 {
            drop(output);
            drop(input);
            // Nothing is left that could report the end.
            process.end()?;
            tallies.silent(gone);
            continue;
        }
        // Only the input ends: the call in flight is answered, and half a message is malformed.
        drop(input);
        line.clear();
        output.read_to_end(&mut line)?;
        let cut = Call { kind: if how == 0 { Kind::Malformed } else { Kind::Disconnecting }, ..gone };
        tallies.answered(gone, started.elapsed(), cut.check(&serde_json::from_slice(&line)?));
        if !process.end()?.success() {
            tallies.problem("a server does not end well with its input".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::Quarter;
    use crate::mix::{Kind, VERSIONS};
    use crate::report::Tallies;

    /// The lost, duplicated and wrong calls of ten good ones, each answered this many times.
    fn counts(times: usize, sum: impl Fn(u64) -> i64) -> [u64; 3] {
        let (quarter, mut tallies) = (Quarter::new(0..1000, VERSIONS[1]), Tallies::default());
        let good = |number: &u64| quarter.call(*number).kind == Kind::Good;
        for number in (0..1000).filter(good).take(10) {
            tallies.sent(quarter.call(number));
            quarter.locked().calls.insert(number, Instant::now());
            let sum = sum(number);
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"{sum}"}}],"structuredContent":{{"result":{sum}}}}}}}"#
            );
            (0..times).for_each(|_| quarter.count(answer.as_bytes(), &mut tallies));
        }
        tallies.failures()
    }

    #[test]
    fn lost_duplicated_and_wrong_answers_are_counted() {
        let sum = |number| Quarter::new(0..1000, VERSIONS[1]).call(number).sum();
        assert_eq!(counts(1, sum), [0, 0, 0]);
        assert_eq!(counts(0, sum), [10, 0, 0]);
        assert_eq!(counts(3, sum), [0, 20, 0]);
        assert_eq!(counts(1, |number| sum(number) + 1), [0, 0, 10]);
    }
}
