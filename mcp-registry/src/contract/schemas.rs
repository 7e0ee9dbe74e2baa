//! Compares the schemas of a tool, and tells what has changed.

use std::collections::{BTreeSet, HashSet};

use mcp_core::support::schema::{Model, Node, ReadError, Types};
use serde_json::Value;

use super::ToolContract;
use super::change::{Change, Class, Witness};
use super::diff::{Level, ToolDiff};
use super::notes::{self, Note};
use super::parameters::{Aliases, STRICT, aliases, ignored, pointer_to, renamed};
use super::rules::{self, Wording, either, pointer, quoted, shown};
use crate::catalog::lint::Side;
use crate::validate::check::unread_pattern;
use crate::validate::counterexample;
use crate::validate::include::{Comparison, Gap, Kind, gaps};

impl ToolDiff<'_> {
    pub(super) fn schema(&mut self, new: &ToolContract, side: Side) {
        let old = self.old;
        let (before, after) = match (side, &old.output_schema, &new.output_schema) {
            // A list has only what is published.
            (Side::Input, ..)
                if self.after.is_list || (self.before.is_list && old.input_schema == new.input_schema) =>
            {
                (&old.input_schema, &new.input_schema)
            }
            (Side::Input, ..) => (old.accepted_schema(), new.accepted_schema()),
            (Side::Output, Some(before), Some(after)) => (before, after),
            (Side::Output, Some(before), None) => {
                let ruled_out = Model::read(before, true).ok().and_then(counterexample).map(Witness::Result);
                let message = "the output schema is gone, so nothing is promised about results";
                self.add(Class::Reader, Level::Major, "output-schema-removed", "", message).witness = ruled_out;
                return;
            }
            (Side::Output, None, Some(_)) => {
                let message = "there is an output schema now";
                self.add(Class::Reader, Level::Minor, "output-schema-added", "", message);
                return;
            }
            (Side::Output, None, None) => return,
        };
        let schema = format!("the {} schema", side.as_str());
        let is_equal = before == after;
        let [old_text, new_text] = [before, after].map(ToString::to_string);
        if old_text == new_text {
            return;
        }
        let count = self.changes.len();
        let compared = if is_equal { Ok(()) } else { self.compare_schemas(before, after, side, new.is_ours()) };
        if let Err(reason) = compared {
            let rule = either(side, "input-unreadable", "result-unreadable");
            let change = self.add(class(side), Level::Major, rule, "", format!("{schema} has changed"));
            change.unknown = Some(reason);
        } else if self.changes.len() == count {
            let rule = either(side, "spelling", "result-spelling");
            let message = format!("{schema} is written differently, but means the same");
            self.add(Class::Wire, Level::None, rule, "", message);
        }
    }

    fn compare_schemas(&mut self, old: &Value, new: &Value, side: Side, is_ours: bool) -> Result<(), String> {
        let model = if side == Side::Input { arguments } else { read };
        let (before, after) = (model(old)?, model(new)?);
        let count = self.changes.len();
        let pair = Pair::new(&before, &after, side, is_ours);
        self.renamed(&pair, is_ours);
        self.breaking(&pair);
        self.aliases(&pair);
        self.harmless(&pair);
        let (old, new) = (as_written(old)?, as_written(new)?);
        let is_complete = self.notes(&old, &new, side);
        if self.changes.len() == count && !(is_complete && notes::are_same(&old, &new)) {
            let rule = either(side, "parameter-annotations", "result-annotations");
            let message = "descriptions or other keywords that no value depends on have changed";
            self.add(Class::Chooser, Level::Patch, rule, "", message);
        }
        Ok(())
    }

    /// Parameters that are called otherwise.
    fn renamed(&mut self, pair: &Pair<'_>, is_ours: bool) {
        for (from, to) in &pair.renamed {
            let lost_at = |place: &str| {
                pair.breaking.iter().find(|gap| pointer(gap) == place && !matches!(gap.kind, Kind::Unnamed(_)))
            };
            let gap = lost_at(&pointer_to(from)).or_else(|| lost_at(&pointer_to(to)));
            let ignored = if gap.is_none() { ", and ignored under its old name" } else { "" };
            let hint = format!("; keep the old name with `#[arg(alias = \"{from}\")]`");
            let message = format!("`{from}` is called `{to}` now{ignored}{}", if is_ours { &hint } else { "" });
            let change = self.add(Class::Caller, Level::Major, "parameter-renamed", &pointer_to(from), message);
            change.witness = gap.and_then(|gap| gap.witness.clone()).map(Witness::Arguments);
            change.unknown = gap.filter(|gap| gap.witness.is_none()).map(|gap| pair.undecided(gap));
        }
    }

    /// The rules that have found something at a place of the arguments or of the result.
    fn rules_at(&self, side: Side, pointer: &str) -> Vec<&'static str> {
        let is_there = |change: &&Change| change.class == class(side) && change.pointer == pointer;
        self.changes.iter().filter(is_there).map(|change| change.rule).collect()
    }

    /// What breaks a promise.
    fn breaking(&mut self, pair: &Pair<'_>) {
        let is_input = pair.side == Side::Input;
        for gap in &pair.breaking {
            let Wording { rule, pointer, message, .. } = rules::breaking(gap, pair.side);
            let told = self.rules_at(pair.side, &pointer);
            let is_told = match gap.kind {
                Kind::Unnamed(_) => !told.is_empty() || pair.is_other_name(gap),
                Kind::Null => told.iter().any(|rule| rule.ends_with("type-changed")),
                Kind::Required(..) => pair.implies_required(&pointer),
                _ => false,
            };
            if is_told || pair.is_renamed(&pointer) {
                continue;
            }
            let is_kept = is_input && matches!(gap.kind, Kind::Unnamed(_));
            let level = if is_kept { Level::Minor } else { Level::Major };
            let change = self.add(class(pair.side), level, rule, &pointer, message);
            change.witness = gap.witness.clone().map(if is_input { Witness::Arguments } else { Witness::Result });
            change.unknown = (gap.witness.is_none() && !is_kept).then(|| pair.undecided(gap));
        }
        for pointer in pair.ignored.iter().filter(|pointer| !pair.is_renamed(pointer)) {
            if self.rules_at(Side::Input, pointer).is_empty() {
                let name = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
                let message = format!("{} is accepted, but ignored: the schema no longer names it", quoted(&name));
                self.add(Class::Caller, Level::Major, "parameter-removed", pointer, message);
            }
        }
    }

    /// Names that were added, and those under which parameters are still accepted.
    fn aliases(&mut self, pair: &Pair<'_>) {
        for (object, from, to) in &pair.aliases.renamed {
            let message = format!("`{from}` is called `{to}` now, and still accepted under its old name");
            self.add(Class::Chooser, Level::Minor, "parameter-renamed", &(object.clone() + &pointer_to(to)), message);
        }
        for (object, name, alias) in &pair.aliases.added {
            let message = format!("`{name}` is accepted as {}, too", quoted(alias));
            let pointer = object.clone() + &pointer_to(name);
            self.add(Class::Caller, Level::Minor, "parameter-alias-added", &pointer, message);
        }
    }

    /// What breaks nothing.
    fn harmless(&mut self, pair: &Pair<'_>) {
        let changes = self.changes.iter().filter(|change| change.class == class(pair.side));
        let known: HashSet<String> = changes.map(|change| change.pointer.clone()).collect();
        let is_told = |place: &str| !place.is_empty() && (known.contains(place) || pair.is_renamed(place));
        let is_replaced = |rule: &str| rule.ends_with("type-changed") || rule.ends_with("values-restricted");
        let replaced =
            self.changes.iter().filter(|change| change.class == class(pair.side) && is_replaced(change.rule));
        let replaced: HashSet<String> = replaced.map(|change| change.pointer.clone()).collect();
        let mut reported = HashSet::new();
        for gap in pair.harmless.iter().filter(|gap| !pair.is_other_name(gap)) {
            let wording = rules::harmless(gap, pair.side);
            // What is said in general adds nothing to what is said in particular.
            let adds_nothing = wording.is_general && reported.contains(&wording.pointer);
            let is_particular = matches!(gap.kind, Kind::Values(_) | Kind::Bound(..) | Kind::Required(_, true))
                && !replaced.contains(&wording.pointer)
                && !pair.is_renamed(&wording.pointer);
            if is_particular || (!is_told(&wording.pointer) && !is_told(&pointer(gap)) && !adds_nothing) {
                self.add(class(pair.side), Level::Minor, wording.rule, &wording.pointer, wording.message);
                reported.insert(wording.pointer);
            }
        }
    }

    /// What the schemas say without a rule. Returns whether all of it was compared.
    fn notes(&mut self, old: &Model, new: &Model, side: Side) -> bool {
        let Some(changes) = notes::changes(old, new) else { return false };
        for change in changes {
            let [of_input, of_output] = change.note.rules();
            let (rule, pointer) = (either(side, of_input, of_output), &change.pointer);
            if (change.note, side) != (Note::Default, Side::Input) {
                self.add(Class::Chooser, Level::Patch, rule, pointer, change.note.message());
            } else if !self.rules_at(side, pointer).contains(&"parameter-required") {
                let message = match change.defaults.each_ref().map(|default| default.as_ref().map(shown)) {
                    [None, after] => format!("the default is now {} (there was none)", after.unwrap_or_default()),
                    [Some(before), None] => format!("there is no default now (was {before})"),
                    [Some(before), Some(after)] => format!("the default is now {after} (was {before})"),
                };
                let message = message + ": calls that leave it out mean something else";
                self.add(Class::Caller, Level::Minor, rule, pointer, message);
            }
        }
        true
    }
}

