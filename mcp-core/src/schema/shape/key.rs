//! The keys of maps, read as `serde_json` reads them.

use std::any::type_name;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::{Stop, Walk, leaves, scalar, scalars};
use crate::schema::profile::Side;

/// The text of a key.
const SAMPLE: &str = "a key of a JSON object";

/// The key of a map's entry.
pub(super) struct Key<'a> {
    pub(super) walk: &'a mut Walk,
    /// Whether the key is looked at; it is a sample otherwise.
    pub(super) looks: bool,
    /// The text to read, if the type is not looked at.
    pub(super) text: Option<&'a str>,
}

impl Key<'_> {
    /// Reads the text, if there is one, as a number or a boolean.
    fn read<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<Result<V::Value, Stop>, V> {
        let Some(text) = self.text else { return Err(visitor) };
        let value: Option<Value> = serde_json::from_str(text).ok();
        Ok(value.map_or_else(|| Err(Stop::default()), |value| scalar(&value, visitor)))
    }

    fn sample(&self) -> &str {
        self.text.unwrap_or(SAMPLE)
    }

    /// Bytes are read as a key, and never written as one.
    fn bytes<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        if self.looks && self.walk.side == Side::Output {
            let fault = self.walk.fault("bytes");
            self.walk.shape.keys.push(fault);
        }
        visitor.visit_bytes(self.sample().as_bytes())
    }
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Stop;

    scalars!();

    /// The key as a text, which is what it is in JSON. A type that takes no text cannot be a key.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        let read = visitor.visit_str(self.sample());
        match &read {
            Err(Stop { found: Some(found), expected: Some(expected), .. }) if self.looks && found == SAMPLE => {
                let fault = self.walk.fault(expected);
                self.walk.shape.keys.push(fault);
            }
            _ => {}
        }
        read
    }

    forward_to_deserialize_any! {
        str string unit unit_struct seq tuple tuple_struct map struct ignored_any
    }

    /// The name of a field: the map is a struct with a flattened field.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.walk.shape.flattens |= self.walk.path.is_empty();
        self.walk.shape.buffered = true;
        visitor.visit_str(self.sample())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let id = type_name::<V>();
        let way = if self.looks { self.walk.fork(id, true, variants.len()) } else { Some(0) };
        let variant = match self.text {
            Some(text) => variants.iter().find(|variant| **variant == text),
            None => way.and_then(|way| variants.get(way)),
        };
        let variant = variant.ok_or_else(Stop::default)?;
        visitor.visit_enum(UnitVariant { key: self, id, enum_name: name, variant })
    }
}

/// A variant without data, which is the only kind that can be a key.
struct UnitVariant<'a> {
    key: Key<'a>,
    id: &'static str,
    enum_name: &'static str,
    variant: &'static str,
}

impl UnitVariant<'_> {
    fn holds_data<T>(self) -> Result<T, Stop> {
        if self.key.looks {
            let fault = self.key.walk.fault(format!("enum {}, whose variants hold data", self.enum_name));
            self.key.walk.other_keys.push((self.id, fault));
        }
        Err(Stop::default())
    }
}

impl<'de> EnumAccess<'de> for UnitVariant<'_> {
    type Error = Stop;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Stop> {
        Ok((seed.deserialize(StrDeserializer::<Stop>::new(self.variant))?, self))
    }
}

impl<'de> VariantAccess<'de> for UnitVariant<'_> {
    type Error = Stop;

    fn unit_variant(self) -> Result<(), Stop> {
        if self.key.looks {
            self.key.walk.plain_keys.insert(self.id);
        }
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, Stop> {
        self.holds_data()
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Stop> {
        self.holds_data()
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Stop> {
        self.holds_data()
    }
}
