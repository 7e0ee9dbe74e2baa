//! Reading the arguments of a call: one pass, all faults at once, each with its path, bounded, and no secret in them.

#![allow(clippy::needless_pass_by_value, reason = "a tool owns what it takes")]

mod alone;
mod map_keys;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use mcp_registry::entry::{ToolEntry, entries};
use mcp_registry::error::Fault;
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{self, Value, json};
use mcp_registry::{CallOptions, Error, Registry, mcp_tool, tools};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Filter {
    date: String,
    #[serde(default)]
    days: Vec<u8>,
    inner: Option<Box<Filter>>,
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[mcp_tool(module = "args")]
fn plain(number: i64, text: String, #[arg(default = 5)] count: u8, flag: Option<bool>) -> Value {
    json!([number, text, count, flag])
}

#[mcp_tool(module = "args")]
fn any(value: Value) -> usize {
    value.to_string().len()
}

#[mcp_tool(module = "args")]
fn nested(
    filters: Vec<Filter>,
    color: Option<Color>,
    by_name: Option<BTreeMap<String, u8>>,
    pair: Option<(u8, u8)>,
) -> Value {
    json!([filters, color, by_name, pair])
}

#[mcp_tool(module = "args")]
fn keyed(
    colors: Option<BTreeMap<Color, u8>>,
    numbers: Option<Vec<BTreeMap<u8, u8>>>,
    #[arg(secret)] secrets: Option<BTreeMap<Color, u8>>,
) -> Value {
    json!([colors, numbers, secrets])
}

#[mcp_tool(module = "args")]
fn keyed_all(#[arg(flatten)] all: Keyed) -> Value {
    json!(all)
}

#[mcp_tool(module = "args")]
fn colors_only(#[arg(flatten)] colors: BTreeMap<Color, u8>) -> Value {
    json!(colors)
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keyed {
    colors: BTreeMap<Color, u8>,
}

#[mcp_tool(module = "args")]
fn login(user: String, #[arg(secret, min_length = 4)] password: String, #[arg(secret)] pin: Option<u16>) -> String {
    format!("{user}{password}{pin:?}")
}

#[mcp_tool(module = "args")]
fn renamed(#[arg(rename = "a/b~c", alias = "old")] value: u8) -> u8 {
    value
}

#[mcp_tool(module = "args", allow_unknown_arguments)]
fn open(a: u8) -> u8 {
    a
}

#[mcp_tool(module = "args")]
fn none() {}

#[mcp_tool(module = "args")]
fn bounded(
    #[arg(min = -1, max = 10)] small: Option<i8>,
    #[arg(max = 18446744073709551614)] large: Option<u64>,
    #[arg(min = 0.5, max = 1.5)] ratio: Option<f64>,
    #[arg(min_length = 2, max_length = 3)] text: Option<String>,
    #[arg(min_length = 2)] path: Option<PathBuf>,
    #[arg(min_items = 1, max_items = 2)] list: Option<Vec<Value>>,
    #[arg(one_of("a", "b\n"))] choice: Option<String>,
    #[arg(min = 3, default = 4)] defaulted: u8,
) -> Value {
    json!([small, large, ratio, text, path, list, choice, defaulted])
}

fn entry(name: &str) -> &'static ToolEntry {
    entries().find(|entry| entry.name == format!("args.{name}")).unwrap_or_else(|| panic!("there is no tool {name}"))
}

/// Calls a tool with a text for its arguments, as it is. Returns its value, or the faults of the arguments.
fn call(name: &str, arguments: &str) -> Result<Value, Vec<Fault>> {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let entries = entries().filter(|entry| entry.name.starts_with("args."));
        Registry::builder_of(entries).build().unwrap_or_else(|error| panic!("{error}"))
    });
    let mut out = Vec::new();
    let name = entry(name).name;
    match REGISTRY.call_bytes_blocking(name, arguments.as_bytes(), &CallOptions::new(), &mut out) {
        Ok(()) => {
            let answer: Value = serde_json::from_slice(&out).expect("a result is JSON");
            let data = &answer["data"];
            Ok(data.get("result").unwrap_or(data).clone())
        }
        Err(Error::Schema(error)) => {
            assert!(!error.faults.is_empty());
            error.faults.iter().for_each(assert_bounded);
            Err(error.faults)
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn assert_bounded(fault: &Fault) {
    let sizes =
        [fault.message.len(), fault.path.len(), fault.expected.len(), fault.got.as_ref().map_or(0, String::len)];
    assert!(sizes.iter().all(|size| *size <= 300), "{sizes:?}: {fault:?}");
    let all = format!("{}{}{}{:?}", fault.message, fault.path, fault.expected, fault.got);
    assert!(!all.contains(char::is_control), "{all:?}");
    assert!(fault.message.contains("; "), "no remedy: {}", fault.message);
}

fn faults(name: &str, arguments: &str) -> Vec<Fault> {
    call(name, arguments).expect_err(arguments)
}

fn messages(name: &str, arguments: &str) -> Vec<(String, String)> {
    faults(name, arguments).into_iter().map(|fault| (fault.path, fault.message)).collect()
}

fn expect(name: &str, arguments: &str, expected: &[(&str, &str)]) {
    let found = messages(name, arguments);
    let found: Vec<(&str, &str)> = found.iter().map(|(path, message)| (path.as_str(), message.as_str())).collect();
    assert_eq!(found, expected, "{arguments}");
}

#[test]
fn good_arguments_are_read() {
    let good = json!([1, "a", 5, null]);
    assert_eq!(call("plain", r#"{"number":1,"text":"a"}"#).unwrap(), good);
    assert_eq!(call("plain", r#"{"text":"a","flag":null,"count":null,"number":1}"#).unwrap(), good);
    assert_eq!(call("plain", "\n{ \"number\"\t:\r1 ,\n\"text\" : \"a\" }\n ").unwrap(), good);
    assert_eq!(call("plain", r#"{"n\u0075mber":1,"\u0074ext":"\u0061"}"#).unwrap(), good);
    let all = r#"{"number":-1,"text":"\n","count":255,"flag":true}"#;
    assert_eq!(call("plain", all).unwrap(), json!([-1, "\n", 255, true]));
    assert_eq!(call("none", "{}").unwrap(), Value::Null);
    assert_eq!(call("none", " { } ").unwrap(), Value::Null);
    assert_eq!(call("renamed", r#"{"a/b~c":1}"#).unwrap(), 1);
    assert_eq!(call("renamed", r#"{"old":1}"#).unwrap(), 1);
    assert_eq!(call("open", r#"{"x":{"y":[1]},"a":1,"x":2}"#).unwrap(), 1);
}

#[test]
fn all_faults_are_reported_at_once() {
    expect(
        "plain",
        r#"{"number":"x","count":1.5,"more":[1],"flag":null}"#,
        &[
            ("/number", "`number` must be an integer, not \"x\"; correct the value"),
            ("/count", "`count` must be an integer from 0 to 255, not 1.5; correct the value"),
            ("/more", "there is no argument `more`; remove it, or use one of `number`, `text`, `count`, `flag`"),
            ("/text", "`text` is missing; add it"),
        ],
    );
}

#[test]
fn a_number_beyond_its_type_is_told_the_bound() {
    expect(
        "plain",
        r#"{"number":1,"text":"a","count":300}"#,
        &[("/count", "`count` must be a number of at most 255, not 300; correct the value")],
    );
    let pin = &faults("login", r#"{"user":"u","password":"abcd","pin":70000}"#)[0];
    assert_eq!(pin.message, "`pin` must be a number of at most 65535; correct the value");
}

#[test]
fn an_option_of_another_type_is_told_the_type_that_the_schema_shows() {
    expect(
        "plain",
        r#"{"number":1,"text":"a","flag":1}"#,
        &[("/flag", "`flag` must be a boolean, not 1; correct the value")],
    );
}

#[test]
fn a_fault_says_what_was_expected_and_what_was_received() {
    let fault = &faults("plain", r#"{"number":1.5,"text":"a"}"#)[0];
    assert_eq!((fault.expected.as_str(), fault.got.as_deref()), ("an integer", Some("1.5")));
    expect("plain", r#"{"number":null,"text":"a"}"#, &[("/number", "`number` is missing; add it")]);
    expect("none", r#"{"a":1}"#, &[("/a", "there is no argument `a`; the tool takes none; remove it")]);
}

#[test]
fn a_duplicate_argument_is_refused() {
    let twice = [("/number", "`number` is given twice; keep one of the two")];
    expect("plain", r#"{"number":1,"text":"a","number":1}"#, &twice);
    expect("plain", r#"{"number":1,"text":"a","n\u0075mber":2}"#, &twice);
    for arguments in [r#""count":null,"count":1"#, r#""flag":null,"flag":true"#, r#""count":1,"count":null"#] {
        assert_eq!(faults("plain", &format!(r#"{{"number":1,"text":"a",{arguments}}}"#)).len(), 1, "{arguments}");
    }
    expect("renamed", r#"{"a/b~c":1,"old":1}"#, &[("/a~1b~0c", "`a/b~c` is given twice; keep one of the two")]);
    expect("renamed", "{}", &[("/a~1b~0c", "`a/b~c` is missing; add it")]);
    // The first one is reported as wrong, and nothing is reported as missing.
    assert_eq!(messages("plain", r#"{"number":"x","text":"a","number":1}"#).len(), 2);
}

#[test]
fn arguments_that_are_not_a_json_object_are_refused_as_a_whole() {
    let texts = [
        "",
        " ",
        "{",
        "{\"",
        "{\"number\"",
        "{\"number\":",
        "{\"number\":1",
        "{\"number\":1,",
        "{\"number\":1,}",
        "{,}",
        "{\"number\" 1}",
        "{number:1}",
        "{\"number\":1 \"text\":\"a\"}",
        "{} {}",
        "{}x",
        "{\"number\":01}",
        "{\"number\":1e}",
        "{\"number\":+1}",
        "{\"text\":\"\\x\"}",
        "{\"text\":\"\\u12\"}",
        "{\"te\\xt\":1}",
        "{\"text\":\"a\nb\"}",
        "{\"text\":nul}",
        "{\"text\":nulll}",
        "{\"count\":nulll}",
        "{\"text\":tru}",
        "{\"text\":[1,]}",
        "{\"more\":[}",
        "{\"a\nb\":1}",
        "\u{feff}{}",
        "{\"text\":'a'}",
        "/**/{}",
        "{\"text\":\"a\"]",
        "{\"text\":NaN}",
    ];
    for text in texts {
        let faults = faults("plain", text);
        let last = faults.last().expect("a fault");
        assert_eq!(last.path, "", "{text}: {faults:?}");
        assert!(last.message.ends_with("; send one JSON object"), "{text}: {last:?}");
        assert!(faults.iter().all(|fault| !fault.message.contains("missing")), "{text}: {faults:?}");
    }
    for text in ["null", "[]", "1", "\"a\""] {
        expect("plain", text, &[("", &format!("`arguments` must be an object, not {text}; correct the value"))]);
    }
    let message = &faults("plain", r#"{"number":1 2}"#)[0].message;
    assert_eq!(message, "the arguments are not a JSON object: byte 12 should be `,` or `}`; send one JSON object");
}

#[test]
fn a_lone_surrogate_is_refused() {
    let fault = &faults("plain", r#"{"number":1,"text":"\ud800"}"#)[0];
    assert!(fault.path.is_empty() && fault.message.contains("byte 26 should be the second half"), "{fault:?}");
}

#[test]
fn a_nested_fault_has_its_path() {
    let path = |arguments: &str| faults("nested", arguments)[0].path.clone();
    assert_eq!(path(r#"{"filters":[{"date":1}]}"#), "/filters/0/date");
    assert_eq!(
        path("{\"filters\":[\n {\"date\":\"a\"},\n {\"date\": \"a\", \"days\" : [1, 2, 300]}]}"),
        "/filters/1/days/2"
    );
    assert_eq!(
        path(r#"{"filters":[{"date":"a","inner":{"date":"b","inner":{"date":[]}}}]}"#),
        "/filters/0/inner/inner/date"
    );
    assert_eq!(path(r#"{"filters":[{"date":"a"},{}]}"#), "/filters/1");
    assert_eq!(path(r#"{"filters":[{"days":[1]}]}"#), "/filters/0");
    assert_eq!(path(r#"{"filters":[{"days":[1],"days":[2],"date":"a"}]}"#), "/filters/0/days");
    assert_eq!(path(r#"{"filters":{"date":"a"}}"#), "/filters");
    assert_eq!(path(r#"{"filters":[],"color":"blue"}"#), "/color");
    assert_eq!(path(r#"{"filters":[],"by_name":{"a/b":1,"c":"x"}}"#), "/by_name/c");
    assert_eq!(path(r#"{"filters":[],"by_name":{"a/b":"\u0022"}}"#), "/by_name/a~1b");
    expect(
        "nested",
        r#"{"filters":[{"date":"a"},{"days":[]}]}"#,
        &[("/filters/1", "`filters/1` has no field `date`; add it")],
    );
    expect(
        "nested",
        r#"{"filters":[],"color":"blue"}"#,
        &[("/color", "`color` must be one of `red`, `green`, not \"blue\"; correct the value")],
    );
    for (pair, expected) in [("[1,2,3]", "a list of at most 2 items"), ("[1]", "a list of at least 2 items")] {
        let message = format!("`pair` must be {expected}, not {pair}; correct the value");
        expect("nested", &format!(r#"{{"filters":[],"pair":{pair}}}"#), &[("/pair", &message)]);
    }
    let fault = &faults("nested", r#"{"filters":[{"date":"a"},{"date":[1, 2]}]}"#)[0];
    assert_eq!(fault.got.as_deref(), Some("[1, 2]"));
}

#[test]
fn a_long_path_is_cut() {
    let key = "k".repeat(100_000);
    assert_eq!(faults("nested", &format!(r#"{{"filters":[],"by_name":{{"{key}":"x"}}}}"#))[0].path, "/by_name");
    let deep = format!("{}1{}", r#"{"date":"","inner":"#.repeat(100), "}".repeat(100));
    assert!(faults("nested", &format!(r#"{{"filters":[{deep}]}}"#))[0].path.starts_with("/filters/0/inner/inner"));
}

#[test]
fn deeply_nested_values_are_refused_and_read_to_their_end() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let found = messages("any", &format!(r#"{{"value":{deep}}}"#));
    assert_eq!(found, [("/value/0/0/0".to_owned(), "`value/0/0/0` is nested too deep; flatten it".to_owned())]);
    let unknown = faults("plain", &format!(r#"{{"more":{deep},"number":1,"text":"a"}}"#));
    assert_eq!(unknown.len(), 1);
    assert_eq!(call("open", &format!(r#"{{"more":{deep},"a":1}}"#)).unwrap(), 1);
    let unclosed = "[".repeat(10_000);
    assert_eq!(faults("any", &format!(r#"{{"value":{unclosed}"#))[0].path, "/value/0/0/0");
}

#[test]
fn large_values_are_read_but_not_repeated_in_errors() {
    let text = "é".repeat(500_000);
    let read = call("plain", &format!(r#"{{"number":1,"text":"{text}"}}"#)).unwrap();
    assert_eq!(read[1], text);
    for arguments in [
        format!(r#"{{"number":"{text}","text":"a"}}"#),
        format!(r#"{{"number":1,"text":"a","{text}":1}}"#),
        format!(r#"{{"number":1,"text":"a"}}{text}"#),
        format!(r#"{{"number":1{},"text":"a"}}"#, "0".repeat(1_000_000)),
        format!(r#"{{"number":1,"text":{{"{text}":"{text}"}}}}"#),
        format!(r#"{{"{text}"#),
    ] {
        assert_eq!(faults("plain", &arguments).len(), 1);
    }
    let many = (0..10_000).map(|index| format!(r#""k{index}":1,"#)).collect::<Vec<_>>().concat();
    assert_eq!(faults("plain", &format!(r#"{{{many}"number":1,"text":"a"}}"#)).len(), 20);
    assert_eq!(faults("plain", &format!(r#"{{{many}"number":"#)).last().unwrap().path, "");
}

#[test]
fn huge_numbers_are_refused_or_read() {
    for number in ["9223372036854775808", "1e400", "-1e400", "123456789012345678901234567890", "1e-1", "1.5"] {
        assert_eq!(faults("plain", &format!(r#"{{"number":{number},"text":"a"}}"#))[0].path, "/number", "{number}");
    }
    for (number, read) in [
        ("-9223372036854775808", i64::MIN),
        ("9223372036854775807.0", i64::MAX),
        ("1e5", 100_000),
        ("1.0", 1),
        ("-0.0", 0),
        ("150e-1", 15),
    ] {
        assert_eq!(call("plain", &format!(r#"{{"number":{number},"text":"a"}}"#)).unwrap()[0], read, "{number}");
    }
    assert_eq!(faults("any", r#"{"value":1e400}"#)[0].path, "/value");
}

#[test]
fn nothing_of_a_secret_is_repeated() {
    for arguments in [
        r#"{"user":"u","password":["hunter2"]}"#,
        r#"{"user":"u","password":{"hunter2":1}}"#,
        r#"{"user":"u","password":"hunter2","pin":"hunter2"}"#,
        r#"{"user":"u","password":"hunter2","pin":"a, expected hunter2"}"#,
        r#"{"user":"u","password":"hunter2"#,
        r#"{"user":"u","password":hunter2}"#,
        r#"{"user" "u","password":"hunter2"}"#,
        r#"{"user":"u","password":"hunter2"} hunter2"#,
        r#"{"user":"u","password":"hunter2","password":"hunter2"}"#,
        r#"{"user":"u","pass":"hunter2"}"#,
        r#"{"user":"u","password":"hunter2\ud800"}"#,
    ] {
        let faults = faults("login", arguments);
        assert!(!format!("{faults:?}").contains("hunter2"), "{arguments}: {faults:?}");
    }
    let fault = &faults("login", r#"{"user":"u","password":"abc"}"#)[0];
    assert_eq!(fault.message, "`password` must be a text of at least 4 characters; correct the value");
    assert_eq!(fault.got, None);
    let pin = &faults("login", r#"{"user":"u","password":"abcd","pin":70000}"#)[0];
    assert!(pin.message.contains("65535") && !format!("{pin:?}").contains("70000"), "{pin:?}");
}

#[test]
fn constraints_are_enforced() {
    let good = [
        "{}",
        r#"{"small":-1}"#,
        r#"{"small":10}"#,
        r#"{"small":null,"text":null,"list":null,"choice":null,"defaulted":null}"#,
        r#"{"large":18446744073709551614}"#,
        r#"{"ratio":0.5}"#,
        r#"{"ratio":1}"#,
        r#"{"ratio":15e-1}"#,
        r#"{"text":"éé"}"#,
        r#"{"text":"\ud83d\ude00\n\u0061"}"#,
        r#"{"path":"/a"}"#,
        r#"{"list":[[1,2,3]]}"#,
        r#"{"list":[{"a":[1,2]},"],["]}"#,
        r#"{"choice":"\u0061"}"#,
        r#"{"choice":"b\n"}"#,
        r#"{"defaulted":3}"#,
    ];
    for arguments in good {
        assert!(call("bounded", arguments).is_ok(), "{arguments}: {:?}", call("bounded", arguments));
    }
    let bad = [
        (r#"{"small":-2}"#, "`small` must be a number of at least -1, not -2; correct the value"),
        (r#"{"small":11}"#, "`small` must be a number of at most 10, not 11; correct the value"),
        (
            r#"{"large":18446744073709551615}"#,
            "`large` must be a number of at most 18446744073709551614, not 18446744073709551615; correct the value",
        ),
        (r#"{"ratio":0.49}"#, "`ratio` must be a number of at least 0.5, not 0.49; correct the value"),
        (r#"{"ratio":2}"#, "`ratio` must be a number of at most 1.5, not 2; correct the value"),
        (r#"{"text":"é"}"#, "`text` must be a text of at least 2 characters, not \"é\"; correct the value"),
        (r#"{"text":"abcd"}"#, "`text` must be a text of at most 3 characters, not \"abcd\"; correct the value"),
        (r#"{"path":""}"#, "`path` must be a text of at least 2 characters, not \"\"; correct the value"),
        (r#"{"list":[ ]}"#, "`list` must be a list of at least 1 item, not [ ]; correct the value"),
        (r#"{"list":[1,2,3]}"#, "`list` must be a list of at most 2 items, not [1,2,3]; correct the value"),
        (r#"{"choice":"c"}"#, "`choice` must be one of `a`, `b\\n`, not \"c\"; correct the value"),
        (r#"{"defaulted":2}"#, "`defaulted` must be a number of at least 3, not 2; correct the value"),
    ];
    for (arguments, message) in bad {
        let faults = faults("bounded", arguments);
        assert_eq!(faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>(), [message], "{arguments}");
    }
    assert_eq!(faults("bounded", r#"{"small":99,"text":"","list":[]}"#).len(), 3);
}

/// The arguments of `twin`, read by serde.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Twin {
    id: u32,
    name: String,
    ratio: Option<f64>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default, alias = "old")]
    extra: Option<Value>,
}

#[mcp_tool(module = "args")]
fn twin(
    id: u32,
    name: String,
    ratio: Option<f64>,
    #[arg(default)] tags: Vec<String>,
    #[arg(alias = "old")] extra: Option<Value>,
) -> Value {
    json!([id, name, ratio, tags, extra])
}

fn piece() -> impl Strategy<Value = String> {
    let keys = ["\"id\"", "\"name\"", "\"ratio\"", "\"tags\"", "\"extra\"", "\"old\"", "\"\\u0069d\"", "\"x\"", "\"\""];
    let values = [
        "1",
        "0",
        "-1",
        "4294967295",
        "4294967296",
        "1.5",
        "1e2",
        "1e999",
        "-0",
        "01",
        "true",
        "null",
        "nul",
        "\"a\"",
        "\"\\n\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "[]",
        "[\"a\"]",
        "[1]",
        "[null]",
        "[[]]",
        "{}",
        "{\"a\":{\"a\":1}}",
        TWICE,
        "[1,]",
        "",
    ];
    let glue = [":", " : ", ",", " ,\n", "}", "{", "]", "\"", " ", "\u{b}", "é"];
    let member = (select(keys.to_vec()), select(values.to_vec())).prop_map(|(key, value)| format!("{key}:{value},"));
    prop_oneof![
        8 => member,
        1 => select(glue.to_vec()).prop_map(str::to_owned),
        1 => select(values.to_vec()).prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let base = select(vec![r#""id":1,"name":"a","#, r#""name":"\u0061" , "id" : 7 ,"#, r#""id":2,"#, ""]);
    let ends = select(vec!["}", " } ", "", "}x", "}}"]);
    let mutation = (0_u8..6, 0.0..1.0_f64, select(vec!["", ",", "\"", "}", "1", " ", "\\"]));
    (base, proptest::collection::vec(piece(), 0..4), ends, mutation).prop_map(
        |(base, pieces, end, (kind, at, with))| {
            let members = format!("{base}{}", pieces.concat());
            let mut text = format!("{{{}{end}", members.strip_suffix(',').unwrap_or(&members));
            if kind == 0 {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
                let mut at = (text.len() as f64 * at) as usize;
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                text.insert_str(at, with);
            }
            text
        },
    )
}

/// A text as serde has to read it. Deliberate differences: null selects the default of an argument, and an integer may be
/// written in another way; serde refuses both.
fn as_serde_reads_it(text: &str) -> String {
    let integers = text.replace("id\":1e2", "id\":100").replace("id\":-0", "id\":0");
    integers.replace("\"tags\":null", "\"tags\":[]")
}

/// A third one: keys that stand twice are refused.
const TWICE: &str = "{\"a\":1,\"a\":2}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arguments_are_read_as_serde_reads_a_struct(text in text()) {
        let ours = call("twin", &text);
        let serdes = serde_json::from_str::<Twin>(&as_serde_reads_it(&text));
        match (&ours, &serdes) {
            (ours, _) if text.contains(TWICE) => prop_assert!(ours.is_err(), "{}: {:?}", text, ours),
            (Ok(ours), Ok(Twin { id, name, ratio, tags, extra })) => {
                prop_assert_eq!(ours, &json!([id, name, ratio, tags, extra]), "{}", text);
            }
            (Err(_), Err(_)) => {}
            // A mutation inside of `TWICE` may leave the key there twice.
            (Err(faults), Ok(_)) if faults.iter().any(|fault| fault.expected == "one value") => {
                prop_assert!(text.matches("\"a\"").count() > 1, "{}: {:?}", text, ours);
            }
            _ => prop_assert!(false, "{}: {:?} / {:?}", text, ours, serdes),
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in "\\PC{0,40}|[{}\\[\\]\",:0-9a-z\\\\ \\n]{0,60}") {
        for name in ["plain", "nested", "login", "bounded", "none"] {
            let _ = call(name, &text);
            let _ = call(name, &format!("{{\"filters\":{text}}}"));
        }
    }
}

/// A struct that says nothing of unknown fields.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Plain {
    a: i64,
    #[serde(default)]
    b: i64,
}

/// A struct that takes any field.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Open {
    a: i64,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, i64>,
}

/// Takes a struct.
#[mcp_tool(module = "flattened")]
fn plain_struct(#[arg(flatten)] plain: Plain) -> i64 {
    plain.a + plain.b
}

/// Takes a struct, and more.
#[mcp_tool(module = "flattened", allow_unknown_arguments)]
fn lax_struct(#[arg(flatten)] plain: Plain) -> i64 {
    plain.a + plain.b
}

/// Takes a struct that takes more.
#[mcp_tool(module = "flattened")]
fn open_struct(#[arg(flatten)] open: Open) -> i64 {
    open.a + open.rest.values().sum::<i64>()
}

#[test]
fn c26_a_flattened_struct_accepts_what_its_schema_says() {
    let registry = Registry::builder_of(tools![plain_struct, lax_struct, open_struct]).build().unwrap();
    let call = |name: &str, json: &str| {
        let closed = registry.get_tool_schema(name).unwrap()["additionalProperties"] == false;
        let mut out = Vec::new();
        let called = registry.call_bytes_blocking(name, json.as_bytes(), &CallOptions::new(), &mut out);
        let result = || serde_json::from_slice::<Value>(&out).unwrap()["data"]["result"].to_string();
        (closed, called.map(|()| result()).map_err(|error| error.to_string()))
    };
    assert_eq!(call("flattened.plain_struct", r#"{"a":1}"#), (true, Ok("1".to_owned())));
    let (closed, error) = call("flattened.plain_struct", r#"{"a":1,"c":{"b":2},"d":[]}"#);
    let error = error.unwrap_err();
    assert!(
        closed
            && error.contains("there is no argument `c`; remove it, or use one of `a`, `b`")
            && error.contains("`d`"),
        "{error}"
    );
    let (_, error) = call("flattened.plain_struct", r#"{"a":"x","d":[]}"#);
    let error = error.unwrap_err();
    assert!(error.contains("`/a`: `a` must be an integer, not \"x\"") && error.contains("no argument `d`"), "{error}");
    assert_eq!(call("flattened.lax_struct", r#"{"a":1,"c":2}"#), (false, Ok("1".to_owned())));
    assert_eq!(call("flattened.open_struct", r#"{"a":1,"c":2}"#), (false, Ok("3".to_owned())));
}
