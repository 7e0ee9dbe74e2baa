//! Compares two contracts: tool by tool, and in each the names, the schemas, the hints and the texts.

use std::collections::{BTreeSet, HashMap, HashSet};

use mcp_core::name::Version;
use mcp_core::support::cut;
use serde_json::{Value, json};

use super::change::{Change, Class, Diff, Witness};
use super::rules::{QUOTED, quoted};
use super::schemas::arguments;
use super::{Contract, ToolContract};
use crate::catalog::lint::Side;
use crate::util::canonical;
use crate::validate::sample;

impl Contract {
    /// Compares this contract with a newer one, and decides which promises that breaks.
    pub fn diff(&self, new: &Self) -> Diff {
        let mut changes = Vec::new();
        let mut compared = HashSet::new();
        let unmatched = unmatched(self, new);
        for old in &self.tools {
            let mut tool = ToolDiff::new(old, self, new);
            match tool.successor() {
                Some(successor) => tool.compare(successor),
                // A list says nothing about hidden tools.
                None if old.hidden && new.is_list => {}
                None => tool.renamed_or_removed(&unmatched),
            }
            compared.extend(tool.new.map(|new| new.name.as_str()));
            changes.extend(tool.finish());
        }
        // No model sees a hidden tool.
        for tool in new.tools.iter().filter(|tool| !tool.hidden && !compared.contains(tool.name.as_str())) {
            let mut diff = ToolDiff::new(tool, self, new);
            diff.new = Some(tool);
            diff.add(Class::Chooser, Level::None, "tool-added", "", "the tool is new");
            changes.extend(diff.finish());
        }
        changes.sort_by_cached_key(|change: &Change| (change.tool.clone(), !change.breaking, change.class));
        Diff { changes }
    }
}

/// Tools that only one of two contracts has, by what they are apart from their names: of the old one, and of the new one.
type Unmatched<'a> = HashMap<String, [Vec<&'a ToolContract>; 2]>;

fn unmatched<'a>(old: &'a Contract, new: &'a Contract) -> Unmatched<'a> {
    let mut all = Unmatched::new();
    for (at, one, other) in [(0, old, new), (1, new, old)] {
        for tool in one.tools.iter().filter(|tool| other.get(&tool.name).is_none()) {
            all.entry(nameless_digest(tool)).or_default()[at].push(tool);
        }
    }
    all
}

fn nameless_digest(tool: &ToolContract) -> String {
    let parts = json!([tool.description, tool.input_schema, tool.output_schema]);
    canonical::digest(&parts.to_string())
}

/// How much of a version a change calls for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    None,
    Patch,
    Minor,
    Major,
}

impl Level {
    /// The first version that announces the change, if there is one. Before `1.0.0`, the minor version counts as the major
    /// one. Until the release of a pre-release, everything may change.
    fn after(self, version: &Version) -> Option<Version> {
        let (major, minor, patch) = (version.major(), version.minor(), version.patch());
        let release = Version::new(major, minor, patch);
        Some(match self {
            Self::None => return None,
            _ if *version < release => release,
            Self::Major if major > 0 => Version::new(major.checked_add(1)?, 0, 0),
            Self::Major => Version::new(0, minor.checked_add(1)?, 0),
            Self::Minor if major > 0 => Version::new(major, minor.checked_add(1)?, 0),
            Self::Minor | Self::Patch => Version::new(major, minor, patch.checked_add(1)?),
        })
    }
}

/// The changes of one tool.
pub(super) struct ToolDiff<'a> {
    pub(super) old: &'a ToolContract,
    new: Option<&'a ToolContract>,
    /// All tools.
    pub(super) before: &'a Contract,
    pub(super) after: &'a Contract,
    pub(super) changes: Vec<Change>,
}

impl<'a> ToolDiff<'a> {
    fn new(old: &'a ToolContract, before: &'a Contract, after: &'a Contract) -> Self {
        Self { old, new: None, before, after, changes: Vec::new() }
    }

    pub(super) fn add(
        &mut self,
        class: Class,
        level: Level,
        rule: &'static str,
        pointer: &str,
        message: impl Into<String>,
    ) -> &mut Change {
        let versions = (self.old.version.clone(), self.new.and_then(|new| new.version.clone()));
        let required_version = match &versions {
            (Some(old), Some(_)) => level.after(old),
            _ => None,
        };
        self.changes.push(Change {
            tool: self.old.name.clone(),
            called: self.old.name.clone(),
            rule,
            class,
            breaking: level == Level::Major,
            unknown: None,
            pointer: pointer.to_owned(),
            message: message.into(),
            witness: None,
            source: self.new.and_then(|new| new.source.clone()),
            versions,
            required_version,
        });
        let last = self.changes.len() - 1;
        &mut self.changes[last]
    }

