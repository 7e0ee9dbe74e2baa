//! What serde knows about a type and its schema does not say: the order of an enum's variants, and whether a map's keys
//! can be JSON.
//!
//! A type is deserialized from nothing, again and again. Each pass takes one way through the type (one field of each
//! struct, one variant of each enum, the keys or the values of each map) and stops where the way ends. What serde buffers
//! before it looks at the type (`flatten`, `untagged`, internal and adjacent tags) is not seen.

mod key;

use std::any::type_name;
use std::collections::HashSet;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::LazyLock;

use serde::de::value::{StrDeserializer, U64Deserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde_json::Value;

use crate::util::JsonObject;
use crate::util::panics::discard;

use self::key::Key;
use super::profile::Side;

/// The most passes over one type; what is left of a larger one is not seen.
const PASSES: usize = 4096;
/// How deep a sample value is.
const DEPTH: usize = 16;
/// The most items of a tuple or an array that are looked at.
const ITEMS: usize = 16;

/// What serde knows about a type.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Shape {
    /// The names of each enum's variants and their aliases, in the order of their declaration.
    pub(crate) enums: Vec<&'static [&'static str]>,
    /// How many variants the enums have that have aliases.
    pub(crate) variants: Vec<(&'static [&'static str], usize)>,
    /// The other names of fields, which a schema does not mention.
    pub(crate) aliases: Vec<Alias>,
    /// The maps whose keys JSON cannot hold.
    pub keys: Vec<KeyFault>,
    /// Whether the type itself is a struct with a flattened field.
    pub(crate) flattens: bool,
    /// Whether a value is no data: nothing, or content for the model.
    pub(crate) without_data: bool,
    pub(crate) buffered: bool,
}

impl Shape {
    /// Whether serde buffers a part of a value before it looks at the type, so that the part is not seen here.
    pub fn is_buffered(&self) -> bool {
        self.buffered
    }
}

/// Another name of a field: `#[serde(alias = "…")]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alias {
    /// The names of all fields of the struct, and their aliases.
    pub(crate) names: &'static [&'static str],
    pub(crate) name: &'static str,
    pub(crate) field: &'static str,
}

/// A map whose keys JSON cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFault {
    /// Where the map is: a JSON Pointer into a value of the type, in which `*` is any item or member.
    pub path: String,
    /// What a key is.
    pub key: String,
}

impl Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, key } = self;
        let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
        write!(
            f,
            "has a map{place} whose key is {key}, which cannot be the key of a JSON object; use a string key, or a list of pairs"
        )
    }
}

/// The shape of a parameter's type.
pub fn input_shape<T: Deserialize<'static>>() -> Shape {
    walk::<T>(Side::Input)
}

/// The shape of a return type that can also be read.
pub fn output_shape<T: Deserialize<'static>>() -> Shape {
    walk::<T>(Side::Output)
}

/// What a type expects in place of a text in a value, if that is why it rejects the value. Reads with the code that looks at
/// the type, so that a type costs no more code.
pub fn expected_instead<T: Deserialize<'static>>(value: &Value, text: &str) -> Option<String> {
    let mut walk = Walk::new(Side::Input);
    let Stop { found, expected, .. } =
        T::deserialize(Probe { walk: &mut walk, sample: None, value: Some(value) }).err()?;
    expected.filter(|_| found.as_deref() == Some(text))
}

fn walk<T: Deserialize<'static>>(side: Side) -> Shape {
    let mut walk = Walk::new(side);
    for _ in 0..PASSES {
        let pass = catch_unwind(AssertUnwindSafe(|| {
            drop(T::deserialize(Probe { walk: &mut walk, sample: None, value: None }));
        }));
        if let Err(payload) = pass {
            // A type that panics is not looked into.
            discard(payload);
        }
        if !walk.turn() {
            break;
        }
    }
    walk.finish()
}

/// One of several ways through a type.
struct Fork {
    way: usize,
    ways: usize,
}

