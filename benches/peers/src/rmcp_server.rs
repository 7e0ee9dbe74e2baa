//! The tools with rmcp: its router kept in a field, which is its fastest form, and as its README shows it.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{ClientJsonRpcMessage, JsonObject, JsonRpcRequest, ServerJsonRpcMessage};
use rmcp::service::{RequestContext, RoleServer, RunningService, Service as _};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex, split};

use crate::cases::{self, Tree, with_parameters};
use crate::{Exchange, listen, server_runtime};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Measure {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Repeat {
    count: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Deep {
    tree: Tree,
}

macro_rules! parameters {
    ($($struct:ident $name:ident $tool:literal: $($parameter:ident)*;)*) => {
        $(#[derive(Deserialize, JsonSchema)]
        struct $struct { $($parameter: i64),* })*
    };
}
with_parameters!(parameters);

/// The same answer as everyone else's: structured content, and a text.
#[derive(Serialize, JsonSchema)]
struct Answer<T> {
    result: T,
}

fn structured<T>(result: T) -> Json<Answer<T>> {
    Json(Answer { result })
}

#[allow(clippy::needless_pass_by_value, reason = "it is called as `structured` is")]
fn text(result: impl ToString) -> String {
    result.to_string()
}

macro_rules! tools {
    ($server:ident ($number:ty, $text:ty, $answer:expr)
        $($struct:ident $name:ident $tool:literal: $($parameter:ident)*;)*) => {
        #[tool_router(router = called_tools)]
        impl $server {
            #[tool(name = "calc_add", description = "Adds two numbers.")]
            fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> $number {
                $answer(a + b)
            }

            #[tool(name = "calc_measure", description = "Returns the length of a text.")]
            fn measure(&self, Parameters(Measure { text }): Parameters<Measure>) -> $number {
                $answer(i64::try_from(text.len()).unwrap_or(i64::MAX))
            }

            #[tool(name = "calc_repeat", description = "Returns a text of a length.")]
            fn repeat(&self, Parameters(Repeat { count }): Parameters<Repeat>) -> $text {
                $answer("x".repeat(count))
            }

            #[tool(name = "calc_deep", description = "Adds the values of a tree.")]
            fn deep(&self, Parameters(Deep { tree }): Parameters<Deep>) -> $number {
                $answer(tree.sum())
            }

            $(#[tool(name = $tool, description = "Adds its parameters.")]
            fn $name(&self, Parameters($struct { $($parameter),* }): Parameters<$struct>) -> $number {
                $answer(0 $(+ $parameter)*)
            })*
        }

        impl $server {
            /// What `#[tool_router]` generates for this many tools.
            fn tool_router() -> ToolRouter<Self> {
                let mut router = Self::called_tools();
                for filler in FILLERS.get().into_iter().flatten() {
                    let mut attributes = Self::add_tool_attr();
                    attributes.name = Cow::Borrowed(filler.name);
                    attributes.input_schema = Arc::clone(&filler.input);
                    if let Some(schema) = &mut attributes.output_schema {
                        *schema = Arc::clone(&filler.output);
                    }
                    router.add_route(ToolRoute::new(attributes, Self::add));
                }
                router
            }
        }
    };
}

/// A tool that nobody calls.
struct Filler {
    name: &'static str,
    input: Arc<JsonObject>,
    output: Arc<JsonObject>,
}

static FILLERS: OnceLock<Vec<Filler>> = OnceLock::new();

/// How many tools are called.
const CALLED: usize = 8;

fn add_fillers(tools: usize) {
    let filler = |(_, name)| Filler { name, input: schema::<Add>(), output: schema::<Answer<i64>>() };
    FILLERS.get_or_init(|| cases::filler_names(CALLED, tools).map(filler).collect());
}

/// What rmcp generates once for each type: its copies of one tool would share a schema, other tools do not.
fn schema<T: JsonSchema>() -> Arc<JsonObject> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.remove("title");
    Arc::new(object)
}

/// The router is created once and shared.
#[derive(Clone)]
pub(crate) struct Field {
    router: Arc<ToolRouter<Self>>,
}

with_parameters!(tools Field (Json<Answer<i64>>, Json<Answer<String>>, structured));

#[tool_handler(router = self.router)]
impl ServerHandler for Field {}

impl Field {
    pub(crate) fn new(tools: usize) -> Self {
        add_fillers(tools);
        Self { router: Arc::new(Self::tool_router()) }
    }
}

/// The router is created for each request, and tools return text.
#[derive(Clone)]
pub(crate) struct Readme;

with_parameters!(tools Readme (String, String, text));

#[tool_handler]
impl ServerHandler for Readme {}

impl Readme {
    pub(crate) fn new(tools: usize) -> Self {
        add_fillers(tools);
        Self
    }
}

/// Over pipes that do not block, which is its fastest form, or over what its README shows.
pub(crate) fn serve_stdio(server: impl ServerHandler, pipes: bool) -> io::Result<()> {
    server_runtime()?.block_on(async {
        let started = if pipes {
            server.serve(rmcp::transport::stdio_pipes()).await
        } else {
            server.serve(rmcp::transport::stdio()).await
        };
        let running = started.map_err(io::Error::other)?;
        running.waiting().await.map(drop).map_err(io::Error::other)
    })
}

/// Answers in JSON and without sessions, which is its fastest form.
pub(crate) fn serve_http(server: impl ServerHandler + Clone) -> io::Result<()> {
    server_runtime()?.block_on(async {
        let mut config = StreamableHttpServerConfig::default();
        (config.json_response, config.legacy_session_mode) = (true, false);
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
        axum::serve(listen().await?, axum::Router::new().nest_service("/mcp", service)).await
    })
}

/// What rmcp does between reading a message and writing its answer, without its tasks and channels: it has no function of
/// its own from bytes to bytes.
pub(crate) struct InProcess<S: ServerHandler> {
    server: S,
    running: RunningService<RoleServer, S>,
    _client: DuplexStream,
}

/// Starts a server on a stream in memory, because its handlers need a connection.
pub(crate) async fn connect<S: ServerHandler + Clone>(server: S) -> io::Result<InProcess<S>> {
    let (mut client, stream) = duplex(64 << 10);
    client.write_all(format!("{}\n{}\n", cases::INITIALIZE, cases::INITIALIZED).as_bytes()).await?;
    let running = server.clone().serve(split(stream)).await.map_err(io::Error::other)?;
    Ok(InProcess { server, running, _client: client })
}

impl<S: ServerHandler> Exchange for InProcess<S> {
    async fn exchange(&mut self, message: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let ClientJsonRpcMessage::Request(JsonRpcRequest { id, request, .. }) = serde_json::from_slice(message)? else {
            return Err(io::Error::other("not a request"));
        };
        let context = RequestContext::new(id.clone(), self.running.peer().clone());
        let answer = match self.server.handle_request(request, context).await {
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
        };
        Ok(serde_json::to_writer(out, &answer)?)
    }
}
