//! The calls: what each one sends, and what its answer has to be. Everything follows from the number of the call.

use std::borrow::Cow;
use std::io::{self, Write as _};

use serde::Deserialize;

/// The protocol versions that are spoken.
pub(crate) const VERSIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// The longest message that the servers accept in the mix.
pub(crate) const MAX_MESSAGE: usize = 32 * 1024;

/// The kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Good,
    Bad,
    Unknown,
    Panicking,
    Slow,
    Cancelled,
    Oversized,
    Malformed,
    Disconnecting,
}

/// Each kind, its name, and how many of a thousand calls it gets.
pub(crate) const MIX: [(Kind, &str, u64); 9] = [
    (Kind::Good, "good", 755),
    (Kind::Bad, "bad arguments", 100),
    (Kind::Unknown, "unknown tool", 50),
    (Kind::Panicking, "panicking", 30),
    (Kind::Slow, "slow, with a deadline", 10),
    (Kind::Cancelled, "cancelled", 10),
    (Kind::Oversized, "oversized", 5),
    (Kind::Malformed, "malformed", 35),
    (Kind::Disconnecting, "disconnecting", 5),
];

/// One call.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    pub(crate) version: &'static str,
}

impl Call {
    /// The call of this number in the mix.
    pub(crate) fn new(number: u64, version: &'static str) -> Self {
        let mut place = scramble(number) % 1000;
        let kind = MIX.iter().find(|(_, _, share)| {
            let is_here = place < *share;
            place = place.wrapping_sub(*share);
            is_here
        });
        Self { number, kind: kind.map_or(Kind::Good, |(kind, ..)| *kind), version }
    }

    /// Chooses between variants of a kind, independently of the choice of the kind.
    pub(crate) fn variant(&self, of: u64) -> u64 {
        (scramble(self.number) >> 32) % of
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.version == VERSIONS[0]
    }

