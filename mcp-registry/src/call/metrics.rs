//! Metrics: the number of calls, the number of failures, and the durations.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The number of buckets. The last one starts at 69 seconds.
const BUCKETS: usize = 28;

/// The first bucket counts calls below 2¹⁰ nanoseconds; the bound of each further bucket is twice as high.
const FIRST_BITS: u32 = 10;

/// Counts the calls of one tool. Recording takes no lock and allocates nothing.
#[derive(Default)]
pub(crate) struct Meter {
    errors: AtomicU64,
    nanos: AtomicU64,
    longest: AtomicU64,
    /// Each call is in one bucket: their sum is the number of calls.
    buckets: [AtomicU64; BUCKETS],
}

impl Meter {
    /// Counts a call.
    pub(crate) fn record(&self, duration: Duration, is_error: bool) {
        let nanos = nanos(duration);
        // Few calls are the longest so far: for all others, the load avoids a write.
        if nanos > self.longest.load(Relaxed) {
            self.longest.fetch_max(nanos, Relaxed);
        }
        self.nanos.fetch_add(nanos, Relaxed);
        if is_error {
            self.errors.fetch_add(1, Relaxed);
        }
        self.buckets[bucket(nanos)].fetch_add(1, Relaxed);
    }

    /// The current counts. A call that ends meanwhile may be in some of them and not yet in others.
    pub(crate) fn snapshot(&self, tool: &str) -> ToolMetrics {
        let buckets = std::array::from_fn(|i| self.buckets[i].load(Relaxed));
        let calls = buckets.iter().sum();
        ToolMetrics {
            tool: tool.to_owned(),
            calls,
            errors: self.errors.load(Relaxed).min(calls),
            total: Duration::from_nanos(self.nanos.load(Relaxed)),
            max: Duration::from_nanos(self.longest.load(Relaxed)),
            buckets,
        }
    }
}

/// The bucket of a duration.
fn bucket(nanos: u64) -> usize {
    let bits = u64::BITS - (nanos >> FIRST_BITS).leading_zeros();
    (bits as usize).min(BUCKETS - 1)
}

/// The upper bound of a bucket, exclusive; `None` for the last one.
fn bound(bucket: usize) -> Option<Duration> {
    (bucket < BUCKETS - 1).then(|| Duration::from_nanos(1 << FIRST_BITS << bucket))
}

/// A duration in nanoseconds, at most five centuries.
pub(crate) fn nanos(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(duration.subsec_nanos()))
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    float(nanos(duration)) / 1e6
}

#[allow(clippy::cast_precision_loss, reason = "sixteen digits are enough for a reader")]
fn float(number: u64) -> f64 {
    number as f64
}

/// The metrics of one tool: the number of calls, the number of failures, and the durations.
///
/// Durations are counted in buckets, each twice as wide as the one before: between a microsecond and a minute, a
/// [`quantile`](Self::quantile) is never too low, and at most twice the exact value.
///
/// It serialises to a JSON object, with `null` for values that are unknown before the first call:
///
/// ```json
/// {
///   "tool": "calc.add", "calls": 4, "errors": 1, "error_rate": 0.25, "total_ms": 4.5,
///   "mean_ms": 1.125, "max_ms": 3.0, "p50_ms": 0.524288, "p90_ms": 3.0, "p99_ms": 3.0
/// }
/// ```
///
/// ```
/// use mcp_registry::metrics::ToolMetrics;
///
/// fn is_healthy(tool: &ToolMetrics) -> bool {
///     tool.error_rate() < 0.01 && tool.quantile(0.99).is_none_or(|p99| p99.as_secs() < 2)
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolMetrics {
    /// The tool's name; `*` for all tools together.
    pub tool: String,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// The total duration.
    pub total: Duration,
    /// The longest duration.
    pub max: Duration,
    buckets: [u64; BUCKETS],
}

impl ToolMetrics {
    /// The fraction of calls that failed, from 0 to 1; 0 before the first call.
    pub fn error_rate(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { float(self.errors) / float(self.calls) }
    }

    /// The mean duration; `None` before the first call.
    pub fn mean(&self) -> Option<Duration> {
        nanos(self.total).checked_div(self.calls).map(Duration::from_nanos)
    }

