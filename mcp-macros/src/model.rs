//! The model of a tool, built from the attribute's keys and the function.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, GenericParam, LitStr, MetaNameValue, ReturnType, Token, Type};

use crate::doc::{self, Docs, Text};
use crate::errors::Errors;
use crate::function::Function;
use crate::keys::Keys;
use crate::kinds::check_name;
use crate::param::{Arg, CtxKind, Param};
use crate::types::{SignatureType, ungrouped};

/// A valid tool.
pub(crate) struct Tool {
    pub(crate) function: Ident,
    pub(crate) is_async: bool,
    pub(crate) keys: Keys,
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) params: Vec<Param>,
    pub(crate) args: Vec<Arg>,
    pub(crate) deprecated_in: Option<LitStr>,
    /// Where the compiler reports errors of the return type.
    pub(crate) return_span: Span,
}

impl Tool {
    /// Builds the model, and reports every rule that the function or its attribute violates.
    pub(crate) fn build(keys: Keys, function: &Function, errors: &mut Errors) -> Option<Self> {
        let Function { attrs, sig, .. } = function;
        check_signature(function, errors);
        let mut docs = doc::read(attrs, errors);
        docs.description.take_key(keys.value("description"), "function", errors);
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for input in &sig.inputs {
            let param = Param::read(input, &mut args, errors);
            params.extend(errors.take(param));
        }
        describe(&mut args, function, &docs, errors);
        check_args(&args, errors);
        let is_async = sig.asyncness.is_some();
        check_keys(&keys, is_async, &params, errors);
        let deprecated_in = deprecated_in(&keys, attrs, errors);
        let return_span = match &sig.output {
            // Without a return type, errors point to the name.
            ReturnType::Default => sig.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        let name = full_name(&keys, &sig.ident, errors)?;
        let function = sig.ident.clone();
        let tool = Self { function, is_async, keys, name, docs, params, args, deprecated_in, return_span };
        errors.is_empty().then_some(tool)
    }
}

/// Finds the first `Self`, which is valid only in an `impl` or a trait.
fn find_self(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => Some(ident),
        TokenTree::Group(group) => find_self(group.stream()),
        _ => None,
    })
}

fn check_signature(function: &Function, errors: &mut Errors) {
    let sig = &function.sig;
    let generics = sig.generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_)));
    errors.at_each(generics, "a tool cannot be generic: it is called with JSON; use a concrete type");
    if sig.receiver().is_none() {
        let message = "a tool is a free function; move it out of the `impl` and write the type's name";
        errors.at_each(find_self(sig.to_token_stream()), message);
    }
    let is_tool = |attr: &&Attribute| attr.path().segments.last().is_some_and(|last| last.ident == "mcp_tool");
    errors.at_each(function.attrs.iter().find(is_tool), "`#[mcp_tool]` is set twice; keep one of them");
    errors.at_if(function.has_no_body(), &sig.ident, "a tool needs a body; put `#[mcp_tool]` on a free function");
    errors.at_each(sig.constness, "a tool cannot be `const`; remove the word");
    if let syn::Safety::Unsafe(safety) = &sig.safety {
        errors.at(safety, "a tool cannot be `unsafe`; wrap the function in a safe one");
    }
    errors.at_each(&sig.abi, "a tool cannot be `extern`; remove it, or wrap the function");
    errors.at_each(&sig.variadic, "a tool cannot take `...`; take a `Vec`");
    if let ReturnType::Type(_, ty) = &sig.output {
        let is_never = matches!(ungrouped(ty), Type::Never(_));
        errors.at_if(is_never, ty, "a tool has to return; replace `!` with a type");
        let opaque = SignatureType::read(ty).opaque;
        errors.at_each(opaque, "a tool returns a named type; replace `impl Trait` with one");
    }
}

/// Sets the descriptions of arguments from an `# Arguments` list.
fn describe(args: &mut [Arg], function: &Function, docs: &Docs, errors: &mut Errors) {
    for (name, text) in &docs.arguments {
        match args.iter_mut().find(|arg| arg.ident.unraw() == *name) {
            Some(arg) if arg.description.is_empty() => arg.description = Text::Written(text.clone()),
            Some(arg) => {
                errors.at(&arg.ident, format!("`{name}` is described here and under `# Arguments`; keep one of them"));
            }
            None if function.sig.inputs.iter().any(|input| is_named(input, name)) => {}
            None => {
                let docs = || function.attrs.iter().filter(|attr| attr.path().is_ident("doc"));
                let line = docs().find(|attr| attr.to_token_stream().to_string().contains(name.as_str()));
                let message = format!("`# Arguments` describes `{name}`, which is not a parameter; correct the name");
                errors.at_each(line.or_else(|| docs().next()), message);
            }
        }
    }
}

