//! Reads a message in one pass, and reports what is wrong with it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use super::id::wrong_id;
use super::{Id, RpcError, RpcRejection, code};
use crate::error::ValidationError;
use crate::message::{ErrorType, syntax, utf8};
pub use crate::util::text::Text;

/// A member of a message; the raw value if it could not be read.
type Member<'a, T> = Option<Result<T, &'a RawValue>>;

/// The members of a message, before they are interpreted. The parameters are read as a `P`.
#[derive(Default)]
pub struct Members<'a, P> {
    jsonrpc: Member<'a, Text<'a>>,
    id: Member<'a, Id<'a>>,
    method: Member<'a, Text<'a>>,
    params: Member<'a, Object<P>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    tool_name: Member<'a, Text<'a>>,
    duplicate: Option<&'static str>,
}

/// An interpreted message.
pub enum Message<'m, 'a, P> {
    /// A request: its ID, its method and its parameters.
    Request(&'m Id<'a>, &'m Cow<'a, str>, RpcParams<'m, 'a, P>),
    /// A notification: its method and its parameters.
    Notification(&'m Cow<'a, str>, RpcParams<'m, 'a, P>),
    /// A response: the ID of the request, and the result or the error.
    Response(Option<&'m Id<'a>>, Result<&'a RawValue, Box<RpcError>>),
}

/// The parameters of a message, or the raw object if it was not read as a `P`; `None` if there are none.
pub type RpcParams<'m, 'a, P> = Result<&'m P, Option<&'a RawValue>>;

impl<'a, P: Default + Deserialize<'a>> Members<'a, P> {
    /// Reads a message in one pass. If a value has the wrong type, the message is read again to find out what is wrong. If
    /// it is not JSON, the members up to the mistake are kept.
    pub fn read(&mut self, message: &'a [u8]) -> Result<(), Box<RpcRejection>> {
        let is_read = match std::str::from_utf8(message) {
            Ok(text) => self.read_text::<false>(text).is_ok(),
            Err(error) => {
                let start = std::str::from_utf8(&message[..error.valid_up_to()]).unwrap_or_default();
                // It is an error, whatever comes before the first invalid byte.
                let _ = self.read_text::<false>(start);
                false
            }
        };
        if !is_read {
            *self = Self::parse_raw(message)?;
        }
        Ok(())
    }

    /// Reads a message in one pass, without parsing `params`.
    pub(crate) fn parse_raw(message: &'a [u8]) -> Result<Self, Box<RpcRejection>> {
        let text = utf8(message).map_err(|error| not_json(&error))?;
        let json = |error: serde_json::Error| not_json(&syntax(&error));
        let first = text.trim_start().as_bytes().first();
        if first != Some(&b'{') {
            serde_json::from_str::<IgnoredAny>(text).map_err(json)?;
            return Err(match first {
                Some(b'[') => invalid("batches are not supported; send each message on its own").into(),
                _ => invalid("a message is a JSON object; send `{\"jsonrpc\": \"2.0\", …}`").into(),
            });
        }
        let mut members = Self::default();
        members.read_text::<true>(text).map_err(json)?;
        Ok(members)
    }

    fn read_text<const RAW: bool>(&mut self, text: &'a str) -> Result<(), serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.deserialize_map(MembersVisitor::<P, RAW>(self))?;
        deserializer.end()
    }

    /// Returns whether the message is JSON-RPC: it has `jsonrpc`. Otherwise, it is a flat call.
    pub fn is_rpc(&self) -> bool {
        self.jsonrpc.is_some()
    }