struct Walk {
    side: Side,
    /// The ways of this pass.
    forks: Vec<Fork>,
    /// The next of them.
    at: usize,
    /// The visitors that were met, as keys of maps and as anything else. Each stands for a type.
    seen: HashSet<(&'static str, bool)>,
    path: Vec<&'static str>,
    /// The enums that have a variant which can be a key.
    plain_keys: HashSet<&'static str>,
    /// The enums that have other variants.
    other_keys: Vec<(&'static str, KeyFault)>,
    shape: Shape,
}

impl Walk {
    fn new(side: Side) -> Self {
        Self {
            side,
            forks: Vec::new(),
            at: 0,
            seen: HashSet::new(),
            path: Vec::new(),
            plain_keys: HashSet::new(),
            other_keys: Vec::new(),
            shape: Shape::default(),
        }
    }

    /// The way to take where there are so many, or none where the type was met before.
    fn fork(&mut self, visitor: &'static str, is_key: bool, ways: usize) -> Option<usize> {
        if self.at == self.forks.len() {
            if ways == 0 || !self.seen.insert((visitor, is_key)) {
                return None;
            }
            self.forks.push(Fork { way: 0, ways });
        }
        let way = self.forks[self.at].way;
        self.at += 1;
        Some(way)
    }

    /// Sets out on the next pass, if there is a way that was not taken.
    fn turn(&mut self) -> bool {
        self.at = 0;
        self.path.clear();
        while let Some(fork) = self.forks.last_mut() {
            fork.way += 1;
            if fork.way < fork.ways {
                return true;
            }
            self.forks.pop();
        }
        false
    }

    fn fault(&self, key: impl Into<String>) -> KeyFault {
        let path = self.path.iter().flat_map(|step| ["/".into(), crate::util::text::escaped(step)]).collect();
        KeyFault { path, key: key.into() }
    }

    fn finish(self) -> Shape {
        let Self { mut shape, plain_keys, other_keys, .. } = self;
        let impossible = other_keys.into_iter().filter(|(visitor, _)| !plain_keys.contains(visitor));
        for (_, fault) in impossible {
            if !shape.keys.contains(&fault) {
                shape.keys.push(fault);
            }
        }
        shape
    }
}

/// Why a pass ended.
#[derive(Debug, Default, thiserror::Error)]
#[error("the type was looked at")]
struct Stop {
    /// A text that is not what belongs there.
    found: Option<String>,
    /// What belongs there.
    expected: Option<String>,
    /// The field that was given twice.
    duplicate: Option<&'static str>,
}

impl Error for Stop {
    fn custom<T: Display>(_: T) -> Self {
        Self::default()
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Str(found) => {
                Self { found: Some(found.to_owned()), expected: Some(expected.to_string()), duplicate: None }
            }
            _ => Self::default(),
        }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self { duplicate: Some(field), ..Self::default() }
    }
}

/// Deserializes a type to look at it, or to have a value of it.
struct Probe<'a> {
    walk: &'a mut Walk,
    /// For a value: how much deeper it may be.
    sample: Option<usize>,
    /// The value to read, if the type is not looked at.
    value: Option<&'a Value>,
}

impl<'a> Probe<'a> {
    /// Reads the value, if there is one: null, a boolean, a number or a text.
    fn read<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<Result<V::Value, Stop>, V> {
        let Some(value) = self.value else { return Err(visitor) };
        Ok(scalar(value, visitor))
    }

    fn with(self, value: &'a Value) -> Self {
        Self { value: Some(value), ..self }
    }

    fn fork<V>(&mut self, ways: usize) -> Result<usize, Stop> {
        match self.sample {
            Some(0) => Err(Stop::default()),
            Some(_) => Ok(0),
            None => self.walk.fork(type_name::<V>(), false, ways).ok_or_else(Stop::default),
        }
    }

    fn inner(&mut self) -> Probe<'_> {
        Probe { walk: self.walk, sample: self.sample.map(|depth| depth.saturating_sub(1)), value: self.value }
    }

    fn at<'de, S: DeserializeSeed<'de>>(&mut self, step: &'static str, seed: S) -> Result<S::Value, Stop> {
        self.walk.path.push(step);
        let value = seed.deserialize(self.inner())?;
        self.walk.path.pop();
        Ok(value)
    }

    fn items<'de, V: Visitor<'de>>(mut self, length: usize, visitor: V) -> Result<V::Value, Stop> {
        if let Some(value) = self.value {
            let values = value.as_array().ok_or_else(Stop::default)?;
            return visitor.visit_seq(Items { probe: self, left: 0, values: values.iter() });
        }
        let way = self.fork::<V>(length.clamp(1, ITEMS))?;
        let left = if self.sample.is_some() { length } else { way + 1 };
        visitor.visit_seq(Items { probe: self, left, values: [].iter() })
    }

    fn fields<'de, V: Visitor<'de>>(mut self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Stop> {
        if let Some(value) = self.value {
            let members = value.as_object().ok_or_else(Stop::default)?;
            return visitor.visit_map(Fields { probe: self, names: &[], twice: false, members: members.iter() });
        }
        // Each field is looked at, and each is given twice.
        let ways = if self.walk.side == Side::Input { 2 * fields.len() } else { fields.len() };
        let way = self.fork::<V>(ways)?;
        if self.sample.is_none() && way >= fields.len() {
            let names = &fields[way - fields.len()..=way - fields.len()];
            let probe = Probe { walk: &mut *self.walk, sample: Some(DEPTH), value: None };
            let read = visitor.visit_map(Fields { probe, names, twice: true, members: NO_MEMBERS.iter() });
            // serde knows the field by its own name.
            let field = read.as_ref().err().and_then(|stop| stop.duplicate).filter(|field| *field != names[0]);
            self.walk.shape.aliases.extend(field.map(|field| Alias { names: fields, name: names[0], field }));
            return read;
        }
        let names = if self.sample.is_some() { fields } else { &fields[way..=way] };
        visitor.visit_map(Fields { probe: self, names, twice: false, members: NO_MEMBERS.iter() })
    }
}

