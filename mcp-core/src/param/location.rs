//! Where in an argument a fault is: serde knows the position in the text, a caller wants the path.

use crate::util::text::escaped;

/// The longest path that is given; what lies deeper is blamed on what it lies in.
const LONGEST: usize = 160;

/// The byte at which an error arose.
pub(super) fn offset(json: &str, error: &serde_json::Error) -> Option<usize> {
    let before: usize = json.split_inclusive('\n').take(error.line().checked_sub(1)?).map(str::len).sum();
    Some(before + error.column())
}

/// A list or an object around the place.
struct Level<'a> {
    start: usize,
    key: Option<&'a str>,
    index: usize,
}

/// The place of a fault in a text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Location<'a> {
    /// The path of the value.
    pub(super) path: String,
    /// Where the value begins.
    pub(super) start: usize,
    /// The key in it that the fault is about, as it stands in the text.
    pub(super) key: Option<&'a str>,
}

/// The place of the value that begins or ends at the offset, else of the one that it lies in.
///
/// serde speaks of a value when it is through with it, of a list or object in place of a value before it opens it, and
/// of a key in the key or after it. The text is JSON.
pub(super) fn locate(json: &str, offset: usize) -> Location<'_> {
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut at_key = false;
    let mut at = 0;
    while at < json.len() && at <= offset {
        let start = at;
        at = token_end(json, at);
        match json.as_bytes()[start] {
            b'{' | b'[' => {
                if start == offset {
                    return path(&levels, start);
                }
                at_key = json.as_bytes()[start] == b'{';
                levels.push(Level { start, key: None, index: 0 });
            }
            b'}' | b']' => {
                let Some(closed) = levels.pop() else { break };
                if at == offset {
                    return path(&levels, closed.start);
                }
                at_key = false;
            }
            b',' => {
                let Some(level) = levels.last_mut() else { break };
                level.index += 1;
                at_key = level.key.is_some();
            }
            b':' => at_key = false,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'"' if at_key => {
                let Some(level) = levels.last_mut() else { break };
                let key = &json[start..at];
                if offset > start && offset <= at {
                    let around = level.start;
                    levels.pop();
                    return Location { key: Some(key), ..path(&levels, around) };
                }
                level.key = Some(key);
            }
            _ if start == offset || at == offset => return path(&levels, start),
            _ => {}
        }
    }
    let around = levels.pop().map_or(0, |level| level.start);
    path(&levels, around)
}

/// The end of the token that begins here.
fn token_end(json: &str, start: usize) -> usize {
    let bytes = json.as_bytes();
    let rest = &bytes[start + 1..];
    let length = match bytes[start] {
        b'"' => {
            let mut escaped = false;
            let quote = |byte: &u8| {
                let ends = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                ends
            };
            rest.iter().position(quote).map_or(rest.len(), |end| end + 1)
        }
        b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => 0,
        _ => rest.iter().position(|byte| b",]} \t\n\r".contains(byte)).unwrap_or(rest.len()),
    };
    start + 1 + length
}

fn path<'a>(levels: &[Level<'_>], start: usize) -> Location<'a> {
    let mut path = String::new();
    for (depth, level) in levels.iter().enumerate() {
        let step = match level.key.map(serde_json::from_str::<String>) {
            Some(Ok(key)) => escaped(&key),
            Some(Err(_)) => "?".to_owned(),
            None => level.index.to_string(),
        };
        if path.len() + step.len() > LONGEST || step.contains(char::is_control) {
            return Location { path, start: levels[depth].start, key: None };
        }
        path.push('/');
        path.push_str(&step);
    }
    Location { path, start, key: None }
}

/// The path, or the part of it that is given.
pub(super) fn bounded(path: &str) -> &str {
    let end = path.find(char::is_control).unwrap_or(path.len());
    if end == path.len() && end <= LONGEST {
        return path;
    }
    let steps = path.match_indices('/').map(|(start, _)| start);
    steps.take_while(|start| *start <= end.min(LONGEST)).last().map_or("", |start| &path[..start])
}

#[cfg(test)]
mod tests {
    use super::{Location, bounded, locate};

    const JSON: &str = r#"[{"a": 1}, {"b/c": [true, "x\"]"] , "d": {} }]"#;

    fn at(found: &str) -> (String, &'static str) {
        let Location { path, start, .. } = locate(JSON, JSON.find(found).unwrap() + found.len());
        (path, &JSON[start..])
    }

    #[test]
    fn a_value_is_found_by_its_end() {
        assert_eq!(at("1").0, "/0/a");
        assert_eq!(at("true").0, "/1/b~1c/0");
        assert_eq!(at(r#""x\"]""#), ("/1/b~1c/1".into(), &JSON[26..]));
        assert_eq!(at("{}").0, "/1/d");
        assert_eq!(at("1}"), ("/0".into(), JSON.strip_prefix('[').unwrap()));
        assert_eq!(at(JSON), (String::new(), JSON));
    }

    #[test]
    fn a_value_is_found_by_its_beginning() {
        assert_eq!(at(r#""d": "#), ("/1/d".into(), "{} }]"));
    }

    #[test]
    fn a_key_is_found_with_its_object() {
        for (found, path, key) in [("\"a\"", "/0", "\"a\""), ("\"d\"", "/1", "\"d\""), ("{\"b", "/1", "\"b/c\"")] {
            let place = locate(JSON, JSON.find(found).unwrap() + found.len());
            assert_eq!((place.path.as_str(), place.key), (path, Some(key)));
        }
    }

    #[test]
    fn a_long_path_ends_at_a_step() {
        assert_eq!(bounded("/a/b"), "/a/b");
        assert_eq!(bounded(&format!("/a/{}", "b".repeat(200))), "/a");
        assert_eq!(bounded(&format!("/{}", "b".repeat(200))), "");
        assert_eq!(bounded("/a/b\nc/d"), "/a");
        assert_eq!(bounded(""), "");
    }
}
