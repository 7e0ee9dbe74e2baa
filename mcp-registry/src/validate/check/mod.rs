//! Checks JSON text against a schema, in one pass and without a `Value`.
//!
//! The schemas that apply to a value, by references, `allOf` and the chosen alternatives of unions, are checked together
//! (see [`Run::expand`]). Which alternative is chosen is decided before the value is read: by its type, by its members, and
//! otherwise by trial (see `union.rs`).

mod plan;
mod report;
mod scan;
mod union;
mod words;

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use mcp_core::support::faults::{ARGUMENTS, Document};
use mcp_core::support::schema::{Digits, Model, Node, NodeId, Types};
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher13};

use self::plan::{Const, ObjectPlan, Plan};
use self::report::{Found, Report, Step};
use self::scan::{Malformed, Scanner, Text};
use super::Faults;
use super::pattern::Pattern;

/// A schema, prepared to check values.
pub(crate) struct Schema {
    model: Model,
    plans: Vec<Plan>,
    patterns: Vec<Pattern>,
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
        let random = RandomState::new();
        let hashing = (random.hash_one(0), random.hash_one(1));
        let patterns = plan::patterns(&model)?;
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
        Ok(schema)
    }

    /// The schema.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// Checks a value. If it was edited, returns the edited text.
    pub(crate) fn check(&self, json: &str, how: &How<'_>) -> Result<Option<String>, Faults> {
        let leniency = if how.lenient { Leniency::Lenient } else { Leniency::Strict };
        let mut run = Run::new(self, json, Report::new(how.document, how.secrets), leniency);
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

    /// Whether a value fits a node, exactly as it is written.
    pub(crate) fn accepts(&self, node: NodeId, json: &str) -> bool {
        let mut run = Run::new(self, json, Report::new(ARGUMENTS, Secrets::All), Leniency::Strict);
        // First the syntax and the keys, then the schema.
        run.scan.next_token();
        let read = run.value(0, 0).and_then(|()| Ok(run.scan.end()?));
        if read.is_err() || !run.report.is_empty() {
            return false;
        }
        (run.scan.pos, run.mode) = (0, Mode::Judge);
        run.scan.next_token();
        run.expand(node, false).and_then(|()| run.value(0, 0)).is_ok()
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
fn depends_on_absence(node: &Node) -> bool {
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
    /// How many bytes can be scanned again.
    budget: usize,
    report: Report<'a>,
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
            active: Vec::new(),
            bits: Vec::new(),
            hashes: Vec::new(),
            marks: Vec::new(),
            pending: Vec::new(),
            steps: Vec::new(),
            budget: json.len().saturating_mul(64).saturating_add(64 * 1024),
            report,
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
        let Self { report, scan, edited, copied, .. } = self;
        if report.is_empty() {
            Ok(edited.map(|edited| edited + &scan.text[copied..]))
        } else {
            Err(report.into_faults())
        }
    }

    fn stopped(self, stop: Stop) -> Faults {
        let Self { mut report, steps, scan, schema, .. } = self;
        match stop {
            Stop::Malformed(malformed) => report.malformed(malformed, &steps, schema, &scan),
            Stop::Budget | Stop::Unfit => {
                report.add_ambiguous(&steps, schema, scan.text);
                report.into_faults()
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
        if !plan.is_bare {
            let end = index + 1;
            self.active.push(Active { node: id, end, next: 0, slot: NO_SLOT, bits: 0, covers: false });
        }
        if plan.has_applicators && plan.types.intersects(kind_of(self.scan.peek())) {
            self.apply(id, tracks || plan.tracks)?;
            if !plan.is_bare {
                self.active[index].end = self.active.len();
            }
        }
        Ok(())
    }

    fn apply(&mut self, id: NodeId, tracks: bool) -> Result<(), Stop> {
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
                    "what its schema says" => "other than what its schema rules out".to_owned(),
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
            b'"' if plan.is_leaf && plan.types.contains(Types::STRING) => {
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

    fn literal(&mut self, first: usize, literal: &'static str, kind: Types) -> Result<(), Stop> {
        let start = self.scan.pos;
        self.scan.literal(literal)?;
        self.restrict(first, kind)?;
        self.enumerated(first, start, |value| matches!(value, Const::Literal(known) if *known == literal))
    }

    /// Reports that the value is none of the only ones that fit.
    fn enumerated(&mut self, first: usize, start: usize, is_equal: impl Fn(&Const) -> bool) -> Result<(), Stop> {
        for index in first..self.active.len() {
            let node = self.active[index].node;
            let Some(values) = &self.plan(node).values else { continue };
            if !values.iter().any(&is_equal) {
                let schema = self.schema;
                self.wrong(start, || words::of_values(schema.model[node].values.as_deref().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    fn string(&mut self, first: usize) -> Result<(), Stop> {
        let text = self.scan.string()?;
        self.restrict(first, Types::STRING)?;
        for index in first..self.active.len() {
            let node = self.active[index].node;
            if self.plan(node).has_string_rules {
                self.string_rules(node, text)?;
            }
        }
        if self.has_values(first) {
            let decoded = text.decoded();
            self.enumerated(first, text.start, |value| matches!(value, Const::Text(known) if *known == decoded))?;
        }
        Ok(())
    }

    fn has_values(&self, first: usize) -> bool {
        self.active[first..].iter().any(|active| self.plan(active.node).values.is_some())
    }

    fn string_rules(&mut self, id: NodeId, text: Text<'a>) -> Result<(), Stop> {
        let schema = self.schema;
        let rules = &schema.model[id].string;
        let (decoded, start) = (text.decoded(), text.start);
        if rules.min_length > 0 || rules.max_length.is_some() {
            let length = u64::try_from(decoded.chars().count()).unwrap_or(u64::MAX);
            let of = |min, max| format!("a text{}", words::of_count(min, max, "character"));
            if length < rules.min_length {
                self.wrong(start, || of(rules.min_length, None))?;
            }
            if rules.max_length.is_some_and(|max| length > max) {
                self.wrong(start, || of(0, rules.max_length))?;
            }
        }
        for pattern in &rules.patterns {
            if !schema.patterns[pattern.index()].is_match(&decoded) {
                self.wrong(start, || mcp_core::support::faults::matching(schema.model.pattern(*pattern)))?;
            }
        }
        if let Some(format) = self.plan(id).format.filter(|format| !(format.accepts)(&decoded)) {
            self.wrong(start, || words::of_format(format.name))?;
        }
        Ok(())
    }

    fn number(&mut self, first: usize) -> Result<(), Stop> {
        let start = self.scan.pos;
        let (text, is_plain) = self.scan.number()?;
        if is_plain && self.active[first..].iter().all(|active| fits_quickly(self.plan(active.node), text)) {
            return Ok(());
        }
        let Some(digits) = Digits::parse(text.as_bytes()) else { return Ok(self.scan.error("a number")?) };
        let is_integer = digits.is_integer();
        self.restrict(first, if is_integer { Types::INTEGER } else { Types::FRACTION })?;
        for index in first..self.active.len() {
            let node = self.active[index].node;
            if self.plan(node).has_number_rules {
                self.number_rules(node, start, &digits)?;
            }
        }
        self.enumerated(first, start, |value| matches!(value, Const::Number(known) if digits == *known))?;
        let is_for_integers = |active: &Active| !self.plan(active.node).types.contains(Types::FRACTION);
        if is_integer && !is_plain && self.active[first..].iter().any(is_for_integers) {
            match self.leniency {
                Leniency::Exact => return Err(Stop::Unfit),
                Leniency::Strict => {}
                Leniency::Lenient => {
                    if let Some(integer) = digits.as_plain_integer(text) {
                        self.edit(start, self.scan.pos, &integer);
                    }
                }
            }
        }
        Ok(())
    }

    fn number_rules(&mut self, id: NodeId, start: usize, digits: &Digits<'_>) -> Result<(), Stop> {
        let schema = self.schema;
        let rules = &schema.model[id].number;
        for (limit, is_min) in [(rules.min, true), (rules.max, false)] {
            let Some(limit) = limit else { continue };
            let order = digits.compare(limit.value);
            let order = if is_min { order } else { order.reverse() };
            if order.is_lt() || (limit.exclusive && order.is_eq()) {
                self.wrong(start, || format!("a number {}", words::of_limit(limit, is_min)))?;
            }
        }
        for of in &rules.multiple_of {
            if !digits.is_multiple_of(*of) {
                self.wrong(start, || format!("a multiple of {of}"))?;
            }
        }
        Ok(())
    }

    fn array(&mut self, first: usize) -> Result<(), Stop> {
        let schema = self.schema;
        self.restrict(first, Types::ARRAY)?;
        let (start, last) = (self.scan.pos, self.active.len());
        let (hashes, bits) = (self.hashes.len(), self.bits.len());
        let rules = |active: &Active| schema.model[active.node].array.as_ref();
        let (mut has_rules, mut is_unique, mut repeats) = (false, false, false);
        for active in &mut self.active[first..last] {
            let Some(array) = rules(active) else { continue };
            (has_rules, is_unique) = (true, is_unique || array.unique);
            active.bits = self.bits.len();
            self.bits.resize(self.bits.len() + array.contains.len(), 0);
        }
        if !has_rules && self.mode != Mode::Report {
            self.scan.skip()?;
            return self.enumerated_again(first, start);
        }
        // Of one schema that has no more to say about an item.
        let simple_items = match &self.active[first..last] {
            [active] => self.plan(active.node).simple_items,
            _ => None,
        };
        let mut count = 0;
        let mut has_more = self.scan.enter(b']')?;
        while has_more {
            if let Some(items) = simple_items {
                if self.leaf(items)? {
                    count += 1;
                    has_more = self.scan.next_part(b']')?;
                    continue;
                }
            }
            self.steps.push(Step::Index(count));
            let (child, pending) = (self.active.len(), self.pending.len());
            for index in first..last {
                let active = self.active[index];
                let Some(array) = rules(&active) else { continue };
                match simple_items.or_else(|| array.prefix.get(count).copied()).or(array.items) {
                    // Reported with the list.
                    Some(items) if self.plan(items).is_never && count >= array.prefix.len() => {}
                    Some(items) => self.expand(items, false)?,
                    None => {}
                }
                for (counter, contains) in (active.bits..).zip(&array.contains) {
                    self.bits[counter] += u64::from(self.judge(contains.schema, Leniency::Strict)?);
                }
            }
            let hash = if is_unique && !repeats { self.hash_again()? } else { 0 };
            self.value(child, pending)?;
            if is_unique && !repeats {
                self.hashes.push(hash);
                repeats = is_milestone(self.hashes.len() - hashes) && self.repeated_hash(hashes).is_some();
            }
            self.steps.pop();
            count += 1;
            has_more = self.scan.next_part(b']')?;
        }
        if has_rules {
            repeats |= is_unique && self.repeated_hash(hashes).is_some();
            self.array_rules(first, start, u64::try_from(count).unwrap_or(u64::MAX), repeats)?;
            self.hashes.truncate(hashes);
            self.bits.truncate(bits);
        }
        self.enumerated_again(first, start)
    }

    fn array_rules(&mut self, first: usize, start: usize, count: u64, repeats: bool) -> Result<(), Stop> {
        let schema = self.schema;
        let of = |min, max| format!("a list{}", words::of_count(min, max, "item"));
        for index in first..self.active.len() {
            let Active { node, bits, .. } = self.active[index];
            let Some(array) = &schema.model[node].array else { continue };
            let max = self.plan(node).max_items;
            if count < array.min_items {
                self.wrong(start, || of(array.min_items, None))?;
            }
            if max.is_some_and(|max| count > max) {
                self.wrong(start, || of(0, max))?;
            }
            if array.unique && repeats {
                self.wrong(start, || "a list without the same item twice".to_owned())?;
            }
            for (counter, contains) in (bits..).zip(&array.contains) {
                let found = self.bits[counter];
                let what = || words::of_node(&schema.model, contains.schema);
                if found < contains.min {
                    let least = contains.min;
                    self.wrong(start, || match least {
                        1 => format!("a list with an item that is {}", what()),
                        least => format!("a list with at least {least} items that are each {}", what()),
                    })?;
                } else if contains.max.is_some_and(|max| found > max) {
                    let most = contains.max.unwrap_or_default();
                    self.wrong(start, || format!("a list with at most {most} items that are each {}", what()))?;
                }
            }
        }
        Ok(())
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

    fn object(&mut self, first: usize) -> Result<(), Stop> {
        let schema = self.schema;
        self.restrict(first, Types::OBJECT)?;
        let (start, last, bits) = (self.scan.pos, self.active.len(), self.bits.len());
        let mut object =
            Object { first, last, start, depth: self.scan.depth, hashes: self.hashes.len(), ..Object::default() };
        for active in &mut self.active[first..last] {
            let plan = &schema.plans[active.node.index()];
            let Some(rules) = &plan.object else { continue };
            object.has_rules = true;
            object.tracks |= plan.tracks;
            (active.bits, active.next) = (self.bits.len(), 0);
            self.bits.resize(self.bits.len() + 2 * rules.required.len(), 0);
        }
        if !object.has_rules && self.mode != Mode::Report {
            self.scan.skip()?;
            return self.enumerated_again(first, start);
        }
        let mut has_more = self.scan.enter(b'}')?;
        while has_more {
            self.member(&mut object)?;
            has_more = self.scan.next_part(b'}')?;
        }
        if let Some((from, to)) = object.dropped {
            self.edit(from, to, "");
        }
        if self.hashes.len() > object.hashes + 1 {
            self.repeated_key(&mut object)?;
        }
        self.hashes.truncate(object.hashes);
        if object.has_rules {
            self.object_rules(&object, start)?;
            self.bits.truncate(bits);
        }
        self.enumerated_again(first, start)
    }

    fn member(&mut self, object: &mut Object) -> Result<(), Stop> {
        let schema = self.schema;
        let Object { first, last, .. } = *object;
        let begin = self.scan.pos;
        if let Some((from, _)) = object.dropped.take() {
            self.edit(from, begin, "");
        }
        let key = self.scan.key()?;
        let decoded = key.escaped.then(|| key.decoded());
        let name = decoded.as_deref().unwrap_or(key.raw);
        let mut step = Step::Key(key.start);
        let (mut is_named, mut is_absent, mut is_duplicate) = (false, false, false);
        for index in first..last {
            let active = &mut self.active[index];
            let Some(rules) = &schema.plans[active.node.index()].object else { continue };
            active.slot = NO_SLOT;
            let Some(slot) = rules.slot(name, active.next) else { continue };
            (active.slot, active.next) = (slot, slot + 1);
            if !is_named && (slot as usize) < rules.absent_if_null.len() {
                step = Step::Property(active.node, slot);
            }
            let (word, bit) = (active.bits + slot as usize / 64, 1 << (slot % 64));
            is_duplicate |= self.bits[word] & bit != 0;
            self.bits[word] |= bit;
            is_named = true;
            is_absent |= self.is_absent(rules, slot);
            let is_only = last - first == 1 && !rules.has_unknown_rules && !object.tracks;
            let target = rules.targets.get(slot as usize).filter(|_| is_only && !is_absent && !is_duplicate);
            if let Some(target) = target {
                if self.leaf(*target)? {
                    object.count += 1;
                    object.kept = Some(self.scan.pos);
                    return Ok(());
                }
            }
        }
        if is_duplicate && self.mode == Mode::Report && self.wants_fault()? {
            let name = step.name(schema).unwrap_or(name).to_owned();
            self.add(begin, Found::Duplicate(&name))?;
        }
        if !is_named && self.mode == Mode::Report && !object.repeats {
            self.hashes.push(schema.hash(name));
            // Early, so that the same key many times takes no memory.
            if is_milestone(self.hashes.len() - object.hashes) {
                self.repeated_key(object)?;
            }
        }
        self.steps.push(step);
        if is_absent {
            self.scan.literal("null")?;
            for Active { node, slot, bits, .. } in &self.active[first..last] {
                let rules = schema.plans[node.index()].object.as_ref().filter(|_| *slot != NO_SLOT);
                let Some(rules) = rules else { continue };
                self.bits[bits + rules.required.len() + *slot as usize / 64] |= 1 << (slot % 64);
            }
            match object.kept {
                None => object.dropped = Some((begin, self.scan.pos)),
                Some(end) => {
                    self.edit(end, self.scan.pos, "");
                    object.kept = Some(self.scan.pos);
                }
            }
            self.steps.pop();
            return Ok(());
        }
        object.count += 1;
        let (child, pending) = (self.active.len(), self.pending.len());
        for index in first..last {
            self.member_schemas(object, index, name, key)?;
        }
        if object.tracks {
            self.unevaluated(object, name)?;
        }
        self.value(child, pending)?;
        self.steps.pop();
        object.kept = Some(self.scan.pos);
        Ok(())
    }

    /// Adds the schemas of a member by one schema of its object.
    #[inline]
    fn member_schemas(&mut self, object: &mut Object, index: usize, name: &str, key: Text<'a>) -> Result<(), Stop> {
        let schema = self.schema;
        let Active { node, slot, .. } = self.active[index];
        let (Some(plan), Some(rules)) = (&self.plan(node).object, &schema.model[node].object) else { return Ok(()) };
        let target = plan.targets.get(slot as usize);
        if let Some(target) = target {
            self.expand(*target, false)?;
        }
        let mut covers = target.is_some();
        if plan.has_unknown_rules {
            for (pattern, inner) in &rules.pattern_properties {
                if schema.patterns[pattern.index()].is_match(name) {
                    covers = true;
                    self.expand(*inner, false)?;
                }
            }
            if let Some(more) = rules.additional.filter(|_| !covers) {
                covers = true;
                self.other_member(object, more, name)?;
            }
            if let Some(names) = rules.names.filter(|_| object.misnamed.is_none()) {
                let value = std::mem::replace(&mut self.scan.pos, key.start);
                let fits = self.judge(names, Leniency::Strict);
                self.scan.pos = value;
                object.misnamed = (!fits?).then_some(names);
            }
        }
        self.active[index].covers = covers;
        Ok(())
    }

    /// Adds the schema of a member that the schema of its object does not name.
    fn other_member(&mut self, object: &Object, inner: NodeId, name: &str) -> Result<(), Stop> {
        if !self.plan(inner).is_never {
            return self.expand(inner, false);
        }
        if self.wants_fault()? {
            let schema = self.schema;
            let rules = self.active[object.first..object.last].iter();
            let rules = rules.filter_map(|active| schema.model[active.node].object.as_ref());
            let names = rules.flat_map(|rules| &rules.properties).map(|property| property.name.as_str());
            let (known, step) = (names.collect::<Vec<_>>(), self.steps.pop());
            self.add(self.scan.pos, Found::Unknown(name, &known))?;
            self.steps.extend(step);
        }
        Ok(())
    }

    /// Adds the schemas of a member that no schema of the same object has evaluated.
    fn unevaluated(&mut self, object: &Object, name: &str) -> Result<(), Stop> {
        let schema = self.schema;
        for index in (object.first..object.last).rev() {
            let Active { node, end, .. } = self.active[index];
            let inner = schema.model[node].object.as_ref().and_then(|rules| rules.unevaluated);
            let is_covered = self.active[index..end].iter().any(|active| active.covers);
            if let Some(inner) = inner.filter(|_| !is_covered) {
                self.active[index].covers = true;
                self.other_member(object, inner, name)?;
            }
        }
        Ok(())
    }

    fn object_rules(&mut self, object: &Object, start: usize) -> Result<(), Stop> {
        let schema = self.schema;
        let of = |min, max| format!("an object{}", words::of_count(min, max, "member"));
        for index in object.first..object.last {
            let Active { node, bits, .. } = self.active[index];
            let (Some(plan), Some(rules)) = (&self.plan(node).object, &schema.model[node].object) else { continue };
            let size = plan.required.len();
            for word in 0..size {
                let present = self.bits[bits + word] & !self.bits[bits + size + word];
                let mut missing = plan.required[word] & !present;
                while missing != 0 {
                    let slot = word * 64 + missing.trailing_zeros() as usize;
                    missing &= missing - 1;
                    if self.wants_fault()? {
                        self.add(start, Found::Lacking(&plan.names[slot]))?;
                    }
                }
            }
            let is_present = |run: &Self, slot: u32| {
                let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
                run.bits[bits + word] & !run.bits[bits + size + word] & bit != 0
            };
            for (dependency, required) in &plan.dependent_required {
                if is_present(self, *dependency) {
                    for slot in required {
                        if !is_present(self, *slot) && self.wants_fault()? {
                            self.add(start, Found::Lacking(&plan.names[*slot as usize]))?;
                        }
                    }
                }
            }
            if object.count < rules.min_properties {
                self.wrong(start, || of(rules.min_properties, None))?;
            }
            if rules.max_properties.is_some_and(|max| object.count > max) {
                self.wrong(start, || of(0, rules.max_properties))?;
            }
        }
        if let Some(names) = object.misnamed {
            self.wrong(start, || format!("an object of which each name is {}", words::of_node(&schema.model, names)))?;
        }
        Ok(())
    }

    /// Reports a key that no schema names and that occurs twice.
    fn repeated_key(&mut self, object: &mut Object) -> Result<(), Stop> {
        let Some(repeated) = self.repeated_hash(object.hashes) else { return Ok(()) };
        object.repeats = true;
        self.hashes.truncate(object.hashes);
        if self.wants_fault()? {
            let place = (self.scan.pos, self.scan.depth);
            let mut name = None;
            (self.scan.pos, self.scan.depth) = (object.start, object.depth);
            self.each_member(|run, key| {
                name = Some(key.decoded()).filter(|name| run.schema.hash(name) == repeated);
                Ok(name.is_none())
            })?;
            (self.scan.pos, self.scan.depth) = place;
            self.add(object.start, Found::Duplicate(&name.unwrap_or_default()))?;
        }
        Ok(())
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

/// An object that is being read.
#[derive(Default)]
struct Object {
    /// Its schemas: from, to.
    first: usize,
    last: usize,
    /// Where it is.
    start: usize,
    depth: u8,
    has_rules: bool,
    tracks: bool,
    /// Where the hashes of its keys begin.
    hashes: usize,
    /// Whether a key that no schema names is known to occur twice.
    repeats: bool,
    /// How many members it has.
    count: u64,
    /// The schema of names, if a name does not fit.
    misnamed: Option<NodeId>,
    /// Where the last member before the next one ends, if one is kept.
    kept: Option<usize>,
    /// The last member, if it is dropped and none before it is kept.
    dropped: Option<(usize, usize)>,
}

/// Whether an integer fits for sure, without comparing its digits.
#[inline]
fn fits_quickly(plan: &Plan, text: &str) -> bool {
    let (least, most) = plan.integers;
    // Shorter ones fit 64 bits.
    let value = || if text.len() <= 18 { text.parse::<i64>().ok() } else { None };
    plan.types.contains(Types::INTEGER)
        && plan.values.is_none()
        && (!plan.has_number_rules || value().is_some_and(|value| least <= value && value <= most))
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