    /// Adds a change because of which calls by a name no longer reach the tool, with such a call. The advice says how to keep
    /// the name.
    fn add_lost_name(&mut self, rule: &'static str, name: &str, message: String, advice: &str) {
        let other = self.after.tools.iter().find(|tool| tool.answers_to(name));
        let message = match other {
            Some(other) => format!("{message}; calls to it now reach another tool, {}", quoted(&other.name)),
            None => message + advice,
        };
        let call = self.call().filter(|_| other.is_none());
        let change = self.add(Class::Caller, Level::Major, rule, "", message);
        name.clone_into(&mut change.called);
        change.witness = call;
    }

    /// The changes. Those that one rule finds at one place are one change.
    fn finish(self) -> Vec<Change> {
        let mut positions = HashMap::new();
        let mut changes: Vec<Change> = Vec::new();
        for change in self.changes {
            let position =
                *positions.entry((change.rule, change.pointer.clone(), change.called.clone())).or_insert(changes.len());
            match changes.get_mut(position) {
                Some(known) => known.merge(change),
                None => changes.push(change),
            }
        }
        changes
    }

    /// Arguments that the old tool accepts.
    fn call(&self) -> Option<Witness> {
        sample(arguments(self.old.accepted_schema()).ok()?).map(Witness::Arguments)
    }