/// Members of an object that has none.
static NO_MEMBERS: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);

/// Reads a value that is not a list or an object.
fn scalar<'de, V: Visitor<'de>>(value: &Value, visitor: V) -> Result<V::Value, Stop> {
    match value {
        Value::Null => visitor.visit_unit(),
        Value::Bool(value) => visitor.visit_bool(*value),
        Value::String(value) => visitor.visit_str(value),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => visitor.visit_u64(number),
            (_, Some(number), _) => visitor.visit_i64(number),
            (.., number) => visitor.visit_f64(number.unwrap_or_default()),
        },
        Value::Array(_) | Value::Object(_) => Err(Stop::default()),
    }
}

macro_rules! leaves {
    ($($($method:ident)+ => $visit:ident $value:tt;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            match self.read(visitor) {
                Ok(read) => read,
                Err(visitor) => visitor.$visit $value,
            }
        }
    )+)*};
}
use leaves;

/// What is alike in a key and in any other place: a sample of each type, as `serde_json` would hand it over.
macro_rules! scalars {
    () => {
        leaves! {
            deserialize_bool => visit_bool(true);
            deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 => visit_u64(1);
            deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 => visit_u64(1);
            deserialize_i128 => visit_i128(1);
            deserialize_u128 => visit_u128(1);
            deserialize_f32 deserialize_f64 => visit_f64(1.0);
            deserialize_char => visit_char('a');
        }
    };
}
use scalars;

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Stop;

    scalars!();

    leaves! {
        deserialize_str deserialize_string deserialize_identifier => visit_borrowed_str("a");
        deserialize_bytes deserialize_byte_buf => visit_borrowed_bytes(b"a");
        deserialize_unit => visit_unit();
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.walk.shape.buffered = true;
        match self.value {
            Some(Value::Array(_)) => self.items(0, visitor),
            Some(Value::Object(_)) => self.deserialize_map(visitor),
            Some(value) => scalar(value, visitor),
            None => visitor.visit_unit(),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        if self.sample.is_some() || self.value.is_some_and(Value::is_null) {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(mut self, _: &'static str, visitor: V) -> Result<V::Value, Stop> {
        if self.value.is_none() {
            self.fork::<V>(1)?;
        }
        visitor.visit_newtype_struct(self.inner())
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Stop> {
        if self.value.is_some() {
            return self.items(0, visitor);
        }
        self.fork::<V>(1)?;
        let left = usize::from(self.sample.is_none());
        visitor.visit_seq(Items { probe: self, left, values: [].iter() })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Stop> {
        self.items(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.items(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Stop> {
        if let Some(value) = self.value {
            let members = value.as_object().ok_or_else(Stop::default)?;
            return visitor.visit_map(Entry { probe: self, part: None, members: members.iter() });
        }
        let way = self.fork::<V>(2)?;
        let entry = (self.sample.is_none()).then_some(if way == 0 { Part::Key } else { Part::Value });
        visitor.visit_map(Entry { probe: self, part: entry, members: NO_MEMBERS.iter() })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.fields(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        if !self.walk.shape.enums.contains(&variants) {
            self.walk.shape.enums.push(variants);
        }
        let variant = match self.value {
            None => {
                // Each name is looked at, and each variant is counted.
                let ways = if self.walk.side == Side::Input { 2 * variants.len() } else { variants.len() };
                let way = self.fork::<V>(ways)?;
                if let Some(index) = way.checked_sub(variants.len()) {
                    return visitor.visit_enum(Index { shape: &mut self.walk.shape, variants, at: index });
                }
                variants.get(way)
            }
            Some(value) => {
                let (name, value) = match value {
                    Value::Object(members) => members.iter().next().ok_or_else(Stop::default)?,
                    value => (&value.as_str().unwrap_or_default().to_owned(), &Value::Null),
                };
                self = self.with(value);
                variants.iter().find(|variant| *variant == name)
            }
        };
        visitor.visit_enum(Variant { variant: variant.ok_or_else(Stop::default)?, probe: self })
    }
}

/// The items of a list or a tuple: samples, and one that is looked at.
struct Items<'a> {
    probe: Probe<'a>,
    left: usize,
    values: slice::Iter<'a, Value>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Stop;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        if let Some(value) = self.values.next() {
            return seed.deserialize(self.probe.inner().with(value)).map(Some);
        }
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        if left == 0 {
            return self.probe.at("*", seed).map(Some);
        }
        let sample = self.probe.sample.map_or(DEPTH, |depth| depth.saturating_sub(1));
        seed.deserialize(Probe { walk: self.probe.walk, sample: Some(sample), value: None }).map(Some)
    }
}

/// The fields of a struct.
struct Fields<'a> {
    probe: Probe<'a>,
    names: &'static [&'static str],
    /// Whether the first of them is given twice.
    twice: bool,
    members: Members<'a>,
}

/// The members of an object that is read.
type Members<'a> = serde_json::map::Iter<'a>;

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        if let Some((name, value)) = self.members.next() {
            self.probe.value = Some(value);
            return seed.deserialize(StrDeserializer::new(name)).map(Some);
        }
        let Some(name) = self.names.first() else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        if self.probe.value.is_some() {
            return seed.deserialize(self.probe.inner());
        }
        let [name, rest @ ..] = self.names else { return Err(Stop::default()) };
        if !std::mem::take(&mut self.twice) {
            self.names = rest;
        }
        self.probe.at(name, seed)
    }
}

/// What is looked at in a map.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
}

