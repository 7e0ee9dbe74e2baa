//! JSON-RPC 2.0: requests, notifications, responses, errors.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::error::{CodeProfile, ErrorKind, SerializationError, ValidationError};
use crate::message::{ErrorDetail, ErrorType, read_value, syntax, utf8};
use crate::text::{cut, shown};

/// The codes of JSON-RPC errors.
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is JSON, but not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// The server's own errors: from here …
    pub const SERVER_ERROR: i64 = -32000;
    /// … to here.
    pub const SERVER_ERROR_LAST: i64 = -32099;
    /// [`AUTHENTICATION_ERROR`] inside the server's range.
    pub const SERVER_AUTHENTICATION_ERROR: i64 = -32001;
    /// [`PERMISSION_DENIED`] inside the server's range.
    pub const SERVER_PERMISSION_DENIED: i64 = -32003;
    /// MCP: a header does not match the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// MCP: the client has not declared a capability that the call needs.
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// MCP: the server does not speak this version of the protocol.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// A tool failed.
    pub const TOOL_EXECUTION_ERROR: i64 = 40000;
    /// The caller is not known.
    pub const AUTHENTICATION_ERROR: i64 = 40100;
    /// The caller may not do this.
    pub const PERMISSION_DENIED: i64 = 40300;
}

/// The id of a request: an integer or a string, never null.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id<'a> {
    /// An integer, in the range of `i64` and `u64`.
    Int(i128),
    /// A string.
    Str(Cow<'a, str>),
}

/// A message that was read without copying it; `params` and `result` are left as JSON text.
#[derive(Clone, Debug)]
pub enum RpcMessage<'a> {
    /// Wants an answer.
    Request(RpcRequest<'a>),
    /// Wants none.
    Notification(RpcNotification<'a>),
    /// Is one.
    Response(RpcResponse<'a>),
}

/// A request: `{"jsonrpc": "2.0", "id": …, "method": …, "params": {…}}`.
///
/// ```
/// use mcp_core::{RpcMessage, RpcRequest};
///
/// let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calc_add"}}"#;
/// let RpcMessage::Request(request) = RpcMessage::parse(line)? else { panic!("not a request") };
/// assert_eq!((request.id, &*request.method), (1.into(), "tools/call"));
/// # Ok::<(), Box<mcp_core::RpcRejection>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcRequest<'a> {
    /// What the answer will carry too.
    pub id: Id<'a>,
    /// What to do.
    pub method: Cow<'a, str>,
    /// With what: a JSON object, not looked into.
    pub params: Option<Cow<'a, RawValue>>,
}

/// A message that wants no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcNotification<'a> {
    /// What happened.
    pub method: Cow<'a, str>,
    /// More on it: a JSON object, not looked into.
    pub params: Option<Cow<'a, RawValue>>,
}

/// An answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcResponse<'a> {
    /// The request's id; none where the request could not be read.
    pub id: Option<Id<'a>>,
    /// The result as JSON, not looked into, or the error.
    pub outcome: Result<Cow<'a, RawValue>, RpcError>,
}

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, thiserror::Error)]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct RpcError {
    /// The number; see [`code`].
    pub code: i64,
    /// What went wrong, in a sentence.
    pub message: String,
    /// More on it; `error_type` among it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_value")]
    pub data: Option<Value>,
}

/// A message that is not JSON-RPC: the error to answer with, under the id that could still be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct RpcRejection {
    /// The id, if the message has a legal one.
    pub id: Option<Id<'static>>,
    /// What is wrong.
    pub error: RpcError,
    /// Whether the message was a notification, which is never answered.
    pub is_notification: bool,
}

impl RpcRejection {
    /// The answer that is due, if one is.
    pub fn into_response(self) -> Option<RpcResponse<'static>> {
        (!self.is_notification).then(|| RpcResponse::failure(self.id, self.error))
    }
}

impl<'a> RpcMessage<'a> {
    /// Reads one message in one pass, without looking into `params`.
    pub fn parse(message: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Self, Box<RpcRejection>> {
        Members::parse(message.as_ref())?.interpret()
    }

    /// The message with nothing borrowed.
    pub fn into_owned(self) -> RpcMessage<'static> {
        match self {
            Self::Request(request) => RpcMessage::Request(request.into_owned()),
            Self::Notification(notification) => RpcMessage::Notification(notification.into_owned()),
            Self::Response(response) => RpcMessage::Response(response.into_owned()),
        }
    }
}

/// The members of a message as they stand, before anything is made of them.
#[derive(Default)]
pub(crate) struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    twice: Option<&'static str>,
}

impl<'a> Members<'a> {
    /// Whether the message says that it is JSON-RPC.
    pub(crate) fn is_rpc(&self) -> bool {
        self.jsonrpc.is_some()
    }

