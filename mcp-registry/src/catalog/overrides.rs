//! Overrides change the tools of a package before conflicts are detected: they resolve conflicts between third parties.

use std::fmt;
use std::sync::Arc;

use mcp_core::error::RegistrationProblem;

use crate::catalog::definition::Definition;
use crate::catalog::link::package_key;
use crate::catalog::tool::NamedDefinition;

/// A change to the tools of a package.
pub(crate) struct Override {
    /// `package`, or `package@version`.
    pub(crate) package: String,
    pub(crate) change: Change,
    pub(crate) place: String,
}

/// What an override changes. Names are those in the source.
pub(crate) enum Change {
    Exclude { name: String },
    Rename { name: String, to: String },
    DropAlias { name: String, alias: String },
    Prefix { prefix: String },
}

/// Gives tools their final names. It is a problem if an override matches no tool, or more than one where only one is
/// allowed.
pub(crate) fn apply(
    overrides: &[Override],
    definitions: Vec<Arc<Definition>>,
    problems: &mut Vec<RegistrationProblem>,
) -> Vec<NamedDefinition> {
    let mut matched: Vec<Vec<Arc<Definition>>> = overrides.iter().map(|_| Vec::new()).collect();
    let named = definitions.into_iter().filter_map(|definition| {
        for (edit, matched) in overrides.iter().zip(&mut matched).filter(|(edit, _)| edit.matches(&definition)) {
            // A prefix may match many tools; one is enough.
            let is_enough = matches!(edit.change, Change::Prefix { .. }) && !matched.is_empty();
            if !is_enough && !matched.iter().any(|known| known.is_same_as(&definition)) {
                // The order of problems must not depend on the linker.
                let position = matched.partition_point(|known| known.origin < definition.origin);
                matched.insert(position, definition.clone());
            }
        }
        named(definition, overrides)
    });
    let named = named.collect();
    problems.extend(overrides.iter().zip(&matched).filter_map(|(edit, matched)| edit.fault(matched)));
    named
}

/// A tool with its final names; `None` if it is excluded. Renames apply before prefixes, whatever their order.
fn named(definition: Arc<Definition>, overrides: &[Override]) -> Option<NamedDefinition> {
    let mut name = definition.name.clone().into_owned();
    let mut aliases: Vec<(String, String)> =
        definition.aliases.iter().map(|alias| (alias.to_string(), alias.to_string())).collect();
    let mut prefixes = Vec::new();
    for edit in overrides.iter().filter(|edit| edit.matches(&definition)) {
        match &edit.change {
            Change::Exclude { .. } => return None,
            Change::Rename { to, .. } => name.clone_from(to),
            Change::DropAlias { alias, .. } => aliases.retain(|(known, _)| known != alias),
            Change::Prefix { prefix } => prefixes.push(prefix),
        }
    }
    for prefix in prefixes {
        name = format!("{prefix}.{name}");
        for (_, alias) in &mut aliases {
            *alias = format!("{prefix}.{alias}");
        }
    }
    Some(NamedDefinition { definition, name, aliases })
}

impl Override {
    fn matches(&self, definition: &Definition) -> bool {
        let origin = &definition.origin;
        let (package, version) = self.package.split_once('@').unzip();
        let package = package.unwrap_or(&self.package);
        let in_package = package_key(&origin.package) == package_key(package)
            && version.is_none_or(|version| origin.package_version == version);
        in_package
            && match &self.change {
                Change::Exclude { name } | Change::Rename { name, .. } => *name == definition.name,
                Change::DropAlias { name, alias } => {
                    *name == definition.name && definition.aliases.iter().any(|known| known == alias)
                }
                Change::Prefix { .. } => true,
            }
    }

    /// The problem with an override that matches these tools.
    fn fault(&self, matched: &[Arc<Definition>]) -> Option<RegistrationProblem> {
        let reason = match matched {
            [] => format!("matches no tool: `{}` has {}; correct it, or remove it", self.package, self.missing()),
            [_] => return None,
            [first, second, ..] => {
                let versions = [&first.origin.package_version, &second.origin.package_version];
                let remedy = if versions[0] == versions[1] {
                    "both are in one package: rename one of them in the source".to_owned()
                } else {
                    format!("name one version: \"{}@{}\"", first.origin.package, versions[1])
                };
                format!("matches several tools, at {} and {}; {remedy}", first.origin, second.origin)
            }
        };
        Some(RegistrationProblem::Edit { call: self.to_string(), reason, place: self.place.clone() })
    }

    /// What the package lacks, if the override matches no tool.
    fn missing(&self) -> String {
        match &self.change {
            Change::Exclude { name } | Change::Rename { name, .. } => format!("no tool `{name}`"),
            Change::DropAlias { name, alias } => format!("no tool `{name}` with the alias `{alias}`"),
            Change::Prefix { .. } => "none".to_owned(),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let package = &self.package;
        match &self.change {
            Change::Exclude { name } => write!(f, ".exclude({package:?}, {name:?})"),
            Change::Rename { name, to } => write!(f, ".rename({package:?}, {name:?}, {to:?})"),
            Change::DropAlias { name, alias } => write!(f, ".drop_alias({package:?}, {name:?}, {alias:?})"),
            Change::Prefix { prefix } => write!(f, ".prefix({package:?}, {prefix:?})"),
        }
    }
}