    /// The duration that this fraction of the calls, from 0 to 1, did not exceed: `quantile(0.5)` is the median. It is
    /// rounded up to the bound of a bucket, or to the longest duration if that is less. `None` before the first call,
    /// and for a fraction outside of 0 to 1.
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        if self.calls == 0 || !(0.0..=1.0).contains(&fraction) {
            return None;
        }
        let rank = fraction * float(self.calls);
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen > 0 && float(seen) >= rank
        });
        let bound = reached.and_then(bound).unwrap_or(self.max);
        Some(bound.min(self.max))
    }

    /// The upper bound of each bucket, and its number of calls (not cumulative). The last bucket has no bound.
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = (Option<Duration>, u64)> + '_ {
        self.buckets.iter().enumerate().map(|(i, count)| (bound(i), *count))
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.total = self.total.saturating_add(other.total);
        self.max = self.max.max(other.max);
        for (count, more) in self.buckets.iter_mut().zip(other.buckets) {
            *count += more;
        }
    }
}

impl Serialize for ToolMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("ToolMetrics", 10)?;
        object.serialize_field("tool", &self.tool)?;
        object.serialize_field("calls", &self.calls)?;
        object.serialize_field("errors", &self.errors)?;
        object.serialize_field("error_rate", &self.error_rate())?;
        object.serialize_field("total_ms", &millis(self.total))?;
        object.serialize_field("mean_ms", &self.mean().map(millis))?;
        object.serialize_field("max_ms", &(self.calls > 0).then(|| millis(self.max)))?;
        object.serialize_field("p50_ms", &self.quantile(0.5).map(millis))?;
        object.serialize_field("p90_ms", &self.quantile(0.9).map(millis))?;
        object.serialize_field("p99_ms", &self.quantile(0.99).map(millis))?;
        object.end()
    }
}

/// The metrics of a registry, tool by tool, at one moment.
///
/// It serialises to `{"tools": […], "total": {…}}`, each of them a [`ToolMetrics`].
///
/// ```
/// use mcp_registry::metrics::Metrics;
///
/// fn print(metrics: &Metrics) {
///     for tool in metrics.tools() {
///         println!("{}: {} calls, {} failed", tool.tool, tool.calls, tool.errors);
///     }
///     println!("{} calls in all", metrics.total().calls);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Metrics {
    tools: Vec<ToolMetrics>,
}

impl Metrics {
    /// The current counts of these meters.
    pub(crate) fn new<'a>(meters: impl IntoIterator<Item = (&'a str, &'a Meter)>) -> Self {
        let mut tools: Vec<_> = meters.into_iter().map(|(name, meter)| meter.snapshot(name)).collect();
        tools.sort_by(|one, other| one.tool.cmp(&other.tool));
        Self { tools }
    }

    /// Every tool, sorted by name, including those without calls.
    pub fn tools(&self) -> &[ToolMetrics] {
        &self.tools
    }

    /// One tool, by its canonical name.
    pub fn get(&self, tool: &str) -> Option<&ToolMetrics> {
        let position = self.tools.binary_search_by(|known| known.tool.as_str().cmp(tool)).ok()?;
        Some(&self.tools[position])
    }

    /// All tools together, under the name `*`.
    pub fn total(&self) -> ToolMetrics {
        let mut total = Meter::default().snapshot("*");
        for tool in &self.tools {
            total.add(tool);
        }
        total
    }

    /// The metrics in the text format of Prometheus: `mcp_tool_calls_total`, `mcp_tool_errors_total` and the
    /// histogram `mcp_tool_duration_seconds`, each by `tool`. A tool without calls has counters but no
    /// histogram. Serve it as `text/plain; version=0.0.4`.
    ///
    /// ```
    /// # use mcp_registry::metrics::Metrics;
    /// fn answer(metrics: &Metrics) -> (&'static str, String) {
    ///     ("text/plain; version=0.0.4", metrics.to_prometheus())
    /// }
    /// ```
    pub fn to_prometheus(&self) -> String {
        Exposition(&self.tools).to_string()
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Metrics", 2)?;
        object.serialize_field("tools", &self.tools)?;
        object.serialize_field("total", &self.total())?;
        object.end()
    }
}

