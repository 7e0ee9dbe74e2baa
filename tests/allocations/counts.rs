//! How often the framework allocates.

use std::sync::PoisonError;

use axum::body::Body;
use axum::extract::Request;
use mcp_registry::registry::OutputCheck;
use mcp_registry::{CallOptions, Http, Registry, Server, Tool, mcp_tool};
use serde_json::json;
use stats_alloc::Region;
use tower_service::Service as _;

use super::{ALLOCATOR, COUNTING};

/// The lowest of five counts, because the test runner allocates now and then, too.
fn of_five(count: impl FnMut() -> usize) -> usize {
    std::iter::repeat_with(count).take(5).min().unwrap()
}

/// Adds two numbers.
#[mcp_tool(module = "counted", inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Scales a number.
#[mcp_tool(module = "counted", inline)]
fn scale(#[arg(min = 0, max = 100)] x: f64, #[arg(default = 2)] by: u32, exactly: Option<bool>) -> f64 {
    if exactly == Some(true) { x } else { x * f64::from(by) }
}

#[test]
fn an_inline_tool_with_numbers_allocates_nothing_but_its_output() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = Registry::builder().check_output(OutputCheck::Never).build().unwrap();
    let options = CallOptions::new();
    let mut out = Vec::with_capacity(1024);
    let calls: [(&str, &[u8], &[u8]); 4] = [
        ("counted.add", br#"{"a": 20, "b": 22}"#, b"42"),
        ("counted_add", br#"{"b":-1,"a":1}"#, b"0"),
        ("counted.scale", br#"{"x": 1.5}"#, b"3.0"),
        ("counted.scale", br#"{"x": 2, "by": 7, "exactly": true}"#, b"2.0"),
    ];
    for (name, arguments, result) in calls {
        let mut call = || {
            out.clear();
            registry.call_bytes_blocking(name, arguments, &options, &mut out).unwrap();
            let expected =
                [br#"{"status":"success","data":{"result":"#, result, br#"},"error":null,"explanation":null}"#];
            assert_eq!(out, expected.concat());
        };
        // The first call creates what each tool needs once; the comparison costs one allocation.
        call();
        let allocations = of_five(|| {
            let region = Region::new(ALLOCATOR);
            call();
            region.change().allocations
        });
        assert_eq!(allocations, 1, "{name} {}", String::from_utf8_lossy(arguments));
    }
}

/// Panics when it is dropped.
struct Clumsy(bool);

impl Drop for Clumsy {
    fn drop(&mut self) {
        if std::mem::take(&mut self.0) {
            std::panic::resume_unwind(Box::new(format!("dropped {}", 7)));
        }
    }
}

/// Panics in one of several ways.
#[mcp_tool(module = "counted", inline)]
fn panics(how: u8) {
    match how {
        0 => std::panic::resume_unwind(Box::new("a text")),
        1 => std::panic::resume_unwind(Box::new("a text".repeat(usize::from(how)))),
        2 => std::panic::resume_unwind(Box::new([7_u64; 16])),
        _ => std::panic::resume_unwind(Box::new((Clumsy(true), vec![7_u64; 16]))),
    }
}

#[test]
fn a_call_that_panics_leaks_no_memory() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = Registry::builder().build().unwrap();
    for how in 0..4 {
        let call = || {
            let mut out = Vec::new();
            let arguments = format!(r#"{{"how": {how}}}"#);
            registry.call_bytes_blocking("counted.panics", arguments.as_bytes(), &CallOptions::new(), &mut out)
        };
        for _ in 0..10 {
            call().unwrap_err();
        }
        let kept = of_five(|| {
            let region = Region::new(ALLOCATOR);
            for _ in 0..100 {
                call().unwrap_err();
            }
            let change = region.change();
            change.bytes_allocated.abs_diff(change.bytes_deallocated)
        });
        assert_eq!(kept, 0, "panic {how}");
    }
}

#[test]
fn list_changes_use_no_memory_for_listeners_that_do_not_read() {
    const LISTENERS: usize = 256;
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let registry = Registry::builder().check_output(OutputCheck::Never).build().unwrap();
        let change = |times: usize| {
            for _ in 0..times {
                let tool = Tool::new("counted.new", json!({ "type": "object", "properties": {} }), |_, _| async {});
                registry.register(tool.description("Is new.")).unwrap();
                assert!(registry.unregister("counted.new"));
            }
        };
        let mut service = Http::new(Server::new(registry.clone())).service();
        let mut streams = Vec::new();
        for _ in 0..LISTENERS {
            let request = Request::get("/mcp").header("Host", "localhost").header("Accept", "text/event-stream");
            let response = service.call(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(response.status(), 200);
            streams.push(response.into_body());
        }
        change(10);
        let region = Region::new(ALLOCATOR);
        change(1000);
        let change = region.change();
        let kept = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
        assert!(kept < LISTENERS * 1024, "{kept} bytes for {LISTENERS} listeners");
    });
}
