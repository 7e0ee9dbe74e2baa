//! A tool that obeys every rule: built from the attribute's keys and the function.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, GenericParam, Lit, LitStr, Meta, Path, ReturnType, Type};

use crate::args::{self, Key, MetaLit};
use crate::doc::{self, Docs, Text};
use crate::errors::Errors;
use crate::item::Item;
use crate::param::{Arg, Ctx, Owned, Param, ungrouped};

const KEYS: [&str; 24] = [
    "name",
    "module",
    "title",
    "description",
    "version",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "deprecated_in",
    "replaced_by",
    "aliases",
    "tags",
    "meta",
    "hidden",
    "timeout",
    "max_result",
    "cache_ttl",
    "inline",
    "input_schema",
    "output_schema",
    "allow_unknown_arguments",
    "allow",
    "crate",
];

/// A tool that obeys every rule.
pub(crate) struct Tool {
    pub(crate) function: Ident,
    pub(crate) is_async: bool,
    pub(crate) keys: Keys,
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) params: Vec<Param>,
    /// Where the compiler is to say what is wrong with the return type.
    pub(crate) returns: Span,
}

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Keys {
    /// Whether a name was given, even a bad one.
    named: bool,
    name: Option<LitStr>,
    module: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    description: Option<LitStr>,
    pub(crate) version: Option<LitStr>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) deprecated_in: Option<LitStr>,
    pub(crate) replaced_by: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) meta: Vec<(LitStr, MetaLit)>,
    pub(crate) hidden: bool,
    pub(crate) timeout: Option<Limit>,
    pub(crate) max_result: Option<Expr>,
    pub(crate) cache_ttl: Option<u32>,
    pub(crate) inline: Option<Ident>,
    pub(crate) input_schema: Option<Expr>,
    pub(crate) output_schema: Option<Expr>,
    pub(crate) allow_unknown_arguments: bool,
    pub(crate) allow: Vec<LitStr>,
    pub(crate) krate: Option<Path>,
}

/// How long a call may take.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    Never,
    Millis(u64),
}

impl Keys {
    pub(crate) fn read(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut keys = Self::default();
        for key in args::read(tokens, &KEYS, &[], errors) {
            let read = keys.set(&key, errors);
            errors.take(read);
        }
        keys
    }

    fn set(&mut self, key: &Key, errors: &mut Errors) -> syn::Result<()> {
        match key.name().as_str() {
            "name" => {
                self.named = true;
                self.name = Some(tool_name(key.text()?)?);
            }
            "module" => self.module = Some(tool_name(key.text()?)?),
            "title" => self.title = Some(key.text()?),
            "description" => self.description = Some(key.text()?),
            "version" => self.version = Some(version(key.text()?)?),
            "read_only" => {
                self.read_only = Some(key.bool()?);
                self.check_effects(key, errors);
            }
            "destructive" => {
                self.destructive = Some(key.bool()?);
                self.check_effects(key, errors);
            }
            "idempotent" => self.idempotent = Some(key.bool()?),
            "open_world" => self.open_world = Some(key.bool()?),
            "deprecated_in" => self.deprecated_in = Some(version(key.text()?)?),
            "replaced_by" => self.replaced_by = Some(tool_name(key.text()?)?),
            "aliases" => self.aliases = key.texts()?.into_iter().map(tool_name).collect::<syn::Result<_>>()?,
            "tags" => self.tags = key.texts()?,
            "meta" => self.meta = key.pairs()?,
            "hidden" => self.hidden = key.bool()?,
            "timeout" => self.timeout = Some(timeout(&key.text()?)?),
            "max_result" => self.max_result = Some(key.expr()?),
            "cache_ttl" => {
                let wrong = |_| key.at_value("`cache_ttl` is in seconds; use a smaller number");
                self.cache_ttl = Some(u32::try_from(key.count()?).map_err(wrong)?);
            }
            "inline" => self.inline = key.bool()?.then(|| key.name.clone()),
            "input_schema" => self.input_schema = Some(key.expr()?),
            "output_schema" => self.output_schema = Some(key.expr()?),
            "allow_unknown_arguments" => self.allow_unknown_arguments = key.bool()?,
            "allow" => self.allow = key.texts()?,
            "crate" => self.krate = Some(key.path()?),
            other => unreachable!("`{other}` is a known key"),
        }
        Ok(())
    }