/// The text format of Prometheus.
struct Exposition<'a>(&'a [ToolMetrics]);

impl fmt::Display for Exposition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        header(f, "mcp_tool_calls_total", "counter", "Calls of a tool.")?;
        for tool in self.0 {
            writeln!(f, "mcp_tool_calls_total{{tool=\"{}\"}} {}", label(&tool.tool), tool.calls)?;
        }
        header(f, "mcp_tool_errors_total", "counter", "Calls of a tool that failed.")?;
        for tool in self.0 {
            writeln!(f, "mcp_tool_errors_total{{tool=\"{}\"}} {}", label(&tool.tool), tool.errors)?;
        }
        header(f, "mcp_tool_duration_seconds", "histogram", "How long the calls of a tool took.")?;
        self.0.iter().filter(|tool| tool.calls > 0).try_for_each(|tool| histogram(f, tool))
    }
}

fn header(f: &mut fmt::Formatter<'_>, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(f, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

/// In Prometheus, each bucket includes the ones before it. (Its bounds are inclusive, ours are not: the difference is a
/// nanosecond.)
fn histogram(f: &mut fmt::Formatter<'_>, tool: &ToolMetrics) -> fmt::Result {
    let label = label(&tool.tool);
    let mut seen = 0;
    for (bound, count) in tool.buckets() {
        seen += count;
        let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.as_secs_f64().to_string());
        writeln!(f, "mcp_tool_duration_seconds_bucket{{tool=\"{label}\",le=\"{bound}\"}} {seen}")?;
    }
    writeln!(f, "mcp_tool_duration_seconds_sum{{tool=\"{label}\"}} {}", tool.total.as_secs_f64())?;
    writeln!(f, "mcp_tool_duration_seconds_count{{tool=\"{label}\"}} {seen}")
}

