//! One parameter: its attributes and its type.

use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, FnArg, Lit, LitStr, Meta, Pat, PatType, Type};

use crate::doc::{self, Text};
use crate::errors::{Errors, error, listed};
use crate::function::{is_any, is_lint};
use crate::keys::{ARG_KEYS, Keys, Setting, Target, names};
use crate::kinds::{self, as_f64};
use crate::types::{SignatureType, ungrouped};

/// A parameter.
pub(crate) enum Param {
    /// The caller sends it. The index among the arguments.
    Arg(usize),
    /// The server provides it, since it has `#[ctx]`. The type is without `&`.
    Ctx { kind: CtxKind, ty: Box<Type> },
}

pub(crate) enum CtxKind {
    /// `&T`: the context, or state.
    Ref,
    /// `#[ctx(clone)] T`: a clone of state.
    Clone,
    /// `T: FromContext`.
    From,
}

/// A parameter that the caller sends.
pub(crate) struct Arg {
    pub(crate) ident: Ident,
    /// The name that the caller uses.
    pub(crate) name: LitStr,
    /// The index among the arguments.
    pub(crate) index: usize,
    pub(crate) ty: SignatureType,
    /// Where the compiler reports errors of the type.
    pub(crate) span: Span,
    pub(crate) description: Text,
    pub(crate) keys: Keys,
}

impl Param {
    /// Reads a parameter; one that the caller sends is added to the arguments.
    pub(crate) fn read(input: &FnArg, args: &mut Vec<Arg>, errors: &mut Errors) -> syn::Result<Self> {
        let FnArg::Typed(typed) = input else {
            let message = "a tool is a free function; move it out of the `impl` and take the state as a parameter: `#[ctx] state: &State`";
            return error(input, message);
        };
        for attr in &typed.attrs {
            if is_any(attr, &["cfg", "cfg_attr"]) {
                errors.at(attr, "a parameter cannot depend on `cfg`; write two functions and put `#[cfg]` on them");
            } else if !is_any(attr, &["arg", "ctx", "doc"]) && !is_lint(attr) {
                errors.at(attr, "a parameter takes `#[arg(…)]` or `#[ctx]`; for serde's attributes take one struct with `#[arg(flatten)]`");
            }
        }
        let attrs = |name| typed.attrs.iter().filter(|attr| attr.path().is_ident(name)).collect::<Vec<_>>();
        match (attrs("ctx").as_slice(), attrs("arg").as_slice()) {
            ([], attrs) => {
                args.push(Arg::read(args.len(), typed, attrs, errors));
                Ok(Self::Arg(args.len() - 1))
            }
            ([ctx], []) => Self::read_ctx(typed, ctx),
            ([_, second, ..], _) => error(second, "`#[ctx]` is set twice; keep one of them"),
            (_, [arg, ..]) => error(arg, "a `#[ctx]` parameter does not come from the caller; remove `#[arg]`"),
        }
    }

    fn read_ctx(typed: &PatType, attr: &Attribute) -> syn::Result<Self> {
        let clone = match &attr.meta {
            Meta::Path(_) => false,
            Meta::List(list) if list.tokens.to_string() == "clone" => true,
            _ => return error(attr, "write `#[ctx]`, or `#[ctx(clone)]` for a clone of state"),
        };
        let (kind, ty) = match ungrouped(&typed.ty) {
            Type::Reference(ty) if clone => {
                return error(ty, "`#[ctx(clone)]` gives a value; write the type without `&`");
            }
            Type::Reference(ty) if ty.mutability.is_some() => {
                return error(ty, "state is shared between calls and cannot be `&mut`; take `&` and lock inside");
            }
            Type::Reference(ty) => (CtxKind::Ref, &*ty.elem),
            ty => (if clone { CtxKind::Clone } else { CtxKind::From }, ty),
        };
        Ok(Self::Ctx { kind, ty: Box::new(SignatureType::read(ty).ty) })
    }
}

