//! What a request brings, and in which version of MCP it speaks.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use mcp_core::__private::cut;
use mcp_core::{CallOptions, Id, ProtocolVersion, RpcError, RpcRequest, code};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call::id::correlation_id;
use crate::call::trace;
use crate::registry::Registry;
use crate::util::panic::Panicked;

/// The key under which a result names its server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The key under which a notification names the request by which it was asked for.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// How many bytes the `_meta` of a request may have: it is kept while the request is in flight.
const META: usize = 64 * 1024;

/// A request as most are, read in one pass. One that is not so is read with more care, and has its error from there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainRequest<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    pub(super) id: Id<'a>,
    pub(super) method: &'a str,
    #[serde(borrow, deserialize_with = "only_an_object")]
    pub(super) params: Params<'a>,
}

impl<'a> PlainRequest<'a> {
    pub(super) fn read(message: &'a [u8]) -> Option<Self> {
        // serde would take a list for it as well.
        let text = std::str::from_utf8(message).ok().filter(|text| text.starts_with('{'))?;
        serde_json::from_str(text).ok().filter(|request: &Self| request.jsonrpc == "2.0")
    }
}

/// Reads an object, and nothing that serde would take for one.
fn only_an_object<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Params<'a>, D::Error> {
    struct Object;

    impl<'de> Visitor<'de> for Object {
        type Value = Params<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Params<'de>, A::Error> {
            Params::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Object)
}

/// A request, understood as far as every method goes.
pub(super) struct Asked<'a> {
    pub(super) era: ProtocolVersion,
    pub(super) params: Params<'a>,
    pub(super) meta: Meta<'a>,
}

/// The parameters that some method has. What a method does not know is passed over.
#[derive(Default, Deserialize)]
pub(super) struct Params<'a> {
    #[serde(rename = "_meta", borrow, default)]
    raw_meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
    #[serde(rename = "protocolVersion", borrow, default)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) notifications: Option<&'a RawValue>,
}

/// What the `_meta` of a request says to the protocol.
#[derive(Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    pub(super) version: Option<Text<'a>>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", borrow, default)]
    pub(super) capabilities: Option<&'a RawValue>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo", borrow, default)]
    info: Option<&'a RawValue>,
    #[serde(rename = "io.modelcontextprotocol/logLevel", borrow, default)]
    pub(super) log_level: Option<Text<'a>>,
    #[serde(rename = "progressToken", borrow, default)]
    pub(super) progress_token: Option<&'a RawValue>,
}

impl Meta<'_> {
    /// Whether it speaks as a version does in which each request carries its own.
    pub(super) fn is_stateless(&self) -> bool {
        self.capabilities.is_some() || self.info.is_some()
    }
}

impl<'a> Params<'a> {
    pub(super) fn read(request: &'a RpcRequest<'_>) -> Result<Self, RpcError> {
        request.params.as_deref().map_or_else(|| Ok(Self::default()), |params| read("params", params))
    }

    pub(super) fn meta(&self) -> Result<Meta<'a>, RpcError> {
        let Some(raw) = self.raw_meta.filter(|raw| raw.get() != "null") else { return Ok(Meta::default()) };
        if raw.get().len() > META {
            let bytes = raw.get().len();
            return Err(invalid(format!("`_meta` has {bytes} bytes and may have {META}; send less")));
        }
        let meta: Meta<'a> = read("params._meta", raw)?;
        if meta.capabilities.is_some_and(|capabilities| !capabilities.get().starts_with('{')) {
            return Err(invalid(
                "`_meta` has client capabilities that are no object; send one, `{}` if there are none",
            ));
        }
        Ok(meta)
    }

    /// Where the client is in the list.
    pub(super) fn cursor(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        self.cursor.map(|raw| text("cursor", raw)).transpose()
    }

    /// The version that a client asks for.
    pub(super) fn protocol_version(&self) -> Result<Cow<'a, str>, RpcError> {
        text("protocolVersion", self.protocol_version.ok_or_else(|| missing("protocolVersion"))?)
    }

    /// The level from which on log lines are wanted.
    pub(super) fn level(&self) -> Result<Cow<'a, str>, RpcError> {
        text("level", self.level.ok_or_else(|| missing("level"))?)
    }

    /// The `_meta` as the client wrote it.
    pub(super) fn raw_meta(&self) -> Option<&'a RawValue> {
        self.raw_meta
    }
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize, PartialEq)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

