//! HTTP responses.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use mcp_core::ErrorType;
use mcp_core::rpc::{RpcError, code};
use mcp_core::support::cut;
use serde_json::json;

use super::access::Denied;
use super::headers;
use super::media_type::{EVENTS, JSON};
use super::response_body::{EventStream, HttpBody};
use crate::protocol::{respond_error, unsupported_version};

pub(super) type HttpResponse = Response<HttpBody>;

/// A response with all of its body.
pub(super) fn full(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> HttpResponse {
    let is_empty = body.is_empty();
    let mut response = Response::new(HttpBody::full(body));
    *response.status_mut() = status;
    if !is_empty {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    response
}

pub(super) fn event_stream(events: EventStream) -> HttpResponse {
    let mut response = Response::new(HttpBody::events(events));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    unbuffered(response)
}

/// Asks proxies not to hold back events.
pub(super) fn unbuffered(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The response to a request that failed before its message was handled.
pub(super) fn error_response(status: StatusCode, message: impl Into<String>) -> HttpResponse {
    let code = if status.is_server_error() { code::INTERNAL_ERROR } else { code::INVALID_REQUEST };
    let error_type = match status {
        StatusCode::UNAUTHORIZED => ErrorType::AUTHENTICATION_ERROR,
        StatusCode::FORBIDDEN => ErrorType::PERMISSION_ERROR,
        StatusCode::SERVICE_UNAVAILABLE => ErrorType::API_LIMIT_EXCEEDED,
        _ if status.is_server_error() => ErrorType::TOOL_EXECUTION_ERROR,
        _ => ErrorType::VALIDATION_ERROR,
    };
    rpc_error_response(status, &RpcError::new(code, message).data(json!({ "error_type": error_type })))
}

fn rpc_error_response(status: StatusCode, error: &RpcError) -> HttpResponse {
    let mut out = Vec::new();
    respond_error(None, error, &mut out);
    full(status, JSON, out)
}

fn unauthorized(challenge: &'static str, message: &str) -> HttpResponse {
    let mut response = error_response(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

pub(super) fn busy(message: &str) -> HttpResponse {
    let mut response = error_response(StatusCode::SERVICE_UNAVAILABLE, message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

pub(super) fn unsupported_version_response(version: &str) -> HttpResponse {
    rpc_error_response(StatusCode::BAD_REQUEST, &unsupported_version(version, headers::OLDEST_VERSION))
}

pub(super) fn malformed_version_response() -> HttpResponse {
    rpc_error_response(StatusCode::BAD_REQUEST, &headers::malformed_version())
}

pub(super) fn session_not_found() -> HttpResponse {
    error_response(StatusCode::NOT_FOUND, "there is no such session, or it is over; begin another with `initialize`")
}

/// The response to a request that was denied.
pub(super) fn access_denied(denied: &Denied) -> HttpResponse {
    match denied {
        Denied::Host(host) => error_response(
            StatusCode::FORBIDDEN,
            format!(
                "the host `{}` is none of this server's; have the server allow it with `allow_host` or `--allow-host`",
                cut(host, 64)
            ),
        ),
        Denied::Origin(origin) => error_response(
            StatusCode::FORBIDDEN,
            format!(
                "the origin `{}` may not ask; have the server allow it with `allow_origin` or `--allow-origin`",
                cut(origin, 64)
            ),
        ),
        Denied::Site(site) => error_response(
            StatusCode::FORBIDDEN,
            format!(
                "the browser says `Sec-Fetch-Site: {}` and no origin; only pages of an origin that is allowed may ask",
                cut(site, 64)
            ),
        ),
        Denied::NoToken => {
            unauthorized("Bearer", "there is no token; send `Authorization: Bearer` with the token of this server")
        }
        Denied::WrongToken => {
            unauthorized(r#"Bearer error="invalid_token""#, "the token is not the one of this server; send that one")
        }
    }
}
