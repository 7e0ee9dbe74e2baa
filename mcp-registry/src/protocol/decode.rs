//! Parses requests: their parameters, their `_meta`, and the version of MCP that they use.

use std::borrow::Cow;

use mcp_core::mcp::ProtocolVersion;
use mcp_core::rpc::{Id, RpcError};
use mcp_core::support::{RpcParams, Text, cut};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::errors::{invalid_params, missing, missing_capabilities, missing_version, unsupported_version};
use super::headers::{RepeatedFields, TransportHeaders};
use super::peer::Peer;
use crate::registry::Registry;

/// The key under which a result names its server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The key under which a notification names its subscription.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The maximum size of the `_meta` of a request, which is kept while the request is in flight.
pub(super) const MAX_META_BYTES: usize = 64 * 1024;

/// A request whose version is known.
pub(super) struct Request<'a> {
    pub(super) version: ProtocolVersion,
    pub(super) params: &'a Params<'a>,
    pub(super) meta: Meta<'a>,
}

impl<'a> Request<'a> {
    /// Parses the version of a request, and checks it against the transport's headers.
    pub(super) fn read(
        headers: &impl TransportHeaders,
        method: &str,
        params: &'a Params<'a>,
        peer: &Peer,
        registry: &Registry,
    ) -> Result<Self, RpcError> {
        let meta = params.meta()?;
        let version = match &meta.version {
            Some(version) => {
                if meta.capabilities.is_none() {
                    return Err(missing_capabilities());
                }
                headers.check_version(Some(version))?;
                match ProtocolVersion::from_name(version).filter(|version| version.is_stateless()) {
                    Some(version) => version,
                    None => return Err(unsupported_version(version, headers.oldest_version())),
                }
            }
            None if meta.is_stateless() || method == "server/discover" || headers.is_stateless() => {
                return Err(missing_version());
            }
            None => {
                headers.check_version(None)?;
                peer.protocol_version().unwrap_or(ProtocolVersion::V2025_11_25)
            }
        };
        if version.is_stateless() {
            headers.check_request(&RepeatedFields::new(method, params, registry, peer.call_options()))?;
        }
        Ok(Self { version, params, meta })
    }
}

/// The parameters of all methods. Each method ignores the parameters of the others.
#[derive(Clone, Default, Deserialize)]
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
    #[serde(rename = "requestId", borrow, default)]
    request_id: Option<&'a RawValue>,
}

/// The fields of `_meta` that the protocol defines.
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
    /// Whether it belongs to a version of MCP in which each request carries its own version.
    pub(super) fn is_stateless(&self) -> bool {
        self.capabilities.is_some() || self.info.is_some()
    }
}

impl<'a> Params<'a> {
    /// The parameters of a message; empty if it has none.
    pub(super) fn read<'m>(params: RpcParams<'m, 'a, Self>) -> Result<Cow<'m, Self>, RpcError> {
        match params {
            Ok(params) => Ok(Cow::Borrowed(params)),
            Err(None) => Ok(Cow::default()),
            Err(Some(raw)) => read("params", raw).map(Cow::Owned),
        }
    }

    pub(super) fn meta(&self) -> Result<Meta<'a>, RpcError> {
        let Some(raw) = self.raw_meta.filter(|raw| raw.get() != "null") else { return Ok(Meta::default()) };
        check_meta_size(raw.get().len())?;
        let meta: Meta<'a> = read("params._meta", raw)?;
        if meta.capabilities.is_some_and(|capabilities| !capabilities.get().starts_with('{')) {
            return Err(invalid_params(
                "`_meta` has client capabilities that are not an object; send one, `{}` if there are none",
            ));
        }
        Ok(meta)
    }

    /// The position at which the page of a list begins.
    pub(super) fn cursor(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        self.cursor.map(|raw| text("cursor", raw)).transpose()
    }

    /// The version that the client requests.
    pub(super) fn protocol_version(&self) -> Result<Cow<'a, str>, RpcError> {
        text("protocolVersion", self.protocol_version.ok_or_else(|| missing("protocolVersion"))?)
    }

    /// The minimum level of log messages for the client.
    pub(super) fn level(&self) -> Result<Cow<'a, str>, RpcError> {
        text("level", self.level.ok_or_else(|| missing("level"))?)
    }

    /// The request that a notification refers to.
    pub(super) fn request_id(&self) -> Option<Id<'static>> {
        self.request_id.and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// The `_meta` as the client wrote it.
    pub(super) fn raw_meta(&self) -> Option<&'a RawValue> {
        self.raw_meta
    }
}

/// Refuses the `_meta` of a request if it has too many bytes.
pub(crate) fn check_meta_size(bytes: usize) -> Result<(), RpcError> {
    if bytes <= MAX_META_BYTES {
        return Ok(());
    }
    Err(invalid_params(format!("`_meta` has {bytes} bytes and may have {MAX_META_BYTES}; send less")))
}

fn text<'a>(field: &str, raw: &'a RawValue) -> Result<Cow<'a, str>, RpcError> {
    let read: Result<Text<'a>, _> = serde_json::from_str(raw.get());
    read.map(|text| text.0).map_err(|_| invalid_params(format!("`{field}` must be a string; send one")))
}

/// Parses an object. (serde would accept an array as well.)
pub(super) fn read<'a, T: Deserialize<'a>>(field: &str, raw: &'a RawValue) -> Result<T, RpcError> {
    if !raw.get().starts_with('{') {
        return Err(invalid_params(format!("`{field}` must be an object; send one")));
    }
    serde_json::from_str(raw.get()).map_err(|error| {
        invalid_params(format!("`{field}`: {}; send what the method asks for", cut(&error.to_string(), 200)))
    })
}

/// The value of a field with two names; an error if both are present and differ.
pub(super) fn either<'a, T>(
    one: Option<&'a T>,
    other: Option<&'a T>,
    names: (&str, &str),
    same: impl Fn(&T, &T) -> bool,
) -> Result<Option<&'a T>, RpcError> {
    match (one, other) {
        (Some(one), Some(other)) if !same(one, other) => Err(invalid_params(format!(
            "`{}` differs from `{}`, which means the same; send one of them",
            names.1, names.0
        ))),
        (one, other) => Ok(one.or(other)),
    }
}

/// Whether two texts are the same JSON.
pub(super) fn same_json(one: &RawValue, other: &RawValue) -> bool {
    one.get() == other.get() || parsed(one).is_some_and(|one| parsed(other) == Some(one))
}

fn parsed(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}
