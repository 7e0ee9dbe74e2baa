//! JSON texts, made from the bytes of an input: most fit a schema, some are nearly right, some are malicious.

use std::fmt::Write as _;

use serde_json::Value;

use crate::dice::Dice;

/// Values that fit some type, or just not.
const ATOMS: [&str; 44] = [
    "null",
    "0",
    "1",
    "-1",
    "2",
    "9",
    "10",
    "99",
    "100",
    "101",
    "127",
    "128",
    "255",
    "256",
    "-129",
    "65536",
    "4294967296",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "-0",
    "-0.0",
    "1.0",
    "0.5",
    "-0.5",
    "1e2",
    "1e19",
    "1.7976931348623157e308",
    "5e-324",
    "1e-999",
    "true",
    "false",
    "\"\"",
    "\"a\"",
    "\"ab\"",
    "\"abc\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"Nothing\"",
    "[]",
    "{}",
];

/// Values that `serde_json::Value` cannot represent. The last two are filled in.
const UNREPRESENTABLE: [&str; 7] = ["\"\\ud800\"", "\"a\\udc00b\"", "1e999", "-1e999", "1E+400", "[", "{"];

/// The depth of the deepest values: more than `Value` reads.
const DEEP: usize = 130;

/// How deep values are made on purpose.
const DEPTH: usize = 8;

const WORDS: [&str; 12] =
    ["a", "b", "abc", "red", "", "x y", "127.0.0.1", "a@b.c", "2024-02-29", "é", "\\n", "\\ud83d\\ude00"];

/// A JSON text for a schema.
pub(crate) fn text(schema: &Value, dice: &mut Dice<'_>) -> String {
    let mut maker = Maker { root: schema, out: String::new() };
    maker.value(schema, dice, 0);
    maker.out
}

/// A JSON text of an object for a schema: its members, and some that it does not know.
pub(crate) fn object(schema: &Value, dice: &mut Dice<'_>) -> String {
    let mut maker = Maker { root: schema, out: String::new() };
    maker.object(schema, dice, 0);
    maker.out
}

struct Maker<'a> {
    root: &'a Value,
    out: String,
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn count(schema: &Value, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_u64).map(|count| usize::try_from(count).unwrap_or(usize::MAX).min(40))
}