    /// Returns the name of the tool in a flat call; empty if it is not a string, `None` if there is none.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_ref().map(|name| name.as_ref().map_or("", |name| &name.0))
    }

    /// Returns the method, if there is one.
    pub fn method(&self) -> Option<&str> {
        self.method.as_ref()?.as_ref().ok().map(|method| &*method.0)
    }

    /// Returns the parameters, even those of a message that is not valid.
    pub fn params(&self) -> RpcParams<'_, 'a, P> {
        match &self.params {
            Some(Ok(params)) => Ok(&params.0),
            Some(Err(raw)) => Err(Some(raw)),
            None => Err(None),
        }
    }

    /// Validates the members, and returns the message.
    pub fn interpret(&self) -> Result<Message<'_, 'a, P>, Box<RpcRejection>> {
        self.check().map_err(|error| {
            let id = self.id.as_ref().and_then(|id| id.as_ref().ok()).filter(|_| self.duplicate != Some("id"));
            let is_notification = self.id.is_none() && self.method.is_some();
            Box::new(RpcRejection { id: id.cloned().map(Id::into_owned), error, is_notification })
        })
    }

    fn check(&self) -> Result<Message<'_, 'a, P>, RpcError> {
        if let Some(name) = self.duplicate {
            return Err(invalid(format!("`{name}` is a duplicate key; keep one of the two")));
        }
        match &self.jsonrpc {
            Some(Ok(version)) if version.0 == "2.0" => {}
            Some(_) => return Err(invalid("`jsonrpc` must be the string \"2.0\"")),
            None => return Err(invalid("`jsonrpc` is missing; add `\"jsonrpc\": \"2.0\"`")),
        }
        let id = match &self.id {
            Some(Ok(id)) => Some(id),
            // The response to a message that could not be read has the ID null.
            Some(Err(raw)) if raw.get() != "null" || self.error.is_none() => return Err(wrong_id(raw)),
            _ => None,
        };
        let Some(method) = &self.method else {
            let outcome = match (self.result, self.error) {
                (Some(result), None) if id.is_some() => Ok(result),
                (None, Some(error)) => Err(Box::new(RpcError::read(error)?)),
                (Some(_), Some(_)) => return Err(invalid("a response has `result` or `error`; send one")),
                (None, None) => return Err(invalid("`method` is missing; add the method's name")),
                _ => return Err(invalid("`id` is missing; add the id of the request")),
            };
            return Ok(Message::Response(id, outcome));
        };
        if self.result.is_some() || self.error.is_some() {
            return Err(invalid("a message has a `method`, or a `result` or `error`; send one of them"));
        }
        let Ok(Text(method)) = method else { return Err(invalid("`method` must be a string")) };
        let params = match &self.params {
            Some(Ok(params)) => Ok(&params.0),
            Some(Err(raw)) if raw.get().starts_with('{') => Err(Some(*raw)),
            // Some clients send null for absent parameters.
            Some(Err(raw)) if raw.get() != "null" => {
                return Err(malformed(code::INVALID_PARAMS, "`params` must be an object; send one"));
            }
            _ => Err(None),
        };
        Ok(match id {
            Some(id) => Message::Request(id, method, params),
            None => Message::Notification(method, params),
        })
    }
}

/// Reads the members of a message. A value of the wrong type is an error, unless `RAW`: then it is kept as raw JSON, as
/// are the parameters.
struct MembersVisitor<'m, 'a, P, const RAW: bool>(&'m mut Members<'a, P>);

/// Reads a member. Returns whether it is a duplicate.
fn read<'de, const RAW: bool, T: Deserialize<'de>, A: MapAccess<'de>>(
    map: &mut A,
    member: &mut Member<'de, T>,
) -> Result<bool, A::Error> {
    let is_duplicate = member.is_some();
    *member = Some(if RAW {
        let raw: &RawValue = map.next_value()?;
        serde_json::from_str(raw.get()).map_err(|_| raw)
    } else {
        Ok(map.next_value()?)
    });
    Ok(is_duplicate)
}

impl<'de, P: Deserialize<'de>, const RAW: bool> Visitor<'de> for MembersVisitor<'_, 'de, P, RAW> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let members = self.0;
        while let Some(key) = map.next_key::<Key>()? {
            let (name, is_duplicate) = match key {
                Key::Jsonrpc => ("jsonrpc", read::<RAW, _, _>(&mut map, &mut members.jsonrpc)?),
                Key::Id if RAW => ("id", members.id.replace(Id::read(map.next_value()?)).is_some()),
                Key::Id => ("id", read::<RAW, _, _>(&mut map, &mut members.id)?),
                Key::Method => ("method", read::<RAW, _, _>(&mut map, &mut members.method)?),
                Key::Params if RAW => ("params", members.params.replace(Err(map.next_value()?)).is_some()),
                Key::Params => ("params", read::<RAW, _, _>(&mut map, &mut members.params)?),
                Key::Result => ("result", members.result.replace(map.next_value()?).is_some()),
                Key::Error => ("error", members.error.replace(map.next_value()?).is_some()),
                Key::ToolName => ("", read::<RAW, _, _>(&mut map, &mut members.tool_name).map(|_| false)?),
                Key::Other => ("", map.next_value::<IgnoredAny>().map(|_| false)?),
            };
            if is_duplicate {
                members.duplicate = Some(name);
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(alias = "name")]
    ToolName,
    #[serde(other)]
    Other,
}

/// A JSON object. For a struct alone, serde would also accept an array.
struct Object<P>(P);

impl<'de, P: Deserialize<'de>> Deserialize<'de> for Object<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<P>(PhantomData<P>);

        impl<'de, P: Deserialize<'de>> Visitor<'de> for ObjectVisitor<P> {
            type Value = Object<P>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<P>, A::Error> {
                P::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

pub(super) fn malformed(code: i64, message: impl Into<String>) -> RpcError {
    RpcError::new(code, message).data(json!({ "error_type": ErrorType::VALIDATION_ERROR }))
}

pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    malformed(code::INVALID_REQUEST, message)
}

fn not_json(error: &ValidationError) -> Box<RpcRejection> {
    malformed(code::PARSE_ERROR, error.to_string()).into()
}
