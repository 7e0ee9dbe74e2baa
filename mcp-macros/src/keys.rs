//! The keys of `#[mcp_tool(…)]` and of `#[arg(…)]`: a table for each, and one reader for both.

use proc_macro2::{Ident, TokenStream};
use syn::Meta;
use syn::ext::IdentExt as _;
use syn::parse::Parse;

use crate::errors::{Errors, listed, nearest};
use crate::kinds::{self, Kind, duplicate, parse_list};

/// The keys of `#[mcp_tool(…)]`.
pub(crate) static TOOL_KEYS: [Key; 24] = [
    key("name", Kind::NAME, Target::Model),
    key("module", Kind::NAME, Target::Model),
    key("title", Kind::TEXT, Target::Setter),
    key("description", Kind::TEXT, Target::Model),
    key("version", Kind::VERSION, Target::Setter),
    key("read_only", Kind::BOOL, Target::Setter),
    key("destructive", Kind::BOOL, Target::Setter),
    key("idempotent", Kind::BOOL, Target::Setter),
    key("open_world", Kind::BOOL, Target::Setter),
    key("deprecated_in", Kind::VERSION, Target::Model),
    key("replaced_by", Kind::NAME, Target::Setter),
    key("aliases", Kind::NAMES, Target::Setter),
    key("tags", Kind::TEXTS, Target::Setter),
    key("meta", Kind::PAIRS, Target::Setter),
    key("hidden", Kind::BOOL, Target::Setter),
    key("timeout", Kind::TIMEOUT, Target::Setter),
    key("max_result", Kind::EXPR, Target::Setter),
    key("cache_ttl", Kind::SECONDS, Target::Setter),
    key("inline", Kind::BOOL, Target::Setter),
    key("input_schema", Kind::SCHEMA, Target::Setter),
    key("output_schema", Kind::SCHEMA, Target::Setter),
    key("allow_unknown_arguments", Kind::BOOL, Target::Setter),
    key("allow", Kind::TEXTS, Target::Setter),
    key("crate", Kind::PATH, Target::Model),
];

/// The keys of `#[arg(…)]`.
pub(crate) static ARG_KEYS: [Key; 18] = [
    key("default", Kind::OPTIONAL_EXPR, Target::Model),
    key("min", Kind::NUMBER, Target::Constraint("Number")),
    key("max", Kind::NUMBER, Target::Constraint("Number")),
    key("min_length", Kind::COUNT, Target::Constraint("Text")),
    key("max_length", Kind::COUNT, Target::Constraint("Text")),
    key("min_items", Kind::COUNT, Target::Constraint("List")),
    key("max_items", Kind::COUNT, Target::Constraint("List")),
    key("pattern", Kind::TEXT, Target::Constraint("Text")),
    key("format", Kind::TEXT, Target::Constraint("Text")),
    key("one_of", Kind::TEXTS, Target::Constraint("Text")),
    Key { is_repeatable: true, ..key("example", Kind::EXPR, Target::Model) },
    key("rename", Kind::TEXT, Target::Model),
    Key { is_repeatable: true, ..key("alias", Kind::TEXT, Target::Model) },
    key("header", Kind::TEXT, Target::Setter),
    key("secret", Kind::FLAG, Target::Setter),
    key("description", Kind::TEXT, Target::Model),
    key("schema", Kind::SCHEMA, Target::Setter),
    key("flatten", Kind::FLAG, Target::Model),
];

/// A row of one of the tables.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    kind: Kind,
    pub(crate) target: Target,
    is_repeatable: bool,
}

const fn key(name: &'static str, kind: Kind, target: Target) -> Key {
    Key { name, kind, target, is_repeatable: false }
}

/// Where the value of a key goes.
pub(crate) enum Target {
    /// The model or the expansion looks it up by name.
    Model,
    /// The setter of `ToolEntry` or `Param` that has the key's name.
    Setter,
    /// The variant of `Constraint` that has the key's name. It applies to types of this `TypeKind`.
    Constraint(&'static str),
}

/// A key with its value.
pub(crate) struct Setting {
    pub(crate) key: &'static Key,
    /// The key in the source.
    pub(crate) ident: Ident,
    pub(crate) meta: Meta,
    /// The value as the argument of a setter; `None` if it is invalid, which has been reported.
    pub(crate) tokens: Option<TokenStream>,
}

impl Setting {
    /// The value in `key = value`.
    pub(crate) fn value<T: Parse>(&self) -> Option<T> {
        self.tokens.as_ref().and_then(|_| kinds::value(&self.meta).ok())
    }
}

/// The keys that an attribute sets.
pub(crate) struct Keys {
    table: &'static [Key],
    pub(crate) settings: Vec<Setting>,
}

impl Keys {
    /// Reads the keys in the lists, and reports those that are unknown, duplicate or invalid.
    pub(crate) fn read(table: &'static [Key], lists: Vec<TokenStream>, errors: &mut Errors) -> Self {
        let mut keys = Self { table, settings: Vec::new() };
        for list in lists {
            for (ident, meta) in errors.take(parse_list(list)).into_iter().flatten() {
                keys.set(ident, meta, errors);
            }
        }
        keys
    }

    fn set(&mut self, ident: Ident, meta: Meta, errors: &mut Errors) {
        let name = ident.unraw().to_string();
        let Some(key) = self.table.iter().find(|key| key.name == name) else {
            let hint = nearest(&name, names(self.table)).map(|near| format!("did you mean `{near}`? "));
            let (hint, known) = (hint.unwrap_or_default(), listed(names(self.table)));
            return errors.at(ident, format!("unknown key `{name}`; {hint}the keys are {known}"));
        };
        if self.get(key.name).is_some() && !key.is_repeatable {
            return errors.at(&ident, duplicate(&ident));
        }
        let tokens = errors.take(key.kind.read(&meta));
        self.settings.push(Setting { key, ident, meta, tokens });
    }

    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &Setting> {
        debug_assert!(!cfg!(test) || names(self.table).any(|known| known == name), "`{name}` is not in the table");
        self.settings.iter().filter(move |setting| setting.key.name == name)
    }

    pub(crate) fn get(&self, name: &'static str) -> Option<&Setting> {
        self.all(name).next()
    }

    pub(crate) fn value<T: Parse>(&self, name: &'static str) -> Option<T> {
        self.all(name).find_map(Setting::value)
    }

    /// The key in the source, if it is set and not `false`.
    pub(crate) fn flag(&self, name: &'static str) -> Option<&Ident> {
        self.get(name).filter(|setting| matches!(kinds::bool(&setting.meta), Ok(true))).map(|setting| &setting.ident)
    }
}

pub(crate) fn names(table: &[Key]) -> impl Iterator<Item = &str> {
    table.iter().map(|key| key.name)
}
