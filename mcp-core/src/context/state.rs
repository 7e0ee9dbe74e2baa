//! The type of application state.

use std::any::TypeId;
use std::sync::Arc;

/// A type of application state that a tool needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateType {
    /// The type.
    pub id: TypeId,
    /// Its name, for errors.
    pub name: &'static str,
    /// The type `Arc<T>`.
    arc: TypeId,
}

impl StateType {
    /// Creates it for a type.
    pub fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>(), arc: TypeId::of::<Arc<T>>() }
    }

    /// Returns whether this is an `Arc` of the other type.
    pub fn is_arc_of(&self, other: Self) -> bool {
        self.id == other.arc
    }
}