    pub(crate) fn tool(&self) -> &'static str {
        match (self.kind, self.variant(10)) {
            (Kind::Good, 0) => "soak_add_on_pool",
            (Kind::Good, 1) => "soak_add_in_future",
            (Kind::Bad, 0..3) => "soak_letters",
            (Kind::Unknown, _) => "soak_nothing",
            (Kind::Panicking, 0..3) => "soak_panic_in_future",
            (Kind::Panicking, _) => "soak_panic",
            (Kind::Slow, 0..5) | (Kind::Disconnecting, _) => "soak_late",
            (Kind::Slow, _) => "soak_late_on_pool",
            (Kind::Cancelled, _) => "soak_wait",
            _ => "soak_add",
        }
    }

    /// Appends the message, without a line break.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (n, b) = (self.number, self.addend());
        match (self.kind, self.variant(3)) {
            (Kind::Malformed, 0) => {
                append(out, format_args!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","par"#));
            }
            (Kind::Malformed, 1) => append(out, format_args!("not JSON {n}")),
            (Kind::Malformed, _) => out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"),
            (Kind::Bad, _) if self.tool() == "soak_letters" => {
                self.write_call(out, format_args!(r#"{{"words":["ab",{n}]}}"#));
            }
            (Kind::Bad, _) => self.write_call(out, format_args!(r#"{{"a":"one","b":null}}"#)),
            (Kind::Oversized, _) => self.write_call(out, format_args!(r#"{{"a":"{:MAX_MESSAGE$}"}}"#, "")),
            (Kind::Good, _) => self.write_call(out, format_args!(r#"{{"a":{n},"b":{b}}}"#)),
            _ => self.write_call(out, format_args!("{{}}")),
        }
    }

    fn write_call(&self, out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
        write_call(out, self.number, self.version, self.tool(), arguments);
    }

    fn addend(&self) -> i64 {
        i64::try_from(scramble(self.number) >> 16).unwrap_or_default()
    }

    /// What a good call has to return.
    pub(crate) fn sum(&self) -> i64 {
        self.addend().saturating_add_unsigned(self.number)
    }

    /// Says what is wrong with the answer, if anything is.
    pub(crate) fn check(&self, answer: &Answer<'_>) -> Result<(), String> {
        let failed = |word: &str| match &answer.result {
            Some(result) => result.is_error && result.text().contains(word) && self.fits_version(result),
            None => false,
        };
        let code = answer.error.as_ref().map(|error| error.code);
        let is_right = match self.kind {
            Kind::Good => answer.result.as_ref().is_some_and(|result| {
                let sum = result.structured_content.as_ref().and_then(|content| content.result);
                let is_sum = sum == Some(self.sum()) && result.text() == self.sum().to_string();
                is_sum && !result.is_error && self.fits_version(result)
            }),
            Kind::Bad => failed(if self.tool() == "soak_letters" { "words" } else { "`a`" }),
            Kind::Panicking => failed("ToolExecutionError"),
            Kind::Slow | Kind::Cancelled | Kind::Disconnecting => failed("TimeoutError"),
            Kind::Unknown => code == Some(-32602),
            Kind::Malformed => code == Some(-32700) && answer.id.is_none(),
            Kind::Oversized => code == Some(-32600) && answer.id.is_none(),
        };
        let has_id = matches!(self.kind, Kind::Malformed | Kind::Oversized) || answer.id == Some(self.number);
        if is_right && has_id && answer.jsonrpc == "2.0" { Ok(()) } else { Err(format!("{answer:?}")) }
    }

    fn fits_version(&self, result: &Outcome<'_>) -> bool {
        result.result_type == self.is_stateless().then_some("complete")
    }
}

/// Appends a call of any tool.
pub(crate) fn write_call(out: &mut Vec<u8>, id: u64, version: &str, tool: &str, arguments: std::fmt::Arguments<'_>) {
    const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let meta = if version == VERSIONS[0] { META } else { "" };
    append(
        out,
        format_args!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{meta}}}}}"#
        ),
    );
}

/// Appends the notification that cancels a call.
pub(crate) fn write_cancel(out: &mut Vec<u8>, id: u64) {
    append(
        out,
        format_args!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
    );
}

/// Appends the request that begins a session of an older version.
pub(crate) fn write_initialize(out: &mut Vec<u8>, version: &str) {
    append(
        out,
        format_args!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"soak","version":"0"}}}}}}"#
        ),
    );
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes everything");
}

/// Spreads consecutive numbers evenly (splitmix64).
fn scramble(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A message from the server.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer<'a> {
    jsonrpc: &'a str,
    pub(crate) id: Option<u64>,
    #[serde(borrow)]
    pub(crate) result: Option<Outcome<'a>>,
    pub(crate) error: Option<Failure<'a>>,
}

/// The number that a tool returned.
pub(crate) fn number_in(answer: &[u8]) -> io::Result<i64> {
    let number =
        serde_json::from_slice::<Answer<'_>>(answer)?.result.and_then(|result| result.structured_content?.result);
    number.ok_or_else(|| io::Error::other(format!("no number: {}", String::from_utf8_lossy(answer))))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Failure<'a> {
    pub(crate) code: i64,
    #[serde(borrow)]
    #[allow(dead_code, reason = "shown when the answer is wrong")]
    message: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome<'a> {
    #[serde(borrow, default)]
    content: Vec<Text<'a>>,
    pub(crate) structured_content: Option<Structured>,
    #[serde(default)]
    is_error: bool,
    result_type: Option<&'a str>,
}

impl Outcome<'_> {
    fn text(&self) -> &str {
        self.content.first().map_or("", |content| &content.text)
    }
}

#[derive(Debug, Deserialize)]
struct Text<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Structured {
    pub(crate) result: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::{Call, MIX, VERSIONS};

    #[test]
    fn the_mix_has_its_shares() {
        assert_eq!(MIX.iter().map(|(_, _, share)| share).sum::<u64>(), 1000);
        for (kind, name, share) in MIX {
            let calls = (0..100_000).filter(|n| Call::new(*n, VERSIONS[0]).kind == kind).count() as u64;
            assert!(calls.abs_diff(share * 100) <= share * 10 + 50, "{name}: {calls}");
        }
    }
}
