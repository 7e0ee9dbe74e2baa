//! The keys of `#[mcp_tool(…)]` and of `#[arg(…)]`: a table for each, and one reader for both.

use std::fmt::Display;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{
    Expr, ExprLit, ExprPath, ExprUnary, Lit, LitInt, LitStr, MacroDelimiter, Meta, MetaList, MetaNameValue, Path,
    Token, UnOp,
};

use crate::errors::{Errors, listed, nearest};
use crate::formats::{parse_name, parse_seconds, parse_timeout, parse_version};

/// The keys of `#[mcp_tool(…)]`.
pub(crate) static TOOL_KEYS: [Key; 24] = [
    key("name", NAME, Target::Model),
    key("module", NAME, Target::Model),
    key("title", TEXT, Target::Setter),
    key("description", TEXT, Target::Model),
    key("version", VERSION, Target::Setter),
    key("read_only", BOOL, Target::Model),
    key("destructive", BOOL, Target::Model),
    key("idempotent", BOOL, Target::Model),
    key("open_world", BOOL, Target::Model),
    key("deprecated_in", VERSION, Target::Model),
    key("replaced_by", NAME, Target::Setter),
    key("aliases", NAMES, Target::Setter),
    key("tags", TEXTS, Target::Setter),
    key("meta", PAIRS, Target::Setter),
    key("hidden", BOOL, Target::Setter),
    key("timeout", TIMEOUT, Target::Setter),
    key("max_result", EXPR, Target::Setter),
    key("cache_ttl", SECONDS, Target::Setter),
    key("inline", BOOL, Target::Setter),
    key("input_schema", EXPR, Target::Model),
    key("output_schema", EXPR, Target::Model),
    key("allow_unknown_arguments", BOOL, Target::Setter),
    key("allow", TEXTS, Target::Setter),
    key("crate", PATH, Target::Model),
];

/// The keys of `#[arg(…)]`.
pub(crate) static ARG_KEYS: [Key; 18] = [
    key("default", OPTIONAL_EXPR, Target::Model),
    key("min", NUMBER, Target::Constraint("Number")),
    key("max", NUMBER, Target::Constraint("Number")),
    key("min_length", COUNT, Target::Constraint("Text")),
    key("max_length", COUNT, Target::Constraint("Text")),
    key("min_items", COUNT, Target::Constraint("List")),
    key("max_items", COUNT, Target::Constraint("List")),
    key("pattern", TEXT, Target::Constraint("Text")),
    key("format", TEXT, Target::Constraint("Text")),
    key("one_of", TEXTS, Target::Constraint("Text")),
    Key { is_repeatable: true, ..key("example", EXPR, Target::Model) },
    key("rename", TEXT, Target::Model),
    Key { is_repeatable: true, ..key("alias", TEXT, Target::Model) },
    key("header", TEXT, Target::Setter),
    key("secret", FLAG, Target::Setter),
    key("description", TEXT, Target::Model),
    key("schema", EXPR, Target::Model),
    key("flatten", FLAG, Target::Model),
];

/// A row of a table.
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
    /// The variant of `Constraint` that has the key's name. It fits types of this `TypeKind`.
    Constraint(&'static str),
}

/// The kind of value that a key takes.
struct Kind {
    /// How a key `{}` is written, for the error message.
    form: &'static str,
    read: fn(&Meta) -> ReadResult<Value>,
}

/// Without an error, the form is wrong.
type ReadResult<T> = Result<T, Option<syn::Error>>;

const FLAG: Kind = Kind { form: "{}", read: flag };
const BOOL: Kind = Kind { form: "{}` or `{} = false", read: |meta| flag(meta).or_else(|_| bool(meta)) };
const TEXT: Kind = Kind { form: "{} = \"…\"", read: |meta| Ok(Value::Text(text(meta)?)) };
const NAME: Kind = Kind { read: |meta| Ok(Value::Text(parse_name(text(meta)?)?)), ..TEXT };
const VERSION: Kind = Kind { read: |meta| Ok(Value::Text(parse_version(text(meta)?)?)), ..TEXT };
const TIMEOUT: Kind = Kind { read: |meta| Ok(Value::Timeout(parse_timeout(&text(meta)?)?)), ..TEXT };
const TEXTS: Kind = Kind { form: "{}(\"…\", \"…\")", read: |meta| texts(meta, Ok) };
const NAMES: Kind = Kind { read: |meta| texts(meta, parse_name), ..TEXTS };
const COUNT: Kind = Kind { form: "{} = 10", read: |meta| Ok(Value::Count(int(meta)?.base10_parse()?)) };
const SECONDS: Kind = Kind { read: |meta| Ok(Value::Count(parse_seconds(int(meta)?)?)), ..COUNT };
const NUMBER: Kind = Kind { form: "{} = 1", read: |meta| Number::read(expr(meta)?).map(Value::Number).ok_or(None) };
const PAIRS: Kind = Kind { form: "{}(owner = \"…\", level = 3, checked = true)", read: pairs };
const PATH: Kind = Kind { form: "{} = path::to::it", read: path };
const EXPR: Kind = Kind { form: "{} = …", read: |meta| Ok(Value::Expr(expr(meta)?.clone())) };
const OPTIONAL_EXPR: Kind = Kind { form: "{}` or `{} = …", read: |meta| flag(meta).or_else(|_| (EXPR.read)(meta)) };

