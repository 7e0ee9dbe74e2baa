//! Decides which alternatives of a union apply to a value, before it is read.

use mcp_core::support::faults::ALTERNATIVES;
use mcp_core::support::schema::{Digits, NodeId, Types};

use super::plan::{Const, ObjectPlan, Plan};
use super::report::{Found, Step};
use super::scan::Text;
use super::{Leniency, Mode, Run, Stop, kind_of, words};

/// Why an alternative does not fit.
const OTHER_TYPE: u8 = 1;
/// A member has a value that is not among the only ones that fit.
const OTHER_TAG: u8 = 2;
/// There is a member that it forbids.
const FORBIDDEN: u8 = 4;
/// It requires a member that is not there.
const LACKING: u8 = 8;

/// How many alternatives are described.
const DESCRIBED: usize = 4;

impl<'a> Run<'a> {
    /// Adds the alternatives that fit the value at the position, or the one that is intended.
    pub(super) fn union(&mut self, union: &'a [NodeId], exclusive: bool, tracks: bool) -> Result<(), Stop> {
        let from = self.marks.len();
        let decided = self.decide(union, from, exclusive, tracks);
        self.marks.truncate(from);
        decided
    }

    fn decide(&mut self, union: &'a [NodeId], from: usize, exclusive: bool, tracks: bool) -> Result<(), Stop> {
        let kind = self.kind();
        for id in union {
            self.marks.push(if self.plan(*id).possible.intersects(kind) { 0 } else { OTHER_TYPE });
        }
        if self.only(union, from, OTHER_TYPE).is_none() && kind == Types::OBJECT {
            self.mark_by_members(union, from)?;
        }
        if let Some(only) = self.only(union, from, u8::MAX) {
            return self.expand(only, tracks);
        }
        let mut fitting = Vec::new();
        let attempts: &[Leniency] = match (self.leniency, exclusive) {
            (Leniency::Lenient, false) => &[Leniency::Exact, Leniency::Lenient],
            (Leniency::Lenient, true) => &[Leniency::Strict, Leniency::Lenient],
            (Leniency::Exact, false) => &[Leniency::Exact],
            (Leniency::Strict, _) | (Leniency::Exact, true) => &[Leniency::Strict],
        };
        for leniency in attempts {
            for (index, id) in union.iter().enumerate() {
                if self.marks[from + index] == 0 && self.judge(*id, *leniency)? {
                    fitting.push(*id);
                    if !exclusive && !tracks {
                        break;
                    }
                }
            }
            if !fitting.is_empty() {
                break;
            }
        }
        // Whether nothing else depends on what fits: there is nothing to edit.
        let is_settled = match self.leniency {
            Leniency::Exact => !exclusive,
            Leniency::Strict => true,
            Leniency::Lenient => self.mode != Mode::Report,
        };
        match fitting[..] {
            [] => self.none_fits(union, from, tracks),
            [_, _, ..] if exclusive => {
                if self.wants_fault()? {
                    self.pending.push(Some(format!("{ALTERNATIVES}, and no other")));
                }
                Ok(())
            }
            _ if !tracks && is_settled => Ok(()),
            _ => fitting.into_iter().try_for_each(|id| self.expand(id, tracks)),
        }
    }

    /// The type of the value at the position.
    fn kind(&self) -> Types {
        let kind = kind_of(self.scan.peek());
        if kind != Types::NUMBER {
            return kind;
        }
        let number = self.scan.clone().number();
        let digits = number.ok().and_then(|(text, _)| Digits::parse(text.as_bytes()));
        if digits.is_some_and(|digits| digits.is_integer()) { Types::INTEGER } else { Types::FRACTION }
    }

    /// The only alternative without any of these marks.
    fn only(&self, union: &[NodeId], from: usize, marks: u8) -> Option<NodeId> {
        let mut left = union.iter().zip(&self.marks[from..]).filter(|(_, mark)| **mark & marks == 0);
        let only = left.next()?;
        left.next().is_none().then_some(*only.0)
    }