fn text<'a>(what: &str, raw: &'a RawValue) -> Result<Cow<'a, str>, RpcError> {
    let read: Result<Text<'a>, _> = serde_json::from_str(raw.get());
    read.map(|text| text.0).map_err(|_| invalid(format!("`{what}` must be a string; send one")))
}

fn missing(what: &str) -> RpcError {
    invalid(format!("`{what}` is missing; add it"))
}

/// Reads an object. (serde would take a list for it as well.)
pub(super) fn read<'a, T: Deserialize<'a>>(what: &str, raw: &'a RawValue) -> Result<T, RpcError> {
    if !raw.get().starts_with('{') {
        return Err(invalid(format!("`{what}` must be an object; send one")));
    }
    serde_json::from_str(raw.get())
        .map_err(|error| invalid(format!("`{what}`: {}; send what the method asks for", cut(&error.to_string(), 200))))
}

/// An error in the parameters.
pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message).data(json!({ "error_type": "ValidationError" }))
}

pub(super) fn capabilities_missing() -> RpcError {
    invalid("`_meta` has no `io.modelcontextprotocol/clientCapabilities`; add them, `{}` if there are none")
}

pub(super) fn version_missing() -> RpcError {
    invalid("`_meta` has no `io.modelcontextprotocol/protocolVersion`; add the version of the request")
}

/// The versions that are served, newest first.
pub(super) fn versions(oldest: ProtocolVersion) -> Vec<&'static str> {
    ProtocolVersion::ALL.into_iter().filter(|era| *era >= oldest).map(ProtocolVersion::as_str).collect()
}

/// The error for a version that is not spoken, or not in this way.
pub(crate) fn unsupported(version: &str, oldest: ProtocolVersion) -> RpcError {
    let supported = versions(oldest);
    let message = match ProtocolVersion::from_name(version).filter(|era| *era >= oldest) {
        Some(era) => {
            format!("MCP {era} begins with `initialize` and has no version in `_meta`; do so, or use a newer one")
        }
        None => format!("MCP {} is not spoken here; use one of {}", shown(version), supported.join(", ")),
    };
    let data = json!({ "supported": supported, "requested": shown(version), "error_type": "ValidationError" });
    RpcError::new(code::UNSUPPORTED_PROTOCOL_VERSION, message).data(data)
}

pub(super) fn unknown_level(name: &str) -> RpcError {
    let names = mcp_core::LogLevel::ALL.map(mcp_core::LogLevel::as_str).join(", ");
    invalid(format!("there is no log level `{}`; use one of {names}", shown(name)))
}

pub(super) fn shown(text: &str) -> Cow<'_, str> {
    cut(text, 64)
}

/// The one of two spellings that is there; an error if both are and differ.
pub(super) fn either<'a, T>(
    one: Option<&'a T>,
    other: Option<&'a T>,
    names: (&str, &str),
    same: impl Fn(&T, &T) -> bool,
) -> Result<Option<&'a T>, RpcError> {
    match (one, other) {
        (Some(one), Some(other)) if !same(one, other) => {
            Err(invalid(format!("`{}` differs from `{}`, which means the same; send one of them", names.1, names.0)))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// Whether the two are the same JSON. What cannot be read is the same as nothing but itself.
pub(super) fn same_json(one: &RawValue, other: &RawValue) -> bool {
    one.get() == other.get() || parsed(one).is_some_and(|one| parsed(other) == Some(one))
}

fn parsed(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

/// The error for a method that does not exist.
pub(super) fn unknown_method(method: &str) -> RpcError {
    let message = format!("there is no method `{}`; ask for `tools/list` or `tools/call`", shown(method));
    RpcError::new(code::METHOD_NOT_FOUND, message).data(json!({ "error_type": "ValidationError" }))
}

/// The error of an answer that could not be made; with an id in place of the reason where errors are masked.
pub(crate) fn internal(registry: &Registry, options: &CallOptions, panicked: &Panicked) -> RpcError {
    let (what, reason) = ("the answer could not be made", panicked.message());
    let (message, data) = if registry.settings().masks(options) {
        let id = correlation_id();
        trace::warn(&format!("{what}: {reason} (the client was shown the id {id} only)"));
        let message = format!("{what}; whoever runs the server finds the reason under the id {id}");
        (message, json!({ "error_type": "ToolExecutionError", "details": { "correlation_id": id } }))
    } else {
        let message = format!("{what}: {reason}; tell whoever runs the server");
        (message, json!({ "error_type": "ToolExecutionError" }))
    };
    RpcError::new(code::INTERNAL_ERROR, message).data(data)
}
