//! Streamable HTTP: one endpoint for the versions of MCP with and without sessions.
//!
//! [`serve_http`] serves the endpoint, [`router`] adds it to an axum application, and [`Http`] configures both.

mod access;
mod bare_lf;
mod bind;
mod client_stream;
mod connections;
mod cors;
mod endpoint;
mod headers;
mod in_flight;
mod media_type;
mod rejections;
mod request_body;
mod response;
mod response_body;
mod serve;
mod service;
mod sessions;

use std::fmt;
use std::net::SocketAddr;

use axum::Router;
use axum::http::request::Parts;
use mcp_core::error::TransportError;
use mcp_core::{CallOptions, CancelToken};
use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};

use self::access::Access;
pub(crate) use self::access::parse_origin;
pub use self::response_body::HttpBody;
pub use self::service::HttpService;
use self::sessions::Sessions;
use crate::protocol::Server;
use crate::runtime::TokioRuntime;
use crate::transport::signals::Signals;
use crate::util::panic::Contained;

/// The default of [`Http::max_in_flight`].
const MAX_IN_FLIGHT: usize = 4096;

/// The default of [`Http::max_streams`].
const MAX_STREAMS: usize = 4096;

/// The default of [`Http::max_connections`].
const MAX_CONNECTIONS: usize = 16 * 1024;

/// Serves Streamable HTTP at an address, under `/mcp`, until Ctrl-C or SIGTERM. `/health` is a health probe.
///
/// The address must be a loopback address. To serve other addresses, use [`Http`], with a token or behind a server that
/// authenticates requests.
///
/// ```no_run
/// use mcp_registry::{Registry, Server, mcp_tool, serve_http};
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc", inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// #[tokio::main]
/// async fn main() -> mcp_registry::Result<()> {
///     serve_http(Server::new(Registry::linked()?), "127.0.0.1:3000").await?;
///     Ok(())
/// }
/// ```
pub async fn serve_http(server: Server, address: impl ToSocketAddrs) -> Result<(), TransportError> {
    Http::new(server).serve(address).await
}

/// The endpoint `/mcp` and the probe `/health` as an axum router, to serve or to merge into an application. [`Http`]
/// configures it.
///
/// Tools find the extensions that a layer adds to the request in
/// [`ToolContext::extensions`](mcp_core::ToolContext::extensions), and also the headers (`http::HeaderMap`):
///
/// ```standalone_crate
/// use axum::extract::Request;
/// use axum::middleware::{Next, from_fn};
/// use axum::response::Response;
/// use mcp_registry::{Registry, Server, ToolContext, mcp_tool, router};
///
/// #[derive(Clone)]
/// struct User(String);
///
/// /// Says who asks.
/// #[mcp_tool(module = "users")]
/// fn who(#[ctx] cx: &ToolContext) -> Option<String> {
///     cx.extensions().get::<User>().map(|user| user.0.clone())
/// }
///
/// async fn authenticate(mut request: Request, next: Next) -> Response {
///     request.extensions_mut().insert(User("ada".to_owned()));
///     next.run(request).await
/// }
///
/// # fn main() -> mcp_registry::Result<()> {
/// let tools = router(Server::new(Registry::linked()?)).layer(from_fn(authenticate));
/// let app: axum::Router = axum::Router::new().merge(tools);
/// # Ok(())
/// # }
/// ```
pub fn router(server: Server) -> Router {
    Http::new(server).router()
}

