//! The headers that repeat parts of a message, so that proxies need not parse it. From 2026-07-28 on, they are required
//! and must match the message.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::rpc::RpcError;
use mcp_core::support::cut;
use serde_json::Value;

use super::in_flight::{Limit, Permit};
use super::response::busy_error;
use crate::catalog::header::HeaderArgument;
use crate::protocol::{RepeatedFields, TransportHeaders, header_mismatch, internal, unsupported_version};
use crate::util::panic::guard;

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The oldest version that is supported over HTTP: 2024-11-05 has a different HTTP transport.
pub(super) const OLDEST_VERSION: ProtocolVersion = ProtocolVersion::V2025_03_26;

/// The headers of a message.
pub(super) struct McpHeaders<'a> {
    all: &'a HeaderMap,
    /// The version as it was sent. An error if there is more than one, or if it is not ASCII.
    sent_version: Result<Option<&'a str>, RpcError>,
    /// The version, if it is supported.
    version: Option<ProtocolVersion>,
    /// The permit of the request, which the calls of a batch share.
    permit: Option<&'a Permit>,
}

impl<'a> McpHeaders<'a> {
    pub(super) fn new(all: &'a HeaderMap) -> Self {
        let sent_version = single_value(all, VERSION.as_str()).map_err(|_| {
            header_mismatch("the header `MCP-Protocol-Version` appears twice or is not ASCII; send the version once")
        });
        let version = sent_version.as_ref().ok().copied().flatten().and_then(ProtocolVersion::from_name);
        Self { all, sent_version, version: version.filter(|version| *version >= OLDEST_VERSION), permit: None }
    }

    /// Sets the permit of the request, which the calls of a batch share.
    pub(super) fn with_permit(self, permit: &'a Permit) -> Self {
        Self { permit: Some(permit), ..self }
    }

    /// The version, if there is one. Fails if it is not supported.
    pub(super) fn version(&self) -> Result<Option<ProtocolVersion>, RpcError> {
        match (self.sent_version.clone()?, self.version) {
            (Some(text), None) => Err(unsupported_version(text, OLDEST_VERSION)),
            (_, version) => Ok(version),
        }
    }

    pub(super) fn session_id(&self) -> Option<&'a HeaderValue> {
        self.all.get(SESSION_ID)
    }
}

impl TransportHeaders for McpHeaders<'_> {
    fn oldest_version(&self) -> ProtocolVersion {
        OLDEST_VERSION
    }

    fn is_stateless(&self) -> bool {
        self.version.is_some_and(ProtocolVersion::is_stateless)
    }

    fn check_version(&self, version: Option<&str>) -> Result<(), RpcError> {
        let Some(version) = version else { return self.version().map(drop) };
        let header = self.sent_version.clone()?.ok_or_else(|| {
            header_mismatch("the header `MCP-Protocol-Version` is missing; send the version of the request")
        })?;
        check_equal("MCP-Protocol-Version", header, "the version in `_meta`", version)
    }

    fn count_call(&self) -> Result<(), RpcError> {
        let taken = self.permit.map_or(Ok(()), |permit| permit.try_take(Limit::Requests, 1));
        taken.map_err(|(_, message)| busy_error(message))
    }

    fn check_request(&self, fields: &RepeatedFields<'_>) -> Result<(), RpcError> {
        let method = single_value(self.all, METHOD.as_str())?;
        let method = method.ok_or_else(|| header_mismatch("the header `Mcp-Method` is missing; send the method"))?;
        check_equal("Mcp-Method", method, "the method", fields.method)?;
        if fields.method != "tools/call" {
            return Ok(());
        }
        // A call without a name is rejected later.
        let Some(name) = fields.tool else { return Ok(()) };
        let header = single_value(self.all, NAME.as_str())?;
        let header =
            header.ok_or_else(|| header_mismatch("the header `Mcp-Name` is missing; send the name of the tool"))?;
        check_equal("Mcp-Name", &decode(NAME.as_str(), header)?, "the name of the tool", name)?;
        let tools = fields.registry.snapshot();
        let Some(tool) = tools.find(name) else { return Ok(()) };
        // The schema of a user's type may panic.
        let repeated = guard(|| tool.header_arguments())
            .map_err(|panicked| internal(fields.registry, fields.options, &panicked))?;
        if repeated.is_empty() {
            return Ok(());
        }
        let arguments = fields.arguments.map(|raw| serde_json::from_str(raw.get())).transpose().map_err(|error| {
            let why = error.to_string();
            let why = cut(&why, 200);
            header_mismatch(format!("the arguments cannot be compared with the headers: {why}; correct them"))
        })?;
        let arguments = arguments.unwrap_or_default();
        repeated.iter().try_for_each(|argument| check_argument(argument, self.all, &arguments))
    }
}

/// Checks that the header of an argument repeats it.
fn check_argument(argument: &HeaderArgument, headers: &HeaderMap, arguments: &Value) -> Result<(), RpcError> {
    let name = &*argument.header;
    let header = single_value(headers, name)?.map(|header| decode(name, header)).transpose()?;
    let value = argument.find(arguments).filter(|value| !value.is_null());
    let is_repeated = match (&header, value) {
        (Some(header), Some(Value::String(text))) => header == text,
        (Some(header), Some(Value::Number(number))) => same_number(header, &number.to_string()),
        (Some(header), Some(other)) => *header == other.to_string(),
        (header, value) => header.is_none() && value.is_none(),
    };
    if is_repeated {
        return Ok(());
    }
    let path = argument.path.join(".");
    let path = cut(&path, 64);
    // The value may be secret, so the message does not contain it.
    Err(header_mismatch(match (header, value) {
        (None, _) => format!("the header `{name}` is missing; send the value of the argument `{path}`"),
        (_, None) => format!("the header `{name}` is present, but the argument `{path}` is not; send both or neither"),
        _ => format!("the header `{name}` differs from the argument `{path}`; send the same in both"),
    }))
}

