//! Our verdict on random pairs of a schema and a value is that of the crate `jsonschema`.
//!
//! `MCP_ORACLE_PAIRS` is the number of pairs. What is not made, since the oracle rounds numbers to floats of 64 bits: numbers
//! with a fraction or an exponent that no float represents, and factors of `multipleOf` such as `0.1`. Values with large
//! numbers are not compared if the schema has a `multipleOf`.

mod inclusion;
mod members;
mod schemas;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::Validator;
use mcp_core::support::faults::{ARGUMENTS, RESULT};
use mcp_core::support::schema::{Model, equal};
use serde_json::Value;

use self::values::Values;
use crate::validate::check::{How, Schema, Secrets};
use crate::validate::sample::{Samples, contradiction};

type JsonObject = serde_json::Map<String, Value>;

/// About 5 seconds without optimization.
const PAIRS: usize = 10_000;
const VALUES_OF_A_SCHEMA: usize = 10;
/// The keywords that reject values, each of which must have done so.
const KEYWORDS: [&str; 38] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "items",
    "prefixItems",
    "additionalItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "then",
    "else",
];
/// How many findings are shown.
const SHOWN: usize = 8;

const STRICT: How<'static> = How { document: RESULT, lenient: false, secrets: Secrets::None };
const LENIENT: How<'static> = How { document: ARGUMENTS, lenient: true, secrets: Secrets::None };

/// Random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % bound.max(1) as u64).unwrap_or_default()
    }

    /// True once in `bound` times.
    fn hits(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn flips(&mut self) -> bool {
        self.hits(2)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

#[derive(Default)]
struct Figures {
    schemas: usize,
    pairs: usize,
    accepted: usize,
    edited: usize,
    only_lenient: usize,
    /// Pairs that are not compared, since the oracle rounds.
    rounded: usize,
    fitting: usize,
    violating: usize,
    contradictions: usize,
    /// Schemas that we do not read, by the reason.
    rejected: BTreeMap<String, usize>,
    /// How many values were rejected by a keyword, says the oracle.
    by_keyword: BTreeMap<String, usize>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schemas, pairs, accepted, edited, only_lenient, fitting, violating, contradictions, .. } = self;
        write!(
            f,
            "{schemas} schemas, {pairs} pairs ({} more not compared), {accepted} accepted; {only_lenient} only by the lenient check, ",
            self.rounded
        )?;
        write!(
            f,
            "{edited} edited; {fitting} samples, {violating} counter-samples, {contradictions} contradictions; "
        )?;
        write!(f, "schemas rejected: {:?}; values rejected by {:?}", self.rejected, self.by_keyword)
    }
}

/// The crate `jsonschema`.
struct Oracle {
    validator: Validator,
    /// Whether it may round numbers: it divides floats.
    divides: bool,
}

impl Oracle {
    fn new(schema: &Value) -> Result<Self, String> {
        let built = jsonschema::options().should_validate_formats(true).build(schema);
        let validator = built.map_err(|error| error.to_string())?;
        Ok(Self { validator, divides: schema.to_string().contains("multipleOf") })
    }

    /// Its verdict, unless it rounds numbers.
    fn verdict(&self, value: &Value) -> Option<bool> {
        (!self.divides || !has_large_number(value)).then(|| self.validator.is_valid(value))
    }
}

fn has_large_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|number| number.abs() > 1e15),
        Value::Array(items) => items.iter().any(has_large_number),
        Value::Object(members) => members.values().any(has_large_number),
        _ => false,
    }
}

fn ours(schema: &Value) -> Result<Schema, String> {
    Schema::new(Model::read(schema, true).map_err(|error| error.to_string())?)
}

/// What a text is.
struct Verdict {
    is_accepted: bool,
    is_edited: bool,
    /// Whether only the lenient check accepts it.
    is_lenient: bool,
}