/// Configures a server over HTTP: who may connect, at which path, and within which limits.
///
/// By default, only local clients and local web pages are accepted: the `Host` must be a name of this machine
/// (`localhost`, `127.0.0.1`, `[::1]`), and so must the host in the origin of a page, if there is an origin. Other
/// pages are rejected, even if they use DNS rebinding or load the endpoint as an image: a request that a browser marks
/// as coming from another site (`Sec-Fetch-Site`) needs an allowed origin. Only `http` and `https` origins can be
/// local; allow others by name.
///
/// ```no_run
/// # async fn serve(server: mcp_registry::Server) -> mcp_registry::Result<()> {
/// use mcp_registry::Http;
///
/// Http::new(server)
///     .token(std::env::var("MCP_TOKEN").unwrap_or_default())
///     .allow_host("tools.example.com")
///     .serve("0.0.0.0:3000")
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// A response is JSON, or a stream of events if a tool reports progress or logs, if the client subscribes, or if the
/// client accepts only events. In the last case, the legacy `list_tools` and `call_tool` end with an event named
/// `result` or `error`.
///
/// Each message of 2026-07-28 is independent, and a client that closes its connection cancels its request. `initialize`
/// gives clients of the older versions a session, with which they can cancel requests and be notified of changes; the
/// session ID is optional. Internal errors are masked, unless the registry or [`call_options`](Self::call_options)
/// overrides that.
///
/// A client has 60 s to send the head of a request, and 30 s for each part of the body; the whole body must arrive
/// within 30 s plus a second for each 16 KiB. Lines of a head must end with CR LF; [`serve`](Self::serve) rejects a
/// bare line feed.
///
/// Requests that are rejected because of their `Host`, origin, token or session, because of a limit of the server (503),
/// or because the function of [`call_options`](Self::call_options) panics (500), are reported to the registry's observers ([`Observer::rejected`](crate::call::observe::Observer::rejected)),
/// including the [`AuditLog`](crate::call::audit::AuditLog), and as `tracing` events. In a flood, the first eight per
/// second and reason are reported one by one, and the others together. The response to a wrong token is delayed: by
/// 100 ms at first, and by up to 2 s if there are many. While 128 wrong tokens are being delayed, or 32 from one address
/// (of IPv6: one network of 64 bits), further requests with a token from anywhere, or from there, are rejected with 503
/// without comparing the token, even if it is right. ([`serve`](Self::serve) knows the address of the client;
/// otherwise, it is taken from a [`SocketAddr`] in the request's extensions.)
///
/// A session belongs to the caller that started it: the [caller](mcp_core::CallOptions::caller) that
/// [`call_options`](Self::call_options) sets, together with the token. For other callers, it does not exist. Without
/// either, such as behind [`external_auth`](Self::external_auth) without `call_options`, all requests have the same
/// caller. There are at most 10,000 sessions; beyond that, the caller with the most sessions loses its least recently
/// used one. A session that was not used for an hour expires.
///
/// A disconnect goes undetected while a pipelined request is buffered: the call then runs to its end or its deadline.
#[must_use = "nothing is served before `serve` or `router`"]
pub struct Http {
    server: Server,
    access: Access,
    options: Box<dyn Fn(&Parts) -> CallOptions + Send + Sync>,
    path: String,
    health_path: Option<String>,
    sessions: Option<Sessions>,
    max_in_flight: usize,
    max_streams: usize,
    max_connections: usize,
    external_auth: bool,
    stopping: CancelToken,
}

impl Http {
    /// Starts from the defaults: local clients and local web pages are accepted.
    pub fn new(server: Server) -> Self {
        Self {
            server,
            access: Access::default(),
            options: Box::new(|_| CallOptions::new()),
            path: "/mcp".to_owned(),
            health_path: Some("/health".to_owned()),
            sessions: Some(Sessions::default()),
            max_in_flight: MAX_IN_FLIGHT,
            max_streams: MAX_STREAMS,
            max_connections: MAX_CONNECTIONS,
            external_auth: false,
            stopping: CancelToken::new(),
        }
    }

