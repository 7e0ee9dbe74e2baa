//! One parameter: what its attributes and its type say.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Expr, ExprLit, FnArg, Lifetime, Lit, LitStr, Meta, Pat, PatType, Type, TypeImplTrait, TypeReference,
};

use crate::args::{self, Key, Number};
use crate::doc::{self, Text};
use crate::errors::{Errors, listed};
use crate::item;

const KEYS: [&str; 18] = [
    "default",
    "min",
    "max",
    "min_length",
    "max_length",
    "min_items",
    "max_items",
    "pattern",
    "format",
    "one_of",
    "example",
    "rename",
    "alias",
    "header",
    "secret",
    "description",
    "schema",
    "flatten",
];

/// A parameter that obeys every rule.
pub(crate) enum Param {
    /// What the caller sends.
    Arg(Box<Arg>),
    /// What the server has.
    Ctx(Ctx),
}

/// A `#[ctx]` parameter, by how it is passed.
pub(crate) enum Ctx {
    /// `&T`: the context, or state.
    Ref(Box<Type>),
    /// `#[ctx(clone)] T`: a clone of state.
    Clone(Box<Type>),
    /// `T: FromContext`.
    From(Box<Type>),
}

/// What the caller sends.
pub(crate) struct Arg {
    pub(crate) ident: Ident,
    /// The type, its lifetimes `'static`.
    pub(crate) ty: Type,
    /// The type in which it is kept, without references.
    pub(crate) slot: Type,
    /// Where the compiler is to say what is wrong with the type.
    pub(crate) span: Span,
    /// Whether there is a reference in the type.
    pub(crate) borrows: bool,
    pub(crate) name: LitStr,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) description: Text,
    pub(crate) default: Option<Default>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) constraints: Vec<(Ident, Constraint)>,
    pub(crate) header: Option<LitStr>,
    pub(crate) secret: bool,
    pub(crate) schema: Option<Expr>,
    pub(crate) flatten: Option<Ident>,
}

/// What stands for an absent argument.
pub(crate) enum Default {
    /// `Default::default()`.
    OfType(Span),
    /// The expression.
    Expr(Expr),
}

pub(crate) enum Constraint {
    Min(Number),
    Max(Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    Pattern(LitStr),
    Format(LitStr),
    OneOf(Vec<LitStr>),
}

impl Param {
    pub(crate) fn read(input: &FnArg, errors: &mut Errors) -> Option<Self> {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                errors.at(receiver, "a tool is a free function; move it out of the `impl` and take the state as a parameter: `#[ctx] state: &State`");
                return None;
            }
        };
        for attr in &typed.attrs {
            if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
                errors.at(attr, "a parameter cannot depend on `cfg`; write two functions and put `#[cfg]` on them");
            } else if !item::is_ours(attr) && !item::is_plain(attr) {
                let remedy = "a parameter takes `#[arg(…)]` or `#[ctx]`";
                errors.at(attr, format!("{remedy}; for serde's attributes take one struct with `#[arg(flatten)]`"));
            }
        }
        let ctx: Vec<&Attribute> = typed.attrs.iter().filter(|attr| attr.path().is_ident("ctx")).collect();
        let arg: Vec<&Attribute> = typed.attrs.iter().filter(|attr| attr.path().is_ident("arg")).collect();
        match (ctx.as_slice(), arg.as_slice()) {
            ([ctx], []) => read_ctx(typed, ctx, errors).map(Self::Ctx),
            ([], args) => Arg::read(typed, args, errors).map(|arg| Self::Arg(Box::new(arg))),
            ([_, again, ..], _) => {
                errors.at(again, "`#[ctx]` is set twice; keep one of them");
                None
            }
            (_, [arg, ..]) => {
                errors.at(arg, "a `#[ctx]` parameter does not come from the caller; remove `#[arg]`");
                None
            }
        }
    }
}

fn read_ctx(typed: &PatType, attr: &Attribute, errors: &mut Errors) -> Option<Ctx> {
    let clone = match &attr.meta {
        Meta::Path(_) => false,
        Meta::List(list) if list.tokens.to_string() == "clone" => true,
        _ => {
            errors.at(attr, "write `#[ctx]`, or `#[ctx(clone)]` for a clone of state");
            return None;
        }
    };
    match ungrouped(&typed.ty) {
        Type::Reference(reference) if clone => {
            errors.at(reference, "`#[ctx(clone)]` gives a value; write the type without `&`");
            None
        }
        Type::Reference(reference) if reference.mutability.is_some() => {
            errors.at(reference, "state is shared between calls and cannot be `&mut`; take `&` and lock inside");
            None
        }
        Type::Reference(reference) => Some(Ctx::Ref(Box::new(Owned::of(&reference.elem).ty))),
        ty if clone => Some(Ctx::Clone(Box::new(Owned::of(ty).ty))),
        ty => Some(Ctx::From(Box::new(Owned::of(ty).ty))),
    }
}

