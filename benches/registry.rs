//! Ten thousand tools: build and index, list, look up. One call, and messages from bytes to bytes.
//!
//! `cargo bench -p mcp-benches --bench registry`

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use mcp_registry::entry::ToolEntry;
use mcp_registry::error::Origin;
use mcp_registry::protocol::Peer;
use mcp_registry::serde_json::json;
use mcp_registry::{Catalog, Registry, Server, Tool, ToolCall, mcp_tool};

/// Adds two numbers.
#[mcp_tool(module = "calc", inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds what fits.
#[mcp_tool(module = "calc", inline)]
fn bounded(
    #[arg(min = 1, max = 9)] a: i64,
    #[arg(default = 5, max = 9)] b: i64,
    #[arg(min_length = 1)] note: &str,
) -> i64 {
    let _ = note;
    a + b
}

/// Entries as the attribute generates them, with other names.
fn entries(count: usize) -> Vec<&'static ToolEntry> {
    let [add] = mcp_registry::tools![add];
    entries_like(add, count)
}

fn entries_like(add: &'static ToolEntry, count: usize) -> Vec<&'static ToolEntry> {
    let entry = |n: usize| -> &'static ToolEntry {
        let name: &'static str = Box::leak(format!("module_{}.tool_number_{n}", n % 100).into_boxed_str());
        let origin = Origin::new("bench", "1.0.0", "bench", name, file!(), line!());
        Box::leak(Box::new(
            ToolEntry::new(name, origin, add.call).params(add.params).inline(true).description("Adds two numbers."),
        ))
    };
    (0..count).map(entry).collect()
}

fn registry(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build and index");
    for count in [10, 100, 1_000, 10_000] {
        let entries = entries(count);
        group.bench_with_input(BenchmarkId::from_parameter(count), &entries, |b, entries| {
            b.iter_batched(
                || entries.clone(),
                |entries| Catalog::from_entries(entries).expect("no conflicts").len(),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();

    let [bounded] = mcp_registry::tools![bounded];
    let constrained = entries_like(bounded, 10_000);
    criterion.bench_function("build and index 10000 with constraints and an expectation", |b| {
        b.iter_batched(
            || constrained.clone(),
            |entries| {
                let builder = Registry::builder_of(entries).expect_tools([("bench", 10_000)]);
                builder.build().expect("no conflicts").list_registered_tools().len()
            },
            BatchSize::LargeInput,
        );
    });

    for count in [10, 1_000, 10_000] {
        let registry = Registry::builder_of(entries(count)).build().expect("no conflicts");
        criterion.bench_function(&format!("list {count}"), |b| b.iter(|| registry.list_registered_tools().len()));
        let name = black_box("module_7.tool_number_7");
        criterion.bench_function(&format!("look up in {count}"), |b| b.iter(|| registry.get(name).is_ok()));
        criterion.bench_function(&format!("schema in {count}"), |b| b.iter(|| registry.get_tool_schema(name).is_ok()));
        criterion.bench_function(&format!("register beside {count}"), |b| {
            let tool = Tool::new("made.tool", json!({ "type": "object" }), |_, _| async {});
            b.iter_batched(
                || registry.subset(|_| true),
                |registry| registry.register(tool.clone()).is_ok(),
                BatchSize::LargeInput,
            );
        });
        let server = Server::new(registry.clone());
        let (peer, mut out) = (Peer::new(), Vec::new());
        let message = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        criterion.bench_function(&format!("tools/list of {count}, bytes to bytes"), |b| {
            b.iter(|| {
                out.clear();
                assert!(server.begin(message, &peer, &mut out).is_none());
                out.len()
            });
        });
        let message =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME","arguments":{"a":1,"b":2}}}"#;
        let message = message.replace("NAME", name);
        criterion.bench_function(&format!("tools/call in {count}, bytes to bytes"), |b| {
            b.iter(|| {
                out.clear();
                assert!(server.begin(message.as_bytes(), &peer, &mut out).is_none());
                out.len()
            });
        });
        let call = ToolCall::new(name, json!({ "a": 1, "b": 2 }));
        criterion
            .bench_function(&format!("call in {count}"), |b| b.iter(|| registry.call_blocking(&call).is_failure()));
    }
}

criterion_group!(benches, registry);
criterion_main!(benches);
