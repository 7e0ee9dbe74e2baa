//! The types that the compiler recognizes: what kind they are, and a constant schema.
//!
//! A plain type enforces everything that its schema says, so its arguments are read without a check against the schema.
//! Everything that is not in this table is checked first.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::marker::PhantomData;
use std::num::{NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use serde_json::Value;

use super::{Constraint, Param};
use crate::schema::profile::without_nulls;

/// A type that enforces everything that its schema says.
#[derive(Debug, PartialEq, Eq)]
pub struct Plain {
    /// The type of JSON Schema.
    pub(crate) json_type: &'static str,
    /// The other keywords, each after a comma.
    pub(crate) rules: &'static str,
    /// Whether values may have to be edited before the type accepts them: the integer `2.0` in a list.
    pub(crate) has_edits: bool,
}

impl Plain {
    const fn new(json_type: &'static str, rules: &'static str) -> Self {
        Self { json_type, rules, has_edits: false }
    }

    const fn list(of: &str, rules: &'static str) -> Self {
        Self { json_type: "array", rules, has_edits: matches!(of.as_bytes(), b"integer") }
    }
}

/// The kind of a parameter's type, as far as the compiler can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// A number.
    Number,
    /// A string.
    Text,
    /// A list.
    List,
    /// None of them.
    Other,
    /// A type that is not in the table.
    Unknown,
}

impl TypeKind {
    /// Whether the compiler knows the type.
    pub const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }

    /// Whether a constraint for one kind can be on a type of this kind.
    pub const fn fits(self, required: Self) -> bool {
        matches!(self, Self::Unknown) || self as u8 == required as u8
    }
}

/// Looks up a type in the table.
pub struct KindOf<T: ?Sized>(PhantomData<T>);

/// Every type that is not in the table.
pub trait UnknownKind {
    /// Unknown.
    const KIND: TypeKind = TypeKind::Unknown;
    /// Unknown.
    const PLAIN: Option<&'static Plain> = None;
}

impl<T: ?Sized> UnknownKind for KindOf<T> {}

macro_rules! plain_types {
    ($($kind:ident $json_type:literal $rules:literal: $($type:ty),*;)*) => {$($(
        impl KindOf<$type> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::$kind;
            /// Known.
            pub const PLAIN: Option<&'static Plain> = Some(&Plain::new($json_type, $rules));
        }
        impl KindOf<Option<$type>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::$kind;
            /// Known.
            pub const PLAIN: Option<&'static Plain> = Some(&Plain::new($json_type, $rules));
        }
        impl KindOf<Vec<$type>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::List;
            /// Known.
            pub const PLAIN: Option<&'static Plain> =
                Some(&Plain::list($json_type, concat!(r#","items":{"type":""#, $json_type, "\"", $rules, "}")));
        }
        impl KindOf<Option<Vec<$type>>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::List;
            /// Known.
            pub const PLAIN: Option<&'static Plain> =
                Some(&Plain::list($json_type, concat!(r#","items":{"type":""#, $json_type, "\"", $rules, "}")));
        }
        #[cfg(test)]
        impl tests::InTable for $type {}
    )*)*};
}

plain_types! {
    Other "boolean" "": bool;
    Number "integer" r#","minimum":-128,"maximum":127"#: i8;
    Number "integer" r#","minimum":-32768,"maximum":32767"#: i16;
    Number "integer" r#","minimum":-2147483648,"maximum":2147483647"#: i32;
    Number "integer" "": i64, i128, isize;
    Number "integer" r#","minimum":0,"maximum":255"#: u8;
    Number "integer" r#","minimum":0,"maximum":65535"#: u16;
    Number "integer" r#","minimum":0,"maximum":4294967295"#: u32;
    Number "integer" r#","minimum":0"#: u64, u128, usize;
    Number "integer" r#","minimum":1,"maximum":255"#: NonZeroU8;
    Number "integer" r#","minimum":1,"maximum":65535"#: NonZeroU16;
    Number "integer" r#","minimum":1,"maximum":4294967295"#: NonZeroU32;
    Number "integer" r#","minimum":1"#: NonZeroU64;
    Number "integer" r#","minimum":-128,"maximum":127,"not":{"type":"integer","enum":[0]}"#: NonZeroI8;
    Number "integer" r#","minimum":-32768,"maximum":32767,"not":{"type":"integer","enum":[0]}"#: NonZeroI16;
    Number "integer" r#","minimum":-2147483648,"maximum":2147483647,"not":{"type":"integer","enum":[0]}"#: NonZeroI32;
    Number "integer" r#","not":{"type":"integer","enum":[0]}"#: NonZeroI64;
    Number "number" "": f32, f64;
    Text "string" "": String, PathBuf, Box<str>, Cow<'static, str>;
    Text "string" r#","minLength":1,"maxLength":1"#: char;
}

#[cfg(feature = "chrono")]
plain_types! {
    Text "string" r#","format":"date""#: chrono::NaiveDate;
    Text "string" r#","format":"date-time""#: chrono::DateTime<chrono::Utc>, chrono::DateTime<chrono::FixedOffset>;
}

#[cfg(feature = "url")]
plain_types! {
    Text "string" r#","format":"uri""#: url::Url;
}

#[cfg(feature = "uuid")]
plain_types! {
    Text "string" r#","format":"uuid""#: uuid::Uuid;
}

/// Types whose kind is known, and whose values are checked.
macro_rules! kinds {
    ($($kind:ident: $($type:ty),*;)*) => {$($(
        impl KindOf<$type> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::$kind;
        }
        impl KindOf<Option<$type>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::$kind;
        }
    )*)*};
}

