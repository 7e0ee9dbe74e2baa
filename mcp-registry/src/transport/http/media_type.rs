//! The media types that a client accepts, and the media type of its message.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue};

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// The media types that a client accepts in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepted {
    /// Whether the client lists the event stream by name. A browser that loads an image does not.
    pub(super) fn lists_events(headers: &HeaderMap) -> bool {
        ranges(headers).any(|(range, is_excluded)| range.eq_ignore_ascii_case(EVENTS) && !is_excluded)
    }

    /// A client without the header accepts anything.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        const ANY: Accepted = Accepted { json: true, events: true };

        let mut values = headers.get_all(ACCEPT).iter();
        // The fast path: what MCP requires, and what generic clients send.
        if let (None | Some(b"application/json, text/event-stream" | b"*/*"), None) =
            (values.next().map(HeaderValue::as_bytes), values.next())
        {
            return ANY;
        }
        let (mut accepted, mut has_ranges) = (Self { json: false, events: false }, false);
        for (range, is_excluded) in ranges(headers) {
            has_ranges = true;
            let is = |name: &str| !is_excluded && range.eq_ignore_ascii_case(name);
            accepted.json |= is(JSON) || is("application/*") || is("*/*");
            accepted.events |= is(EVENTS) || is("text/*") || is("*/*");
        }
        if has_ranges { accepted } else { ANY }
    }
}

/// The media ranges of `Accept`, and whether each is excluded.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = (&str, bool)> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        (parts.next().unwrap_or_default(), parts.any(is_excluded))
    });
    ranges.filter(|(range, _)| !range.is_empty())
}

/// Whether a parameter is a weight of 0, which excludes the type.
fn is_excluded(parameter: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{Accepted, is_json};

    #[test]
    fn a_client_accepts_what_its_header_lists() {
        let accepted = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("accept", HeaderValue::from_static(value));
            }
            let Accepted { json, events } = Accepted::from_headers(&headers);
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
    fn a_message_is_json_in_utf_8() {
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
