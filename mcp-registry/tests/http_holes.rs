//! What could be done to a server over HTTP that nobody expects.
#![cfg(feature = "http")]

use mcp_registry::{CancelToken, Http, Registry, Server};

#[tokio::test]
async fn a_server_ends_with_its_token() {
    let token = CancelToken::new();
    let http = Http::new(Server::new(Registry::builder().allow_empty().build().unwrap())).stop_with(token.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    token.cancel();
    let ended = http.serve_until(listener, std::future::pending());
    tokio::time::timeout(std::time::Duration::from_secs(5), ended).await.unwrap().unwrap();
}
