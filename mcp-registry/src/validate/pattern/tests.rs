//! Tests of patterns, with `jsonschema` as the oracle.

use std::time::Instant;

use serde_json::json;

use super::*;

/// The pattern, texts that it matches, and texts that it does not match.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    ("", &["", "a"], &[]),
    ("a", &["a", "bab"], &["", "b", "A"]),
    ("^a$", &["a"], &["aa", "ca", "a\n", "\na", "b\na\nb"]),
    ("^$", &[""], &["\n", "a"]),
    ("a|^b$|", &["", "x"], &[]),
    ("^(a|bc)+$", &["a", "bca"], &["", "b", "ab"]),
    ("^(?:a)?b*?c+?$", &["c", "abbcc"], &["a", "ab"]),
    ("^(?<first>a)(?<second$>b)$", &["ab"], &["a"]),
    ("^.$", &["a", "é", "😀", "\u{85}", "\t"], &["\n", "\r", "\u{2028}", "\u{2029}", "", "ab"]),
    (r"^\d+$", &["0123456789"], &["٣", "a", ""]),
    (r"^\D$", &["a", "٣", "\n"], &["5"]),
    (r"^\w+$", &["aZ_09"], &["é", "-", " "]),
    (r"^\W$", &["é", "-", "😀"], &["_", "a"]),
    (r"^\s$", &[" ", "\t", "\u{b}", "\u{c}", "\n", "\r", "\u{a0}", "\u{feff}", "\u{2028}", "\u{2029}"], &["a"]),
    (r"^\s$", &["\u{1680}", "\u{2003}", "\u{202f}", "\u{205f}", "\u{3000}"], &["\u{180e}", "\u{200b}", "\u{85}"]),
    (r"^\S+$", &["a", "\u{200b}", "\u{85}"], &["a b", "\u{feff}", "\u{a0}"]),
    (r"^[\s\S]$", &["a", "\n", "😀"], &["", "aa"]),
    (r"^[^\D]$", &["7"], &["x"]),
    (r"^[\W\d]+$", &["1-é"], &["a"]),
    (r"^\cA\cz$", &["\u{1}\u{1a}"], &["Az"]),
    (r"^\t\n\v\f\r\0$", &["\t\n\u{b}\u{c}\r\0"], &["tnvfr0"]),
    (r"^\/\-\_\.\@\#\ \'$", &["/-_.@# '"], &["x"]),
    (r"^\u0041\u{42}\x43\u{1F600}\u{00000044}$", &["ABC😀D"], &["ABC"]),
    (r"^\uD83D\uDE00$", &["😀"], &["a"]),
    (r"^[\uD83D\uDE00-\uD83D\uDE05]$", &["😀", "😅"], &["😆"]),
    (r"\uD83D", &[], &["😀", "a", ""]),
    (r"\uD83D\u0041", &[], &["😀A", "A"]),
    (r"^[\uD800-\uDFFF]$", &[], &["a", "😀"]),
    (r"^[^\uD800-\uDFFF]$", &["a", "😀"], &[]),
    (r"^[\u0000-\uDBFF]$", &["a", "\u{d7ff}"], &["\u{e000}", "😀"]),
    ("^[^]$", &["a", "\n", "😀"], &["", "ab"]),
    ("a[]", &[], &["a", "", "a]"]),
    ("a[]?", &["a"], &[""]),
    ("^[^]+]$", &["ab]", "]]"], &["a"]),
    ("^[[]$", &["["], &["]", "[]"]),
    ("^[[:alpha:]]$", &["[]", ":]", "a]", "p]"], &["a", "z", "b]"]),
    ("^[a&&b~~c]$", &["a", "&", "~", "c"], &["d", ""]),
    ("^[+--c]$", &["+", ",", "-", "c"], &[".", "a"]),
    ("^[!--]$", &["!", "-", "#"], &["a", "."]),
    ("^[a-]$", &["a", "-"], &["b"]),
    ("^[-a]$", &["a", "-"], &["b"]),
    ("^[a-c-e]$", &["b", "-", "e"], &["d"]),
    (r"^[\w-.]+$", &["a-.b"], &["/", "+"]),
    (r"^[\b]$", &["\u{8}"], &["b", ""]),
    (r"^[\]\\^\-]$", &["]", "\\", "^", "-"], &["a"]),
    ("^[.*+?$|(){}]$", &[".", "*", "$", "|", "(", "{", "}"], &["a"]),
    ("^[é-ü😀]$", &["é", "ö", "😀"], &["e"]),
    ("^a{2}$", &["aa"], &["a", "aaa"]),
    ("^a{2,}?$", &["aa", "aaa"], &["a"]),
    ("^a{0,2}$", &["", "aa"], &["aaa"]),
    ("^a{007}$", &["aaaaaaa"], &["a"]),
    ("^a{,2}$", &["a{,2}"], &["a", "aa"]),
    ("^a{$", &["a{"], &["a"]),
    ("^a{1$", &["a{1"], &["a"]),
    ("^{}]$", &["{}]"], &[""]),
    ("^x{a}+$", &["x{a}", "x{a}}"], &["x"]),
    (r"\bfoo\b", &["a foo", "éfoo"], &["foot", "_foo"]),
    (r"\Boo", &["foo"], &["oo"]),
    (r"^\b{$", &[], &["{"]),
    ("# a", &["# a"], &["a"]),
    ("a  b", &["a  b"], &["ab"]),
    ("^($|a)", &["", "ab"], &["b"]),
    ("()", &["", "x"], &[]),
    (r"^https?:\/\/[^\s/$.?#].[^\s]*$", &["https://a.b/c"], &["ftp://a.b", "https://"]),
    (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", &["a-b.c@d-e.com"], &["a@b", "@b.com"]),
    (r"^\$\{[^}]*\}$", &["${a}"], &["{a}"]),
];

