//! Compares today's figures with the service levels of the specification, and fails if one is missed.
//!
//! `cargo run --release -p mcp-benches --bin slo`; `--scale 0.001` divides every limit by a thousand, to see it fail.

mod adding;
mod over_http;
mod over_stdio;

use std::fmt;
use std::hint::black_box;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcp_registry::entry::ToolEntry;
use mcp_registry::error::Origin;
use mcp_registry::message::Strictness;
use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, Registry, Tool, ToolCall, ToolResult, tools};

/// How often each figure is measured; the best one counts, because other processes share the machine.
const ROUNDS: usize = 3;

/// What a figure must not exceed, or must reach.
#[derive(Clone, Copy, Debug)]
enum Limit {
    AtMost(Duration),
    /// Calls per second.
    AtLeast(f64),
}

impl Limit {
    /// The limit made stricter by a factor below 1.
    fn scaled(self, scale: f64) -> Self {
        match self {
            Self::AtMost(time) => Self::AtMost(time.mul_f64(scale)),
            Self::AtLeast(rate) => Self::AtLeast(rate / scale),
        }
    }

    fn is_kept(self, figure: Self) -> bool {
        match (self, figure) {
            (Self::AtMost(limit), Self::AtMost(time)) => time <= limit,
            (Self::AtLeast(limit), Self::AtLeast(rate)) => rate >= limit,
            _ => false,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(time) => f.pad(&format!("{time:.2?}")),
            Self::AtLeast(rate) => f.pad(&format!("{rate:.0}/s")),
        }
    }
}

/// A service level: what the specification asks for, and the stricter limit at which this program fails. The limit is
/// about fifty times what a small machine measures, so that a hundredfold regression fails it and a busy machine does not.
#[derive(Debug)]
struct Slo {
    id: &'static str,
    what: &'static str,
    asked: Limit,
    limit: Limit,
    figure: Limit,
}

impl Slo {
    fn is_kept(&self) -> bool {
        self.asked.is_kept(self.figure) && self.limit.is_kept(self.figure)
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, what, asked, limit, figure } = self;
        write!(f, "{id:<6} {what:<44} {figure:>12} {limit:>12} {asked:>12}")
    }
}

/// The service levels that are missed, each with its figure and its limit.
fn missed(levels: &[Slo]) -> Vec<String> {
    let missed = levels.iter().filter(|slo| !slo.is_kept());
    missed
        .map(|Slo { id, what, asked, limit, figure }| {
            format!("{id} is missed: {what} is {figure}, the limit is {limit} and the specification asks for {asked}")
        })
        .collect()
}

/// The time of one of `count` runs, in the best round. `prepare` is not measured.
fn each<T>(count: u32, mut prepare: impl FnMut() -> T, mut run: impl FnMut(T)) -> Duration {
    let round = |_| {
        let input = prepare();
        let started = Instant::now();
        run(input);
        started.elapsed() / count
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

const CALL: &[u8] = include_bytes!("../tests/seed/s4_2_call.json");
const SUCCESS: &[u8] = include_bytes!("../tests/seed/s4_3_result_success.json");
const FAILURE: &[u8] = include_bytes!("../tests/seed/s4_4_result_failure.json");

/// Entries as the attribute generates them, with other names.
fn entries(count: u32) -> Vec<&'static ToolEntry> {
    let [add] = tools![adding::add];
    let entry = |n| -> &'static ToolEntry {
        let name: &'static str = Box::leak(name(n).into_boxed_str());
        let origin = Origin::new("slo", "1.0.0", "slo", name, file!(), line!());
        Box::leak(Box::new(ToolEntry::new(name, origin, add.call).params(add.params).description("Adds two numbers.")))
    };
    (0..count).map(entry).collect()
}

fn name(n: u32) -> String {
    format!("module_{}.tool_number_{n}", n % 100)
}

fn in_memory(levels: &mut Vec<Slo>) {
    const TOOLS: u32 = 10_000;
    let mut at_most = |id, what, asked, limit, figure| {
        levels.push(Slo {
            id,
            what,
            asked: Limit::AtMost(asked),
            limit: Limit::AtMost(limit),
            figure: Limit::AtMost(figure),
        });
    };
    let (ms, us) = (Duration::from_millis, Duration::from_micros);
    let entries = entries(TOOLS);
    let registry = || Registry::builder_of(entries.clone()).build().expect("no conflicts");
    let small = || Registry::builder_of(entries[..1_000].to_vec()).build().expect("no conflicts");
    let tool = |n| Tool::new(format!("made.tool_{n}"), json!({ "type": "object" }), |_, _| async {});

    let beside = |registry: Registry| (0..100).for_each(|n| registry.register(tool(n)).expect("a new name"));
    at_most("S3-31", "registering a tool beside 1,000", ms(1), ms(1), each(100, small, beside));
    let list = |registry: Registry| (0..100).for_each(|_| drop(black_box(registry.list_registered_tools())));
    at_most("S3-32", "listing 10,000 tools", ms(5), ms(2), each(100, registry, list));
    let names: Vec<String> = (0..TOOLS).map(name).collect();
    let schemas =
        |registry: Registry| names.iter().for_each(|name| drop(registry.get_tool_schema(name).expect("there")));
    at_most("S3-33", "the schema of a tool among 10,000", ms(1), us(500), each(TOOLS, registry, schemas));
    let scan = |entries| assert_eq!(Catalog::from_entries(entries).expect("no conflicts").len(), 10_000);
    at_most("S3-36", "a full scan of 10,000 tools", ms(2_000), ms(1_000), each(1, || entries.clone(), scan));
    let validate = |()| {
        for _ in 0..1_000 {
            ToolCall::parse_with(black_box(CALL), Strictness::Strict).expect("a worked example");
            for result in [SUCCESS, FAILURE] {
                ToolResult::parse_with(black_box(result), Strictness::Strict).expect("a worked example");
            }
        }
    };
    at_most("S3-37", "validating a message", ms(1), us(50), each(3_000, || (), validate));
}

