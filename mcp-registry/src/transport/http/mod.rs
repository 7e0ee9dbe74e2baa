//! Streamable HTTP: one endpoint for the versions of MCP with and without sessions, to be served or mounted.

mod accept;
mod access;
mod cors;
mod endpoint;
mod headers;
mod heads;
mod life;
mod listen;
mod read;
mod reject;
mod reply;
mod serve;
mod service;
mod session;
mod stall;
mod stream;
mod under;

use std::fmt;
use std::net::SocketAddr;

use axum::Router;
use axum::http::request::Parts;
use mcp_core::{CallOptions, CancelToken, TransportError};
use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};

use self::access::Access;
pub(crate) use self::access::parse_origin;
use self::endpoint::Endpoint;
use self::reject::Rejections;
pub use self::service::HttpService;
use self::service::Routes;
use self::session::Sessions;
pub use self::stream::HttpBody;
use crate::protocol::Server;
use crate::runtime::TokioRuntime;

/// How many requests may be under way.
const IN_FLIGHT: usize = 4096;

/// How many clients may listen.
const STREAMS: usize = 4096;

/// How many connections may be open.
const CONNECTIONS: usize = 16 * 1024;

/// Serves Streamable HTTP at an address, under `/mcp`, until Ctrl-C or SIGTERM; `/health` says whether it runs.
///
/// The address has to be one of this machine alone; [`Http`] serves others, with a token or behind a server of yours
/// that knows who asks.
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

/// The endpoint `/mcp` and `/health`, to be served by axum or merged into an application of yours. [`Http::router`] has
/// more to say.
///
/// What a layer puts into the request's extensions is found by tools under
/// [`ToolContext::extensions`](mcp_core::ToolContext::extensions), and so are the headers (`http::HeaderMap`):
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

/// How a server is to be had over HTTP: who may ask, at which path, and how much at a time.
///
/// Without a word, requests are answered that come to a name of this machine (`localhost`, `127.0.0.1`, `[::1]`), and
/// from pages of it or from no page at all: a page from elsewhere cannot reach it, not even by making its own name lead
/// here, or by loading it as an image: what a browser marks as from another site (`Sec-Fetch-Site`) needs an origin that
/// is allowed. Only `http` and `https` origins count as this machine's; others are allowed by name.
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
/// An answer is JSON, or a stream of events where a tool tells of its progress or its log, a client listens, or it takes
/// nothing but events; the older `list_tools` and `call_tool` then end in an event `result` or `error`.
///
/// Messages of 2026-07-28 stand for themselves, and a client that closes its connection has called its request off.
/// Clients of the older versions get a session at `initialize`, by which they can call requests off and are told of
/// changes; one that does not send it along is served as well. Errors that come from elsewhere are masked, unless the
/// registry or [`call_options`](Self::call_options) says otherwise.
///
/// A client has 60 s to send the head of a request, and 30 s for each part of the body; all of the body has to come within
/// 30 s and a second for each 16 KiB. Lines of a head end in CR LF: one that ends in a bare line feed is refused, where
/// [`serve`](Self::serve) reads it.
///
/// Requests that are rejected for their host, origin, token or session, or for a limit of the server (503), are reported:
/// to the registry's observers ([`Observer::rejected`](crate::Observer::rejected)), among them the
/// [`AuditLog`](crate::AuditLog), and as events of `tracing`. In a flood, eight of each reason are reported by themselves
/// in a second, and the others together. The answer to a wrong token is delayed, for 100 ms at first and up to 2 s when
/// there are many; other answers are not. (The address of the client is known to [`serve`](Self::serve); elsewhere it is
/// taken from a [`SocketAddr`] in the request's extensions.)
///
/// A session belongs to the caller that began it: the [caller](mcp_core::CallOptions::caller) that
/// [`call_options`](Self::call_options) names, together with the token that was sent. For anyone else it does not exist.
/// Where neither is given, as behind [`external_auth`](Self::external_auth) without `call_options`, all requests have the
/// same caller. There are at most 10,000 sessions; beyond that, the caller that has the most loses its least recently
/// used one. A session that was not used for an hour expires.
///
/// (That a client is gone is not seen while bytes of a next request wait behind the one that is answered: such a call runs
/// to its end, or to its deadline.)
#[must_use = "nothing is served before `serve` or `router`"]
pub struct Http {
    server: Server,
    access: Access,
    options: Box<dyn Fn(&Parts) -> CallOptions + Send + Sync>,
    path: String,
    health_path: Option<String>,
    sessions: bool,
    max_in_flight: usize,
    max_streams: usize,
    max_connections: usize,
    external_auth: bool,
    stopping: CancelToken,
}