/// Two schemas, and where they differ.
struct Pair<'m> {
    side: Side,
    /// What breaks a promise.
    breaking: Vec<Gap>,
    /// What breaks nothing.
    harmless: Vec<Gap>,
    /// Why no value is found that a pattern speaks about, in words.
    unread: Option<String>,
    /// The members that are accepted, but no longer named.
    ignored: BTreeSet<String>,
    aliases: Aliases<'m>,
    /// The old and the new names of parameters.
    renamed: Vec<(&'m str, &'m str)>,
}

impl<'m> Pair<'m> {
    fn new(old: &'m Model, new: &'m Model, side: Side, is_ours: bool) -> Self {
        let is_input = side == Side::Input;
        let how = Comparison { null_is_absent: is_input && is_ours, may_name_members: is_input, with_witness: true };
        let (mut breaking, mut harmless) = match side {
            Side::Input => (gaps(old, new, how), gaps(new, old, STRICT)),
            Side::Output => (gaps(new, old, how), gaps(old, new, STRICT)),
        };
        // One change can show several gaps, such as a member that was required and is gone, or another type without null.
        breaking
            .sort_by_key(|gap| (matches!(gap.kind, Kind::Unnamed(_)), gap.kind == Kind::Null, gap.witness.is_none()));
        harmless.sort_by_key(|gap| rules::harmless(gap, side).is_general);
        let types = harmless.iter().filter(|gap| matches!(gap.kind, Kind::Type(_))).map(|gap| gap.pointer.clone());
        let types: HashSet<String> = types.collect();
        harmless.retain(|gap| gap.kind != Kind::Null || !types.contains(&gap.pointer));
        let is_undecided = breaking.iter().any(|gap| gap.witness.is_none());
        let unread = [old, new].into_iter().filter(|_| is_undecided).find_map(unread_pattern);
        if !is_input {
            let (ignored, aliases, renamed) = Default::default();
            return Self { side, breaking, harmless, unread, ignored, aliases, renamed };
        }
        let (ignored, aliases) = (ignored(old, new), aliases(old, new));
        let renamed = renamed(old, new, &breaking, &ignored);
        Self { side, breaking, harmless, unread, ignored, aliases, renamed }
    }

