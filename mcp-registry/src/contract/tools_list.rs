//! The contract of a server, from its response to `tools/list`.

use mcp_core::message::JsonObject;
use mcp_core::support::cut;
use serde_json::Value;

use super::lock::{ContractError, QUOTED, without_mark};
use super::{Contract, ToolContract};
use crate::catalog::tool::TOOL_META;

impl Contract {
    /// Reads a response to `tools/list`, from any server: the JSON-RPC message, its result, or the list alone. There may be
    /// other messages before and after it, one per line or as events of a stream, as `curl` prints them. If the list has
    /// several pages, all of them must be there, in any order.
    pub fn from_tools_list(json: &str) -> Result<Self, ContractError> {
        let form = |reason: &str| ContractError::Form(reason.to_owned());
        let messages = messages(without_mark(json))?;
        let pages: Vec<&Value> = messages.iter().filter_map(page).collect();
        let is_last = |page: &&&Value| page.get("nextCursor").is_none_or(Value::is_null);
        match (pages.iter().filter(is_last).count(), messages.iter().find_map(failure)) {
            (1, _) => {}
            (0, Some(message)) => return Err(ContractError::Server(cut(&message, QUOTED).into_owned())),
            (0, None) if pages.is_empty() => return Err(form("it has no list of `tools`")),
            (0, None) => return Err(ContractError::Incomplete),
            (count, _) => return Err(form(&format!("it has {count} complete lists of `tools`"))),
        }
        let tools = pages.into_iter().filter_map(|page| page.as_array().or_else(|| page["tools"].as_array()));
        let tools = tools.flatten().map(listed_tool).collect::<Result<_, _>>()?;
        let contract = Self { is_list: true, ..Self::new(tools) };
        if let Some([one, _]) = contract.tools.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(ContractError::Form(format!("two tools are named `{}`", cut(&one.name, QUOTED))));
        }
        Ok(contract)
    }
}

/// Every message of a text.
fn messages(text: &str) -> Result<Vec<Value>, ContractError> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let events = if is_json { String::new() } else { data_of_events(text) };
    let text = if events.is_empty() { text } else { &events };
    let messages = serde_json::Deserializer::from_str(text).into_iter::<Value>().collect::<Result<Vec<_>, _>>();
    let messages = messages.map_err(|error| ContractError::Json(error.to_string()))?;
    if messages.is_empty() {
        return Err(ContractError::Json("it is empty".to_owned()));
    }
    // A batch, or pages that a program has put into an array.
    let is_response = |item: &Value| item.get("name").is_none() && (page(item).is_some() || failure(item).is_some());
    let is_batch = |items: &[Value]| items.iter().any(is_response);
    let separate = |message| match message {
        Value::Array(items) if is_batch(&items) => items,
        other => vec![other],
    };
    Ok(messages.into_iter().flat_map(separate).collect())
}

/// The list of tools, or the object that has it, if the message is a response to `tools/list`.
fn page(message: &Value) -> Option<&Value> {
    let result = message.get("result").unwrap_or(message);
    (result.is_array() || result.get("tools").is_some_and(Value::is_array)).then_some(result)
}

/// What a server says in place of its tools.
fn failure(message: &Value) -> Option<String> {
    let error = message.get("error").filter(|error| !error.is_null())?;
    Some(error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned))
}

/// The data of the events of a stream, one after another. An event may have no data.
fn data_of_events(text: &str) -> String {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.fold(String::new(), |text, line| text + line + "\n").trim().to_owned()
}