/// The value of a label, escaped.
fn label(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{BUCKETS, Meter, Metrics, bound, bucket, label};

    fn meter(micros: &[u64]) -> Meter {
        let meter = Meter::default();
        for took in micros {
            meter.record(Duration::from_micros(*took), false);
        }
        meter
    }

    #[test]
    fn a_bucket_ends_just_below_its_bound() {
        assert_eq!(bucket(0), 0);
        for i in 0..BUCKETS - 1 {
            let end = u64::try_from(bound(i).unwrap().as_nanos()).unwrap();
            assert_eq!((bucket(end - 1), bucket(end)), (i, i + 1));
        }
        assert_eq!(bound(0), Some(Duration::from_nanos(1024)));
        assert_eq!(bound(BUCKETS - 1), None);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn calls_and_errors_are_counted() {
        let meter = Meter::default();
        meter.record(Duration::from_millis(1), false);
        meter.record(Duration::from_millis(3), true);
        let seen = meter.snapshot("a");
        assert_eq!((seen.calls, seen.errors, seen.max), (2, 1, Duration::from_millis(3)));
        assert_eq!(seen.total, Duration::from_millis(4));
        assert_eq!(seen.mean(), Some(Duration::from_millis(2)));
        assert!((seen.error_rate() - 0.5).abs() < f64::EPSILON);
        assert_eq!(seen.buckets().len(), BUCKETS);
        assert_eq!(seen.buckets().map(|(_, count)| count).sum::<u64>(), 2);
    }

    #[test]
    fn a_tool_without_calls_has_no_durations() {
        let seen = Meter::default().snapshot("a");
        assert_eq!((seen.mean(), seen.quantile(0.5)), (None, None));
        assert!(seen.error_rate().abs() < f64::EPSILON);
        let json = serde_json::to_value(&seen).unwrap();
        assert_eq!((&json["p50_ms"], &json["max_ms"], &json["calls"]), (&json!(null), &json!(null), &json!(0)));
    }

    #[test]
    fn a_quantile_is_a_bound_and_never_exceeds_the_longest_call() {
        let mut micros = vec![1; 90];
        micros.extend([100; 10]);
        let seen = meter(&micros).snapshot("a");
        assert_eq!(seen.quantile(0.0), Some(Duration::from_nanos(1024)));
        assert_eq!(seen.quantile(0.5), Some(Duration::from_nanos(1024)));
        assert_eq!(seen.quantile(0.9), Some(Duration::from_nanos(1024)));
        // The bound is 131 µs.
        assert_eq!(seen.quantile(0.91), Some(Duration::from_micros(100)));
        assert_eq!(seen.quantile(1.0), Some(Duration::from_micros(100)));
        for outside in [-0.1, 1.1, f64::NAN] {
            assert_eq!(seen.quantile(outside), None);
        }
    }

    #[test]
    fn a_quantile_beyond_the_last_bound_is_the_longest_call() {
        let seen = meter(&[3_600_000_000]).snapshot("a");
        assert_eq!(seen.quantile(0.5), Some(Duration::from_secs(3600)));
        let meter = Meter::default();
        meter.record(Duration::MAX, false);
        assert_eq!(meter.snapshot("a").max, Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn no_call_is_lost_when_many_threads_record() {
        let meter = Meter::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let meter = &meter;
                scope.spawn(move || (0..1000).for_each(|n| meter.record(Duration::from_nanos(n), thread == 0)));
            }
        });
        let seen = meter.snapshot("a");
        assert_eq!((seen.calls, seen.errors, seen.max), (4000, 1000, Duration::from_nanos(999)));
    }

    #[test]
    fn tools_are_sorted_found_and_summed() {
        let (one, other) = (meter(&[1, 5]), meter(&[7]));
        let metrics = Metrics::new([("b", &one), ("a", &other)]);
        assert_eq!(metrics.tools().iter().map(|tool| tool.tool.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(metrics.get("b").unwrap().calls, 2);
        assert!(metrics.get("c").is_none());
        let total = metrics.total();
        assert_eq!((total.tool.as_str(), total.calls, total.max), ("*", 3, Duration::from_micros(7)));
        assert_eq!(total.total, Duration::from_micros(13));
        assert_eq!(total.buckets().map(|(_, count)| count).sum::<u64>(), 3);
    }

    #[test]
    fn json_has_milliseconds() {
        let meter = meter(&[500, 500, 500, 3000]);
        let json = serde_json::to_value(Metrics::new([("calc.add", &meter)])).unwrap();
        let tool = json!({
            "tool": "calc.add", "calls": 4, "errors": 0, "error_rate": 0.0, "total_ms": 4.5, "mean_ms": 1.125,
            "max_ms": 3.0, "p50_ms": 0.524_288, "p90_ms": 3.0, "p99_ms": 3.0,
        });
        assert_eq!(json["tools"][0], tool);
        assert_eq!(json["total"]["calls"], 4);
        assert_eq!(json["total"]["tool"], "*");
    }

    #[test]
    fn prometheus_reads_cumulative_buckets() {
        let (called, idle) = (meter(&[1, 2, 100_000_000]), Meter::default());
        called.record(Duration::from_nanos(1), true);
        let text = Metrics::new([("calc.add", &called), ("idle", &idle)]).to_prometheus();
        for line in [
            "# TYPE mcp_tool_calls_total counter",
            "mcp_tool_calls_total{tool=\"calc.add\"} 4",
            "mcp_tool_calls_total{tool=\"idle\"} 0",
            "mcp_tool_errors_total{tool=\"calc.add\"} 1",
            "# TYPE mcp_tool_duration_seconds histogram",
            "mcp_tool_duration_seconds_bucket{tool=\"calc.add\",le=\"0.000001024\"} 2",
            "mcp_tool_duration_seconds_bucket{tool=\"calc.add\",le=\"0.000002048\"} 3",
            "mcp_tool_duration_seconds_bucket{tool=\"calc.add\",le=\"68.719476736\"} 3",
            "mcp_tool_duration_seconds_bucket{tool=\"calc.add\",le=\"+Inf\"} 4",
            "mcp_tool_duration_seconds_sum{tool=\"calc.add\"} 100.000003001",
            "mcp_tool_duration_seconds_count{tool=\"calc.add\"} 4",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\nis not in\n{text}");
        }
        assert!(!text.contains("seconds_count{tool=\"idle\"}"));
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("a\\\"b\n\nc\""), r#"a\\\"b\n\nc\""#);
        assert_eq!(label("calc.add"), "calc.add");
        assert_eq!(label(""), "");
    }
}