/// The value of a key.
pub(crate) enum Value {
    /// It does not fit the key, which has been reported.
    Invalid,
    Bool(bool),
    Text(LitStr),
    Texts(Vec<LitStr>),
    /// Milliseconds; none for `"none"`.
    Timeout(Option<u64>),
    Count(u64),
    Number(Number),
    Pairs(Vec<(String, Value)>),
    Expr(Expr),
}

/// A number as it is written.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

/// A key with its value.
pub(crate) struct Setting {
    pub(crate) key: &'static Key,
    /// The key as it is written.
    pub(crate) ident: Ident,
    pub(crate) value: Value,
}

/// What an attribute says.
pub(crate) struct Keys {
    table: &'static [Key],
    settings: Vec<Setting>,
}

impl Keys {
    /// Reads the keys in the lists, and reports those that are unknown, duplicate or of the wrong form.
    pub(crate) fn read(table: &'static [Key], lists: Vec<TokenStream>, errors: &mut Errors) -> Self {
        let mut keys = Self { table, settings: Vec::new() };
        for list in lists {
            for (ident, meta) in errors.take(parse_list(list)).into_iter().flatten() {
                keys.set(ident, &meta, errors);
            }
        }
        keys
    }

    fn set(&mut self, ident: Ident, meta: &Meta, errors: &mut Errors) {
        let name = ident.unraw().to_string();
        if let Some(key) = self.table.iter().find(|key| key.name == name) {
            if self.get(key.name).is_some() && !key.is_repeatable {
                return errors.push(duplicate(&ident));
            }
            let value = (key.kind.read)(meta).unwrap_or_else(|error| {
                errors.push(error.unwrap_or_else(|| at_value(meta, key.kind.wrong(meta))));
                Value::Invalid
            });
            self.settings.push(Setting { key, ident, value });
        } else {
            let near = nearest(&name, names(self.table)).map(|near| format!("did you mean `{near}`? "));
            let (near, known) = (near.unwrap_or_default(), listed(names(self.table)));
            errors.at(ident, format!("unknown key `{name}`; {near}the keys are {known}"));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    fn all(&self, name: &'static str) -> impl Iterator<Item = &Setting> {
        debug_assert!(self.table.iter().any(|key| key.name == name), "`{name}` is not in the table");
        self.iter().filter(move |setting| setting.key.name == name)
    }

    pub(crate) fn get(&self, name: &'static str) -> Option<&Setting> {
        self.all(name).next()
    }

    /// The value of a key that is `true`, `false` or not set.
    pub(crate) fn bool(&self, name: &'static str) -> Option<bool> {
        self.get(name).and_then(|setting| if let Value::Bool(value) = setting.value { Some(value) } else { None })
    }

    /// The key as it is written, if it is set and not `false`.
    pub(crate) fn flag(&self, name: &'static str) -> Option<&Ident> {
        self.get(name).filter(|setting| matches!(setting.value, Value::Bool(true))).map(|setting| &setting.ident)
    }

    pub(crate) fn text(&self, name: &'static str) -> Option<&LitStr> {
        self.texts(name).next()
    }

    pub(crate) fn texts(&self, name: &'static str) -> impl Iterator<Item = &LitStr> {
        self.all(name).filter_map(|setting| if let Value::Text(text) = &setting.value { Some(text) } else { None })
    }

    pub(crate) fn expr(&self, name: &'static str) -> Option<&Expr> {
        self.exprs(name).next()
    }

    pub(crate) fn exprs(&self, name: &'static str) -> impl Iterator<Item = &Expr> {
        self.all(name).filter_map(|setting| if let Value::Expr(expr) = &setting.value { Some(expr) } else { None })
    }
}

pub(crate) fn names(table: &[Key]) -> impl Iterator<Item = &str> {
    table.iter().map(|key| key.name)
}

fn duplicate(key: &Ident) -> syn::Error {
    syn::Error::new(key.span(), format!("`{}` is set twice; keep one of them", key.unraw()))
}

/// `key, key = expression, key(…)`.
fn parse_list(tokens: TokenStream) -> syn::Result<Punctuated<(Ident, Meta), Token![,]>> {
    let parser = |input: ParseStream<'_>| Punctuated::parse_terminated_with(input, parse_key);
    parser.parse2(tokens)
}

/// Unlike the parser of [`Meta`], this takes keywords, such as `crate`.
fn parse_key(input: ParseStream<'_>) -> syn::Result<(Ident, Meta)> {
    let wrong = |error: syn::Error| syn::Error::new(error.span(), "not a key; write `key`, `key = value` or `key(…)`");
    let ident = input.call(Ident::parse_any).map_err(wrong)?;
    let path = Path::from(ident.clone());
    let meta = if input.peek(Token![=]) {
        Meta::NameValue(MetaNameValue { path, eq_token: input.parse()?, value: ungrouped(input.parse()?) })
    } else if input.peek(Paren) {
        let list;
        let delimiter = MacroDelimiter::Paren(syn::parenthesized!(list in input));
        Meta::List(MetaList { path, delimiter, tokens: list.parse()? })
    } else {
        Meta::Path(path)
    };
    Ok((ident, meta))
}

impl Kind {
    fn form(&self, meta: &Meta) -> String {
        self.form.replace("{}", &meta.path().to_token_stream().to_string())
    }

    fn wrong(&self, meta: &Meta) -> String {
        format!("`{}` is written `{}`", meta.path().to_token_stream(), self.form(meta))
    }
}

/// A mistake in the value of a key.
fn at_value(meta: &Meta, message: impl Display) -> syn::Error {
    match meta {
        Meta::NameValue(pair) => syn::Error::new_spanned(&pair.value, message),
        meta => syn::Error::new_spanned(meta, message),
    }
}

/// `key`.
fn flag(meta: &Meta) -> ReadResult<Value> {
    if let Meta::Path(_) = meta { Ok(Value::Bool(true)) } else { Err(None) }
}

/// `key = expression`.
fn expr(meta: &Meta) -> ReadResult<&Expr> {
    if let Meta::NameValue(pair) = meta { Ok(&pair.value) } else { Err(None) }
}

fn lit(meta: &Meta) -> ReadResult<&Lit> {
    if let Expr::Lit(lit) = expr(meta)? { Ok(&lit.lit) } else { Err(None) }
}

fn bool(meta: &Meta) -> ReadResult<Value> {
    if let Lit::Bool(value) = lit(meta)? { Ok(Value::Bool(value.value)) } else { Err(None) }
}

fn text(meta: &Meta) -> ReadResult<LitStr> {
    if let Lit::Str(text) = lit(meta)? { Ok(text.clone()) } else { Err(None) }
}

fn int(meta: &Meta) -> ReadResult<&LitInt> {
    if let Lit::Int(number) = lit(meta)? { Ok(number) } else { Err(None) }
}

fn path(meta: &Meta) -> ReadResult<Value> {
    let expr = expr(meta)?;
    if let Expr::Path(ExprPath { qself: None, .. }) = expr { Ok(Value::Expr(expr.clone())) } else { Err(None) }
}

/// `key("a", "b")`, at least one.
fn texts(meta: &Meta, parse: fn(LitStr) -> syn::Result<LitStr>) -> ReadResult<Value> {
    let Meta::List(list) = meta else { return Err(None) };
    let texts = list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated);
    let texts = texts.map_err(|error| syn::Error::new(error.span(), TEXTS.wrong(meta)))?;
    let texts: Vec<LitStr> = texts.into_iter().map(parse).collect::<syn::Result<_>>()?;
    if texts.is_empty() { Err(None) } else { Ok(Value::Texts(texts)) }
}

/// `key(owner = "pay", pii)`.
fn pairs(meta: &Meta) -> ReadResult<Value> {
    let Meta::List(list) = meta else { return Err(None) };
    let mut pairs: Vec<(String, Value)> = Vec::new();
    for (ident, pair) in parse_list(list.tokens.clone())? {
        let name = ident.unraw().to_string();
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(Some(duplicate(&ident)));
        }
        let fits = |value: &Value| !matches!(value, Value::Number(Number::Int(int)) if i64::try_from(*int).is_err());
        let value = [BOOL, TEXT, NUMBER].iter().find_map(|kind| (kind.read)(&pair).ok()).filter(fits);
        let message = || format!("`meta` takes texts, numbers and booleans; write `{}`", PAIRS.form(meta));
        pairs.push((name, value.ok_or_else(|| at_value(&pair, message()))?));
    }
    Ok(Value::Pairs(pairs))
}

/// The expression without the invisible brackets that `macro_rules!` puts around `$value:expr`.
pub(crate) fn ungrouped(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungrouped(*group.expr),
        expr => expr,
    }
}

impl Number {
    /// A literal, perhaps with a minus.
    pub(crate) fn read(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok().map(Self::Int),
            Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok().map(Self::Float),
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Some(match Self::read(expr)? {
                Self::Int(number) => Self::Int(-number),
                Self::Float(number) => Self::Float(-number),
            }),
            _ => None,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "only compared with other numbers that are written by hand")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl Value {
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(Number::Int((*count).into()).as_f64()),
            Self::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }
}