impl Maker<'_> {
    fn value(&mut self, schema: &Value, dice: &mut Dice<'_>, depth: usize) {
        if depth > DEPTH {
            return self.atom(dice);
        }
        match dice.byte() {
            240.. => return self.unrepresentable(dice),
            220.. => return self.atom(dice),
            210.. => return self.anything(dice, depth),
            _ => {}
        }
        if let Some(target) =
            schema.get("$ref").and_then(Value::as_str).and_then(|it| self.root.pointer(it.trim_start_matches('#')))
        {
            // The root contains itself at most as often as the depth allows.
            return self.value(&target.clone(), dice, depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return self.literal(value);
        }
        for key in ["enum", "oneOf", "anyOf", "allOf"] {
            let choices = list(schema, key);
            if choices.is_empty() {
                continue;
            }
            let choice = &choices[dice.roll(choices.len())];
            return if key == "enum" { self.literal(choice) } else { self.value(choice, dice, depth + 1) };
        }
        let kinds = list(schema, "type");
        let kind = if kinds.is_empty() { schema.get("type") } else { Some(&kinds[dice.roll(kinds.len())]) };
        match kind.and_then(Value::as_str) {
            Some("integer") => self.integer(schema, dice),
            Some("number") => self.number(schema, dice),
            Some("string") => self.string(schema, dice),
            Some("boolean") => self.out.push_str(dice.one(&["true", "false"])),
            Some("array") => self.array(schema, dice, depth),
            Some("object") => self.object(schema, dice, depth),
            _ if schema.get("properties").is_some() => self.object(schema, dice, depth),
            _ => self.anything(dice, depth),
        }
    }

    fn literal(&mut self, value: &Value) {
        let _ = write!(self.out, "{value}");
    }

    fn atom(&mut self, dice: &mut Dice<'_>) {
        self.out.push_str(dice.one(&ATOMS));
    }

    fn unrepresentable(&mut self, dice: &mut Dice<'_>) {
        match dice.one(&UNREPRESENTABLE) {
            "[" => self.nested("[", "]"),
            "{" => self.nested("{\"a\":", "}"),
            atom => self.out.push_str(atom),
        }
    }

    fn nested(&mut self, open: &str, close: &str) {
        self.out.push_str(&open.repeat(DEEP));
        self.out.push('1');
        self.out.push_str(&close.repeat(DEEP));
    }

    fn anything(&mut self, dice: &mut Dice<'_>, depth: usize) {
        match dice.roll(8) {
            6 if depth < DEPTH => {
                self.out.push('[');
                for index in 0..dice.roll(4) {
                    self.comma(index);
                    self.anything(dice, depth + 1);
                }
                self.out.push(']');
            }
            7 if depth < DEPTH => {
                self.out.push('{');
                for index in 0..dice.roll(4) {
                    self.comma(index);
                    let name = dice.one(&["a", "b", "x", "y", "size", "kind", "t", "c", "value", "more"]);
                    self.key(name, dice);
                    self.anything(dice, depth + 1);
                }
                self.out.push('}');
            }
            _ => self.atom(dice),
        }
    }

    fn integer(&mut self, schema: &Value, dice: &mut Dice<'_>) {
        let near = |key: &str| schema.get(key).and_then(Value::as_i64);
        let base = [near("minimum"), near("maximum"), near("exclusiveMinimum"), near("multipleOf"), Some(0)];
        let bases: Vec<i64> = base.into_iter().flatten().collect();
        let value = dice.one(&bases).saturating_add(dice.one(&[0, 1, -1, 2, 5, 10, -10, 100, 1000]));
        let _ = write!(self.out, "{value}{}", if dice.hits(16) { ".0" } else { "" });
    }

    fn number(&mut self, schema: &Value, dice: &mut Dice<'_>) {
        let near = |key: &str| schema.get(key).and_then(Value::as_f64);
        let base = [near("minimum"), near("maximum"), near("exclusiveMinimum"), Some(0.0), Some(1.5)];
        let bases: Vec<f64> = base.into_iter().flatten().collect();
        let value = dice.one(&bases) + dice.one(&[0.0, 0.25, -0.25, 1e-9, 3.0]);
        let _ = write!(self.out, "{value}");
    }

    fn string(&mut self, schema: &Value, dice: &mut Dice<'_>) {
        let least = count(schema, "minLength").unwrap_or(0);
        self.out.push('"');
        match dice.roll(4) {
            0 => {
                let length = least + dice.roll(3);
                for _ in 0..length {
                    self.out.push_str(dice.one(&["a", "b", "c", "A", "1", "é", "\\u0062", "\\\"", "\\ud83d\\ude00"]));
                }
            }
            1 => {
                let most = count(schema, "maxLength").unwrap_or(3);
                self.out.push_str(&"a".repeat(most + dice.roll(2)));
            }
            _ => self.out.push_str(dice.one(&WORDS)),
        }
        self.out.push('"');
    }

    fn array(&mut self, schema: &Value, dice: &mut Dice<'_>, depth: usize) {
        let first = list(schema, "prefixItems");
        let least = count(schema, "minItems").unwrap_or(0).max(first.len());
        let any = Value::Bool(true);
        let others = schema.get("items").unwrap_or(&any);
        let length = match dice.roll(8) {
            7 => least.saturating_sub(1),
            more => least + more % 4,
        };
        self.out.push('[');
        for index in 0..length {
            self.comma(index);
            self.value(first.get(index).unwrap_or(others), dice, depth + 1);
        }
        self.out.push(']');
    }

    fn object(&mut self, schema: &Value, dice: &mut Dice<'_>, depth: usize) {
        let required = list(schema, "required");
        let mut written = 0;
        let as_list = depth > 0 && dice.hits(24);
        self.out.push(if as_list { '[' } else { '{' });
        for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_required = required.iter().any(|it| it == name);
            let is_there = if is_required { !dice.hits(32) } else { depth < DEPTH && dice.roll(2) == 1 };
            let times = if is_there { 1 + usize::from(dice.hits(64)) } else { 0 };
            for _ in 0..times {
                self.comma(written);
                if !as_list {
                    self.key(name, dice);
                }
                self.value(inner, dice, depth + 1);
                written += 1;
            }
        }
        let others = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .find_map(|key| schema.get(key))
            .filter(|it| it.is_object());
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let more = if others.is_some() || patterns.is_some() { dice.roll(3) } else { usize::from(dice.hits(10)) };
        for _ in 0..if as_list { 0 } else { more } {
            self.comma(written);
            let name = dice.one(&["more", "k", "a", "z", "word", "kind", "", "\\ud800"]);
            self.key(name, dice);
            match others.or_else(|| patterns.and_then(|all| all.values().next())) {
                Some(inner) => self.value(inner, dice, depth + 1),
                None if dice.roll(3) == 1 => self.unrepresentable(dice),
                None => self.anything(dice, depth + 1),
            }
            written += 1;
        }
        self.out.push(if as_list { ']' } else { '}' });
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
        }
    }

    fn key(&mut self, name: &str, dice: &mut Dice<'_>) {
        match name.chars().next() {
            Some(first) if first.is_ascii_alphabetic() && dice.hits(32) => {
                let _ = write!(self.out, "\"\\u{:04x}{}\":", u32::from(first), &name[1..]);
            }
            _ => {
                let _ = write!(self.out, "\"{name}\":");
            }
        }
    }
}

