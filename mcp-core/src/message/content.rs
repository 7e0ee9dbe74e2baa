//! Content blocks for a model: text, images, audio and resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::error::{Rule, Violations, join};
use crate::message::{JsonObject, Strictness, check_extra, expect, kind_of, read_value, serialize_with_extra};

const RESOURCE_FIELDS: [&str; 3] = ["uri", "text", "blob"];

/// A content block for a model.
///
/// `extra` has further fields of the block, such as `annotations`, `_meta`, or the `title` and `mimeType` of a link; set them
/// with [`with`](Self::with).
///
/// ```
/// use mcp_core::Content;
/// use serde_json::json;
///
/// let chart = Content::image(b"\x89PNG...", "image/png").with("annotations", json!({ "audience": ["user"] }));
/// assert_eq!(serde_json::to_value(&chart)?["mimeType"], "image/png");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Further fields of the block.
        extra: JsonObject,
    },
    /// An image.
    Image {
        /// The bytes in base64.
        data: String,
        /// The media type, such as `image/png`.
        mime_type: String,
        /// Further fields of the block.
        extra: JsonObject,
    },
    /// Audio.
    Audio {
        /// The bytes in base64.
        data: String,
        /// The media type, such as `audio/wav`.
        mime_type: String,
        /// Further fields of the block.
        extra: JsonObject,
    },
    /// A link to a resource that the client can read.
    ResourceLink {
        /// The URI.
        uri: String,
        /// The name.
        name: String,
        /// Further fields of the block.
        extra: JsonObject,
    },
    /// A resource itself.
    Resource {
        /// The resource.
        resource: Resource,
        /// Further fields of the block.
        extra: JsonObject,
    },
    /// A block of an unknown type, which is kept unchanged.
    Other {
        /// Its type.
        kind: String,
        /// Its other fields.
        extra: JsonObject,
    },
}

/// An embedded resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The contents.
    pub body: ResourceBody,
    /// Further fields, such as `mimeType`.
    pub extra: JsonObject,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

impl Content {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: JsonObject::new() }
    }

    /// Creates an image block from the bytes of the image.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: BASE64.encode(bytes), mime_type: mime_type.into(), extra: JsonObject::new() }
    }

    /// Creates an audio block from the bytes of the audio.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: BASE64.encode(bytes), mime_type: mime_type.into(), extra: JsonObject::new() }
    }

    /// Creates a link to a resource.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink { uri: uri.into(), name: name.into(), extra: JsonObject::new() }
    }

    /// Creates a resource block with text.
    pub fn resource(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self::embedded(uri.into(), mime_type.into(), ResourceBody::Text(text.into()))
    }

    /// Creates a resource block with bytes.
    pub fn resource_bytes(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::embedded(uri.into(), mime_type.into(), ResourceBody::Blob(BASE64.encode(bytes)))
    }

    fn embedded(uri: String, mime_type: String, body: ResourceBody) -> Self {
        let extra = JsonObject::from_iter([("mimeType".to_owned(), Value::String(mime_type))]);
        Self::Resource { resource: Resource { uri, body, extra }, extra: JsonObject::new() }
    }

    /// Adds another field to the block, such as `annotations`, `_meta` or a link's `title`.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let (Self::Text { extra, .. }
        | Self::Image { extra, .. }
        | Self::Audio { extra, .. }
        | Self::ResourceLink { extra, .. }
        | Self::Resource { extra, .. }
        | Self::Other { extra, .. }) = &mut self;
        extra.insert(key.into(), value.into());
        self
    }

    /// Returns the `type` of the block.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text { .. } => "text",
            Self::Image { .. } => "image",
            Self::Audio { .. } => "audio",
            Self::ResourceLink { .. } => "resource_link",
            Self::Resource { .. } => "resource",
            Self::Other { kind, .. } => kind,
        }
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes of an image, audio or a resource with bytes; `None` for other blocks and for invalid base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Image { data, .. } | Self::Audio { data, .. } => BASE64.decode(data).ok(),
            Self::Resource { resource: Resource { body: ResourceBody::Blob(data), .. }, .. } => {
                BASE64.decode(data).ok()
            }
            _ => None,
        }
    }

    /// Returns further fields of the block.
    pub fn extra(&self) -> &JsonObject {
        match self {
            Self::Text { extra, .. }
            | Self::Image { extra, .. }
            | Self::Audio { extra, .. }
            | Self::ResourceLink { extra, .. }
            | Self::Resource { extra, .. }
            | Self::Other { extra, .. } => extra,
        }
    }

    /// The fields that are defined for the type of the block.
    fn fields(&self) -> &'static [&'static str] {
        match self {
            Self::Text { .. } => &["type", "text"],
            Self::Image { .. } | Self::Audio { .. } => &["type", "data", "mimeType"],
            Self::ResourceLink { .. } => &["type", "uri", "name"],
            Self::Resource { .. } => &["type", "resource"],
            Self::Other { .. } => &["type"],
        }
    }

    /// Checks a block, which may have been built by hand.
    pub(crate) fn check(&self, path: &str, violations: &mut Violations) {
        let mut extra = |path: &str, fields, extra: &JsonObject| {
            check_extra(path, "the block", fields, extra.keys(), Strictness::Lenient, violations);
        };
        extra(path, self.fields(), self.extra());
        if let Self::Resource { resource, .. } = self {
            extra(&join(path, "resource"), &RESOURCE_FIELDS, &resource.extra);
        }
    }

    fn read(value: Value, path: &str, violations: &mut Violations) -> Option<Self> {
        let mut extra = expect::object(value, path, violations)?;
        for key in ["annotations", "_meta"] {
            match extra.get(key) {
                Some(Value::Null) => _ = extra.shift_remove(key),
                Some(Value::Object(_)) | None => {}
                Some(other) => {
                    let rule = Rule::Type { expected: "an object", got: kind_of(other) };
                    violations.add(join(path, key), rule);
                }
            }
        }
        let mut text = |extra: &mut JsonObject, key: &str| {
            expect::required_string(extra.shift_remove(key), &join(path, key), violations)
        };
        let kind = text(&mut extra, "type")?;
        Some(match kind.as_str() {
            "text" => Self::Text { text: text(&mut extra, "text")?, extra },
            "image" | "audio" => {
                let (data, mime_type) = (text(&mut extra, "data"), text(&mut extra, "mimeType"));
                let (data, mime_type) = (data?, mime_type?);
                match kind.as_str() {
                    "image" => Self::Image { data, mime_type, extra },
                    _ => Self::Audio { data, mime_type, extra },
                }
            }
            "resource_link" => {
                let (uri, name) = (text(&mut extra, "uri"), text(&mut extra, "name"));
                Self::ResourceLink { uri: uri?, name: name?, extra }
            }
            "resource" => {
                let path = join(path, "resource");
                let Some(resource) = extra.shift_remove("resource") else {
                    violations.add(path, Rule::Missing { expected: "an object with `uri` and `text` or `blob`" });
                    return None;
                };
                Self::Resource { resource: Resource::read(resource, &path, violations)?, extra }
            }
            _ => Self::Other { kind, extra },
        })
    }
}