/// Whether a text fits. The error says in what we are wrong.
fn verdict(schema: &Schema, oracle: &Oracle, text: &str) -> Result<Option<Verdict>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let Some(expected) = oracle.verdict(&value) else { return Ok(None) };
    let checks = || {
        let accepts = schema.accepts(schema.model().root(), text);
        (accepts, schema.check(text, &STRICT), schema.check(text, &LENIENT))
    };
    let (accepts, strict, lenient) = catch_unwind(AssertUnwindSafe(checks)).map_err(|_| "the check panics")?;
    if accepts != expected {
        return Err(format!("`accepts` says {accepts}"));
    }
    if strict.is_ok() != expected {
        return Err(format!("the strict check says {strict:?}"));
    }
    if matches!(strict, Ok(Some(_))) {
        return Err("the strict check edits".to_owned());
    }
    if lenient.is_err() && expected {
        return Err(format!("the lenient check says {lenient:?}"));
    }
    let is_lenient = lenient.is_ok() && !expected;
    let Ok(Some(edited)) = lenient else {
        if is_lenient {
            return Err("the lenient check accepts it without edits".to_owned());
        }
        return Ok(Some(Verdict { is_accepted: expected, is_edited: false, is_lenient }));
    };
    let after: Value = serde_json::from_str(&edited).map_err(|error| format!("edited to {edited}: {error}"))?;
    if oracle.verdict(&after) == Some(false) || schema.check(&edited, &STRICT).is_err() {
        return Err(format!("edited to {edited}, which does not fit"));
    }
    if !is_edit(&value, &after) {
        return Err(format!("edited to {edited}, which is another value"));
    }
    Ok(Some(Verdict { is_accepted: expected, is_edited: true, is_lenient }))
}

/// Whether values differ only by members that are null, and by how integers are written.
fn is_edit(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            after.keys().all(|name| before.contains_key(name))
                && before.iter().all(|(name, value)| match after.get(name) {
                    Some(after) => is_edit(value, after),
                    None => value.is_null(),
                })
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(before, after)| is_edit(before, after))
        }
        (Value::Number(_), Value::Number(number)) if before != after => equal(before, after) && !number.is_f64(),
        _ => equal(before, after),
    }
}

/// The samples of a schema fit, its counter-samples do not, and nothing fits a contradiction.
fn check_samples(schema: &Schema, oracle: &Oracle, figures: &mut Figures) -> Result<(), String> {
    let accepts = |node, text: &str| schema.accepts(node, text);
    let make = || {
        let (samples, root) = (Samples::new(schema.model(), &accepts), schema.model().root());
        (samples.fitting(root), samples.violating(root), contradiction(schema.model()).is_some())
    };
    let (fitting, violating, contradicts) = catch_unwind(AssertUnwindSafe(make)).map_err(|_| "sampling panics")?;
    if let Some(sample) = fitting.as_ref().filter(|sample| oracle.verdict(sample) == Some(false)) {
        return Err(format!("the sample {sample} does not fit"));
    }
    if let Some(sample) = violating.as_ref().filter(|sample| oracle.verdict(sample) == Some(true)) {
        return Err(format!("the counter-sample {sample} fits"));
    }
    if contradicts && fitting.is_some() {
        return Err(format!("it is a contradiction, and {fitting:?} fits"));
    }
    figures.fitting += usize::from(fitting.is_some());
    figures.violating += usize::from(violating.is_some());
    figures.contradictions += usize::from(contradicts);
    Ok(())
}

/// Values with one part less.
fn smaller(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Array(items) => {
            for index in 0..items.len() {
                let mut fewer = items.clone();
                all.push(fewer.remove(index));
                all.push(fewer.into());
            }
            for (index, item) in items.iter().enumerate() {
                for item in smaller(item) {
                    let mut items = items.clone();
                    items[index] = item;
                    all.push(items.into());
                }
            }
        }
        Value::Object(members) => {
            for name in members.keys() {
                let mut fewer = members.clone();
                all.extend(fewer.shift_remove(name));
                all.push(fewer.into());
            }
            for (name, value) in members {
                for value in smaller(value) {
                    let mut members = members.clone();
                    members.insert(name.clone(), value);
                    all.push(members.into());
                }
            }
        }
        _ => {}
    }
    all
}