/// The pattern, and the error.
const REJECTED: &[(&str, &str)] = &[
    (r"\p{L}", r"uses `\p{L}`, a Unicode class, which is not supported; list the characters"),
    (r"[\P{Script=Greek}]", r"uses `\P{Script=Greek}`, a Unicode class, which is not supported; list the characters"),
    (
        "^(?=a)",
        "uses the look-ahead `(?=`, which is not supported; put the condition into a `pattern` of its own, under \
         `allOf` or `not`",
    ),
    (
        "a(?!b)",
        "uses the look-ahead `(?!`, which is not supported; put the condition into a `pattern` of its own, under \
         `allOf` or `not`",
    ),
    ("(?<=a)b", "uses the look-behind `(?<=`, which is not supported; rewrite the pattern without it"),
    ("(?<!a)b", "uses the look-behind `(?<!`, which is not supported; rewrite the pattern without it"),
    (r"(a)\1", r"uses the back-reference `\1`, which is not supported; rewrite the pattern without it"),
    (r"(?<a>a)\k<a>", r"uses the back-reference `\k<a>`, which is not supported; rewrite the pattern without it"),
    (
        "(?i)a",
        "uses the modifier `(?i`, which is not supported; rewrite the pattern without it, for example `[Aa]` for \
         both cases",
    ),
    (
        "(?s-m:a)",
        "uses the modifier `(?s-m`, which is not supported; rewrite the pattern without it, for example `[Aa]` for \
         both cases",
    ),
    ("(?P<a>a)", "is not a regular expression: `(?P<` is not ECMA-262; name groups with `(?<`"),
    ("(?<>a)", "is not a regular expression: `(?<` is not followed by a name and `>`"),
    ("(?<1>a)", "is not a regular expression: `(?<` is not followed by a name and `>`"),
    ("(?<a", "is not a regular expression: `(?<` is not followed by a name and `>`"),
    ("(?<a>.)(?<a>.)", "is not a regular expression: two groups are named `a`"),
    ("(a", "is not a regular expression: found open group without closing ')'"),
    ("a)", "is not a regular expression: found closing ')' without matching '('"),
    ("[a", "is not a regular expression: a `[` is not closed"),
    ("[a-", "is not a regular expression: a `[` is not closed"),
    ("[a--c]", "is not a regular expression: a range in `[…]` ends before it starts"),
    ("[z-a]", "is not a regular expression: a range in `[…]` ends before it starts"),
    ("*a", "is not a regular expression: `*` has nothing to repeat"),
    ("a**", "is not a regular expression: `*` has nothing to repeat"),
    ("a+??", "is not a regular expression: `?` has nothing to repeat"),
    ("^{2}", "is not a regular expression: `{2}` has nothing to repeat"),
    (r"\b+", "is not a regular expression: `+` has nothing to repeat"),
    ("a{3,2}", "is not a regular expression: found counted repetition with a min bigger than its max"),
    ("\\", r"is not a regular expression: it ends with a single `\`"),
    (r"a\Z", r"is not a regular expression: `\Z` is not an escape of ECMA-262"),
    (r"\a", r"is not a regular expression: `\a` is not an escape of ECMA-262"),
    (r"\00", r"is not a regular expression: `\0` is not an escape of ECMA-262"),
    (r"\c1", r"is not a regular expression: `\c` is not an escape of ECMA-262"),
    (r"[\B]", r"is not a regular expression: `\B` is not an escape of ECMA-262"),
    (r"\é", r"is not a regular expression: `\é` is not an escape of ECMA-262"),
    (r"\x4", r"is not a regular expression: `\x` is not followed by 2 hexadecimal digits"),
    (r"\u12", r"is not a regular expression: `\u` is not followed by 4 hexadecimal digits or `{…}`"),
    (r"\u{}", r"is not a regular expression: `\u` is not followed by 4 hexadecimal digits or `{…}`"),
    (r"\u{110000}", r"is not a regular expression: `\u` is not followed by 4 hexadecimal digits or `{…}`"),
    ("a{99999999999}", TOO_LARGE),
    ("((a{1000}){1000}){1000}", TOO_LARGE),
    ("((){4000}){4000}", TOO_LARGE),
];

