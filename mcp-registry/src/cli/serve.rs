//! The command `serve`: runs an MCP server, over stdin and stdout or over HTTP.

#[cfg(feature = "http")]
use std::env::VarError;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use mcp_core::TrustLevel;
#[cfg(feature = "http")]
use mcp_core::error::TransportError;

#[cfg(feature = "http")]
use super::args::HttpArguments;
use super::output::{Failure, print_note};
use super::{Cli, run_async};
use crate::protocol::Server;
#[cfg(feature = "http")]
use crate::transport::http::Http;
#[cfg(feature = "http")]
use crate::transport::signals::Signals;
use crate::transport::stdio::serve_stdio;

impl Cli<'_> {
    pub(super) fn serve_stdio(
        self,
        trust: Option<TrustLevel>,
        drain_timeout: Option<Duration>,
    ) -> Result<ExitCode, Failure> {
        run_async(async {
            let mut server = self.server(trust).await?;
            if let Some(timeout) = drain_timeout {
                server = server.drain_timeout(timeout);
            }
            if io::stdin().is_terminal() {
                print_note("serving over stdin and stdout, one JSON-RPC message per line, until stdin ends");
            }
            serve_stdio(server).await.map_err(Failure::failed)
        })?;
        Ok(ExitCode::SUCCESS)
    }

    #[cfg(feature = "http")]
    pub(super) fn serve_http(self, trust: Option<TrustLevel>, arguments: HttpArguments) -> Result<ExitCode, Failure> {
        let HttpArguments { address, token, external_auth, allow_host, allow_origin, no_sessions } = arguments;
        let address = address.unwrap_or_default();
        let is_port = address.parse::<u16>().is_ok();
        let address = if is_port { format!("127.0.0.1:{address}") } else { address };
        run_async(async {
            let mut http = Http::new(self.server(trust).await?);
            let token = match (token, std::env::var("MCP_TOKEN")) {
                (Some(token), _) | (None, Ok(token)) => Some(token),
                (None, Err(VarError::NotPresent)) => None,
                (None, Err(VarError::NotUnicode(_))) => {
                    return Err(Failure::failed("`MCP_TOKEN` is not valid UTF-8; set another token"));
                }
            };
            if let Some(token) = token {
                http = http.token(token);
            }
            if external_auth {
                http = http.external_auth();
            }
            http = http.sessions(!no_sessions);
            http = allow_host.into_iter().fold(http, Http::allow_host);
            http = allow_origin.into_iter().fold(http, Http::allow_origin);
            let bind_error = |source| Failure::failed(TransportError::Bind { address: address.clone(), source });
            let listener = tokio::net::TcpListener::bind(&address).await.map_err(bind_error)?;
            http.check(&listener).map_err(|error| match error {
                TransportError::Open { address } => Failure::failed(format!(
                    "{address} can be reached by others; set `MCP_TOKEN`, add `--token` or `--external-auth`, or serve \
                     at 127.0.0.1"
                )),
                other => Failure::failed(other),
            })?;
            // Who reads the note may send a signal at once.
            let signals = Signals::new().map_err(Failure::failed)?;
            print_note(&format!("serving http://{}/mcp until Ctrl-C", listener.local_addr().map_err(bind_error)?));
            http.serve_until_signal(listener, signals).await.map_err(Failure::failed)
        })?;
        Ok(ExitCode::SUCCESS)
    }

    async fn server(mut self, trust: Option<TrustLevel>) -> Result<Server, Failure> {
        let (info, instructions) = (self.info.take(), self.instructions.take());
        let mut server = Server::new(self.registry(trust).await?);
        if let Some((name, version)) = info {
            server = server.info(name, version);
        }
        if let Some(text) = instructions {
            server = server.instructions(text);
        }
        Ok(server)
    }
}