/// The smallest pair that is wrong as well, and what is wrong with it.
fn shrink(schema: Value, text: &str, error: String) -> String {
    let wrong = |schema: &Value, text: &str| {
        let (oracle, ours) = (Oracle::new(schema).ok()?, ours(schema).ok()?);
        match text {
            "" => check_samples(&ours, &oracle, &mut Figures::default()).err(),
            text => verdict(&ours, &oracle, text).err(),
        }
    };
    let (mut schema, mut text, mut error) = (schema, text.to_owned(), error);
    loop {
        let found = smaller(&schema).into_iter().find_map(|less| Some((wrong(&less, &text)?, less)));
        if let Some(found) = found {
            (error, schema) = found;
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else { break };
        let texts = smaller(&value).into_iter().map(|value| value.to_string()).filter(|less| less.len() < text.len());
        let Some(found) = texts.into_iter().find_map(|less| Some((wrong(&schema, &less)?, less))) else { break };
        (error, text) = found;
    }
    format!("{schema}\n    and {text}: {error}")
}

fn run(pairs: usize) -> (Figures, Vec<String>) {
    let (mut figures, mut findings) = (Figures::default(), Vec::new());
    let mut seed = 0;
    while figures.pairs < pairs && findings.len() < SHOWN {
        seed += 1;
        let mut dice = Dice::new(seed);
        let schema = schemas::document(&mut dice);
        figures.schemas += 1;
        let ours = match catch_unwind(|| ours(&schema)) {
            Ok(Ok(ours)) => ours,
            Ok(Err(reason)) => {
                let reason = reason.split(" at `").next().unwrap_or_default().to_owned();
                *figures.rejected.entry(reason).or_default() += 1;
                continue;
            }
            Err(_) => {
                findings.push(format!("{schema}: reading it panics"));
                continue;
            }
        };
        let oracle = match Oracle::new(&schema) {
            Ok(oracle) => oracle,
            Err(error) => {
                findings.push(format!("{schema}: the oracle rejects it: {error}"));
                continue;
            }
        };
        if let Err(error) = check_samples(&ours, &oracle, &mut figures) {
            findings.push(shrink(schema.clone(), "", error));
        }
        for _ in 0..VALUES_OF_A_SCHEMA {
            let value = Values { dice: &mut dice, root: &schema }.document();
            let mut text = String::new();
            values::write(&value, &mut dice, &mut text);
            match verdict(&ours, &oracle, &text) {
                Ok(None) => figures.rounded += 1,
                Ok(Some(verdict)) => {
                    figures.pairs += 1;
                    figures.accepted += usize::from(verdict.is_accepted);
                    figures.edited += usize::from(verdict.is_edited);
                    figures.only_lenient += usize::from(verdict.is_lenient);
                    for error in oracle.validator.iter_errors(&value) {
                        let path = error.schema_path().to_string();
                        for keyword in path.split('/').filter(|step| KEYWORDS.contains(step)) {
                            *figures.by_keyword.entry(keyword.to_owned()).or_default() += 1;
                        }
                    }
                }
                Err(error) => {
                    findings.push(shrink(schema.clone(), &text, error));
                    break;
                }
            }
        }
    }
    (figures, findings)
}

/// How many pairs are made.
fn pairs(default: usize) -> usize {
    std::env::var("MCP_ORACLE_PAIRS").map_or(default, |pairs| pairs.parse().expect("a number of pairs"))
}

#[test]
fn verdicts_on_random_pairs_are_those_of_jsonschema() {
    let pairs = pairs(PAIRS);
    let (figures, findings) = run(pairs);
    println!("{figures}");
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    let rejected: usize = figures.rejected.values().sum();
    assert!(rejected * 100 < figures.schemas, "too many schemas are rejected: {:?}", figures.rejected);
    assert!(figures.accepted * 4 > pairs && figures.accepted * 4 < pairs * 3, "nearly all verdicts are the same");
    if pairs >= PAIRS {
        let idle: Vec<_> = KEYWORDS.iter().filter(|keyword| !figures.by_keyword.contains_key(**keyword)).collect();
        assert!(idle.is_empty(), "these keywords never rejected a value: {idle:?}");
    }
}
