//! Arguments that take long to read or check: the deadline holds, and other calls are not delayed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::{CallOptions, Error, Registry, Tool, ToolCall, ToolContext, ToolResult, mcp_tool, tools};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::{block_on, build, failure, with_tools};

/// For each variant, serde reads everything nested in it again, at every level. The schema tells the variants apart by the
/// members that they require.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Node {
    Left { next: Box<Node>, left: bool },
    Right { next: Box<Node>, right: bool },
    Leaf(bool),
}

#[derive(Deserialize, JsonSchema)]
enum OnlyA {
    A,
}

#[derive(Deserialize, JsonSchema)]
enum OnlyB {
    B,
}

/// What looks like a tag is one to the schema, and an ordinary member to serde.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Marked {
    A { next: Box<Marked>, kind: OnlyA },
    B { next: Box<Marked>, kind: OnlyB },
    Leaf(bool),
}

/// Takes a tree whose variants have marks.
#[mcp_tool(module = "heavy", inline)]
fn marked(node: Marked) -> bool {
    matches!(node, Marked::Leaf(true))
}

/// Read by its tag, in linear time.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Tagged {
    A { next: Box<Tagged> },
    B { next: Box<Tagged> },
    Leaf,
}

/// Takes a tree whose variants have a tag, beside what only the schema restricts.
#[mcp_tool(module = "heavy", inline)]
fn tagged(#[arg(pattern = "^a$")] name: String, node: Tagged) -> bool {
    name == "a" && matches!(node, Tagged::A { .. })
}

/// Takes a tree.
#[mcp_tool(module = "heavy")]
async fn tree_async(node: Node) -> bool {
    matches!(node, Node::Leaf(true))
}

/// Takes a tree, on the pool.
#[mcp_tool(module = "heavy")]
fn tree(node: Node) -> bool {
    matches!(node, Node::Leaf(true))
}

/// Takes a tree, where it is called.
#[mcp_tool(module = "heavy", inline)]
fn tree_inline(node: Node) -> bool {
    matches!(node, Node::Leaf(true))
}

/// Says something.
#[mcp_tool(module = "heavy", inline)]
fn quick() -> &'static str {
    "quick"
}

/// Takes words, where it is called.
#[mcp_tool(module = "heavy", inline)]
fn words_inline(#[arg(pattern = "^[a-z ]*$")] words: String) -> usize {
    words.len()
}

/// Takes words, on the pool.
#[mcp_tool(module = "heavy")]
fn words(#[arg(pattern = "^[a-z ]*$")] words: String) -> usize {
    words.len()
}

/// Takes words, and says whether it runs where it is polled.
#[mcp_tool(module = "heavy")]
async fn words_async(#[ctx] cx: &ToolContext, #[arg(pattern = "^[a-z ]*$")] words: String) -> usize {
    assert_eq!(cx.extensions().get::<thread::ThreadId>(), Some(&thread::current().id()));
    words.len()
}

