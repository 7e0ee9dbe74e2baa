//! A gate, limits, a cache, an audit log and metrics around calls. `cargo run -p mcp-examples --example guarded`

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::serde_json::json;
use mcp_registry::{
    AuditLog, CallOptions, Error, RateLimit, Registry, ToolCall, ToolContext, ToolResult, TrustLevel, mcp_tool,
};

/// Looks a word up, which takes a while.
#[mcp_tool(module = "words", read_only, timeout = "2s")]
fn look_up(#[ctx] cx: &ToolContext, word: &str) -> String {
    cx.progress(0, 1, "looking");
    std::thread::sleep(Duration::from_millis(20));
    cx.progress(1, 1, "found");
    format!("{word}: a word of {} letters", word.chars().count())
}

/// Forgets every word.
#[mcp_tool(module = "words", destructive)]
fn forget_all() -> &'static str {
    "all gone"
}

/// Divides, and does not look.
#[mcp_tool(module = "words", inline)]
fn divide(a: u32, b: u32) -> u32 {
    a / b
}

/// Lets only known callers in; what they may do depends on their trust level.
struct Known;

impl Gate for Known {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        match call.cx.caller() {
            Some(_) => Decision::Allow,
            None => Decision::deny("who calls? say so with `CallOptions::caller`"),
        }
    }
}

/// Caches the results of read-only tools, for each caller separately: a tool may return something else to another one.
#[derive(Default)]
struct Cache(Mutex<HashMap<(Option<String>, String), ToolResult>>);

impl Layer for Cache {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        if next.tool().hints().read_only != Some(true) {
            return next.run(call, cx).await;
        }
        let key = (cx.caller().map(ToOwned::to_owned), call.to_json());
        let known = self.0.lock().expect("nobody panics with it").get(&key).cloned();
        if let Some(known) = known {
            return Ok(known.meta("cached", true));
        }
        let result = next.run(call, cx).await?;
        self.0.lock().expect("nobody panics with it").insert(key, result.clone());
        Ok(result)
    }
}

fn main() -> mcp_registry::Result<()> {
    let audit = AuditLog::jsonl(std::io::stderr());
    let registry = Registry::builder()
        .gate(Known)
        .rate_limit_tool("words.look_up", RateLimit::per_second(10))
        .observer(audit.clone())
        .layer(Cache::default())
        .build()?;
    let ada = CallOptions::new().caller("ada").on_event(|event| println!("  {event:?}"));
    let bob = CallOptions::new().caller("bob");
    let trusted = CallOptions::new().caller("root").trust(TrustLevel::Trusted);
    let nobody = CallOptions::new();
    for (options, name, arguments) in [
        (&ada, "words.look_up", json!({ "word": "linker" })),
        (&ada, "words.look_up", json!({ "word": "linker" })),
        (&bob, "words.look_up", json!({ "word": "linker" })),
        (&ada, "words.look_up", json!({ "wrod": "linker" })),
        (&ada, "words.divide", json!({ "a": 1, "b": 0 })),
        (&ada, "words.forget_all", json!({})),
        (&trusted, "words.forget_all", json!({})),
        (&nobody, "words.look_up", json!({ "word": "linker" })),
    ] {
        println!("{name} {arguments}");
        let call = ToolCall::new(name, arguments);
        let mut out = Vec::new();
        // From bytes to bytes, as a server does it; without an async runtime.
        match registry.call_bytes_blocking(name, call.arguments.to_string().as_bytes(), options, &mut out) {
            Ok(()) => println!("  {}", String::from_utf8_lossy(&out)),
            Err(error) => println!("  {error}"),
        }
    }
    audit.flush();
    println!(
        "{}",
        registry
            .metrics()
            .to_prometheus()
            .lines()
            .filter(|line| line.contains("_total{"))
            .collect::<Vec<_>>()
            .join("\n")
    );
    Ok(())
}