impl Resource {
    /// Creates a resource.
    pub fn new(uri: impl Into<String>, body: ResourceBody) -> Self {
        Self { uri: uri.into(), body, extra: JsonObject::new() }
    }

    fn read(value: Value, path: &str, violations: &mut Violations) -> Option<Self> {
        let mut extra = expect::object(value, path, violations)?;
        let uri = expect::required_string(extra.shift_remove("uri"), &join(path, "uri"), violations);
        let (text, blob) = (extra.shift_remove("text"), extra.shift_remove("blob"));
        let body = match (text, blob) {
            (Some(text), None) => expect::string(text, &join(path, "text"), violations).map(ResourceBody::Text),
            (None, Some(blob)) => expect::string(blob, &join(path, "blob"), violations).map(ResourceBody::Blob),
            (Some(_), Some(_)) => {
                violations.add(join(path, "blob"), Rule::Both { other: "text" });
                None
            }
            (None, None) => {
                violations.add(join(path, "text"), Rule::Missing { expected: "a string, or `blob` with base64" });
                None
            }
        };
        Some(Self { uri: uri?, body: body?, extra })
    }
}

/// Reads an array of blocks, and reports every invalid one.
pub(crate) fn read_blocks(value: Value, path: &str, violations: &mut Violations) -> Option<Vec<Content>> {
    let blocks = expect::array(value, path, violations)?;
    let read =
        blocks.into_iter().enumerate().map(|(i, block)| Content::read(block, &format!("{path}[{i}]"), violations));
    // Collected twice, so that blocks after an invalid one are read as well.
    read.collect::<Vec<_>>().into_iter().collect()
}

/// Converts a value to the `data` of a result: an object is unchanged, any other value becomes `{"result": value}`.
pub(crate) fn wrapped(value: Value) -> Value {
    if value.is_object() { value } else { json!({ "result": value }) }
}

/// The value in `{"result": value}`, if [`wrapped`] created it.
pub(crate) fn unwrapped(data: &Value) -> Option<&Value> {
    let object = data.as_object().filter(|object| object.len() == 1)?;
    object.get("result").filter(|value| !value.is_object())
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        match self {
            Self::Text { text, .. } => map.serialize_entry("text", text)?,
            Self::Image { data, mime_type, .. } | Self::Audio { data, mime_type, .. } => {
                map.serialize_entry("data", data)?;
                map.serialize_entry("mimeType", mime_type)?;
            }
            Self::ResourceLink { uri, name, .. } => {
                map.serialize_entry("uri", uri)?;
                map.serialize_entry("name", name)?;
            }
            Self::Resource { resource, .. } => map.serialize_entry("resource", resource)?,
            Self::Other { .. } => {}
        }
        serialize_with_extra(map, self.fields(), self.extra())
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &self.uri)?;
        match &self.body {
            ResourceBody::Text(text) => map.serialize_entry("text", text)?,
            ResourceBody::Blob(blob) => map.serialize_entry("blob", blob)?,
        }
        serialize_with_extra(map, &RESOURCE_FIELDS, &self.extra)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut violations = Violations::default();
        let block = Self::read(read_value(deserializer)?, "", &mut violations);
        violations.finish(block).map_err(serde::de::Error::custom)
    }
}
