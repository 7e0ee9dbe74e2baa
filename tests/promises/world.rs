//! The tools that are called, and every way to write, register, name and set them up. `tests/fixtures/promises.rs` is a
//! program with the same tools.

use std::fs::OpenOptions;
use std::future::pending;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mcp_registry::error::BoxError;
use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::testing::block_on;
use mcp_registry::{
    AuditLog, Error, NamePolicy, RateLimit, Registry, RegistryBuilder, Tool, ToolCall, ToolContext, ToolError,
    ToolResult, TrustLevel, mcp_tool, tools,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An enum whose values are columns of the matrix.
macro_rules! columns {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $value:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            pub(crate) const ALL: &[Self] = &[$(Self::$value,)*];
        }
    };
}

columns! {
    /// How a tool is written.
    Kind {
        Plain,
        Async,
        Inline,
        /// As a `Tool` with a schema that is written by hand.
        Dynamic,
    }
}

columns! {
    /// How tools come into the registry.
    Registration {
        Linked,
        Builder,
        /// `Registry::register`.
        RunTime,
        /// Removed, and registered again.
        Again,
        /// `Registry::subset`, or `select` in a program.
        Subset,
    }
}

columns! {
    /// By which of its names the tool is called.
    Name {
        Canonical,
        Wire,
        Alias,
        /// The name on the wire under `NamePolicy::Bare`.
        LastSegment,
        Renamed,
        Prefixed,
    }
}

columns! {
    /// What else is set.
    Setting {
        /// A gate that allows everything, except for the note `forbidden`.
        Gate,
        /// A layer that passes everything on.
        Layer,
        /// An observer and an audit log.
        Observer,
        /// Callers of the destructive tool are trusted.
        TrustTool,
        RateLimitTool,
        /// `mask_errors(true)`.
        Masking,
        /// Each call has a secret argument.
        Secrets,
        MaxResult,
    }
}

/// Which of the two tools is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Acts,
    Destroys,
}

/// A registry, as a test asks for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) kind: Kind,
    pub(crate) registration: Registration,
    pub(crate) name: Name,
    pub(crate) settings: Vec<Setting>,
    /// How many calls in a row the limit of the tool allows.
    pub(crate) burst: u32,
    pub(crate) timeout: Option<Duration>,
    /// Whether the layer turns errors into results.
    pub(crate) swallows: bool,
}

/// The largest result with [`Setting::MaxResult`].
pub(crate) const MAX_RESULT: usize = 20_000;

/// What is not written for callers.
pub(crate) const FOREIGN: &str = "SECRETDB at db-7";

/// How long tools block, unless they are cancelled; those that nobody can stop, less.
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(400);

/// What a tool prints.
pub(crate) const PRINTED: &str = "PRINTED BY A TOOL";

/// What happened, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    Gate(Value),
    Layer(Value),
    Tool(Value),
    Record { tool: String, called_as: String, outcome: String, error_type: Option<String>, text: String },
}

/// What the tools, the gate, the layer and the observer share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) events: Mutex<Vec<Event>>,
    /// Where a program writes the events.
    pub(crate) file: Option<PathBuf>,
    pub(crate) registry: OnceLock<Registry>,
    pub(crate) audit: AuditLog,
}

