//! Describes the differences between two JSON values.

use std::fmt::Write as _;

use mcp_core::support::cut;
use serde_json::Value;

/// The maximum number of differences in the list.
const MAX_LINES: usize = 20;
/// The maximum number of bytes of a value that are shown.
const MAX_SHOWN: usize = 200;
/// The number of characters of a long string that are shown before the first difference.
const CONTEXT: usize = 20;

/// The differences, one per line: the JSON Pointer, the expected value, and the actual one.
pub(super) fn differences(expected: &Value, got: &Value) -> Vec<String> {
    let mut comparison = Comparison::default();
    comparison.compare(expected, got);
    let Comparison { mut lines, more, .. } = comparison;
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The first lines, and the number of others.
pub(super) fn limited(lines: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    let rest = (more > 0).then(|| format!("and {more} more"));
    lines.take(MAX_LINES).chain(rest).collect()
}

/// The value as JSON on one line, truncated if it is long.
pub(super) fn shown(value: &Value) -> String {
    cut(&value.to_string(), MAX_SHOWN).into_owned()
}

#[derive(Default)]
struct Comparison {
    /// The position of the values that are being compared, as a JSON Pointer.
    path: String,
    lines: Vec<String>,
    more: usize,
}

impl Comparison {
    fn compare(&mut self, expected: &Value, got: &Value) {
        match (expected, got) {
            (Value::Object(expected), Value::Object(got)) => {
                for (key, expected) in expected {
                    self.within(key, |comparison| match got.get(key) {
                        Some(got) => comparison.compare(expected, got),
                        None => comparison.add(|| format!("missing, expected {}", shown(expected))),
                    });
                }
                for (key, got) in got.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                    self.within(key, |comparison| comparison.add(|| format!("unexpected, got {}", shown(got))));
                }
            }
            (Value::Array(expected), Value::Array(got)) => {
                if expected.len() != got.len() {
                    self.add(|| format!("expected {}, got {}", items(expected.len()), got.len()));
                }
                for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
                    self.within(&index.to_string(), |comparison| comparison.compare(expected, got));
                }
            }
            (Value::String(expected), Value::String(got)) if expected != got => {
                self.add(|| texts(expected, got));
            }
            (expected, got) if expected != got => {
                self.add(|| format!("expected {}, got {}", shown(expected), shown(got)));
            }
            _ => {}
        }
    }

    /// Compares a member or an item.
    fn within(&mut self, key: &str, compare: impl FnOnce(&mut Self)) {
        let outer = self.path.len();
        self.path.push('/');
        self.path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        compare(self);
        self.path.truncate(outer);
    }

    fn add(&mut self, difference: impl FnOnce() -> String) {
        if self.lines.len() == MAX_LINES {
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

/// The difference between two strings; if they are long, only the part that differs.
fn texts(expected: &str, got: &str) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let (quoted_expected, quoted_got) = (quoted(expected), quoted(got));
    if quoted_expected.len().max(quoted_got.len()) <= MAX_SHOWN {
        return format!("expected {quoted_expected}, got {quoted_got}");
    }
    let equal = expected.chars().zip(got.chars()).take_while(|(expected, got)| expected == got).count();
    let start = equal.saturating_sub(CONTEXT);
    let part = |text: &str| shown(&text.chars().skip(start).take(MAX_SHOWN / 2).collect::<String>().into());
    format!("after {equal} equal characters, from {start} on: expected {}, got {}", part(expected), part(got))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{cut, differences};

    #[test]
    fn equal_values_have_no_differences() {
        let value = json!({ "a": [1, { "b": null }], "c": "x" });
        assert!(differences(&value, &value).is_empty());
        assert!(differences(&value, &json!({ "c": "x", "a": [1, { "b": null }] })).is_empty());
    }

    #[test]
    fn each_difference_has_a_path() {
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
    fn root_values_need_no_path() {
        assert_eq!(differences(&json!(5), &json!({ "result": 5 })), [r#"expected 5, got {"result":5}"#]);
        assert_eq!(differences(&Value::Null, &json!("null")), [r#"expected null, got "null""#]);
    }

    #[test]
    fn lists_differ_in_their_lengths_and_items() {
        assert_eq!(
            differences(&json!({ "ids": [1] }), &json!({ "ids": [2, 3, 4] })),
            ["`/ids`: expected 1 item, got 3", "`/ids/0`: expected 1, got 2"],
        );
        assert_eq!(differences(&json!([1, 2]), &json!([])), ["expected 2 items, got 0"]);
    }

    #[test]
    fn the_number_of_lines_is_limited() {
        let list = |from: i32| (from..from + 57).collect::<Vec<_>>();
        let lines = differences(&json!(list(0)), &json!(list(100)));
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[19], "`/19`: expected 19, got 119");
        assert_eq!(lines[20], "and 37 more");
        assert_eq!(differences(&json!(list(0)[..20]), &json!(list(100)[..20])).len(), 20);
    }

    #[test]
    fn long_values_are_truncated() {
        let long = json!(vec!["é"; 1000]);
        let lines = differences(&json!(1), &long);
        assert!(lines[0].chars().count() < 250, "{lines:?}");
        assert!(lines[0].ends_with("… (5001 bytes)"), "{lines:?}");
        assert_eq!(cut("ééé", 6), "ééé");
        assert_eq!(cut("éééa", 6), "ééé… (7 bytes)");
    }

    #[test]
    fn the_part_of_a_long_text_that_differs_is_shown() {
        let (expected, got) = (format!("{}é, then this", "x".repeat(5000)), format!("{}ü", "x".repeat(5000)));
        let x = "x".repeat(20);
        let line = format!("after 5000 equal characters, from 4980 on: expected \"{x}é, then this\", got \"{x}ü\"");
        assert_eq!(differences(&json!(expected), &json!(got)), [line]);
        let (expected, got) = (format!("a{}", "\u{1}".repeat(9000)), "b");
        let lines = differences(&json!(expected), &json!(got));
        assert!(lines[0].chars().count() < 400, "{lines:?}");
    }
}
