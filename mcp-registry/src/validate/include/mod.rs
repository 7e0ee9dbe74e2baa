//! Whether one schema accepts everything that another one accepts.
//!
//! The proof follows the target: each of its rules must follow from what the left side says, which is a conjunction of
//! schemas, split at its unions where that is necessary. A rule that does not follow is a [`Gap`]. A value that shows the gap
//! is searched for and verified with the check; without one, the gap is undecided. So "no gap" is proved, a gap with a
//! witness is proved, and nothing else is claimed.

mod absence;
mod answers;
mod names;
mod objects;
mod parts;
mod same;
mod tags;
#[cfg(test)]
mod tests;
mod unions;
mod values;
mod witness;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use mcp_core::support::faults::escaped;
use mcp_core::support::schema::{Model, NodeId, Types};
use serde_json::Value;

use self::answers::{Answers, Known, Question};
use self::names::{Context, Reached};
use self::tags::Tags;
use self::values::Values;
use super::check::{Schema, words};
use super::sample::conjunction::{Conjunction, Facts, Goal};

/// What one schema accepts and another does not.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// Where in the value, as a JSON Pointer.
    pub(crate) pointer: String,
    pub(crate) kind: Kind,
    /// What fits there, in words: what the one schema says, and what the other one says.
    pub(crate) accepted: String,
    pub(crate) expected: String,
    /// A value that the one accepts and the other rejects.
    pub(crate) witness: Option<Value>,
}

/// The rule that does not follow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Null does not fit.
    Null,
    /// Values of a type do not fit.
    Type(Types),
    /// These values do not fit.
    Values(Vec<Value>),
    /// Only certain values fit.
    Enum,
    /// A bound is stricter: the keyword, what it says on both sides.
    Bound(&'static str, Option<String>, String),
    Pattern(String),
    Format(String),
    /// A member must be present. The flag says whether the one schema names it.
    Required(String, bool),
    /// There must be no such member.
    Forbidden(String),
    /// A member that the one schema, which is open, does not name.
    Unnamed(String),
    /// Members that no schema names do not fit.
    Closed,
    /// None of several alternatives fits everything.
    Alternatives,
    /// Another rule, by its keyword.
    Rule(&'static str),
    /// The schemas are too large to compare.
    Budget,
    /// So many other gaps.
    Omitted(usize),
}

/// How schemas are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Comparison {
    /// Whether null stands for absent optional members in the schema that must accept more.
    pub(crate) null_is_absent: bool,
    /// Whether an open object may get new optional members: nothing is promised about members that it does not name. They
    /// are reported as [`Kind::Unnamed`].
    pub(crate) may_name_members: bool,
    /// Whether witnesses are searched for.
    pub(crate) with_witness: bool,
}

/// How many rules are looked at.
const MAX_STEPS: usize = 1 << 16;
/// How many gaps are reported, each with a witness.
const MAX_GAPS: usize = 1 << 8;
/// How many gaps are noted before others are left out.
const MAX_NOTED: usize = 1 << 10;
/// How many alternatives of the left are compared with all of the target at once.
const MAX_TRIED: usize = 8;
/// How many questions are open at a time.
const MAX_DEPTH: usize = 160;