impl Shared {
    fn add(&self, event: Event) {
        if let Some(path) = &self.file {
            let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(format!("{}\n", json!(event)).as_bytes()).unwrap();
        }
        self.events.lock().unwrap().push(event);
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum How {
    Answer,
    Panic,
    Wait,
    Foreign,
    Relay,
    Large,
    LongError,
    LongResult,
    Print,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Inner {
    #[serde(alias = "size")]
    count: u8,
}

/// What a tool gets.
#[derive(Serialize)]
struct Asked {
    how: How,
    amount: Option<usize>,
    note: Option<String>,
    /// The digits.
    big: Option<String>,
    inner: Option<Inner>,
}

async fn act(
    cx: &ToolContext,
    shared: &Shared,
    asked: Asked,
    blocks: Option<Duration>,
) -> Result<ToolResult, BoxError> {
    shared.add(Event::Tool(json!(asked)));
    let long = || ToolError::new("Long", "é".repeat(40_000)).details(json!("é".repeat(40_000)));
    match asked.how {
        How::Answer => {}
        How::Panic => std::panic::panic_any(FOREIGN),
        How::Wait if blocks.is_some() => {
            let start = Instant::now();
            while blocks.is_some_and(|time| start.elapsed() < time) && !cx.is_cancelled() {
                sleep(Duration::from_millis(10));
            }
        }
        How::Wait => pending().await,
        How::Foreign => return Err(io::Error::other(FOREIGN).into()),
        How::Relay => {
            let call = ToolCall::new(cx.tool_name(), json!({ "how": "foreign" }));
            return Ok(shared.registry.get().expect("the test sets it").call(&call).await);
        }
        How::Large => return Ok(ToolResult::data("x".repeat(asked.amount.unwrap_or_default()))),
        How::LongError => return Err(long().into()),
        How::LongResult => return Ok(ToolResult::failure(long())),
        How::Print => println!("{PRINTED}"),
    }
    Ok(ToolResult::data(json!(asked)))
}

/// The same tool, written in several ways.
macro_rules! acting {
    ($($name:ident($($keys:tt)*) $($asynchronous:ident)?: |$future:ident| $end:expr;)*) => {$(
        /// Acts as it is asked to.
        #[mcp_tool(module = "promises", tags("promises"), $($keys)*)]
        $($asynchronous)? fn $name(
            #[ctx] cx: &ToolContext,
            #[ctx] shared: &Arc<Shared>,
            how: How,
            #[arg(alias = "sum", max = 10_000_000)] amount: Option<usize>,
            note: Option<String>,
            big: Option<i128>,
            inner: Option<Inner>,
            #[arg(secret, min_length = 8)] password: Option<String>,
        ) -> Result<ToolResult, BoxError> {
            drop(password);
            let asked = Asked { how, amount, note, big: big.map(|big| big.to_string()), inner };
            let $future = |blocks| act(cx, shared, asked, blocks);
            $end
        }
    )*};
}

acting! {
    plain(aliases("promises.old_plain"), destructive = false): |act| block_on(act(Some(LONG)));
    plain_destroys(aliases("promises.old_plain_destroys"), destructive): |act| block_on(act(Some(LONG)));
    later(aliases("promises.old_later"), destructive = false) async: |act| act(None).await;
    later_destroys(aliases("promises.old_later_destroys"), destructive) async: |act| act(None).await;
    now(aliases("promises.old_now"), destructive = false, inline): |act| block_on(act(Some(SHORT)));
    now_destroys(aliases("promises.old_now_destroys"), destructive, inline): |act| block_on(act(Some(SHORT)));
}

/// A tool that no call asks for.
#[mcp_tool(module = "others")]
fn stranger() {}

/// The tool as a [`Tool`].
fn dynamic(which: Which, shared: &Arc<Shared>) -> Tool {
    let schema = Registry::builder_of(tools![plain]).catalog().unwrap().get_tool_schema("promises.plain").unwrap();
    let schema = serde_json::to_value(schema).unwrap();
    let shared = Arc::clone(shared);
    let act = move |cx: ToolContext, given: Value| {
        let shared = Arc::clone(&shared);
        async move {
            let asked = Asked {
                how: serde_json::from_value(given["how"].clone()).map_err(ToolError::from_error)?,
                amount: given["amount"].as_f64().map(|amount| amount as usize),
                note: given["note"].as_str().map(str::to_owned),
                big: given["big"].is_number().then(|| given["big"].to_string()),
                inner: serde_json::from_value(given["inner"].clone()).map_err(ToolError::from_error)?,
            };
            act(&cx, &shared, asked, None).await.map_err(ToolError::from)
        }
    };
    let last = which.last_segment(Kind::Dynamic);
    let tool =
        Tool::new(format!("promises.{last}"), schema, act).description("Acts as it is asked to.").tag("promises");
    tool.alias(format!("promises.old_{last}")).hints(|hints| hints.destructive = Some(which == Which::Destroys))
}

impl Which {
    const BOTH: [Self; 2] = [Self::Acts, Self::Destroys];

    fn last_segment(self, kind: Kind) -> &'static str {
        match (kind, self) {
            (Kind::Plain, Self::Acts) => "plain",
            (Kind::Plain, Self::Destroys) => "plain_destroys",
            (Kind::Async, Self::Acts) => "later",
            (Kind::Async, Self::Destroys) => "later_destroys",
            (Kind::Inline, Self::Acts) => "now",
            (Kind::Inline, Self::Destroys) => "now_destroys",
            (Kind::Dynamic, Self::Acts) => "given",
            (Kind::Dynamic, Self::Destroys) => "given_destroys",
        }
    }
}

impl Setup {
    pub(crate) fn has(&self, setting: Setting) -> bool {
        self.settings.contains(&setting)
    }

    /// The name by which a tool is called.
    pub(crate) fn called(&self, which: Which) -> String {
        let last = which.last_segment(self.kind);
        match self.name {
            Name::Wire => format!("promises_{last}"),
            Name::Alias => format!("promises.old_{last}"),
            Name::LastSegment => last.to_owned(),
            Name::Canonical | Name::Renamed | Name::Prefixed => self.canonical(which),
        }
    }

    /// The canonical name of a tool.
    pub(crate) fn canonical(&self, which: Which) -> String {
        let last = which.last_segment(self.kind);
        match self.name {
            Name::Renamed => format!("renamed.{last}"),
            Name::Prefixed => format!("prefixed.promises.{last}"),
            Name::Canonical | Name::Wire | Name::Alias | Name::LastSegment => format!("promises.{last}"),
        }
    }

    /// The builder, before tools are registered at run time.
    pub(crate) fn builder(&self, shared: &Arc<Shared>) -> RegistryBuilder {
        let typed = || tools![plain, plain_destroys, later, later_destroys, now, now_destroys, stranger];
        let builder = match (self.registration, self.kind) {
            (Registration::Linked, _) => Registry::builder(),
            (Registration::RunTime, _) => Registry::builder_of([]).allow_empty(),
            (Registration::Builder | Registration::Again | Registration::Subset, Kind::Dynamic) => {
                let tools = Which::BOTH.map(|which| dynamic(which, shared));
                tools.into_iter().fold(Registry::builder_of(tools![stranger]), RegistryBuilder::tool)
            }
            (Registration::Builder | Registration::Again | Registration::Subset, _) => Registry::builder_of(typed()),
        };
        let builder = builder.select(|tool| tool.has_tag("promises") || tool.name() == "others.stranger");
        let builder = match self.name {
            Name::Canonical | Name::Wire | Name::Alias => builder,
            Name::LastSegment => builder.names(NamePolicy::Bare),
            Name::Prefixed => builder.prefix("mcp-tests", "prefixed"),
            Name::Renamed => Which::BOTH.into_iter().fold(builder, |builder, which| {
                let last = which.last_segment(self.kind);
                builder.rename("mcp-tests", format!("promises.{last}"), format!("renamed.{last}"))
            }),
        };
        let builder = builder.state(Arc::clone(shared));
        let builder = self.timeout.into_iter().fold(builder, RegistryBuilder::timeout);
        self.settings.iter().fold(builder, |builder, setting| match setting {
            Setting::Gate => builder.gate(Watch(Arc::clone(shared), false)),
            Setting::Layer => builder.layer(Watch(Arc::clone(shared), self.swallows)),
            Setting::Observer => builder.observer(Watch(Arc::clone(shared), false)).observer(shared.audit.clone()),
            Setting::TrustTool => builder.trust_tool(self.called(Which::Destroys), TrustLevel::Trusted),
            Setting::RateLimitTool => {
                builder.rate_limit_tool(self.called(Which::Acts), RateLimit::per_minute(1).burst(self.burst))
            }
            Setting::Masking => builder.mask_errors(true),
            Setting::Secrets => builder,
            Setting::MaxResult => builder.max_result(MAX_RESULT),
        })
    }

    /// Registers what is registered at run time.
    pub(crate) fn start(&self, registry: &Registry, shared: &Arc<Shared>) {
        if matches!(self.registration, Registration::RunTime | Registration::Again) {
            for which in Which::BOTH {
                let is_there = registry.unregister(&self.canonical(which));
                assert_eq!(is_there, self.registration == Registration::Again);
                registry.register(dynamic(which, shared)).unwrap();
            }
        }
    }

    /// The finished registry.
    pub(crate) fn registry(&self, shared: &Arc<Shared>) -> Registry {
        let registry = self.builder(shared).build().unwrap();
        self.start(&registry, shared);
        match self.registration {
            Registration::Subset => registry.subset(|tool| tool.has_tag("promises")),
            Registration::Linked | Registration::Builder | Registration::RunTime | Registration::Again => registry,
        }
    }
}

/// A gate, layer and observer that keeps what it sees.
struct Watch(Arc<Shared>, bool);

impl Gate for Watch {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        self.0.add(Event::Gate(call.arguments.clone()));
        if call.arguments["note"] == "forbidden" {
            Decision::deny("it is forbidden; ask first")
        } else {
            Decision::Allow
        }
    }
}

impl Layer for Watch {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        self.0.add(Event::Layer(call.arguments.clone()));
        let result = next.run(call, cx).await;
        if self.1 { Ok(result.unwrap_or_else(ToolResult::from)) } else { result }
    }
}

impl Observer for Watch {
    fn observe(&self, record: &CallRecord<'_>) {
        self.0.add(Event::Record {
            tool: record.tool.to_owned(),
            called_as: record.called_as.to_owned(),
            outcome: record.outcome.as_str().to_owned(),
            error_type: record.error_type.map(str::to_owned),
            text: format!("{record:?}"),
        });
    }
}
