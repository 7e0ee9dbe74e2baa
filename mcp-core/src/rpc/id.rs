//! The ID of a request.

use std::borrow::Cow;
use std::fmt;

use serde::de::Visitor;
use serde::ser::Serializer;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::RpcError;
use super::read::{Text, invalid};
use crate::util::text::shown;

/// The ID of a request: an integer or a string, but not null.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id<'a> {
    /// An integer, in the range of `i64` and `u64`.
    Int(i128),
    /// A string.
    Str(Cow<'a, str>),
}

impl<'a> Id<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, &'a RawValue> {
        match serde_json::from_str::<Text<'_>>(raw.get()) {
            Ok(text) => Ok(Self::Str(text.0)),
            Err(_) => raw.get().parse().ok().filter(|id| in_range(*id)).map(Self::Int).ok_or(raw),
        }
    }

    /// Converts the ID to an owned one.
    pub fn into_owned(self) -> Id<'static> {
        match self {
            Self::Int(id) => Id::Int(id),
            Self::Str(id) => Id::Str(Cow::Owned(id.into_owned())),
        }
    }
}

/// The error for a value that is not an ID.
pub(super) fn wrong_id(raw: &RawValue) -> RpcError {
    match raw.get() {
        text if text.starts_with('"') => invalid("`id` is not a valid JSON string; correct its escapes"),
        text => invalid(format!("`id` must be a string or an integer, not `{}`", shown(text))),
    }
}

/// Whether the integer is an `i64` or a `u64`, which serializers support.
fn in_range(id: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&id)
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Formatting an `i128` is slow and rarely needed.
            Self::Int(id) => match i64::try_from(*id) {
                Ok(id) => id.fmt(f),
                Err(_) => id.fmt(f),
            },
            Self::Str(id) => id.fmt(f),
        }
    }
}

macro_rules! id_from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Id<'_> {
            fn from(id: $integer) -> Self {
                Self::Int(id.into())
            }
        }
    )*};
}

id_from_integers!(i32, u32, i64, u64);

impl<'a> From<&'a str> for Id<'a> {
    fn from(id: &'a str) -> Self {
        Self::Str(Cow::Borrowed(id))
    }
}

impl From<String> for Id<'_> {
    fn from(id: String) -> Self {
        Self::Str(Cow::Owned(id))
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(id) => match (i64::try_from(*id), u64::try_from(*id)) {
                (Ok(id), _) => serializer.serialize_i64(id),
                (_, Ok(id)) => serializer.serialize_u64(id),
                _ => Err(serde::ser::Error::custom(format_args!("the id {id} is out of range; use an i64 or a u64"))),
            },
            Self::Str(id) => serializer.serialize_str(id),
        }
    }
}

impl<'de> Deserialize<'de> for Id<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrInteger;

        impl Visitor<'_> for StringOrInteger {
            type Value = Id<'static>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer")
            }

            fn visit_i64<E>(self, id: i64) -> Result<Id<'static>, E> {
                Ok(id.into())
            }

            fn visit_u64<E>(self, id: u64) -> Result<Id<'static>, E> {
                Ok(id.into())
            }

            fn visit_str<E>(self, id: &str) -> Result<Id<'static>, E> {
                Ok(id.to_owned().into())
            }
        }

        deserializer.deserialize_any(StringOrInteger)
    }
}
