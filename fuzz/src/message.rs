//! Which answers are due to a message, derived without the server.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The answer that is due to a message.
#[derive(Debug)]
pub(crate) enum Due {
    /// It is never answered.
    Nothing,
    /// One answer of JSON-RPC, under one of these ids.
    One(Vec<Value>),
    /// It may be a response, which is not answered, or a broken one, which is answered under one of these ids.
    Maybe(Vec<Value>),
    /// One flat result.
    Flat,
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

/// What is due to a message, if messages have at most so many bytes.
pub(crate) fn due(message: &[u8], most: usize) -> Due {
    let unreadable = || Due::One(vec![Value::Null]);
    if message.len() > most {
        return unreadable();
    }
    let Some(Members(members)) = std::str::from_utf8(message).ok().and_then(|text| serde_json::from_str(text).ok())
    else {
        return unreadable();
    };
    let has = |name: &str| members.iter().any(|(key, _)| key == name);
    if !has("jsonrpc") {
        return Due::Flat;
    }
    let given: Vec<&RawValue> = members.iter().filter(|(key, _)| key == "id").map(|(_, id)| *id).collect();
    if given.is_empty() && has("method") {
        return Due::Nothing;
    }
    let ids = match given.as_slice() {
        [id] => vec![legal_id(id)],
        // With duplicates, none of them counts.
        _ => given.iter().map(|id| legal_id(id)).chain([Value::Null]).collect(),
    };
    if has("method") || !(has("result") || has("error")) { Due::One(ids) } else { Due::Maybe(ids) }
}

/// The ID in the answer: null if it is not a legal one.
fn legal_id(id: &RawValue) -> Value {
    let text = id.get();
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).map_or(Value::Null, Value::String);
    }
    let Ok(number) = text.parse::<i128>() else { return Value::Null };
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => Value::Null,
    }
}

/// The IDs that a message cancels, if any.
pub(crate) fn cancelled(message: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(message).ok()?;
    (value["method"] == "notifications/cancelled").then(|| value["params"]["requestId"].clone())
}

/// A message of the server.
#[derive(Debug)]
pub(crate) enum Sent {
    Notification,
    /// With its id.
    Response(Value),
    Flat,
}

/// Reads a message of the server, which must be one line of JSON.
pub(crate) fn sent(message: &[u8]) -> Sent {
    let text = std::str::from_utf8(message).expect("a message is UTF-8");
    assert!(message.iter().all(|byte| *byte >= b' '), "a message is one line: {text:?}");
    let Members(members) = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let member = |name: &str| {
        let mut found = members.iter().filter(|(key, _)| key == name);
        let first = found.next().map(|(_, value)| value.get());
        assert!(found.next().is_none(), "`{name}` is a duplicate key: {text}");
        first
    };
    if member("jsonrpc").is_none() {
        mcp_registry::ToolResult::parse(message).unwrap_or_else(|error| panic!("{error}: {text}"));
        return Sent::Flat;
    }
    assert_eq!(member("jsonrpc"), Some("\"2.0\""), "{text}");
    let id = member("id").map(|id| serde_json::from_str(id).expect("an id is JSON"));
    match (id, member("method"), member("result"), member("error")) {
        (None, Some(_), None, None) => Sent::Notification,
        (Some(id), None, Some(_), None) => Sent::Response(id),
        (Some(id), None, None, Some(error)) => {
            let error: Value = serde_json::from_str(error).expect("an error is JSON");
            assert!(error["code"].is_i64() && error["message"].is_string(), "{text}");
            Sent::Response(id)
        }
        _ => panic!("neither a notification nor a response: {text}"),
    }
}