#[test]
fn patterns_match_as_in_ecma_262() {
    for (pattern, matching, other) in TABLE {
        let compiled = match Pattern::new(pattern) {
            Ok(compiled) => compiled,
            Err(error) => panic!("{pattern}: {error}"),
        };
        for text in *matching {
            assert!(compiled.is_match(text), "{pattern} should match {text:?}");
        }
        for text in *other {
            assert!(!compiled.is_match(text), "{pattern} should not match {text:?}");
        }
    }
}

#[test]
fn rejections_name_the_construct() {
    for (pattern, error) in REJECTED {
        assert_eq!(Pattern::new(pattern).map(|_| ()), Err((*error).to_owned()), "{pattern}");
    }
    let nested = |depth: usize| format!("{}a{}", "(b|".repeat(depth), ")*".repeat(depth));
    assert!(Pattern::new(&nested(20)).is_ok());
    for depth in [200, 100_000] {
        let error = Pattern::new(&nested(depth)).expect_err("nested too deeply");
        assert_eq!(error, "is nested too deeply; nest fewer groups");
    }
}

#[test]
fn time_is_bounded() {
    let started = Instant::now();
    let long = 100_000;
    let patterns = [
        "a".repeat(long),
        "{".repeat(long),
        "[".repeat(long),
        "(?<a>".repeat(long),
        "a|".repeat(long),
        "a*".repeat(long),
        "{1".repeat(long),
        format!("[{}]", r"\S\u{1F600}-\u{1F610}é".repeat(long / 10)),
        format!("[{}]", (0..20_000).filter_map(|n| char::from_u32(0x4E00 + 2 * n)).collect::<String>()),
        "(((((a{9}){9}){9}){9}){9}){9}".to_owned(),
        "(a{0,9999}){0,9999}".to_owned(),
        "((a*)*)*".repeat(long / 10),
        "(|){9999}".repeat(9),
    ];
    for pattern in &patterns {
        let _ = Pattern::new(pattern);
    }
    let text = "a".repeat(long);
    for pattern in ["(a*)*b", "(a|aa)+$", "^(a+)+b", "a{1,9}b"] {
        let compiled = Pattern::new(pattern).expect("a valid pattern");
        assert_eq!(compiled.is_match(&text), !pattern.ends_with('b'), "{pattern}");
    }
    assert!(started.elapsed().as_secs() < 60, "took {:?}", started.elapsed());
}

