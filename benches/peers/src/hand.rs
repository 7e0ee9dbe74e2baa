//! The same without a library: serde, a `match`, and a list of tools that is a string.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cases::{self, Tree, with_parameters};
use crate::{Exchange, listen, server_runtime};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measure<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    count: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deep {
    tree: Tree,
}

impl Tree {
    fn is_valid(&self) -> bool {
        (0..=1000).contains(&self.value)
            && (1..=20).contains(&self.label.chars().count())
            && self.children.iter().all(Self::is_valid)
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    jsonrpc: &'a str,
    id: Option<u64>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Response<T> {
    jsonrpc: &'static str,
    id: u64,
    result: T,
}

#[derive(Serialize)]
struct Failure {
    jsonrpc: &'static str,
    id: u64,
    error: Error,
}

#[derive(Serialize)]
struct Error {
    code: i32,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<T> {
    content: [Text; 1],
    structured_content: Structured<T>,
    is_error: bool,
}

#[derive(Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Structured<T> {
    result: T,
}

fn respond<T: Serialize + ToString>(id: u64, result: T, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let content = [Text { r#type: "text", text: result.to_string() }];
    let result = CallResult { content, structured_content: Structured { result }, is_error: false };
    serde_json::to_writer(out, &Response { jsonrpc: "2.0", id, result })
}

macro_rules! call {
    ($($struct:ident $name:ident $tool:literal: $($parameter:ident)*;)*) => {
        $(#[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $struct { $($parameter: i64),* })*

        fn call(id: u64, name: &str, arguments: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
            match name {
                "calc_add" => {
                    let Add { a, b } = serde_json::from_str(arguments)?;
                    respond(id, a + b, out)
                }
                "calc_measure" => {
                    let Measure { text } = serde_json::from_str(arguments)?;
                    respond(id, text.len(), out)
                }
                "calc_repeat" => {
                    let Repeat { count } = serde_json::from_str(arguments)?;
                    respond(id, "x".repeat(count), out)
                }
                "calc_deep" => {
                    let Deep { tree } = serde_json::from_str(arguments)?;
                    if !tree.is_valid() {
                        return Err(serde::de::Error::custom("invalid tree"));
                    }
                    respond(id, tree.sum(), out)
                }
                $($tool => {
                    let $struct { $($parameter),* } = serde_json::from_str(arguments)?;
                    respond(id, 0 $(+ $parameter)*, out)
                })*
                _ => Err(serde::de::Error::custom("no such tool")),
            }
        }
    };
}
with_parameters!(call);

/// The tools as text, which is created once.
#[derive(Clone)]
pub(crate) struct Server {
    tools: Arc<str>,
}

impl Server {
    pub(crate) fn new(tools: usize) -> Self {
        const SCHEMAS: &str = r#""inputSchema":{"type":"object","properties":{"a":{"type":"integer","format":"int64"},"b":{"type":"integer","format":"int64"}},"required":["a","b"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"result":{"type":"integer","format":"int64"}},"required":["result"]}"#;
        let mut text = String::from(r#"{"tools":["#);
        for (_, name) in [("calc.add", "calc_add")].into_iter().chain(cases::filler_names(1, tools)) {
            let comma = if text.ends_with('[') { "" } else { "," };
            let _ = write!(text, r#"{comma}{{"name":"{name}","description":"Adds two numbers.",{SCHEMAS}}}"#);
        }
        text.push_str("]}");
        Self { tools: text.into() }
    }

    fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let Request { jsonrpc, id, method, params } = serde_json::from_slice(message)?;
        let Some(id) = id else { return Ok(()) };
        let answered = match (jsonrpc, method, params) {
            ("2.0", "tools/call", Some(Params { name: Some(name), arguments: Some(arguments) })) => {
                call(id, name, arguments.get(), out)
            }
            ("2.0", "tools/list", _) => {
                return write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, self.tools);
            }
            ("2.0", "initialize", _) => {
                return write!(
                    out,
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"hand","version":"1.0.0"}}}}}}"#
                );
            }
            _ => Err(serde::de::Error::custom("no such method")),
        };
        if let Err(error) = answered {
            let error = Error { code: -32602, message: error.to_string() };
            serde_json::to_writer(out, &Failure { jsonrpc: "2.0", id, error })?;
        }
        Ok(())
    }

    /// Reads as much as there is, answers all of it, writes once.
    pub(crate) fn serve_stdio(&self) -> io::Result<()> {
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        let (mut buffer, mut kept, mut out) = (vec![0; 64 * 1024], 0, Vec::new());
        loop {
            let bytes = input.read(&mut buffer[kept..])?;
            if bytes == 0 {
                return Ok(());
            }
            let mut rest = &buffer[..kept + bytes];
            loop {
                let line = rest;
                let length = rest.skip_until(b'\n')?;
                if length == 0 || line[length - 1] != b'\n' {
                    let start = kept + bytes - line.len();
                    kept = line.len();
                    buffer.copy_within(start..start + kept, 0);
                    break;
                }
                let before = out.len();
                self.answer(&line[..length - 1], &mut out)?;
                if out.len() > before {
                    out.push(b'\n');
                }
            }
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }

    /// A bare handler of axum.
    pub(crate) fn serve_http(self) -> io::Result<()> {
        server_runtime()?.block_on(async {
            let handler = |body: Bytes| async move {
                let mut out = Vec::with_capacity(256);
                match self.answer(&body, &mut out) {
                    Ok(()) => Ok(([(CONTENT_TYPE, "application/json")], out)),
                    Err(error) => Err(error.to_string()),
                }
            };
            axum::serve(listen().await?, axum::Router::new().route("/mcp", post(handler))).await
        })
    }
}

impl Exchange for Server {
    async fn exchange(&mut self, message: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.answer(message, out)
    }
}