    /// What decides about members, by an alternative itself.
    fn object_plan(&self, alternative: NodeId) -> Option<&'a ObjectPlan> {
        let schema = self.schema;
        schema.plans[schema.model.resolved(alternative).index()].object.as_deref()
    }

    /// The schema of a member, by an alternative itself.
    fn member_plan(&self, alternative: NodeId, slot: u32) -> Option<&'a Plan> {
        let schema = self.schema;
        let object = schema.model[schema.model.resolved(alternative)].object.as_ref()?;
        let property = object.properties.get(slot as usize)?;
        Some(&schema.plans[schema.model.resolved(property.schema).index()])
    }

    /// Marks the alternatives that the members of the object at the position rule out, until one is left.
    fn mark_by_members(&mut self, union: &'a [NodeId], from: usize) -> Result<(), Stop> {
        let words = union.iter().filter_map(|id| self.object_plan(*id)).map(|object| object.required.len());
        let (bits, words) = (self.bits.len(), words.sum::<usize>());
        self.bits.resize(bits + words, 0);
        let mut is_decided = false;
        self.each_member(|run, key| {
            run.mark_by_member(union, from, bits, key);
            let mut left = run.marks[from..].iter().filter(|mark| **mark == 0);
            let (first, second) = (left.next(), left.next());
            is_decided = first.is_some() && second.is_none();
            Ok(second.is_some() || (first.is_none() && run.mode != Mode::Judge))
        })?;
        if !is_decided {
            // Every member was seen.
            let mut seen = bits;
            for (index, id) in union.iter().enumerate() {
                let Some(object) = self.object_plan(*id) else { continue };
                if object.required.iter().zip(&self.bits[seen..]).any(|(required, seen)| required & !seen != 0) {
                    self.marks[from + index] |= LACKING;
                }
                seen += object.required.len();
            }
        }
        self.bits.truncate(bits);
        Ok(())
    }

    fn mark_by_member(&mut self, union: &'a [NodeId], from: usize, bits: usize, key: Text<'a>) {
        let name = key.decoded();
        let mut seen = bits;
        for (index, id) in union.iter().enumerate() {
            let Some(object) = self.object_plan(*id) else { continue };
            match object.slot(&name, 0) {
                Some(slot) if !self.is_absent(object, slot) => {
                    self.bits[seen + slot as usize / 64] |= 1 << (slot % 64);
                    let member = self.member_plan(*id, slot);
                    let values = member.and_then(|plan| plan.values.as_deref());
                    if values.is_some_and(|values| self.is_none_of(values)) {
                        self.marks[from + index] |= OTHER_TAG;
                    }
                }
                None if object.is_closed => self.marks[from + index] |= FORBIDDEN,
                _ => {}
            }
            seen += object.required.len();
        }
    }

    /// Whether the value at the position is a scalar, and none of these values.
    fn is_none_of(&self, values: &[Const]) -> bool {
        let mut scan = self.scan.clone();
        match scan.peek() {
            b'"' => scan.string().is_ok_and(|text| {
                let text = text.decoded();
                !values.iter().any(|value| matches!(value, Const::Text(known) if *known == text))
            }),
            b'-' | b'0'..=b'9' => {
                let number = scan.number().ok().and_then(|(text, _)| Digits::parse(text.as_bytes()));
                let is_equal =
                    |value: &Const| matches!((value, &number), (Const::Number(known), Some(number)) if number == known);
                !values.iter().any(is_equal)
            }
            b't' => !values.iter().any(|value| matches!(value, Const::Literal("true"))),
            b'f' => !values.iter().any(|value| matches!(value, Const::Literal("false"))),
            _ => false,
        }
    }

    /// Whether the value at the position fits a schema.
    pub(super) fn judge(&mut self, id: NodeId, leniency: Leniency) -> Result<bool, Stop> {
        let plan = self.plan(id);
        if plan.is_any {
            return Ok(true);
        }
        if !plan.possible.intersects(kind_of(self.scan.peek())) {
            return Ok(false);
        }
        self.attempt(id, Mode::Judge, leniency)
    }

    fn attempt(&mut self, id: NodeId, mode: Mode, leniency: Leniency) -> Result<bool, Stop> {
        let (start, depth, outer) = (self.scan.pos, self.scan.depth, (self.mode, self.leniency, self.base));
        let (active, pending) = (self.active.len(), self.pending.len());
        let (bits, hashes, steps) = (self.bits.len(), self.hashes.len(), self.steps.len());
        (self.mode, self.leniency, self.base) = (mode, leniency, steps);
        let outcome = self.expand(id, false).and_then(|()| self.value(active, pending));
        let charged = self.charge(self.scan.pos - start);
        (self.scan.pos, self.scan.depth) = (start, depth);
        (self.mode, self.leniency, self.base) = outer;
        self.active.truncate(active);
        self.pending.truncate(pending);
        self.bits.truncate(bits);
        self.hashes.truncate(hashes);
        self.steps.truncate(steps);
        match outcome {
            Err(Stop::Unfit) => charged.map(|()| false),
            outcome => outcome.and(charged).map(|()| true),
        }
    }

    /// Adds the alternative that is intended, or reports that none fits.
    fn none_fits(&mut self, union: &'a [NodeId], from: usize, tracks: bool) -> Result<(), Stop> {
        if self.mode == Mode::Judge {
            return Err(Stop::Unfit);
        }
        // By type, by tag, by the members that it requires.
        let marks = [OTHER_TYPE, OTHER_TYPE | OTHER_TAG, OTHER_TYPE | OTHER_TAG | LACKING];
        let intended = marks.into_iter().find_map(|marks| self.only(union, from, marks));
        if let Some(intended) = intended {
            return self.expand(intended, tracks);
        }
        if self.tag_fault(union, from, tracks)? || !self.wants_fault()? {
            return Ok(());
        }
        let is_left = |marks: u8| move |mark: &&u8| **mark & marks == 0;
        let best = [u8::MAX, OTHER_TYPE | OTHER_TAG, OTHER_TYPE]
            .into_iter()
            .find(|marks| self.marks[from..].iter().any(|mark| is_left(*marks)(&mark)));
        let Some(best) = best else {
            self.pending.push(Some(words::of_nodes(&self.schema.model, union)));
            return Ok(());
        };
        let mut lacks: Vec<String> = Vec::new();
        for (index, id) in union.iter().enumerate() {
            if self.marks[from + index] & best != 0 || lacks.len() >= DESCRIBED {
                continue;
            }
            self.lack = None;
            let missing = if self.marks[from + index] & LACKING == 0 { None } else { self.missing(*id)? };
            if missing.is_none() {
                self.attempt(*id, Mode::Explain, self.leniency)?;
            }
            match missing.or_else(|| self.lack.take()) {
                Some(lack) if !lacks.contains(&lack) => lacks.push(lack),
                Some(_) => {}
                None => {
                    lacks.clear();
                    break;
                }
            }
        }
        self.pending.push(Some(if lacks.is_empty() { ALTERNATIVES.to_owned() } else { words::joined(&lacks) }));
        Ok(())
    }

    /// What an alternative requires and the object at the position lacks.
    fn missing(&mut self, alternative: NodeId) -> Result<Option<String>, Stop> {
        let schema = self.schema;
        let rules = schema.model[schema.model.resolved(alternative)].object.as_ref();
        let mut missing: Vec<&str> = rules.into_iter().flat_map(|rules| rules.required_names()).collect();
        self.each_member(|_, key| {
            missing.retain(|name| *name != key.decoded());
            Ok(!missing.is_empty())
        })?;
        let missing: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        Ok(Some(missing.join(" and ")).filter(|names| !names.is_empty()).map(|names| format!("an object with {names}")))
    }

    /// Reports that a tag is missing or unknown: a member that every alternative requires and that has few values. If it is
    /// known, adds its alternative.
    fn tag_fault(&mut self, union: &'a [NodeId], from: usize, tracks: bool) -> Result<bool, Stop> {
        let schema = self.schema;
        let marks = self.marks[from..].iter();
        let left: Vec<NodeId> =
            union.iter().zip(marks).filter(|(_, mark)| **mark & OTHER_TYPE == 0).map(|(id, _)| *id).collect();
        let rules = |id: NodeId| schema.model[schema.model.resolved(id)].object.as_ref();
        let values = |id: NodeId, name: &str| {
            let property = rules(id)?.properties.iter().find(|property| property.required && property.name == name)?;
            schema.model[schema.model.resolved(property.schema)].values.as_ref()
        };
        let Some(first) = left.first().and_then(|id| rules(*id)) else { return Ok(false) };
        let names = first.properties.iter().map(|property| &property.name);
        let Some(tag) = names.into_iter().find(|name| left.iter().all(|id| values(*id, name).is_some())) else {
            return Ok(false);
        };
        let mut sent = None;
        self.each_member(|run, key| {
            if key.decoded() == *tag {
                sent = Some((key.start, run.scan.pos));
            }
            Ok(sent.is_none())
        })?;
        let has_tag = |mark: &u8| mark & (OTHER_TYPE | OTHER_TAG) == 0;
        if sent.is_some() && self.marks[from..].iter().any(has_tag) {
            return Ok(false);
        }
        let start = self.scan.pos;
        if let Some((_, value)) = sent {
            self.scan.pos = value;
            let lists = |id: &&NodeId| {
                let slot = self.object_plan(**id).and_then(|object| object.slot(tag, 0));
                let values = slot.and_then(|slot| self.member_plan(**id, slot)?.values.as_deref());
                values.is_some_and(|values| !self.is_none_of(values))
            };
            let tagged = left.iter().find(lists).copied();
            self.scan.pos = start;
            if let Some(tagged) = tagged {
                return self.expand(tagged, tracks).map(|()| true);
            }
        }
        if !self.wants_fault()? {
            return Ok(true);
        }
        match sent {
            None => self.add(start, Found::Lacking(tag))?,
            Some((key, value)) => {
                let known: Vec<_> = left.iter().filter_map(|id| values(*id, tag)).flatten().cloned().collect();
                self.steps.push(Step::Key(key));
                self.scan.pos = value;
                self.scan.skip()?;
                self.add(value, Found::Wrong(words::of_values(&known)))?;
                self.steps.pop();
                self.scan.pos = start;
            }
        }
        Ok(true)
    }
}
