//! How the expansion finds out what a function returns: the types decide, not their spelling.

#![allow(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    reason = "the compiler chooses among methods of one shape"
)]

use std::future::Future;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::{Json, JsonOutput, OutputSchema, Returned, TYPICAL_RESULT_BYTES, ToolFailure, ToolOutput};
use crate::error::{CallError, SerializationError, ToolError};
use crate::message::{Content, ToolResult};
use crate::schema::{self, Shape, output_shape};

// The types decide by what the compiler finds first: an inherent method before one of a trait. Each step is taken in the
// expansion, where the types are known.

/// Tells a `Result` from any other value.
pub struct Outcome<T>(PhantomData<T>);

/// A `Result`.
pub struct IsResult<T, E>(PhantomData<(T, E)>);

/// Not a `Result`.
pub struct IsValue<T>(PhantomData<T>);

impl<T> Outcome<T> {
    const NEW: Self = Self(PhantomData);

    /// For the type of a value.
    pub const fn of(_: &T) -> Self {
        Self::NEW
    }

    /// For what a function returns. It is not called.
    #[inline]
    pub fn by(_: impl FnOnce() -> T) -> Self {
        Self::NEW
    }

    /// For what an `async` function returns. It is not called.
    #[inline]
    pub fn by_future<F: Future<Output = T>>(_: impl FnOnce() -> F) -> Self {
        Self::NEW
    }
}

impl<T, E> Outcome<Result<T, E>> {
    /// What it is.
    pub const fn kind(&self) -> IsResult<T, E> {
        IsResult(PhantomData)
    }
}

/// Everything that is not a `Result`.
pub trait AnyOutcome<T> {
    /// What it is.
    fn kind(&self) -> IsValue<T>;
}

impl<T> AnyOutcome<T> for Outcome<T> {
    fn kind(&self) -> IsValue<T> {
        IsValue(PhantomData)
    }
}

impl<T> IsValue<T> {
    /// It never fails: every value is a success.
    pub fn failure(&self) -> fn(T) -> Result<T, ToolError> {
        Ok
    }

    /// The type of the value.
    pub fn success(&self) -> Success<T> {
        Success(PhantomData)
    }
}

impl<T, E> IsResult<T, E> {
    /// The type of the value.
    pub fn success(&self) -> Success<T> {
        Success(PhantomData)
    }
}

impl<T, E: Into<ToolError>> IsResult<T, E> {
    /// The error as it was made.
    pub fn failure(&self) -> fn(Result<T, E>) -> Result<T, ToolError> {
        |value| value.map_err(Into::into)
    }
}

/// Every error that is not made into a tool error by its author.
pub trait AnyFailure<T, E> {
    /// The error as a tool error.
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

/// What a tool returns when all goes well.
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

/// What the compiler knows about a return type.
pub fn output(with_schema: bool, shape: fn() -> Shape, schema: OutputSchemaOf) -> (Shape, Option<OutputSchema>) {
    let shape = shape();
    let schema = if with_schema { schema(&shape) } else { None };
    (shape, schema)
}

/// Writes what a tool returned.
#[inline]
pub fn write<R, T>(returned: R, split: fn(R) -> Result<T, ToolError>, write: Write<T>, out: &mut Vec<u8>) -> Written {
    write(split(returned)?, out)
}

/// Writes what an `async` tool returned, into a buffer of its own.
pub fn write_async<R, T>(
    returned: R,
    split: fn(R) -> Result<T, ToolError>,
    write: Write<T>,
) -> Result<(Returned, Vec<u8>), CallError> {
    let mut out = Vec::with_capacity(TYPICAL_RESULT_BYTES);
    let returned = self::write(returned, split, write, &mut out)?;
    Ok((returned, out))
}

/// A type with a form of its own in a result, and so without a schema.
pub trait SpecialForm {
    /// What of it becomes JSON.
    type Json;

    /// Puts the value into a result.
    fn write(self, out: &mut Vec<u8>) -> Written
    where
        Self::Json: JsonOutput;
}

impl SpecialForm for () {
    type Json = ();

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Nothing)
    }
}

impl SpecialForm for Content {
    type Json = ();

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Content(vec![self]))
    }
}

impl SpecialForm for Vec<Content> {
    type Json = ();

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Content(self))
    }
}

impl SpecialForm for ToolResult {
    type Json = ();

    fn write(self, _: &mut Vec<u8>) -> Written {
        Ok(Returned::Result(Box::new(self)))
    }
}

impl<T> SpecialForm for Json<T> {
    type Json = T;

    fn write(self, out: &mut Vec<u8>) -> Written
    where
        T: JsonOutput,
    {
        write_json(&self.0, out)
    }
}

// One impl for all of them: with several, the compiler calls a misspelt return type ambiguous.
impl<T: SpecialForm> Success<T> {
    /// Writes the value in its own form.
    pub fn writer(&self) -> Write<T>
    where
        T::Json: JsonOutput,
    {
        T::write
    }

    /// None.
    pub fn schema(self) -> OutputSchemaOf {
        |_| None
    }
}

/// Every other type.
pub trait AnySuccess<T> {
    /// Writes the value as JSON.
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

/// Every other type that has a schema. (One that has none is refused where it is written; see [`AnySuccess`].)
pub trait SchemaSuccess<T> {
    /// The schema of the type.
    fn schema(self) -> OutputSchemaOf;
}

impl<T: ToolOutput> SchemaSuccess<T> for Success<T> {
    fn schema(self) -> OutputSchemaOf {
        |shape| Some(OutputSchema { schema: schema::output_of::<T>(shape), wraps: schema::wraps::<T>() })
    }
}

/// The rest.
pub trait NoSchema<T> {
    /// None.
    fn schema(&self) -> OutputSchemaOf {
        |_| None
    }
}

impl<T> NoSchema<T> for Success<T> {}

/// Every type that can also be read, which is how serde tells about it.
pub trait DeserializableSuccess<T> {
    /// What serde knows about the type.
    fn shape(self) -> fn() -> Shape;
}

impl<T: Deserialize<'static>> DeserializableSuccess<T> for Success<T> {
    fn shape(self) -> fn() -> Shape {
        output_shape::<T>
    }
}

/// The rest.
pub trait NoShape<T> {
    /// Nothing.
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
