//! The tools that the source documents work out: the attribute makes their schemas, byte for byte.

#![allow(clippy::needless_pass_by_value, reason = "tools have the form under test")]

use mcp_registry::serde_json::{Value, json};
use mcp_registry::{Registry, ToolCall, mcp_tool, tools};

/// Get current weather for a location
#[mcp_tool(name = "get_weather", allow_unknown_arguments)]
fn get_weather(
    /// City name or coordinates
    location: String,
    #[arg(one_of("metric", "imperial"), default = "metric")] units: String,
) -> Weather {
    Weather {
        temperature: 22.5,
        conditions: format!("partly cloudy in {location}, {units}"),
        humidity: 65,
        wind_speed: 10,
    }
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Weather {
    temperature: f64,
    conditions: String,
    humidity: u32,
    wind_speed: u32,
}

/// Search the web for information
#[mcp_tool(name = "search_web", allow_unknown_arguments)]
fn search_web(
    /// Search query
    query: String,
    /// Number of results to return
    #[arg(default = 5)]
    num_results: i64,
) -> Vec<String> {
    vec![query; usize::try_from(num_results).unwrap_or_default()]
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Filters {
    date_range: Option<DateRange>,
    categories: Option<Vec<String>>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct DateRange {
    start: Option<chrono::NaiveDate>,
    end: Option<chrono::NaiveDate>,
}

/// Searches with filters.
#[mcp_tool(name = "complex", allow_unknown_arguments)]
fn complex(
    /// Search query
    query: String,
    filters: Option<Filters>,
    #[arg(one_of("relevance", "date", "popularity"), default = "relevance")] sort: String,
    #[arg(min = 1, max = 100, default = 10)] limit: i64,
) -> String {
    format!("{query} {} {sort} {limit}", filters.is_some())
}

/// Reads the content of a specified file and returns it as a string.
#[mcp_tool(name = "file_utility.read", allow_unknown_arguments)]
fn read(
    /// The absolute or relative path to the file.
    file_path: String,
    /// Optional: Maximum characters to read.
    #[arg(min = 1)]
    max_chars: Option<u64>,
    /// Optional: File encoding (e.g., "utf-8"). Default: "utf-8".
    #[arg(default = "utf-8")]
    encoding: String,
) -> String {
    format!("{file_path} {max_chars:?} {encoding}")
}

fn registry() -> Registry {
    Registry::builder_of(tools![get_weather, search_web, complex, read, types]).build().unwrap()
}

fn schema(name: &str) -> String {
    registry().get_tool_schema(name).unwrap().to_string()
}

/// A schema as the document prints it, on one line.
fn printed(schema: &str) -> String {
    mcp_registry::serde_json::from_str::<Value>(schema).unwrap().to_string()
}

#[test]
fn k_3_s2_14_s2_15_s2_21_c26_the_basic_schemas() {
    let weather = printed(
        r#"{
          "type": "object",
          "properties": {
            "location": { "type": "string", "description": "City name or coordinates" },
            "units": { "type": "string", "enum": ["metric", "imperial"], "default": "metric" }
          },
          "required": ["location"]
        }"#,
    );
    assert_eq!(schema("get_weather"), weather);
    let search = printed(
        r#"{
          "type": "object",
          "properties": {
            "query": { "type": "string", "description": "Search query" },
            "num_results": { "type": "integer", "description": "Number of results to return", "default": 5 }
          },
          "required": ["query"]
        }"#,
    );
    assert_eq!(schema("search_web"), search);
}

#[test]
fn s2_22_c12_c26_the_complex_schema() {
    let complex = printed(
        r#"{
          "type": "object",
          "properties": {
            "query": { "type": "string", "description": "Search query" },
            "filters": {
              "type": "object",
              "properties": {
                "date_range": {
                  "type": "object",
                  "properties": {
                    "start": { "type": "string", "format": "date" },
                    "end": { "type": "string", "format": "date" }
                  }
                },
                "categories": { "type": "array", "items": { "type": "string" } }
              }
            },
            "sort": { "type": "string", "enum": ["relevance", "date", "popularity"], "default": "relevance" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 }
          },
          "required": ["query"]
        }"#,
    );
    assert_eq!(schema("complex"), complex);
}

#[test]
fn s4_3_c26_the_schema_of_the_usage_example() {
    let read = printed(
        r#"{
          "type": "object",
          "properties": {
            "file_path": { "type": "string", "description": "The absolute or relative path to the file." },
            "max_chars": { "type": "integer", "description": "Optional: Maximum characters to read.", "minimum": 1 },
            "encoding": {
              "type": "string",
              "description": "Optional: File encoding (e.g., \"utf-8\"). Default: \"utf-8\".",
              "default": "utf-8"
            }
          },
          "required": ["file_path"]
        }"#,
    );
    assert_eq!(schema("file_utility.read"), read);
}

/// Returns what it gets.
#[mcp_tool(name = "types")]
fn types(kinds: Kinds) -> Kinds {
    kinds
}

/// A value of each type that the documents map.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Kinds {
    text: String,
    int: i64,
    float: f64,
    flag: bool,
    list: Vec<i64>,
    map: std::collections::BTreeMap<String, i64>,
    none: Option<String>,
    time: chrono::DateTime<chrono::Utc>,
    path: std::path::PathBuf,
}

#[test]
fn s1_44_s1_46_c12_each_type_has_its_type_in_json() {
    let schema: Value = mcp_registry::serde_json::from_str(&schema("types")).unwrap();
    let properties = &schema["properties"]["kinds"]["properties"];
    for (property, of_type) in [
        ("text", "string"),
        ("int", "integer"),
        ("float", "number"),
        ("flag", "boolean"),
        ("list", "array"),
        ("map", "object"),
        ("time", "string"),
        ("path", "string"),
    ] {
        assert_eq!(properties[property]["type"], of_type, "{property}");
    }
    assert_eq!(properties["time"]["format"], "date-time");
    let kinds = json!({
        "text": "zwölf", "int": -7, "float": 0.5, "flag": true, "list": [1, 2], "map": { "a": 1 }, "none": null,
        "time": "2024-01-15T10:30:00Z", "path": "src/main.rs",
    });
    let registry = registry();
    let result = registry.call_blocking(&ToolCall::new("types", json!({ "kinds": kinds })));
    assert_eq!(result.data, Some(kinds));
}

#[test]
fn s2_20_the_worked_call_gives_the_worked_result() {
    let registry = registry();
    let call = ToolCall::new("get_weather", json!({ "location": "New York", "units": "metric" }));
    let data = registry.call_blocking(&call).data.unwrap();
    assert_eq!((&data["temperature"], &data["humidity"], &data["wind_speed"]), (&json!(22.5), &json!(65), &json!(10)));
    let unknown = ToolCall::new("get_weather", json!({ "location": "x", "more": 1 }));
    assert!(!registry.call_blocking(&unknown).is_failure());
}
