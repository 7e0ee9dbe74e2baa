//! What `hosts.md` says that hosts and converters take, held against every tool of this binary: one of each kind of type.
//!
//! Schemas are looked at as clients get them, from `tools/list`, in each version of the protocol. Those that were written
//! by hand are published as they are written, and are left out.

use std::collections::BTreeSet;

use mcp_core::entry::ToolEntry;
use mcp_core::mcp::ProtocolVersion;
use mcp_core::serde_json::{Map, Value, json};
use mcp_registry::testing::{Client, block_on};
use mcp_registry::{Registry, Server};

use super::{entry, golden_entries};

/// The tools of which all schemas come from types.
fn typed() -> impl Iterator<Item = &'static ToolEntry> {
    let by_hand = |entry: &ToolEntry| {
        entry.input_schema.is_some() || entry.params.iter().any(|param| param.explicit_schema.is_some())
    };
    golden_entries().filter(move |entry| !by_hand(entry))
}

/// The tools as clients of each version see them.
fn listed() -> Vec<Value> {
    let server = Server::new(Registry::builder_of(typed()).build().unwrap());
    let list = |version: &ProtocolVersion| {
        let client = block_on(Client::connect(server.clone(), *version)).unwrap();
        block_on(client.list_tools()).unwrap()
    };
    let tools: Vec<Value> = ProtocolVersion::ALL.iter().flat_map(list).collect();
    assert!(tools.len() > 90 * ProtocolVersion::ALL.len(), "{}", tools.len());
    tools
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Input,
    Output,
}

/// Sees each schema in a schema.
fn visit(schema: &mut Value, see: &mut dyn FnMut(&Value)) {
    see(schema);
    if let Value::Object(object) = schema {
        for (key, inner) in object {
            match (key.as_str(), inner) {
                ("properties" | "patternProperties" | "$defs" | "dependentSchemas", Value::Object(named)) => {
                    for inner in named.values_mut() {
                        visit(inner, see);
                    }
                }
                ("prefixItems" | "oneOf" | "anyOf" | "allOf", Value::Array(list)) => {
                    for inner in list {
                        visit(inner, see);
                    }
                }
                // As a boolean it says whether there may be more, and is no schema of anything.
                ("additionalProperties", Value::Bool(_)) => {}
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedProperties",
                    inner,
                ) => visit(inner, see),
                _ => {}
            }
        }
    }
}

/// Sees each schema that is published, with the name of its tool.
fn each_schema(mut see: impl FnMut(&str, Side, &Value)) {
    for mut tool in listed() {
        let name = tool["name"].as_str().unwrap().to_owned();
        for (key, side) in [("inputSchema", Side::Input), ("outputSchema", Side::Output)] {
            if let Some(schema) = tool.get_mut(key) {
                visit(schema, &mut |schema| see(&name, side, schema));
            }
        }
    }
}

fn has_kind(schema: &Value, kind: &str) -> bool {
    schema.get("type").is_some_and(|own| own == kind)
}