    pub(crate) fn parse(message: &'a [u8]) -> Result<Self, Box<RpcRejection>> {
        let text = utf8(message).map_err(|error| not_json(&error))?;
        let json = |error: serde_json::Error| not_json(&syntax(&error));
        let members: Members<'_> = match text.trim_start().as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map_err(json)?,
            first => {
                serde_json::from_str::<IgnoredAny>(text).map_err(json)?;
                return Err(match first {
                    Some(b'[') => invalid("a batch is not taken; send each message on its own").into(),
                    _ => invalid("a message is a JSON object; send `{\"jsonrpc\": \"2.0\", …}`").into(),
                });
            }
        };
        Ok(members)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(key) = map.next_key::<Key>()? {
                    let (slot, name) = match key {
                        Key::Jsonrpc => (&mut members.jsonrpc, "jsonrpc"),
                        Key::Id => (&mut members.id, "id"),
                        Key::Method => (&mut members.method, "method"),
                        Key::Params => (&mut members.params, "params"),
                        Key::Result => (&mut members.result, "result"),
                        Key::Error => (&mut members.error, "error"),
                        Key::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    if slot.replace(map.next_value()?).is_some() {
                        members.twice = Some(name);
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

impl<'a> Members<'a> {
    pub(crate) fn interpret(self) -> Result<RpcMessage<'a>, Box<RpcRejection>> {
        let (id, id_fault) = match self.id.map(Id::read) {
            None => (None, None),
            Some(Ok(id)) => (Some(id), None),
            Some(Err(error)) => (None, Some(error)),
        };
        let is_notification = self.id.is_none() && self.method.is_some();
        let told_id = id.clone().filter(|_| self.twice != Some("id")).map(Id::into_owned);
        let reject = |error: RpcError| Box::new(RpcRejection { id: told_id.clone(), error, is_notification });
        if let Some(name) = self.twice {
            return Err(reject(invalid(format!("`{name}` stands twice; keep one of the two"))));
        }
        match self.jsonrpc {
            Some(version) if is_string(version, "2.0") => {}
            Some(_) => return Err(reject(invalid("`jsonrpc` must be the string \"2.0\""))),
            None => return Err(reject(invalid("`jsonrpc` is missing; add `\"jsonrpc\": \"2.0\"`"))),
        }
        // A response to a message that could not be read has the id null.
        let null_id = self.id.is_some_and(|id| id.get() == "null");
        if let Some(error) = id_fault.filter(|_| !(null_id && self.error.is_some())) {
            return Err(reject(error));
        }
        let Some(method) = self.method else {
            let answered = id.is_some() || null_id;
            let outcome = match (self.result, self.error) {
                (Some(result), None) if answered => Ok(Cow::Borrowed(result)),
                (None, Some(error)) => Err(RpcError::read(error).map_err(&reject)?),
                (Some(_), Some(_)) => return Err(reject(invalid("a response has `result` or `error`; send one"))),
                (None, None) => return Err(reject(invalid("`method` is missing; add the method's name"))),
                _ => return Err(reject(invalid("`id` is missing; add the id of the request"))),
            };
            return Ok(RpcMessage::Response(RpcResponse { id, outcome }));
        };
        if self.result.is_some() || self.error.is_some() {
            return Err(reject(invalid("a message has a `method`, or a `result` or `error`; send one of them")));
        }
        let Ok(method) = serde_json::from_str::<Text<'_>>(method.get()) else {
            return Err(reject(invalid("`method` must be a string")));
        };
        let method = method.0;
        let params = match self.params {
            Some(params) if params.get().starts_with('{') => Some(Cow::Borrowed(params)),
            // Some clients write what they leave out as null.
            Some(params) if params.get() == "null" => None,
            Some(_) => return Err(reject(malformed(code::INVALID_PARAMS, "`params` must be an object; send one"))),
            None => None,
        };
        Ok(match id {
            Some(id) => RpcMessage::Request(RpcRequest { id, method, params }),
            None => RpcMessage::Notification(RpcNotification { method, params }),
        })
    }
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn is_string(raw: &RawValue, expected: &str) -> bool {
    serde_json::from_str::<Text<'_>>(raw.get()).is_ok_and(|text| text.0 == expected)
}

fn malformed(code: i64, message: impl Into<String>) -> RpcError {
    RpcError::new(code, message).data(json!({ "error_type": ErrorType::VALIDATION_ERROR }))
}

fn invalid(message: impl Into<String>) -> RpcError {
    malformed(code::INVALID_REQUEST, message)
}

fn not_json(error: &ValidationError) -> Box<RpcRejection> {
    malformed(code::PARSE_ERROR, error.to_string()).into()
}

impl<'a> Id<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, RpcError> {
        let text = raw.get();
        if text.starts_with('"') {
            return serde_json::from_str::<Text<'_>>(text)
                .map(|text| Self::Str(text.0))
                .map_err(|_| invalid("`id` is not a legal string; escape it as JSON asks for"));
        }
        match text.parse::<i128>() {
            Ok(id) if in_range(id) => Ok(Self::Int(id)),
            _ => Err(invalid(format!("`id` must be a string or an integer, not `{}`", shown(text)))),
        }
    }

    /// The id with nothing borrowed.
    pub fn into_owned(self) -> Id<'static> {
        match self {
            Self::Int(id) => Id::Int(id),
            Self::Str(id) => Id::Str(Cow::Owned(id.into_owned())),
        }
    }
}

