//! `tools/list`: the first page is encoded once per version and set of tools, and then copied.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::message::JsonObject;
use mcp_core::rpc::{Id, RpcError};
use serde::Serialize;
use serde_json::{Value, json};

use super::Server;
use super::decode::SERVER_INFO;
use super::encode::{respond, respond_result};
use super::errors::invalid_params;
use crate::catalog::Catalog;
use crate::catalog::tool::RegisteredTool;

/// The encoded lists of one set of tools.
pub(super) struct Lists {
    /// Kept alive, so that no other catalog can have the same address.
    catalog: Arc<Catalog>,
    /// Indexed by the number of [`CHANGES`] up to the version.
    first_pages: [OnceLock<Vec<u8>>; CHANGES.len() + 1],
}

/// The versions that changed the format of the list.
const CHANGES: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2026_07_28];

/// A tool as clients see it.
#[derive(Serialize)]
pub(crate) struct ListedTool<'a> {
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    pub(crate) description: &'a str,
    #[serde(rename = "inputSchema")]
    pub(crate) input_schema: Value,
    #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    pub(crate) output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) annotations: Value,
    #[serde(rename = "_meta", skip_serializing_if = "Value::is_null")]
    pub(crate) meta: Value,
}

impl<'a> ListedTool<'a> {
    fn new(tool: &'a RegisteredTool, version: ProtocolVersion) -> Self {
        let schema = |schema: &Value| {
            let mut schema = schema.clone();
            if !version.is_stateless() {
                boolean_schemas_as_objects(&mut schema);
            }
            schema
        };
        let has_titles = version >= ProtocolVersion::V2025_06_18;
        let annotations = if version >= ProtocolVersion::V2025_03_26 { tool.annotations() } else { JsonObject::new() };
        let meta = if has_titles { tool.meta() } else { JsonObject::new() };
        Self {
            name: tool.wire_name(),
            title: tool.title().filter(|_| has_titles),
            description: tool.description(),
            input_schema: schema(tool.input_schema()),
            output_schema: tool.output_schema().filter(|_| has_titles).map(|output| schema(output)),
            annotations: if annotations.is_empty() { Value::Null } else { annotations.into() },
            meta: if meta.is_empty() { Value::Null } else { meta.into() },
        }
    }
}

#[cfg(feature = "rmcp")]
impl RegisteredTool {
    /// The tool as clients of a version see it.
    pub(crate) fn listed(&self, version: ProtocolVersion) -> ListedTool<'_> {
        ListedTool::new(self, version)
    }
}

#[cfg(feature = "rmcp")]
impl Catalog {
    /// The tools that clients see, sorted by their names on the wire.
    pub(crate) fn listed(&self) -> Vec<&RegisteredTool> {
        visible_tools(self)
    }
}

/// In older versions, the schema of a property must be an object, not a boolean.
fn boolean_schemas_as_objects(schema: &mut Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for property in properties.values_mut() {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({ "not": {} }),
            other => boolean_schemas_as_objects(other),
        }
    }
}

/// The name after which the page of this cursor begins. An empty cursor is the first page.
pub(super) fn decode_cursor(cursor: &str) -> Result<String, RpcError> {
    let name = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| invalid_params("unknown `cursor`; start again without one"))
}

fn encode_cursor(after: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(after)
}

impl Server {
    /// Appends a page of the list.
    pub(super) fn write_list(&self, id: &Id<'_>, version: ProtocolVersion, after: Option<&str>, out: &mut Vec<u8>) {
        let lists = self.lists();
        match after.filter(|after| !after.is_empty()) {
            None => {
                let form = CHANGES.iter().filter(|change| version >= **change).count();
                let page = lists.first_pages[form].get_or_init(|| self.page(&lists.catalog, version, ""));
                respond_result(id, out, |out| out.extend_from_slice(page));
            }
            Some(after) => {
                let page = self.page(&lists.catalog, version, after);
                respond_result(id, out, |out| out.extend_from_slice(&page));
            }
        }
    }

    /// Appends the list of `list_tools`: all tools on one page.
    pub(super) fn write_legacy_list(&self, id: &Id<'_>, out: &mut Vec<u8>) {
        let catalog = self.0.registry.catalog();
        let tools: Vec<ListedTool<'_>> = visible_tools(&catalog)
            .into_iter()
            .map(|tool| ListedTool::new(tool, ProtocolVersion::V2025_06_18))
            .collect();
        respond(id, &json!({ "tools": tools }), out);
    }

    /// The lists of the current tools.
    fn lists(&self) -> Arc<Lists> {
        let tools = self.0.registry.snapshot();
        if let Some(lists) = self.0.lists.load().as_ref().filter(|lists| Arc::ptr_eq(&lists.catalog, &tools.catalog)) {
            return Arc::clone(lists);
        }
        let lists = Arc::new(Lists { catalog: Arc::clone(&tools.catalog), first_pages: Default::default() });
        self.0.lists.store(Some(Arc::clone(&lists)));
        lists
    }

    fn page(&self, catalog: &Catalog, version: ProtocolVersion, after: &str) -> Vec<u8> {
        let tools = visible_tools(catalog);
        let start = tools.partition_point(|tool| tool.wire_name() <= after);
        let end = start.saturating_add(self.0.settings.page_size).min(tools.len());
        let page = &tools[start..end];
        let shown: Vec<ListedTool<'_>> = page.iter().map(|tool| ListedTool::new(tool, version)).collect();
        let mut result = json!({ "tools": shown });
        if let Value::Object(result) = &mut result {
            if let Some(last) = page.last().filter(|_| end < tools.len()) {
                result.insert("nextCursor".to_owned(), encode_cursor(last.wire_name()).into());
            }
            if version.is_stateless() {
                let ttl = tools.iter().map(|tool| tool.cache_ttl()).min().unwrap_or_default();
                result.insert("ttlMs".to_owned(), (u64::from(ttl) * 1000).into());
                result.insert("cacheScope".to_owned(), "public".into());
                result.insert("resultType".to_owned(), "complete".into());
                result.insert("_meta".to_owned(), json!({ SERVER_INFO: self.implementation() }));
            }
        }
        result.to_string().into_bytes()
    }
}

/// The tools that clients see, sorted by their names on the wire.
fn visible_tools(catalog: &Catalog) -> Vec<&RegisteredTool> {
    let mut tools: Vec<&RegisteredTool> =
        catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).collect();
    tools.sort_by_key(|tool| tool.wire_name());
    tools
}
