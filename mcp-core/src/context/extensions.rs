//! Values by their type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::entry::StateType;

/// Values by their type; cheap to clone, and free while it is empty.
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<HashMap<TypeId, Named>>>);

/// A value, and the name of its type for people.
type Named = (&'static str, Arc<dyn Any + Send + Sync>);

impl Extensions {
    /// None.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Puts a value in, in place of one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        let values = Arc::make_mut(self.0.get_or_insert_default());
        values.insert(TypeId::of::<T>(), (type_name::<T>(), Arc::new(value)));
    }

    /// The value of a type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>()).and_then(|(_, value)| value.downcast_ref())
    }

    /// Whether there is a value of the type.
    pub fn has(&self, state: StateType) -> bool {
        self.0.as_ref().is_some_and(|values| values.contains_key(&state.id))
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.0.iter().flat_map(|values| values.values());
        f.debug_set().entries(values.map(|(name, _)| name)).finish()
    }
}