/// Whether JSON writers agree on the integer: it is an `i64` or a `u64`.
fn in_range(id: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&id)
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(id) => id.fmt(f),
            Self::Str(id) => id.fmt(f),
        }
    }
}

macro_rules! id_from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Id<'_> {
            fn from(id: $integer) -> Self {
                Self::Int(id.into())
            }
        }
    )*};
}

id_from_integers!(i32, u32, i64, u64);

impl<'a> From<&'a str> for Id<'a> {
    fn from(id: &'a str) -> Self {
        Self::Str(Cow::Borrowed(id))
    }
}

impl From<String> for Id<'_> {
    fn from(id: String) -> Self {
        Self::Str(Cow::Owned(id))
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(id) => match (i64::try_from(*id), u64::try_from(*id)) {
                (Ok(id), _) => serializer.serialize_i64(id),
                (_, Ok(id)) => serializer.serialize_u64(id),
                _ => Err(serde::ser::Error::custom(format_args!("the id {id} is out of range; use an i64 or a u64"))),
            },
            Self::Str(id) => serializer.serialize_str(id),
        }
    }
}

impl<'de> Deserialize<'de> for Id<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrInteger;

        impl Visitor<'_> for StringOrInteger {
            type Value = Id<'static>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer")
            }

            fn visit_i64<E>(self, id: i64) -> Result<Id<'static>, E> {
                Ok(id.into())
            }

            fn visit_u64<E>(self, id: u64) -> Result<Id<'static>, E> {
                Ok(id.into())
            }

            fn visit_str<E>(self, id: &str) -> Result<Id<'static>, E> {
                Ok(id.to_owned().into())
            }

            fn visit_string<E>(self, id: String) -> Result<Id<'static>, E> {
                Ok(id.into())
            }
        }

        deserializer.deserialize_any(StringOrInteger)
    }
}

impl<'a> RpcRequest<'a> {
    /// A request without parameters.
    pub fn new(id: impl Into<Id<'a>>, method: impl Into<Cow<'a, str>>) -> Self {
        Self { id: id.into(), method: method.into(), params: None }
    }

    /// Sets the parameters, which must serialise to an object.
    pub fn params(mut self, params: impl Serialize) -> Result<Self, SerializationError> {
        self.params = Some(to_params(&params)?);
        Ok(self)
    }

    /// Reads the parameters; absent ones as `{}`.
    pub fn params_as<'p, T: Deserialize<'p>>(&'p self) -> Result<T, RpcError> {
        params_as(self.params.as_deref())
    }

    /// The request with nothing borrowed.
    pub fn into_owned(self) -> RpcRequest<'static> {
        let Self { id, method, params } = self;
        RpcRequest { id: id.into_owned(), method: owned_text(method), params: params.map(owned_raw) }
    }
}

impl<'a> RpcNotification<'a> {
    /// A notification without parameters.
    pub fn new(method: impl Into<Cow<'a, str>>) -> Self {
        Self { method: method.into(), params: None }
    }

    /// Sets the parameters, which must serialise to an object.
    pub fn params(mut self, params: impl Serialize) -> Result<Self, SerializationError> {
        self.params = Some(to_params(&params)?);
        Ok(self)
    }

    /// Reads the parameters; absent ones as `{}`.
    pub fn params_as<'p, T: Deserialize<'p>>(&'p self) -> Result<T, RpcError> {
        params_as(self.params.as_deref())
    }

    /// The notification with nothing borrowed.
    pub fn into_owned(self) -> RpcNotification<'static> {
        let Self { method, params } = self;
        RpcNotification { method: owned_text(method), params: params.map(owned_raw) }
    }
}

impl<'a> RpcResponse<'a> {
    /// The answer to a request that went well.
    pub fn success(id: impl Into<Id<'a>>, result: impl Serialize) -> Result<Self, SerializationError> {
        Ok(Self { id: Some(id.into()), outcome: Ok(to_raw("the result", &result)?) })
    }

    /// The answer to one that did not; without an id where the request could not be read.
    pub fn failure(id: Option<Id<'a>>, error: RpcError) -> Self {
        Self { id, outcome: Err(error) }
    }