impl Arg {
    fn read(index: usize, typed: &PatType, attrs: &[&Attribute], errors: &mut Errors) -> Self {
        let ident = errors.take(match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Ok(pat.ident.clone()),
            pat => error(pat, "an argument needs a name; write `name: Type` and take it apart in the body"),
        });
        // A placeholder, so that everything else is checked as well.
        let ident = ident.unwrap_or_else(|| format_ident!("argument_{index}", span = typed.pat.span()));
        let ty = SignatureType::read(&typed.ty);
        let span = errors.take(check_type(&typed.ty, &ty)).unwrap_or_else(Span::call_site);
        let mut description = doc::text(&typed.attrs, errors);
        let mut lists = Vec::new();
        for attr in attrs {
            match &attr.meta {
                Meta::List(list) => lists.push(list.tokens.clone()),
                _ => errors.at(attr, format!("write `#[arg(…)]`; the keys are {}", listed(names(&ARG_KEYS)))),
            }
        }
        let keys = Keys::read(&ARG_KEYS, lists, errors);
        description.take_key(keys.value("description"), "parameter", errors);
        let name = keys.value::<LitStr>("rename");
        let name = name.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        let arg = Self { ident, name, index, ty, span, description, keys };
        arg.check(errors);
        arg
    }

    /// The name and the aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = LitStr> {
        std::iter::once(self.name.clone()).chain(self.keys.all("alias").filter_map(Setting::value))
    }

    /// The constraints, each with the `TypeKind` that it applies to.
    pub(crate) fn constraints(&self) -> impl Iterator<Item = (&Setting, &'static str)> {
        self.keys.settings.iter().filter_map(|setting| match setting.key.target {
            Target::Constraint(kind) => Some((setting, kind)),
            _ => None,
        })
    }

    /// A bound, with its key in the source.
    fn bound(&self, name: &'static str) -> Option<(&Ident, f64)> {
        self.keys.get(name).and_then(|setting| Some((&setting.ident, as_f64(&setting.value()?)?)))
    }

    fn check(&self, errors: &mut Errors) {
        let empty = self.names().filter(|name| name.value().is_empty());
        errors.at_each(empty, "an argument needs a name; write one");
        if let Some(header) = self.keys.value::<LitStr>("header") {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if header.value().is_empty() || !header.value().chars().all(is_token) {
                errors.at(header, "not a header name; use letters, digits and `-`");
            } else if self.keys.flag("secret").is_some() {
                errors.at(header, "a secret does not belong in a header; remove `header` or `secret`");
            }
        }
        let has_others = ["default", "schema", "header"].iter().any(|key| self.keys.get(key).is_some());
        if has_others || self.constraints().next().is_some() {
            errors.at_each(self.keys.flag("flatten"), "`flatten` takes no default, schema, header or constraint; put them on the fields of the struct, as serde and schemars attributes");
        }
        for (lower, upper) in [("min", "max"), ("min_length", "max_length"), ("min_items", "max_items")] {
            if let (Some((lower, min)), Some((upper, max))) = (self.bound(lower), self.bound(upper)) {
                let message = format!("`{upper}` is less than `{lower}`, so no value is valid; change one");
                errors.at_if(min > max, upper, message);
            }
        }
        for value in self.keys.all("default").chain(self.keys.all("example")) {
            for (constraint, _) in self.constraints().filter(|(constraint, kind)| violates(value, constraint, kind)) {
                let (key, constraint) = (value.key.name, &constraint.ident);
                let message = format!("the {key} breaks its own `{constraint}`; change one of them");
                errors.at_each(value.value::<Expr>(), message);
            }
        }
    }
}

/// Whether a default or an example that is a literal violates a constraint for types of the kind.
fn violates(value: &Setting, constraint: &Setting, kind: &str) -> bool {
    let (Some(value), bound) = (value.value::<Lit>(), constraint.value().and_then(|bound| as_f64(&bound))) else {
        return false;
    };
    let size = match (&value, kinds::texts(&constraint.meta)) {
        (Lit::Str(text), Ok(texts)) => return texts.iter().all(|known| known.value() != text.value()),
        (Lit::Str(text), _) if kind == "Text" => u32::try_from(text.value().chars().count()).ok().map(f64::from),
        (value, _) => as_f64(value).filter(|_| kind == "Number"),
    };
    let is_min = constraint.key.name.starts_with("min");
    size.zip(bound).is_some_and(|(size, bound)| if is_min { size < bound } else { size > bound })
}

/// Checks the syntax of an argument's type. Returns the span of the type without `&`.
fn check_type(ty: &Type, read: &SignatureType) -> syn::Result<Span> {
    let inner = match ungrouped(ty) {
        Type::Reference(reference) if reference.mutability.is_some() => {
            return error(ty, "an argument cannot be `&mut`; take it by value and make it `mut` in the body");
        }
        Type::Reference(reference) => &*reference.elem,
        other => other,
    };
    let concrete = |keyword: &str| format!("an argument needs a concrete type; replace `{keyword} Trait` with one");
    let owned = "an argument cannot have a reference inside a reference; use the owned type, such as `String`";
    match (ungrouped(inner), &read.opaque, &read.nested) {
        (Type::TraitObject(object), ..) => error(object, concrete("dyn")),
        (_, Some(opaque), _) => error(opaque, concrete("impl")),
        (.., Some(nested)) => error(nested, owned),
        _ => Ok(inner.span()),
    }
}
