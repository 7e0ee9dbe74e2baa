//! Selects how a function's return value is written, by its type. Aliases of types work, too.

#![allow(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    reason = "the methods that the compiler chooses from have the same signature"
)]

use std::future::Future;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::{Json, JsonOutput, OutputSchema, Returned, TYPICAL_RESULT_BYTES, ToolFailure, ToolOutput};
use crate::error::{CallError, SerializationError, ToolError};
use crate::message::{Content, ToolResult};
use crate::schema::{Shape, output_shape};

// The compiler prefers an inherent method to a trait method, so the traits here are fallbacks. The expansion calls the
// methods, since the types are known there.

/// Distinguishes a `Result` from any other return type.
pub struct Outcome<T>(PhantomData<T>);

/// A `Result`.
pub struct IsResult<T, E>(PhantomData<(T, E)>);

/// Not a `Result`.
pub struct IsValue<T>(PhantomData<T>);

impl<T> Outcome<T> {
    const NEW: Self = Self(PhantomData);

    /// Creates it for the type of a value.
    pub const fn of(_: &T) -> Self {
        Self::NEW
    }

    /// Creates it for the return type of a function, which is not called.
    #[inline]
    pub fn by(_: impl FnOnce() -> T) -> Self {
        Self::NEW
    }

    /// Creates it for the output of an `async` function, which is not called.
    #[inline]
    pub fn by_future<F: Future<Output = T>>(_: impl FnOnce() -> F) -> Self {
        Self::NEW
    }
}

impl<T, E> Outcome<Result<T, E>> {
    /// The type is a `Result`.
    pub const fn kind(&self) -> IsResult<T, E> {
        IsResult(PhantomData)
    }
}

/// The fallback for types that are not a `Result`.
pub trait AnyOutcome<T> {
    /// The type is not a `Result`.
    fn kind(&self) -> IsValue<T>;
}

impl<T> AnyOutcome<T> for Outcome<T> {
    fn kind(&self) -> IsValue<T> {
        IsValue(PhantomData)
    }
}

impl<T> IsValue<T> {
    /// Returns a function that separates success and error: every value is a success.
    pub fn failure(&self) -> fn(T) -> Result<T, ToolError> {
        Ok
    }

    /// Returns the type of a success.
    pub fn success(&self) -> Success<T> {
        Success(PhantomData)
    }
}

impl<T, E> IsResult<T, E> {
    /// Returns the type of a success.
    pub fn success(&self) -> Success<T> {
        Success(PhantomData)
    }
}

impl<T, E: Into<ToolError>> IsResult<T, E> {
    /// Returns a function that converts the error with `Into`.
    pub fn failure(&self) -> fn(Result<T, E>) -> Result<T, ToolError> {
        |value| value.map_err(Into::into)
    }
}

/// The fallback for errors that are not `Into<ToolError>`.
pub trait AnyFailure<T, E> {
    /// Returns a function that converts the error with [`ToolError::from_error`].
    fn failure(&self) -> fn(Result<T, E>) -> Result<T, ToolError>
    where
        E: ToolFailure;
}

impl<T, E> AnyFailure<T, E> for IsResult<T, E> {
    fn failure(&self) -> fn(Result<T, E>) -> Result<T, ToolError>
    where
        E: ToolFailure,
    {
        |value| value.map_err(ToolError::from_error)
    }
}

/// The type that a tool returns on success.
pub struct Success<T>(PhantomData<T>);

impl<T> Clone for Success<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Success<T> {}

type Written = Result<Returned, CallError>;
type Write<T> = fn(T, &mut Vec<u8>) -> Written;

type OutputSchemaOf = fn(&Shape) -> Option<OutputSchema>;

/// Returns the shape of a return type and, on request, its schema.
pub fn output(with_schema: bool, shape: fn() -> Shape, schema: OutputSchemaOf) -> (Shape, Option<OutputSchema>) {
    let shape = shape();
    let schema = if with_schema { schema(&shape) } else { None };
    (shape, schema)
}

/// Writes a return value to `out`.
#[inline]
pub fn write<R, T>(returned: R, split: fn(R) -> Result<T, ToolError>, write: Write<T>, out: &mut Vec<u8>) -> Written {
    write(split(returned)?, out)
}

