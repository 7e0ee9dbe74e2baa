//! CORS: preflight requests from browsers, and the headers that let pages of other origins read responses.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::access::Access;
use super::response::{HttpResponse, empty};

/// The headers that clients send. A preflight request may ask for others, such as `Mcp-Param-*`.
const ALLOWED_HEADERS: &str =
    "authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id";

/// The headers of a response that a page may read.
const EXPOSED_HEADERS: &str = "mcp-session-id, www-authenticate, retry-after";

/// The number of seconds for which a browser may cache the response: the limit of Chromium.
const MAX_AGE: &str = "7200";

/// Sent by Chromium when a page from a public network sends a request to a private one.
const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The response to a preflight request from a page whose origin is allowed by name; `None` for other requests. Browsers
/// send preflight requests without a token.
pub(super) fn preflight(access: &Access, request: &Parts) -> Option<HttpResponse> {
    let headers = &request.headers;
    if request.method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    allowed_origin(access, headers).filter(|_| access.check_host(request).is_ok())?;
    let mut response = empty(StatusCode::NO_CONTENT);
    let allowed = response.headers_mut();
    allowed.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    let sent = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    allowed.insert(ACCESS_CONTROL_ALLOW_HEADERS, sent.unwrap_or(HeaderValue::from_static(ALLOWED_HEADERS)));
    allowed.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    if headers.contains_key(REQUEST_PRIVATE_NETWORK) {
        allowed.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    Some(response)
}

/// The origin of the page that sends the request, if it is allowed by name.
pub(super) fn allowed_origin(access: &Access, headers: &HeaderMap) -> Option<HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let (origin, second) = (origins.next()?, origins.next());
    let is_named = second.is_none() && origin.to_str().is_ok_and(|origin| access.allows_origin(origin));
    is_named.then(|| origin.clone())
}

/// Adds the headers that let a page of this origin read the response.
pub(super) fn add_headers(origin: Option<HeaderValue>, headers: &mut HeaderMap) {
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    }
}
