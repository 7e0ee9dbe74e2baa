//! Streams that the client does not read.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use mcp_registry::http::{HttpBody, HttpService};
use mcp_registry::{Http, Registry, Server};
use serde_json::{Value, json};
use tower_service::Service as _;

use super::served::{Log, builder, new_tool};
use super::wire::{Ask, call_told, modern};

fn registry() -> Registry {
    builder(&Log::new()).build().unwrap()
}

/// The stream that answers a request.
async fn stream(service: &mut HttpService, ask: &Ask) -> HttpBody {
    let mut words = ask.line.split(' ');
    let mut request = Request::builder().method(words.next().unwrap()).uri(words.next().unwrap());
    for (name, value) in &ask.headers {
        request = request.header(name, value.as_slice());
    }
    let request = request.body(Body::from(ask.body.clone())).unwrap();
    service.call(request).await.unwrap().into_body()
}

/// What the stream sends now.
async fn sent(body: &mut HttpBody) -> String {
    let mut text = Vec::new();
    poll_fn(|context| {
        while let Poll::Ready(Some(frame)) = Pin::new(&mut *body).poll_frame(context) {
            text.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
        Poll::Ready(())
    })
    .await;
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_client_that_does_not_read_is_notified_once_that_the_list_changed() {
    let registry = registry();
    let mut service = Http::new(Server::new(registry.clone())).service();
    let listen = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let get = Ask::new("GET").with("Accept", "text/event-stream");
    let mut bodies = [stream(&mut service, &listen).await, stream(&mut service, &get).await];
    for body in &mut bodies {
        sent(body).await;
    }
    for _ in 0..3 {
        for _ in 0..1000 {
            registry.register(new_tool("t.new")).unwrap();
            assert!(registry.unregister("t.new"));
        }
        for body in &mut bodies {
            assert_eq!(sent(body).await.matches("notifications/tools/list_changed").count(), 1);
        }
    }
}

#[tokio::test]
async fn unread_progress_is_bounded_and_the_answer_arrives() {
    let mut service = Http::new(Server::new(registry())).service();
    let mut body = stream(&mut service, &call_told("2026-07-28", "t_steps", json!({ "count": 40_000 }))).await;
    let text = sent(&mut body).await;
    assert!(text.len() < 80 * 1024, "{} bytes", text.len());
    let last = text.trim_end().rsplit("data: ").next().unwrap();
    let answer: Value = serde_json::from_str(last).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["result"], 40_000);
}