    /// Accepts only requests with `Authorization: Bearer` and this token, or another token that was added. Any `Host`
    /// is then accepted, unless one is allowed by name.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        // A token that was read from a file may end with a line break.
        self.access.tokens.push(token.into().trim().to_owned());
        self
    }

    /// Declares that requests are authenticated elsewhere: by a layer, or by a server in front. Without this or a
    /// token, an address that others can reach is not served. Allow the host name of the server in front with
    /// [`allow_host`](Self::allow_host).
    pub fn external_auth(mut self) -> Self {
        self.external_auth = true;
        self
    }

    /// Also accepts requests with this `Host`, such as `tools.example.com`; with a port, only for that port.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        let host = host.into();
        // The name may have been copied from a browser, with its scheme.
        let host = host.split_once("://").map_or(&*host, |(_, host)| host);
        self.access.hosts.push(host.trim_end_matches('/').to_owned());
        self
    }

    /// Accepts requests with any `Host`. DNS rebinding is then detected only by the origin, if the browser sends one.
    pub fn allow_any_host(mut self) -> Self {
        self.access.any_host = true;
        self
    }

    /// Also accepts web pages of this origin, such as `https://app.example.com`: browsers let them send requests and
    /// read the responses (CORS). A local page, such as `http://localhost:5173`, also needs this.
    ///
    /// Browsers send a preflight request (`OPTIONS`) without a token; a layer that authenticates requests must let it
    /// through.
    ///
    /// # Panics
    ///
    /// If no browser sends such an origin: `*`, a host name without a scheme, a URL with a path, or the default port of
    /// the scheme.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = parse_origin(&origin.into()).unwrap_or_else(|message| panic!("{message}"));
        self.access.origins.push(origin);
        self
    }

    /// Sets the path of the endpoint (default: `/mcp`).
    ///
    /// # Panics
    ///
    /// If it does not begin with `/`, or is the path of the health probe.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self.check_paths();
        self
    }

    /// Sets the path of the health probe (default: `/health`). It is a literal path, not an axum pattern. `None`
    /// disables the probe: for a router that is merged into an application with its own probe, or to add one outside of
    /// a layer that authenticates requests.
    ///
    /// ```
    /// use axum::http::StatusCode;
    /// use axum::routing::get;
    /// use mcp_registry::{CancelToken, Http};
    /// # use axum::extract::Request;
    /// # use axum::middleware::{Next, from_fn};
    /// # use axum::response::Response;
    ///
    /// # async fn authenticate(request: Request, next: Next) -> Response { next.run(request).await }
    /// # fn app(server: mcp_registry::Server) -> axum::Router {
    /// let stop = CancelToken::new();
    /// let tools = Http::new(server).health_path(None).stop_with(stop.clone());
    /// let health = async move || if stop.is_cancelled() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    /// // A layer covers the routes that were added before it.
    /// tools.router().layer(from_fn(authenticate)).route("/health", get(health))
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If it does not begin with `/`, or is the path of the endpoint.
    pub fn health_path<'a>(mut self, path: impl Into<Option<&'a str>>) -> Self {
        self.health_path = path.into().map(str::to_owned);
        self.check_paths();
        self
    }

    fn check_paths(&self) {
        let Self { path, health_path, .. } = self;
        for path in [Some(path), health_path.as_ref()].into_iter().flatten() {
            assert!(path.starts_with('/'), "the path `{path}` has to begin with `/`");
        }
        let is_probe = health_path.as_ref() == Some(path);
        assert!(
            !is_probe,
            "the path `{path}` is that of the health probe; give the endpoint or the probe another path"
        );
    }

    /// Sets the options for the calls in a request, such as the caller and its trust level. The extensions and headers
    /// of the request are always available to tools. If the function panics, the request is rejected with status 500.
    pub fn call_options(mut self, options: impl Fn(&Parts) -> CallOptions + Send + Sync + 'static) -> Self {
        let options = Contained::new(options);
        self.options = Box::new(move |request| (*options)(request));
        self
    }

    /// Sets whether clients of the versions before 2026-07-28 get a session (default: true).
    ///
    /// Only one server knows a session. Turn sessions off if several servers share the requests of a client, such as
    /// behind a load balancer: any of them can then answer any request. For clients of these versions, this means:
    ///
    /// - `notifications/cancelled` has no effect: a call runs to its end or its deadline.
    /// - `logging/setLevel` has no effect: the client gets log messages of the level `info` and above.
    /// - A stream that a client opens with GET reports changes of the list of tools only on the server that it is
    ///   connected to.
    /// - A request without `MCP-Protocol-Version` is treated as one of 2025-03-26, as the protocol requires.
    ///
    /// Progress and log messages of a call are not affected: they are sent with its answer. Streams cannot be resumed,
    /// with or without sessions.
    pub fn sessions(mut self, yes: bool) -> Self {
        self.sessions = yes.then(Sessions::default);
        self
    }

    /// Sets how many requests may be in flight (default: 4,096). Beyond that, the response is 503 with `Retry-After`. Each
    /// call of a batch counts; those beyond the limit are answered with an error in the batch.
    pub fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests;
        self
    }

    /// Sets how many streams of notifications may be open (default: 4,096).
    pub fn max_streams(mut self, streams: usize) -> Self {
        self.max_streams = streams;
        self
    }

    /// Sets how many connections [`serve`](Self::serve) keeps open (default: 16,384); at most three quarters of the
    /// process's limit of open files, which leaves some for tools. Beyond that, the connections that have waited the
    /// longest for a request or the rest of one, and for at least a second, are closed; if there are none, new
    /// connections wait.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// When the token is cancelled, ends the streams of notifications and closes connections with their next response:
    /// for the graceful shutdown of your own server, which would otherwise wait for open streams.
    /// [`serve`](Self::serve) then stops, too; at a signal, it cancels the token itself.
    pub fn stop_with(mut self, token: CancelToken) -> Self {
        self.stopping = token;
        self
    }

    /// Only the endpoint, as a tower service that can be mounted at any path.
    pub fn service(self) -> HttpService {
        HttpService::new(self.health_path(None), true)
    }

    /// The endpoint and the health probe, as an axum router.
    pub fn router(self) -> Router {
        let (path, health) = (self.path.clone(), self.health_path.clone());
        let service = HttpService::new(self, true);
        let router = Router::new().route_service(&path, service.clone());
        match health {
            Some(health) => router.route_service(&health, service),
            None => router,
        }
    }

    /// Serves at an address until Ctrl-C or SIGTERM. Requests in flight are then answered, within their own deadlines;
    /// clients that have sent half a request or do not read get a few seconds. A second signal stops the server
    /// immediately.
    ///
    /// An address that others can reach is rejected without a token, unless [`external_auth`](Self::external_auth) is
    /// set.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), TransportError> {
        let addresses: Vec<SocketAddr> = lookup_host(address).await?.collect();
        let listener = bind::bind(&addresses).map_err(|source| {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            TransportError::Bind { address: addresses.join(" or "), source }
        })?;
        self.serve_on(listener).await
    }

    /// Serves a listener, as [`serve`](Self::serve) does.
    pub async fn serve_on(self, listener: TcpListener) -> Result<(), TransportError> {
        self.serve_until_signal(listener, Signals::new()?).await
    }

    pub(crate) async fn serve_until_signal(
        self,
        listener: TcpListener,
        mut signals: Signals,
    ) -> Result<(), TransportError> {
        let signal = async move || std::future::poll_fn(|context| signals.poll(context)).await;
        self.run(listener, signal).await
    }

    /// Serves a listener until the future completes. Requests in flight are then answered.
    pub async fn serve_until(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), TransportError> {
        let mut stop = Some(Box::pin(stop));
        let next = async move || match stop.take() {
            Some(stop) => stop.await,
            None => std::future::pending().await,
        };
        self.run(listener, next).await
    }

    async fn run(self, listener: TcpListener, signal: impl AsyncFnMut()) -> Result<(), TransportError> {
        self.check(&listener)?;
        // Without timers, every connection would panic.
        TokioRuntime::current().map_err(std::io::Error::other)?;
        let (stopping, max_connections) = (self.stopping.clone(), bind::connection_limit(self.max_connections));
        serve::serve(HttpService::new(self, false), listener, max_connections, &stopping, signal).await;
        Ok(())
    }

    /// Fails if others can reach the address and requests are not authenticated.
    pub(crate) fn check(&self, listener: &TcpListener) -> Result<(), TransportError> {
        let is_valid = |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !self.access.tokens.iter().all(is_valid) {
            return Err(TransportError::Token);
        }
        let address = listener.local_addr()?;
        if address.ip().is_loopback() || self.external_auth || !self.access.tokens.is_empty() {
            return Ok(());
        }
        Err(TransportError::Open { address })
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("server", &self.server).field("path", &self.path).finish_non_exhaustive()
    }
}
