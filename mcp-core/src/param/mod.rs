//! A tool's parameters, and reading the arguments of a call into them.

mod check;
mod fault;
mod place;
mod read;
mod schema;
mod value;

use std::marker::PhantomData;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

pub use self::check::{counted, formatted, listed, matching};
pub(crate) use self::fault::flattened_fault;
pub use self::fault::{ALTERNATIVES, ARGUMENTS, Document, RESULT};
pub use self::read::read_arguments;
pub(crate) use self::read::unknown_arguments;
pub(crate) use self::schema::{fields_of, input_schema, type_schemas};
use self::value::FirstValue;
use crate::schema::{Shape, input_shape};
use crate::util::panics::discard;

/// A parameter as it was defined.
#[derive(Debug)]
#[non_exhaustive]
pub struct Param {
    /// Its name on the wire.
    pub name: &'static str,
    /// Older names that are still taken.
    pub aliases: &'static [&'static str],
    /// What a model reads of it.
    pub description: &'static str,
    /// The schema of its type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// What serde knows about its type.
    pub shape: fn() -> Shape,
    /// Reads a value of its type, for checks.
    pub reads: fn(&str) -> Result<(), serde_json::Error>,
    /// Whether its type can be left out of a call.
    pub accepts_absent: fn() -> bool,
    /// What it is when it is left out.
    pub default: Option<fn() -> Value>,
    /// Example values.
    pub examples: &'static [fn() -> Value],
    /// What its values keep to.
    pub constraints: &'static [Constraint],
    /// Whether the compiler knows the type, and so has seen that the constraints fit it.
    pub fitted: bool,
    /// The HTTP header that repeats it.
    pub header: Option<&'static str>,
    /// Whether its value is never shown in errors or logs.
    pub secret: bool,
    /// The schema, where the author wrote it out.
    pub explicit_schema: Option<fn() -> Value>,
}

/// What a value keeps to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// At least this.
    Min(Bound),
    /// At most this.
    Max(Bound),
    /// At least so many characters.
    MinLength(u64),
    /// At most so many characters.
    MaxLength(u64),
    /// At least so many items.
    MinItems(u64),
    /// At most so many items.
    MaxItems(u64),
    /// A regular expression that it matches.
    Pattern(&'static str),
    /// A format that JSON Schema knows.
    Format(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// A bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Bound {
    /// A whole number.
    Int(i128),
    /// Another number.
    Float(f64),
}

/// A type that can be a tool's parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's parameter",
    label = "needs `Deserialize` and `JsonSchema`",
    note = "for input: `#[derive(serde::Deserialize, schemars::JsonSchema)]` on the type",
    note = "for a type of `chrono`, `uuid`, `url` or another crate that schemars supports: enable the feature of that name, as in `mcp-core = {{ features = [\"chrono\"] }}`, and `serde` of that crate",
    note = "for application state or the context: mark the parameter with `#[ctx]`"
)]
pub trait ToolParam: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ToolParam for T {}

impl Param {
    /// A parameter of a type.
    pub const fn of<T: ToolParam>(name: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            description: "",
            schema: |generator| generator.subschema_for::<T>(),
            shape: input_shape::<T>,
            reads: |json| serde_json::from_str::<T>(json).map(drop),
            accepts_absent: accepts_absent::<T>,
            default: None,
            examples: &[],
            constraints: &[],
            fitted: false,
            header: None,
            secret: false,
            explicit_schema: None,
        }
    }

    /// Whether a call must have it.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !(self.accepts_absent)()
    }
}

macro_rules! param_setters {
    ($($field:ident($argument:ident: $type:ty) = $value:expr;)*) => {
        impl Param {
            $(#[doc(hidden)] #[must_use] pub const fn $field(mut self, $argument: $type) -> Self {
                self.$field = $value;
                self
            })*
        }
    };
}

param_setters! {
    aliases(aliases: &'static [&'static str]) = aliases;
    description(description: &'static str) = description;
    default(default: fn() -> Value) = Some(default);
    examples(examples: &'static [fn() -> Value]) = examples;
    constraints(constraints: &'static [Constraint]) = constraints;
    fitted(fitted: bool) = fitted;
    header(header: &'static str) = Some(header);
    secret(secret: bool) = secret;
    explicit_schema(schema: fn() -> Value) = Some(schema);
}

/// What a type makes of an absent value: `None` for an `Option`, nothing for most.
pub(crate) fn absent<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Absent).ok()
}

/// Whether a type takes an absent value. One that panics at it does not.
fn accepts_absent<T: DeserializeOwned>() -> bool {
    catch_unwind(|| absent::<T>().is_some()).unwrap_or_else(|payload| {
        discard(payload);
        false
    })
}

/// Answers nothing but "is it an option?".
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("absent"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

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

/// The place of one argument while a call is read.
pub trait Slot {
    /// Reads the value at the beginning of the text and says how long it is.
    fn read(&mut self, json: &str) -> Result<usize, serde_json::Error>;

    /// Marks the argument as present in the call, and returns whether it was marked before.
    fn mark_present(&mut self) -> bool;

    /// Whether the argument is present in the call.
    fn is_present(&self) -> bool;

    /// Takes the value that the type has for an absent argument, if it has one.
    fn accept_absent(&mut self) -> bool;
}

/// The place of an argument of a type.
pub struct ArgSlot<T> {
    value: Option<T>,
    present: bool,
}

impl<T: DeserializeOwned> Slot for ArgSlot<T> {
    fn read(&mut self, json: &str) -> Result<usize, serde_json::Error> {
        let mut end = 0;
        self.value = Some(T::deserialize(FirstValue { json, end: &mut end })?);
        Ok(end)
    }

    fn mark_present(&mut self) -> bool {
        std::mem::replace(&mut self.present, true)
    }

    fn is_present(&self) -> bool {
        self.present
    }

    fn accept_absent(&mut self) -> bool {
        self.value = absent();
        self.value.is_some()
    }
}

impl<T> ArgSlot<T> {
    /// An empty place.
    pub const fn new() -> Self {
        Self { value: None, present: false }
    }

    /// The argument; [`read_arguments`] has filled every place that has no default.
    ///
    /// # Panics
    ///
    /// Where it has refused the arguments.
    pub fn take(self) -> T {
        self.value.expect("every argument was read or refused")
    }

    /// The argument, or the default.
    pub fn take_or(self, default: impl FnOnce() -> T) -> T {
        self.value.unwrap_or_else(default)
    }
}

impl<T> Default for ArgSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ToolParam> ArgSlot<T> {
    /// The place, whatever its type.
    pub fn slot(&mut self) -> &mut dyn Slot {
        self
    }
}

/// Where a type is no parameter, [`Param::of`] says so; this keeps the compiler from saying it again.
pub trait AnySlot {
    /// The place, whatever its type.
    fn slot(&mut self) -> &mut dyn Slot;
}

impl<T> AnySlot for ArgSlot<T> {
    fn slot(&mut self) -> &mut dyn Slot {
        unreachable!("a program with such a parameter does not compile")
    }
}