/// What the first schema accepts and the second one does not; empty if the second one accepts everything that the first one
/// does.
pub(crate) fn gaps(of: &Model, within: &Model, how: Comparison) -> Vec<Gap> {
    let mut both = of.clone();
    let target = both.import(within.clone());
    let listed: Vec<NodeId> = both.nodes().filter(|(_, node)| !node.aliases.is_empty()).map(|(id, _)| id).collect();
    for id in listed {
        let aliases = std::mem::take(&mut both[id].aliases);
        both[id].values.iter_mut().for_each(|values| values.extend(aliases.iter().cloned()));
    }
    let schema = Schema::comparable(both);
    let model = schema.model();
    let prover = Prover {
        model,
        facts: Facts::new(model),
        schema: &schema,
        how: Cell::new(how),
        effort: Effort { steps: Cell::new(MAX_STEPS), ..Effort::default() },
        path: RefCell::new(Vec::new()),
        context: RefCell::default(),
        found: RefCell::new(Vec::new()),
        answers: Answers::default(),
        reached: Reached::default(),
        same: RefCell::new(HashMap::new()),
        shapes: RefCell::new(HashMap::new()),
        tags: RefCell::new(HashMap::new()),
        values: Values::default(),
    };
    if prover.depends_on_context() {
        let [left, target] = [model.root(), target].map(|root| vec![model.resolved(root)]);
        prover.context.replace(Rc::new(Context { left, target, counts_absence: false }));
    }
    let holds = prover.part(vec![model.root()], target, false);
    let of_all = |kind| Found { path: Vec::new(), kind, left: vec![model.root()], chosen: Rc::default(), target };
    let mut found = merged(prover.found.into_inner());
    let is_explained = found.iter().any(|found| !found.is_unnamed() || !how.may_name_members);
    if !holds && (prover.effort.steps.get() == 0 || !is_explained) {
        found.push(of_all(Kind::Budget));
    }
    if found.is_empty() {
        return Vec::new();
    }
    // What may be accepted must not hide what is a gap in any case.
    found.sort_by_key(Found::is_unnamed);
    let omitted = prover.effort.omitted.get() + found.iter().skip(MAX_GAPS).filter(|found| !found.is_unnamed()).count();
    found.truncate(MAX_GAPS);
    if omitted > 0 {
        found.push(of_all(Kind::Omitted(omitted)));
    }
    let witnesses = if how.with_witness { witness::of(&found, model, target, (of, within), how) } else { Vec::new() };
    let gap = |(found, witness): (Found, Option<Value>)| Gap {
        pointer: pointer(&found.path),
        accepted: in_words(model, &found.left),
        expected: in_words(model, &[found.target]),
        witness,
        kind: found.kind,
    };
    let witnesses = witnesses.into_iter().chain(std::iter::repeat(None));
    found.into_iter().zip(witnesses).map(gap).collect()
}

/// What fits the schemas, in words.
fn in_words(model: &Model, nodes: &[NodeId]) -> String {
    let words = words::of_nodes(model, nodes);
    if words != words::UNSPECIFIC {
        return words;
    }
    let is_any = nodes.iter().all(|node| model[model.resolved(*node)].is_any());
    if is_any { "any value" } else { "only some values" }.to_owned()
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
}

/// A step, and the alternatives that were chosen for the value that it leads into a part of.
#[derive(Clone, Debug)]
struct Level {
    step: Step,
    chosen: Rc<[NodeId]>,
}

fn pointer(path: &[Level]) -> String {
    path.iter().fold(String::new(), |pointer, level| match &level.step {
        Step::Member(name) => format!("{pointer}/{}", escaped(name)),
        Step::Item(index) => format!("{pointer}/{index}"),
    })
}

/// A gap, before there is a witness.
#[derive(Clone, Debug)]
struct Found {
    path: Vec<Level>,
    kind: Kind,
    left: Vec<NodeId>,
    /// The alternatives that were chosen on the left.
    chosen: Rc<[NodeId]>,
    target: NodeId,
}

impl Found {
    fn is_unnamed(&self) -> bool {
        matches!(self.kind, Kind::Unnamed(_))
    }
}

/// Gaps without duplicates; values that are missing at one place are one gap.
fn merged(found: Vec<Found>) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for next in found {
        let steps: Vec<&Step> = next.path.iter().map(|level| &level.step).collect();
        let key = match &next.kind {
            Kind::Values(_) => format!("{steps:?} values"),
            Kind::Type(_) => format!("{steps:?} type"),
            kind => format!("{steps:?} {kind:?}"),
        };
        let index = *known.entry(key).or_insert(all.len());
        match (all.get_mut(index).map(|known| &mut known.kind), &next.kind) {
            (None, _) => all.push(next),
            (Some(Kind::Values(values)), Kind::Values(more)) => {
                values.extend(more.iter().filter(|value| !values.contains(value)).cloned().collect::<Vec<_>>());
            }
            (Some(Kind::Type(types)), Kind::Type(more)) => *types = *types | *more,
            _ => {}
        }
    }
    all
}

struct Prover<'a> {
    model: &'a Model,
    facts: Facts<'a>,
    schema: &'a Schema,
    /// How the schemas are compared at the moment.
    how: Cell<Comparison>,
    effort: Effort,
    path: RefCell<Vec<Level>>,
    /// What both schemas may say about the current part.
    context: RefCell<Rc<Context>>,
    found: RefCell<Vec<Found>>,
    answers: Answers,
    reached: Reached,
    same: RefCell<HashMap<(NodeId, NodeId), bool>>,
    shapes: RefCell<HashMap<(NodeId, usize), u64>>,
    tags: RefCell<HashMap<Vec<NodeId>, Rc<Option<Tags<'a>>>>>,
    values: Values<'a>,
}

