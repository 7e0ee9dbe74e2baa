//! `tools/list`: the first page is encoded once per version and set of tools, and then copied.

use std::borrow::Cow;
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
use super::encode::respond_result;
use super::errors::invalid_params;
use super::initialize::contract_meta;
use crate::catalog::Catalog;
use crate::catalog::tool::{RegisteredTool, ToolMeta, ToolSchema};

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
pub(crate) struct ListedTool<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) description: &'a str,
    /// As JSON.
    pub(crate) input_schema: Cow<'a, str>,
    /// As JSON.
    pub(crate) output_schema: Option<Cow<'a, str>>,
    pub(crate) annotations: JsonObject,
    pub(crate) meta: Option<ListedMeta<'a>>,
}

/// The `_meta` of a listed tool.
#[derive(Serialize)]
pub(crate) struct ListedMeta<'a> {
    /// The author's own keys. A key like that of the next member is a registration error.
    #[serde(flatten)]
    own: JsonObject,
    #[serde(rename = "mcp-registry/tool")]
    tool: ToolMeta<'a>,
}

impl<'a> ListedTool<'a> {
    fn new(tool: &'a RegisteredTool, version: ProtocolVersion) -> Self {
        let schema = |schema: &'a ToolSchema, is_explicit: bool| {
            // Derived schemas have no booleans in place of schemas.
            if version.is_stateless() || !is_explicit {
                return Cow::Borrowed(schema.json());
            }
            let mut schema = Value::clone(schema);
            boolean_schemas_as_objects(&mut schema);
            Cow::Owned(schema.to_string())
        };
        let has_titles = version >= ProtocolVersion::V2025_06_18;
        let definition = tool.definition();
        let output = tool.output_schema().filter(|_| has_titles);
        Self {
            name: tool.wire_name(),
            title: tool.title().filter(|_| has_titles),
            description: tool.description(),
            input_schema: schema(tool.input_schema(), definition.has_explicit_input()),
            output_schema: output.map(|output| schema(output, definition.has_explicit_output())),
            annotations: if version >= ProtocolVersion::V2025_03_26 { tool.annotations() } else { JsonObject::new() },
            meta: has_titles.then(|| ListedMeta { own: tool.meta(), tool: tool.pinned() }),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let Self { name, title, description, input_schema, output_schema, annotations, meta } = self;
        out.push(b'{');
        write_member("name", name, out);
        if let Some(title) = title {
            write_member(",title", title, out);
        }
        write_member(",description", description, out);
        out.extend_from_slice(br#","inputSchema":"#);
        out.extend_from_slice(input_schema.as_bytes());
        if let Some(schema) = output_schema {
            out.extend_from_slice(br#","outputSchema":"#);
            out.extend_from_slice(schema.as_bytes());
        }
        if !annotations.is_empty() {
            write_member(",annotations", annotations, out);
        }
        if let Some(meta) = meta {
            write_member(",_meta", meta, out);
        }
        out.push(b'}');
    }
}

/// Appends a member of an object. The key begins with a comma if the member is not the first one.
fn write_member(key: &str, value: &impl Serialize, out: &mut Vec<u8>) {
    let (comma, key) = key.strip_prefix(',').map_or((false, key), |key| (true, key));
    if comma {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
    // The texts and values of a tool can always be serialised.
    let _ = serde_json::to_writer(out, value);
}

/// Appends tools as a list.
fn write_tools(tools: &[&RegisteredTool], version: ProtocolVersion, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"tools":["#);
    for (index, tool) in tools.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        ListedTool::new(tool, version).write(out);
    }
    out.push(b']');
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
        respond_result(id, out, |out| {
            write_tools(&visible_tools(&catalog), ProtocolVersion::V2025_06_18, out);
            write_member(",_meta", &contract_meta(&catalog), out);
            out.push(b'}');
        });
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
        let mut out = Vec::new();
        write_tools(page, version, &mut out);
        if let Some(last) = page.last().filter(|_| end < tools.len()) {
            write_member(",nextCursor", &encode_cursor(last.wire_name()), &mut out);
        }
        if version.is_stateless() {
            let ttl = tools.iter().map(|tool| tool.cache_ttl()).min().unwrap_or_default();
            write_member(",ttlMs", &(u64::from(ttl) * 1000), &mut out);
            write_member(",cacheScope", &"public", &mut out);
            write_member(",resultType", &"complete", &mut out);
            write_member(",_meta", &json!({ SERVER_INFO: self.implementation() }), &mut out);
        }
        out.push(b'}');
        out
    }
}

/// The tools that clients see, sorted by their names on the wire.
fn visible_tools(catalog: &Catalog) -> Vec<&RegisteredTool> {
    let mut tools: Vec<&RegisteredTool> =
        catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).collect();
    tools.sort_by_key(|tool| tool.wire_name());
    tools
}
