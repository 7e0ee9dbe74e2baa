//! The places of the arguments while a call is read.

use serde::de::DeserializeOwned;

use super::value::FirstValue;
use super::{ToolParam, absent};

/// The place of one argument while a call is read.
pub trait Slot {
    /// Reads the value at the beginning of the text and says how long it is.
    fn read(&mut self, json: &str) -> Result<usize, serde_json::Error>;

    /// Reads the text as one value.
    fn read_all(&mut self, json: &str) -> Result<(), serde_json::Error>;

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

    fn read_all(&mut self, json: &str) -> Result<(), serde_json::Error> {
        self.value = Some(serde_json::from_str(json)?);
        Ok(())
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
    pub fn take_or(self, default: fn() -> T) -> T {
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

/// Where a type is no parameter, [`Param::of`](super::Param::of) says so; this keeps the compiler from saying it again.
pub trait AnySlot {
    /// The place, whatever its type.
    fn slot(&mut self) -> &mut dyn Slot;
}

impl<T> AnySlot for ArgSlot<T> {
    fn slot(&mut self) -> &mut dyn Slot {
        unreachable!("a program with such a parameter does not compile")
    }
}
