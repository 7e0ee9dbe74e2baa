//! The headers that repeat what a message says, so that what stands between client and server need not read it. From
//! 2026-07-28 on they have to be there, and to say the same.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mcp_core::__private::cut;
use mcp_core::{ProtocolVersion, RpcError};
use serde_json::Value;

use crate::catalog::header::HeaderArgument;
use crate::protocol::{RepeatedFields, TransportHeaders, header_mismatch, unsupported_version};

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The oldest version that is served over HTTP: 2024-11-05 has another HTTP transport.
pub(super) const OLDEST: ProtocolVersion = ProtocolVersion::V2025_03_26;

/// The headers of a message.
pub(super) struct Headers<'a> {
    all: &'a HeaderMap,
    version: Version<'a>,
}

/// The version that the headers speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version<'a> {
    None,
    Spoken(ProtocolVersion),
    /// None that is spoken here.
    Other(&'a str),
    /// None that can be read.
    Broken,
}

impl<'a> Headers<'a> {
    pub(super) fn of(all: &'a HeaderMap) -> Self {
        let version = match one(all, VERSION.as_str()) {
            Ok(None) => Version::None,
            Ok(Some(text)) => ProtocolVersion::from_name(text)
                .filter(|era| *era >= OLDEST)
                .map_or(Version::Other(text), Version::Spoken),
            Err(_) => Version::Broken,
        };
        Self { all, version }
    }

    pub(super) fn version(&self) -> Version<'a> {
        self.version
    }
}

impl TransportHeaders for Headers<'_> {
    fn oldest_version(&self) -> ProtocolVersion {
        OLDEST
    }

    fn is_stateless(&self) -> bool {
        matches!(self.version, Version::Spoken(era) if era.is_stateless())
    }

    fn check_version(&self, version: Option<&str>) -> Result<(), RpcError> {
        let header = match (self.version, version) {
            (Version::None, Some(_)) => {
                return Err(header_mismatch(
                    "the header `MCP-Protocol-Version` is missing; send the version of the request",
                ));
            }
            (Version::Broken, _) => return Err(broken_version()),
            (Version::Other(text), None) => return Err(unsupported_version(text, OLDEST)),
            (Version::None | Version::Spoken(_), None) => return Ok(()),
            (Version::Spoken(era), Some(_)) => era.as_str(),
            (Version::Other(text), Some(_)) => text,
        };
        same("MCP-Protocol-Version", header, "the version in `_meta`", version.unwrap_or_default())
    }

    fn check_request(&self, fields: &RepeatedFields<'_>) -> Result<(), RpcError> {
        let method = one(self.all, METHOD.as_str())?;
        let method = method.ok_or_else(|| header_mismatch("the header `Mcp-Method` is missing; send the method"))?;
        same("Mcp-Method", method, "the method", fields.method)?;
        if fields.method != "tools/call" {
            return Ok(());
        }
        // What has no name is refused for that.
        let Some(name) = fields.tool else { return Ok(()) };
        let header = one(self.all, NAME.as_str())?;
        let header =
            header.ok_or_else(|| header_mismatch("the header `Mcp-Name` is missing; send the name of the tool"))?;
        same("Mcp-Name", &decoded(NAME.as_str(), header)?, "the name of the tool", name)?;
        let tools = fields.registry.snapshot();
        let Some(tool) = tools.find(name) else { return Ok(()) };
        let repeated = tool.header_arguments();
        if repeated.is_empty() {
            return Ok(());
        }
        let arguments = match fields.arguments.map(|raw| serde_json::from_str(raw.get())).transpose() {
            Ok(arguments) => arguments.unwrap_or_default(),
            // The tool might read what it wants of them.
            Err(error) => {
                let error = error.to_string();
                let why = cut(&error, 200);
                return Err(header_mismatch(format!(
                    "the arguments cannot be held against the headers: {why}; mend them"
                )));
            }
        };
        repeated.iter().try_for_each(|repeated| check(repeated, self.all, &arguments))
    }
}