/// How far the search goes.
#[derive(Default)]
struct Effort {
    /// How many steps are left.
    steps: Cell<usize>,
    depth: Cell<usize>,
    /// How often it went too deep.
    cuts: Cell<usize>,
    /// How many attempts are being made whose gaps do not count.
    trials: Cell<usize>,
    /// How many exclusions are being proved.
    exclusions: Cell<usize>,
    /// How many gaps are not noted, since there are so many.
    omitted: Cell<usize>,
}

/// What is known about a value other than null.
#[derive(Clone)]
struct Left<'a> {
    all: Conjunction<'a>,
    /// How many of its unions are split.
    split: usize,
    /// How many of its schemas apply whichever alternatives are chosen.
    own: usize,
}

impl<'a> Left<'a> {
    fn new(model: &'a Model, nodes: Vec<NodeId>) -> Self {
        let all = Conjunction::new(model, &Goal::all(nodes));
        Self { own: all.nodes.len(), all, split: 0 }
    }

    /// The alternatives that are chosen.
    fn chosen(&self) -> Rc<[NodeId]> {
        self.all.nodes[self.own..].into()
    }

    fn with(&self, goal: &Goal) -> Self {
        let mut left = self.clone();
        left.all.add(goal);
        left
    }
}

impl<'a> Prover<'a> {
    fn step(&self, cost: usize) -> bool {
        let steps = &self.effort.steps;
        steps.set(steps.get().saturating_sub(cost));
        steps.get() > 0
    }

    /// Whether plainly nothing but null fits.
    fn is_impossible(&self, left: &Left<'a>) -> bool {
        let (is_impossible, cost) = self.facts.is_impossible(&left.all, left.split);
        self.step(cost);
        is_impossible
    }

    fn fail(&self, kind: Kind, left: &Left<'a>, target: NodeId) -> bool {
        self.step(1);
        let found = Found { path: Vec::new(), kind, left: Vec::new(), chosen: Rc::default(), target };
        // An attempt fails because of a gap, and what it found is dropped.
        if self.effort.trials.get() > 0 && !found.is_unnamed() {
            return false;
        }
        let mut all = self.found.borrow_mut();
        // What may be accepted leaves room for what is a gap in any case.
        if all.len() < if found.is_unnamed() { MAX_NOTED } else { 2 * MAX_NOTED } {
            let (path, left, chosen) = (self.path.borrow().clone(), left.all.nodes.clone(), left.chosen());
            all.push(Found { path, left, chosen, ..found });
        } else if !found.is_unnamed() {
            self.effort.omitted.set(self.effort.omitted.get() + 1);
        }
        false
    }

    /// Notes that the target names a member of an open object. Returns whether the comparison tolerates that.
    fn unnamed(&self, name: &str, left: &Left<'a>, target: NodeId) -> bool {
        self.fail(Kind::Unnamed(name.to_owned()), left, target);
        self.how.get().may_name_members
    }

    /// Answers a question exactly, since more depends on it than what is accepted.
    fn exactly(&self, proof: impl FnOnce() -> bool) -> bool {
        let how = self.how.get();
        self.how.set(Comparison { null_is_absent: false, may_name_members: false, ..how });
        let context = self.context.take();
        let holds = self.holds(proof);
        self.context.replace(context);
        self.how.set(how);
        holds
    }

    /// Whether the answer is yes. What was found on the way to a no is dropped.
    fn holds(&self, proof: impl FnOnce() -> bool) -> bool {
        let found = self.found.borrow().len();
        let trials = self.effort.trials.replace(self.effort.trials.get() + 1);
        let holds = proof();
        self.effort.trials.set(trials);
        if !holds {
            self.found.borrow_mut().truncate(found);
        }
        holds
    }

    /// Whether a value other than null fits a schema, for sure.
    fn accepts(&self, node: NodeId, value: &Value) -> bool {
        self.judge(node, value) == Some(true)
    }

    /// Whether a value other than null fits a schema; none if that is unknown.
    fn judge(&self, node: NodeId, value: &Value) -> Option<bool> {
        let node = self.model.resolved(node);
        self.lists(node, value).or_else(|| self.schema.judge(node, &value.to_string()))
    }