kinds! {
    Other: ();
}

macro_rules! lists {
    ($($list:ident),*) => {$(
        impl<T> KindOf<$list<T>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::List;
        }
        impl<T> KindOf<Option<$list<T>>> {
            /// Known.
            pub const KIND: TypeKind = TypeKind::List;
        }
    )*};
}

lists!(VecDeque, BTreeSet);

impl<T, S> KindOf<HashSet<T, S>> {
    /// Known.
    pub const KIND: TypeKind = TypeKind::List;
}

impl<T, const N: usize> KindOf<[T; N]> {
    /// Known.
    pub const KIND: TypeKind = TypeKind::List;
}

impl Param {
    /// Returns whether the type and the generated code enforce everything that the schema of the parameter says.
    pub fn is_enforced_by_type(&self) -> bool {
        let is_checked = |constraint: &Constraint| matches!(constraint, Constraint::Pattern(_) | Constraint::Format(_));
        self.plain.is_some() && self.explicit_schema.is_none() && !self.constraints.iter().any(is_checked)
    }

    /// Returns whether arguments may have to be edited before the type accepts them, though their schema does.
    #[doc(hidden)]
    pub fn may_need_edits(&self) -> bool {
        self.plain.is_none_or(|plain| plain.has_edits)
    }
}

/// Appends the schema of parameters, if all of them are plain and without constraints. It is the same schema that the model
/// would write.
pub(crate) fn write_schema(params: &[Param], allow_unknown: bool, out: &mut Vec<u8>) -> bool {
    let is_constant =
        |param: &Param| param.plain.is_some() && param.constraints.is_empty() && param.explicit_schema.is_none();
    if !params.iter().all(is_constant) {
        return false;
    }
    out.extend_from_slice(br#"{"type":"object","properties":{"#);
    for (index, param) in params.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(param.name, out);
        write_param(param, out);
    }
    out.push(b'}');
    let mut is_first = true;
    for param in params.iter().filter(|param| param.is_required()) {
        out.extend_from_slice(if std::mem::take(&mut is_first) { br#","required":["# } else { b"," });
        write_json(param.name, out);
    }
    if !is_first {
        out.push(b']');
    }
    out.extend_from_slice(if allow_unknown { b"}" } else { br#","additionalProperties":false}"# });
    true
}

fn write_param(param: &Param, out: &mut Vec<u8>) {
    let Some(plain) = param.plain else { return };
    out.extend_from_slice(br#":{"type":""#);
    out.extend_from_slice(plain.json_type.as_bytes());
    out.push(b'"');
    if !param.description.is_empty() {
        out.extend_from_slice(br#","description":"#);
        write_json(param.description, out);
    }
    out.extend_from_slice(plain.rules.as_bytes());
    if let Some(default) = param.default.map(|default| without_nulls(default())).filter(|value| !value.is_null()) {
        out.extend_from_slice(br#","default":"#);
        write_json(&default, out);
    }
    if !param.examples.is_empty() {
        out.extend_from_slice(br#","examples":"#);
        write_json(&param.examples.iter().map(|example| without_nulls(example())).collect::<Vec<Value>>(), out);
    }
    if let Some(header) = param.header {
        out.extend_from_slice(br#","x-mcp-header":"#);
        write_json(header, out);
    }
    out.push(b'}');
}

fn write_json(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    // A buffer in memory accepts everything, and strings and values are JSON.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use super::{KindOf, UnknownKind as _, write_schema};
    use crate::param::schema::{InputSchema, Signature};
    use crate::param::{Param, ToolParam};

    /// The types of the table.
    pub(super) trait InTable: ToolParam {}

    /// The constant schema of a type is the one that schemars and the model make of it.
    fn same<T: ToolParam>(plain: Option<&'static super::Plain>) {
        let name = std::any::type_name::<T>();
        assert!(plain.is_some(), "{name} is not in the table");
        let params = [Param::of::<T>("value").description("A \"value\".").plain(plain)];
        let mut constant = Vec::new();
        assert!(write_schema(&params, false, &mut constant));
        let mut modelled = Vec::new();
        let signature = Signature { params: &params, flatten: false, allow_unknown: false };
        InputSchema::new(signature).unwrap().write(&mut modelled);
        assert_eq!(String::from_utf8(constant).unwrap(), String::from_utf8(modelled).unwrap(), "{name}");
    }

    macro_rules! same {
        ($($type:ty),* $(,)?) => {$(
            {
                fn in_table<T: InTable>() {}
                in_table::<$type>();
            }
            same::<$type>(KindOf::<$type>::PLAIN);
            same::<Option<$type>>(KindOf::<Option<$type>>::PLAIN);
            same::<Vec<$type>>(KindOf::<Vec<$type>>::PLAIN);
            same::<Option<Vec<$type>>>(KindOf::<Option<Vec<$type>>>::PLAIN);
        )*};
    }

    #[test]
    fn constant_schemas_are_those_of_the_types() {
        use std::borrow::Cow;
        use std::num::{NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};
        use std::path::PathBuf;
        same!(
            bool,
            i8,
            i16,
            i32,
            i64,
            i128,
            isize,
            u8,
            u16,
            u32,
            u64,
            u128,
            usize,
            NonZeroU8,
            NonZeroU16,
            NonZeroU32,
            NonZeroU64,
            NonZeroI8,
            NonZeroI16,
            NonZeroI32,
            NonZeroI64,
            f32,
            f64,
            String,
            PathBuf,
            Box<str>,
            Cow<'static, str>,
            char,
        );
        #[cfg(feature = "chrono")]
        same!(chrono::NaiveDate, chrono::DateTime<chrono::Utc>, chrono::DateTime<chrono::FixedOffset>);
        #[cfg(feature = "url")]
        same!(url::Url);
        #[cfg(feature = "uuid")]
        same!(uuid::Uuid);
    }

    #[test]
    fn types_that_are_not_in_the_table_are_checked() {
        assert!(KindOf::<serde_json::Value>::PLAIN.is_none());
        assert!(KindOf::<Vec<Vec<u8>>>::PLAIN.is_none());
        assert!(KindOf::<std::collections::HashMap<String, u8>>::PLAIN.is_none());
    }
}