/// A tree of the variant that has this member.
fn nested(levels: usize, member: &str) -> String {
    format!(r#"{{"node": {}true{}}}"#, r#"{"next":"#.repeat(levels), format!(",{member}}}").repeat(levels))
}

#[test]
fn a_call_whose_arguments_take_exponential_time_to_read_times_out_and_blocks_no_other_call() {
    const RIGHT: &str = r#""right":true"#;
    let registry = build(with_tools(tools![tree, tree_async, tree_inline, marked, quick]));
    for (tool, member) in [
        ("heavy.tree", RIGHT),
        ("heavy.tree_async", RIGHT),
        ("heavy.tree_inline", RIGHT),
        ("heavy.marked", r#""kind":"B""#),
    ] {
        for levels in [0, 4] {
            let (mut out, tree) = (Vec::new(), nested(levels, member));
            registry.call_bytes_blocking(tool, tree.as_bytes(), &CallOptions::new(), &mut out).unwrap();
            let expected = json!({ "result": levels == 0 });
            assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["data"], expected, "{tool}");
        }
        // It fits, and takes minutes to read.
        let arguments: Value = serde_json::from_str(&nested(24, member)).unwrap();
        let (slow, quick) = (ToolCall::new(tool, arguments), ToolCall::new("heavy.quick", json!({})));
        let options = CallOptions::new().timeout(Duration::from_secs(1));
        // Both on this thread: if reading blocked it, the second would wait for the first.
        let started = Instant::now();
        let results = block_on(registry.call_many_with(&[slow, quick], &options));
        assert_eq!(failure(&results[0]).0, "TimeoutError", "{tool}");
        assert_eq!(results[1].data, Some(json!({ "result": "quick" })), "{tool}");
        assert!(started.elapsed() < Duration::from_secs(30), "{tool}");
    }
}

#[test]
fn a_tagged_type_is_read_and_checked_in_linear_time() {
    let registry = build(with_tools(tools![tagged]));
    let levels = 40;
    for end in [r#","kind":"A"}"#, r#","kind":"B"}"#] {
        let (start, end) = (r#"{"next":"#.repeat(levels), end.repeat(levels));
        let arguments = format!(r#"{{"name": "a", "node": {start}{{"kind":"Leaf"}}{end}}}"#);
        let call = ToolCall::new("heavy.tagged", serde_json::from_str::<Value>(&arguments).unwrap());
        let result = registry.call_blocking_with(&call, &CallOptions::new().timeout(Duration::from_secs(60)));
        assert_eq!(result.data, Some(json!({ "result": end.starts_with(r#","kind":"A""#) })), "{}", result.to_json());
    }
}

/// Only by trying both can the schema tell the variants apart.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Ranged {
    Low {
        next: Box<Ranged>,
        #[schemars(range(max = 1))]
        level: u8,
    },
    High {
        next: Box<Ranged>,
        #[schemars(range(min = 2))]
        level: u8,
    },
    Leaf(bool),
}

/// Takes a tree whose variants have ranges, where it is called.
#[mcp_tool(module = "heavy", inline)]
fn ranged_inline(node: Ranged) -> bool {
    matches!(node, Ranged::Leaf(true))
}

/// Takes a tree whose variants have ranges, on the pool.
#[mcp_tool(module = "heavy")]
fn ranged(node: Ranged) -> bool {
    matches!(node, Ranged::Leaf(true))
}

#[test]
fn arguments_that_take_exponential_time_to_check_are_refused_as_too_ambiguous() {
    let registry = build(with_tools(tools![ranged, ranged_inline]));
    let options = CallOptions::new().timeout(Duration::from_secs(60));
    for tool in ["heavy.ranged", "heavy.ranged_inline"] {
        let call = |levels: usize| {
            let arguments: Value = serde_json::from_str(&nested(levels, r#""level":2"#)).unwrap();
            registry.call_blocking_with(&ToolCall::new(tool, arguments), &options)
        };
        assert_eq!(call(4).data, Some(json!({ "result": false })), "{tool}");
        let result = call(40);
        let (kind, message) = failure(&result);
        assert_eq!(kind, "ValidationError", "{tool}: {message}");
        assert!(message.contains("too ambiguous to check within its limits"), "{tool}: {message}");
    }
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Takes a tree, and counts.
#[mcp_tool(module = "heavy")]
fn counted(node: Node) -> bool {
    RUNS.fetch_add(1, Ordering::SeqCst);
    matches!(node, Node::Leaf(true))
}

#[test]
fn a_tool_does_not_run_after_its_caller_was_answered_at_the_deadline() {
    let registry = build(with_tools(tools![counted]));
    // The argument is valid, and is read in the end.
    let arguments: Value = serde_json::from_str(&nested(16, r#""right":true"#)).unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(20));
    let late = registry.call_blocking_with(&ToolCall::new("heavy.counted", arguments), &options);
    assert_eq!(failure(&late).0, "TimeoutError");
    // Waits until the other one is read.
    let result = registry.call_blocking(&ToolCall::new("heavy.counted", json!({ "node": true })));
    assert_eq!(result.data, Some(json!({ "result": true })));
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);
}

#[test]
fn arguments_that_a_slow_type_refuses_are_explained() {
    let registry = build(with_tools(tools![tree, tree_async, tree_inline]));
    for tool in ["heavy.tree", "heavy.tree_async", "heavy.tree_inline"] {
        let result = registry.call_blocking(&ToolCall::new(tool, json!({ "node": 1 })));
        let (kind, message) = failure(&result);
        assert_eq!(kind, "ValidationError");
        assert!(message.contains("`/node`"), "{tool}: {message}");
    }
}

fn big(letter: &str) -> Value {
    json!({ "words": letter.repeat(200_000) })
}

#[test]
fn large_arguments_are_read_and_checked_like_small_ones() {
    let registry = build(with_tools(tools![words, words_async, words_inline]));
    let made = Tool::new(
        "heavy.made",
        json!({ "type": "object", "properties": { "words": { "pattern": "^[a-z ]*$" } } }),
        |_, args: Value| async move { json!({ "result": args["words"].as_str().map(str::len) }) },
    );
    registry.register(made.description("Takes words.")).unwrap();
    let options = CallOptions::new().extension(thread::current().id());
    for tool in ["heavy.words", "heavy.words_async", "heavy.words_inline", "heavy.made"] {
        let result = registry.call_blocking_with(&ToolCall::new(tool, big("a")), &options);
        assert_eq!(result.data, Some(json!({ "result": 200_000 })), "{tool}");
        let result = registry.call_blocking_with(&ToolCall::new(tool, big("A")), &options);
        assert_eq!(failure(&result).0, "ValidationError");
        assert!(failure(&result).1.contains("must be a text that matches"), "{tool}: {}", failure(&result).1);
        let mut out = Vec::new();
        let error = registry.call_bytes_blocking(tool, big("A").to_string().as_bytes(), &options, &mut out);
        assert!(matches!(error, Err(Error::Schema(_))) && out.is_empty(), "{tool}");
    }
}

struct Sees;

impl Gate for Sees {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        match call.arguments["words"].as_str().map(str::len) {
            Some(200_000) => Decision::Allow,
            _ => Decision::Deny("it is not seen".to_owned()),
        }
    }
}

impl Layer for Sees {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        assert_eq!(call.arguments["words"].as_str().map(str::len), Some(200_000));
        next.run(call, cx).await
    }
}

#[test]
fn a_gate_and_a_layer_see_large_arguments() {
    let registry: Registry = build(with_tools(tools![words]).gate(Sees).layer(Sees));
    let mut out = Vec::new();
    let call = |letter: &str, out: &mut Vec<u8>| {
        registry.call_bytes_blocking("heavy.words", big(letter).to_string().as_bytes(), &CallOptions::new(), out)
    };
    call("a", &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("200000"));
    assert!(matches!(call("A", &mut Vec::new()), Err(Error::Schema(_))));
}

/// Takes half a second to read.
#[derive(JsonSchema)]
struct Slow;

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        thread::sleep(Duration::from_millis(500));
        <()>::deserialize(deserializer).map(|()| Self)
    }
}

/// Says how many seconds are left.
#[mcp_tool(module = "heavy", timeout = "50s")]
fn left(#[ctx] cx: &ToolContext, #[allow(unused_variables)] slow: Slow, words: String) -> f64 {
    assert_eq!(words.len(), 200_000);
    cx.deadline().map_or(f64::INFINITY, |deadline| (deadline - Instant::now()).as_secs_f64())
}

#[test]
fn the_time_in_which_large_arguments_are_read_for_a_layer_counts_towards_the_limit() {
    let registry = build(with_tools(tools![left]).layer(Sees));
    let arguments = json!({ "slow": null, "words": "a".repeat(200_000) });
    let result = registry.call_blocking(&ToolCall::new("heavy.left", arguments));
    let left = result.data.unwrap_or_else(|| panic!("{:?}", result.error))["result"].as_f64().unwrap();
    // They are read once for the layer, and once for the tool.
    assert!(left <= 49.0, "{left} s");
}

/// How many calls have come so far.
#[derive(Default)]
struct Come(AtomicUsize);

/// Waits for the other call.
#[mcp_tool(module = "heavy")]
fn meet(#[ctx] come: &Come, node: Node) -> bool {
    let begun = Instant::now();
    come.0.fetch_add(1, Ordering::SeqCst);
    while come.0.load(Ordering::SeqCst) < 2 && begun.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(2));
    }
    come.0.load(Ordering::SeqCst) == 2 && matches!(node, Node::Leaf(true))
}

#[test]
fn calls_wait_for_one_another_only_while_their_arguments_are_read() {
    let registry = build(with_tools(tools![meet]).state(Come::default()));
    let call = ToolCall::new("heavy.meet", json!({ "node": true }));
    for result in block_on(registry.call_many(&[call.clone(), call])) {
        assert_eq!(result.data, Some(json!({ "result": true })), "the first does not wait in vain");
    }
}
