//! A schema and values: reading, checking and sampling.
//!
//! If the first byte is odd, the text up to the first line break is the schema, and each line after it a value; else all
//! of them are made from the other bytes.
//!
//! - Reading a schema, checking a value and making samples never panic. Reading and checking are quick; samples, which are
//!   made up to a number of steps, end before the time limit of the run.
//! - Every way to check a value has the same verdict. What fits as it is written fits the lenient check too.
//! - Edited text fits as it is written.
//! - A sample fits, and a counter-sample does not.

use std::time::{Duration, Instant};

use mcp_registry::__private::Judge;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::dice::Dice;
use crate::{explicit_schema, generate};

/// Longer than one step takes for inputs of this size, on a busy machine.
const LONG: Duration = Duration::from_secs(3);

fn timed<T>(what: &str, schema: &Value, step: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = step();
    let elapsed = start.elapsed();
    assert!(elapsed < LONG, "{what} takes {elapsed:?}: {schema}");
    result
}

fn check(schema: &Value, judge: &Judge, text: &str) -> bool {
    let accepts = judge.accepts(text);
    let strict = judge.check(text, false);
    assert_eq!(strict.is_ok(), accepts, "{text} by {schema}: {strict:?}");
    assert!(!matches!(strict, Ok(Some(_))), "the strict check edits {text} by {schema}");
    assert!(!accepts || serde_json::from_str::<IgnoredAny>(text).is_ok(), "accepts {text}, which is not JSON");
    let lenient = judge.check(text, true);
    assert!(lenient.is_ok() || !accepts, "{text} fits only as it is written, by {schema}: {lenient:?}");
    match lenient {
        Ok(None) => assert!(accepts, "{text} fits only leniently, and is not edited, by {schema}"),
        Ok(Some(edited)) => {
            assert!(judge.accepts(&edited), "{text} is edited to {edited}, which does not fit {schema}");
            assert_eq!(judge.check(&edited, true), Ok(None), "{text} is edited to {edited}, and again, by {schema}");
        }
        Err(faults) => assert!((1..=20).contains(&faults.len()), "{} faults of {text} by {schema}", faults.len()),
    }
    accepts
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let [mode, rest @ ..] = data else { return };
    let (schema, texts) = if mode % 2 == 1 {
        let Ok(text) = std::str::from_utf8(rest) else { return };
        let mut lines = text.lines();
        let Some(schema) = lines.next().and_then(|line| serde_json::from_str(line).ok()) else { return };
        (schema, lines.take(4).map(str::to_owned).collect::<Vec<_>>())
    } else {
        let mut dice = Dice::new(rest);
        let schema = explicit_schema::document(&mut dice);
        let texts = (0..3).map(|_| generate::text(&schema, &mut dice)).collect();
        (schema, texts)
    };
    let Ok(judge) = timed("reading", &schema, || Judge::new(&schema)) else { return };
    let mut accepted = Vec::new();
    for text in texts {
        if timed("checking", &schema, || check(&schema, &judge, &text)) {
            accepted.push(text);
        }
    }
    let (fitting, violating) = judge.samples();
    if let Some(fitting) = &fitting {
        assert!(judge.accepts(&fitting.to_string()), "the sample {fitting} does not fit {schema}");
    }
    if let Some(violating) = violating {
        assert!(!judge.accepts(&violating.to_string()), "the counter-sample {violating} fits {schema}");
    }
    if let Some(reason) = judge.contradiction() {
        assert_eq!((fitting, accepted), (None, Vec::new()), "they fit, although {reason}: {schema}");
    }
}
