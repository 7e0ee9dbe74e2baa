//! Answers, as HTTP has them.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use mcp_core::__private::cut;
use mcp_core::{ErrorType, RpcError, code};
use serde_json::json;

use super::accept::{EVENTS, JSON};
use super::access::Refused;
use super::headers;
use super::stream::{Events, HttpBody};
use crate::protocol::{respond_error, unsupported_version};

/// An answer.
pub(super) type Reply = Response<HttpBody>;

/// All of an answer.
pub(super) fn whole(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Reply {
    let is_empty = body.is_empty();
    let mut reply = Response::new(HttpBody::whole(body));
    *reply.status_mut() = status;
    if !is_empty {
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    reply
}

pub(super) fn events(events: Events) -> Reply {
    let mut reply = Response::new(HttpBody::events(events));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    streamed(reply)
}

/// Nothing on the way is to keep events back.
pub(super) fn streamed(mut reply: Reply) -> Reply {
    let headers = reply.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    reply
}

/// A request that got no further than this.
pub(super) fn failure(status: StatusCode, message: impl Into<String>) -> Reply {
    let code = if status.is_server_error() { code::INTERNAL_ERROR } else { code::INVALID_REQUEST };
    let error_type = match status {
        StatusCode::UNAUTHORIZED => ErrorType::AUTHENTICATION_ERROR,
        StatusCode::FORBIDDEN => ErrorType::PERMISSION_ERROR,
        StatusCode::SERVICE_UNAVAILABLE => ErrorType::API_LIMIT_EXCEEDED,
        _ if status.is_server_error() => ErrorType::TOOL_EXECUTION_ERROR,
        _ => ErrorType::VALIDATION_ERROR,
    };
    refusal(status, &RpcError::new(code, message).data(json!({ "error_type": error_type })))
}

fn refusal(status: StatusCode, error: &RpcError) -> Reply {
    let mut out = Vec::new();
    respond_error(None, error, &mut out);
    whole(status, JSON, out)
}

fn unauthorized(challenge: &'static str, message: &str) -> Reply {
    let mut reply = failure(StatusCode::UNAUTHORIZED, message);
    reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    reply
}

pub(super) fn busy(message: &str) -> Reply {
    let mut reply = failure(StatusCode::SERVICE_UNAVAILABLE, message);
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

pub(super) fn bad_version(version: &str) -> Reply {
    refusal(StatusCode::BAD_REQUEST, &unsupported_version(version, headers::OLDEST))
}

pub(super) fn broken_version() -> Reply {
    refusal(StatusCode::BAD_REQUEST, &headers::broken_version())
}

pub(super) fn no_session() -> Reply {
    failure(StatusCode::NOT_FOUND, "there is no such session, or it is over; begin another with `initialize`")
}

/// A request that was not let in.
pub(super) fn not_let_in(refused: &Refused) -> Reply {
    match refused {
        Refused::Host(host) => failure(
            StatusCode::FORBIDDEN,
            format!(
                "the host `{}` is none of this server's; have the server allow it with `allow_host` or `--allow-host`",
                cut(host, 64)
            ),
        ),
        Refused::Origin(origin) => failure(
            StatusCode::FORBIDDEN,
            format!(
                "the origin `{}` may not ask; have the server allow it with `allow_origin` or `--allow-origin`",
                cut(origin, 64)
            ),
        ),
        Refused::Site(site) => failure(
            StatusCode::FORBIDDEN,
            format!(
                "the browser says `Sec-Fetch-Site: {}` and no origin; only pages of an origin that is allowed may ask",
                cut(site, 64)
            ),
        ),
        Refused::NoToken => {
            unauthorized("Bearer", "there is no token; send `Authorization: Bearer` with the token of this server")
        }
        Refused::WrongToken => {
            unauthorized(r#"Bearer error="invalid_token""#, "the token is not the one of this server; send that one")
        }
    }
}
