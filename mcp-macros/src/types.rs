//! The types of a signature, as the generated code refers to them.

use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Lifetime, Type, TypeImplTrait, TypeReference};

/// A type of the signature.
pub(crate) struct SignatureType {
    /// The type with all its lifetimes `'static`.
    pub(crate) ty: Type,
    /// The owned type that holds the value: `Option<String>` for `Option<&str>`. The compiler resolves the owned types
    /// of references.
    pub(crate) slot: Type,
    /// Whether the type contains a reference.
    pub(crate) borrows: bool,
    /// The first reference inside another one.
    pub(crate) nested: Option<TypeReference>,
    /// The first `impl Trait`.
    pub(crate) opaque: Option<TypeImplTrait>,
}

impl SignatureType {
    pub(crate) fn read(ty: &Type) -> Self {
        let (mut ty, mut slot) = (ty.clone(), ty.clone());
        Visitor::default().visit_type_mut(&mut ty);
        let mut visitor = Visitor { replace_references: true, ..Visitor::default() };
        visitor.visit_type_mut(&mut slot);
        Self { ty, slot, borrows: visitor.borrows, nested: visitor.nested, opaque: visitor.opaque }
    }
}

#[derive(Default)]
struct Visitor {
    /// Whether references are replaced by owned types, or only made `'static`.
    replace_references: bool,
    /// The number of references around the visited type.
    depth: usize,
    borrows: bool,
    nested: Option<TypeReference>,
    opaque: Option<TypeImplTrait>,
}

impl VisitMut for Visitor {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = Lifetime::new("'static", lifetime.span());
    }

    fn visit_type_impl_trait_mut(&mut self, opaque: &mut TypeImplTrait) {
        self.opaque.get_or_insert_with(|| opaque.clone());
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        let Type::Reference(reference) = ty else { return visit_mut::visit_type_mut(self, ty) };
        self.borrows = true;
        if self.depth > 0 {
            self.nested.get_or_insert_with(|| reference.clone());
        }
        self.depth += 1;
        self.visit_type_mut(&mut reference.elem);
        self.depth -= 1;
        if self.replace_references {
            let elem = &reference.elem;
            *ty = syn::parse_quote_spanned!(elem.span()=> <#elem as __mcp::RefParam>::Slot);
        } else {
            reference.lifetime = Some(Lifetime::new("'static", reference.and_token.span()));
        }
    }
}

/// Removes parentheses, and the invisible delimiters that `macro_rules!` puts around `$t:ty`.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        ty => ty,
    }
}
