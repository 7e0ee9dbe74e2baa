//! The code that users write, and when it panics.

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident: $($moment:ident),*;)*) => {
        /// A place where the library runs or drops code of its users. `tests/promises/user_code.rs` asks for more about
        /// each one that is added here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Hook {
            $($(#[$doc])* $hook,)*
        }

        impl Hook {
            /// Every hook.
            pub const ALL: &[Self] = &[$(Self::$hook,)*];

            /// When the code runs.
            pub fn moments(self) -> &'static [Moment] {
                match self {
                    $(Self::$hook => &[$(Moment::$moment,)*],)*
                }
            }
        }
    };
}

hooks! {
    /// The function of a tool, or its future.
    Tool: Called, Polled, Dropped, DroppedAtDeadline, DroppedAtCancellation;
    /// `FromContext`: the function, its future, the value.
    FromContext: Called, Polled, Dropped, DroppedAtDeadline, DroppedAtCancellation;
    /// An argument: its `Deserialize` and its `Drop`.
    Argument: Called, Dropped;
    /// A result: its `Serialize` and its `Drop`.
    Output: Called, Dropped;
    /// An error that `?` has converted: its `Display` and its `Drop`.
    Error: Called, Dropped;
    /// The source of a `ToolError`: its `Display` and its `Drop`.
    Source: Called, Dropped;
    /// The gate, and its future.
    Gate: Called, Polled, Dropped, DroppedAtCancellation, DroppedAtTheEnd;
    /// A layer, and its future.
    Layer: Called, Polled, Dropped, DroppedAtCancellation, DroppedAtTheEnd;
    /// `Observer::observe`, and the observer.
    Observe: Called, DroppedAtTheEnd;
    /// A subscriber of `tracing`: when it gets an event, and when the span of a call is entered again.
    Subscriber: Called, Polled;
    /// `Observer::rejected`.
    Rejected: Called;
    /// `Observer::keeps_messages`.
    KeepsMessages: Called;
    /// `PeerBuilder::on_notification`.
    OnNotification: Called, Dropped;
    /// What wakes a task that waits for a `CancelToken`.
    Waker: Called;
    /// `Registry::on_change`.
    OnChange: Called, Dropped;
    /// `CallOptions::on_event`.
    OnEvent: Called, Dropped;
    /// `Http::call_options`: the function, and the extensions that it adds.
    CallOptions: Called, Dropped;
    /// `Tools::options` of `mcp_registry::rmcp`: the function, and the extensions that it adds.
    RmcpOptions: Called, Dropped;
    /// The expression of `#[arg(default = …)]`.
    Default: Called;
    /// The expression of `#[arg(example = …)]`.
    Example: Called;
    /// `JsonSchema` of an argument.
    InputSchema: Called;
    /// `JsonSchema` of a result.
    OutputSchema: Called;
    /// The closure of `cli::main_with`, and its future.
    MainWith: Called, Polled, Dropped;
    /// Application state.
    State: DroppedAtTheEnd;
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
    /// The hook and the moment of these names, as `Debug` shows them.
    pub fn named(hook: &str, moment: &str) -> Option<(Self, Moment)> {
        let hook = Self::ALL.iter().find(|known| format!("{known:?}") == hook)?;
        let moment = hook.moments().iter().find(|known| format!("{known:?}") == moment)?;
        Some((*hook, *moment))
    }
}
