//! Reading a message in one pass, and saying what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use super::{Id, RpcError, RpcMessage, RpcNotification, RpcRejection, RpcRequest, RpcResponse, code};
use crate::error::ValidationError;
use crate::message::{ErrorType, syntax, utf8};

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
            return Err(reject(invalid(format!("`{name}` is a duplicate key; keep one of the two"))));
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
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

fn is_string(raw: &RawValue, expected: &str) -> bool {
    serde_json::from_str::<Text<'_>>(raw.get()).is_ok_and(|text| text.0 == expected)
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
