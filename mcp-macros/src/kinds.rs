//! The syntax of keys, and the kinds of their values.

use std::collections::HashSet;
use std::fmt::Display;
use std::str::FromStr;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::token::Paren;
use syn::{Expr, Lit, LitBool, LitInt, LitStr, MacroDelimiter, Meta, MetaList, MetaNameValue, Path, Token};

use crate::errors::{error, reworded};

/// The message for a duplicate key.
pub(crate) fn duplicate(key: &Ident) -> String {
    format!("`{}` is set twice; keep one of them", key.unraw())
}

/// Parses `key, key = expression, key(…)`.
pub(crate) fn parse_list(tokens: TokenStream) -> syn::Result<Punctuated<(Ident, Meta), Token![,]>> {
    let parser = |input: ParseStream<'_>| Punctuated::parse_terminated_with(input, parse_key);
    parser.parse2(tokens)
}

/// Parses a key. Unlike the parser of [`Meta`], this accepts keywords such as `crate`.
fn parse_key(input: ParseStream<'_>) -> syn::Result<(Ident, Meta)> {
    let wrong = reworded("not a key; write `key`, `key = value` or `key(…)`");
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

/// Removes the invisible delimiters that `macro_rules!` puts around `$value:expr`.
pub(crate) fn ungrouped(expr: Expr) -> Expr {
    if let Expr::Group(group) = expr { ungrouped(*group.expr) } else { expr }
}

/// A kind of value.
pub(crate) struct Kind {
    /// The syntax of a key `{}` of this kind, for the error message.
    syntax: &'static str,
    /// Checks the value and returns it as the argument of a setter.
    read: fn(&Meta) -> ReadResult<TokenStream>,
}

/// `Err(None)` means that the syntax is wrong.
type ReadResult<T> = Result<T, Option<syn::Error>>;

impl Kind {
    pub(crate) const FLAG: Self = Self { syntax: "{}", read: flag };
    pub(crate) const BOOL: Self = Self { syntax: "{}` or `{} = false", read: |meta| Ok(bool(meta)?.to_token_stream()) };
    pub(crate) const TEXT: Self =
        Self { syntax: "{} = \"…\"", read: |meta| Ok(value::<LitStr>(meta)?.to_token_stream()) };
    pub(crate) const NAME: Self = Self { read: |meta| Ok(parse_name(&value(meta)?)?), ..Self::TEXT };
    pub(crate) const VERSION: Self = Self { read: |meta| Ok(parse_version(&value(meta)?)?), ..Self::TEXT };
    pub(crate) const TIMEOUT: Self = Self { read: |meta| Ok(parse_timeout(&value(meta)?)?), ..Self::TEXT };
    pub(crate) const TEXTS: Self = Self { syntax: "{}(\"…\", \"…\")", read: |meta| Ok(array(texts(meta)?)) };
    pub(crate) const NAMES: Self = Self { read: names, ..Self::TEXTS };
    pub(crate) const COUNT: Self = Self { syntax: "{} = 10", read: |meta| Ok(count(meta)?.to_token_stream()) };
    pub(crate) const SECONDS: Self = Self { read: seconds, ..Self::COUNT };
    pub(crate) const NUMBER: Self = Self { syntax: "{} = 1", read: bound };
    pub(crate) const PAIRS: Self = Self { syntax: "{}(owner = \"…\", level = 3, checked = true)", read: pairs };
    pub(crate) const PATH: Self =
        Self { syntax: "{} = path::to::it", read: |meta| Ok(value::<Path>(meta)?.to_token_stream()) };
    pub(crate) const EXPR: Self = Self { syntax: "{} = …", read: expr };
    pub(crate) const SCHEMA: Self = Self { read: |meta| schema(meta).map(|value| quote!(|| #value)), ..Self::EXPR };
    pub(crate) const OPTIONAL_EXPR: Self =
        Self { syntax: "{}` or `{} = …", read: |meta| flag(meta).or_else(|_| expr(meta)) };

    pub(crate) fn read(&self, meta: &Meta) -> syn::Result<TokenStream> {
        (self.read)(meta).map_err(|error| error.unwrap_or_else(|| at_value(meta, self.wrong(meta))))
    }

    fn wrong(&self, meta: &Meta) -> String {
        let key = meta.path().to_token_stream().to_string();
        format!("`{key}` is written `{}`", self.syntax.replace("{}", &key))
    }
}

/// An error at the value of a key.
fn at_value(meta: &Meta, message: impl Display) -> syn::Error {
    match meta {
        Meta::NameValue(pair) => syn::Error::new_spanned(&pair.value, message),
        meta => syn::Error::new_spanned(meta, message),
    }
}

fn flag(meta: &Meta) -> ReadResult<TokenStream> {
    if let Meta::Path(_) = meta { Ok(quote!(true)) } else { Err(None) }
}

/// Reads `key = expression`.
fn expr(meta: &Meta) -> ReadResult<TokenStream> {
    if let Meta::NameValue(pair) = meta { Ok(pair.value.to_token_stream()) } else { Err(None) }
}

/// Reads `key = expression`, and converts it to a `Value`.
fn schema(meta: &Meta) -> ReadResult<TokenStream> {
    let value = expr(meta)?;
    Ok(quote_spanned!(value.span()=> __mcp::Value::from(#value)))
}

/// Reads `key = value`.
pub(crate) fn value<T: Parse>(meta: &Meta) -> ReadResult<T> {
    syn::parse2(expr(meta)?).map_err(|_| None)
}

pub(crate) fn bool(meta: &Meta) -> ReadResult<bool> {
    if let Meta::Path(_) = meta { Ok(true) } else { Ok(value::<LitBool>(meta)?.value) }
}

fn count(meta: &Meta) -> ReadResult<u64> {
    value::<LitInt>(meta)?.base10_parse().map_err(|_| None)
}

fn seconds(meta: &Meta) -> ReadResult<TokenStream> {
    let seconds = u32::try_from(count(meta)?);
    Ok(seconds.map_err(|_| at_value(meta, "`cache_ttl` is in seconds; use a smaller number"))?.to_token_stream())
}

/// Reads `key("a", "b")`, with at least one string.
pub(crate) fn texts(meta: &Meta) -> ReadResult<Vec<LitStr>> {
    let Meta::List(list) = meta else { return Err(None) };
    let texts = list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated);
    let texts = texts.map_err(reworded(Kind::TEXTS.wrong(meta)))?;
    if texts.is_empty() { Err(None) } else { Ok(texts.into_iter().collect()) }
}

fn array(items: impl IntoIterator<Item = impl ToTokens>) -> TokenStream {
    let items = items.into_iter();
    quote!(&[#(#items),*])
}

fn names(meta: &Meta) -> ReadResult<TokenStream> {
    Ok(array(texts(meta)?.iter().map(parse_name).collect::<syn::Result<Vec<_>>>()?))
}

pub(crate) fn as_f64(lit: &Lit) -> Option<f64> {
    let number = match lit {
        Lit::Int(number) => number.base10_parse(),
        Lit::Float(number) => number.base10_parse(),
        _ => return None,
    };
    number.ok().filter(|number: &f64| number.is_finite())
}

/// Converts a number to the variant `Int` or `Float` of `Bound` or `MetaValue`.
fn number<Int: FromStr<Err: Display> + ToTokens>(lit: &Lit) -> Option<TokenStream> {
    match lit {
        Lit::Int(number) => number.base10_parse::<Int>().ok().map(|number| quote!(Int(#number))),
        lit => as_f64(lit).map(|number| quote!(Float(#number))),
    }
}

fn bound(meta: &Meta) -> ReadResult<TokenStream> {
    let number = number::<i128>(&value(meta)?).ok_or(None)?;
    Ok(quote!(__mcp::Bound::#number))
}

/// Reads `key(owner = "pay", pii)`.
fn pairs(meta: &Meta) -> ReadResult<TokenStream> {
    let Meta::List(list) = meta else { return Err(None) };
    let (mut names, mut pairs) = (HashSet::new(), Vec::new());
    for (ident, pair) in parse_list(list.tokens.clone())? {
        let name = ident.unraw().to_string();
        let value = match (bool(&pair), value(&pair)) {
            (Ok(value), _) => Some(quote!(Bool(#value))),
            (_, Ok(Lit::Str(text))) => Some(quote!(Str(#text))),
            (_, Ok(other)) => number::<i64>(&other),
            _ => None,
        };
        let wrong =
            "`meta` takes strings, numbers and booleans; write `meta(owner = \"…\", level = 3, checked = true)`";
        let value = value.ok_or_else(|| at_value(&pair, wrong))?;
        pairs.push(quote!((#name, __mcp::MetaValue::#value)));
        if !names.insert(name) {
            return Err(Some(syn::Error::new_spanned(&ident, duplicate(&ident))));
        }
    }
    Ok(array(pairs))
}

fn parse_name(name: &LitStr) -> syn::Result<TokenStream> {
    check_name(&name.value()).or_else(|reason| error(name, reason)).map(|()| name.to_token_stream())
}

/// Checks the grammar of `mcp_core::name::ToolName`. (This crate cannot depend on `mcp-core`.)
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let message = if let Some(c) = name.chars().find(|c| !is_valid(*c)) {
        format!("a tool's name cannot have {c:?}; use letters, digits, `_`, `-` and `.`")
    } else if name.is_empty() {
        "a tool needs a name; write `module.tool`".to_owned()
    } else if name.len() > 128 {
        format!("a tool's name has at most 128 characters, not {}; shorten it", name.len())
    } else if name.split('.').any(str::is_empty) {
        "a tool's name has something before and after each dot; write `module.tool`".to_owned()
    } else {
        return Ok(());
    };
    Err(message)
}

fn parse_version(version: &LitStr) -> syn::Result<TokenStream> {
    match semver::Version::parse(&version.value()) {
        Ok(_) => Ok(version.to_token_stream()),
        Err(reason) => error(version, format!("not a version ({reason}); write `major.minor.patch`, such as `1.0.0`")),
    }
}

/// Parses `"500ms"`, `"5s"`, `"2m"` or `"none"`.
fn parse_timeout(text: &LitStr) -> syn::Result<TokenStream> {
    let value = text.value();
    if value == "none" {
        return Ok(quote!(__mcp::Timeout::Never));
    }
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let unit = [("ms", 1), ("s", 1_000), ("m", 60_000)].into_iter().find(|(name, _)| *name == unit);
    match unit.and_then(|(_, millis)| number.parse::<u64>().ok()?.checked_mul(millis)) {
        Some(0) => error(text, "a timeout cannot be zero; write `\"none\"` for no limit"),
        Some(millis) => Ok(quote!(__mcp::Timeout::After(__mcp::Duration::from_millis(#millis)))),
        None => error(text, "not a duration; write `\"500ms\"`, `\"5s\"`, `\"2m\"` or `\"none\"`"),
    }
}