    /// The answer with nothing borrowed.
    pub fn into_owned(self) -> RpcResponse<'static> {
        let Self { id, outcome } = self;
        RpcResponse { id: id.map(Id::into_owned), outcome: outcome.map(owned_raw) }
    }
}

fn to_raw(what: &str, value: &impl Serialize) -> Result<Cow<'static, RawValue>, SerializationError> {
    to_raw_value(value).map(Cow::Owned).map_err(|error| SerializationError::new(what, error))
}

fn to_params(params: &impl Serialize) -> Result<Cow<'static, RawValue>, SerializationError> {
    let raw = to_raw("the params", params)?;
    if raw.get().starts_with('{') {
        return Ok(raw);
    }
    let error = serde::ser::Error::custom("they are not an object");
    Err(SerializationError::new("the params", error))
}

fn params_as<'p, T: Deserialize<'p>>(params: Option<&'p RawValue>) -> Result<T, RpcError> {
    serde_json::from_str(params.map_or("{}", RawValue::get))
        .map_err(|error| malformed(code::INVALID_PARAMS, format!("`params`: {}", cut(&error.to_string(), 200))))
}

fn owned_text(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn owned_raw(raw: Cow<'_, RawValue>) -> Cow<'static, RawValue> {
    Cow::Owned(raw.into_owned())
}

/// Writes `{"jsonrpc": "2.0", …}`.
fn envelope<S: Serializer>(
    serializer: S,
    members: impl FnOnce(&mut S::SerializeMap) -> Result<(), S::Error>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("jsonrpc", "2.0")?;
    members(&mut map)?;
    map.end()
}

fn method_and_params<M: SerializeMap>(map: &mut M, method: &str, params: Option<&RawValue>) -> Result<(), M::Error> {
    map.serialize_entry("method", method)?;
    params.map_or(Ok(()), |params| map.serialize_entry("params", params))
}

impl Serialize for RpcRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        envelope::<S>(serializer, |map| {
            map.serialize_entry("id", &self.id)?;
            method_and_params(map, &self.method, self.params.as_deref())
        })
    }
}

impl Serialize for RpcNotification<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        envelope::<S>(serializer, |map| method_and_params(map, &self.method, self.params.as_deref()))
    }
}

impl Serialize for RpcResponse<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        envelope::<S>(serializer, |map| {
            map.serialize_entry("id", &self.id)?;
            match &self.outcome {
                Ok(result) => map.serialize_entry("result", &**result),
                Err(error) => map.serialize_entry("error", error),
            }
        })
    }
}

impl Serialize for RpcMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Request(request) => request.serialize(serializer),
            Self::Notification(notification) => notification.serialize(serializer),
            Self::Response(response) => response.serialize(serializer),
        }
    }
}

impl RpcError {
    /// An error.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// The error for a failed result: the code by its `error_type`, which also stands in `data`, beside the `details`
    /// and the extra fields.
    pub fn from_detail(detail: &ErrorDetail, profile: CodeProfile) -> Self {
        let mut data = detail.extra.clone();
        data.insert("error_type".to_owned(), detail.error_type.as_str().into());
        if let Some(details) = &detail.error_details {
            data.insert("details".to_owned(), details.clone());
        }
        Self::new(ErrorKind::of(&detail.error_type).code(profile), &detail.error_message).data(data)
    }

    /// The error of a result that this one tells of.
    pub fn to_detail(&self) -> ErrorDetail {
        let mut detail = ErrorDetail::new(ErrorKind::of_code(self.code).error_type(), &self.message);
        match self.data.clone() {
            Some(Value::Object(mut data)) if data.get("error_type").is_some_and(Value::is_string) => {
                if let Some(Value::String(error_type)) = data.shift_remove("error_type") {
                    detail.error_type = error_type.into();
                }
                detail = detail.details(data.shift_remove("details").unwrap_or_default());
                data.retain(|key, _| !matches!(key.as_str(), "error_message" | "error_details"));
                detail.extra = data;
                detail
            }
            Some(Value::Object(data)) if data.len() == 1 && data.contains_key("details") => {
                detail.details(data["details"].clone())
            }
            data => detail.details(data.unwrap_or_default()),
        }
    }

    fn read(raw: &RawValue) -> Result<Self, Self> {
        serde_json::from_str(raw.get())
            .map_err(|_| invalid("`error` must be an object with an integer `code` and a string `message`"))
    }
}

/// The rejection of a message whose id could not be read.
impl From<RpcError> for Box<RpcRejection> {
    fn from(error: RpcError) -> Self {
        Self::new(RpcRejection { id: None, error, is_notification: false })
    }
}

fn some_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    read_value(deserializer).map(Some)
}