/// A dispatch with one call in flight, and the throughput with many.
fn dispatch(
    levels: &mut Vec<Slo>,
    [latency, throughput]: [(&'static str, &'static str); 2],
    (asked_time, time): (Duration, Duration),
    (asked_rate, rate): (f64, f64),
    (one, many): (f64, f64),
) {
    levels.push(Slo {
        id: latency.0,
        what: latency.1,
        asked: Limit::AtMost(asked_time),
        limit: Limit::AtMost(time),
        figure: Limit::AtMost(Duration::from_secs_f64(1.0 / one)),
    });
    levels.push(Slo {
        id: throughput.0,
        what: throughput.1,
        asked: Limit::AtLeast(asked_rate),
        limit: Limit::AtLeast(rate),
        figure: Limit::AtLeast(many),
    });
}

fn over_pipes() -> io::Result<(f64, f64)> {
    let mut served = over_stdio::Served::start("serve-stdio")?;
    let (mut one, mut many) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        one = one.max(served.calls_a_second("calc_add_on_pool", 1)?);
        many = many.max(served.calls_a_second("calc_add_on_pool", 64)?);
    }
    served.end()?;
    Ok((one, many))
}

async fn over_sockets() -> io::Result<(f64, f64)> {
    let served = over_http::Served::start("serve-http")?;
    let request = over_http::request("2025-11-25", "calc_add_on_pool");
    let (mut one, mut many) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        one = one.max(served.calls_a_second(&request, 1).await?);
        many = many.max(served.calls_a_second(&request, 32).await?);
    }
    Ok((one, many))
}

fn measure() -> io::Result<Vec<Slo>> {
    let mut levels = Vec::new();
    in_memory(&mut levels);
    let ms = Duration::from_millis;
    let names = [("S3-34", "a call over stdio, one in flight"), ("S3-38", "calls over stdio, 64 in flight")];
    dispatch(&mut levels, names, (ms(10), ms(4)), (1_000.0, 1_000.0), over_pipes()?);
    let names = [("S3-35", "a call over HTTP, one in flight"), ("S3-39", "calls over HTTP, 32 connections")];
    let figures = over_http::runtime()?.block_on(over_sockets())?;
    dispatch(&mut levels, names, (ms(100), ms(10)), (100.0, 500.0), figures);
    Ok(levels)
}

fn check(scale: f64) -> io::Result<ExitCode> {
    let mut levels = measure()?;
    levels.sort_by_key(|slo| slo.id);
    println!("{:<6} {:<44} {:>12} {:>12} {:>12}", "id", "what", "figure", "limit", "asked for");
    for slo in &mut levels {
        slo.limit = slo.limit.scaled(scale);
        println!("{slo}");
    }
    let missed = missed(&levels);
    for missed in &missed {
        eprintln!("{missed}");
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve-stdio"] => over_stdio::serve().map(|()| ExitCode::SUCCESS),
        ["serve-http"] => over_http::serve().map(|()| ExitCode::SUCCESS),
        [] => check(1.0),
        ["--scale", scale] => check(scale.parse().map_err(io::Error::other)?),
        _ => Err(io::Error::other("unknown arguments; call it with none, or with `--scale 0.001`")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Limit, Slo, missed};

    fn slo(id: &'static str, asked: Limit, limit: Limit, figure: Limit) -> Slo {
        Slo { id, what: "an operation", asked, limit, figure }
    }

    fn times(id: &'static str, figure: u64) -> Slo {
        let us = |us| Limit::AtMost(Duration::from_micros(us));
        slo(id, us(5_000), us(500), us(figure))
    }

    fn rates(id: &'static str, figure: f64) -> Slo {
        slo(id, Limit::AtLeast(100.0), Limit::AtLeast(1_000.0), Limit::AtLeast(figure))
    }

    #[test]
    fn a_level_within_its_limit_is_not_reported() {
        assert!(missed(&[times("S3-32", 10), times("S3-32", 500), rates("S3-39", 1_000.0)]).is_empty());
    }

    #[test]
    fn a_missed_level_is_reported_with_its_figure_and_limit() {
        let missed = missed(&[times("S3-32", 1_000), times("S3-33", 10), rates("S3-39", 50.0)]);
        assert_eq!(
            missed,
            [
                "S3-32 is missed: an operation is 1.00ms, the limit is 500.00µs and the specification asks for 5.00ms",
                "S3-39 is missed: an operation is 50/s, the limit is 1000/s and the specification asks for 100/s",
            ]
        );
    }

    #[test]
    fn limits_get_stricter_when_scaled() {
        for mut slo in [times("S3-32", 10), rates("S3-39", 50_000.0)] {
            assert!(slo.is_kept());
            slo.limit = slo.limit.scaled(0.001);
            assert!(!slo.is_kept());
        }
    }
}
