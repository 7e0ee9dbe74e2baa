//! The diff of 1,000 tools that have all changed.
//!
//! `cargo bench -p mcp-benches --bench contract`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_registry::contract::Contract;
use mcp_registry::serde_json::{Value, json};

/// A contract of 1,000 tools with seven parameters each, in lists, unions and a recursive tree.
fn contract(tool: &dyn Fn(Value) -> Value) -> Contract {
    let schema = json!({
        "type": "object",
        "properties": {
            "customer": { "type": "integer", "minimum": 1, "description": "Who ordered." },
            "state": { "enum": ["open", "paid", "archived"] },
            "since": { "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }] },
            "tags": { "type": "array", "items": { "type": "string", "maxLength": 40 }, "maxItems": 20 },
            "page": { "type": "object", "properties": { "limit": { "type": "integer" }, "from": { "type": "string" } } },
            "sort": { "oneOf": [
                { "type": "object", "properties": { "by": { "const": "date" }, "newest": { "type": "boolean" } }, "required": ["by"] },
                { "type": "object", "properties": { "by": { "const": "name" }, "locale": { "type": "string" } }, "required": ["by"] },
            ] },
            "filter": { "$ref": "#/$defs/filter" },
        },
        "required": ["customer"],
        "$defs": { "filter": {
            "type": "object",
            "properties": { "all": { "type": "array", "items": { "$ref": "#/$defs/filter" } }, "field": { "type": "string" } },
        } },
    });
    let schema = tool(schema);
    let tools = (0..1_000).map(|n| json!({ "name": format!("tool_{n}"), "inputSchema": schema }));
    Contract::from_tools_list(&tools.collect::<Value>().to_string()).expect("a list of tools")
}

fn diff(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("diff of 1,000 tools");
    group.sample_size(10);
    let old = contract(&|schema| schema);
    let mut compare = |name: &str, pointer: &str, value: Value| {
        let new = contract(&|mut schema| {
            schema.pointer_mut(pointer).into_iter().for_each(|place| *place = value.clone());
            schema
        });
        assert_eq!(old.diff(&new).changes.len(), if name == "unchanged" { 0 } else { 1_000 });
        group.bench_function(name, |b| b.iter(|| black_box(&old).diff(black_box(&new))));
    };
    compare("unchanged", "/type", json!("object"));
    compare("another description", "/properties/customer/description", json!("Who has ordered."));
    compare("a value less", "/properties/state/enum", json!(["open", "paid"]));
    compare(
        "a lower limit in a recursive part",
        "/$defs/filter/properties/field",
        json!({ "type": "string", "maxLength": 9 }),
    );
    group.finish();
}

criterion_group!(benches, diff);
criterion_main!(benches);
