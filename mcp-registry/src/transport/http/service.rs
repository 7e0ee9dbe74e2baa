//! The tower service: which path leads where.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::header::{ALLOW, CONNECTION};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Body;
use mcp_core::context::BoxFuture;
use mcp_core::error::BoxError;
use tower_service::Service;

use super::cors;
use super::endpoint::Endpoint;
use super::media_type::JSON;
use super::response::{HttpResponse, error_response, full};

/// The MCP endpoint as a tower service, for any path that it is mounted at. Cheap to clone.
#[derive(Clone)]
pub struct HttpService(Arc<Inner>);

struct Inner {
    endpoint: Arc<Endpoint>,
    routes: Routes,
}

/// The paths of a service.
pub(super) struct Routes {
    /// The path of the endpoint; `None` for every path, if a router has chosen the service by its path.
    pub(super) endpoint: Option<String>,
    pub(super) health: Option<String>,
}

impl HttpService {
    pub(super) fn new(endpoint: Endpoint, routes: Routes) -> Self {
        Self(Arc::new(Inner { endpoint: Arc::new(endpoint), routes }))
    }

    /// How many requests are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.0.endpoint.in_flight()
    }

    /// Answers a request to any path.
    pub(super) async fn route<B>(&self, request: Request<B>, client: Option<SocketAddr>) -> HttpResponse
    where
        B: Body<Error: Into<BoxError>> + Send + 'static,
        B::Data: Send,
    {
        let Routes { endpoint, health } = &self.0.routes;
        let path = request.uri().path();
        if health.as_deref() == Some(path) {
            return self.health(request.method(), path);
        }
        match endpoint {
            Some(endpoint) if endpoint != path => {
                error_response(StatusCode::NOT_FOUND, format!("there is nothing here; the tools are at `{endpoint}`"))
            }
            _ => self.answer(request, client).await,
        }
    }

    /// Answers a request to the endpoint.
    async fn answer<B>(&self, request: Request<B>, client: Option<SocketAddr>) -> HttpResponse
    where
        B: Body<Error: Into<BoxError>> + Send + 'static,
        B::Data: Send,
    {
        let endpoint = &self.0.endpoint;
        let origin = cors::allowed_origin(&endpoint.access, request.headers());
        let mut response = endpoint.answer(request, client).await;
        if !endpoint.access.origins.is_empty() {
            cors::add_headers(origin, response.headers_mut());
        }
        if endpoint.stopping.is_cancelled() {
            // The client sends its next request elsewhere, so that none is lost.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Answers a probe.
    fn health(&self, method: &Method, path: &str) -> HttpResponse {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response =
                error_response(StatusCode::METHOD_NOT_ALLOWED, format!("`{path}` is asked for with GET"));
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        if self.0.endpoint.stopping.is_cancelled() {
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
        f.debug_struct("HttpService").field("server", &self.0.endpoint.server).finish_non_exhaustive()
    }
}
