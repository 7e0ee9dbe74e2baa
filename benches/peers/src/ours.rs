//! The tools as functions with `#[mcp_tool]`: `inline`, `async` and plain.

use std::io;

use mcp_registry::entry::ToolEntry;
use mcp_registry::error::Origin;
use mcp_registry::protocol::Peer;
use mcp_registry::{Http, Registry, Server};

use crate::cases::with_parameters;
use crate::{Exchange, cases, listen, server_runtime};

/// A function behind the attributes and the `async` of its kind.
macro_rules! tool {
    ([$($head:tt)*] $doc:literal $($function:tt)*) => {
        #[doc = $doc]
        $($head)* $($function)*
    };
}

macro_rules! tools_of_kind {
    ($kind:ident $head:tt $($struct:ident $name:ident $tool:literal: $($parameter:ident)*;)*) => {
        mod $kind {
            use mcp_registry::entry::ToolEntry;
            use mcp_registry::{mcp_tool, tools};

            use crate::cases::Tree;

            tool!($head "Adds two numbers." fn add(a: i64, b: i64) -> i64 { a + b });
            tool!($head "Returns the length of a text." fn measure(text: String) -> usize { text.len() });
            tool!($head "Returns a text of a length." fn repeat(count: usize) -> String { "x".repeat(count) });
            tool!($head "Adds the values of a tree." fn deep(tree: Tree) -> i64 { tree.sum() });
            $(tool!($head "Adds its parameters." fn $name($($parameter: i64),*) -> i64 { 0 $(+ $parameter)* });)*

            pub(super) fn entries() -> Vec<&'static ToolEntry> {
                tools![add, measure, repeat, deep, $($name),*].to_vec()
            }
        }
    };
}

with_parameters!(tools_of_kind inline [#[mcp_tool(module = "calc", inline)]]);
with_parameters!(tools_of_kind future [#[mcp_tool(module = "calc")] #[allow(clippy::unused_async)] async]);
with_parameters!(tools_of_kind plain [#[mcp_tool(module = "calc")]]);

/// A server with this many tools of a kind; those that nobody calls are copies of the first one with other names.
fn server(kind: &str, tools: usize) -> io::Result<Server> {
    let mut entries = match kind {
        "inline" => inline::entries(),
        "async" => future::entries(),
        "plain" => plain::entries(),
        _ => return Err(io::Error::other(format!("unknown kind `{kind}`"))),
    };
    let add = entries[0];
    entries.extend(cases::filler_names(entries.len(), tools).map(|(name, _)| -> &'static ToolEntry {
        let origin = Origin::new("peers", "0.1.0", "peers", name, file!(), line!());
        let entry = ToolEntry::new(name, origin, add.call).params(add.params).description(add.description);
        Box::leak(Box::new(entry.inline(add.inline).output(add.output)))
    }));
    let registry = Registry::builder_of(entries).build().map_err(io::Error::other)?;
    Ok(Server::new(registry).page_size(usize::MAX))
}

pub(crate) fn serve_stdio(kind: &str, tools: usize) -> io::Result<()> {
    server_runtime()?.block_on(mcp_registry::serve_stdio(server(kind, tools)?)).map_err(io::Error::other)
}

pub(crate) fn serve_http(kind: &str, tools: usize) -> io::Result<()> {
    server_runtime()?
        .block_on(async { Http::new(server(kind, tools)?).serve_on(listen().await?).await.map_err(io::Error::other) })
}

pub(crate) struct InProcess {
    server: Server,
    peer: Peer,
}

impl InProcess {
    pub(crate) fn new(kind: &str, tools: usize) -> io::Result<Self> {
        Ok(Self { server: server(kind, tools)?, peer: Peer::new() })
    }
}

impl Exchange for InProcess {
    async fn exchange(&mut self, message: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        if let Some(pending) = self.server.begin(message, &self.peer, out) {
            *out = pending.await.ok_or_else(|| io::Error::other("the message has no answer"))?;
        }
        Ok(())
    }
}
