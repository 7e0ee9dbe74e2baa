//! Checks JSON text against a schema, in one pass and without a `Value`.
//!
//! The schemas that apply to a value, by references, `allOf` and the chosen alternatives of unions, are checked together
//! (see [`Run::expand`]). Which alternative is chosen is decided before the value is read: by its type, by its members, and
//! otherwise by trial (see `union.rs`).

mod array;
mod object;
mod plan;
mod publish;
mod report;
mod scalar;
mod scan;
mod union;
pub(super) mod words;

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use mcp_core::support::faults::{ARGUMENTS, Document};
use mcp_core::support::schema::{Digits, Model, Node, NodeId, PatternId, Types};
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher13};

pub(crate) use self::plan::unread_pattern;
use self::plan::{Const, ObjectPlan, Plan};
pub(crate) use self::publish::rounded_integer;
use self::report::{Found, Report, Step};
use self::scalar::fits_quickly;
use self::scan::{Malformed, Scanner, Text};
use super::Faults;
use super::pattern::Pattern;

/// A schema, prepared to check values.
pub(crate) struct Schema {
    model: Model,
    plans: Vec<Plan>,
    /// Those that cannot be compiled are errors.
    patterns: Vec<Result<Pattern, String>>,
    /// Whether a value that fits may not do so once its absent members are dropped.
    rechecks_edits: bool,
    hashing: (u64, u64),
}

/// How a value is checked.
pub(crate) struct How<'a> {
    /// What the value is.
    pub(crate) document: Document,
    /// Whether `2.0` is edited to `2` where only integers fit, and nulls for absent members are dropped.
    pub(crate) lenient: bool,
    /// What must not be shown.
    pub(crate) secrets: Secrets<'a>,
}

/// The arguments whose values must not be shown.
#[derive(Clone, Copy)]
pub(crate) enum Secrets<'a> {
    None,
    All,
    Named(&'a [&'a str]),
}

impl Schema {
    /// Prepares a schema. The error is a sentence about a pattern.
    pub(crate) fn new(model: Model) -> Result<Self, String> {
        let schema = Self::comparable(model);
        let invalid = schema.patterns.iter().find_map(|pattern| pattern.as_ref().err().cloned());
        invalid.map_or(Ok(schema), Err)
    }

    /// Prepares a schema of which it may be unknown whether a value fits, since patterns that cannot be compiled are not an
    /// error. No value is accepted, or has a fault, because of such a pattern.
    pub(crate) fn comparable(model: Model) -> Self {
        let random = RandomState::new();
        let hashing = (random.hash_one(0), random.hash_one(1));
        let patterns = plan::patterns(&model);
        let rechecks_edits = model.nodes().any(|(_, node)| depends_on_absence(node));
        let mut schema = Self { model, plans: Vec::new(), patterns, rechecks_edits, hashing };
        schema.plans = plan::plans(&schema.model, &|value| schema.hash_of(value));
        let mut absent = Vec::new();
        for (id, node) in schema.model.nodes() {
            let properties = node.object.iter().flat_map(|rules| &rules.properties).enumerate();
            absent.extend(properties.filter(|(_, it)| !schema.accepts(it.schema, "null")).map(|(slot, _)| (id, slot)));
        }
        for (id, slot) in absent {
            if let Some(object) = &mut schema.plans[id.index()].object {
                object.absent_if_null[slot] = true;
            }
        }
        schema
    }

    /// The schema.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// Checks a value. If it was edited, returns the edited text. If it is unknown whether it fits, there are no faults.
    pub(crate) fn check(&self, json: &str, how: &How<'_>) -> Result<Option<String>, Faults> {
        let leniency = if how.lenient { Leniency::Lenient } else { Leniency::Strict };
        self.completed(Run::new(self, json, Report::new(how.document, how.secrets), leniency), how)
    }

