//! HTTP responses.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use mcp_core::ErrorType;
use mcp_core::rpc::{Id, RpcError, code};
use mcp_core::support::cut;
use serde_json::json;

use super::access::Denied;
use super::media_type::{EVENTS, JSON};
use super::response_body::{EventStream, HttpBody};
use crate::protocol::respond_error;

pub(super) type HttpResponse = Response<HttpBody>;

/// A value, or the response that says why there is none.
pub(super) type HttpResult<T = HttpResponse> = Result<T, Box<HttpResponse>>;

/// A response with a complete body.
pub(super) fn full(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> HttpResponse {
    with_header(with_status(status, HttpBody::full(body)), CONTENT_TYPE, content_type)
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> HttpResponse {
    with_status(status, HttpBody::full(Vec::new()))
}

fn with_status(status: StatusCode, body: HttpBody) -> HttpResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

pub(super) fn with_header(mut response: HttpResponse, name: HeaderName, value: &'static str) -> HttpResponse {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

pub(super) fn event_stream(events: EventStream) -> HttpResponse {
    unbuffered(with_header(Response::new(HttpBody::events(events)), CONTENT_TYPE, EVENTS))
}

/// Asks proxies not to buffer events.
pub(super) fn unbuffered(response: HttpResponse) -> HttpResponse {
    let response = with_header(response, CACHE_CONTROL, "no-cache");
    with_header(response, HeaderName::from_static("x-accel-buffering"), "no")
}

/// Fails with the response of [`error_response`].
pub(super) fn reject<T>(status: StatusCode, message: &str) -> HttpResult<T> {
    Err(error_response(status, message).into())
}

/// The response to a request that failed before its message was handled.
pub(super) fn error_response(status: StatusCode, message: impl Into<String>) -> HttpResponse {
    rpc_error_response(status, None, &error_of(status, message))
}

/// The error of a request that failed before its message was handled.
pub(super) fn error_of(status: StatusCode, message: impl Into<String>) -> RpcError {
    let code = if status.is_server_error() { code::INTERNAL_ERROR } else { code::INVALID_REQUEST };
    let error_type = match status {
        StatusCode::UNAUTHORIZED => ErrorType::AUTHENTICATION_ERROR,
        StatusCode::FORBIDDEN => ErrorType::PERMISSION_ERROR,
        StatusCode::SERVICE_UNAVAILABLE => ErrorType::API_LIMIT_EXCEEDED,
        _ if status.is_server_error() => ErrorType::TOOL_EXECUTION_ERROR,
        _ => ErrorType::VALIDATION_ERROR,
    };
    RpcError::new(code, message).data(json!({ "error_type": error_type }))
}

pub(super) fn rpc_error_response(status: StatusCode, id: Option<&Id<'_>>, error: &RpcError) -> HttpResponse {
    let mut out = Vec::new();
    respond_error(id, error, &mut out);
    full(status, JSON, out)
}

fn unauthorized(challenge: &'static str, message: &str) -> HttpResponse {
    with_header(error_response(StatusCode::UNAUTHORIZED, message), WWW_AUTHENTICATE, challenge)
}

pub(super) fn busy(message: &str) -> HttpResponse {
    with_header(error_response(StatusCode::SERVICE_UNAVAILABLE, message), RETRY_AFTER, "1")
}

/// The error of a request that exceeds a limit.
pub(super) fn busy_error(message: &str) -> RpcError {
    error_of(StatusCode::SERVICE_UNAVAILABLE, message)
}

/// The response to a request that was denied.
pub(super) fn access_denied(denied: &Denied) -> HttpResponse {
    let message = match denied {
        Denied::Host(host) => format!(
            "the host `{}` is not allowed; allow it on the server with `allow_host` or `--allow-host`",
            cut(host, 64)
        ),
        Denied::Origin(origin) => format!(
            "the origin `{}` is not allowed; allow it on the server with `allow_origin` or `--allow-origin`",
            cut(origin, 64)
        ),
        Denied::Site(site) => format!(
            "the browser sent `Sec-Fetch-Site: {}` without an origin; only pages of an allowed origin are served",
            cut(site, 64)
        ),
        Denied::NoToken => {
            let message = "there is no token; send `Authorization: Bearer` with the token of this server";
            return unauthorized("Bearer", message);
        }
        Denied::WrongToken => {
            let message = "the token is wrong; send the token of this server";
            return unauthorized(r#"Bearer error="invalid_token""#, message);
        }
    };
    error_response(StatusCode::FORBIDDEN, message)
}