    /// Whether it is about the old or the new name of a parameter.
    fn is_renamed(&self, pointer: &str) -> bool {
        self.renamed.iter().any(|(from, to)| pointer == pointer_to(from) || pointer == pointer_to(to))
    }

    /// Whether only another name of a member is there.
    fn is_other_name(&self, gap: &Gap) -> bool {
        let is_name = matches!(gap.kind, Kind::Required(..) | Kind::Forbidden(_) | Kind::Unnamed(_));
        is_name && self.aliases.places.contains(&pointer(gap))
    }

    /// Whether a member is required because another name of it is gone, which is a finding of its own.
    fn implies_required(&self, place: &str) -> bool {
        let is_refused = |alias: &str| {
            self.breaking.iter().any(|gap| matches!(gap.kind, Kind::Forbidden(_)) && pointer(gap) == alias)
        };
        let mut removed = self.aliases.removed.iter();
        removed.any(|(name, alias)| name == place && (self.ignored.contains(alias) || is_refused(alias)))
    }

    /// Why there is no witness.
    fn undecided(&self, gap: &Gap) -> String {
        let unread = self.unread.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let what = match &gap.kind {
            Kind::Pattern(_) => {
                "whether one regular expression matches everything that the other one does cannot be determined"
            }
            Kind::Format(_) => "whether one format accepts everything that the other one does cannot be determined",
            Kind::Budget => "the comparison takes too many steps",
            Kind::Rule(_) => "whether this keyword excludes more values cannot be determined",
            _ => return format!("no example was found, so it may be harmless{unread}; it counts as breaking"),
        };
        format!("{what}; it counts as breaking")
    }
}

/// Who is affected by a change.
fn class(side: Side) -> Class {
    either(side, Class::Caller, Class::Reader)
}

fn read(schema: &Value) -> Result<Model, String> {
    read_with(Model::read, schema)
}

fn as_written(schema: &Value) -> Result<Model, String> {
    read_with(Model::read_as_written, schema)
}

fn read_with(read: fn(&Value, bool) -> Result<Model, ReadError>, schema: &Value) -> Result<Model, String> {
    let mut model = read(schema, true).map_err(|error| format!("the schema cannot be compared: {error}"))?;
    model.read_aliases();
    Ok(model)
}

/// The schema of arguments, which are an object whatever the schema says.
pub(super) fn arguments(schema: &Value) -> Result<Model, String> {
    let mut model = read(schema)?;
    let mut root = model.resolved(model.root());
    // A schema may refer to its root, which stays as it is.
    if model[root].types != Types::OBJECT || model[root].nullable {
        let types = model[root].types & Types::OBJECT;
        root = model.add(Node { types, nullable: false, ..model[root].clone() });
    }
    Ok(model.with_root(root))
}