/// The text of one message to a server whose tools have these names and schemas.
pub(crate) fn message(tools: &[(String, Value)], dice: &mut Dice<'_>) -> String {
    const METHODS: [&str; 14] = [
        "tools/call",
        "tools/list",
        "initialize",
        "ping",
        "server/discover",
        "subscriptions/listen",
        "logging/setLevel",
        "call_tool",
        "list_tools",
        "notifications/cancelled",
        "notifications/initialized",
        "resources/list",
        "tools\\/call",
        "",
    ];
    const IDS: [&str; 14] = [
        "1",
        "2",
        "\"a\"",
        "0",
        "-1",
        "null",
        "1.0",
        "\"\\ud800\"",
        "18446744073709551615",
        "18446744073709551616",
        "-0",
        "\"\\u0031\"",
        "[]",
        "1e999",
    ];
    let (name, schema) = &tools[dice.roll(tools.len())];
    let mut params = Vec::new();
    let method = dice.one(&METHODS);
    let id = dice.one(&IDS);
    if method.contains("call") && !method.starts_with("not") {
        params.push(format!("\"{}\":\"{name}\"", dice.one(&["name", "tool_name"])));
        params.push(format!("\"{}\":{}", dice.one(&["arguments", "args"]), object(schema, dice)));
    }
    let more = [
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug","progressToken":"t"}"#,
        r#""_meta":{"progressToken":7}"#,
        r#""_meta":{"progressToken":1e999}"#,
        r#""_meta":null"#,
        r#""protocolVersion":"2025-11-25""#,
        r#""protocolVersion":"2025-06-18""#,
        r#""level":"debug""#,
        r#""level":"loud""#,
        r#""cursor":"""#,
        r#""notifications":{"toolsListChanged":true}"#,
        r#""requestId":1"#,
        r#""requestId":"a""#,
        r#""arguments":null"#,
        r#""args":{"a":1}"#,
        r#""name":"fuzz.wait""#,
        r#""x":"\ud800""#,
    ];
    for _ in 0..dice.roll(4) {
        params.push(dice.one(&more).to_owned());
    }
    let params = params.join(",");
    match dice.roll(10) {
        9 => return format!("{{\"tool_name\":\"{name}\",\"arguments\":{}}}", object(schema, dice)),
        8 => return format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{{params}}}}}"),
        7 => {
            return format!(
                "{{\"id\":{id},\"x\":[{params}],\"params\":{{{params}}},\"method\":\"{method}\",\"jsonrpc\":\"2.0\"}}"
            );
        }
        6 => return format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{params}}}}}"),
        _ => {}
    }
    let space = if dice.hits(8) { " " } else { "" };
    format!("{space}{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
}