/// Checks that a header repeats its argument.
fn check(repeated: &HeaderArgument, headers: &HeaderMap, arguments: &Value) -> Result<(), RpcError> {
    let value = repeated.find(arguments);
    let header = one(headers, &repeated.header)?.map(|header| decoded(&repeated.header, header)).transpose()?;
    let path = || cut(&repeated.path.join("."), 64).into_owned();
    let text = match value {
        None | Some(Value::Null) => {
            return match header {
                None => Ok(()),
                Some(_) => Err(header_mismatch(format!(
                    "the header `{}` is there and the argument `{}` is not; send both or none",
                    repeated.header,
                    path()
                ))),
            };
        }
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let Some(header) = header else {
        return Err(header_mismatch(format!(
            "the header `{}` is missing; send the value of the argument `{}`",
            repeated.header,
            path()
        )));
    };
    if header == text || (value.is_some_and(Value::is_number) && same_number(&header, &text)) {
        return Ok(());
    }
    // The value may be a secret, and is not told.
    Err(header_mismatch(format!(
        "the header `{}` differs from the argument `{}`; send the same in both",
        repeated.header,
        path()
    )))
}

/// Whether two texts mean the same number. Whole ones are not rounded.
fn same_number(one: &str, other: &str) -> bool {
    match (one.parse::<i128>(), other.parse::<i128>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.parse::<f64>().is_ok_and(|one| other.parse() == Ok(one)),
    }
}

/// The one value of a header, if it is there.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(header_mismatch(format!("the header `{name}` is there more than once; send it once")));
    }
    readable(value).map(Some).ok_or_else(|| unreadable(name))
}

fn readable(value: &HeaderValue) -> Option<&str> {
    Some(value.to_str().ok()?.trim_matches([' ', '\t']))
}

/// The error of a version that cannot be read.
pub(super) fn broken_version() -> RpcError {
    header_mismatch("the header `MCP-Protocol-Version` is there twice, or no text; send the version once")
}

fn unreadable(name: &str) -> RpcError {
    header_mismatch(format!("the header `{name}` has characters beyond ASCII; send it as `=?base64?…?=`"))
}

/// What a header says, if it says so in Base64.
fn decoded<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, RpcError> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Cow::Borrowed(value));
    };
    let decoded = BASE64_STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded
        .map(Cow::Owned)
        .ok_or_else(|| header_mismatch(format!("the header `{name}` is no Base64 of a text; encode it with padding")))
}

