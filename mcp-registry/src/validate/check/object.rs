//! Checks objects.

use mcp_core::support::schema::{Model, NodeId, ObjectRules, Types};
use serde_json::Value;

use super::report::{Found, Step};
use super::scan::Text;
use super::{Active, Leniency, Mode, NO_SLOT, Run, Stop, is_milestone, words};

/// How many schemas are searched for the name of a member.
const MAX_SEARCHED: usize = 1000;

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

impl<'a> Run<'a> {
    pub(super) fn object(&mut self, first: usize) -> Result<(), Stop> {
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
        let (mut is_named, mut is_absent, mut is_duplicate, mut published) = (false, false, false, None);
        for index in first..last {
            let active = &mut self.active[index];
            let Some(rules) = &schema.plans[active.node.index()].object else { continue };
            active.slot = NO_SLOT;
            let Some(slot) = rules.slot(name, active.next) else { continue };
            (active.slot, active.next) = (slot, slot + 1);
            if !is_named && (slot as usize) < rules.absent_if_null.len() {
                step = Step::Property(active.node, slot);
                published = Some(&rules.names[slot as usize]).filter(|known| self.publishes && **known != name);
            }
            let (word, bit) = (active.bits + slot as usize / 64, 1 << (slot % 64));
            is_duplicate |= self.bits[word] & bit != 0;
            self.bits[word] |= bit;
            is_named = true;
            is_absent |= self.is_absent(rules, slot);
            let is_only = last - first == 1 && !rules.has_unknown_rules && !object.tracks;
            let is_plain = is_only && !is_absent && !is_duplicate && published.is_none();
            let target = rules.targets.get(slot as usize).filter(|_| is_plain);
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
        if let Some(name) = published {
            self.edit(key.start, key.start + key.raw.len() + 2, &Value::from(name.as_str()).to_string());
        }
        let (child, pending) = (self.active.len(), self.pending.len());
        for index in first..last {
            self.member_schemas(object, index, name, key)?;
        }
        if object.tracks {
            self.unevaluated(object, name)?;
        }
        if self.publishes && !is_named {
            self.unpublished(object, name)?;
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
                let matches = self.matches(*pattern, name)?;
                // What is unknown must not be rejected.
                covers |= matches != Some(false);
                if matches == Some(true) {
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
            let (known, step) = (self.published_names(object), self.steps.pop());
            self.add(self.scan.pos, Found::Unknown(name, &known))?;
            self.steps.extend(step);
        }
        Ok(())
    }

    /// The names that the schemas of an object publish.
    fn published_names(&self, object: &Object) -> Vec<&'a str> {
        let schema = self.schema;
        let rules = self.active[object.first..object.last].iter();
        let rules = rules.filter_map(|active| schema.model[active.node].object.as_ref());
        rules.flat_map(|rules| &rules.properties).map(|property| property.name.as_str()).collect()
    }

    /// Refuses a member that no schema of its object covers, unless they name none.
    fn unpublished(&mut self, object: &Object, name: &str) -> Result<(), Stop> {
        let is_open = self.opens_root && self.steps.len() == 1;
        if is_open
            || self.mode != Mode::Report
            || self.active[object.first..object.last].iter().any(|active| active.covers)
        {
            return Ok(());
        }
        let schemas = &self.active[object.first..object.last];
        let mut left = MAX_SEARCHED;
        if schemas.iter().any(|active| mentions(&self.schema.model, active.node, name, &mut left)) {
            return Ok(());
        }
        let known = self.published_names(object);
        if !known.is_empty() && self.wants_fault()? {
            let step = self.steps.pop();
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
}

/// Whether a schema, or one that may apply because of it, names a member.
fn mentions(model: &Model, id: NodeId, name: &str, left: &mut usize) -> bool {
    let node = &model[id];
    *left = left.saturating_sub(1);
    let is_own = |object: &ObjectRules| {
        object.properties.iter().any(|property| property.name == name)
            || object.dependent_schemas.iter().any(|(dependency, _)| dependency == name)
    };
    node.object.as_deref().is_some_and(is_own)
        || (*left > 0 && node.in_place().any(|inner| mentions(model, inner, name, left)))
}