/// The only entry of a map, or none.
struct Entry<'a> {
    probe: Probe<'a>,
    part: Option<Part>,
    members: Members<'a>,
}

impl Entry<'_> {
    fn look<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Stop {
        let looked = seed.deserialize(Key { walk: self.probe.walk, looks: true, text: None });
        drop(looked);
        Stop::default()
    }
}

impl<'de> MapAccess<'de> for Entry<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        if let Some((name, value)) = self.members.next() {
            self.probe.value = Some(value);
            return seed.deserialize(Key { walk: self.probe.walk, looks: false, text: Some(name) }).map(Some);
        }
        match self.part {
            None => Ok(None),
            Some(Part::Key) => Err(self.look(seed)),
            Some(Part::Value) => seed.deserialize(Key { walk: self.probe.walk, looks: false, text: None }).map(Some),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        if self.probe.value.is_some() {
            return seed.deserialize(self.probe.inner());
        }
        self.part = None;
        self.probe.at("*", seed)
    }

    /// The value is seen also where no key can be made.
    fn next_entry_seed<K: DeserializeSeed<'de>, V: DeserializeSeed<'de>>(
        &mut self,
        key: K,
        value: V,
    ) -> Result<Option<(K::Value, V::Value)>, Stop> {
        if self.probe.value.is_some() {
            let Some(key) = self.next_key_seed(key)? else { return Ok(None) };
            return Ok(Some((key, self.next_value_seed(value)?)));
        }
        match self.part {
            None => Ok(None),
            Some(Part::Key) => Err(self.look(key)),
            Some(Part::Value) => {
                self.probe.at("*", value)?;
                Err(Stop::default())
            }
        }
    }
}

/// A variant of an enum by its index, which aliases do not have. It is only counted.
struct Index<'a> {
    shape: &'a mut Shape,
    variants: &'static [&'static str],
    at: usize,
}

impl<'de> EnumAccess<'de> for Index<'_> {
    type Error = Stop;
    type Variant = Variant<'static>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Stop> {
        seed.deserialize(U64Deserializer::<Stop>::new(self.at as u64))?;
        let counts = &mut self.shape.variants;
        match counts.iter_mut().find(|(variants, _)| std::ptr::eq(*variants, self.variants)) {
            Some((_, count)) => *count = (*count).max(self.at + 1),
            None => counts.push((self.variants, self.at + 1)),
        }
        Err(Stop::default())
    }
}

/// A variant of an enum, with what it holds.
struct Variant<'a> {
    probe: Probe<'a>,
    variant: &'static str,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Stop;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), Stop> {
        let variant = seed.deserialize(StrDeserializer::<Stop>::new(self.variant))?;
        self.probe.sample = self.probe.sample.map(|depth| depth.saturating_sub(1));
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Stop;

    fn unit_variant(self) -> Result<(), Stop> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, Stop> {
        self.probe.at(self.variant, seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Stop> {
        self.probe.walk.path.push(self.variant);
        self.probe.items(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Stop> {
        self.probe.walk.path.push(self.variant);
        self.probe.fields(fields, visitor)
    }
}