    fn completed(&self, mut run: Run<'_>, how: &How<'_>) -> Result<Option<String>, Faults> {
        match run.document(self.model.root()) {
            Ok(()) => {
                let edited = run.finish()?;
                if let Some(edited) = edited.as_deref().filter(|_| self.rechecks_edits) {
                    self.check(edited, &How { lenient: false, ..*how })?;
                }
                Ok(edited)
            }
            Err(stop) => Err(run.stopped(stop)),
        }
    }

    /// Whether a value fits a node, exactly as it is written. If that is unknown, it does not.
    pub(crate) fn accepts(&self, node: NodeId, json: &str) -> bool {
        self.judge(node, json) == Some(true)
    }

    /// Whether a value fits a node; none if that is unknown.
    pub(crate) fn judge(&self, node: NodeId, json: &str) -> Option<bool> {
        let mut run = Run::new(self, json, Report::new(ARGUMENTS, Secrets::All), Leniency::Strict);
        // First the syntax and the keys, then the schema.
        run.scan.next_token();
        let read = run.value(0, 0).and_then(|()| Ok(run.scan.end()?));
        if read.is_err() || !run.report.is_empty() {
            return Some(false);
        }
        (run.scan.pos, run.mode) = (0, Mode::Judge);
        run.scan.next_token();
        match run.expand(node, false).and_then(|()| run.value(0, 0)) {
            Err(Stop::Unknown) => None,
            outcome => Some(outcome.is_ok()),
        }
    }

    fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.hashing.0, self.hashing.1)
    }

    fn hash(&self, value: &(impl Hash + ?Sized)) -> u128 {
        let mut hasher = self.hasher();
        value.hash(&mut hasher);
        hasher.finish128().as_u128()
    }

    fn hash_of(&self, value: &Value) -> u128 {
        let text = value.to_string();
        let mut run = Run::new(self, &text, Report::new(ARGUMENTS, Secrets::All), Leniency::Strict);
        run.hash_value().unwrap_or_default()
    }
}

/// Whether a value may fit a schema because of a null that stands for an absent member.
pub(super) fn depends_on_absence(node: &Node) -> bool {
    let is_composite = |value: &Value| value.is_array() || value.is_object();
    !node.not.is_empty()
        || !node.conditions.is_empty()
        || !node.one_of.is_empty()
        || node.array.as_ref().is_some_and(|rules| rules.unique || !rules.contains.is_empty())
        || node.values.as_ref().is_some_and(|values| values.iter().any(is_composite))
}

/// What a fault leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It is reported, and the check goes on.
    Report,
    /// The value does not fit, which is all that matters.
    Judge,
    /// It is described as what an alternative lacks, and the check stops.
    Explain,
}

/// What else fits, beside what the schema says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leniency {
    /// Less: where only integers fit, `2.0` does not.
    Exact,
    Strict,
    /// Null for an absent member.
    Lenient,
}

/// Why a check stops.
#[derive(Clone, Copy)]
enum Stop {
    Malformed(Malformed),
    /// The value does not fit. Never in [`Mode::Report`].
    Unfit,
    /// Too much was scanned again.
    Budget,
    /// It depends on a pattern that cannot be compiled.
    Unknown,
}

impl From<Malformed> for Stop {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A schema that applies to the value that is being read.
#[derive(Clone, Copy)]
struct Active {
    node: NodeId,
    /// Where the schemas end that apply because of this one.
    end: usize,
    /// Of an object: the slot that is expected next, and the slot of the member that is being read.
    next: u32,
    slot: u32,
    /// Where its bits or counters begin.
    bits: usize,
    /// Whether it evaluates the member that is being read.
    covers: bool,
}

/// Not a slot.
const NO_SLOT: u32 = u32::MAX;

/// A check that is being made.
struct Run<'a> {
    schema: &'a Schema,
    scan: Scanner<'a>,
    mode: Mode,
    leniency: Leniency,
    /// Whether only what the schema publishes is left (see `publish.rs`), and whether other members of the root are, too.
    publishes: bool,
    opens_root: bool,
    /// The schemas of the values that are being read; those of the innermost value are the last.
    active: Vec<Active>,
    /// Of each object that is being read and each of its schemas: the slots that were seen, and those that count as absent.
    bits: Vec<u64>,
    /// The hashes of the keys that no schema names, and of unique items.
    hashes: Vec<u128>,
    /// What is known about the alternatives of the unions that are being decided.
    marks: Vec<u8>,
    /// What is wrong with values as a whole, reported once they are read: what was expected, or that nothing was.
    pending: Vec<Option<String>>,
    steps: Vec<Step>,
    /// How many bytes can be scanned again, and how many schemas applied because of others.
    budget: usize,
    report: Report<'a>,
    /// Whether there may be faults that are not reported.
    is_uncertain: bool,
    /// What an alternative lacks, in [`Mode::Explain`], and the steps to the value.
    lack: Option<String>,
    base: usize,
    /// The edited text, and how far the text is copied to it.
    edited: Option<String>,
    copied: usize,
}