impl Http {
    /// To be had by programs and pages of this machine.
    pub fn new(server: Server) -> Self {
        Self {
            server,
            access: Access::default(),
            options: Box::new(|_| CallOptions::new()),
            path: "/mcp".to_owned(),
            health_path: Some("/health".to_owned()),
            sessions: true,
            max_in_flight: IN_FLIGHT,
            max_streams: STREAMS,
            max_connections: CONNECTIONS,
            external_auth: false,
            stopping: CancelToken::new(),
        }
    }

    /// Answers only requests with `Authorization: Bearer` and this token, or another that was said before. From then on
    /// the host by which the server is reached does not matter, unless one is allowed by name.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        // A file that it was read from ends in a line break.
        self.access.tokens.push(token.into().trim().to_owned());
        self
    }

    /// Declares that something else authenticates requests: a layer, or a server in front. Without this or a token, an
    /// address that others can reach is not served. Allow the host name of that server with
    /// [`allow_host`](Self::allow_host).
    pub fn external_auth(mut self) -> Self {
        self.external_auth = true;
        self
    }

    /// Answers requests to this host as well, such as `tools.example.com`; with a port, to that port alone.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        let host = host.into();
        // As it stands in the address of a browser.
        let host = host.split_once("://").map_or(&*host, |(_, host)| host);
        self.access.hosts.push(host.trim_end_matches('/').to_owned());
        self
    }

    /// Answers requests to any host. A page from elsewhere that makes its own name lead here is still known by its
    /// origin, where its browser says it.
    pub fn allow_any_host(mut self) -> Self {
        self.access.any_host = true;
        self
    }

    /// Answers pages of this origin as well, such as `https://app.example.com`: browsers let them send requests and read
    /// the answers (CORS). A page of this machine needs this too, such as `http://localhost:5173`.
    ///
    /// Browsers ask first (`OPTIONS`), without a token; a layer that checks who asks has to let these requests through.
    ///
    /// # Panics
    ///
    /// When no browser sends such an origin: `*`, a host without a scheme, a URL with a path, or the default port of the
    /// scheme.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = parse_origin(&origin.into()).unwrap_or_else(|message| panic!("{message}"));
        self.access.origins.push(origin);
        self
    }

    /// The path of the endpoint; `/mcp` otherwise.
    ///
    /// # Panics
    ///
    /// When it does not begin with `/`, or is the path of the probe.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self.check_paths();
        self
    }

    /// Sets the path at which a probe asks whether the server runs (default: `/health`). With `None`, there is none: for a
    /// router that is merged into an application with a probe of its own, or has one outside of a layer that checks who
    /// asks.
    ///
    /// ```
    /// use axum::http::StatusCode;
    ///     /// use mcp_registry::{CancelToken, Http};
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
    /// When it does not begin with `/`, or is the path of the endpoint.
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
            "the path `{path}` says whether the server runs; give the endpoint or the probe another path"
        );
    }

    /// What the calls of a request bring along: the caller, how far it is trusted. Extensions and headers of the request
    /// are there anyway.
    pub fn call_options(mut self, options: impl Fn(&Parts) -> CallOptions + Send + Sync + 'static) -> Self {
        self.options = Box::new(options);
        self
    }

    /// Says whether clients of the versions before 2026-07-28 get a session (default: true).
    ///
    /// A session is known to one server only. Turn sessions off where several servers share the requests of a client, as
    /// behind a load balancer: any of them can then answer any request. For clients of these versions, this means:
    ///
    /// - `notifications/cancelled` has no effect: a call runs to its end or its deadline.
    /// - `logging/setLevel` has no effect: log messages come from the level `info` on.
    /// - A stream that a client opens with GET tells of changes of the list of tools on the server that it is connected to.
    /// - A request without `MCP-Protocol-Version` is answered as one of 2025-03-26, as the protocol has it.
    ///
    /// Progress and log messages of a call are not affected: they come with its answer. Streams cannot be resumed, with or
    /// without sessions.
    pub fn sessions(mut self, yes: bool) -> Self {
        self.sessions = yes;
        self
    }

    /// Sets how many requests may be under way; 4,096 otherwise. Beyond that, clients are told to try again (503).
    pub fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests;
        self
    }

    /// Sets how many clients may listen to changes; 4,096 otherwise.
    pub fn max_streams(mut self, streams: usize) -> Self {
        self.max_streams = streams;
        self
    }

    /// Sets how many connections [`serve`](Self::serve) keeps open (default: 16,384); at most three quarters of the files
    /// that the process may open, so that tools can open some too. Beyond that, those are closed that have waited for a
    /// request the longest, for at least a second, be it half-sent or idle; where there are none, others wait.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Ends the streams of those who listen when the token is cancelled, and closes connections with the next answer: for
    /// a server of yours that is to end, which waits for open streams. [`serve`](Self::serve) ends then too; it cancels the
    /// token itself at a signal.
    pub fn stop_with(mut self, token: CancelToken) -> Self {
        self.stopping = token;
        self
    }

    /// The endpoint alone, as a tower service for any path that it is mounted at.
    pub fn service(self) -> HttpService {
        self.into_service(Routes { endpoint: None, health: None })
    }

    fn into_service(self, routes: Routes) -> HttpService {
        let endpoint = Endpoint {
            rejections: Rejections::new(self.server.clone()),
            server: self.server,
            access: self.access,
            options: self.options,
            sessions: self.sessions.then(Sessions::default),
            max_in_flight: self.max_in_flight,
            max_streams: self.max_streams,
            stopping: self.stopping,
            in_flight: 0.into(),
            streams: 0.into(),
            buffered: 0.into(),
        };
        HttpService::new(endpoint, routes)
    }

    /// The endpoint and the probe, as a router of axum.
    pub fn router(self) -> Router {
        let (path, health) = (self.path.clone(), self.health_path.clone());
        let service = self.into_service(Routes { endpoint: None, health: health.clone() });
        let router = Router::new().route_service(&path, service.clone());
        match health {
            Some(health) => router.route_service(&health, service),
            None => router,
        }
    }

    /// Serves at an address until Ctrl-C or SIGTERM. What is under way then is answered, within its own deadline; clients
    /// that have sent half a request, or do not read, are given a few seconds. At a second signal nothing is waited for.
    ///
    /// An address that others can reach is refused without a token, unless [`external_auth`](Self::external_auth) was said.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), TransportError> {
        let addresses: Vec<SocketAddr> = lookup_host(address).await?.collect();
        let listener = listen::bind(&addresses).map_err(|source| {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            TransportError::Bind { address: addresses.join(" or "), source }
        })?;
        self.serve_on(listener).await
    }

    /// Serves a listener of yours, as [`serve`](Self::serve) does.
    pub async fn serve_on(self, listener: TcpListener) -> Result<(), TransportError> {
        let mut signals = crate::transport::signals::Signals::new()?;
        let signal = async move || std::future::poll_fn(|context| signals.poll(context)).await;
        self.run(listener, signal).await
    }

    /// Serves a listener of yours until the future is over. What is under way then is answered.
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
        // Without timers, every connection would end in a panic.
        TokioRuntime::current().map_err(std::io::Error::other)?;
        let (stopping, most) = (self.stopping.clone(), listen::most(self.max_connections));
        let routes = Routes { endpoint: Some(self.path.clone()), health: self.health_path.clone() };
        serve::serve(self.into_service(routes), listener, most, &stopping, signal).await;
        Ok(())
    }

    /// Whether others can reach it, and nobody asks who they are.
    pub(crate) fn check(&self, listener: &TcpListener) -> Result<(), TransportError> {
        let is_sound = |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !self.access.tokens.iter().all(is_sound) {
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