fn is_named(input: &FnArg, name: &str) -> bool {
    matches!(input, FnArg::Typed(typed) if typed.pat.to_token_stream().to_string().trim_start_matches("mut ") == name)
}

/// Checks the arguments against each other.
fn check_args(args: &[Arg], errors: &mut Errors) {
    let flattened = args.iter().filter_map(|arg| arg.keys.flag("flatten")).filter(|_| args.len() > 1);
    errors.at_each(flattened, "`flatten` needs to be the only argument; put the others into the struct");
    let (mut names, mut headers) = (HashMap::new(), HashMap::new());
    for arg in args {
        for name in arg.names() {
            let text = name.value();
            if let Some(other) = names.insert(text.clone(), &arg.ident) {
                let message = if *other == arg.ident {
                    format!("the argument is called `{text}` already; remove this name")
                } else {
                    format!("the name `{text}` belongs to the argument `{other}`; rename one")
                };
                errors.at(name, message);
            }
        }
        if let Some(header) = arg.keys.value::<LitStr>("header") {
            if let Some(other) = headers.insert(header.value().to_ascii_lowercase(), &arg.ident) {
                errors.at(header, format!("the header belongs to the argument `{other}`; rename one"));
            }
        }
    }
}

/// Checks the keys against each other and against the function.
fn check_keys(keys: &Keys, is_async: bool, params: &[Param], errors: &mut Errors) {
    if let (Some(_), Some(destructive)) = (keys.flag("read_only"), keys.flag("destructive")) {
        errors.at(destructive, "a tool that is `read_only` cannot be `destructive`; remove one of them");
    }
    let Some(inline) = keys.flag("inline") else { return };
    errors.at_if(is_async, inline, "an `async fn` is awaited and never runs `inline`; remove the key");
    let has_deadline = keys.value::<LitStr>("timeout").is_some_and(|timeout| timeout.value() != "none");
    errors.at_if(has_deadline, inline, "an `inline` tool has no deadline; remove `timeout` or `inline`");
    let waiting = params.iter().filter_map(|param| match param {
        Param::Ctx { kind: CtxKind::From, ty } => Some(ty),
        _ => None,
    });
    let message =
        "`FromContext` may wait, and an `inline` tool cannot; remove `inline`, or take `#[ctx] cx: &ToolContext`";
    errors.at_each(waiting, message);
}

/// The version in which the tool was deprecated, from the key or from `#[deprecated]`.
fn deprecated_in(keys: &Keys, attrs: &[Attribute], errors: &mut Errors) -> Option<LitStr> {
    let parse = |text: &LitStr| semver::Version::parse(&text.value()).ok();
    let current = keys.value::<LitStr>("version").unwrap_or_else(|| LitStr::new("1.0.0", Span::call_site()));
    if let Some(since) = keys.value::<LitStr>("deprecated_in") {
        if parse(&since) > parse(&current) {
            let current = current.value();
            errors.at(&since, format!("the tool is at version {current}; lower `deprecated_in`, or raise `version`"));
        }
        return Some(since);
    }
    let attr = attrs.iter().find(|attr| attr.path().is_ident("deprecated"))?;
    // The compiler reports an invalid attribute.
    let pairs = attr.parse_args_with(Punctuated::<MetaNameValue, Token![,]>::parse_terminated).unwrap_or_default();
    let since = pairs.iter().find(|pair| pair.path.is_ident("since")).map(|pair| pair.value.to_token_stream());
    let since = since.and_then(|since| syn::parse2(since).ok()).filter(|since| parse(since).is_some());
    since.or(Some(current))
}

/// The name of the tool: the key `name`, or the module and the function's name.
fn full_name(keys: &Keys, function: &Ident, errors: &mut Errors) -> Option<String> {
    let module = keys.value::<LitStr>("module");
    if let Some(name) = keys.value::<LitStr>("name") {
        errors.at_each(module, "`name` is the full name, so `module` has no effect; remove one of them");
        return Some(name.value());
    }
    let package = || std::env::var("CARGO_PKG_NAME").ok().map(|package| package.replace('-', "_"));
    let Some(module) = module.as_ref().map(LitStr::value).or_else(package) else {
        errors.at(function, "the package's name is not known here; set `module = \"…\"`");
        return None;
    };
    let name = format!("{module}.{}", function.unraw());
    // An invalid key `name` has been reported already.
    if let (Err(reason), None) = (check_name(&name), keys.get("name")) {
        errors.at(function, format!("{reason}, or set `name = \"…\"`"));
    }
    Some(name)
}