fn read_name(pat: &Pat, errors: &mut Errors) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Some(pat.ident.clone()),
        pat => {
            errors.at(pat, "an argument needs a name; write `name: Type` and take it apart in the body");
            None
        }
    }
}

/// The keys of all `#[arg(…)]` in one list.
fn read_lists(attrs: &[&Attribute], errors: &mut Errors) -> TokenStream {
    let mut tokens = TokenStream::new();
    for attr in attrs {
        match &attr.meta {
            Meta::List(list) => {
                if !tokens.is_empty() {
                    tokens.extend(quote::quote!(,));
                }
                tokens.extend(list.tokens.clone());
            }
            _ => errors.at(attr, format!("write `#[arg(…)]`; the keys are {}", listed(KEYS))),
        }
    }
    tokens
}

impl Arg {
    fn read(typed: &PatType, attrs: &[&Attribute], errors: &mut Errors) -> Option<Self> {
        let ident = read_name(&typed.pat, errors);
        let slot = Slot::of(&typed.ty);
        let sound = check_type(&typed.ty, slot.nested.as_ref(), errors) && ident.is_some();
        // What else is wrong is said as well.
        let ident = ident.unwrap_or_else(|| Ident::new("argument", typed.pat.span()));
        let span = match ungrouped(&typed.ty) {
            Type::Reference(reference) => reference.elem.span(),
            ty => ty.span(),
        };
        let mut arg = Self {
            name: LitStr::new(&ident.unraw().to_string(), ident.span()),
            ident,
            ty: Owned::of(&typed.ty).ty,
            slot: slot.ty,
            span,
            borrows: slot.borrows,
            aliases: Vec::new(),
            description: doc::text(&typed.attrs, errors),
            default: None,
            examples: Vec::new(),
            constraints: Vec::new(),
            header: None,
            secret: false,
            schema: None,
            flatten: None,
        };
        for key in args::read(read_lists(attrs, errors), &KEYS, &["example", "alias"], errors) {
            let read = arg.set(&key);
            errors.take(read);
        }
        arg.check(errors);
        sound.then_some(arg)
    }

    fn set(&mut self, key: &Key) -> syn::Result<()> {
        let constraint = match key.name().as_str() {
            "default" => {
                let default = key.optional_expr()?;
                self.default = Some(default.map_or(Default::OfType(key.name.span()), Default::Expr));
                return Ok(());
            }
            "example" => return key.expr().map(|example| self.examples.push(example)),
            "rename" => return key.text().map(|name| self.name = name),
            "alias" => return key.text().map(|alias| self.aliases.push(alias)),
            "header" => return key.text().map(|header| self.header = Some(header)),
            "secret" => return key.flag().map(|()| self.secret = true),
            "schema" => return key.expr().map(|schema| self.schema = Some(schema)),
            "flatten" => return key.flag().map(|()| self.flatten = Some(key.name.clone())),
            "description" => {
                let text = key.text()?;
                if !self.description.is_empty() {
                    return Err(syn::Error::new_spanned(
                        &text,
                        "the parameter has a doc comment as well; keep one of them",
                    ));
                }
                self.description = Text::Written(text.value());
                return Ok(());
            }
            "min" => Constraint::Min(key.number()?),
            "max" => Constraint::Max(key.number()?),
            "min_length" => Constraint::MinLength(key.count()?),
            "max_length" => Constraint::MaxLength(key.count()?),
            "min_items" => Constraint::MinItems(key.count()?),
            "max_items" => Constraint::MaxItems(key.count()?),
            "pattern" => Constraint::Pattern(key.text()?),
            "format" => Constraint::Format(key.text()?),
            "one_of" => Constraint::OneOf(key.texts()?),
            other => unreachable!("`{other}` is a known key"),
        };
        self.constraints.push((key.name.clone(), constraint));
        Ok(())
    }

    fn check(&self, errors: &mut Errors) {
        for name in std::iter::once(&self.name).chain(&self.aliases) {
            if name.value().is_empty() {
                errors.at(name, "an argument needs a name; write one");
            }
        }
        if let Some(header) = &self.header {
            let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if header.value().is_empty() || !header.value().chars().all(token) {
                errors.at(header, "not a header name; use letters, digits and `-`");
            } else if self.secret {
                errors.at(header, "a secret does not belong into a header; remove `header` or `secret`");
            }
        }
        if let Some(flatten) = &self.flatten {
            let alone =
                self.constraints.is_empty() && self.default.is_none() && self.schema.is_none() && self.header.is_none();
            if !alone {
                errors.at(flatten, "`flatten` stands alone; put the other keys on the fields of the struct, as serde and schemars attributes");
            }
        }
        self.check_bounds(errors);
        self.check_values(errors);
    }

