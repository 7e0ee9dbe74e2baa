//! Counting, and the tables that show the counts.

use std::fmt::Write as _;
use std::time::Duration;

use crate::mix::{Call, Kind, MIX};
use crate::process::Sample;
use crate::server::DEADLINE;

/// Latencies, to within 3 %: 32 buckets for each power of two of nanoseconds.
pub(crate) struct Histogram(Vec<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self(vec![0; 64 * 32])
    }
}

impl Histogram {
    fn record(&mut self, time: Duration) {
        let nanos = usize::try_from(time.as_nanos()).unwrap_or(usize::MAX).max(32);
        let shift = nanos.ilog2() as usize - 5;
        self.0[shift * 32 + (nanos >> shift) - 32] += 1;
    }

    /// The latency that this share of the calls, in thousandths, does not exceed.
    fn quantile(&self, thousandths: u64) -> Option<Duration> {
        let all: u64 = self.0.iter().sum();
        let mut left = (all * thousandths).div_ceil(1000).max(1);
        let bucket = self.0.iter().position(|count| {
            let is_here = left <= *count;
            left = left.saturating_sub(*count);
            is_here
        })?;
        Some(Duration::from_nanos(((bucket % 32 + 33) as u64) << (bucket / 32)))
    }
}

/// The counts of one kind of calls.
#[derive(Default)]
pub(crate) struct Tally {
    sent: u64,
    /// Answered, for the first time.
    once: u64,
    /// Not answered, as the client asked for.
    silent: u64,
    duplicated: u64,
    wrong: u64,
    latency: Histogram,
}

impl Tally {
    fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.once + self.silent)
    }
}

/// The counts of all kinds, over one transport.
#[derive(Default)]
pub(crate) struct Tallies {
    by_kind: [Tally; MIX.len()],
    /// The largest distance between a deadline and the answer of its call.
    off_deadline: Duration,
    /// The first things that went wrong.
    problems: Vec<String>,
}

impl Tallies {
    fn of(&mut self, kind: Kind) -> &mut Tally {
        &mut self.by_kind[kind as usize]
    }

    pub(crate) fn sent(&mut self, call: Call) {
        self.of(call.kind).sent += 1;
    }

    /// Counts the first answer to a call, with what is wrong with it.
    pub(crate) fn answered(&mut self, call: Call, time: Duration, checked: Result<(), String>) {
        let tally = self.of(call.kind);
        tally.once += 1;
        tally.latency.record(time);
        if let Err(answer) = checked {
            tally.wrong += 1;
            self.problem(format!("wrong answer to call {} ({:?}, {}): {answer}", call.number, call.kind, call.version));
        }
        if call.kind == Kind::Slow {
            self.off_deadline = self.off_deadline.max(time.abs_diff(DEADLINE));
        }
    }

    /// Counts a call that was cancelled or disconnected, and therefore not answered.
    pub(crate) fn silent(&mut self, call: Call) {
        self.of(call.kind).silent += 1;
    }

    /// Counts the cancelled calls that were not answered, once no more answers come.
    pub(crate) fn silent_cancelled(&mut self) {
        let tally = self.of(Kind::Cancelled);
        tally.silent = tally.sent.saturating_sub(tally.once);
    }

    pub(crate) fn duplicated(&mut self, call: Call) {
        self.of(call.kind).duplicated += 1;
        self.problem(format!("a second answer to call {} ({:?}, {})", call.number, call.kind, call.version));
    }

