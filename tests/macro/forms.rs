//! Functions in all their forms.

use std::borrow::Cow;
use std::path::Path;

use mcp_core::entry::{Call, ToolEntry, entries};
use mcp_core::serde_json::{Value, json};
use mcp_core::{mcp_tool, tools};

use super::{call, entry};

/// Adds.
#[mcp_tool(module = "forms")]
fn plain(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds.
#[mcp_tool(module = "forms")]
async fn waits(a: i64, b: i64) -> i64 {
    std::future::ready(a).await + b
}

#[test]
fn a_tool_can_still_be_called_as_a_function() {
    assert!(matches!(entry("forms.plain").call, Call::Sync(_)));
    assert!(matches!(entry("forms.waits").call, Call::Async(_)));
    assert_eq!(call("forms.plain", r#"{"a": 1, "b": 2}"#), json!(3));
    assert_eq!(call("forms.waits", r#"{"a": 1, "b": 2}"#), json!(3));
    assert_eq!(plain(1, 2), 3);
    assert_eq!(mcp_core::support::block_on(waits(1, 2)), 3);
    let _: fn(i64, i64) -> i64 = plain;
}

#[test]
fn an_entry_has_its_place_in_the_source() {
    let origin = &entry("forms.plain").origin;
    let text = format!("{origin:?}");
    assert!(text.contains("mcp-tests") && text.contains("macros::forms") && text.contains("\"plain\""), "{text}");
    assert!(text.contains("forms.rs"), "{text}");
}

/// Tools of every visibility.
#[allow(unreachable_pub, reason = "it is to be tried")]
pub mod open {
    use super::*;

    /// Seen everywhere.
    #[mcp_tool(module = "forms")]
    pub fn seen_everywhere() -> u8 {
        1
    }

    /// Seen in the crate.
    #[mcp_tool(module = "forms")]
    pub(crate) fn seen_in_crate() -> u8 {
        2
    }

    /// Seen in the module above.
    #[mcp_tool(module = "forms")]
    pub(super) fn seen_above() -> u8 {
        3
    }

    /// Seen in a path.
    #[mcp_tool(module = "forms")]
    pub(in crate::forms) fn seen_in_path() -> u8 {
        4
    }
}

#[test]
fn visibility_is_kept() {
    let named: [&ToolEntry; 4] =
        tools![open::seen_everywhere, open::seen_in_crate, open::seen_above, self::open::seen_in_path];
    let values: Vec<_> = named.iter().map(|entry| call(entry.name, "{}")).collect();
    assert_eq!(values, [1, 2, 3, 4]);
    assert_eq!(open::seen_everywhere() + open::seen_in_crate() + open::seen_above() + open::seen_in_path(), 10);
}

#[test]
fn a_tool_can_be_defined_inside_a_function() {
    /// Inside.
    #[mcp_tool(module = "forms")]
    fn in_a_body(a: u8) -> u8 {
        a
    }

    assert_eq!(call("forms.in_a_body", r#"{"a": 7}"#), json!(7));
    assert_eq!(in_a_body(7), 7);
}

/// There.
#[cfg(test)]
#[mcp_tool(module = "forms")]
fn cfg_before() {}

/// There.
#[mcp_tool(module = "forms")]
#[cfg(test)]
fn cfg_after() {}

/// Not there.
#[cfg(not(test))]
#[mcp_tool(module = "forms")]
fn cfg_off_before(_: NoSuchType) {}

/// Not there.
#[mcp_tool(module = "forms")]
#[cfg(not(test))]
fn cfg_off_after(a: NoSuchType) {}

/// By `cfg_attr`.
#[cfg_attr(test, mcp_tool(module = "forms"))]
fn cfg_attribute() {}

#[test]
fn cfg_decides_whether_there_is_a_tool() {
    for name in ["forms.cfg_before", "forms.cfg_after", "forms.cfg_attribute"] {
        entry(name);
    }
    assert!(!entries().any(|entry| entry.name.starts_with("forms.cfg_off")));
    cfg_before();
    cfg_after();
    cfg_attribute();
}

#[inline]
#[must_use]
#[mcp_tool(module = "forms")]
#[allow(clippy::many_single_char_names)]
/// Described after the attribute.
fn attributes_around(
    #[allow(unused_variables)]
    /// The first.
    a: u8,
) -> u8 {
    1
}

#[test]
fn other_attributes_do_not_matter() {
    let entry = entry("forms.attributes_around");
    assert_eq!(entry.description, "Described after the attribute.");
    assert_eq!(entry.params[0].description, "The first.");
    assert_eq!(call("forms.attributes_around", r#"{"a": 1}"#), json!(1));
    assert_eq!(attributes_around(1), 1);
}

/// Raw.
#[mcp_tool(module = "forms")]
fn r#match(r#type: u8, r#in: Option<u8>) -> u8 {
    r#type + r#in.unwrap_or_default()
}

#[test]
fn raw_identifiers_lose_their_prefix() {
    let params: Vec<_> = entry("forms.match").params.iter().map(|param| param.name).collect();
    assert_eq!(params, ["type", "in"]);
    assert_eq!(call("forms.match", r#"{"type": 1, "in": 2}"#), json!(3));
    assert_eq!(r#match(1, None), 1);
    assert_eq!(tools![r#match][0].name, "forms.match");
}

/// Old.
#[mcp_tool(module = "forms", version = "2.1.0")]
#[deprecated]
fn old() {}

/// Old since.
#[deprecated(since = "1.1.0", note = "use `plain`")]
#[mcp_tool(module = "forms", version = "2.1.0")]
fn old_since() {}

#[test]
fn deprecated_functions_are_deprecated_tools() {
    assert_eq!(entry("forms.old").deprecated_in, Some("2.1.0"));
    assert_eq!(entry("forms.old_since").deprecated_in, Some("1.1.0"));
    call_nothing("forms.old");
}

fn call_nothing(name: &str) {
    super::call_with(&mcp_core::ToolContext::for_test(), name, "{}").expect("it returns");
}

/// Borrows.
#[mcp_tool(module = "forms")]
fn lifetimes<'a>(text: &'a str, list: &[u8], path: &Path, cow: Cow<'a, str>, number: &u16) -> &'a str {
    assert_eq!((list, path, &*cow, *number), (&[1, 2][..], Path::new("a/b"), "c\n", 5));
    text
}

/// Borrows and waits.
#[mcp_tool(module = "forms")]
async fn lifetimes_and_waits(text: &str, cow: Cow<'_, str>) -> String {
    std::future::ready(()).await;
    format!("{text}{cow}")
}

/// Returns what it owns.
#[mcp_tool(module = "forms")]
fn returns_static() -> &'static str {
    "static"
}

#[test]
fn parameters_can_be_borrowed() {
    let arguments = r#"{"text": "a\tb", "list": [1, 2], "path": "a/b", "cow": "c\n", "number": 5}"#;
    assert_eq!(call("forms.lifetimes", arguments), json!("a\tb"));
    assert_eq!(call("forms.lifetimes_and_waits", r#"{"text": "a", "cow": "b"}"#), json!("ab"));
    assert_eq!(call("forms.returns_static", "{}"), json!("static"));
}

/// Many.
#[mcp_tool(module = "forms")]
#[rustfmt::skip]
fn many(
    a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8, j: u8, k: u8, l: u8, m: u8, n: u8, o: u8, p: u8, q: u8, r: u8,
    s: u8, t: u8, u: u8, v: u8, w: u8, x: u8,
) -> u8 {
    a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w + x
}

#[test]
fn a_tool_can_have_24_parameters() {
    let arguments: Value = ('a'..='x').map(|name| (name.to_string(), json!(1))).collect();
    assert_eq!(call("forms.many", &arguments.to_string()), json!(24));
}

/// Names that mean something else here.
mod shadows {
    use mcp_core::mcp_tool;

    #[allow(dead_code, clippy::upper_case_acronyms)]
    mod taken {
        pub(super) struct Result;
        pub(super) struct Some;
        pub(super) struct None;
        pub(super) struct Ok;
        pub(super) struct Err;
        pub(super) struct Vec;
        pub(super) struct String;
        pub(super) struct Option;
        pub(super) struct Box;
        pub(super) struct Value;
        pub(super) trait Default {}
        pub(super) trait Into {}
        pub(super) mod core {}
        pub(super) mod std {}
    }
    #[allow(unused_imports)]
    use taken::*;

    /// Counts.
    #[mcp_tool(module = "forms")]
    pub(super) fn shadowed(
        text: ::std::string::String,
        #[arg(default = "x", example = "y")] more: ::std::string::String,
        #[arg(default, min = 0)] number: u64,
        list: ::std::option::Option<::std::vec::Vec<u8>>,
    ) -> ::std::result::Result<usize, ::std::string::String> {
        let length = list.map_or(0, |list| list.len()) + usize::try_from(number).unwrap_or(0);
        ::std::result::Result::Ok(text.len() + more.len() + length)
    }
}

#[test]
fn names_of_the_prelude_can_be_shadowed() {
    assert_eq!(call("forms.shadowed", r#"{"text": "ab", "list": [1]}"#), json!(4));
    assert_eq!(shadows::shadowed(String::new(), String::new(), 0, None), Ok(0));
}

macro_rules! make {
    (titled $title:literal $(#[$attribute:meta])* $name:ident($argument:ident: $type:ty = $default:expr) -> $output:ty) => {
        $(#[$attribute])*
        #[mcp_tool(module = "forms", title = $title)]
        fn $name(#[arg(default = $default)] $argument: $type) -> $output {
            $argument.into()
        }
    };
}

make! { titled "Made"
    /// Made by a macro.
    made(text: &str = "nothing") -> String
}

make! { titled "Widened"
    /// Made by a macro.
    widened(number: u8 = 7) -> u64
}

macro_rules! make_plain {
    ($name:ident, $waiting:ident, $context:ty, $all:ty) => {
        /// Returns nothing.
        #[mcp_tool(module = "forms")]
        fn $name(#[ctx] cx: &$context, #[ctx] owned: $context) {
            assert_eq!(cx.tool_name(), owned.tool_name());
        }

        /// Waits for nothing.
        #[mcp_tool(module = "forms")]
        async fn $waiting(#[ctx] _cx: &$context, #[arg(flatten)] _all: $all) {}
    };
}

/// All of it.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct AllOfIt {}

make_plain!(made_plain, made_waiting, mcp_core::ToolContext, AllOfIt);

#[test]
fn macros_can_make_tools_that_return_nothing() {
    let registry = mcp_registry::Registry::builder_of(mcp_core::tools![made_plain, made_waiting]).build().unwrap();
    for name in ["forms.made_plain", "forms.made_waiting"] {
        assert!(!registry.call_blocking(&mcp_core::ToolCall::new(name, json!({}))).is_failure());
    }
}

#[test]
fn macros_can_make_tools() {
    assert_eq!(entry("forms.made").title, Some("Made"));
    assert_eq!(entry("forms.made").description, "Made by a macro.");
    assert_eq!(call("forms.made", "{}"), json!("nothing"));
    assert_eq!(call("forms.made", r#"{"text": "a"}"#), json!("a"));
    assert_eq!(call("forms.widened", "{}"), json!(7));
    assert_eq!((made("a"), widened(1)), ("a".to_owned(), 1));
}

/// Another name for the crate.
mod facade {
    /// Deep.
    pub(crate) mod inside {
        pub(crate) use mcp_core::__private;
    }
    pub(crate) use mcp_core::mcp_tool as tool;
}

/// Through the facade.
#[facade::tool(module = "forms", crate = crate::forms::facade::inside)]
fn by_another_path(a: u8) -> u8 {
    a
}

#[test]
fn the_crate_can_be_named_by_another_path() {
    assert_eq!(call("forms.by_another_path", r#"{"a": 3}"#), json!(3));
}

type Maybe<T> = Option<T>;
type Text = String;
type Outcome<T> = Result<T, Text>;

/// Aliases.
#[mcp_tool(module = "forms")]
fn aliases(text: Maybe<Text>, fail: bool) -> Outcome<Maybe<Text>> {
    if fail { Err("as asked".into()) } else { Ok(text) }
}

#[test]
fn type_aliases_are_treated_as_the_types_they_name() {
    assert_eq!(super::input("forms.aliases")["required"], json!(["fail"]));
    assert_eq!(call("forms.aliases", r#"{"fail": false}"#), json!(null));
    assert_eq!(call("forms.aliases", r#"{"fail": false, "text": "a"}"#), json!("a"));
    let error = super::call_with(&mcp_core::ToolContext::for_test(), "forms.aliases", r#"{"fail": true}"#);
    assert!(matches!(error, Err(mcp_core::error::CallError::Tool(error)) if error.message() == "as asked"));
}

/// Names that the expansion uses.
mod same_names {
    use mcp_core::schemars::{self, JsonSchema};
    use mcp_core::{ToolContext, mcp_tool};
    use serde::{Deserialize, Serialize};

    /// Called like a trait of the crate.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(super) struct NoSchema(pub(super) u8);

    /// Called like what tells types apart.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(super) struct Outcome(pub(super) u8);

    /// Called like another trait.
    pub(super) struct CtxState(pub(super) u8);

    /// Called like a function of the crate.
    #[mcp_tool(module = "forms")]
    pub(super) fn read_arguments(json: NoSchema, #[ctx] cx: &CtxState, #[ctx] own: &ToolContext) -> Outcome {
        let _ = own;
        Outcome(json.0 + cx.0)
    }
}

#[test]
fn names_of_the_crate_can_be_reused() {
    let cx = mcp_core::ToolContext::for_test().with_state(same_names::CtxState(1));
    let (_, value) = super::call_with(&cx, "forms.read_arguments", r#"{"json": 2}"#).unwrap();
    assert_eq!(value, json!(3));
}

/// `mut`, and a name with an underscore.
#[mcp_tool(module = "forms")]
fn mutable(mut a: u8, _b: u8) -> u8 {
    a += 1;
    a
}

#[test]
fn a_parameter_can_be_mutable() {
    assert_eq!(call("forms.mutable", r#"{"a": 1, "_b": 1}"#), json!(2));
}
