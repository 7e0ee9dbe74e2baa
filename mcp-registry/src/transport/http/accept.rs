//! In which form a client takes an answer, and gives a message.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// The forms of an answer that a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepted {
    /// Whether the client asks for events by name: a browser that loads an image does not.
    pub(super) fn names_events(headers: &HeaderMap) -> bool {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|range| {
            let mut parts = range.split(';').map(str::trim);
            parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(EVENTS)) && !parts.any(is_refusal)
        })
    }

    /// Who says nothing takes anything.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        const ANY: Accepted = Accepted { json: true, events: true };

        let mut values = headers.get_all(ACCEPT).iter();
        // As MCP wants it, and as those say it who do not care.
        if let (None | Some(b"application/json, text/event-stream" | b"*/*"), None) =
            (values.next().map(HeaderValue::as_bytes), values.next())
        {
            return ANY;
        }
        let mut accepted = Self { json: false, events: false };
        let mut said = false;
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            if kind.is_empty() {
                continue;
            }
            said = true;
            if parts.any(is_refusal) {
                continue;
            }
            let is = |name: &str| kind.eq_ignore_ascii_case(name);
            accepted.json |= is(JSON) || is("application/*") || is("*/*");
            accepted.events |= is(EVENTS) || is("text/*") || is("*/*");
        }
        if said { accepted } else { ANY }
    }
}

/// Whether a parameter says "anything but this".
fn is_refusal(parameter: &str) -> bool {
    let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

/// Whether the message is JSON, in UTF-8.
pub(super) fn is_json(content_type: Option<&HeaderValue>) -> bool {
    let Some(text) = content_type.and_then(|value| value.to_str().ok()) else { return false };
    if text == JSON {
        return true;
    }
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(JSON));
    kind && parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            ["utf-8", "utf8"].iter().any(|utf8| value.trim_matches('"').eq_ignore_ascii_case(utf8))
        }
        _ => true,
    })
}

/// What a client says that its message is.
pub(super) fn content_type(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(CONTENT_TYPE)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{Accepted, is_json};

    #[test]
    fn what_a_client_takes() {
        let accepted = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("accept", HeaderValue::from_static(value));
            }
            let Accepted { json, events } = Accepted::of(&headers);
            (json, events)
        };
        assert_eq!(accepted(&[]), (true, true));
        assert_eq!(accepted(&["application/json, text/event-stream"]), (true, true));
        assert_eq!(accepted(&["application/json", "text/event-stream;q=0.5"]), (true, true));
        assert_eq!(accepted(&["*/*"]), (true, true));
        assert_eq!(accepted(&["Application/JSON; q=1, text/*;q=0"]), (true, false));
        assert_eq!(accepted(&["text/event-stream"]), (false, true));
        assert_eq!(accepted(&["text/html, image/*"]), (false, false));
        assert_eq!(accepted(&[" , "]), (true, true));
    }

    #[test]
    fn what_a_message_is() {
        for (value, json) in [
            ("application/json", true),
            ("APPLICATION/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; charset=latin1", false),
            ("application/jsonp", false),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ] {
            assert_eq!(is_json(Some(&HeaderValue::from_static(value))), json, "{value}");
        }
        assert!(!is_json(None));
    }
}
