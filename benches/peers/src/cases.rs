//! The messages that every server gets, and what is expected of the answers.

use std::fmt::Write as _;
use std::io;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peers","version":"1.0.0"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How deep the argument of the case `deep` is nested.
const DEPTH: usize = 24;

/// A recursive argument with rules that types alone do not enforce.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Tree {
    #[schemars(range(min = 0, max = 1000))]
    pub(crate) value: i64,
    #[schemars(length(min = 1, max = 20))]
    pub(crate) label: String,
    pub(crate) children: Vec<Tree>,
}

impl Tree {
    pub(crate) fn sum(&self) -> i64 {
        self.value + self.children.iter().map(Self::sum).sum::<i64>()
    }
}

/// Names of tools besides those that are called, so that a server has as many as it should.
pub(crate) fn filler_names(called: usize, tools: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
    (called..tools).map(|n| {
        let name: &'static str = format!("module_{}.tool_number_{n}", n % 100).leak();
        (name, &*name.replace('.', "_").leak())
    })
}

/// Calls a macro with some tokens of its own and the tools of one, two, eight and 32 parameters.
macro_rules! with_parameters {
    ($callback:ident $($more:tt)*) => {
        $callback! {
            $($more)*
            Take1 take_1 "calc_take_1": a1;
            Take2 take_2 "calc_take_2": a1 a2;
            Take8 take_8 "calc_take_8": a1 a2 a3 a4 a5 a6 a7 a8;
            Take32 take_32 "calc_take_32": a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16
                a17 a18 a19 a20 a21 a22 a23 a24 a25 a26 a27 a28 a29 a30 a31 a32;
        }
    };
}
pub(crate) use with_parameters;

/// The request of a case.
pub(crate) fn message(case: &str, id: u64) -> io::Result<String> {
    if case == "list" {
        return Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
    }
    let (tool, arguments) = call(case)?;
    Ok(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"calc_{tool}","arguments":{arguments}}}}}"#
    ))
}

/// The tool and the arguments of a case.
fn call(case: &str) -> io::Result<(String, String)> {
    let (tool, arguments) = match case.split_once(':').unwrap_or((case, "")) {
        ("add", _) => ("add", r#"{"a":20,"b":22}"#.to_owned()),
        ("bad", _) => ("add", r#"{"a":"twenty","b":22}"#.to_owned()),
        ("deep", _) => {
            let tree = (0..DEPTH).fold(String::new(), |children, value| {
                format!(r#"{{"value":{value},"label":"node {value}","children":[{children}]}}"#)
            });
            ("deep", format!(r#"{{"tree":{tree}}}"#))
        }
        ("params", count) => {
            let arguments = (1..=crate::number(count)?).fold(String::new(), |mut text, n: u32| {
                let _ = write!(text, r#"{}"a{n}":{n}"#, if n == 1 { "" } else { "," });
                text
            });
            return Ok((format!("take_{count}"), format!("{{{arguments}}}")));
        }
        ("argument", bytes) => ("measure", format!(r#"{{"text":"{}"}}"#, "x".repeat(crate::number(bytes)?))),
        ("result", bytes) => ("repeat", format!(r#"{{"count":{bytes}}}"#)),
        _ => return Err(io::Error::other(format!("unknown case `{case}`"))),
    };
    Ok((tool.to_owned(), arguments))
}

/// Fails unless an answer is what its case expects, so that no server wins by not doing the work.
pub(crate) fn check(case: &str, answer: &[u8]) -> io::Result<()> {
    let answer = String::from_utf8_lossy(answer);
    let result = |result: String| {
        // Text alone, as in the README of rmcp, is an answer too.
        answer.contains(&format!(r#""result":{result}"#))
            || answer.contains(&format!(r#""text":"{}""#, result.trim_matches('"')))
    };
    let good = match case.split_once(':').unwrap_or((case, "")) {
        ("add", _) => result("42".to_owned()),
        ("bad", _) => answer.contains(r#""isError":true"#) || answer.contains(r#""error""#),
        ("deep", _) => result((0..DEPTH).sum::<usize>().to_string()),
        ("params", count) => result((1..=crate::number(count)?).sum::<u32>().to_string()),
        ("argument", bytes) => result(bytes.to_owned()),
        ("result", bytes) => result(format!("\"{}\"", "x".repeat(crate::number(bytes)?))),
        _ => answer.contains(r#""calc_add""#) && !answer.contains("nextCursor"),
    };
    if good { Ok(()) } else { Err(io::Error::other(format!("wrong answer to `{case}`: {answer:.2000}"))) }
}