    pub(crate) fn problem(&mut self, problem: String) {
        if self.problems.len() < 10 {
            self.problems.push(problem);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (one, other) in self.by_kind.iter_mut().zip(other.by_kind) {
            one.sent += other.sent;
            one.once += other.once;
            one.silent += other.silent;
            one.duplicated += other.duplicated;
            one.wrong += other.wrong;
            one.latency.0.iter_mut().zip(other.latency.0).for_each(|(count, more)| *count += more);
        }
        self.off_deadline = self.off_deadline.max(other.off_deadline);
        other.problems.into_iter().for_each(|problem| self.problem(problem));
    }

    pub(crate) fn calls(&self) -> u64 {
        self.by_kind.iter().map(|tally| tally.sent).sum()
    }

    /// Appends the rows of a transport, and what went wrong there.
    pub(crate) fn write(self, transport: &str, out: &mut String, problems: &mut Vec<String>) {
        let mut all = [0; 6];
        for ((_, name, _), tally) in MIX.iter().zip(&self.by_kind) {
            let Tally { sent, once, silent, duplicated, wrong, latency } = tally;
            let counts = [*sent, *once, *silent, tally.lost(), *duplicated, *wrong];
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
            let [p50, p99, p999] = [500, 990, 999].map(|share| latency.quantile(share).map_or("–".to_owned(), shown));
            row(out, &[transport, name, &counts.map(|count| count.to_string()).join(" | "), &p50, &p99, &p999]);
        }
        row(out, &[transport, "**all**", &all.map(|count| count.to_string()).join(" | "), "", "", ""]);
        for (count, what) in self.failures().iter().zip(["lost", "duplicated", "wrong"]) {
            if *count > 0 {
                problems.push(format!("{transport}: {count} {what}"));
            }
        }
        problems.extend(self.problems.into_iter().map(|problem| format!("{transport}: {problem}")));
    }

    /// How many calls are lost, duplicated and wrong.
    pub(crate) fn failures(&self) -> [u64; 3] {
        let sum = |count: fn(&Tally) -> u64| self.by_kind.iter().map(count).sum();
        [sum(Tally::lost), sum(|tally| tally.duplicated), sum(|tally| tally.wrong)]
    }

    pub(crate) fn off_deadline(&self) -> Duration {
        self.off_deadline
    }
}

/// The head of the table of calls.
pub(crate) const CALLS: &str = "\
| transport | kind | sent | answered once | silent | lost | duplicated | wrong | p50 | p99 | p99.9 |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// The head of the table of servers.
pub(crate) const SERVERS: &str = "\
| server | memory at 0 % | 25 % | 50 % | 75 % | 100 % | threads at 25 % | 100 % | files at 25 % | 100 % | left running |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// What a server used, at each quarter.
pub(crate) struct Vitals {
    pub(crate) server: String,
    pub(crate) samples: Vec<Sample>,
    /// Calls that still ran when all were answered.
    pub(crate) left_running: i64,
}

impl Vitals {
    pub(crate) fn write(&self, out: &mut String, problems: &mut Vec<String>) {
        let [_, early, half, _, last] = self.samples[..] else {
            problems.push(format!("{}: the server did not get to the end", self.server));
            return;
        };
        let memory = self.samples.iter().map(|sample| bytes(sample.memory)).collect::<Vec<_>>().join(" | ");
        let counts = [early.threads, last.threads, early.files, last.files].map(|count| count.to_string()).join(" | ");
        row(out, &[&self.server, &memory, &counts, &self.left_running.to_string()]);
        if grows(half.memory, last.memory) {
            problems.push(format!(
                "{}: memory grows from {} to {}",
                self.server,
                bytes(half.memory),
                bytes(last.memory)
            ));
        }
        for (what, early, last) in [("threads", early.threads, last.threads), ("open files", early.files, last.files)] {
            if last > early {
                problems.push(format!("{}: {early} {what} at 25 %, {last} at the end", self.server));
            }
        }
        if self.left_running != 0 {
            problems.push(format!("{}: {} calls still run after the end", self.server, self.left_running));
        }
    }
}

/// Whether memory grew by more than 5 % and 4 MiB.
fn grows(half: u64, last: u64) -> bool {
    last > half + half / 20 + 4 * 1024 * 1024
}

/// Appends a row of a table.
pub(crate) fn row(out: &mut String, cells: &[&str]) {
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

/// A time, in the unit that suits it.
pub(crate) fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_micros() {
        0..1_000 => format!("{:.0} µs", seconds * 1e6),
        1_000..1_000_000 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Bytes, in MiB.
#[allow(clippy::cast_precision_loss, reason = "it is a figure to read")]
pub(crate) fn bytes(count: u64) -> String {
    format!("{:.1} MiB", count as f64 / (1024.0 * 1024.0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Histogram, grows, shown};

    #[test]
    fn quantiles_are_right_to_three_percent() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(500), None);
        (1..=10_000).for_each(|micros| histogram.record(Duration::from_micros(micros)));
        for (thousandths, micros) in [(500, 5_000.0), (990, 9_900.0), (999, 9_990.0), (0, 1.0), (1000, 10_000.0)] {
            let found = histogram.quantile(thousandths).unwrap().as_secs_f64() * 1e6;
            assert!((found / micros - 1.0).abs() <= 0.04, "{thousandths}: {found}");
        }
        histogram.record(Duration::MAX);
        histogram.record(Duration::ZERO);
    }

    #[test]
    fn memory_grows_beyond_five_percent_and_four_mebibytes() {
        const MIB: u64 = 1024 * 1024;
        assert!(!grows(100 * MIB, 109 * MIB) && grows(100 * MIB, 109 * MIB + 1) && !grows(100 * MIB, MIB));
    }

    #[test]
    fn times_are_shown_in_their_unit() {
        let times = [412, 20_345, 3_000_000].map(|micros| shown(Duration::from_micros(micros)));
        assert_eq!(times, ["412 µs", "20.3 ms", "3.00 s"]);
    }
}