impl<'a> Run<'a> {
    fn new(schema: &'a Schema, json: &'a str, report: Report<'a>, leniency: Leniency) -> Self {
        Self {
            schema,
            scan: Scanner::new(json),
            mode: Mode::Report,
            leniency,
            publishes: false,
            opens_root: false,
            active: Vec::new(),
            bits: Vec::new(),
            hashes: Vec::new(),
            marks: Vec::new(),
            pending: Vec::new(),
            steps: Vec::new(),
            budget: json.len().saturating_mul(64).saturating_add(64 * 1024),
            report,
            is_uncertain: false,
            lack: None,
            base: 0,
            edited: None,
            copied: 0,
        }
    }

    fn document(&mut self, root: NodeId) -> Result<(), Stop> {
        self.scan.next_token();
        self.expand(root, false)?;
        self.value(0, 0)?;
        Ok(self.scan.end()?)
    }

    fn finish(self) -> Result<Option<String>, Faults> {
        let Self { report, scan, edited, copied, is_uncertain, .. } = self;
        if report.is_empty() && !is_uncertain {
            Ok(edited.map(|edited| edited + &scan.text[copied..]))
        } else {
            Err(report.into_faults())
        }
    }

    fn stopped(self, stop: Stop) -> Faults {
        let Self { mut report, steps, scan, schema, .. } = self;
        match stop {
            Stop::Malformed(malformed) => report.malformed(malformed, &steps, schema, &scan),
            Stop::Unknown => report.into_faults(),
            Stop::Budget | Stop::Unfit => {
                report.add_ambiguous(&steps, schema, scan.text);
                report.into_faults()
            }
        }
    }

    /// Whether a pattern matches; none if that is unknown.
    fn matches(&mut self, pattern: PatternId, text: &str) -> Result<Option<bool>, Stop> {
        match &self.schema.patterns[pattern.index()] {
            Ok(pattern) => Ok(Some(pattern.is_match(text))),
            Err(_) if self.mode == Mode::Judge => Err(Stop::Unknown),
            Err(_) => {
                self.is_uncertain = true;
                Ok(None)
            }
        }
    }