    fn check_effects(&self, key: &Key, errors: &mut Errors) {
        if self.read_only == Some(true) && self.destructive == Some(true) {
            errors.at(&key.name, "a tool that is `read_only` cannot be `destructive`; remove one of them");
        }
    }
}

impl Tool {
    /// Builds the model; every rule that the function and its attribute break is noted.
    pub(crate) fn build(mut keys: Keys, item: &Item, errors: &mut Errors) -> Option<Self> {
        check_signature(item, errors);
        let mut docs = doc::read(&item.attrs, errors);
        if let Some(description) = &keys.description {
            if docs.description.is_empty() {
                docs.description = Text::Written(description.value());
            } else {
                errors.at(description, "the function has a doc comment as well; keep one of them");
            }
        }
        let mut params: Vec<Param> = item.sig.inputs.iter().filter_map(|input| Param::read(input, errors)).collect();
        describe(&mut params, item, &docs, errors);
        check_arguments(&params, errors);
        let returns = match &item.sig.output {
            // Where there is no type to blame, the name is.
            ReturnType::Default => item.sig.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        let function = item.sig.ident.clone();
        let is_async = item.sig.asyncness.is_some();
        check_inline(&keys, is_async, &params, errors);
        deprecation(&mut keys, &item.attrs, errors);
        let name = full_name(&keys, &function, errors)?;
        errors.is_empty().then_some(Self { function, is_async, keys, name, docs, params, returns })
    }

    pub(crate) fn args(&self) -> impl Iterator<Item = &Arg> {
        self.params.iter().filter_map(|param| match param {
            Param::Arg(arg) => Some(&**arg),
            Param::Ctx(_) => None,
        })
    }
}

fn is_tool(attr: &Attribute) -> bool {
    attr.path().segments.last().is_some_and(|segment| segment.ident == "mcp_tool")
}

/// The first `Self`, which nothing but an `impl` or a trait gives a meaning to.
fn find_self(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(word) if word == "Self" => Some(word),
        TokenTree::Group(group) => find_self(group.stream()),
        _ => None,
    })
}

fn check_signature(item: &Item, errors: &mut Errors) {
    let sig = &item.sig;
    for param in &sig.generics.params {
        match param {
            GenericParam::Lifetime(_) => {}
            param => errors.at(param, "a tool cannot be generic: it is called with JSON; use a concrete type"),
        }
    }
    if sig.receiver().is_none() {
        if let Some(word) = find_self(sig.to_token_stream()) {
            errors.at(word, "a tool is a free function; move it out of the `impl` and write the type's name");
        }
    }
    if let Some(again) = item.attrs.iter().find(|attr| is_tool(attr)) {
        errors.at(again, "`#[mcp_tool]` is set twice; keep one of them");
    }
    if item.has_no_body() {
        errors.at(&sig.ident, "a tool needs a body; put `#[mcp_tool]` on a free function");
    }
    if let Some(constness) = &sig.constness {
        errors.at(constness, "a tool cannot be `const`; remove the word");
    }
    if let syn::Safety::Unsafe(safety) = &sig.safety {
        errors.at(safety, "a tool cannot be `unsafe`; wrap the function in a safe one");
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi, "a tool cannot be `extern`; remove it, or wrap the function");
    }
    if let Some(variadic) = &sig.variadic {
        errors.at(variadic, "a tool cannot take `...`; take a `Vec`");
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        if let Type::Never(_) = ungrouped(ty) {
            errors.at(ty, "a tool has to return; replace `!` by a type");
        } else if let Some(opaque) = Owned::of(ty).opaque {
            errors.at(opaque, "a tool returns a type with a name; replace `impl Trait` by it");
        }
    }
}

