//! A tool's parameters, and reading the arguments of a call into them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::error::Fault;
use crate::text::{cut, shown};

/// A parameter as it was defined.
#[derive(Debug)]
#[non_exhaustive]
pub struct Param {
    /// Its name on the wire.
    pub name: &'static str,
    /// Older names that are still taken.
    pub aliases: &'static [&'static str],
    /// What a model reads of it.
    pub description: &'static str,
    /// The schema of its type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Whether its type can be left out of a call.
    pub accepts_absent: fn() -> bool,
    /// What it is when it is left out.
    pub default: Option<fn() -> Value>,
    /// Example values.
    pub examples: &'static [fn() -> Value],
    /// What its values keep to.
    pub constraints: &'static [Constraint],
    /// The HTTP header that repeats it.
    pub header: Option<&'static str>,
    /// Whether its value is never shown in errors or logs.
    pub secret: bool,
    /// The schema, where the author wrote it out.
    pub explicit_schema: Option<fn() -> Value>,
}

/// What a value keeps to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// At least this.
    Min(Bound),
    /// At most this.
    Max(Bound),
    /// At least so many characters.
    MinLength(u64),
    /// At most so many characters.
    MaxLength(u64),
    /// At least so many items.
    MinItems(u64),
    /// At most so many items.
    MaxItems(u64),
    /// A regular expression that it matches.
    Pattern(&'static str),
    /// A format that JSON Schema knows.
    Format(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// A bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A whole number.
    Int(i128),
    /// Another number.
    Float(f64),
}

/// A type that can be a tool's parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's parameter",
    label = "needs `Deserialize` and `JsonSchema`",
    note = "for input: `#[derive(serde::Deserialize, schemars::JsonSchema)]` on the type",
    note = "for application state or the context: mark the parameter with `#[ctx]`"
)]
pub trait ToolParam: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ToolParam for T {}

impl Param {
    /// A parameter of a type.
    pub const fn of<T: ToolParam>(name: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            description: "",
            schema: |generator| generator.subschema_for::<T>(),
            accepts_absent: || absent::<T>().is_some(),
            default: None,
            examples: &[],
            constraints: &[],
            header: None,
            secret: false,
            explicit_schema: None,
        }
    }

    /// Whether a call must have it.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !(self.accepts_absent)()
    }
}

macro_rules! param_setters {
    ($($field:ident($argument:ident: $type:ty) = $value:expr;)*) => {
        impl Param {
            $(#[doc(hidden)] #[must_use] pub const fn $field(mut self, $argument: $type) -> Self {
                self.$field = $value;
                self
            })*
        }
    };
}

