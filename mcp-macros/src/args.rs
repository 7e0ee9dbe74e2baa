//! The keys in an attribute: `#[mcp_tool(name = "a.b", read_only, tags("x"))]`, `#[arg(min = 1)]`.

use std::collections::HashSet;
use std::fmt::Display;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{Expr, ExprLit, ExprUnary, Lit, LitStr, Path, Token, UnOp};

use crate::errors::{Errors, listed, nearest};

/// One key with what was set to it.
///
/// ```text
/// key                 a flag
/// key = expression
/// key(anything)
/// ```
pub(crate) struct Key {
    pub(crate) name: Ident,
    value: Value,
}

enum Value {
    Flag,
    Expr(Box<Expr>),
    List(Paren, TokenStream),
}

impl ToTokens for Key {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.name.to_tokens(tokens);
        match &self.value {
            Value::Flag => {}
            Value::Expr(value) => tokens.extend(quote!(= #value)),
            Value::List(paren, list) => paren.surround(tokens, |tokens| list.to_tokens(tokens)),
        }
    }
}

/// Reads all keys of an attribute. One that is unknown or set twice is reported and left out.
pub(crate) fn read(tokens: TokenStream, known: &[&str], repeatable: &[&str], errors: &mut Errors) -> Vec<Key> {
    let parser = |input: ParseStream<'_>| Punctuated::<Key, Token![,]>::parse_terminated_with(input, Key::parse);
    let mut seen = HashSet::new();
    let mut keys = Vec::new();
    for key in errors.take(parser.parse2(tokens)).into_iter().flatten() {
        let name = key.name();
        if !known.contains(&&*name) {
            let near = nearest(&name, known.iter().copied());
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            errors.at(&key.name, format!("unknown key `{name}`; {near}the keys are {}", listed(known.iter().copied())));
        } else if !seen.insert(name.clone()) && !repeatable.contains(&&*name) {
            errors.at(&key.name, format!("`{name}` is set twice; keep one of them"));
        } else {
            keys.push(key);
        }
    }
    keys
}

impl Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let wrong =
            |error: syn::Error| syn::Error::new(error.span(), "not a key; write `key`, `key = value` or `key(…)`");
        let name = input.call(Ident::parse_any).map_err(wrong)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::Expr(Box::new(ungrouped(input.parse()?)))
        } else if input.peek(Paren) {
            let list;
            let paren = syn::parenthesized!(list in input);
            Value::List(paren, list.parse()?)
        } else {
            Value::Flag
        };
        Ok(Self { name, value })
    }

    pub(crate) fn name(&self) -> String {
        self.name.unraw().to_string()
    }

    fn wrong(&self, form: &str) -> syn::Error {
        self.at_value(format!("`{}` is written `{form}`", self.name()))
    }

    /// A mistake in what was set.
    pub(crate) fn at_value(&self, message: impl Display) -> syn::Error {
        match &self.value {
            Value::Expr(value) => syn::Error::new_spanned(value, message),
            _ => syn::Error::new_spanned(self, message),
        }
    }

    /// `key`.
    pub(crate) fn flag(&self) -> syn::Result<()> {
        match self.value {
            Value::Flag => Ok(()),
            _ => Err(self.wrong(&self.name())),
        }
    }

    /// `key`, `key = true` or `key = false`.
    pub(crate) fn bool(&self) -> syn::Result<bool> {
        match &self.value {
            Value::Flag => Ok(true),
            Value::Expr(value) => match &**value {
                Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }) => Ok(value.value),
                _ => Err(self.wrong(&format!("{0}` or `{0} = false", self.name()))),
            },
            Value::List(..) => Err(self.wrong(&format!("{0}` or `{0} = false", self.name()))),
        }
    }

    /// `key = "text"`.
    pub(crate) fn text(&self) -> syn::Result<LitStr> {
        match self.lit() {
            Some(Lit::Str(text)) => Ok(text.clone()),
            _ => Err(self.wrong(&format!("{} = \"…\"", self.name()))),
        }
    }

    /// `key = 300`.
    pub(crate) fn count(&self) -> syn::Result<u64> {
        match self.lit() {
            Some(Lit::Int(number)) => number.base10_parse(),
            _ => Err(self.wrong(&format!("{} = 10", self.name()))),
        }
    }

    /// `key = -1.5`.
    pub(crate) fn number(&self) -> syn::Result<Number> {
        let wrong = || self.wrong(&format!("{} = 1", self.name()));
        let Value::Expr(value) = &self.value else { return Err(wrong()) };
        number(value).ok_or_else(wrong)
    }

    /// `key = any_expression`.
    pub(crate) fn expr(&self) -> syn::Result<Expr> {
        match &self.value {
            Value::Expr(value) => Ok((**value).clone()),
            _ => Err(self.wrong(&format!("{} = …", self.name()))),
        }
    }

    /// `key` or `key = any_expression`.
    pub(crate) fn optional_expr(&self) -> syn::Result<Option<Expr>> {
        match &self.value {
            Value::Flag => Ok(None),
            Value::Expr(value) => Ok(Some((**value).clone())),
            Value::List(..) => Err(self.wrong(&format!("{0}` or `{0} = …", self.name()))),
        }
    }

    /// `key = path::to::it`.
    pub(crate) fn path(&self) -> syn::Result<Path> {
        match &self.value {
            Value::Expr(value) => match &**value {
                Expr::Path(path) if path.qself.is_none() => Ok(path.path.clone()),
                _ => Err(self.wrong(&format!("{} = path::to::it", self.name()))),
            },
            _ => Err(self.wrong(&format!("{} = path::to::it", self.name()))),
        }
    }

    /// `key("a", "b")`, at least one.
    pub(crate) fn texts(&self) -> syn::Result<Vec<LitStr>> {
        let wrong = || self.wrong(&format!("{}(\"…\", \"…\")", self.name()));
        let Value::List(_, list) = &self.value else { return Err(wrong()) };
        let parser = Punctuated::<LitStr, Token![,]>::parse_terminated;
        match parser.parse2(list.clone()) {
            Ok(texts) if texts.is_empty() => Err(wrong()),
            Ok(texts) => Ok(texts.into_iter().collect()),
            Err(error) => Err(syn::Error::new(error.span(), wrong())),
        }
    }

    /// `key(owner = "pay", pii = true)`.
    pub(crate) fn pairs(&self) -> syn::Result<Vec<(LitStr, MetaLit)>> {
        let form = format!("{}(owner = \"…\", level = 3, checked = true)", self.name());
        let Value::List(_, list) = &self.value else { return Err(self.wrong(&form)) };
        let parser = |input: ParseStream<'_>| Punctuated::<Self, Token![,]>::parse_terminated_with(input, Self::parse);
        let mut pairs: Vec<(LitStr, MetaLit)> = Vec::new();
        for pair in parser.parse2(list.clone())? {
            let key = LitStr::new(&pair.name(), pair.name.span());
            if pairs.iter().any(|(known, _)| known.value() == key.value()) {
                let message = format!("`{}` is set twice; keep one of them", pair.name());
                return Err(syn::Error::new_spanned(&pair.name, message));
            }
            let Some(value) = pair.meta() else {
                let message = format!("`{}` takes texts, numbers and booleans; write `{form}`", self.name());
                return Err(pair.at_value(message));
            };
            pairs.push((key, value));
        }
        Ok(pairs)
    }

    fn meta(&self) -> Option<MetaLit> {
        match (&self.value, self.lit()) {
            (Value::Flag, _) => Some(MetaLit::Bool(true)),
            (_, Some(Lit::Str(text))) => Some(MetaLit::Str(text.clone())),
            (_, Some(Lit::Bool(value))) => Some(MetaLit::Bool(value.value)),
            (Value::Expr(value), _) => match number(value)? {
                Number::Int(number) => i64::try_from(number).ok().map(MetaLit::Int),
                Number::Float(number) => Some(MetaLit::Float(number)),
            },
            _ => None,
        }
    }

    fn lit(&self) -> Option<&Lit> {
        match &self.value {
            Value::Expr(value) => match &**value {
                Expr::Lit(lit) => Some(&lit.lit),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The expression without the invisible brackets that `macro_rules!` puts around `$value:expr`.
pub(crate) fn ungrouped(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungrouped(*group.expr),
        expr => expr,
    }
}

/// A number as it was written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    #[allow(clippy::cast_precision_loss, reason = "only compared with other numbers that were written by hand")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

/// A literal number, perhaps with a minus.
pub(crate) fn number(expr: &Expr) -> Option<Number> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok().map(Number::Int),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok().map(Number::Float),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Some(match number(expr)? {
            Number::Int(number) => Number::Int(-number),
            Number::Float(number) => Number::Float(-number),
        }),
        _ => None,
    }
}

/// A value in `meta(…)`.
pub(crate) enum MetaLit {
    Str(LitStr),
    Bool(bool),
    Int(i64),
    Float(f64),
}