/// Gives the arguments what an `# Arguments` list says of them.
fn describe(params: &mut [Param], item: &Item, docs: &Docs, errors: &mut Errors) {
    for (name, text) in &docs.arguments {
        let named = |param: &&mut Param| matches!(param, Param::Arg(arg) if arg.ident.unraw() == *name);
        match params.iter_mut().find(named) {
            Some(Param::Arg(arg)) if arg.description.is_empty() => {
                arg.description = Text::Written(text.clone());
            }
            Some(Param::Arg(arg)) => {
                let message = format!("`{name}` is described here and under `# Arguments`; keep one of them");
                errors.at(&arg.ident, message);
            }
            _ => {
                let known = item.sig.inputs.iter().any(|input| match input {
                    syn::FnArg::Typed(typed) => {
                        typed.pat.to_token_stream().to_string().trim_start_matches("mut ") == *name
                    }
                    syn::FnArg::Receiver(_) => false,
                });
                if !known {
                    let message =
                        format!("`# Arguments` describes `{name}`, which is not a parameter; correct the name");
                    let doc = item.attrs.iter().filter(|attr| doc::is_doc(attr));
                    let line = doc.clone().find(|attr| attr.to_token_stream().to_string().contains(name.as_str()));
                    match line.or_else(|| doc.clone().next()) {
                        Some(attr) => errors.at(attr, message),
                        None => errors.at(&item.sig.ident, message),
                    }
                }
            }
        }
    }
}

/// Rules between the arguments.
fn check_arguments(params: &[Param], errors: &mut Errors) {
    let args: Vec<&Arg> =
        params.iter().filter_map(|param| if let Param::Arg(arg) = param { Some(&**arg) } else { None }).collect();
    if let [_, _, ..] = args.as_slice() {
        for flatten in args.iter().filter_map(|arg| arg.flatten.as_ref()) {
            errors.at(flatten, "`flatten` needs to be the only argument; put the others into the struct");
        }
    }
    let (mut names, mut headers) = (HashMap::new(), HashMap::new());
    for arg in args {
        for name in std::iter::once(&arg.name).chain(&arg.aliases) {
            match names.insert(name.value(), &arg.ident) {
                Some(other) if *other == arg.ident => {
                    errors.at(name, format!("the argument is called `{}` already; remove this name", name.value()));
                }
                Some(other) => {
                    errors
                        .at(name, format!("the name `{}` belongs to the argument `{other}`; rename one", name.value()));
                }
                None => {}
            }
        }
        if let Some(header) = &arg.header {
            if let Some(other) = headers.insert(header.value().to_ascii_lowercase(), &arg.ident) {
                errors.at(header, format!("the header belongs to the argument `{other}`; rename one"));
            }
        }
    }
}

fn check_inline(keys: &Keys, is_async: bool, params: &[Param], errors: &mut Errors) {
    let Some(inline) = &keys.inline else { return };
    if is_async {
        errors.at(inline, "an `async fn` is awaited and never runs `inline`; remove the key");
    }
    if let Some(Limit::Millis(_)) = keys.timeout {
        errors.at(inline, "an `inline` tool has no deadline; remove `timeout` or `inline`");
    }
    for param in params {
        if let Param::Ctx(Ctx::From(ty)) = param {
            errors.at(ty, "`FromContext` may wait, and an `inline` tool cannot; remove `inline`, or take `#[ctx] cx: &ToolContext`");
        }
    }
}