    fn plan(&self, id: NodeId) -> &'a Plan {
        let schema = self.schema;
        &schema.plans[id.index()]
    }

    /// Adds a schema to those of the value at the position, and every schema that applies because of it. `tracks` says
    /// whether an outer one has to know which members are evaluated.
    #[inline]
    fn expand(&mut self, id: NodeId, tracks: bool) -> Result<(), Stop> {
        let plan = self.plan(id);
        if plan.is_any || (plan.nullable && self.scan.peek() == b'n') {
            return Ok(());
        }
        let index = self.active.len();
        let is_kept = !plan.is_bare || self.publishes;
        if is_kept {
            let end = index + 1;
            self.active.push(Active { node: id, end, next: 0, slot: NO_SLOT, bits: 0, covers: false });
        }
        if plan.has_applicators && plan.types.intersects(kind_of(self.scan.peek())) {
            self.apply(id, tracks || plan.tracks)?;
            if is_kept {
                self.active[index].end = self.active.len();
            }
        }
        Ok(())
    }

    fn apply(&mut self, id: NodeId, tracks: bool) -> Result<(), Stop> {
        // One schema can apply many times: twice as often at each level, if each refers to the next one twice.
        self.budget = self.budget.checked_sub(1).ok_or(Stop::Budget)?;
        let schema = self.schema;
        let node = &schema.model[id];
        for inner in node.reference.iter().chain(&node.all_of) {
            self.expand(*inner, tracks)?;
        }
        for union in &node.any_of {
            self.union(union, false, tracks)?;
        }
        for union in &node.one_of {
            self.union(union, true, tracks)?;
        }
        for not in &node.not {
            if self.judge(*not, Leniency::Strict)? && self.wants_fault()? {
                let excluded = words::of_node(&schema.model, *not);
                self.pending.push(Some(match excluded.as_str() {
                    words::UNSPECIFIC => "other than what its schema rules out".to_owned(),
                    excluded => format!("other than {excluded}"),
                }));
            }
        }
        for condition in &node.conditions {
            let fits = self.judge(condition.condition, Leniency::Strict)?;
            if fits && tracks {
                self.expand(condition.condition, true)?;
            }
            if let Some(branch) = if fits { condition.then } else { condition.otherwise } {
                self.expand(branch, tracks)?;
            }
        }
        let dependent = node.object.as_ref().map_or(&[][..], |object| &object.dependent_schemas);
        if !dependent.is_empty() && self.scan.peek() == b'{' {
            let mut present = vec![false; dependent.len()];
            self.each_member(|run, key| {
                let name = key.decoded();
                let slot = run.plan(id).object.as_ref().and_then(|object| Some((object, object.slot(&name, 0)?)));
                let is_absent = slot.is_some_and(|(object, slot)| run.is_absent(object, slot));
                for (present, (dependency, _)) in present.iter_mut().zip(dependent) {
                    *present |= !is_absent && *dependency == name;
                }
                Ok(true)
            })?;
            for (_, (_, inner)) in present.into_iter().zip(dependent).filter(|(present, _)| *present) {
                self.expand(*inner, tracks)?;
            }
        }
        Ok(())
    }

    /// Whether the value at the position is a null that stands for an absent member.
    fn is_absent(&self, object: &ObjectPlan, slot: u32) -> bool {
        self.leniency == Leniency::Lenient
            && self.scan.peek() == b'n'
            && object.absent_if_null.get(slot as usize).copied().unwrap_or(false)
    }

    /// Calls a function at the value of each member of the object at the position, until it returns false.
    fn each_member(&mut self, mut call: impl FnMut(&mut Self, Text<'a>) -> Result<bool, Stop>) -> Result<(), Stop> {
        let (start, depth) = (self.scan.pos, self.scan.depth);
        let mut has_more = self.scan.enter(b'}')?;
        while has_more {
            let key = self.scan.key()?;
            if !call(self, key)? {
                break;
            }
            self.scan.skip()?;
            has_more = self.scan.next_part(b'}')?;
        }
        self.charge(self.scan.pos - start)?;
        (self.scan.pos, self.scan.depth) = (start, depth);
        Ok(())
    }

    /// Counts bytes that are scanned again.
    fn charge(&mut self, bytes: usize) -> Result<(), Stop> {
        self.budget = self.budget.checked_sub(bytes + 16).ok_or(Stop::Budget)?;
        Ok(())
    }

    /// Reads the value at the position, to which the active schemas from `first` on apply.
    fn value(&mut self, first: usize, pending: usize) -> Result<(), Stop> {
        if self.active.len() == first && self.mode != Mode::Report && self.pending.len() == pending {
            return Ok(self.scan.skip()?);
        }
        let start = self.scan.pos;
        match self.scan.peek() {
            b'"' => self.string(first)?,
            b'{' => self.object(first)?,
            b'[' => self.array(first)?,
            b'-' | b'0'..=b'9' => self.number(first)?,
            b'n' => self.literal(first, "null", Types::NULL)?,
            b't' => self.literal(first, "true", Types::BOOLEAN)?,
            b'f' => self.literal(first, "false", Types::BOOLEAN)?,
            _ => return Ok(self.scan.error("a value of JSON")?),
        }
        self.active.truncate(first);
        if self.pending.len() > pending {
            for expected in self.pending.split_off(pending) {
                self.add(start, expected.map_or(Found::Superfluous, Found::Wrong))?;
            }
        }
        Ok(())
    }

    /// Reads the value at the position if it plainly fits a schema, as most scalars do, or if its faults are only counted.
    /// Whether it is read.
    #[inline]
    fn leaf(&mut self, target: NodeId) -> Result<bool, Stop> {
        let plan = self.plan(target);
        let start = self.scan.pos;
        // Whether a value that does not fit here fits nowhere.
        let mut is_misfit = false;
        let fits = match self.scan.peek() {
            b'"' if plan.is_leaf && plan.types.contains(Types::STRING) && !self.refuses_aliases(plan) => {
                let text = self.scan.string()?;
                is_misfit = !text.escaped;
                let is_equal = |value: &Const| matches!(value, Const::Text(known) if known == text.raw);
                plan.values.as_ref().is_none_or(|values| !text.escaped && values.iter().any(is_equal))
            }
            b'-' | b'0'..=b'9' if plan.is_leaf => {
                let (text, is_plain) = self.scan.number()?;
                is_misfit = is_plain && text.len() <= 18 && plan.integers.0 <= plan.integers.1 && plan.values.is_none();
                if is_plain { fits_quickly(plan, text) } else { plan.is_number }
            }
            b't' if plan.is_leaf && plan.values.is_none() && plan.types.contains(Types::BOOLEAN) => {
                self.scan.literal("true")?;
                true
            }
            b'f' if plan.is_leaf && plan.values.is_none() && plan.types.contains(Types::BOOLEAN) => {
                self.scan.literal("false")?;
                true
            }
            b'n' if plan.nullable => {
                self.scan.literal("null")?;
                true
            }
            _ => return Ok(false),
        };
        if !fits && is_misfit && self.mode == Mode::Report && self.report.is_full() {
            return Ok(!self.report.wants_fault());
        }
        if !fits {
            self.scan.pos = start;
        }
        Ok(fits)
    }

    /// Takes away the schemas if the type does not fit one of them, which is the fault to report then.
    #[inline]
    fn restrict(&mut self, first: usize, kind: Types) -> Result<(), Stop> {
        let misfit = self.active[first..].iter().find(|active| !self.plan(active.node).types.contains(kind));
        let Some(Active { node, .. }) = misfit.copied() else { return Ok(()) };
        if self.wants_fault()? {
            let is_never = self.plan(node).is_never;
            self.pending.push((!is_never).then(|| words::of_node(&self.schema.model, node)));
        }
        self.active.truncate(first);
        Ok(())
    }

    /// Reports that the value is none of the only ones that fit.
    fn enumerated(&mut self, first: usize, start: usize, is_equal: impl Fn(&Const) -> bool) -> Result<(), Stop> {
        for index in first..self.active.len() {
            let node = self.active[index].node;
            let Some(values) = self.values(self.plan(node)) else { continue };
            if !values.iter().any(&is_equal) {
                let schema = self.schema;
                self.wrong(start, || words::of_values(schema.model[node].values.as_deref().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    fn has_values(&self, first: usize) -> bool {
        self.active[first..].iter().any(|active| self.plan(active.node).values.is_some())
    }

    /// Compares a list or an object with the only values that fit.
    fn enumerated_again(&mut self, first: usize, start: usize) -> Result<(), Stop> {
        if !self.has_values(first) {
            return Ok(());
        }
        let end = std::mem::replace(&mut self.scan.pos, start);
        let hash = self.hash_again()?;
        self.scan.pos = end;
        self.enumerated(first, start, |value| matches!(value, Const::Hash(known) if *known == hash))
    }

    /// A hash that occurs twice among the last ones.
    fn repeated_hash(&mut self, from: usize) -> Option<u128> {
        let hashes = &mut self.hashes[from..];
        hashes.sort_unstable();
        hashes.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }

    /// The hash of the value at the position, which stays.
    fn hash_again(&mut self) -> Result<u128, Stop> {
        let (start, depth) = (self.scan.pos, self.scan.depth);
        let hash = self.hash_value()?;
        self.charge(self.scan.pos - start)?;
        (self.scan.pos, self.scan.depth) = (start, depth);
        Ok(hash)
    }

    /// A hash that equal values share, however they are written.
    fn hash_value(&mut self) -> Result<u128, Stop> {
        let schema = self.schema;
        Ok(match self.scan.next_token() {
            b'"' => schema.hash(&*self.scan.string()?.decoded()),
            b'-' | b'0'..=b'9' => {
                let (text, _) = self.scan.number()?;
                schema.hash(&("number", Digits::parse(text.as_bytes())))
            }
            b'[' => {
                let mut hasher = schema.hasher();
                hasher.write_u8(b'[');
                let mut has_more = self.scan.enter(b']')?;
                while has_more {
                    hasher.write_u128(self.hash_value()?);
                    has_more = self.scan.next_part(b']')?;
                }
                hasher.finish128().as_u128()
            }
            b'{' => {
                // The order of members does not matter.
                let mut sum = 0_u128;
                let mut has_more = self.scan.enter(b'}')?;
                while has_more {
                    let key = schema.hash(&*self.scan.key()?.decoded());
                    sum = sum.wrapping_add(schema.hash(&(key, self.hash_value()?)));
                    has_more = self.scan.next_part(b'}')?;
                }
                schema.hash(&("object", sum))
            }
            first => {
                let literal = match first {
                    b'n' => "null",
                    b't' => "true",
                    _ => "false",
                };
                self.scan.literal(literal)?;
                schema.hash(&("literal", literal))
            }
        })
    }

    /// Replaces a part of the text. Parts come in their order.
    fn edit(&mut self, from: usize, to: usize, text: &str) {
        if self.mode == Mode::Report && self.report.is_empty() {
            let all = self.scan.text;
            let edited = self.edited.get_or_insert_with(|| String::with_capacity(all.len()));
            edited.push_str(&all[self.copied..from]);
            edited.push_str(text);
            self.copied = to;
        }
    }

    /// Whether a fault is to be described; otherwise it is counted.
    fn wants_fault(&mut self) -> Result<bool, Stop> {
        match self.mode {
            Mode::Judge => Err(Stop::Unfit),
            Mode::Explain => Ok(true),
            Mode::Report => Ok(self.report.wants_fault()),
        }
    }

    /// Reports that the value from `start` to the position does not fit.
    fn wrong(&mut self, start: usize, expected: impl FnOnce() -> String) -> Result<(), Stop> {
        if self.wants_fault()? {
            self.add(start, Found::Wrong(expected()))?;
        }
        Ok(())
    }

    /// Reports a fault of the value from `start` to the position.
    fn add(&mut self, start: usize, found: Found<'_>) -> Result<(), Stop> {
        let text = self.scan.text;
        if self.mode == Mode::Explain {
            let hides = self.report.hides_values(&self.steps, self.schema, text);
            self.lack = (!hides).then(|| found.lack(&self.steps[self.base..], self.schema, text));
            return Err(Stop::Unfit);
        }
        self.report.add(&self.steps, self.schema, text, &text[start..self.scan.pos], found);
        Ok(())
    }
}

/// Whether so many hashes are compared before there are more.
const fn is_milestone(count: usize) -> bool {
    count >= 1024 && count.is_power_of_two() && count.trailing_zeros() % 2 == 0
}

/// The type of a value by its first byte; for numbers, both types.
const fn kind_of(first: u8) -> Types {
    match first {
        b'"' => Types::STRING,
        b'{' => Types::OBJECT,
        b'[' => Types::ARRAY,
        b'n' => Types::NULL,
        b't' | b'f' => Types::BOOLEAN,
        _ => Types::NUMBER,
    }
}

#[cfg(test)]
mod tests;
