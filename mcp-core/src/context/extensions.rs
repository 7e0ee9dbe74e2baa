//! A map of values, by their types.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::StateType;
use crate::util::panics::Contained;

/// A map of values, by their types. It is cheap to clone, and does not allocate while it is empty.
#[derive(Clone, Default)]
pub struct Extensions {
    values: Option<Arc<HashMap<TypeId, Typed>>>,
    /// The HTTP request of the call, whose extensions are found here as well.
    #[cfg(feature = "http")]
    request: Option<Arc<Contained<http::request::Parts>>>,
}

/// A [`Contained`] value and its type.
type Typed = (StateType, Arc<dyn Any + Send + Sync>);

impl Extensions {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self {
            values: None,
            #[cfg(feature = "http")]
            request: None,
        }
    }

    /// Inserts a value, which replaces a previous one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        let values = Arc::make_mut(self.values.get_or_insert_default());
        values.insert(TypeId::of::<T>(), (StateType::of::<T>(), Arc::new(Contained::new(value))));
    }

    /// Returns the value of a type. For a call over HTTP, this includes the extensions that layers of the server added
    /// to the request, its `http::HeaderMap` and its `http::request::Parts`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        let value = self.values.as_ref().and_then(|values| values.get(&TypeId::of::<T>()));
        let value = value.and_then(|(_, value)| value.downcast_ref()).map(|value: &Contained<T>| &**value);
        #[cfg(feature = "http")]
        let value = value.or_else(|| {
            let parts = self.request()?;
            let headers = || (&parts.headers as &dyn Any).downcast_ref();
            parts.extensions.get().or_else(headers).or_else(|| (parts as &dyn Any).downcast_ref())
        });
        value
    }

    /// Returns the HTTP request of the call.
    #[cfg(feature = "http")]
    pub fn request(&self) -> Option<&http::request::Parts> {
        self.request.as_deref().map(|request| &**request)
    }

    /// Adds the HTTP request of the call.
    #[cfg(feature = "http")]
    pub fn set_request(&mut self, request: http::request::Parts) {
        self.request = Some(Arc::new(Contained::new(request)));
    }

    /// Returns whether there is a value of the type.
    pub fn has(&self, state: StateType) -> bool {
        self.values.as_ref().is_some_and(|values| values.contains_key(&state.id))
    }

    /// Returns a present type that differs from this one only by an `Arc`.
    pub fn similar(&self, requested: StateType) -> Option<StateType> {
        let mut present = self.values.iter().flat_map(|values| values.values()).map(|(state, _)| *state);
        present.find(|state| state.is_arc_of(requested) || requested.is_arc_of(*state))
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.iter().flat_map(|values| values.values());
        f.debug_set().entries(values.map(|(state, _)| state.name)).finish()
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::Extensions;

    #[derive(Clone, Debug, PartialEq)]
    struct Caller(&'static str);

    #[test]
    fn the_parts_of_a_request_are_found_by_type() {
        let request = http::Request::builder().uri("/mcp").header("x-region", "eu").extension(Caller("ada"));
        let mut extensions = Extensions::new();
        extensions.set_request(request.body(()).unwrap().into_parts().0);
        assert_eq!(extensions.get::<Caller>(), Some(&Caller("ada")));
        assert_eq!(extensions.get::<http::HeaderMap>().unwrap()["x-region"], "eu");
        assert_eq!(extensions.get::<http::request::Parts>().unwrap().uri, "/mcp");
        assert_eq!(extensions.get::<u8>(), None);
        extensions.insert(Caller("eve"));
        assert_eq!(extensions.get::<Caller>(), Some(&Caller("eve")), "inserted values take precedence");
    }
}