    /// The tool that calls of the old one reach.
    fn successor(&self) -> Option<&'a ToolContract> {
        let (old, after) = (self.old, self.after);
        let by_name = after.get(&old.name).or_else(|| after.tools.iter().find(|tool| tool.answers_to(&old.name)));
        // Where only names on the wire are known, they are what counts.
        by_name.or_else(|| after.get(&old.wire_name).filter(|tool| !tool.is_ours() || !old.is_ours()))
    }

    /// Looks for a tool that is the same as the old one under a new name.
    fn renamed_or_removed(&mut self, unmatched: &Unmatched<'a>) {
        let old = self.old;
        let alike = unmatched.get(&nameless_digest(old)).map(|[old, new]| (&old[..], &new[..]));
        if let Some(([_], [new])) = alike {
            let hint = format!("; keep the old name with `aliases(\"{}\")`", old.name);
            let hint = if old.is_ours() { &*hint } else { "" };
            self.new = Some(new);
            self.add_lost_name("tool-renamed", &old.name, format!("is called `{}` now", new.name), hint);
            return self.compare(new);
        }
        let instead = old.replaced_by.as_ref().map_or_else(String::new, |tool| format!(" in favor of `{tool}`"));
        let advice = if old.is_ours() { "; deprecate it first with `deprecated_in`" } else { "" };
        let message = match &old.deprecated_in {
            Some(since) => format!("was removed; it had been deprecated since {since}{instead}"),
            None => format!("was removed without being deprecated{advice}"),
        };
        self.add_lost_name("tool-removed", &old.name, message, "");
    }

    fn compare(&mut self, new: &'a ToolContract) {
        self.new = Some(new);
        self.names(new);
        self.deprecation(new);
        self.schema(new, Side::Input);
        self.schema(new, Side::Output);
        self.tasks(new);
        self.hints(new);
        self.texts(new);
        self.version(new);
    }

    fn names(&mut self, new: &ToolContract) {
        let old = self.old;
        let answers = new.answers_to(&old.name);
        let is_same_on_the_wire = old.wire_name == new.wire_name && !(old.is_ours() && new.is_ours());
        if answers && new.name != old.name && !is_same_on_the_wire {
            let message = format!("is called `{}` now, and still answers to its old name", new.name);
            self.add(Class::Chooser, Level::Minor, "tool-renamed", "", message);
        }
        let message = format!("is now published as `{}` (was `{}`)", new.wire_name, old.wire_name);
        if answers && !new.answers_to(&old.wire_name) {
            self.add_lost_name("wire-name-changed", &old.wire_name, message, "");
        } else if new.name == old.name && new.wire_name != old.wire_name {
            let message = message + ", by which it can still be called";
            self.add(Class::Chooser, Level::Minor, "wire-name-changed", "", message);
        }
        if self.after.is_list || self.before.is_list {
            return;
        }
        for alias in old.aliases.iter().filter(|alias| !new.answers_to(alias)) {
            let message = format!("no longer answers to {}", quoted(alias));
            self.add_lost_name("alias-removed", alias, message, "; keep it in `aliases`");
        }
        let is_known = |alias: &String| self.before.tools.iter().any(|tool| tool.answers_to(alias));
        for alias in new.aliases.iter().filter(|alias| !old.answers_to(alias) && !is_known(alias)).collect::<Vec<_>>() {
            let message = format!("answers to {}, too", quoted(alias));
            self.add(Class::Caller, Level::Minor, "alias-added", "", message).called.clone_from(alias);
        }
    }

    fn deprecation(&mut self, new: &ToolContract) {
        let old = self.old;
        if new.hidden != old.hidden {
            let (rule, message) =
                if new.hidden { ("hidden", "is no longer listed") } else { ("listed", "is listed now") };
            self.add(Class::Chooser, Level::Minor, rule, "", message);
        }
        // Others do not tell.
        if !old.is_ours() || !new.is_ours() {
            return;
        }
        let instead = new.replaced_by.as_ref().map_or_else(String::new, |tool| format!("; use `{tool}`"));
        let (rule, message) = match (&old.deprecated_in, &new.deprecated_in) {
            (None, Some(_)) => ("deprecated", format!("is deprecated{instead}")),
            (Some(_), None) => ("deprecation-changed", "is no longer deprecated".to_owned()),
            (Some(before), Some(after)) if before != after => {
                ("deprecation-changed", format!("has been deprecated since {after} (was: since {before}){instead}"))
            }
            _ if old.replaced_by != new.replaced_by => {
                let shown =
                    |tool: &Option<String>| tool.as_ref().map_or_else(|| "none".to_owned(), |it| format!("`{it}`"));
                let (before, after) = (shown(&old.replaced_by), shown(&new.replaced_by));
                ("deprecation-changed", format!("the tool to use instead is now {after} (was {before})"))
            }
            _ => return,
        };
        self.add(Class::Chooser, Level::Minor, rule, "", message);
    }

    /// Calls may run as they are, as tasks, or both.
    fn tasks(&mut self, new: &ToolContract) {
        let ways = |tool: &ToolContract| match tool.task_support.as_deref() {
            Some("required") => (false, true),
            Some("optional") => (true, true),
            _ => (true, false),
        };
        let (before, after) = (ways(self.old), ways(new));
        if before == after {
            return;
        }
        let shown = |tool: &ToolContract| cut(tool.task_support.as_deref().unwrap_or("forbidden"), QUOTED).into_owned();
        let message = format!("calls as tasks are {} now, and were {}", shown(new), shown(self.old));
        if (before.0 && !after.0) || (before.1 && !after.1) {
            let call = self.call().filter(|_| !after.0);
            self.add(Class::Caller, Level::Major, "task-support-narrowed", "", message).witness = call;
        } else {
            self.add(Class::Caller, Level::Minor, "task-support-widened", "", message);
        }
    }

    fn hints(&mut self, new: &ToolContract) {
        let old = self.old;
        if new.needs_trust() && !old.needs_trust() && old.is_ours() {
            let call = self.call();
            let message = "is destructive now, so its callers must be trusted";
            self.add(Class::Caller, Level::Major, "trust-raised", "", message).witness = call;
        }
        let names: BTreeSet<&String> =
            old.hints.keys().chain(new.hints.keys()).filter(|name| *name != "title").collect();
        let shown = |hint: Option<&Value>| hint.map_or_else(|| "not stated".to_owned(), Value::to_string);
        let changed = names.into_iter().filter_map(|name| {
            let (before, after) = (old.hints.get(name), new.hints.get(name));
            (before != after).then(|| format!("{} {} → {}", quoted(name), shown(before), shown(after)))
        });
        let changed: Vec<String> = changed.collect();
        if !changed.is_empty() {
            self.add(Class::Chooser, Level::Minor, "hint-changed", "", changed.join(", "));
        }
    }

    fn texts(&mut self, new: &ToolContract) {
        let old = self.old;
        if old.description != new.description {
            let (before, after) = (old.description.chars().count(), new.description.chars().count());
            let what = format!("{before} → {after} characters");
            let what = if before == after { "the description has changed" } else { &*what };
            let message = format!("{what}; a model may choose differently");
            self.add(Class::Chooser, Level::Patch, "description", "", message);
        }
        if old.title != new.title {
            self.add(Class::Chooser, Level::Patch, "title", "", "the title has changed");
        }
        if old.migration != new.migration && old.is_ours() && new.is_ours() {
            let what = match (&old.migration, &new.migration) {
                (None, _) => "is new",
                (_, None) => "is gone",
                _ => "has changed",
            };
            self.add(Class::Chooser, Level::Patch, "migration", "", format!("the migration note {what}"));
        }
    }

    fn version(&mut self, new: &ToolContract) {
        let (Some(before), Some(after)) = (&self.old.version, &new.version) else { return };
        if after < before {
            let message = format!("the version went back from {before} to {after}");
            self.add(Class::Chooser, Level::None, "version-lowered", "", message);
        }
        if after.major() > before.major() && (new.migration.is_none() || new.migration == self.old.migration) {
            let message = format!("there is no new migration note for {after}; say in `# Migration` how to adapt");
            self.add(Class::Chooser, Level::None, "missing-migration", "", message);
        }
    }
}
