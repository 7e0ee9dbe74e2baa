//! JSON-RPC 2.0: requests, notifications, responses, errors.

mod error;
mod id;
pub(crate) mod read;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

pub use self::error::RpcError;
pub use self::id::Id;
use self::read::{Members, Message, RpcParams, malformed};
use crate::error::SerializationError;
pub use crate::error::code;
use crate::util::text::cut;

/// A message that is parsed without copying; `params` and `result` stay JSON text.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum RpcMessage<'a> {
    /// A request, which is answered.
    Request(RpcRequest<'a>),
    /// A notification, which is not answered.
    Notification(RpcNotification<'a>),
    /// A response.
    Response(RpcResponse<'a>),
}

/// A request: `{"jsonrpc": "2.0", "id": …, "method": …, "params": {…}}`.
///
/// ```
/// use mcp_core::rpc::{RpcMessage, RpcRequest};
///
/// let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calc_add"}}"#;
/// let RpcMessage::Request(request) = RpcMessage::parse(line)? else { panic!("not a request") };
/// assert_eq!((request.id, &*request.method), (1.into(), "tools/call"));
/// # Ok::<(), Box<mcp_core::rpc::RpcRejection>>(())
/// ```
// The tag makes serde write `"jsonrpc": "2.0"` before the fields.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "jsonrpc", rename = "2.0")]
#[non_exhaustive]
pub struct RpcRequest<'a> {
    /// The ID, which the response repeats.
    pub id: Id<'a>,
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters: a JSON object, which is not parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Cow<'a, RawValue>>,
}

/// A notification: a message without a response.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "jsonrpc", rename = "2.0")]
#[non_exhaustive]
pub struct RpcNotification<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters: a JSON object, which is not parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Cow<'a, RawValue>>,
}

/// A response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RpcResponse<'a> {
    /// The ID of the request; `None` if the request could not be read.
    pub id: Option<Id<'a>>,
    /// The result as JSON, which is not parsed, or the error.
    pub outcome: Result<Cow<'a, RawValue>, RpcError>,
}

/// Why a message is not JSON-RPC, with the ID for the response, if it could be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct RpcRejection {
    /// The ID, if the message has a valid one.
    pub id: Option<Id<'static>>,
    /// The error.
    pub error: RpcError,
    /// Whether the message was a notification, which is never answered.
    pub is_notification: bool,
}

impl RpcRejection {
    /// Returns the response, unless the message was a notification.
    pub fn into_response(self) -> Option<RpcResponse<'static>> {
        (!self.is_notification).then(|| RpcResponse::failure(self.id, self.error))
    }
}

impl<'a> RpcMessage<'a> {
    /// Parses a message in one pass, without parsing `params`.
    pub fn parse(message: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Self, Box<RpcRejection>> {
        Self::from_members(&Members::parse_raw(message.as_ref())?)
    }

    pub(crate) fn from_members(members: &Members<'a, IgnoredAny>) -> Result<Self, Box<RpcRejection>> {
        let raw = |params: RpcParams<'_, 'a, _>| params.err().flatten().map(Cow::Borrowed);
        Ok(match members.interpret()? {
            Message::Request(id, method, params) => {
                Self::Request(RpcRequest { id: id.clone(), method: method.clone(), params: raw(params) })
            }
            Message::Notification(method, params) => {
                Self::Notification(RpcNotification { method: method.clone(), params: raw(params) })
            }
            Message::Response(id, outcome) => {
                let outcome = outcome.map(Cow::Borrowed).map_err(|error| *error);
                Self::Response(RpcResponse { id: id.cloned(), outcome })
            }
        })
    }

    /// Converts the message to an owned one.
    pub fn into_owned(self) -> RpcMessage<'static> {
        match self {
            Self::Request(request) => RpcMessage::Request(request.into_owned()),
            Self::Notification(notification) => RpcMessage::Notification(notification.into_owned()),
            Self::Response(response) => RpcMessage::Response(response.into_owned()),
        }
    }
}

impl<'a> RpcRequest<'a> {
    /// Creates a request without parameters.
    pub fn new(id: impl Into<Id<'a>>, method: impl Into<Cow<'a, str>>) -> Self {
        Self { id: id.into(), method: method.into(), params: None }
    }

    /// Sets the parameters, which must serialize to an object.
    pub fn params(mut self, params: impl Serialize) -> Result<Self, SerializationError> {
        self.params = Some(to_params(&params)?);
        Ok(self)
    }

    /// Deserializes the parameters, from `{}` if there are none.
    pub fn params_as<'p, T: Deserialize<'p>>(&'p self) -> Result<T, RpcError> {
        params_as(self.params.as_deref())
    }

    /// Converts the request to an owned one.
    pub fn into_owned(self) -> RpcRequest<'static> {
        let Self { id, method, params } = self;
        RpcRequest { id: id.into_owned(), method: owned(method), params: params.map(owned) }
    }
}

impl<'a> RpcNotification<'a> {
    /// Creates a notification without parameters.
    pub fn new(method: impl Into<Cow<'a, str>>) -> Self {
        Self { method: method.into(), params: None }
    }

    /// Sets the parameters, which must serialize to an object.
    pub fn params(mut self, params: impl Serialize) -> Result<Self, SerializationError> {
        self.params = Some(to_params(&params)?);
        Ok(self)
    }

    /// Deserializes the parameters, from `{}` if there are none.
    pub fn params_as<'p, T: Deserialize<'p>>(&'p self) -> Result<T, RpcError> {
        params_as(self.params.as_deref())
    }

    /// Converts the notification to an owned one.
    pub fn into_owned(self) -> RpcNotification<'static> {
        let Self { method, params } = self;
        RpcNotification { method: owned(method), params: params.map(owned) }
    }
}

impl<'a> RpcResponse<'a> {
    /// Creates the response to a request that succeeded.
    pub fn success(id: impl Into<Id<'a>>, result: impl Serialize) -> Result<Self, SerializationError> {
        Ok(Self { id: Some(id.into()), outcome: Ok(to_raw("the result", &result)?) })
    }

    /// Creates the response to a request that failed; without an ID if the request could not be read.
    pub fn failure(id: Option<Id<'a>>, error: RpcError) -> Self {
        Self { id, outcome: Err(error) }
    }

    /// Converts the response to an owned one.
    pub fn into_owned(self) -> RpcResponse<'static> {
        let Self { id, outcome } = self;
        RpcResponse { id: id.map(Id::into_owned), outcome: outcome.map(owned) }
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

fn owned<T: ToOwned + ?Sized>(borrowed: Cow<'_, T>) -> Cow<'static, T> {
    Cow::Owned(borrowed.into_owned())
}

impl Serialize for RpcResponse<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        map.serialize_entry("id", &self.id)?;
        match &self.outcome {
            Ok(result) => map.serialize_entry("result", result)?,
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.end()
    }
}