/// hosts.md §3.1, §3.2.
#[test]
fn names_are_letters_digits_and_single_underscores_up_to_64() {
    for tool in listed() {
        let name = tool["name"].as_str().unwrap();
        assert!(name.starts_with(|first: char| first.is_ascii_alphabetic()), "{name}");
        assert!(name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_'), "{name}");
        assert!(name.len() <= 64 && !name.contains("__"), "{name}");
    }
}

/// hosts.md §3.4.
#[test]
fn tools_are_listed_by_name() {
    let server = Server::new(Registry::builder_of(typed()).build().unwrap());
    let tools = block_on(Client::new(server).list_tools()).unwrap();
    assert!(tools.windows(2).all(|two| two[0]["name"].as_str() < two[1]["name"].as_str()));
}

/// hosts.md §3.3.
#[test]
fn no_schema_names_its_dialect() {
    each_schema(|name, _, schema| assert_eq!(schema.get("$schema"), None, "{name}"));
}

/// hosts.md §3.3.
#[test]
fn numbers_have_no_format() {
    each_schema(|name, _, schema| {
        let is_number = has_kind(schema, "integer") || has_kind(schema, "number");
        assert!(!is_number || schema.get("format").is_none(), "{name}: {schema}");
    });
}

/// hosts.md §3.3: what is optional is left out, and is never null.
#[test]
fn input_has_no_lists_of_types_and_no_null_types() {
    each_schema(|name, side, schema| {
        if side == Side::Input {
            assert!(schema.get("type").is_none_or(|kind| kind.is_string() && kind != "null"), "{name}: {schema}");
        }
    });
}

/// hosts.md §3.3, §3.4: words that cost tokens and say nothing.
#[test]
fn input_has_no_titles_and_no_defaults_that_are_null() {
    each_schema(|name, side, schema| {
        let is_idle = schema.get("title").is_some() || schema.get("default").is_some_and(Value::is_null);
        assert!(side == Side::Output || !is_idle, "{name}: {schema}");
    });
}

/// hosts.md §3.3.
#[test]
fn no_schema_is_a_boolean() {
    each_schema(|name, side, schema| assert!(schema.is_object(), "{name}, {side:?}: {schema}"));
}

/// hosts.md §3.3, §3.9: `anyOf` and an `enum` of one name survive the converters that drop `oneOf` and `const`.
#[test]
fn unions_are_any_of_and_constants_are_enums() {
    each_schema(|name, side, schema| {
        for key in ["oneOf", "const"] {
            assert_eq!(schema.get(key), None, "{name}, {side:?}: {schema}");
        }
    });
    for (name, tag) in [("enum_internal", "kind"), ("enum_adjacent", "t")] {
        let schema = entry(&format!("golden.{name}")).generate_input_schema();
        let alternatives = schema["properties"]["value"]["anyOf"].as_array().unwrap();
        let mut tags = BTreeSet::new();
        for alternative in alternatives {
            assert!(alternative["required"].as_array().unwrap().contains(&json!(tag)), "{alternative}");
            let tag = &alternative["properties"][tag];
            assert_eq!((&tag["type"], tag["enum"].as_array().unwrap().len()), (&json!("string"), 1), "{tag}");
            tags.insert(tag["enum"][0].as_str().unwrap());
        }
        assert_eq!(tags.len(), alternatives.len());
    }
}

/// hosts.md §3.3.
#[test]
fn variants_without_data_are_one_enum_with_their_documents_in_its_description() {
    let schema = entry("golden.enum_documented").generate_input_schema();
    let value = &schema["properties"]["value"];
    assert_eq!((&value["type"], &value["anyOf"]), (&json!("string"), &Value::Null));
    assert!(value["enum"].as_array().unwrap().len() > 1, "{value}");
    assert!(value["description"].as_str().unwrap().contains("\n- `"), "{value}");
}

/// hosts.md §3.3.
#[test]
fn no_input_is_a_union_at_its_root() {
    for tool in listed() {
        for key in ["anyOf", "oneOf", "allOf", "$ref", "not", "if"] {
            assert_eq!(tool["inputSchema"].get(key), None, "{}", tool["name"]);
        }
    }
}

/// hosts.md §3.3.
#[test]
fn input_is_an_object_with_properties() {
    for tool in listed() {
        let schema = &tool["inputSchema"];
        assert!(has_kind(schema, "object") && schema["properties"].is_object(), "{}: {schema}", tool["name"]);
    }
    let nothing = entry("golden.no_arguments").generate_input_schema();
    assert_eq!(nothing, json!({ "type": "object", "properties": {}, "additionalProperties": false }));
}

/// hosts.md §3.3.
#[test]
fn output_is_an_object_in_each_version() {
    for tool in listed() {
        let is_object = |schema: &Value| has_kind(schema, "object");
        assert!(tool.get("outputSchema").is_none_or(is_object), "{tool}");
    }
    let list = entry("golden.vec").generate_output_schema().unwrap().to_value();
    assert_eq!(list["properties"]["result"]["type"], "array");
}

/// Whether a definition leads back to itself.
fn is_recursive(definitions: &Map<String, Value>, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![name.to_owned()];
    while let Some(one) = next.pop() {
        let mut names = Vec::new();
        visit(&mut definitions[&one].clone(), &mut |schema| {
            names.extend(schema["$ref"].as_str().map(|path| path.trim_start_matches("#/$defs/").to_owned()));
        });
        if names.iter().any(|other| other == name) {
            return true;
        }
        next.extend(names.into_iter().filter(|name| seen.insert(name.clone())));
    }
    false
}

/// hosts.md §3.3, §3.4: only what holds itself is referred to, and what is much larger without references.
#[test]
fn references_are_for_recursion_and_for_what_would_be_much_larger() {
    each_schema(|name, _, schema| {
        let path = schema.get("$ref").and_then(Value::as_str);
        assert!(path.is_none_or(|path| path.starts_with("#/$defs/")), "{name}: {schema}");
        let definitions = schema.get("$defs").and_then(Value::as_object);
        if let Some(definitions) = definitions.filter(|_| name != "golden_wide") {
            assert!(definitions.keys().any(|one| is_recursive(definitions, one)), "{name}: {schema}");
        }
    });
}

/// hosts.md §3.9: only what takes any JSON has no type; the lint reports it.
#[test]
fn only_any_value_has_no_type() {
    let any = ["golden_any", "golden_any_list", "golden_any_map", "golden_option_any", "golden_flatten_map"];
    let open = ["golden_flatten_root_map", "golden_nothing", "golden_unit"];
    each_schema(|name, side, schema| {
        let says = ["type", "anyOf", "allOf", "$ref", "not"].iter().any(|key| schema.get(key).is_some());
        assert!(says || any.contains(&name) || open.contains(&name), "{name}, {side:?}: {schema}");
    });
}
