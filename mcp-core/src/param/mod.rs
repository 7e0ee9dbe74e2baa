//! The parameters of tools, and how arguments are read.

pub(crate) mod borrow;
pub(crate) mod check;
pub(crate) mod fault;
pub(crate) mod plain;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod slot;
mod value;

use std::panic::catch_unwind;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use self::plain::Plain;
use crate::schema::{Shape, expected_instead, input_shape};
use crate::util::panics::discard;

/// The definition of a parameter.
#[derive(Debug)]
#[non_exhaustive]
pub struct Param {
    /// The name on the wire.
    pub name: &'static str,
    /// Older names that still work.
    pub aliases: &'static [&'static str],
    /// The description, which a model reads.
    pub description: &'static str,
    /// The type.
    pub ty: &'static ParamType,
    /// The default value, if there is one.
    pub default: Option<fn() -> Value>,
    /// Example values.
    pub examples: &'static [fn() -> Value],
    /// The constraints on values.
    pub constraints: &'static [Constraint],
    /// Whether the compiler has checked that the constraints fit the type.
    pub fitted: bool,
    /// The HTTP header that repeats the argument.
    pub header: Option<&'static str>,
    /// Whether values are hidden in errors and logs.
    pub secret: bool,
    /// The explicit schema, if there is one.
    pub explicit_schema: Option<fn() -> Value>,
    /// The constant schema of a type that enforces everything that the schema says.
    pub(crate) plain: Option<&'static Plain>,
}

/// The type of a parameter.
#[derive(Debug)]
#[non_exhaustive]
pub struct ParamType {
    /// The schema of the type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// What serde reports about the type.
    pub shape: fn() -> Shape,
    /// Checks whether a value can be deserialized.
    pub reads: fn(&str) -> Result<(), serde_json::Error>,
    /// What the type expects in place of a text in a value, if that is why it rejects the value.
    pub expected_instead: fn(&Value, &str) -> Option<String>,
    /// Whether a parameter of the type can be omitted in a call.
    pub accepts_absent: fn() -> bool,
}

/// A constraint on values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// The minimum.
    Min(Bound),
    /// The maximum.
    Max(Bound),
    /// The minimum number of characters.
    MinLength(u64),
    /// The maximum number of characters.
    MaxLength(u64),
    /// The minimum number of items.
    MinItems(u64),
    /// The maximum number of items.
    MaxItems(u64),
    /// A regular expression that the text has to match.
    Pattern(&'static str),
    /// A format of JSON Schema.
    Format(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// The bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Bound {
    /// An integer.
    Int(i128),
    /// Another number.
    Float(f64),
}

/// A type that can be a parameter of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's parameter",
    label = "needs `Deserialize` and `JsonSchema`",
    note = "for input: `#[derive(serde::Deserialize, schemars::JsonSchema)]` on the type",
    note = "for a type of `chrono`, `uuid`, `url` or another crate that schemars supports: enable the feature of that name, as in `mcp-core = {{ features = [\"chrono\"] }}`, and `serde` of that crate",
    note = "for application state or the context: mark the parameter with `#[ctx]`"
)]
pub trait ToolParam: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ToolParam for T {}

impl Param {
    /// Creates a parameter of this type.
    pub const fn of<T: ToolParam>(name: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            description: "",
            ty: const {
                &ParamType {
                    schema: |generator| generator.subschema_for::<T>(),
                    shape: input_shape::<T>,
                    reads: |json| serde_json::from_str::<T>(json).map(drop),
                    expected_instead: expected_instead::<T>,
                    accepts_absent: accepts_absent::<T>,
                }
            },
            default: None,
            examples: &[],
            constraints: &[],
            fitted: false,
            header: None,
            secret: false,
            explicit_schema: None,
            plain: None,
        }
    }

    /// Returns whether the parameter is required.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !(self.ty.accepts_absent)()
    }
}

macro_rules! param_setters {
    ($($setter:ident($argument:ident: $type:ty) => $field:ident = $value:expr;)*) => {
        impl Param {
            $(#[doc(hidden)] #[must_use] pub const fn $setter(mut self, $argument: $type) -> Self {
                self.$field = $value;
                self
            })*
        }
    };
}

param_setters! {
    aliases(aliases: &'static [&'static str]) => aliases = aliases;
    description(description: &'static str) => description = description;
    default(default: fn() -> Value) => default = Some(default);
    examples(examples: &'static [fn() -> Value]) => examples = examples;
    constraints(constraints: &'static [Constraint]) => constraints = constraints;
    fitted(fitted: bool) => fitted = fitted;
    header(header: &'static str) => header = Some(header);
    secret(secret: bool) => secret = secret;
    schema(schema: fn() -> Value) => explicit_schema = Some(schema);
    plain(plain: Option<&'static Plain>) => plain = plain;
}

/// The value of a type for an absent argument: that of an `Option` is `None`; most types have none.
pub(crate) fn absent<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Absent).ok()
}

/// Returns whether a type accepts an absent argument. A type that panics does not.
fn accepts_absent<T: DeserializeOwned>() -> bool {
    catch_unwind(|| absent::<T>().is_some()).unwrap_or_else(|payload| {
        discard(payload);
        false
    })
}

/// A deserializer that only tells whether a type is an `Option`.
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("absent"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