/// Why a pattern may match different texts in the oracle, which runs it as one of the crate `regex`.
fn differs_from_the_oracle(pattern: &str) -> Option<&'static str> {
    if pattern.contains('.') {
        return Some("its `.` matches \\r, U+2028 and U+2029");
    }
    if pattern.contains(r"\b") || pattern.contains(r"\B") {
        return Some("its word boundaries are those of Unicode");
    }
    if pattern.contains("[]") || pattern.contains("[^]") {
        return Some("a `]` at the start of a class is a literal to it");
    }
    if pattern.contains("[[:") {
        return Some("it has POSIX classes");
    }
    None
}

fn oracle(pattern: &str) -> Option<jsonschema::Validator> {
    jsonschema::options().build(&json!({"pattern": pattern})).ok()
}

#[test]
fn the_table_agrees_with_the_oracle() {
    let mut compared = 0;
    for (pattern, matching, other) in TABLE {
        let Some(oracle) = oracle(pattern) else { continue };
        if differs_from_the_oracle(pattern).is_some() {
            continue;
        }
        compared += 1;
        for (texts, expected) in [(matching, true), (other, false)] {
            for text in *texts {
                assert_eq!(oracle.is_valid(&json!(text)), expected, "{pattern} on {text:?}");
            }
        }
    }
    assert!(compared > 30, "only {compared} patterns were compared");
}

/// How many texts are compared for each pattern.
const TEXTS: usize = 8;

/// `MCP_ORACLE_PAIRS` sets how many pairs of a pattern and a text are compared.
#[test]
fn random_patterns_agree_with_the_oracle() {
    const PARTS: [&str; 48] = [
        "a", "b", "c", "é", "0", "-", "_", " ", ".", "^", "$", "|", "|", "(", "(", "(?:", ")", ")", "*", "+", "?",
        "{2}", "{1,}", "{0,2}", "{", "[ab]", "[^a]", "[a-c]", "[", "[^", "]", "]", r"\d", r"\D", r"\w", r"\W", r"\s",
        r"\S", r"[\dé]", r"[\W_]", r"\n", r"\x61", r"\u0062", r"\.", r"\/", "&&", "~~", r"\b",
    ];
    const LETTERS: [&str; 13] = ["a", "b", "c", "é", "0", "-", "_", " ", "\n", "\r", ".", "&", "{"];
    let pairs = std::env::var("MCP_ORACLE_PAIRS").map_or(40_000, |pairs| pairs.parse().expect("a number of pairs"));
    let count: usize = pairs / TEXTS;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap_or_default()
    };
    let (mut compared, mut matches, mut generated) = (0, 0, 0);
    while compared < count {
        generated += 1;
        let pattern: String = (0..=random(7)).map(|_| PARTS[random(PARTS.len())]).collect();
        let Ok(compiled) = Pattern::new(&pattern) else { continue };
        if differs_from_the_oracle(&pattern).is_some() {
            continue;
        }
        let Some(oracle) = oracle(&pattern) else { continue };
        compared += 1;
        for _ in 0..TEXTS {
            let text: String = (0..random(6)).map(|_| LETTERS[random(LETTERS.len())]).collect();
            let is_match = compiled.is_match(&text);
            matches += usize::from(is_match);
            assert_eq!(oracle.is_valid(&json!(text)), is_match, "{pattern:?} on {text:?}");
        }
    }
    assert!(matches > compared && generated < 40 * compared, "{matches} matches of {generated} patterns");
}