/// Writes the return value of an `async` tool to a new buffer.
pub fn write_async<R, T>(
    returned: R,
    split: fn(R) -> Result<T, ToolError>,
    write: Write<T>,
) -> Result<(Returned, Vec<u8>), CallError> {
    let mut out = Vec::with_capacity(TYPICAL_RESULT_BYTES);
    let returned = self::write(returned, split, write, &mut out)?;
    Ok((returned, out))
}

/// A type with a special form in a result, and without a schema.
pub trait SpecialForm {
    /// The part that is serialized.
    type Json;

    /// Whether a value can be data, which a schema could describe.
    const HAS_DATA: bool;

    /// Writes the value in its special form.
    fn write(self, out: &mut Vec<u8>) -> Written
    where
        Self::Json: JsonOutput;
}

impl SpecialForm for () {
    type Json = ();
    const HAS_DATA: bool = false;

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Nothing)
    }
}

impl SpecialForm for Content {
    type Json = ();
    const HAS_DATA: bool = false;

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Content(vec![self]))
    }
}

impl SpecialForm for Vec<Content> {
    type Json = ();
    const HAS_DATA: bool = false;

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Content(self))
    }
}

impl SpecialForm for ToolResult {
    type Json = ();
    const HAS_DATA: bool = true;

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Result(Box::new(self)))
    }
}

impl<T> SpecialForm for Json<T> {
    type Json = T;
    const HAS_DATA: bool = true;

    fn write(self, out: &mut Vec<u8>) -> Written
    where
        T: JsonOutput,
    {
        write_json(&self.0, out)
    }
}

// A single impl: with several, the compiler would report a misspelt return type as ambiguous.
impl<T: SpecialForm> Success<T> {
    /// Returns a function that writes the value in its special form.
    pub fn writer(&self) -> Write<T>
    where
        T::Json: JsonOutput,
    {
        T::write
    }

    /// There is no schema.
    pub fn schema(self) -> OutputSchemaOf {
        |_| None
    }

    /// The shape says only whether there is data.
    pub fn shape(self) -> fn() -> Shape {
        || Shape { without_data: !T::HAS_DATA, ..Shape::default() }
    }
}

/// The fallback for every other type.
pub trait AnySuccess<T> {
    /// Returns a function that writes the value as JSON.
    fn writer(&self) -> Write<T>
    where
        T: ToolOutput;
}

impl<T> AnySuccess<T> for Success<T> {
    fn writer(&self) -> Write<T>
    where
        T: ToolOutput,
    {
        |value, out| write_json(&value, out)
    }
}

/// The fallback for other types that have a schema. ([`AnySuccess::writer`] rejects those without.)
pub trait SchemaSuccess<T> {
    /// Returns a function that generates the schema.
    fn schema(self) -> OutputSchemaOf;
}

impl<T: ToolOutput> SchemaSuccess<T> for Success<T> {
    fn schema(self) -> OutputSchemaOf {
        |shape| Some(OutputSchema::of::<T>(shape))
    }
}

/// The fallback for types without a schema.
pub trait NoSchema<T> {
    /// There is no schema.
    fn schema(&self) -> OutputSchemaOf {
        |_| None
    }
}

impl<T> NoSchema<T> for Success<T> {}

/// Types that are also `Deserialize`, which makes it possible to inspect them.
pub trait DeserializableSuccess<T> {
    /// Returns a function that inspects the type.
    fn shape(self) -> fn() -> Shape;
}

impl<T: Deserialize<'static>> DeserializableSuccess<T> for Success<T> {
    fn shape(self) -> fn() -> Shape {
        output_shape::<T>
    }
}

/// The fallback for types that are not `Deserialize`.
pub trait NoShape<T> {
    /// Nothing is known about the type.
    fn shape(&self) -> fn() -> Shape {
        Shape::default
    }
}

impl<T> NoShape<T> for Success<T> {}

fn write_json(value: &impl Serialize, out: &mut Vec<u8>) -> Written {
    let start = out.len();
    match serde_json::to_writer(&mut *out, value) {
        Ok(()) => Ok(Returned::Json),
        Err(error) => {
            out.truncate(start);
            Err(CallError::Serialization(SerializationError::new("what the tool returned", error)))
        }
    }
}
