//! An rmcp server with tools and a prompt of its own, and the registry's tools beside them; its client is in the same
//! program. `cargo run -p mcp-examples --example inside_rmcp`

use mcp_registry::serde_json::json;
use mcp_registry::{Registry, ToolContext, mcp_tool};
use rmcp::handler::server::router::prompt::PromptRouter;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, PromptMessage, Role};
use rmcp::{ServerHandler, ServiceExt, prompt, prompt_handler, prompt_router, tool, tool_handler, tool_router};

/// Counts the words of a text.
#[mcp_tool(module = "text", read_only)]
fn count_words(#[ctx] cx: &ToolContext, text: &str) -> usize {
    // What rmcp's transports know about the request, such as the HTTP headers.
    let of_request = cx.extensions().get::<rmcp::model::Extensions>();
    assert!(of_request.is_some());
    text.split_whitespace().count()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greeting {
    /// Who is greeted.
    name: String,
}

/// An ordinary rmcp server.
struct Greeter {
    word: &'static str,
    tools: ToolRouter<Self>,
    prompts: PromptRouter<Self>,
}

#[tool_router]
impl Greeter {
    fn new(registry: &Registry) -> mcp_registry::Result<Self> {
        // A name that both have is an error that shows both places; neither tool shadows the other.
        let tools = mcp_registry::rmcp::merge(Self::tool_router(), registry)?;
        Ok(Self { word: "Hello", tools, prompts: Self::prompt_router() })
    }

    #[tool(description = "Greets someone.")]
    fn greet(&self, Parameters(Greeting { name }): Parameters<Greeting>) -> String {
        format!("{}, {name}!", self.word)
    }
}

#[prompt_router]
impl Greeter {
    #[prompt(description = "Asks for a long greeting.")]
    async fn long_greeting(&self, Parameters(Greeting { name }): Parameters<Greeting>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Greet {name}, and count the words."))]
    }
}

#[tool_handler(router = self.tools)]
#[prompt_handler(router = self.prompts)]
impl ServerHandler for Greeter {}

#[tokio::main]
async fn main() -> mcp_registry::Result<()> {
    let (here, there) = tokio::io::duplex(1 << 16);
    let server = Greeter::new(&Registry::linked()?)?;
    tokio::spawn(
        async move { server.serve(there).await?.waiting().await.map_err(mcp_registry::error::BoxError::from) },
    );
    let client = ().serve(here).await?;

    let tools: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("tools: {}", tools.join(", "));
    let prompts: Vec<_> = client.list_all_prompts().await?.into_iter().map(|prompt| prompt.name).collect();
    println!("prompts: {}", prompts.join(", "));

    for (tool, arguments) in [
        ("greet", json!({ "name": "Ada" })),
        ("text_count_words", json!({ "text": "Hello, Ada!" })),
        ("text_count_words", json!({ "txet": "Hello, Ada!" })),
    ] {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let result = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await?;
        for text in result.content.iter().filter_map(|block| block.as_text()) {
            println!("{tool}: {}", text.text.lines().next().unwrap_or_default());
        }
    }
    let name = json!({ "name": "Ada" }).as_object().cloned().unwrap_or_default();
    let prompt = client.get_prompt(GetPromptRequestParams::new("long_greeting").with_arguments(name)).await?;
    println!("long_greeting: {}", mcp_registry::serde_json::to_string(&prompt.messages)?);
    client.cancel().await?;
    Ok(())
}