param_setters! {
    aliases(aliases: &'static [&'static str]) = aliases;
    description(description: &'static str) = description;
    default(default: fn() -> Value) = Some(default);
    examples(examples: &'static [fn() -> Value]) = examples;
    constraints(constraints: &'static [Constraint]) = constraints;
    header(header: &'static str) = Some(header);
    secret(secret: bool) = secret;
    explicit_schema(schema: fn() -> Value) = Some(schema);
}

/// What a type makes of an absent value: `None` for an `Option`, nothing for most.
pub(crate) fn absent<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Absent).ok()
}

/// Answers nothing but "is it an option?".
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

/// A parameter that is borrowed: what is kept for it while the tool runs.
pub trait RefParam {
    /// What is kept.
    type Slot;

    /// What the tool gets.
    fn get(slot: &Self::Slot) -> &Self;
}

impl<T> RefParam for T {
    type Slot = T;

    fn get(slot: &T) -> &T {
        slot
    }
}

impl RefParam for str {
    type Slot = String;

    fn get(slot: &String) -> &str {
        slot
    }
}

impl<T> RefParam for [T] {
    type Slot = Vec<T>;

    fn get(slot: &Vec<T>) -> &[T] {
        slot
    }
}

impl RefParam for Path {
    type Slot = PathBuf;

    fn get(slot: &PathBuf) -> &Path {
        slot
    }
}

/// The place of one argument while a call is read.
pub trait Slot {
    /// Reads the value at the beginning of the text and says how long it is.
    fn read(&mut self, json: &str) -> Result<usize, serde_json::Error>;

    /// Whether a value was read.
    fn is_filled(&self) -> bool;

    /// Takes absence for a value, if the type can.
    fn accept_absent(&mut self) -> bool;
}

/// The place of an argument of a type.
pub struct ArgSlot<T>(Option<T>);

impl<T: DeserializeOwned> Slot for ArgSlot<T> {
    fn read(&mut self, json: &str) -> Result<usize, serde_json::Error> {
        let mut stream = serde_json::Deserializer::from_str(json).into_iter();
        self.0 = stream.next().transpose()?;
        Ok(stream.byte_offset())
    }

    fn is_filled(&self) -> bool {
        self.0.is_some()
    }

    fn accept_absent(&mut self) -> bool {
        self.0 = absent();
        self.0.is_some()
    }
}

impl<T> ArgSlot<T> {
    /// An empty place.
    pub const fn new() -> Self {
        Self(None)
    }

    /// The argument; [`read_arguments`] has filled every place that has no default.
    pub fn take(self) -> T {
        self.0.expect("every argument was read or refused")
    }

    /// The argument, or the default.
    pub fn take_or(self, default: impl FnOnce() -> T) -> T {
        self.0.unwrap_or_else(default)
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

/// Where a type is no parameter, [`Param::of`] says so; this keeps the compiler from saying it again.
pub trait AnySlot {
    /// The place, whatever its type.
    fn slot(&mut self) -> &mut dyn Slot;
}

impl<T> AnySlot for ArgSlot<T> {
    fn slot(&mut self) -> &mut dyn Slot {
        unreachable!("a program with such a parameter does not compile")
    }
}

/// Reads the arguments of a call, a JSON object, into their places: one pass, all faults.
pub fn read_arguments(
    json: &str,
    params: &[Param],
    allow_unknown: bool,
    slots: &mut [&mut dyn Slot],
) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    match scan(json, params, allow_unknown, slots, &mut faults) {
        Ok(()) => {}
        Err(Malformed { expected, rest }) => {
            faults.push(fault("", expected, Some(rest), "send the arguments as one JSON object"))
        }
    }
    for (param, slot) in params.iter().zip(slots) {
        let known = |fault: &Fault| fault.path.strip_prefix('/') == Some(param.name);
        if !slot.is_filled() && param.default.is_none() && !slot.accept_absent() && !faults.iter().any(known) {
            faults.push(fault(param.name, "a value", None, &format!("`{}` is missing; add it", param.name)));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The text is not a JSON object.
struct Malformed<'a> {
    expected: &'static str,
    rest: &'a str,
}

fn scan<'a>(
    json: &'a str,
    params: &[Param],
    allow_unknown: bool,
    slots: &mut [&mut dyn Slot],
    faults: &mut Vec<Fault>,
) -> Result<(), Malformed<'a>> {
    let mut rest = expect(json.trim_start_matches(SPACE), '{')?;
    if let Some(end) = rest.strip_prefix('}') {
        return at_end(end);
    }
    loop {
        let (key, after) = read_key(rest)?;
        rest = expect(after, ':')?;
        let found = params.iter().position(|param| param.name == key || param.aliases.contains(&&*key));
        let length = match found {
            Some(index) => read_argument(rest, &params[index], &mut *slots[index], faults)?,
            None => {
                if !allow_unknown {
                    faults.push(unknown(&key, params));
                }
                value_length(rest)?
            }
        };
        rest = rest[length..].trim_start_matches(SPACE);
        match rest.as_bytes().first() {
            Some(b',') => rest = rest[1..].trim_start_matches(SPACE),
            Some(b'}') => return at_end(&rest[1..]),
            _ => return Err(Malformed { expected: "`,` or `}`", rest }),
        }
    }
}

const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

fn expect(json: &str, token: char) -> Result<&str, Malformed<'_>> {
    let json = json.trim_start_matches(SPACE);
    let expected = if token == '{' { "an object" } else { "`:`" };
    json.strip_prefix(token).map(|rest| rest.trim_start_matches(SPACE)).ok_or(Malformed { expected, rest: json })
}

fn at_end(rest: &str) -> Result<(), Malformed<'_>> {
    let rest = rest.trim_start_matches(SPACE);
    if rest.is_empty() { Ok(()) } else { Err(Malformed { expected: "the end", rest }) }
}