/// Whether two strings are the same number. Integers are compared exactly.
fn same_number(one: &str, other: &str) -> bool {
    match (one.parse::<i128>(), other.parse::<i128>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.parse::<f64>().is_ok_and(|one| other.parse() == Ok(one)),
    }
}

/// The value of a header; an error if there are several.
fn single_value<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(header_mismatch(format!("the header `{name}` appears more than once; send it once")));
    }
    value.to_str().map(|text| Some(text.trim_matches([' ', '\t']))).map_err(|_| {
        header_mismatch(format!("the header `{name}` has characters beyond ASCII; send it as `=?base64?…?=`"))
    })
}

/// Decodes the value of a header, which may be Base64.
fn decode<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, RpcError> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Cow::Borrowed(value));
    };
    let decoded = BASE64_STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let error = || header_mismatch(format!("the header `{name}` is not Base64 of UTF-8 text; encode it with padding"));
    decoded.map(Cow::Owned).ok_or_else(error)
}

fn check_equal(header: &str, value: &str, what: &str, expected: &str) -> Result<(), RpcError> {
    if value == expected {
        return Ok(());
    }
    let (value, expected) = (cut(value, 64), cut(expected, 64));
    Err(header_mismatch(format!(
        "the header `{header}` says `{value}`, and {what} is `{expected}`; send the same in both"
    )))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};
    use mcp_core::mcp::ProtocolVersion;
    use mcp_core::rpc::code;
    use serde_json::{Value, json};

    use super::{HeaderArgument, McpHeaders, decode};
    use crate::protocol::TransportHeaders as _;

    fn headers(values: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn the_version_is_read_from_its_header() {
        let version = |values: &[(&'static str, &[u8])]| {
            McpHeaders::new(&headers(values)).version().map_err(|error| (error.code, error.message))
        };
        let name = "mcp-protocol-version";
        assert_eq!(version(&[]), Ok(None));
        assert_eq!(version(&[(name, b" 2025-06-18\t")]), Ok(Some(ProtocolVersion::V2025_06_18)));
        assert_eq!(version(&[(name, b"1.0")]).unwrap_err().0, code::UNSUPPORTED_PROTOCOL_VERSION);
        for values in [&[(name, &b"\xff"[..])][..], &[(name, b"2025-06-18"), (name, b"2025-06-18")]] {
            let (code, message) = version(values).unwrap_err();
            assert_eq!(code, code::HEADER_MISMATCH);
            assert!(message.ends_with("appears twice or is not ASCII; send the version once"), "{message}");
        }
    }

    #[test]
    fn the_version_must_match_the_request() {
        let check = |value: Option<&[u8]>, version: Option<&str>| {
            let all = headers(&value.map(|value| ("mcp-protocol-version", value)).into_iter().collect::<Vec<_>>());
            McpHeaders::new(&all).check_version(version).map_err(|error| error.code)
        };
        assert_eq!(check(Some(b"2026-07-28"), Some("2026-07-28")), Ok(()));
        assert_eq!(check(Some(b"1999-01-01"), Some("1999-01-01")), Ok(()), "an unsupported version is rejected later");
        for header in [None, Some(&b"2025-11-25"[..]), Some(b"2026-07-2"), Some(b"\xe9")] {
            assert_eq!(check(header, Some("2026-07-28")), Err(code::HEADER_MISMATCH), "{header:?}");
        }
        assert_eq!((check(None, None), check(Some(b"2025-06-18"), None)), (Ok(()), Ok(())));
        assert_eq!(check(Some(b"1999-01-01"), None), Err(code::UNSUPPORTED_PROTOCOL_VERSION));
        assert_eq!(check(Some(b"\xe9"), None), Err(code::HEADER_MISMATCH));
    }

    #[test]
    fn values_may_be_encoded() {
        let decode = |value: &str| decode("mcp-name", value).ok().map(std::borrow::Cow::into_owned);
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
            assert_eq!(decode(value).as_deref(), text, "{value}");
        }
    }

    fn check_argument(value: &[(&'static str, &[u8])], arguments: &Value) -> Result<(), String> {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "place": { "type": "object", "properties": { "zip": { "type": "integer", "x-mcp-header": "Zip" } } },
            "list": { "type": "array", "items": { "properties": { "no": { "x-mcp-header": "No" } } } },
        } });
        let argument = HeaderArgument::from_schema(&schema, &[]);
        assert_eq!(argument.len(), 2);
        let headers = headers(value);
        argument.iter().try_for_each(|argument| super::check_argument(argument, &headers, arguments)).map_err(|error| {
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
            assert_eq!(check_argument(headers, &arguments), Ok(()), "{arguments}");
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
            let message = check_argument(headers, &arguments).unwrap_err();
            assert!(message.contains("`mcp-param-") && message.contains("; "), "{message}");
        }
    }
}
