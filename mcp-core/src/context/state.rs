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
    /// An `Arc` of the type.
    arc: TypeId,
}

impl StateType {
    /// The type of some state.
    pub fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>(), arc: TypeId::of::<Arc<T>>() }
    }

    /// Whether this is an `Arc` of the other type.
    pub fn is_arc_of(&self, other: Self) -> bool {
        self.id == other.arc
    }
}