    /// Whether every value that fits all of the nodes fits the target.
    fn part(&self, nodes: Vec<NodeId>, target: NodeId, forgives_null: bool) -> bool {
        let mut nodes: Vec<NodeId> = nodes.into_iter().map(|node| self.model.resolved(node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let target = self.model.resolved(target);
        let context = self.context.borrow().clone();
        let question = Question { nodes, target, how: self.how.get(), context };
        let left = Left::new(self.model, question.nodes.clone());
        let accepts_null = |node: &NodeId| self.schema.accepts(*node, "null");
        let null_is_lost =
            !forgives_null && question.nodes.iter().all(accepts_null) && !self.schema.accepts(target, "null");
        let is_null_kept = !null_is_lost || self.fail(Kind::Null, &left, target);
        self.answer(&question, &left) && is_null_kept
    }

    /// Answers a question, unless the answer is known.
    fn answer(&self, question: &Question, left: &Left<'a>) -> bool {
        let is_trial = self.effort.trials.get() > 0;
        let depth = self.path.borrow().len();
        match self.answers.known(question, is_trial) {
            Some(Known::No) => return false,
            Some(Known::Yes(known)) => {
                let path = self.path.borrow();
                let at = |found: &Found| Found { path: [&path[..], &found.path].concat(), ..found.clone() };
                let mut all = self.found.borrow_mut();
                let room = MAX_NOTED.saturating_sub(all.len());
                all.extend(known.iter().take(room).map(at));
                return true;
            }
            None => {}
        }
        let (first, cuts) = (self.found.borrow().len(), self.effort.cuts.get());
        let open = self.answers.begin(question);
        let holds = self.includes(left, question.target);
        if holds {
            let below = |found: &Found| Found { path: found.path[depth..].to_vec(), ..found.clone() };
            let found: Vec<Found> = self.found.borrow()[first..].iter().map(below).collect();
            self.answers.yes(&open, found);
        } else {
            self.answers.no(&open, cuts == self.effort.cuts.get(), is_trial);
        }
        holds
    }

    /// Asks about a part of what is on the left.
    fn part_at(&self, left: &Left<'a>, step: Step, nodes: Vec<NodeId>, target: NodeId, forgives_null: bool) -> bool {
        if !self.step(1) {
            return self.fail(Kind::Budget, left, target);
        }
        let context = self.context.replace(self.context_of(left, &step));
        self.path.borrow_mut().push(Level { step, chosen: left.chosen() });
        let holds = self.part(nodes, target, forgives_null);
        self.path.borrow_mut().pop();
        self.context.replace(context);
        holds
    }

    /// Whether everything but null on the left fits the target.
    fn includes(&self, left: &Left<'a>, target: NodeId) -> bool {
        let node = &self.model[target];
        if node.is_any() || left.all.types.is_empty() || self.is_impossible(left) {
            return true;
        }
        let Effort { depth, cuts, .. } = &self.effort;
        if !self.step(1 + left.all.nodes.len() / 8) || depth.get() >= MAX_DEPTH {
            cuts.set(cuts.get() + 1);
            return self.fail(Kind::Budget, left, target);
        }
        depth.set(depth.get() + 1);
        let holds = self.decide(left, target);
        depth.set(depth.get() - 1);
        holds
    }

    fn decide(&self, left: &Left<'a>, target: NodeId) -> bool {
        if let Some(values) = self.values(left) {
            let lost: Vec<Value> = values.into_iter().filter(|value| !self.accepts(target, value)).collect();
            return lost.is_empty() || self.fail(Kind::Values(lost), left, target);
        }
        if left.all.nodes.iter().any(|node| *node == target || self.is_same(*node, target)) {
            return true;
        }
        let Some(goals) = left.all.unions.get(left.split).map(|union| union.goals()) else {
            return self.follows(left, target);
        };
        let case = |goal: &Goal| self.includes(&Left { split: left.split + 1, ..left.with(goal) }, target);
        // Where both have many alternatives, only single ones of the left fit single ones of the target.
        let node = &self.model[target];
        let is_large = goals.len() > MAX_TRIED && !(node.any_of.is_empty() && node.one_of.is_empty());
        let follows = || !is_large && self.holds(|| self.follows(left, target));
        follows() || goals.iter().filter(|goal| !case(goal)).count() == 0
    }

    /// Whether every rule of the target follows. All gaps are noted.
    fn follows(&self, left: &Left<'a>, target: NodeId) -> bool {
        let node = &self.model[target];
        let mut holds = self.own_rules(left, target);
        for inner in node.reference.iter().chain(&node.all_of) {
            holds &= self.includes(left, *inner);
        }
        for union in &node.any_of {
            holds &= self.fits_union(left, target, union, false);
        }
        for union in &node.one_of {
            holds &= self.fits_union(left, target, union, true);
        }
        for not in &node.not {
            holds &= self.excludes(left, *not) || self.fail(Kind::Rule("not"), left, target);
        }
        for condition in &node.conditions {
            holds &= self.fits_condition(left, condition) || self.fail(Kind::Rule("if"), left, target);
        }
        holds
    }
}
