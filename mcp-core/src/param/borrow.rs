//! Parameters that are borrowed: what is kept for them while the tool runs.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A parameter that is borrowed: what is kept for it while the tool runs.
pub trait RefParam {
    /// What is kept.
    type Slot;

    /// What the tool gets.
    fn get(slot: &Self::Slot) -> &Self;
}

impl<T> RefParam for T {
    type Slot = T;

    fn get(slot: &T) -> &T {
        slot
    }
}

impl RefParam for str {
    type Slot = String;

    fn get(slot: &String) -> &str {
        slot
    }
}

impl<T> RefParam for [T] {
    type Slot = Vec<T>;

    fn get(slot: &Vec<T>) -> &[T] {
        slot
    }
}

impl RefParam for Path {
    type Slot = PathBuf;

    fn get(slot: &PathBuf) -> &Path {
        slot
    }
}

/// A parameter that borrows from what is kept for it while the tool runs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's parameter",
    label = "borrows inside of another type",
    note = "a parameter is borrowed as `&str`, `&[T]`, `&Path` or `&T`, or as an `Option` of one of them; elsewhere use the owned type, such as `Vec<String>`"
)]
pub trait Lend<'a, Slot> {
    /// What the tool gets.
    fn lend(slot: &'a Slot) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'a, T: RefParam + ?Sized> Lend<'a, T::Slot> for &'a T {
    fn lend(slot: &'a T::Slot) -> Self {
        T::get(slot)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: RefParam + ?Sized> Lend<'a, Option<T::Slot>> for Option<&'a T> {
    fn lend(slot: &'a Option<T::Slot>) -> Self {
        slot.as_ref().map(T::get)
    }
}

/// What a tool gets of what is kept for a parameter.
pub fn lend<'a, P: Lend<'a, Slot>, Slot>(slot: &'a Slot) -> P {
    P::lend(slot)
}

/// A parameter that borrows and has a default.
pub trait LendDefault {
    /// The type of the default: that of an `Option` as it is written, else the owned one.
    type Written;
    /// What is kept.
    type Slot;

    /// The default as it is kept.
    fn own(written: Self::Written) -> Self::Slot;
}

impl<T: RefParam + ?Sized> LendDefault for &T {
    type Written = T::Slot;
    type Slot = T::Slot;

    fn own(written: T::Slot) -> T::Slot {
        written
    }
}

impl<T: ToOwned + ?Sized> LendDefault for Option<&T> {
    type Written = Self;
    type Slot = Option<T::Owned>;

    fn own(written: Self) -> Option<T::Owned> {
        written.map(T::to_owned)
    }
}

/// Reads the default of a parameter that borrows.
pub struct Lent<T>(PhantomData<T>);

impl<T> Lent<T> {
    /// For the type.
    pub const NEW: Self = Self(PhantomData);
}

impl<T: LendDefault> Lent<T> {
    /// The default as it is kept.
    pub fn own(&self, written: T::Written) -> T::Slot {
        T::own(written)
    }
}

/// Where a type is no parameter, [`lend`] says so; this keeps the compiler from saying it again.
pub trait AnyLent {
    /// The default as it is.
    fn own<Slot>(&self, written: Slot) -> Slot {
        written
    }
}

impl<T> AnyLent for Lent<T> {}