/// The key at the beginning of the text, borrowed where it has no escapes, and what follows it.
fn read_key(json: &str) -> Result<(Cow<'_, str>, &str), Malformed<'_>> {
    let plain = json.strip_prefix('"').and_then(|text| {
        let end = text.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
        (text.as_bytes()[end] == b'"').then(|| (Cow::Borrowed(&text[..end]), &text[end + 1..]))
    });
    plain.map_or_else(
        || {
            let malformed = Malformed { expected: "a key", rest: json };
            let mut stream = serde_json::Deserializer::from_str(json).into_iter::<String>();
            match stream.next() {
                Some(Ok(key)) => Ok((Cow::Owned(key), &json[stream.byte_offset()..])),
                _ => Err(malformed),
            }
        },
        Ok,
    )
}

fn read_argument<'a>(
    json: &'a str,
    param: &Param,
    slot: &mut dyn Slot,
    faults: &mut Vec<Fault>,
) -> Result<usize, Malformed<'a>> {
    if slot.is_filled() {
        faults.push(fault(param.name, "one value", None, &format!("`{}` stands twice; keep one", param.name)));
        return value_length(json);
    }
    // A null stands for what may be left out.
    if param.default.is_some() && json.starts_with("null") {
        return value_length(json);
    }
    match slot.read(json) {
        Ok(length) => Ok(length),
        Err(error) => {
            let length = value_length(json)?;
            faults.push(mistyped(param, &json[..length], &error));
            Ok(length)
        }
    }
}

/// How long the value at the beginning of the text is.
fn value_length(json: &str) -> Result<usize, Malformed<'_>> {
    let mut stream = serde_json::Deserializer::from_str(json).into_iter::<IgnoredAny>();
    match stream.next() {
        Some(Ok(_)) => Ok(stream.byte_offset()),
        _ => Err(Malformed { expected: "a JSON value", rest: json }),
    }
}

fn mistyped(param: &Param, json: &str, error: &serde_json::Error) -> Fault {
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or(&reason);
    let (reason, expected) = match reason.rsplit_once(", expected ") {
        Some((_, expected)) => (reason, expected),
        None => (reason, "another value"),
    };
    if param.secret {
        return fault(param.name, expected, None, &format!("`{}` must be {expected}", param.name));
    }
    fault(param.name, expected, Some(json), &format!("`{}`: {}", param.name, shown(reason)))
}

fn unknown(key: &str, params: &[Param]) -> Fault {
    let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name)).collect();
    let remedy = match names.as_slice() {
        [] => "the tool takes none: remove it".to_owned(),
        names => format!("the tool takes {}", names.join(", ")),
    };
    fault(&shown(key), "a known argument", None, &format!("there is no argument `{}`; {remedy}", shown(key)))
}

fn fault(name: &str, expected: &str, got: Option<&str>, message: &str) -> Fault {
    let path = if name.is_empty() { String::new() } else { format!("/{}", name.replace('~', "~0").replace('/', "~1")) };
    let got = got.map(|got| shown(got).into_owned());
    Fault { path, expected: expected.to_owned(), got, message: message.to_owned() }
}

/// The fault of arguments that are read as one struct.
pub(crate) fn whole(error: &serde_json::Error) -> Fault {
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or(&reason);
    let expected = reason.rsplit_once(", expected ").map_or("other arguments", |(_, expected)| expected);
    fault("", &cut(expected, 200), None, &cut(reason, 200))
}