/// Takes over what `#[deprecated]` says.
fn deprecation(keys: &mut Keys, attrs: &[Attribute], errors: &mut Errors) {
    let current = keys.version.as_ref().map_or_else(|| "1.0.0".to_owned(), LitStr::value);
    if let Some(since) = &keys.deprecated_in {
        let newer = |text: &str| semver::Version::parse(text).ok();
        if newer(&since.value()) > newer(&current) {
            let message = format!("the tool is at version {current}; lower `deprecated_in`, or raise `version`");
            errors.at(since, message);
        }
    } else if let Some(attr) = attrs.iter().find(|attr| attr.path().is_ident("deprecated")) {
        let mut since = None;
        if let Meta::List(_) = &attr.meta {
            // What is wrong with it the compiler says.
            let _ = attr.parse_nested_meta(|meta| {
                let value: Expr = meta.value()?.parse()?;
                if let (true, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) = (meta.path.is_ident("since"), value) {
                    since = Some(text);
                }
                Ok(())
            });
        }
        let legal = since.filter(|since| semver::Version::parse(&since.value()).is_ok());
        keys.deprecated_in = Some(legal.unwrap_or_else(|| LitStr::new(&current, attr.span())));
    }
}

fn full_name(keys: &Keys, function: &Ident, errors: &mut Errors) -> Option<String> {
    let function_name = function.unraw().to_string();
    if let Some(name) = &keys.name {
        if let Some(module) = &keys.module {
            errors.at(module, "`name` is the whole name, so that `module` has no effect; remove one of them");
        }
        return Some(name.value());
    }
    let package = || std::env::var("CARGO_PKG_NAME").ok().map(|package| package.replace('-', "_"));
    let Some(module) = keys.module.as_ref().map(LitStr::value).or_else(package) else {
        errors.at(function, "the package's name is not known here; set `module = \"…\"`");
        return None;
    };
    let name = format!("{module}.{function_name}");
    if let (Err(reason), false) = (check_name(&name), keys.named) {
        errors.at(function, format!("{reason}, or set `name = \"…\"`"));
    }
    Some(name)
}

fn tool_name(name: LitStr) -> syn::Result<LitStr> {
    check_name(&name.value()).map_err(|reason| syn::Error::new_spanned(&name, reason))?;
    Ok(name)
}

/// The grammar of `mcp_core::ToolName`, which this crate cannot depend on.
fn check_name(name: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match name.chars().find(|c| !legal(*c)) {
        Some(c) => Err(format!("a tool's name cannot have {c:?}; use letters, digits, `_`, `-` and `.`")),
        None if name.is_empty() => Err("a tool needs a name; write `module.tool`".to_owned()),
        None if name.len() > 128 => {
            Err(format!("a tool's name has at most 128 characters, not {}; shorten it", name.len()))
        }
        None if name.split('.').any(str::is_empty) => {
            Err("a tool's name has something before and after each dot; write `module.tool`".to_owned())
        }
        None => Ok(()),
    }
}

fn version(text: LitStr) -> syn::Result<LitStr> {
    match semver::Version::parse(&text.value()) {
        Ok(_) => Ok(text),
        Err(error) => {
            let message = format!("not a version ({error}); write `major.minor.patch`, such as `1.0.0`");
            Err(syn::Error::new_spanned(&text, message))
        }
    }
}

/// `"500ms"`, `"5s"`, `"2m"`, `"none"`.
fn timeout(text: &LitStr) -> syn::Result<Limit> {
    let value = text.value();
    if value == "none" {
        return Ok(Limit::Never);
    }
    let wrong = || syn::Error::new_spanned(text, "not a time; write `\"500ms\"`, `\"5s\"`, `\"2m\"` or `\"none\"`");
    let split = value.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = value[..split].parse().map_err(|_| wrong())?;
    let millis = match &value[split..] {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    match millis {
        Some(0) => Err(syn::Error::new_spanned(text, "a tool needs some time; write `\"none\"` for no limit")),
        Some(millis) => Ok(Limit::Millis(millis)),
        None => Err(wrong()),
    }
}
