//! The tower service, which routes requests by their path.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::header::{ALLOW, CONNECTION};
use axum::http::{Method, Request, StatusCode};
use hyper::body::Body;
use mcp_core::context::BoxFuture;
use mcp_core::error::BoxError;
use tower_service::Service;

use super::endpoint::Endpoint;
use super::media_type::JSON;
use super::response::{HttpResponse, error_response, full, with_header};
use super::{Http, cors};
use crate::util::panic::guard;

/// The MCP endpoint as a tower service that can be mounted at any path. Cheap to clone.
#[derive(Clone)]
pub struct HttpService {
    pub(super) endpoint: Arc<Endpoint>,
    /// Whether a router in front has already matched the path.
    is_mounted: bool,
}

impl HttpService {
    pub(super) fn new(http: Http, is_mounted: bool) -> Self {
        Self { endpoint: Arc::new(Endpoint::new(http)), is_mounted }
    }

    /// Answers a request to any path, even if something panics, such as the destructor of one of the request's
    /// extensions.
    pub(super) async fn route(&self, request: Request<impl Body>, client: Option<SocketAddr>) -> HttpResponse {
        let mut response = pin!(self.route_unguarded(request, client));
        poll_fn(|context| {
            guard(|| response.as_mut().poll(context)).unwrap_or_else(|_| {
                let message = "the server panicked; tell its operator";
                Poll::Ready(error_response(StatusCode::INTERNAL_SERVER_ERROR, message))
            })
        })
        .await
    }

    async fn route_unguarded(&self, request: Request<impl Body>, client: Option<SocketAddr>) -> HttpResponse {
        let Http { path: endpoint, health_path, .. } = &self.endpoint.http;
        let path = request.uri().path();
        if health_path.as_deref() == Some(path) {
            return self.health(request.method(), path);
        }
        if !self.is_mounted && endpoint != path {
            let message = format!("there is nothing here; the tools are at `{endpoint}`");
            return error_response(StatusCode::NOT_FOUND, message);
        }
        self.answer(request, client).await
    }

    /// Answers a request to the endpoint.
    async fn answer(&self, request: Request<impl Body>, client: Option<SocketAddr>) -> HttpResponse {
        let Http { access, stopping, .. } = &self.endpoint.http;
        let origin = cors::allowed_origin(access, request.headers());
        let mut response = self.endpoint.answer(request, client).await.unwrap_or_else(|response| *response);
        if !access.origins.is_empty() {
            cors::add_headers(origin, response.headers_mut());
        }
        // The client sends its next request on another connection, so that no request is lost.
        if stopping.is_cancelled() { with_header(response, CONNECTION, "close") } else { response }
    }

    /// Answers a health probe.
    fn health(&self, method: &Method, path: &str) -> HttpResponse {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let response = error_response(StatusCode::METHOD_NOT_ALLOWED, format!("`{path}` only accepts GET"));
            return with_header(response, ALLOW, "GET, HEAD");
        }
        if self.endpoint.http.stopping.is_cancelled() {
            full(StatusCode::SERVICE_UNAVAILABLE, JSON, br#"{"status":"stopping"}"#.to_vec())
        } else {
            full(StatusCode::OK, JSON, br#"{"status":"ok"}"#.to_vec())
        }
    }
}

impl<B> Service<Request<B>> for HttpService
where
    B: Body<Error: Into<BoxError>> + Send + 'static,
    B::Data: Send,
{
    type Response = HttpResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<HttpResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        let client = request.extensions().get::<SocketAddr>().copied();
        Box::pin(async move { Ok(service.route(request, client).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("server", &self.endpoint.http.server).finish_non_exhaustive()
    }
}
