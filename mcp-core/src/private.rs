//! The only names that an expansion uses. Nothing here is for people.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::marker::PhantomData;
use std::num::{NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};

pub use core::option::Option::{self, None, Some};
pub use core::result::Result::{self, Err, Ok};
pub use std::boxed::Box;
pub use std::string::String;
pub use std::vec::Vec;

pub use inventory;
pub use serde_json::Value;

pub use crate::context::{FromContext, StateType, ToolContext};
pub use crate::entry::{Call, Input, MetaValue, Output, Registration, Timeout, ToolEntry, ToolFuture};
pub use crate::error::{CallError, Origin, ToolError};
pub use crate::output::Returned;
pub use crate::output::probe::{
    AnyFailure, AnyOutcome, AnySuccess, DeserializableSuccess, NoSchema, NoShape, Outcome, SchemaSuccess, Success,
    output, write, write_async,
};
pub use crate::param::borrow::{AnyLent, Lent, RefParam, lend};
pub use crate::param::read::Fields;
pub use crate::param::slot::{AnySlot, ArgSlot};
pub use crate::param::{Bound, Constraint, Param};
pub use crate::util::block_on::block_on;
pub use std::time::Duration;

use crate::context::missing_state;
use crate::param::ToolParam;
pub use crate::schema::Shape;

/// Doc comments that a macro writes.
pub mod docs {
    pub use crate::util::docs::{argument, count, description, sections, trimmed};
}

/// What the compiler falls back on where a type has no method of its own. Without names, which users may have for types.
pub mod traits {
    pub use super::{
        AnyFailure as _, AnyLent as _, AnyOutcome as _, AnyShown as _, AnySlot as _, AnySuccess as _, CtxState as _,
        DeserializableSuccess as _, NoSchema as _, NoShape as _, SchemaSuccess as _, UnknownKind as _,
    };
}

/// A `#[ctx]` parameter that is borrowed: the context itself, or application state.
pub struct CtxRef<T>(PhantomData<T>);

impl<T> CtxRef<T> {
    /// For the type.
    pub const NEW: Self = Self(PhantomData);
}

impl CtxRef<ToolContext> {
    /// The context.
    pub fn get<'a>(&self, cx: &'a ToolContext) -> Result<&'a ToolContext, ToolError> {
        Ok(cx)
    }

    /// It needs no state.
    pub fn needs(&self, _: &mut Vec<StateType>) {}
}

/// Every other type: state.
pub trait CtxState<T> {
    /// The state.
    fn get<'a>(&self, cx: &'a ToolContext) -> Result<&'a T, ToolError>
    where
        T: State;

    /// The type.
    fn needs(&self, needs: &mut Vec<StateType>);
}

impl<T: 'static> CtxState<T> for CtxRef<T> {
    fn get<'a>(&self, cx: &'a ToolContext) -> Result<&'a T, ToolError>
    where
        T: State,
    {
        cx.state().ok_or_else(|| missing_state::<T>(cx))
    }

    fn needs(&self, needs: &mut Vec<StateType>) {
        needs.push(StateType::of::<T>());
    }
}

/// A type that can be application state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be application state",
    label = "is not `Send` and `Sync`",
    note = "calls run on several threads: put what changes into a `Mutex` or an atomic"
)]
pub trait State: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> State for T {}

/// A default, as the schema shows it.
pub struct Shown<T>(PhantomData<T>);

impl<T> Shown<T> {
    /// For the type.
    pub const NEW: Self = Self(PhantomData);
}

impl<T: ToolParam> Shown<T> {
    /// The default as JSON.
    pub fn json(&self, default: fn() -> T) -> Value
    where
        T: ShownDefault,
    {
        json(default())
    }
}

/// Where a type is no parameter, `Param::of` says so; this keeps the compiler from saying it again.
pub trait AnyShown<T> {
    /// Nothing.
    fn json(&self, _: fn() -> T) -> Value {
        Value::Null
    }
}

impl<T> AnyShown<T> for Shown<T> {}

/// A type whose default can be shown.
#[diagnostic::on_unimplemented(
    message = "a default of type `{Self}` cannot be shown in the tool's schema",
    label = "needs `Serialize`",
    note = "`#[derive(serde::Serialize)]` on the type, or take `Option<{Self}>` without a default"
)]
pub trait ShownDefault: serde::Serialize {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize> ShownDefault for T {}

/// A value of any type, for calls that are never made: they tell the compiler what a function returns.
///
/// # Panics
///
/// Always.
pub fn any<T>() -> T {
    unreachable!("the call is never made")
}

/// A clone of application state.
pub fn cloned_state<T: Clone + State>(cx: &ToolContext) -> Result<T, ToolError> {
    cx.state().cloned().ok_or_else(|| missing_state::<T>(cx))
}

/// A value as JSON, for defaults and examples. What cannot become JSON is null, and refused when the registry is built.
pub fn json<T: serde::Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// What a parameter's type is, as far as the compiler can tell while it compiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    /// A number.
    Number,
    /// A text.
    Text,
    /// A list.
    List,
    /// None of them.
    Other,
    /// Who knows.
    Unknown,
}

/// Asks for the kind of a type.
pub struct KindOf<T: ?Sized>(PhantomData<T>);

/// Every type that is not listed.
pub trait UnknownKind {
    /// Who knows.
    const KIND: TypeKind = TypeKind::Unknown;
}

impl<T: ?Sized> UnknownKind for KindOf<T> {}

macro_rules! kinds {
    ($($kind:ident: $($type:ty),*;)*) => {$($(
        impl KindOf<$type> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::$kind;
        }
        impl KindOf<Option<$type>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::$kind;
        }
    )*)*};
}

kinds! {
    Number: i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64;
    Number: NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64;
    Text: String, std::path::PathBuf, char, Box<str>, Cow<'static, str>;
    Other: bool, ();
}

macro_rules! lists {
    ($($list:ident),*) => {$(
        impl<T> KindOf<$list<T>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::List;
        }
        impl<T> KindOf<Option<$list<T>>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::List;
        }
    )*};
}

lists!(Vec, VecDeque, BTreeSet);

impl<T, S> KindOf<HashSet<T, S>> {
    /// Known.
    pub const KIND: TypeKind = TypeKind::List;
}

impl<T, const N: usize> KindOf<[T; N]> {
    /// Known.
    pub const KIND: TypeKind = TypeKind::List;
}

impl TypeKind {
    /// Whether the compiler knows the type.
    pub const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }

    /// Whether a constraint for one kind can be on a type of this kind.
    pub const fn fits(self, required: Self) -> bool {
        matches!(self, Self::Unknown) || self as u8 == required as u8
    }
}
