//! The methods that set up a connection: `initialize`, `server/discover`, `logging/setLevel`.

use mcp_core::LogLevel;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::message::JsonObject;
use mcp_core::rpc::RpcError;
use serde_json::{Value, json};

use super::Server;
use super::decode::{Request, SERVER_INFO};
use super::errors::{supported_versions, unknown_level};
use super::peer::Peer;
use crate::catalog::Catalog;
use crate::util::panic::guard;

/// The member of `_meta` in which a server has the digest of its tools.
const CONTRACT_META: &str = "mcp-registry/contract";

impl Server {
    pub(super) fn initialize(
        &self,
        request: &Request<'_>,
        oldest: ProtocolVersion,
        peer: &Peer,
    ) -> Result<(Value, ProtocolVersion), RpcError> {
        let requested = ProtocolVersion::from_name(&request.params.protocol_version()?);
        let version = requested.filter(|version| *version >= oldest && !version.is_stateless());
        let version = version.unwrap_or(ProtocolVersion::V2025_11_25);
        peer.set_protocol_version(version);
        self.notify_of_changes(peer);
        let mut result = json!({
            "protocolVersion": version.as_str(),
            "capabilities": capabilities(peer),
            "serverInfo": self.implementation(),
            "_meta": contract_meta(&self.0.registry.catalog()),
        });
        self.add_instructions(&mut result);
        Ok((result, version))
    }

    pub(super) fn discover(&self, oldest: ProtocolVersion, peer: &Peer) -> Value {
        let mut result = json!({
            "supportedVersions": supported_versions(oldest),
            "capabilities": capabilities(peer),
            "ttlMs": 300_000,
            "cacheScope": "public",
            "_meta": contract_meta(&self.0.registry.catalog()),
        });
        self.add_instructions(&mut result);
        result
    }

    pub(super) fn implementation(&self) -> Value {
        json!({ "name": self.0.settings.name, "version": self.0.settings.version })
    }

    fn add_instructions(&self, result: &mut Value) {
        if let (Some(text), Value::Object(result)) = (&self.0.settings.instructions, result) {
            result.insert("instructions".to_owned(), text.as_str().into());
        }
    }

    /// Adds the fields that the version requires in every result.
    pub(super) fn complete(&self, mut result: Value, version: ProtocolVersion) -> Value {
        if let (true, Value::Object(result)) = (version.is_stateless(), &mut result) {
            result.insert("resultType".to_owned(), "complete".into());
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert(SERVER_INFO.to_owned(), self.implementation());
            }
        }
        result
    }
}

/// What clients can pin of the tools, and how many there are.
pub(crate) fn contract_meta(catalog: &Catalog) -> JsonObject {
    let mut meta = JsonObject::new();
    // This generates the schemas of the user's types, which may panic. Then a connection has to begin all the same.
    if let Ok(digest) = guard(|| catalog.digest()) {
        meta.insert(CONTRACT_META.to_owned(), json!({ "digest": digest }));
    }
    meta.extend(counts(catalog));
    meta
}

/// How many tools, resources and prompts clients see.
pub(super) fn counts(catalog: &Catalog) -> [(String, Value); 3] {
    let tools = catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).count();
    let counts = [("tools_count", tools), ("resources_count", 0), ("prompts_count", 0)];
    counts.map(|(key, count)| (key.to_owned(), count.into()))
}

/// The capabilities of the server on this connection.
fn capabilities(peer: &Peer) -> Value {
    let mut capabilities = json!({ "tools": { "listChanged": peer.can_notify() } });
    if let (true, Value::Object(capabilities)) = (peer.can_notify(), &mut capabilities) {
        capabilities.insert("logging".to_owned(), JsonObject::new().into());
    }
    capabilities
}

/// `logging/setLevel`.
pub(super) fn set_log_level(request: &Request<'_>, peer: &Peer) -> Result<LogLevel, RpcError> {
    let name = request.params.level()?;
    let level = LogLevel::from_name(&name).ok_or_else(|| unknown_level(&name))?;
    peer.set_log_level(level);
    Ok(level)
}
