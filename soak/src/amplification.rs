//! What single messages cost the server, if they are made to be expensive.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::client_http::{Connection, request};
use crate::mix::{VERSIONS, number_in, write_call};
use crate::process::{Process, Sample, progress, waiting_for};
use crate::report::{bytes, row, shown};
use crate::server::TREE_DEADLINE;

/// How late an answer may be, because other processes share the machine.
const TOLERANCE: Duration = Duration::from_secs(1);

/// How long an answer is waited for.
const LONG: Duration = Duration::from_secs(100);

/// The depth of the tree that is slow to parse: 2^23 attempts.
const DEPTH: usize = 23;

const HEAD: &str = "\
| message | bytes sent | peak memory | per byte | processor time | per byte | slowest answer | largest answer |
|---|--:|--:|--:|--:|--:|--:|--:|
";

/// A server of its own for one case, and what it used before.
struct Case {
    process: Process,
    address: SocketAddr,
    before: Sample,
}

/// The answers of a case.
struct Answers {
    sent: usize,
    slowest: Duration,
    largest: usize,
    texts: Vec<String>,
}

impl Case {
    fn start(what: &str) -> io::Result<Self> {
        waiting_for(format!("the answer to {what}"));
        let (process, address) = Process::start_http(None)?;
        // What the first call sets up is not counted.
        ask(address, &call("soak_add_in_future", r#"{"a":1,"b":2}"#, ""))?;
        let before = process.sample()?;
        Ok(Self { process, address, before })
    }

    /// Sends a message over this many connections at once.
    fn send(&self, message: &[u8], times: usize) -> io::Result<Answers> {
        let mut answers =
            Answers { sent: message.len() * times, slowest: Duration::ZERO, largest: 0, texts: Vec::new() };
        thread::scope(|scope| {
            let asking: Vec<_> = (0..times).map(|_| scope.spawn(|| ask(self.address, message))).collect();
            for asked in asking {
                let (time, body) = asked.join().map_err(|_| io::Error::other("a client panicked"))??;
                answers.slowest = answers.slowest.max(time);
                answers.largest = answers.largest.max(body.len());
                answers.texts.push(String::from_utf8_lossy(&body).into_owned());
                progress();
            }
            Ok(answers)
        })
    }

    /// Sends a message over this many connections at once, while other clients must not have to wait.
    fn send_while_others_ask(
        &self,
        what: &str,
        message: &[u8],
        times: usize,
        problems: &mut Vec<String>,
    ) -> io::Result<(Answers, String)> {
        let over = AtomicBool::new(false);
        let (answers, others) = thread::scope(|scope| {
            let others = scope.spawn(|| ask_others(self.address, &over));
            // Let them begin.
            thread::sleep(Duration::from_millis(100));
            let answers = self.send(message, times);
            over.store(true, Relaxed);
            (answers, others.join())
        });
        let (health, add, asked) = others.map_err(|_| io::Error::other("a client panicked"))??;
        for (who, time) in [("`/health`", health), ("`soak_add_in_future`", add)] {
            if time > TOLERANCE {
                problems.push(format!("{what}: {who} took {} meanwhile", shown(time)));
            }
        }
        let meanwhile = format!(
            "Meanwhile {asked} requests for `/health` and as many other calls were answered, the slowest after {} and {}.",
            shown(health),
            shown(add)
        );
        Ok((answers?, meanwhile))
    }

    /// Appends the row of the case, once the server is idle. Fails if it took more than this multiple of the sent bytes.
    #[allow(clippy::cast_precision_loss, reason = "these are figures to read")]
    fn write(&self, what: &str, answers: &Answers, most: f64, out: &mut String) -> io::Result<()> {
        let mut after = self.process.sample()?;
        for _ in 0..120 {
            thread::sleep(Duration::from_millis(500));
            let cpu = after.cpu;
            after = self.process.sample()?;
            if after.cpu == cpu {
                break;
            }
        }
        let (peak, cpu) = (after.peak.saturating_sub(self.before.memory), after.cpu.saturating_sub(self.before.cpu));
        let sent = answers.sent as f64;
        row(
            out,
            &[
                what,
                &answers.sent.to_string(),
                &bytes(peak),
                &format!("{:.1} bytes", peak as f64 / sent),
                &shown(cpu),
                &format!("{:.1e} s", cpu.as_secs_f64() / sent),
                &shown(answers.slowest),
                &format!("{} bytes", answers.largest),
            ],
        );
        if peak as f64 > most * sent {
            return Err(io::Error::other(format!(
                "it took {} of memory, more than {most} bytes per byte",
                bytes(peak)
            )));
        }
        Ok(())
    }
}

fn call(tool: &str, arguments: &str, meta: &str) -> Vec<u8> {
    let mut message = Vec::new();
    write_call(&mut message, 1, VERSIONS[1], tool, format_args!("{arguments}{meta}"));
    message
}

/// Sends a message over a new connection, and reads the answer.
fn ask(address: SocketAddr, message: &[u8]) -> io::Result<(Duration, Vec<u8>)> {
    let (mut connection, mut out) = (Connection::open(address)?, Vec::new());
    connection.wait_at_most(LONG)?;
    request(&mut out, VERSIONS[1], "", None, message);
    let started = Instant::now();
    connection.send(&out)?;
    let reply = connection.reply()?;
    Ok((started.elapsed(), connection.body(&reply).to_vec()))
}

/// A list of zeros of this many bytes, as JSON.
fn zeros(bytes: usize) -> String {
    format!("[0{}]", ",0".repeat((bytes - 3) / 2))
}

/// Appends the table, and what went wrong.
pub(crate) fn measure(out: &mut String, problems: &mut Vec<String>) {
    out.push_str(HEAD);
    let mut meanwhile = String::new();
    for (what, measured) in [
        ("16 MiB of zeros", rejected(out, &mut meanwhile, problems)),
        ("trees that are slow to parse", slow_to_parse(out, &mut meanwhile, problems)),
        ("much `_meta`", meta(out, problems)),
    ] {
        problems.extend(measured.err().map(|error| format!("{what}: {error}")));
    }
    out.push_str(&meanwhile);
}

/// A message of the maximum length, in which nothing is valid.
fn rejected(out: &mut String, meanwhile: &mut String, problems: &mut Vec<String>) -> io::Result<()> {
    let what = "16 MiB of zeros for a list of words with a pattern";
    let case = Case::start(what)?;
    let frame = call("soak_letters", r#"{"words":}"#, "").len();
    let message = call("soak_letters", &format!(r#"{{"words":{}}}"#, zeros(16 * 1024 * 1024 - frame)), "");
    let (answers, others) = case.send_while_others_ask(what, &message, 1, problems)?;
    let _ = writeln!(meanwhile, "\nThe zeros were rejected after {}. {others}", shown(answers.slowest));
    if !answers.texts[0].contains(r#""isError":true"#) {
        problems.push(format!("{what}: answered with {:.200}", answers.texts[0]));
    }
    case.write(what, &answers, 80.0, out)
}

/// Messages that are slow to parse, enough to keep all processors busy, while other clients send requests.
fn slow_to_parse(out: &mut String, meanwhile: &mut String, problems: &mut Vec<String>) -> io::Result<()> {
    let times = thread::available_parallelism().map_or(2, usize::from) + 1;
    let what = format!("{times} trees that are slow to parse");
    let case = Case::start(&what)?;
    let tree = format!("{}0{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let frame = call("soak_tree", &format!(r#"{{"tree":{tree},"note":""}}"#), "").len();
    let message = call("soak_tree", &format!(r#"{{"tree":{tree},"note":"{}"}}"#, "x".repeat(665 - frame)), "");
    let (answers, others) = case.send_while_others_ask(&what, &message, times, problems)?;
    let late = answers.slowest.saturating_sub(TREE_DEADLINE);
    if late > TOLERANCE {
        problems.push(format!("{what}: answered after {}, with a deadline of 1 s", shown(answers.slowest)));
    }
    // They are small: the memory is the stack of a thread or two.
    case.write(&what, &answers, f64::INFINITY, out)?;
    let _ = writeln!(
        meanwhile,
        "\nThe trees have a deadline of {}; the last answer came {} after it. {others}",
        shown(TREE_DEADLINE),
        shown(late),
    );
    Ok(())
}

/// Checks the server's health and calls a tool, again and again. Returns the longest time of each, and their number.
fn ask_others(address: SocketAddr, over: &AtomicBool) -> io::Result<(Duration, Duration, usize)> {
    let (mut health, mut add, mut asked) = (Duration::ZERO, Duration::ZERO, 0);
    let mut connection = Connection::open(address)?;
    connection.wait_at_most(LONG)?;
    while !over.load(Relaxed) {
        let started = Instant::now();
        connection.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        if connection.reply()?.status != 200 {
            return Err(io::Error::other("`/health` is not answered with 200"));
        }
        health = health.max(started.elapsed());
        let (time, answer) = ask(address, &call("soak_add_in_future", r#"{"a":20,"b":22}"#, ""))?;
        if number_in(&answer)? != 42 {
            return Err(io::Error::other("20 and 22 are not 42"));
        }
        add = add.max(time);
        asked += 1;
        thread::sleep(Duration::from_millis(20));
    }
    Ok((health, add, asked))
}

/// Calls with more `_meta` than is accepted.
fn meta(out: &mut String, problems: &mut Vec<String>) -> io::Result<()> {
    let what = "8 calls with 4 MB of `_meta`";
    let case = Case::start(what)?;
    let message = call("soak_hold", "{}", &format!(r#","_meta":{{"filler":{}}}"#, zeros(4_000_000)));
    let answers = case.send(&message, 8)?;
    if let Some(text) = answers.texts.iter().find(|text| !text.contains(r#""code":-32602"#)) {
        problems.push(format!("{what}: answered with {text:.200}"));
    }
    case.write(what, &answers, 8.0, out)
}