fn same(header: &str, said: &str, what: &str, meant: &str) -> Result<(), RpcError> {
    if said == meant {
        return Ok(());
    }
    let (said, meant) = (cut(said, 64), cut(meant, 64));
    Err(header_mismatch(format!("the header `{header}` says `{said}`, and {what} is `{meant}`; send the same in both")))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};
    use mcp_core::{ProtocolVersion, code};
    use serde_json::{Value, json};

    use super::{HeaderArgument, Headers, Version, decoded};
    use crate::protocol::TransportHeaders as _;

    fn headers(values: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn the_version_that_headers_speak_of() {
        let version = |values: &[(&'static str, &[u8])]| format!("{:?}", Headers::of(&headers(values)).version());
        let name = "mcp-protocol-version";
        assert_eq!(version(&[]), format!("{:?}", Version::None));
        assert_eq!(
            version(&[(name, b" 2025-06-18\t")]),
            format!("{:?}", Version::Spoken(ProtocolVersion::V2025_06_18))
        );
        assert_eq!(version(&[(name, b"1.0")]), format!("{:?}", Version::Other("1.0")));
        assert_eq!(version(&[(name, b"\xff")]), "Broken");
        assert_eq!(version(&[(name, b"2025-06-18"), (name, b"2025-06-18")]), "Broken");
    }

    #[test]
    fn the_version_has_to_be_that_of_the_request() {
        let agrees = |value: Option<&[u8]>, version: Option<&str>| {
            let all = headers(&value.map(|value| ("mcp-protocol-version", value)).into_iter().collect::<Vec<_>>());
            Headers::of(&all).check_version(version).map_err(|error| error.code)
        };
        assert_eq!(agrees(Some(b"2026-07-28"), Some("2026-07-28")), Ok(()));
        assert_eq!(agrees(Some(b"1999-01-01"), Some("1999-01-01")), Ok(()), "that it is not spoken is told later");
        for header in [None, Some(&b"2025-11-25"[..]), Some(b"2026-07-2"), Some(b"\xe9")] {
            assert_eq!(agrees(header, Some("2026-07-28")), Err(code::HEADER_MISMATCH), "{header:?}");
        }
        assert_eq!((agrees(None, None), agrees(Some(b"2025-06-18"), None)), (Ok(()), Ok(())));
        assert_eq!(agrees(Some(b"1999-01-01"), None), Err(code::UNSUPPORTED_PROTOCOL_VERSION));
        assert_eq!(agrees(Some(b"\xe9"), None), Err(code::HEADER_MISMATCH));
    }

    #[test]
    fn values_may_be_encoded() {
        let decoded = |value: &str| decoded("mcp-name", value).ok().map(std::borrow::Cow::into_owned);
        for (value, text) in [
            ("plain", Some("plain")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界")),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", Some("=?base64?literal?=")),
            ("=?base64??=", Some("")),
            ("=?base64?SGVsbG8", Some("=?base64?SGVsbG8")),
            ("SGVsbG8=?=", Some("SGVsbG8=?=")),
            ("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVs!!!bG8=?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(decoded(value).as_deref(), text, "{value}");
        }
    }

    fn check(value: &[(&'static str, &[u8])], arguments: &Value) -> Result<(), String> {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "place": { "type": "object", "properties": { "zip": { "type": "integer", "x-mcp-header": "Zip" } } },
            "list": { "type": "array", "items": { "properties": { "no": { "x-mcp-header": "No" } } } },
        } });
        let repeated = HeaderArgument::of(&schema, &[]);
        assert_eq!(repeated.len(), 2);
        let headers = headers(value);
        repeated.iter().try_for_each(|repeated| super::check(repeated, &headers, arguments)).map_err(|error| {
            assert_eq!(error.code, code::HEADER_MISMATCH);
            error.message
        })
    }

    #[test]
    fn arguments_are_compared_with_their_headers() {
        let (region, zip) = ("mcp-param-region", "mcp-param-zip");
        for (headers, arguments) in [
            (&[][..], json!({})),
            (&[], json!({ "region": null, "place": {} })),
            (&[(region, &b"us-west1"[..])], json!({ "region": "us-west1" })),
            (&[(region, "=?base64?w6k=?=".as_bytes())], json!({ "region": "é" })),
            (&[(zip, b"42.0")], json!({ "place": { "zip": 42 } })),
            (&[(zip, b"42")], json!({ "place": { "zip": 42.0 } })),
        ] {
            assert_eq!(check(headers, &arguments), Ok(()), "{arguments}");
        }
        for (headers, arguments) in [
            (&[][..], json!({ "region": "us" })),
            (&[(region, &b"us"[..])], json!({ "region": "eu" })),
            (&[(region, b"US")], json!({ "region": "us" })),
            (&[(region, b"us")], json!({})),
            (&[(region, b"\xff")], json!({ "region": "us" })),
            (&[(region, b"us"), (region, b"us")], json!({ "region": "us" })),
            (&[(region, b"=?base64?dXM?=")], json!({ "region": "us" })),
            (&[(zip, b"43")], json!({ "place": { "zip": 42 } })),
            (&[(zip, b"true")], json!({ "place": { "zip": false } })),
        ] {
            let message = check(headers, &arguments).unwrap_err();
            assert!(message.contains("`mcp-param-") && message.contains("; "), "{message}");
        }
    }
}
