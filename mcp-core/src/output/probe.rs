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

use super::{Json, JsonOutput, OutputSchema, Returned, ToolFailure, ToolOutput};
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
    /// The value.
    pub fn split(self, value: T) -> Result<T, ToolError> {
        Ok(value)
    }

    /// The type of the value.
    pub fn success(self) -> Success<T> {
        Success(PhantomData)
    }
}

impl<T, E> IsResult<T, E> {
    /// The type of the value.
    pub fn success(self) -> Success<T> {
        Success(PhantomData)
    }
}

impl<T, E: Into<ToolError>> IsResult<T, E> {
    /// The value, or the error as it was made.
    pub fn split(self, value: Result<T, E>) -> Result<T, ToolError> {
        value.map_err(Into::into)
    }
}

/// Every error that is not made into a tool error by its author.
pub trait AnyFailure<T, E> {
    /// The value, or the error.
    fn split(self, value: Result<T, E>) -> Result<T, ToolError>
    where
        E: ToolFailure;
}

impl<T, E> AnyFailure<T, E> for IsResult<T, E> {
    fn split(self, value: Result<T, E>) -> Result<T, ToolError>
    where
        E: ToolFailure,
    {
        value.map_err(ToolError::from_error)
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

impl<T> Success<T> {
    /// For the type of a value.
    pub const fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

type Written = Result<Returned, CallError>;

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
    /// The value in its own form.
    pub fn write(self, value: T, out: &mut Vec<u8>) -> Written
    where
        T::Json: JsonOutput,
    {
        value.write(out)
    }

    /// None.
    pub fn schema(self, _: &Shape) -> Option<OutputSchema> {
        None
    }
}

/// Every other type.
pub trait AnySuccess<T> {
    /// The value as JSON.
    fn write(self, value: T, out: &mut Vec<u8>) -> Written
    where
        T: ToolOutput;
}

impl<T> AnySuccess<T> for Success<T> {
    fn write(self, value: T, out: &mut Vec<u8>) -> Written
    where
        T: ToolOutput,
    {
        write_json(&value, out)
    }
}

/// Every other type that has a schema. (One that has none is refused where it is written; see [`AnySuccess`].)
pub trait SchemaSuccess<T> {
    /// The schema of the type.
    fn schema(self, shape: &Shape) -> Option<OutputSchema>;
}

impl<T: ToolOutput> SchemaSuccess<T> for Success<T> {
    fn schema(self, shape: &Shape) -> Option<OutputSchema> {
        Some(OutputSchema { schema: schema::output_of::<T>(shape), wraps: schema::wraps::<T>() })
    }
}

/// The rest.
pub trait NoSchema<T> {
    /// None.
    fn schema(&self, _: &Shape) -> Option<OutputSchema> {
        None
    }
}

impl<T> NoSchema<T> for Success<T> {}

/// Every type that can also be read, which is how serde tells about it.
pub trait DeserializableSuccess<T> {
    /// What serde knows about the type.
    fn shape(self) -> Shape;
}

impl<T: Deserialize<'static>> DeserializableSuccess<T> for Success<T> {
    fn shape(self) -> Shape {
        output_shape::<T>()
    }
}

/// The rest.
pub trait NoShape<T> {
    /// Nothing.
    fn shape(&self) -> Shape {
        Shape::default()
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
