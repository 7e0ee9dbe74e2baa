//! Where two JSON values differ, for people.

use std::fmt::Write as _;

use mcp_core::__private::cut;
use serde_json::Value;

/// The most differences that are told one by one.
const LINES: usize = 20;
/// The most bytes that are shown of a value.
const SHOWN: usize = 200;
/// How many characters of a long text are shown before the place where it differs.
const BEFORE: usize = 20;

/// Where the values differ, one line each: by JSON Pointer, what was expected and what came.
pub(crate) fn differences(expected: &Value, got: &Value) -> Vec<String> {
    let mut found = Found::default();
    found.compare(expected, got);
    if found.more > 0 {
        found.lines.push(format!("and {} more", found.more));
    }
    found.lines
}

/// The first lines, and how many more there are.
pub(crate) fn bounded(lines: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = lines.len().saturating_sub(LINES);
    let told = (more > 0).then(|| format!("and {more} more"));
    lines.take(LINES).chain(told).collect()
}

/// The value as JSON on one line, cut if it is long.
pub(crate) fn shown(value: &Value) -> String {
    cut(&value.to_string(), SHOWN).into_owned()
}

#[derive(Default)]
struct Found {
    /// The place that is compared, as a JSON Pointer.
    path: String,
    lines: Vec<String>,
    more: usize,
}

impl Found {
    fn compare(&mut self, expected: &Value, got: &Value) {
        match (expected, got) {
            (Value::Object(expected), Value::Object(got)) => {
                for (key, expected) in expected {
                    self.inside(key, |found| match got.get(key) {
                        Some(got) => found.compare(expected, got),
                        None => found.note(|| format!("missing, expected {}", shown(expected))),
                    });
                }
                for (key, got) in got.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                    self.inside(key, |found| found.note(|| format!("unexpected, got {}", shown(got))));
                }
            }
            (Value::Array(expected), Value::Array(got)) => {
                if expected.len() != got.len() {
                    self.note(|| format!("expected {}, got {}", items(expected.len()), got.len()));
                }
                for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
                    self.inside(&index.to_string(), |found| found.compare(expected, got));
                }
            }
            (Value::String(expected), Value::String(got)) if expected != got => {
                self.note(|| texts(expected, got));
            }
            (expected, got) if expected != got => {
                self.note(|| format!("expected {}, got {}", shown(expected), shown(got)));
            }
            _ => {}
        }
    }

    /// Compares what is in a member or an item.
    fn inside(&mut self, key: &str, compare: impl FnOnce(&mut Self)) {
        let outer = self.path.len();
        self.path.push('/');
        self.path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        compare(self);
        self.path.truncate(outer);
    }

    fn note(&mut self, difference: impl FnOnce() -> String) {
        if self.lines.len() == LINES {
            self.more += 1;
            return;
        }
        let mut line = match self.path.as_str() {
            "" => String::new(),
            path => format!("`{path}`: "),
        };
        _ = write!(line, "{}", difference());
        self.lines.push(line);
    }
}

fn items(count: usize) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}

/// How two texts differ; of long ones, the part that does.
fn texts(expected: &str, got: &str) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let (quoted_expected, quoted_got) = (quoted(expected), quoted(got));
    if quoted_expected.len().max(quoted_got.len()) <= SHOWN {
        return format!("expected {quoted_expected}, got {quoted_got}");
    }
    let same = expected.chars().zip(got.chars()).take_while(|(expected, got)| expected == got).count();
    let from = same.saturating_sub(BEFORE);
    let part = |text: &str| shown(&text.chars().skip(from).take(SHOWN / 2).collect::<String>().into());
    format!("after {same} equal characters, from {from} on: expected {}, got {}", part(expected), part(got))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{cut, differences};

    #[test]
    fn equal_values_have_none() {
        let value = json!({ "a": [1, { "b": null }], "c": "x" });
        assert!(differences(&value, &value).is_empty());
        assert!(differences(&value, &json!({ "c": "x", "a": [1, { "b": null }] })).is_empty());
    }

    #[test]
    fn each_is_told_by_its_path() {
        let expected = json!({ "result": [{ "name": "Cy" }, { "name": "Ada", "age": 36 }], "a/b~c": 1 });
        let got = json!({ "result": [{ "name": "Cy", "x": [] }, { "name": "Bob" }], "a/b~c": 1.0 });
        assert_eq!(
            differences(&expected, &got),
            [
                "`/result/0/x`: unexpected, got []",
                "`/result/1/name`: expected \"Ada\", got \"Bob\"",
                "`/result/1/age`: missing, expected 36",
                "`/a~1b~0c`: expected 1, got 1.0",
            ],
        );
    }

    #[test]
    fn values_as_a_whole_need_no_path() {
        assert_eq!(differences(&json!(5), &json!({ "result": 5 })), [r#"expected 5, got {"result":5}"#]);
        assert_eq!(differences(&Value::Null, &json!("null")), [r#"expected null, got "null""#]);
    }

    #[test]
    fn lists_tell_their_lengths_and_the_items_that_differ() {
        assert_eq!(
            differences(&json!({ "ids": [1] }), &json!({ "ids": [2, 3, 4] })),
            ["`/ids`: expected 1 item, got 3", "`/ids/0`: expected 1, got 2"],
        );
        assert_eq!(differences(&json!([1, 2]), &json!([])), ["expected 2 items, got 0"]);
    }

    #[test]
    fn there_are_never_too_many_lines() {
        let list = |from: i32| (from..from + 57).collect::<Vec<_>>();
        let lines = differences(&json!(list(0)), &json!(list(100)));
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[19], "`/19`: expected 19, got 119");
        assert_eq!(lines[20], "and 37 more");
        assert_eq!(differences(&json!(list(0)[..20]), &json!(list(100)[..20])).len(), 20);
    }

    #[test]
    fn values_are_cut() {
        let long = json!(vec!["é"; 1000]);
        let lines = differences(&json!(1), &long);
        assert!(lines[0].chars().count() < 250, "{lines:?}");
        assert!(lines[0].ends_with("… (5001 bytes)"), "{lines:?}");
        assert_eq!(cut("ééé", 6), "ééé");
        assert_eq!(cut("éééa", 6), "ééé… (7 bytes)");
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let (expected, got) = (format!("{}é, then this", "x".repeat(5000)), format!("{}ü", "x".repeat(5000)));
        let x = "x".repeat(20);
        let line = format!("after 5000 equal characters, from 4980 on: expected \"{x}é, then this\", got \"{x}ü\"");
        assert_eq!(differences(&json!(expected), &json!(got)), [line]);
        let (expected, got) = (format!("a{}", "\u{1}".repeat(9000)), "b");
        let lines = differences(&json!(expected), &json!(got));
        assert!(lines[0].chars().count() < 400, "{lines:?}");
    }
}