    /// Bounds that leave nothing.
    fn check_bounds(&self, errors: &mut Errors) {
        for (lower_key, lower) in &self.constraints {
            for (upper_key, upper) in &self.constraints {
                let crossed = match (lower, upper) {
                    (Constraint::Min(lower), Constraint::Max(upper)) => lower.as_f64() > upper.as_f64(),
                    (Constraint::MinLength(lower), Constraint::MaxLength(upper))
                    | (Constraint::MinItems(lower), Constraint::MaxItems(upper)) => lower > upper,
                    _ => false,
                };
                if crossed {
                    let message =
                        format!("`{upper_key}` is less than `{lower_key}`, which leaves no value; change one");
                    errors.at(upper_key, message);
                }
            }
        }
    }

    /// A default or an example that breaks the argument's own constraint, as far as the tokens show it.
    fn check_values(&self, errors: &mut Errors) {
        let default = match &self.default {
            Some(Default::Expr(default)) => Some(("default", default)),
            _ => None,
        };
        for (what, value) in default.into_iter().chain(self.examples.iter().map(|example| ("example", example))) {
            for (key, constraint) in &self.constraints {
                if constraint.is_broken_by(value) {
                    errors.at(value, format!("the {what} breaks its own `{key}`; change one of them"));
                }
            }
        }
    }
}

impl Constraint {
    fn is_broken_by(&self, value: &Expr) -> bool {
        let number = args::number(value).map(Number::as_f64);
        let text = match value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        };
        let length = text.as_ref().map(|text| text.chars().count() as u64);
        match self {
            Self::Min(min) => number.is_some_and(|number| number < min.as_f64()),
            Self::Max(max) => number.is_some_and(|number| number > max.as_f64()),
            Self::MinLength(min) => length.is_some_and(|length| length < *min),
            Self::MaxLength(max) => length.is_some_and(|length| length > *max),
            Self::OneOf(values) => text.is_some_and(|text| values.iter().all(|value| value.value() != text)),
            Self::MinItems(_) | Self::MaxItems(_) | Self::Pattern(_) | Self::Format(_) => false,
        }
    }
}

/// Says whether the type can be an argument's, as far as the tokens show it.
fn check_type(ty: &Type, nested: Option<&TokenStream>, errors: &mut Errors) -> bool {
    let inner = match ungrouped(ty) {
        Type::Reference(reference) if reference.mutability.is_some() => {
            errors.at(ty, "an argument cannot be `&mut`; take it by value and make it `mut` in the body");
            return false;
        }
        Type::Reference(reference) => ungrouped(&reference.elem),
        other => other,
    };
    if let Type::TraitObject(_) = inner {
        errors.at(inner, "an argument needs a type of its own; replace `dyn Trait` by a concrete type");
    } else if let Some(opaque) = Owned::of(inner).opaque {
        errors.at(opaque, "an argument needs a type of its own; replace `impl Trait` by a concrete type");
    } else if let Some(nested) = nested {
        errors.at(
            nested,
            "an argument is borrowed as a whole, as `&str` or `&[T]`; use the owned type in here, such as `String`",
        );
    } else {
        return true;
    }
    false
}

/// The type without the invisible brackets that `macro_rules!` puts around `$t:ty`.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        ty => ty,
    }
}

/// A type with all its lifetimes `'static`, as statics need it, and what was found in it.
pub(crate) struct Owned {
    pub(crate) ty: Type,
    /// The first `impl Trait`.
    pub(crate) opaque: Option<TokenStream>,
}

impl Owned {
    pub(crate) fn of(ty: &Type) -> Self {
        let mut owned = Self { ty: ty.clone(), opaque: None };
        let mut ty = ty.clone();
        owned.visit_type_mut(&mut ty);
        Self { ty, ..owned }
    }
}

impl VisitMut for Owned {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = Lifetime::new("'static", lifetime.span());
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference.lifetime = Some(Lifetime::new("'static", reference.and_token.span()));
        visit_mut::visit_type_mut(self, &mut reference.elem);
    }

    fn visit_type_impl_trait_mut(&mut self, opaque: &mut TypeImplTrait) {
        self.opaque.get_or_insert_with(|| opaque.to_token_stream());
    }
}

/// A type with what it borrows as it is kept: `Option<&str>` → `Option<String>`, by the names that the compiler resolves.
struct Slot {
    ty: Type,
    borrows: bool,
    /// Whether the visitor is inside of a reference.
    inside: bool,
    /// The first reference inside of another.
    nested: Option<TokenStream>,
}

impl Slot {
    fn of(ty: &Type) -> Self {
        let mut ty = Owned::of(ty).ty;
        let mut slot = Self { ty: ty.clone(), borrows: false, inside: false, nested: None };
        slot.visit_type_mut(&mut ty);
        Self { ty, ..slot }
    }
}

impl VisitMut for Slot {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        let Type::Reference(reference) = ty else { return visit_mut::visit_type_mut(self, ty) };
        self.borrows = true;
        if self.inside {
            self.nested.get_or_insert_with(|| reference.to_token_stream());
        }
        let inside = std::mem::replace(&mut self.inside, true);
        self.visit_type_mut(&mut reference.elem);
        self.inside = inside;
        let elem = &reference.elem;
        *ty = syn::parse_quote_spanned!(elem.span()=> <#elem as __mcp::RefParam>::Slot);
    }
}
