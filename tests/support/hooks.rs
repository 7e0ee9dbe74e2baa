//! The code that users write, and when it panics.

/// A place where the library runs or drops code of its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The function of a tool, or its future.
    Tool,
    /// `FromContext`: the function, its future, the value.
    FromContext,
    /// An argument: its `Deserialize` and its `Drop`.
    Argument,
    /// A result: its `Serialize` and its `Drop`.
    Output,
    /// An error that `?` has converted: its `Display` and its `Drop`.
    Error,
    /// The source of a `ToolError`: its `Display` and its `Drop`.
    Source,
    /// The gate, and its future.
    Gate,
    /// A layer, and its future.
    Layer,
    /// `Observer::observe`.
    Observe,
    /// A subscriber of `tracing`: when it gets an event, and when the span of a call is entered again.
    Subscriber,
    /// `Observer::rejected`.
    Rejected,
    /// `Observer::keeps_messages`.
    KeepsMessages,
    /// `PeerBuilder::on_notification`.
    OnNotification,
    /// `Registry::on_change`.
    OnChange,
    /// `CallOptions::on_event`.
    OnEvent,
    /// `Http::call_options`: the function, and the extensions that it adds.
    CallOptions,
    /// `Tools::options` of `mcp_registry::rmcp`: the function, and the extensions that it adds.
    RmcpOptions,
    /// The expression of `#[arg(default = …)]`.
    Default,
    /// The expression of `#[arg(example = …)]`.
    Example,
    /// `JsonSchema` of an argument.
    InputSchema,
    /// `JsonSchema` of a result.
    OutputSchema,
    /// The closure of `cli::main_with`, and its future.
    MainWith,
    /// Application state.
    State,
}

/// When the code panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The function is called.
    Called,
    /// The future is polled.
    Polled,
    /// The value, or the future that has completed.
    Dropped,
    /// The future that has not completed in time.
    DroppedAtDeadline,
    /// The same, when the call is cancelled.
    DroppedAtCancellation,
    /// With the registry.
    DroppedAtTheEnd,
}

impl Hook {
    /// Every hook.
    pub const ALL: [Self; 23] = [
        Self::Tool,
        Self::FromContext,
        Self::Argument,
        Self::Output,
        Self::Error,
        Self::Source,
        Self::Gate,
        Self::Layer,
        Self::Observe,
        Self::Subscriber,
        Self::Rejected,
        Self::KeepsMessages,
        Self::OnNotification,
        Self::OnChange,
        Self::OnEvent,
        Self::CallOptions,
        Self::RmcpOptions,
        Self::Default,
        Self::Example,
        Self::InputSchema,
        Self::OutputSchema,
        Self::MainWith,
        Self::State,
    ];

    /// When this code runs. Here, the compiler asks for every new hook; a test checks that `ALL` has it.
    pub fn moments(self) -> &'static [Moment] {
        use Moment::{Called, Dropped, DroppedAtCancellation, DroppedAtDeadline, DroppedAtTheEnd, Polled};
        match self {
            Self::Tool | Self::FromContext => &[Called, Polled, Dropped, DroppedAtDeadline, DroppedAtCancellation],
            Self::Argument | Self::Output | Self::Error | Self::Source => &[Called, Dropped],
            Self::Gate | Self::Layer => &[Called, Polled, Dropped, DroppedAtCancellation, DroppedAtTheEnd],
            Self::Observe => &[Called, DroppedAtTheEnd],
            Self::Subscriber => &[Called, Polled],
            Self::OnNotification | Self::OnChange | Self::OnEvent | Self::CallOptions | Self::RmcpOptions => {
                &[Called, Dropped]
            }
            Self::Rejected
            | Self::KeepsMessages
            | Self::Default
            | Self::Example
            | Self::InputSchema
            | Self::OutputSchema => &[Called],
            Self::MainWith => &[Called, Polled, Dropped],
            Self::State => &[DroppedAtTheEnd],
        }
    }

    /// The hook and the moment of these names, as `Debug` shows them.
    pub fn named(hook: &str, moment: &str) -> Option<(Self, Moment)> {
        let hook = Self::ALL.into_iter().find(|known| format!("{known:?}") == hook)?;
        let moment = hook.moments().iter().find(|known| format!("{known:?}") == moment)?;
        Some((hook, *moment))
    }
}