fn listed_tool(tool: &Value) -> Result<ToolContract, ContractError> {
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    let wire_name = text(tool, "name").ok_or_else(|| ContractError::Form("a tool has no `name`".to_owned()))?;
    let schema = |key: &str| tool.get(key).filter(|schema| !schema.is_null()).cloned();
    let meta = tool.get("_meta").and_then(|meta| meta.get(TOOL_META)).cloned().unwrap_or_default();
    Ok(ToolContract {
        name: text(&meta, "name").unwrap_or_else(|| wire_name.clone()),
        version: text(&meta, "version").and_then(|version| version.parse().ok()),
        // Where it was before the revision of 2025-06-18.
        title: text(tool, "title").or_else(|| text(tool.get("annotations")?, "title")),
        description: text(tool, "description").unwrap_or_default(),
        aliases: Vec::new(),
        hidden: false,
        deprecated_in: text(&meta, "deprecatedIn"),
        replaced_by: text(&meta, "replacedBy"),
        migration: text(&meta, "migration"),
        hints: tool.get("annotations").and_then(Value::as_object).cloned().unwrap_or_else(JsonObject::new),
        input_schema: schema("inputSchema").unwrap_or_else(|| JsonObject::new().into()),
        output_schema: schema("outputSchema"),
        accepted_schema: None,
        task_support: tool.get("execution").and_then(|execution| text(execution, "taskSupport")),
        source: None,
        wire_name,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Contract, ContractError};

    fn names(text: &str) -> Vec<String> {
        let contract = Contract::read_any(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        contract.tools().iter().map(|tool| tool.name.clone()).collect()
    }

    fn response() -> Value {
        let tools = json!([{ "name": "b", "description": null }, { "name": "a", "inputSchema": { "type": "object" } }]);
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } })
    }

    #[test]
    fn a_list_of_tools_is_read_in_every_form() {
        let response = response();
        let pretty = serde_json::to_string_pretty(&response).unwrap();
        for text in [
            response.to_string(),
            format!("\u{feff}{pretty}\r\n"),
            response["result"].to_string(),
            response["result"]["tools"].to_string(),
        ] {
            assert_eq!(names(&text), ["a", "b"]);
        }
        assert_eq!(names("[]"), [""; 0]);
    }

    #[test]
    fn the_list_is_found_between_other_messages_of_a_stream() {
        let response = response();
        let pretty = serde_json::to_string_pretty(&response).unwrap();
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": "hi" } });
        let started = json!({ "jsonrpc": "2.0", "id": 0, "result": { "serverInfo": {} } });
        let data = pretty.replace('\n', "\r\ndata: ");
        for text in [
            format!("event: message\ndata: {response}\n\n"),
            format!("id: 1\ndata:\n\ndata: {note}\n\nevent: message\ndata:{response}\n\n"),
            format!(": ping\r\n\r\ndata: {data}\r\n\r\n"),
            format!("{started}\n{note}\n{response}\n"),
            format!("{response}\n{note}\n"),
        ] {
            assert_eq!(names(&text), ["a", "b"], "{text}");
        }
    }

    #[test]
    fn pages_are_joined_in_any_order_and_must_be_complete() {
        let page = |names: &[&str], cursor: Value| {
            let tools: Value = names.iter().map(|name| json!({ "name": name })).collect();
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools, "nextCursor": cursor } })
        };
        let pages = [page(&["a", "b"], json!("2")), page(&["c"], json!("3")), page(&["d"], Value::Null)];
        let [one, two, three] = &pages;
        let result = |page: &Value| page["result"].to_string();
        for text in [
            format!("{one}\n{two}\n{three}\n"),
            format!("{three}{two}{one}"),
            format!("data: {one}\n\ndata: {two}\n\ndata: {three}\n\n"),
            format!("{}\n{}\n{}", result(one), result(two), result(three)),
            json!(pages).to_string(),
        ] {
            assert_eq!(names(&text), ["a", "b", "c", "d"], "{text}");
        }
        let error = |text: String| Contract::read_any(&text).unwrap_err();
        assert_eq!(error(format!("{one}{two}")), ContractError::Incomplete);
        let refused = json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32602, "message": "old cursor" } });
        assert_eq!(error(format!("{one}{refused}")), ContractError::Server("old cursor".to_owned()));
        let form = |reason: &str| ContractError::Form(reason.to_owned());
        assert_eq!(error(format!("{one}{one}{three}")), form("two tools are named `a`"));
        assert_eq!(error(format!("{three}{three}")), form("it has 2 complete lists of `tools`"));
    }

    #[test]
    fn what_lists_no_tools_is_rejected_with_the_reason() {
        let form = |reason: &str| ContractError::Form(reason.to_owned());
        for (text, error) in [
            ("", ContractError::Json("it is empty".to_owned())),
            ("data:\n\n", ContractError::Json("expected value at line 1 column 1".to_owned())),
            ("<html>", ContractError::Json("expected value at line 1 column 1".to_owned())),
            ("1", form("it has no list of `tools`")),
            (r#"{"tools": {}}"#, form("it has no list of `tools`")),
            (r#"[{"title": "a"}]"#, form("a tool has no `name`")),
            (r#"[{"name": "a"}, {"name": "a"}]"#, form("two tools are named `a`")),
            (r#"{"tools": [], "nextCursor": "2"}"#, ContractError::Incomplete),
            (r#"{"error": {"code": -32601, "message": "no\nway"}}"#, ContractError::Server("no\\nway".to_owned())),
            (r#"{"error": "unauthorized"}"#, ContractError::Server("\"unauthorized\"".to_owned())),
        ] {
            assert_eq!(Contract::from_tools_list(text), Err(error), "{text}");
            assert!(Contract::read_any(text).is_err());
        }
        assert!(Contract::from_tools_list(&"[".repeat(100_000)).is_err());
    }
}
